//! What holds of any row and any page.

use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;

use super::row::{RowOrigin, RowParts, encode};

/// A row that can be read says the same when it is written again.
pub(crate) fn row(data: &[u8]) {
    let Some(parts) = RowParts::new(data) else {
        return;
    };
    let _ = parts.ids();
    let told = parts.targets(|_, _| {}, |_, _| {});
    let Some(facts) = parts.facts() else { return };
    assert!(
        told.is_some(),
        "whoever reads all references can read their targets"
    );
    let url = CrawlUrl::parse("http://h.test/").expect("the URL is a constant that parses");
    let mut again = Vec::new();
    encode(parts.origin, &url, &facts, &mut again);
    let again = RowParts::new(&again).and_then(|parts| parts.facts());
    assert_eq!(again.map(|facts| facts.references), Some(facts.references));
}

/// A page can be read, and its row says what was read.
pub(crate) fn page(keyer: &Keyer, data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let url = CrawlUrl::parse("http://h.test/").expect("the URL is a constant that parses");
    let facts = super::page::of_text(keyer, &url, &text);
    for reference in &facts.references {
        assert!((reference.byte as usize) < text.len(), "{}", reference.byte);
    }
    let origin = RowOrigin {
        key: keyer.key(&url),
        record: 0,
        body: 0,
        head: 0,
    };
    let mut row = Vec::new();
    encode(origin, &url, &facts, &mut row);
    let read = RowParts::new(&row).and_then(|parts| parts.facts());
    assert_eq!(read.as_ref(), Some(&facts));
}
