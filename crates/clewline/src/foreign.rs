//! Lines for answers that somebody else archived.
//!
//! Owns what can be known from the answer alone. Depth, tries, times and who linked to a page
//! are not in it, and say so by being zero. Invariant: the keys are those that a rebuild gives to
//! the links of the same files.

use std::io::BufRead;
use std::sync::OnceLock;
use std::time::Duration;

use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::outcome::is_redirect_status;
use clewline_core::url::CrawlUrl;
use clewline_warc::Moment;
use clewline_warc::read::Header;

use crate::clock::rfc3339;
use crate::config::{ExtractConfig, FetchConfig};
use crate::extract::PageExtractor;
use crate::record::{Entry, FORMAT, OutcomeKind, PhaseMillis, Record};
use crate::warc_metadata::{self, Captured};

/// Reads answers that somebody else archived.
pub struct Foreign {
    pub(super) keys: Keyer,
    extractor: PageExtractor,
}

impl Default for Foreign {
    fn default() -> Self {
        Self::with_keys(Keyer::new(0, &[]))
    }
}

impl Foreign {
    pub(super) fn with_keys(keys: Keyer) -> Self {
        let token = FetchConfig::default().robots_token();
        Self {
            keys,
            extractor: PageExtractor::new(&ExtractConfig::default(), &token),
        }
    }

    /// The line of `urls.jsonl` that an answer makes. Nothing if the block holds none, or not of
    /// a URL that can be crawled.
    pub fn record(&self, header: &Header, block: impl BufRead) -> Option<Record> {
        self.entry(header, block).map(|entry| entry.record)
    }

    pub(super) fn entry(&self, header: &Header, block: impl BufRead) -> Option<Entry> {
        let url = CrawlUrl::parse(header.target()?).ok()?;
        let date = header.date()?;
        let limit = FetchConfig::default().max_body;
        let found = warc_metadata::answer(&url, block, &self.extractor, limit);
        let found = found.ok().flatten()?;
        Some(entry(url, date, header.length(), found, &self.keys))
    }
}

/// The entry that an answer makes.
fn entry(url: CrawlUrl, date: Moment, wire: u64, found: Captured, keys: &Keyer) -> Entry {
    let headers = &found.headers;
    let text = |name: &str| headers.text(name).map(std::borrow::Cow::into_owned);
    let target = headers
        .reference("location")
        .filter(|_| is_redirect_status(found.status))
        .and_then(|location| url.join(&location).ok());
    let media_type = headers.media_type();
    let extracted = found.extracted;
    let links: Vec<_> = extracted
        .links
        .iter()
        .map(|link| (keys.key(&link.url), link.kind))
        .collect();
    let seconds = u64::try_from(date.seconds()).unwrap_or(0);
    let record = Record {
        v: FORMAT,
        key: keys.key(&url),
        outcome: match (&target, found.status) {
            (Some(_), _) => OutcomeKind::Redirected,
            (None, 304) => OutcomeKind::Unmodified,
            _ => OutcomeKind::Fetched,
        },
        status: Some(found.status),
        redirect_to: target.map(|target| target.to_string()),
        reason: None,
        failure: None,
        error: extracted.problem.map(str::to_owned),
        wire_bytes: wire,
        body_bytes: found.decoded,
        truncated: found.truncated,
        content_type: media_type,
        charset: extracted.charset.map(str::to_owned),
        links: u32::try_from(links.len()).unwrap_or(u32::MAX),
        new_links: 0,
        depth: 0,
        kind: LinkKind::Anchor,
        found_on: None,
        tries: 1,
        earlier: Vec::new(),
        timings: PhaseMillis::default(),
        address: None,
        title: extracted.title,
        canonical: extracted.canonical,
        lastmod: text("last-modified"),
        digest: Some(format!("xxh3:{:032x}", found.digest)),
        noindex: extracted.noindex,
        fetched_at: rfc3339(Duration::from_secs(seconds)),
        url,
    };
    Entry {
        record,
        links,
        exchange: None,
        outlinks: Vec::new(),
        line: OnceLock::new(),
    }
}
