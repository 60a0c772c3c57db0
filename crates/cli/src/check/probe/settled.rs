//! What the crawl of external URLs brought, joined to one answer for each.
//!
//! Owns the way from records and pages to the end of a chain of redirects. It refuses to judge an
//! answer. Invariant: a chain is followed for as many hops as a crawl follows, so a circle ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use clewline::{Event, Page};
use clewline_check::facts::HeadFacts;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;
use clewline_job::record::{OutcomeKind, Record};

/// Longer chains are not followed by a crawl, either.
const MOST_HOPS: usize = 32;

/// What asking a URL brought.
#[derive(Debug, Clone)]
pub(crate) struct ProbeAnswer {
    /// The status of each redirect and where it led, in their order.
    pub(crate) hops: Vec<(u16, CrawlUrl)>,
    /// What stood at the end of them.
    pub(crate) end: ProbeEnd,
}

/// What stood at the end of the redirects.
#[derive(Debug, Clone)]
pub(crate) enum ProbeEnd {
    /// An answer with its status, and what was read of it.
    Answered(Box<AnsweredProbe>),
    /// None, for this reason and in the words of the system.
    Failed(FailureClass, String),
    /// Nobody asked, on purpose.
    Skipped(SkipReason, String),
    /// Nobody asked: the check ended before.
    Unasked,
}

/// An answer to a probe.
#[derive(Debug, Clone)]
pub(crate) struct AnsweredProbe {
    pub(crate) record: Record,
    /// The page, if it was one that is read.
    pub(crate) page: Option<ProbedPage>,
}

/// What is kept of a page that was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProbedPage {
    /// Fields of its head by which walls for bots are known.
    pub(crate) head: HeadFacts,
    /// Hashes of its ids, sorted; none if it was not searched.
    pub(crate) ids: Option<Arc<[u64]>>,
    /// Words that people can read.
    pub(crate) words: u32,
    /// Scripts make what it shows.
    pub(crate) is_scripted: bool,
}

/// Gathers what a crawl settles.
#[derive(Default)]
pub(crate) struct Settlements {
    records: Arc<Mutex<HashMap<String, Record>>>,
    pages: HashMap<String, ProbedPage>,
}

impl Settlements {
    /// What hears of the records.
    pub(crate) fn observer(&self) -> impl FnMut(&Event<'_>) + Send + 'static {
        let records = Arc::clone(&self.records);
        move |event| {
            if let Event::Settled(record) = event {
                let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
                records.insert(record.url.as_str().to_owned(), (*record).clone());
            }
        }
    }

    /// Takes a page that was read.
    pub(crate) fn take(&mut self, page: &Page, read: impl FnOnce(&Page) -> ProbedPage) {
        self.pages
            .insert(page.url().as_str().to_owned(), read(page));
    }

    /// The answer to a URL.
    pub(crate) fn answer(&self, url: &CrawlUrl) -> ProbeAnswer {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = ProbeAnswer {
            hops: Vec::new(),
            end: ProbeEnd::Unasked,
        };
        let mut at = url.as_str().to_owned();
        loop {
            let Some(record) = records.get(&at) else {
                return answer;
            };
            let next = record.redirect_to.as_deref().map(CrawlUrl::parse);
            let (OutcomeKind::Redirected, Some(Ok(next)), Some(status)) =
                (record.outcome, next, record.status)
            else {
                answer.end = self.end(record);
                return answer;
            };
            next.as_str().clone_into(&mut at);
            answer.hops.push((status, next));
            if answer.hops.len() > MOST_HOPS {
                let why = "its redirects lead in a circle".to_owned();
                answer.end = ProbeEnd::Failed(FailureClass::RedirectLoop, why);
                return answer;
            }
            if let Some(why) = refused(record, &records, &at) {
                answer.end = why;
                return answer;
            }
        }
    }

    fn end(&self, record: &Record) -> ProbeEnd {
        let words = record.error.clone().unwrap_or_default();
        let is_answered = record.status.is_some();
        match (record.outcome, record.failure, record.reason) {
            (OutcomeKind::Failed, Some(class), _) => ProbeEnd::Failed(class, words),
            (OutcomeKind::Skipped, _, Some(SkipReason::ContentType)) if is_answered => {
                self.answered(record)
            }
            (OutcomeKind::Skipped, _, Some(reason)) => ProbeEnd::Skipped(reason, words),
            _ => self.answered(record),
        }
    }

    fn answered(&self, record: &Record) -> ProbeEnd {
        ProbeEnd::Answered(Box::new(AnsweredProbe {
            record: record.clone(),
            page: self.pages.get(record.url.as_str()).cloned(),
        }))
    }
}

/// Why the target of a redirect was not asked, if it was refused.
fn refused(record: &Record, records: &HashMap<String, Record>, target: &str) -> Option<ProbeEnd> {
    let words = record.error.clone()?;
    if records.contains_key(target) {
        return None;
    }
    let reasons = SkipReason::ALL.iter();
    let reason = reasons.copied().find(|reason| reason.about() == words);
    Some(ProbeEnd::Skipped(
        reason.unwrap_or(SkipReason::OutOfScope),
        words,
    ))
}
