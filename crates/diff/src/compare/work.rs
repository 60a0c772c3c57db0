//! What threads do: read pages, make sketches of them, compare two of them.
//!
//! Owns when a page counts as unreadable. Invariant: a page that breaks a reader costs that page
//! only.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use clewline_job::pages::PageReader;
use clewline_job::record::Record;

use super::WhichSide;
use crate::edit::{KnownUrls, PageHunk, page_hunks, page_url, without_fragment};
use crate::moves::PageSketch;
use crate::options::DiffOptions;
use crate::page::{PageTokens, read_page, text_of};
use crate::side::{BodyForm, key_of};

/// Bytes of a body that are read: one more than a page may have, so that a longer one is refused.
const MOST_BODY: u64 = 16 * 1024 * 1024 + 1;

/// A page to read, or two to compare.
pub(super) enum WorkTask {
    Sketch(WhichSide, Box<Record>),
    Compare(Box<(Record, Record)>),
}

/// What came of it.
pub(super) enum WorkResult {
    Sketch(Box<PageSketch>),
    /// One of the two says nothing.
    Unreadable,
    /// Nothing, where both say the same.
    Compared(Vec<PageHunk>),
}

/// What the work needs, on any thread.
pub(super) struct PageWork {
    pub(super) readers: [Arc<PageReader>; 2],
    pub(super) options: Arc<DiffOptions>,
    /// New URLs by the keys of old ones.
    pub(super) moved: Arc<HashMap<u128, String>>,
    pub(super) known: KnownUrls,
}

impl PageWork {
    pub(super) fn run(&self, task: WorkTask) -> WorkResult {
        match task {
            WorkTask::Sketch(side, record) => {
                let sketch = catch_unwind(AssertUnwindSafe(|| self.sketch(side, &record)));
                let of_path = || PageSketch::of_path(&page_url(record.url.as_str()));
                WorkResult::Sketch(Box::new(sketch.unwrap_or_else(|_| of_path())))
            }
            WorkTask::Compare(records) => {
                let compared = catch_unwind(AssertUnwindSafe(|| self.compare(&records)));
                let hunks = compared.ok().flatten();
                hunks.map_or(WorkResult::Unreadable, WorkResult::Compared)
            }
        }
    }

    /// The text of a page, if it was captured and has one.
    fn text(&self, side: WhichSide, record: &Record) -> Option<String> {
        let reader = &self.readers[side as usize];
        let answer = reader.rendered_answer(record, MOST_BODY).ok()?;
        Some(match &answer.rendered {
            Some(dom) => text_of(dom, Some("utf-8")),
            None => text_of(&answer.body, record.charset.as_deref()),
        })
    }

    fn sketch(&self, side: WhichSide, record: &Record) -> PageSketch {
        let url = page_url(record.url.as_str());
        match (BodyForm::from_record(record), self.text(side, record)) {
            (form @ (BodyForm::Html | BodyForm::Text), Some(text)) => {
                PageSketch::from_page(&text, form, &url)
            }
            _ => PageSketch::of_path(&url),
        }
    }

    /// The hunks of a page; nothing if one side cannot be read.
    fn compare(&self, records: &(Record, Record)) -> Option<Vec<PageHunk>> {
        let old = self.page(WhichSide::Old, &records.0)?;
        let new = self.page(WhichSide::New, &records.1)?;
        // A page without a word beside one with words came empty; two without may be galleries.
        if old.is_empty() != new.is_empty() || old.is_challenge() != new.is_challenge() {
            return None;
        }
        Some(page_hunks(&old, &new, &self.known))
    }

    fn page(&self, side: WhichSide, record: &Record) -> Option<PageTokens> {
        let text = self.text(side, record)?;
        let url = page_url(record.url.as_str());
        let form = BodyForm::from_record(record);
        // Links to pages that moved are the same link, before and after.
        let moved = |target: &str| {
            if side == WhichSide::New || self.moved.is_empty() {
                return None;
            }
            let plain = without_fragment(target);
            let to = self.moved.get(&key_of(plain))?;
            Some(format!("{to}{}", &target[plain.len()..]))
        };
        read_page(&text, (form, &url), &self.options, &moved).ok()
    }
}
