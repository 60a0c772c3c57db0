//! One page: from its record and its answer to its row.
//!
//! Owns what of an answer is read at all, and when a row of an earlier check still holds. It runs on
//! any thread. It refuses to know files and the order of rows. Invariant: whatever a page is, there
//! is a row for it; one that breaks the reader says so in it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clewline_core::key::Keyer;
use clewline_job::pages::{JobPage, PageAnswer, PageReader};
use clewline_job::record::{OutcomeKind, Record};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::head;
use super::page::{PageInput, read_page};
use super::row::{RowOrigin, RowParts, encode};
use super::{FactRow, FactsSummary};

/// Bytes of a body that are read.
pub(super) const MOST_BODY: u64 = 32 << 20;
/// The status that nearly every page had before it was answered with 304; for any other the page is
/// read again.
const UNCHANGED: u16 = 200;

/// A row that was made or taken over.
#[derive(Debug)]
pub(super) struct MadeRow {
    pub(super) row: Vec<u8>,
    pub(super) summary: FactsSummary,
    pub(super) is_new: bool,
}

/// A record that needs a row, and the row that it had.
#[derive(Debug)]
pub(super) struct PageTask {
    pub(super) record: Record,
    pub(super) old: Option<Vec<u8>>,
    pub(super) age: RowAge,
}

/// Which crawl the old rows tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowAge {
    /// The one that this crawl brings up to date: what did not change since is as they say.
    Last,
    /// Any.
    Unknown,
}

/// What is read of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyUse {
    Html,
    Sheet,
    /// Its head alone.
    Head,
    /// There is none.
    Nothing,
}

impl BodyUse {
    /// What is read of the answer that a record tells of. Pages that are errors are looked at no
    /// further: what stands in them is the server's affair.
    pub(super) fn from_record(record: &Record) -> Self {
        let is_sound = record
            .status
            .is_none_or(|status| (200..300).contains(&status) || status == 304);
        match record.outcome {
            OutcomeKind::Skipped | OutcomeKind::Failed => Self::Nothing,
            OutcomeKind::Redirected => Self::Head,
            OutcomeKind::Fetched | OutcomeKind::Unmodified if !is_sound => Self::Head,
            OutcomeKind::Fetched | OutcomeKind::Unmodified => {
                match record.content_type.as_deref() {
                    None | Some("text/html" | "application/xhtml+xml") => Self::Html,
                    Some("text/css") => Self::Sheet,
                    Some(_) => Self::Head,
                }
            }
        }
    }

    const fn most(self) -> u64 {
        match self {
            Self::Html | Self::Sheet => MOST_BODY,
            Self::Head | Self::Nothing => 0,
        }
    }
}

impl PageTask {
    /// Makes the row, unless the old one holds.
    pub(super) fn run(self, reader: Option<&PageReader>, keyer: &Keyer) -> (Record, MadeRow) {
        let record = self.record;
        let wanted = BodyUse::from_record(&record);
        let old = self.old.as_deref().and_then(RowParts::new);
        if let Some(old) = old.filter(|old| old.origin.record == record_hash(&record)) {
            let summary = old.summary;
            return (record, taken_over(self.old.unwrap_or_default(), summary));
        }
        let answer = |most| reader.and_then(|reader| reader.answer(&record, most).ok());
        let is_unmodified = record.outcome == OutcomeKind::Unmodified && self.age == RowAge::Last;
        let old = old.filter(|old| old.origin.body != 0);
        if let Some(old) = old.filter(|old| old.origin.body == body_hash(&record))
            // What a 304 repeats is the answer that the row was made of, head and all.
            && (is_unmodified
                || answer(0).is_some_and(|answer| old.origin.head == head_hash(&answer.head)))
        {
            let summary = old.summary;
            let row = self.old.unwrap_or_default();
            let row = with_record(row, record_hash(&record));
            return (record, taken_over(row, summary));
        }
        let answer = match wanted {
            BodyUse::Nothing => None,
            _ if record.is_rendered() => {
                reader.and_then(|reader| reader.rendered_answer(&record, wanted.most()).ok())
            }
            _ => answer(wanted.most()),
        };
        let made = made(keyer, &record, answer.as_ref());
        (record, made)
    }
}

/// The row of a page that came with its answer.
pub(super) fn read_row(keyer: &Keyer, page: JobPage) -> (Record, MadeRow) {
    let answer = page.answer.and_then(Result::ok);
    let made = made(keyer, &page.record, answer.as_ref());
    (page.record, made)
}

const fn taken_over(row: Vec<u8>, summary: FactsSummary) -> MadeRow {
    MadeRow {
        row,
        summary,
        is_new: false,
    }
}

fn made(keyer: &Keyer, record: &Record, answer: Option<&PageAnswer>) -> MadeRow {
    let wanted = BodyUse::from_record(record);
    let read = || match answer {
        Some(answer) => read_page(&PageInput::new(keyer, record, answer, wanted)),
        None => FactRow {
            is_unread: matches!(wanted, BodyUse::Html | BodyUse::Sheet),
            ..FactRow::default()
        },
    };
    let facts = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| FactRow {
        is_unread: true,
        ..FactRow::default()
    });
    let hashes = answer.map_or((0, 0), |answer| {
        (body_hash(record), head_hash(&answer.head))
    });
    make_row(record, hashes, &facts)
}

/// The row of facts that were made of a body and a head with these hashes.
pub(super) fn make_row(record: &Record, (body, head): (u64, u64), facts: &FactRow) -> MadeRow {
    let origin = RowOrigin {
        key: record.key,
        record: record_hash(record),
        body,
        head,
    };
    let mut row = Vec::new();
    encode(origin, &record.url, facts, &mut row);
    MadeRow {
        row,
        summary: facts.summary(&record.url),
        is_new: true,
    }
}

/// The hash of what tells one capture of a URL from another.
pub(super) fn record_hash(record: &Record) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(record.fetched_at.as_bytes());
    hash.update(&[record.outcome as u8]);
    hash_body(record, &mut hash);
    hash.digest()
}

/// The hash of a body and of how it is read. A body without a digest is like no other, and so is a
/// page that a browser may have made something else of.
fn body_hash(record: &Record) -> u64 {
    if record.digest.is_none() || record.is_rendered() {
        return 0;
    }
    let mut hash = Xxh3::new();
    hash_body(record, &mut hash);
    hash.digest() | 1
}

/// The hash of what is kept of a head.
fn head_hash(head: &[u8]) -> u64 {
    xxh3_64(&head::significant(head))
}

fn hash_body(record: &Record, hash: &mut Xxh3) {
    let texts = [
        Some(record.url.as_str()),
        record.digest.as_deref(),
        record.charset.as_deref(),
        record.content_type.as_deref(),
    ];
    for text in texts {
        hash.update(text.unwrap_or_default().as_bytes());
        hash.update(b"\n");
    }
    // A page that did not change is the one that was sent before.
    let status = match record.outcome {
        OutcomeKind::Unmodified => Some(UNCHANGED),
        _ => record.status,
    };
    hash.update(&status.unwrap_or(0).to_le_bytes());
    hash.update(&[record.truncated.into()]);
}

/// A row with the hash of another record.
fn with_record(mut row: Vec<u8>, record: u64) -> Vec<u8> {
    let place = size_of::<u128>()..size_of::<u128>() + size_of::<u64>();
    row[place].copy_from_slice(&record.to_le_bytes());
    row
}
