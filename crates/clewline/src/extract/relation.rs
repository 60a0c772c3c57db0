//! What a `rel` means for a crawler.
//!
//! Owns the mapping from relation names (HTML section 4.6.7, RFC 8288) to kinds of links, for
//! `<link>` and the Link header field alike. Refuses to know where the relation was written.

use clewline_core::link::LinkKind;

/// Relations that only warm up a connection: their target is an origin, not a resource.
const CONNECTIONS: [&str; 2] = ["dns-prefetch", "preconnect"];

/// The kind of a link with these relations; `destination` is its `as`. None if it is no link.
pub(super) fn kind(relations: &str, destination: Option<&str>) -> Option<LinkKind> {
    relations
        .split_ascii_whitespace()
        .filter_map(|relation| one(&relation.to_ascii_lowercase(), destination))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, kind)| kind)
}

/// Whether an anchor's relations ask not to be followed.
pub(super) fn is_nofollow(relations: &str) -> bool {
    relations.split_ascii_whitespace().any(|relation| {
        ["nofollow", "ugc", "sponsored"]
            .iter()
            .any(|name| relation.eq_ignore_ascii_case(name))
    })
}

/// The kind of one relation, and its rank where a link has several: `alternate stylesheet` is a
/// style sheet, `shortcut icon` an icon.
fn one(relation: &str, destination: Option<&str>) -> Option<(u8, LinkKind)> {
    if CONNECTIONS.contains(&relation) {
        return None;
    }
    Some(match relation {
        "canonical" => (0, LinkKind::Canonical),
        "stylesheet" => (1, LinkKind::Style),
        "icon"
        | "mask-icon"
        | "fluid-icon"
        | "apple-touch-icon"
        | "apple-touch-icon-precomposed"
        | "apple-touch-startup-image"
        | "manifest" => (2, LinkKind::Asset),
        "modulepreload" => (3, LinkKind::Script),
        "preload" | "prefetch" | "prerender" => (4, destined(destination)),
        "next" => (5, LinkKind::Next),
        "prev" | "previous" => (6, LinkKind::Prev),
        "alternate" => (7, LinkKind::Alternate),
        _ => (8, LinkKind::Related),
    })
}

/// The kind of a preloaded resource, by its destination (Fetch section 2.2.5).
fn destined(destination: Option<&str>) -> LinkKind {
    match destination
        .unwrap_or_default()
        .to_ascii_lowercase()
        .as_str()
    {
        "image" => LinkKind::Image,
        "style" => LinkKind::Style,
        "script" => LinkKind::Script,
        "font" => LinkKind::Font,
        "audio" | "video" | "track" => LinkKind::Media,
        _ => LinkKind::Asset,
    }
}
