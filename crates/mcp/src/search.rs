//! The tool `search`: passages of crawled pages that answer a question.
//!
//! Owns how pages become passages and how many pages are looked at. The index finds the pages;
//! `clewline-content` cuts them. Invariant: every passage is a quote that `clewline warc verify --quote`
//! accepts, or says that it was cut.

use std::collections::HashMap;
use std::sync::Arc;

use clewline_content::{PagePassage, Quote, passages};
use clewline_job::pages::{PageReader, Provenance};
use clewline_search::{Borrowed, Folding, Index, LONGEST, Query};
use serde_json::{Map, Value, json};

use crate::answer::{AnswerRoom, NOTICE, ToolAnswer};
use crate::arguments::{SearchCall, cursor};
use crate::door::AssistantDoor;
use crate::fetch::{archive_of, archived};
use crate::jobs::NamedJob;
use crate::rank::{PassageCandidate, question_words, ranked};

/// Pages of one job whose passages are weighed.
const MOST_PAGES: usize = 32;
/// Pages of all jobs together.
const MOST_IN_ALL: usize = 64;
/// Characters of passages that are weighed of one page.
const MOST_OF_PAGE: usize = 2_000_000;

/// A page that the index found.
struct FoundPage {
    job: String,
    url: String,
    title: String,
    score: f32,
    provenance: Option<Provenance>,
    passages: Vec<PagePassage>,
}

impl AssistantDoor {
    /// Passages that answer a question.
    pub(crate) fn search(&self, call: &SearchCall) -> Result<ToolAnswer, ToolAnswer> {
        let jobs = self.shelf.meant(call.job.as_deref())?;
        let skipped = cursor(call.cursor.as_deref())?;
        let query = query_of(&call.query)?
            .folding(Folding::Off)
            .limit(MOST_PAGES);
        let mut remarks = Vec::new();
        let mut hits = Vec::new();
        let mut total = 0;
        for job in &jobs {
            match found_in(job, &query) {
                Ok((count, found)) => {
                    total += count;
                    hits.extend(found);
                }
                Err(why) => remarks.push(format!("{}: {why}", job.name)),
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(MOST_IN_ALL);
        let mut readers = HashMap::new();
        for job in &jobs {
            match archive_of(job) {
                Ok(reader) => drop(readers.insert(job.name.clone(), reader)),
                Err(why) => remarks.push(format!("{}: {why}", job.name)),
            }
        }
        let pages: Vec<_> = hits
            .into_iter()
            .filter_map(|page| with_passages(page, &readers))
            .collect();
        Ok(answer(call, &pages, skipped, (total, remarks)))
    }
}

/// Reads a question; one that is no query is taken by its words.
fn query_of(text: &str) -> Result<Query, ToolAnswer> {
    Query::parse(text).or_else(|error| {
        let words = question_words(text).join(" ");
        let end = words.floor_char_boundary(LONGEST.min(1000));
        Query::parse(&words[..end]).map_err(|_| {
            let hint = "write words to look for, such as: hash map put";
            ToolAnswer::refused(format!("query: {error}"), hint)
        })
    })
}

fn found_in(job: &NamedJob, query: &Query) -> Result<(u64, Vec<FoundPage>), String> {
    let mut borrowed = None;
    let opened = clewline_search::open_updated(&job.path, &mut |_| {});
    let index: Index = match opened {
        Ok((index, _)) => index,
        Err(error) if error.is_read_only() => {
            let made = Borrowed::make(&job.path, &mut |_| {}).map_err(|error| error.to_string())?;
            let made = borrowed.insert(made);
            made.open().map_err(|error| error.to_string())?
        }
        Err(error) => return Err(error.to_string()),
    };
    let results = index.search(query).map_err(|error| error.to_string())?;
    let pages = results.hits.into_iter().map(|hit| FoundPage {
        job: job.name.clone(),
        url: hit.url,
        title: hit.title,
        score: hit.score,
        provenance: None,
        passages: Vec::new(),
    });
    Ok((results.total, pages.collect()))
}

/// Cuts a page; nothing if it cannot be read, which `read` tells about.
fn with_passages(
    mut page: FoundPage,
    readers: &HashMap<String, Arc<PageReader>>,
) -> Option<FoundPage> {
    let view = archived(readers.get(&page.job)?, &page.url, None).ok()??;
    page.provenance = view.provenance;
    let end = view.markdown.floor_char_boundary(MOST_OF_PAGE);
    page.passages = passages(&view.markdown[..end]);
    Some(page)
}

fn answer(
    call: &SearchCall,
    pages: &[FoundPage],
    skipped: usize,
    (total, remarks): (u64, Vec<String>),
) -> ToolAnswer {
    let all: Vec<(&FoundPage, &PagePassage, String)> = pages
        .iter()
        .flat_map(|page| {
            let path = |one: &PagePassage| format!("{} {}", page.title, one.path());
            page.passages.iter().map(move |one| (page, one, path(one)))
        })
        .collect();
    let mut place = 0;
    let mut last = None;
    let candidates: Vec<_> = all
        .iter()
        .map(|(page, passage, path)| {
            if last.is_some_and(|last: &FoundPage| !std::ptr::eq(last, *page)) {
                place += 1;
            }
            last = Some(page);
            PassageCandidate {
                path,
                words: &passage.words,
                page: place,
            }
        })
        .collect();
    let order = ranked(&question_words(&call.query), &candidates);
    let mut room = AnswerRoom::from_tokens(call.max_tokens);
    let mut fields = Map::new();
    room.put(&mut fields, "notice", json!(NOTICE));
    room.put(&mut fields, "pages_in_all", json!(total));
    if !remarks.is_empty() {
        room.put(
            &mut fields,
            "remarks",
            json!(remarks.iter().take(5).collect::<Vec<_>>()),
        );
    }
    let mut shown = Vec::new();
    for number in order.iter().skip(skipped) {
        let (page, passage, _) = &all[*number];
        let whole = quote(page, passage);
        if room.take(&whole) {
            shown.push(whole);
            continue;
        }
        if shown.is_empty() {
            shown.push(cut(whole, room));
        }
        break;
    }
    let next = skipped + shown.len();
    if next < order.len() {
        fields.insert("cursor".to_owned(), json!(next.to_string()));
    }
    if shown.is_empty() {
        let hint = "other words may find more; `crawl` brings more pages";
        fields.insert("hint".to_owned(), json!(hint));
    }
    fields.insert("passages".to_owned(), Value::Array(shown));
    ToolAnswer::from_fields(&fields)
}

/// A passage with where it stands.
fn quote(page: &FoundPage, passage: &PagePassage) -> Value {
    let mut quote = Quote::from_passage(&page.url, passage);
    if let Some(place) = &page.provenance {
        quote.captured.clone_from(&place.captured);
        quote.digest.clone_from(&place.digest);
        quote.file.clone_from(&place.file);
        quote.offset = Some(place.offset);
    }
    let mut value = serde_json::to_value(&quote).unwrap_or_default();
    value["title"] = json!(page.title);
    value["job"] = json!(page.job);
    value
}

/// A passage that is longer than the answer may be, up to there.
fn cut(mut passage: Value, room: AnswerRoom) -> Value {
    let text = passage["text"].as_str().unwrap_or_default().to_owned();
    passage["text"] = json!("");
    passage["cut"] = json!("`read` has the rest");
    let mut left = room;
    left.take(&passage);
    let end = left.fitting(&text);
    passage["text"] = json!(text[..end].trim_end());
    passage
}
