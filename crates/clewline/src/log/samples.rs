//! Made-up entries for the tests of the logs.

use std::sync::OnceLock;

use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;

use crate::entry::Entry;
use crate::record::Record;

pub(super) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

/// A fetched HTML page of 1,000 bytes.
pub(super) fn record(text: &str) -> Record {
    let key = Keyer::default().key(&url(text)).to_string();
    let line = serde_json::json!({
        "v": 1, "url": text, "key": key, "outcome": "fetched", "status": 200,
        "wire_bytes": 600, "body_bytes": 1000, "content_type": "text/html", "charset": "utf-8",
        "links": 5, "new_links": 2, "depth": 1, "kind": "anchor", "tries": 1,
        "timings": {"first_byte": 20.0, "total": 24.0}, "fetched_at": "2026-11-15T10:00:00.000Z",
    });
    serde_json::from_value(line).unwrap()
}

/// A record and the pages it links to.
pub(super) fn entry(record: Record, links: &[(&str, LinkKind)]) -> Entry {
    let keyer = Keyer::default();
    let links = links
        .iter()
        .map(|(text, kind)| (keyer.key(&url(text)), *kind));
    bare(record, links.collect())
}

/// An entry without an exchange.
pub(super) fn bare(record: Record, links: Vec<(Key, LinkKind)>) -> Entry {
    Entry {
        record,
        links,
        exchange: None,
        outlinks: Vec::new(),
        views: Vec::new(),
        line: OnceLock::new(),
    }
}
