//! One URL of a site in a few dozen bytes.
//!
//! Owns what the table keeps of a URL and how it is told in bits. It refuses to know files: where a
//! record and facts lie is a number to it. Invariant: a row has no allocation of its own.

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_job::record::{OutcomeKind, Record};

use crate::facts::FactsSummary;

/// What the table keeps of a URL.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlRow {
    /// Its key.
    pub key: Key,
    /// Where a redirect leads, by the key in this job; of other hosts, too.
    pub redirect: Option<Key>,
    /// Where the line of its record begins.
    pub record_at: u64,
    /// Where the row of its facts begins.
    pub facts_at: u64,
    /// What happened to it.
    pub outcome: OutcomeKind,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Why it failed.
    pub failure: Option<FailureClass>,
    /// Why it was skipped.
    pub skipped: Option<SkipReason>,
    /// How it was named when it was first found.
    pub kind: LinkKind,
    /// What is true of it.
    pub flags: RowFlags,
    /// Links away from a root.
    pub depth: u32,
    /// Pages that link to it.
    pub links_in: u32,
    /// Distinct URLs of the site that it links to.
    pub links_out: u32,
    /// Milliseconds to the first byte; 0 where none came.
    pub first_byte: u32,
    /// Bytes of the body after decoding; of a page that did not change those that it had before.
    pub body_bytes: u64,
    /// Bytes read from the network, now or when it last changed.
    pub wire_bytes: u64,
    /// Hash of its first title; 0 where there is none.
    pub title: u64,
    /// Hash of its first description; 0 where there is none.
    pub description: u64,
    /// Equal where the words are the same; 0 where there are none.
    pub exact: u64,
    /// `SimHash` of the words; 0 where there are none.
    pub near: u64,
}

impl UrlRow {
    /// The row of a record and what its facts say in short.
    pub fn new(record: &Record, redirect: Option<Key>, summary: &FactsSummary) -> Self {
        let mut flags = summary.flags;
        flags.put(RowFlags::NOINDEX, record.noindex);
        flags.put(RowFlags::LISTED, record.kind == LinkKind::Sitemap);
        flags.put(RowFlags::CUT, record.truncated);
        let (body_bytes, wire_bytes) = match record.outcome {
            OutcomeKind::Unmodified => (summary.body_bytes, summary.sent_bytes),
            _ => (record.body_bytes, record.wire_bytes),
        };
        Self {
            key: record.key,
            redirect,
            record_at: 0,
            facts_at: 0,
            outcome: record.outcome,
            status: record.status,
            failure: record.failure,
            skipped: record.reason,
            kind: record.kind,
            flags,
            depth: record.depth,
            links_in: 0,
            links_out: 0,
            first_byte: record.timings.first_byte.unwrap_or(0.0).ceil() as u32,
            body_bytes,
            wire_bytes,
            title: summary.title,
            description: summary.description,
            exact: summary.exact,
            near: summary.near,
        }
    }

    /// Whether this is true of it.
    pub const fn is(&self, flag: RowFlags) -> bool {
        self.flags.has(flag)
    }

    /// Whether it answered with 2xx, or did so before and nothing changed.
    pub fn is_good(&self) -> bool {
        let is_success = |status: u16| (200..300).contains(&status) || status == 304;
        match self.outcome {
            OutcomeKind::Fetched => self.status.is_some_and(is_success),
            OutcomeKind::Unmodified => true,
            OutcomeKind::Redirected | OutcomeKind::Skipped | OutcomeKind::Failed => false,
        }
    }

    /// Whether it is a page that search engines may show: good HTML that neither says `noindex` nor
    /// names another URL as its canonical one.
    pub fn is_indexable(&self) -> bool {
        let hides = self.is(RowFlags::NOINDEX) || self.is(RowFlags::CANONICAL_ELSEWHERE);
        self.is_good() && self.is(RowFlags::HTML) && !hides
    }
}

/// What is true of a URL, in bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowFlags(u8);

impl RowFlags {
    /// Its body is HTML that was read.
    pub const HTML: Self = Self(1);
    /// It says `noindex`, in its head or in its body.
    pub const NOINDEX: Self = Self(1 << 1);
    /// A sitemap lists it.
    pub const LISTED: Self = Self(1 << 2);
    /// Another page links to it.
    pub const LINKED: Self = Self(1 << 3);
    /// It names another URL as its canonical one.
    pub const CANONICAL_ELSEWHERE: Self = Self(1 << 4);
    /// Its body was cut.
    pub const CUT: Self = Self(1 << 5);
    /// It should have facts of its body, but the archive could not give that, or the reader broke.
    pub const UNREAD: Self = Self(1 << 6);

    /// The bits as they are kept in a file.
    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The bits to be kept in a file.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of these are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Sets these where something is so; takes none back.
    pub(crate) fn put(&mut self, flags: Self, is_so: impl Into<bool>) {
        if is_so.into() {
            self.0 |= flags.0;
        }
    }
}
