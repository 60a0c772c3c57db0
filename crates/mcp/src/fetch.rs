//! The tools `fetch` and `read`: one page, from the web or from an archive.
//!
//! Owns what is said of a page that did not come. Fetching is that of the library, with robots.txt,
//! redirects and addresses judged as in a crawl. Invariant: a page that was fetched is asked for again
//! only after [`FRESH`], so that the parts of an answer are parts of one page.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clewline::Crawl;
use clewline_content::{ContentLimits, ReadPage, Url};
use clewline_core::retry_after;
use clewline_job::Job;
use clewline_job::config::{Config, Root, Speed};
use clewline_job::inspection::{Conclusion, Inspection};
use clewline_job::pages::{AnswerError, PageReader};
use clewline_warc::Moment;

use crate::answer::ToolAnswer;
use crate::arguments::{FetchCall, PagePart, ReadCall};
use crate::door::AssistantDoor;
use crate::jobs::NamedJob;
use crate::pace::{HostTurns, LONGEST_WAIT, USUAL_GAP};
use crate::page::AnsweredPage;

/// Pages that are kept for their next part.
const MOST_KEPT: usize = 8;
/// Bytes of Markdown of one page that is kept.
const LARGEST_KEPT: usize = 8 << 20;
/// How long a page is kept.
const FRESH: Duration = Duration::from_mins(10);
/// Bytes of a body that are read: what the content of a page may have.
pub(crate) const MOST_BODY: u64 = 16 << 20;
/// The largest gap that a Retry-After makes.
const LONGEST_GAP: Duration = Duration::from_hours(1);

/// The pages that were fetched last, and when hosts may be asked again.
#[derive(Debug, Default)]
pub(crate) struct FetchedPages {
    kept: VecDeque<(Instant, String, AnsweredPage)>,
    turns: HostTurns,
}

impl FetchedPages {
    fn find(&self, url: &str) -> Option<AnsweredPage> {
        let is_it =
            |kept: &&(Instant, String, AnsweredPage)| kept.1 == url && kept.0.elapsed() < FRESH;
        self.kept
            .iter()
            .find(is_it)
            .map(|(_, _, view)| view.clone())
    }

    fn keep(&mut self, url: &str, view: &AnsweredPage) {
        self.kept
            .retain(|(at, kept, _)| kept != url && at.elapsed() < FRESH);
        if view.markdown.len() > LARGEST_KEPT {
            return;
        }
        if self.kept.len() >= MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept
            .push_back((Instant::now(), url.to_owned(), view.clone()));
    }
}

impl AssistantDoor {
    /// One page of the web.
    pub(crate) fn fetch(&self, call: FetchCall) -> Result<ToolAnswer, ToolAnswer> {
        let root = parsed_root(&call.url)?;
        let part = PagePart {
            section: call.section,
            cursor: call.cursor,
            max_tokens: call.max_tokens,
        };
        // One call at a time asks the web; the others wait here.
        let mut fetched = self.fetched();
        let url = root.url.as_str().to_owned();
        if let Some(view) = fetched.find(&url) {
            return view.answer(&part);
        }
        let host = root.url.host().to_owned();
        let wait = fetched.turns.wait(&host, Instant::now());
        if wait > LONGEST_WAIT {
            let error = format!(
                "{host} wants to be left alone for {} seconds",
                wait.as_secs()
            );
            return Err(ToolAnswer::refused(
                error,
                "ask again then, or `crawl` it, which waits",
            ));
        }
        thread::sleep(wait);
        let inspection = self.inspect(root)?;
        let gap = gap_after(&inspection, &self.config);
        fetched.turns.asked(&host, Instant::now(), gap);
        let view = view_of(&inspection)?;
        fetched.keep(&url, &view);
        view.answer(&part)
    }

    fn fetched(&self) -> MutexGuard<'_, FetchedPages> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inspect(&self, root: Root) -> Result<Inspection, ToolAnswer> {
        let mut config = self.config.clone();
        config.roots = vec![root];
        config.output.folder = None;
        let failed =
            |error: String| ToolAnswer::refused(error, "check the URL; nothing was fetched");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let inspected = runtime.block_on(Crawl::from_config(config).inspect());
        inspected.map_err(|error| failed(error.to_string()))
    }

    /// One page out of an archive.
    pub(crate) fn read(&self, call: ReadCall) -> Result<ToolAnswer, ToolAnswer> {
        let root = parsed_root(&call.url)?;
        let part = PagePart {
            section: call.section,
            cursor: call.cursor,
            max_tokens: call.max_tokens,
        };
        let at = match call.at.as_deref() {
            None => None,
            Some(text) => {
                let moment = Moment::from_timestamp(text).or_else(|| Moment::parse(text));
                let refused =
                    || ToolAnswer::refused("at is no time", "write 2026-11-15 or 20261115");
                Some(moment.ok_or_else(refused)?)
            }
        };
        let url = root.url.as_str();
        for job in self.shelf.meant(call.job.as_deref())? {
            match archive_of(&job).and_then(|reader| archived(&reader, url, at)) {
                Ok(Some(view)) => return view.answer(&part),
                Ok(None) => {}
                Err(error) => {
                    let error = format!("{url} in {}: {error}", job.name);
                    return Err(ToolAnswer::refused(
                        error,
                        "`search` finds pages that can be read",
                    ));
                }
            }
        }
        let error = format!("no archive here has a capture of {url}");
        Err(ToolAnswer::refused(
            error,
            "`search` finds what was crawled; `fetch` asks the web",
        ))
    }
}

