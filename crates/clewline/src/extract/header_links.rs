//! References in header fields.
//!
//! Owns the parsing of Link (RFC 8288 section 3 and appendix B) and Refresh. Refuses to know
//! what the relations mean. Invariant: linear in the value; what does not parse is skipped.

use clewline_core::link::LinkKind;
use clewline_html::refresh;

use super::collect::{Against, Collector, Reference};
use super::relation;
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

/// One link of a Link field.
#[derive(Debug, Default)]
struct HeaderLink<'a> {
    target: &'a str,
    relations: Option<String>,
    destination: Option<String>,
    has_anchor: bool,
}

fn each_link(value: &str, mut found: impl FnMut(HeaderLink<'_>)) {
    let mut rest = value;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start + 1..].find('>') else {
            return;
        };
        let target = &rest[start + 1..start + 1 + length];
        rest = &rest[start + 1 + length + 1..];
        let mut link = HeaderLink {
            target,
            ..HeaderLink::default()
        };
        rest = parameters(rest, &mut link);
        found(link);
    }
}

/// Reads the parameters of one link, and answers what follows its comma.
fn parameters<'a>(mut rest: &'a str, link: &mut HeaderLink<'_>) -> &'a str {
    loop {
        rest = rest.trim_start();
        let Some(after) = rest.strip_prefix(';') else {
            let end = rest.find([',', ';']).unwrap_or(rest.len());
            rest = &rest[end..];
            if rest.starts_with(';') {
                continue;
            }
            return rest.strip_prefix(',').unwrap_or(rest);
        };
        let after = after.trim_start();
        let name_end = after.find(['=', ';', ',']).unwrap_or(after.len());
        let name = after[..name_end].trim_end();
        rest = &after[name_end..];
        let mut value = String::new();
        if let Some(raw) = rest.strip_prefix('=') {
            (value, rest) = parameter_value(raw.trim_start());
        }
        // Of several `rel` the first counts (RFC 8288 section 3.3).
        if name.eq_ignore_ascii_case("rel") {
            link.relations.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("as") {
            link.destination.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("anchor") {
            link.has_anchor = true;
        }
    }
}

fn parameter_value(raw: &str) -> (String, &str) {
    let Some(quoted) = raw.strip_prefix('"') else {
        let end = raw.find([';', ',']).unwrap_or(raw.len());
        return (raw[..end].trim_end().to_owned(), &raw[end..]);
    };
    let mut value = String::new();
    let mut is_escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            _ if is_escaped => {
                value.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => return (value, &quoted[at + 1..]),
            _ => value.push(c),
        }
    }
    (value, "")
}

/// A field's value as text; bytes that are not UTF-8 are taken for Latin-1.
pub(super) fn text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().copied().map(char::from).collect(),
    }
}
