//! References in header fields.
//!
//! Owns which links of Link and Refresh are taken, and how many. Refuses to know how they are
//! written and what the relations mean. Invariant: linear in the value; what does not parse is skipped.

use clewline_core::link::field::{HeaderLink, each_link};
use clewline_core::link::{LinkKind, relation};
use clewline_html::refresh;

use super::collect::{Against, Collector, Reference};
use crate::headers::Headers;

/// How many links of a head are read: the head itself is bounded, this bounds its use.
const LINK_LIMIT: usize = 1000;

/// Collects the references of a response's header fields.
pub(super) fn collect(headers: &Headers, collector: &mut Collector) {
    let mut left = LINK_LIMIT;
    for value in headers.all("link") {
        each_link(&text(value), |link| {
            if left > 0 {
                left -= 1;
                add(collector, &link);
            }
        });
    }
    let refresh = headers.get("refresh").map(text).unwrap_or_default();
    if let Some(place) = refresh::target(&refresh) {
        let raw = &refresh[place];
        let against = Against::Page;
        collector.add_reference(Reference {
            against,
            ..Reference::new(raw, LinkKind::Refresh)
        });
    }
}

fn add(collector: &mut Collector, link: &HeaderLink<'_>) {
    // An anchor makes another resource the one that links (RFC 8288 section 3.2).
    if link.has_anchor {
        return;
    }
    let Some(relations) = &link.relations else {
        return;
    };
    if let Some(kind) = relation::kind(relations, link.destination.as_deref()) {
        let nofollow = relation::is_nofollow(relations);
        let against = Against::Page;
        let reference = Reference {
            against,
            nofollow,
            ..Reference::new(link.target, kind)
        };
        collector.add_reference(reference);
    }
}

/// A field's value as text; bytes that are not UTF-8 are taken for Latin-1.
pub(super) fn text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().copied().map(char::from).collect(),
    }
}
