//! An index that is asked.
//!
//! Owns the order of results: what the engine scores is weighed with the rank of each page,
//! pages with all words before the others, those that are alike once. It refuses to write. Invariant:
//! a search costs a pass over the matches that counts and does not score them, and a bounded number
//! of pages beyond that; the best are found without scoring all, where the query allows it.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use tantivy::collector::TopDocs;
use tantivy::query::Query as EngineQuery;
use tantivy::schema::{Field, Value as _};
use tantivy::{DocAddress, IndexReader, ReloadPolicy, Searcher, TantivyDocument};

use crate::FOLDER;
use crate::compile::{Compiled, compile};
use crate::error::SearchError;
use crate::facets::{Counter, FacetCounts};
use crate::fold::{FoldedPage, Likeness, fold, unfolded};
use crate::query::{Folding, MOST_RESULTS, Query};
use crate::rank::Ranks;
use crate::schema::Fields;
use crate::snippet::{Snippet, Sought};
use crate::writer::{IndexCheckpoint, engine_error, open_engine};

/// Pages that are weighed with their ranks, for each result that is asked for …
const WEIGHED_PER_RESULT: usize = 5;
/// … and at least.
const LEAST_WEIGHED: usize = 200;
/// Values of a facet.
const MOST_VALUES: usize = 10;
/// URLs of pages alike that a result names.
const MOST_ALSO: usize = 5;

/// An index to search in.
pub struct Index {
    folder: PathBuf,
    fields: Fields,
    reader: IndexReader,
    ranks: Ranks,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Results {
    /// Pages that match, those that are alike counted each.
    pub total: u64,
    /// The best of them; one stands for those that are like it.
    pub hits: Vec<Hit>,
    /// Pages that match, by host, language and type.
    pub facets: Facets,
    /// How long it took.
    #[serde(serialize_with = "milliseconds", rename = "took_ms")]
    pub took: Duration,
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Hit {
    /// Its URL.
    pub url: String,
    /// Its title; it holds no character that steers a terminal, and may hold markup.
    pub title: String,
    /// Where the words are in the title: from and to, in bytes of UTF-8.
    pub title_marks: Vec<(usize, usize)>,
    /// The piece of it that shows why it was found.
    pub snippet: Snippet,
    /// Its host.
    pub host: String,
    /// Its language; empty if it is not known.
    pub language: String,
    /// Its media type.
    pub content_type: String,
    /// When it was fetched, in seconds since 1970.
    pub fetched_at: i64,
    /// Links away from a root.
    pub depth: u64,
    /// Pages that link to it.
    pub inlinks: u32,
    /// How well it fits, weighed with its rank; to be compared within one search.
    pub score: f32,
    /// It holds all words of the query.
    pub has_all_words: bool,
    /// How many pages it stands for beside itself, as far as results were compared: those with
    /// the same bytes, nearly the same words, or another way of writing its address.
    pub alike: usize,
    /// The URLs of the first of them.
    pub also: Vec<String>,
}

/// How many pages there are of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Facets {
    /// By host.
    pub host: Vec<Facet>,
    /// By language.
    pub language: Vec<Facet>,
    /// By media type.
    #[serde(rename = "type")]
    pub content_type: Vec<Facet>,
}

/// How many pages share a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Facet {
    /// The value, as a filter takes it.
    pub value: String,
    /// Pages that match and have it.
    pub count: u64,
}

/// Words that are compared with one that was not found …
const MOST_WORDS: usize = 100_000;
/// … if they have at the most so many letters more or fewer.
const LENGTHS_APART: usize = 2;

/// A page on its way to a result.
#[derive(Debug, Clone)]
struct Candidate {
    has_all_words: bool,
    score: f32,
    key: u64,
    likeness: Likeness,
    address: DocAddress,
}

impl Index {
    /// Opens the index of a job folder, as it stands.
    pub fn open(job: &Path) -> Result<Self, SearchError> {
        Self::in_folder(&job.join(FOLDER))
            .and_then(|found| found.ok_or_else(|| SearchError::NoIndex(job.to_owned())))
    }

    pub(crate) fn in_folder(folder: &Path) -> Result<Option<Self>, SearchError> {
        let failed = |source| engine_error(folder, source);
        let Ok(index) = open_engine(folder) else {
            return Ok(None);
        };
        if IndexCheckpoint::from_index(&index).is_none() {
            return Ok(None);
        }
        let (_, fields) = Fields::schema();
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader = reader.try_into().map_err(failed)?;
        check_positions(&reader, &fields).map_err(failed)?;
        Ok(Some(Self {
            folder: folder.to_owned(),
            fields,
            reader,
            ranks: Ranks::load(folder),
        }))
    }