pub(crate) fn parsed_root(url: &str) -> Result<Root, ToolAnswer> {
    Root::parse(url).map_err(|error| {
        let hint = "write it as https://example.com/page";
        ToolAnswer::refused(format!("url: {error}"), hint)
    })
}

/// Opens the archive of a job, and those that it refers to.
pub(crate) fn archive_of(job: &NamedJob) -> Result<Arc<PageReader>, String> {
    let opened = Job::open(&job.path).map_err(|error| error.to_string())?;
    opened.reader().map_err(|error| error.to_string())
}

/// The capture of a page in an archive; nothing if there is none.
pub(crate) fn archived(
    reader: &PageReader,
    url: &str,
    at: Option<Moment>,
) -> Result<Option<AnsweredPage>, String> {
    let found = match reader.capture(url, at, MOST_BODY, |_| true) {
        Ok(found) => found,
        Err(AnswerError::NoCapture) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let text = found.answer.text(found.charset.as_deref());
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let mut view = view_of_text(&text, found.media_type(), &url)?;
    view.provenance = Some(found.provenance);
    Ok(Some(view))
}

/// A body as a page, if it has words.
fn view_of_text(text: &str, media_type: &str, url: &Url) -> Result<AnsweredPage, String> {
    if !ReadPage::has_words(media_type) {
        return Err(format!("it is {media_type}, which has no words to read"));
    }
    let page = ReadPage::from_body(text, media_type, url, &ContentLimits::default());
    let page = page.map_err(|refusal| refusal.to_string())?;
    let mut remarks = Vec::new();
    if page.is_truncated {
        remarks.push("the end of the page is missing: it became much longer as text".to_owned());
    }
    Ok(AnsweredPage {
        url: url.as_str().to_owned(),
        title: page.title().map(ToOwned::to_owned),
        provenance: None,
        fetched: None,
        hidden: page.hidden,
        markdown: page.markdown,
        remarks,
    })
}

/// What an inspection brought, or why it brought nothing.
fn view_of(inspection: &Inspection) -> Result<AnsweredPage, ToolAnswer> {
    let url = inspection.url.as_str();
    let why = match &inspection.conclusion {
        Conclusion::Fetched => None,
        Conclusion::Redirected { to, why } => {
            Some(format!("it redirects to {}: {why}", to.as_str()))
        }
        Conclusion::Skipped { why, .. } => Some(format!("it was not asked for: {why}")),
        Conclusion::Failed { why, .. } => Some(format!("it failed: {why}")),
    };
    let (None, Some(facts)) = (&why, &inspection.page) else {
        let why = why.unwrap_or_else(|| "there was no answer".to_owned());
        let hint = "the rules of the crawler decide this; another URL may be allowed";
        return Err(ToolAnswer::refused(format!("{url}: {why}"), hint));
    };
    let media_type = facts.content_type.as_deref().unwrap_or_default();
    let mut view =
        view_of_text(&inspection.text(), media_type, &facts.url.to_url()).map_err(|why| {
            let error = format!("{}: {why}", facts.url.as_str());
            ToolAnswer::refused(error, "`crawl` archives it as it is")
        })?;
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let captured = Moment::since_1970(now).to_milliseconds();
    view.fetched = Some((captured, facts.digest.clone().unwrap_or_default()));
    if facts.url != inspection.url {
        view.remarks.push(format!("{url} redirected here"));
    }
    if !(200..300).contains(&facts.status) {
        view.remarks
            .push(format!("the server answered with status {}", facts.status));
    }
    if facts.truncated {
        view.remarks
            .push("the answer was cut at the size limit".to_owned());
    }
    view.remarks
        .push("not archived: `crawl` it to have quotes that can be verified".to_owned());
    Ok(view)
}

/// How long the host is left alone after this.
fn gap_after(inspection: &Inspection, config: &Config) -> Duration {
    let usual = match (config.politeness.delay, config.politeness.speed) {
        (Some(delay), _) => delay,
        (None, Some(Speed::Max)) => Duration::ZERO,
        (None, _) => USUAL_GAP,
    };
    let asked = inspection.robots.iter().filter_map(|file| file.crawl_delay);
    let asked = asked.fold(0.0, f64::max);
    let asked = if config.politeness.ignore_crawl_delay {
        Duration::ZERO
    } else {
        Duration::try_from_secs_f64(asked).unwrap_or(LONGEST_GAP)
    };
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let fields = inspection.hops.iter().flat_map(|hop| &hop.headers);
    let later = fields.filter(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    let later = later.filter_map(|(_, value)| retry_after::parse(value.as_bytes(), now.as_secs()));
    let later = later.max().unwrap_or_default();
    usual.max(asked).max(later).min(LONGEST_GAP)
}
