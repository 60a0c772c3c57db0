//! What a `rel` means for a crawler.
//!
//! Owns the mapping from relation names (HTML section 4.6.7, RFC 8288) to kinds of links, for
//! `<link>` and the Link header field alike. Refuses to know where the relation was written.

use super::LinkKind;

/// Relations that only warm up a connection: their target is an origin, not a resource.
const CONNECTIONS: [&str; 2] = ["dns-prefetch", "preconnect"];

/// The kind of a link with these relations; `destination` is its `as`. None if it is no link.
pub fn kind(relations: &str, destination: Option<&str>) -> Option<LinkKind> {
    relations
        .split_ascii_whitespace()
        .filter_map(|relation| one(relation, destination))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, kind)| kind)
}

/// Whether an anchor's relations ask not to be followed.
pub fn is_nofollow(relations: &str) -> bool {
    relations.split_ascii_whitespace().any(|relation| {
        ["nofollow", "ugc", "sponsored"]
            .iter()
            .any(|name| relation.eq_ignore_ascii_case(name))
    })
}

/// Relations by name, each with its rank where a link has several: `alternate stylesheet` is a
/// style sheet, `shortcut icon` an icon.
const NAMED: [(&str, u8, LinkKind); 14] = [
    ("canonical", 0, LinkKind::Canonical),
    ("stylesheet", 1, LinkKind::Style),
    ("icon", 2, LinkKind::Asset),
    ("mask-icon", 2, LinkKind::Asset),
    ("fluid-icon", 2, LinkKind::Asset),
    ("apple-touch-icon", 2, LinkKind::Asset),
    ("apple-touch-icon-precomposed", 2, LinkKind::Asset),
    ("apple-touch-startup-image", 2, LinkKind::Asset),
    ("manifest", 2, LinkKind::Asset),
    ("modulepreload", 3, LinkKind::Script),
    ("next", 5, LinkKind::Next),
    ("prev", 6, LinkKind::Prev),
    ("previous", 6, LinkKind::Prev),
    ("alternate", 7, LinkKind::Alternate),
];

/// Relations whose kind is that of what is loaded; they come before `next`.
const LOADS: [&str; 3] = ["preload", "prefetch", "prerender"];

/// The kind of one relation, and its rank.
fn one(relation: &str, destination: Option<&str>) -> Option<(u8, LinkKind)> {
    let is = |name: &&str| relation.eq_ignore_ascii_case(name);
    if CONNECTIONS.iter().any(is) {
        return None;
    }
    if LOADS.iter().any(is) {
        return Some((4, destined(destination)));
    }
    let named = NAMED.iter().find(|(name, ..)| is(name));
    Some(named.map_or((8, LinkKind::Related), |(_, rank, kind)| (*rank, *kind)))
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