    /// Takes up what was written since it was opened.
    pub fn reload(&mut self) -> Result<(), SearchError> {
        self.reader
            .reload()
            .and_then(|()| check_positions(&self.reader, &self.fields))
            .map_err(|source| engine_error(&self.folder, source))?;
        self.ranks = Ranks::load(&self.folder);
        Ok(())
    }

    /// Pages in the index.
    pub fn pages(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Words of the index that begin as this one does and are about as long, those of the most
    /// pages first: what may have been meant by a word that no page holds.
    pub fn words_like(&self, word: &str) -> Result<Vec<String>, SearchError> {
        let found = self.dictionary(word);
        let mut found = found
            .map_err(|source| engine_error(&self.folder, source.into()))?
            .into_iter()
            .collect::<Vec<_>>();
        found.sort_by(|(one, pages), (other, more)| (more, one).cmp(&(pages, other)));
        Ok(found.into_iter().map(|(word, _)| word).collect())
    }

    /// Those words, and how many pages hold each, counted once for each place in which it stands.
    fn dictionary(&self, word: &str) -> io::Result<HashMap<String, u64>> {
        let mut found = HashMap::new();
        let Some(first) = word.chars().next() else {
            return Ok(found);
        };
        let length = word.chars().count();
        let begin = first.to_string();
        for segment in self.reader.searcher().segment_readers() {
            for field in [self.fields.title, self.fields.headings, self.fields.body] {
                let index = segment.inverted_index(field).map_err(io::Error::other)?;
                let mut terms = index.terms().range().ge(begin.as_bytes()).into_stream()?;
                while terms.advance() && terms.key().starts_with(begin.as_bytes()) {
                    let term = String::from_utf8_lossy(terms.key()).into_owned();
                    let is_near = term.chars().count().abs_diff(length) <= LENGTHS_APART;
                    if is_near && (found.len() < MOST_WORDS || found.contains_key(&term)) {
                        *found.entry(term).or_default() += u64::from(terms.value().doc_freq);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Searches.
    pub fn search(&self, query: &Query) -> Result<Results, SearchError> {
        let began = Instant::now();
        let searched = self.find(query);
        let (total, hits, facets) =
            searched.map_err(|source| engine_error(&self.folder, source))?;
        Ok(Results {
            total,
            hits,
            facets,
            took: began.elapsed(),
        })
    }

    fn find(&self, query: &Query) -> tantivy::Result<(u64, Vec<Hit>, Facets)> {
        let searcher = self.reader.searcher();
        let wanted = (query.offset + query.limit).min(MOST_RESULTS);
        let weighed = (wanted * WEIGHED_PER_RESULT).max(LEAST_WEIGHED);
        let compiled = compile(&query.clause, &self.fields);
        let found = best(&searcher, &compiled, weighed)?;
        let counts = searcher.search(&compiled.some, &Counter)?;
        let candidates = self.weigh(&searcher, &found)?;
        let sought = Sought::from_clause(&query.clause);
        let pages = candidates.into_iter().map(|page| (page.likeness, page));
        let folded = match query.folding {
            Folding::Alike => fold(pages, wanted),
            Folding::Off => unfolded(pages),
        };
        let hits = folded
            .into_iter()
            .take(wanted)
            .skip(query.offset)
            .map(|folded| self.hit(&searcher, &folded, &sought))
            .collect::<tantivy::Result<_>>()?;
        Ok((counts.total, hits, facets(&counts)))
    }

    /// Multiplies scores with the weights of ranks, and sorts by them.
    fn weigh(&self, searcher: &Searcher, found: &[Scored]) -> tantivy::Result<Vec<Candidate>> {
        let mut columns = Vec::new();
        for segment in searcher.segment_readers() {
            let fast = segment.fast_fields();
            let column = |name| fast.u64(name);
            columns.push([
                column("key")?,
                column("digest")?,
                column("near")?,
                column("variant")?,
            ]);
        }
        let mut candidates: Vec<Candidate> = found
            .iter()
            .map(
                |&Scored {
                     has_all_words,
                     score,
                     address,
                 }| {
                    let columns = &columns[address.segment_ord as usize];
                    let [key, digest, near, variant] = columns
                        .each_ref()
                        .map(|column| column.first(address.doc_id).unwrap_or(0));
                    Candidate {
                        has_all_words,
                        score: score * self.ranks.weight(key),
                        key,
                        likeness: Likeness {
                            digest,
                            near,
                            address: variant,
                        },
                        address,
                    }
                },
            )
            .collect();
        candidates.sort_by(better);
        Ok(candidates)
    }

    fn hit(
        &self,
        searcher: &Searcher,
        FoldedPage { page, alike }: &FoldedPage<Candidate>,
        sought: &Sought,
    ) -> tantivy::Result<Hit> {
        let fields = &self.fields;
        let document: TantivyDocument = searcher.doc(page.address)?;
        let mut also = Vec::new();
        for other in alike.iter().take(MOST_ALSO) {
            also.push(text(&searcher.doc(other.address)?, fields.url));
        }
        let title = text(&document, fields.title);
        let fetched_at = document.get_first(fields.fetched_at);
        let depth = document.get_first(fields.depth);
        Ok(Hit {
            url: text(&document, fields.url),
            title_marks: sought.marks(&title),
            title,
            snippet: sought.snippet(&text(&document, fields.body)),
            host: text(&document, fields.host),
            language: text(&document, fields.language),
            content_type: text(&document, fields.content_type),
            fetched_at: fetched_at.and_then(|value| value.as_i64()).unwrap_or(0),
            depth: depth.and_then(|value| value.as_u64()).unwrap_or(0),
            inlinks: self.ranks.inlinks(page.key),
            score: page.score,
            has_all_words: page.has_all_words,
            alike: alike.len(),
            also,
        })
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Index")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// A page with the engine's score.
#[derive(Debug, Clone, Copy)]
struct Scored {
    has_all_words: bool,
    score: f32,
    address: DocAddress,
}

/// Opens the words of every segment. The engine takes a file of positions that another process
/// removed in the middle of opening for an empty one, and fails only when it is searched.
fn check_positions(reader: &IndexReader, fields: &Fields) -> tantivy::Result<()> {
    let searcher = reader.searcher();
    // A field without words in a segment opens whatever is missing.
    let fields = [fields.address, fields.title, fields.headings, fields.body];
    let segments = searcher.segment_readers().iter();
    let mut parts = segments.flat_map(|segment| fields.map(|field| (segment, field)));
    parts.try_for_each(|(segment, field)| segment.inverted_index(field).map(drop))
}

/// The best pages: those with all words, and then others as long as there is room.
fn best(searcher: &Searcher, compiled: &Compiled, most: usize) -> tantivy::Result<Vec<Scored>> {
    let top = |query: &dyn EngineQuery, has_all_words| {
        let found = searcher.search(query, &TopDocs::with_limit(most).order_by_score())?;
        let scored = found.into_iter().map(move |(score, address)| Scored {
            has_all_words,
            score,
            address,
        });
        tantivy::Result::Ok(scored)
    };
    let Some(all) = &compiled.all else {
        return Ok(top(&*compiled.some, true)?.collect());
    };
    let mut found: Vec<Scored> = top(&**all, true)?.collect();
    if found.len() < most {
        let known: HashSet<DocAddress> = found.iter().map(|page| page.address).collect();
        let others = top(&*compiled.some, false)?;
        found.extend(others.filter(|page| !known.contains(&page.address)));
        found.truncate(most);
    }
    Ok(found)
}

/// Pages with all words first, then by score; equals in the order in which they were indexed.
fn better(left: &Candidate, right: &Candidate) -> Ordering {
    right
        .has_all_words
        .cmp(&left.has_all_words)
        .then(right.score.total_cmp(&left.score))
        .then(left.address.cmp(&right.address))
}

fn text(document: &TantivyDocument, field: Field) -> String {
    let value = document.get_first(field);
    let text = value.as_ref().and_then(tantivy::schema::Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn facets(counts: &FacetCounts) -> Facets {
    let top = |column| {
        let rows = counts.top(column, MOST_VALUES).into_iter();
        rows.map(|(value, count)| Facet { value, count }).collect()
    };
    Facets {
        host: top(0),
        language: top(1),
        content_type: top(2),
    }
}

fn milliseconds<S: serde::Serializer>(took: &Duration, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(took.as_secs_f64() * 1000.0)
}
