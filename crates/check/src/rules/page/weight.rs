//! What pages and their parts weigh, and how they are sent.
//!
//! Owns the limits. It refuses to measure: sizes are those of the record. Invariant: what was not
//! fetched weighs nothing.

use std::collections::HashSet;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;

use super::PageView;
use super::fields::directive;
use crate::facts::ReferenceTarget;
use crate::rules::bag::FindingBag;
use crate::rules::registry::mixed as rules;

/// Bytes of a page with its parts.
const HEAVY_PAGE: u64 = 3_000_000;
/// Bytes of an image.
const HEAVY_IMAGE: u64 = 500_000;
/// Bytes of a text that are worth compressing.
const LONG_TEXT: u64 = 10_000;
/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;
/// Letters and digits of a hash in a name, at least.
const SHORTEST_HASH: usize = 8;

pub(super) fn judge(view: &PageView<'_>, bag: &mut FindingBag) {
    if !view.row.is_good() {
        return;
    }
    let row = view.row;
    let media_type = view.record.content_type.as_deref().unwrap_or_default();
    if media_type.starts_with("image/") && row.wire_bytes > HEAVY_IMAGE {
        let evidence = format!("{} KB", row.wire_bytes / 1_000);
        bag.list(view.finding(&rules::WEIGHT_IMAGE, evidence));
    }
    let head = &view.facts.head;
    let is_plain = head.field("content-encoding").is_none() && !head.fields.is_empty();
    if is_text(media_type) && is_plain && row.body_bytes > LONG_TEXT {
        let evidence = format!("{media_type} of {} KB", row.body_bytes / 1_000);
        let finding = view.finding(&rules::WEIGHT_UNCOMPRESSED, evidence);
        bag.gather(finding.with_subject(media_type));
    }
    if !head.fields.is_empty() && is_static(view.record.kind) && has_hash(view.url().path()) {
        let field = head.all("cache-control").collect::<Vec<_>>().join(",");
        let is_kept = directive(&field, "max-age").is_some_and(|seconds| seconds >= DAY);
        if !is_kept || field.contains("no-store") {
            let evidence = match &*field {
                "" => "no Cache-Control".to_owned(),
                field => format!("Cache-Control: {field}"),
            };
            bag.gather(view.finding(&rules::WEIGHT_UNCACHED, evidence));
        }
    }
    if view.html().is_some() {
        judge_page(view, bag);
    }
}

fn judge_page(view: &PageView<'_>, bag: &mut FindingBag) {
    let site = view.ends.site;
    let mut parts: HashSet<Key> = HashSet::new();
    let mut bytes = view.row.wire_bytes;
    for reference in &view.facts.references {
        let is_loaded = reference.kind.is_requisite() && reference.kind != LinkKind::LazyImage;
        let key = match &reference.target {
            ReferenceTarget::Own(key) => *key,
            ReferenceTarget::Foreign(url) => site.keyer().key(url),
            _ => continue,
        };
        if is_loaded && parts.insert(key) {
            bytes += site.row(key).map_or(0, |row| row.wire_bytes);
        }
    }
    if bytes > HEAVY_PAGE {
        let tenths = bytes / 100_000;
        let evidence = format!(
            "{}.{} MB with {} parts",
            tenths / 10,
            tenths % 10,
            parts.len()
        );
        bag.list(view.finding(&rules::WEIGHT_PAGE, evidence));
    }
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || media_type.ends_with("+xml")
        || media_type.ends_with("json")
        || media_type.ends_with("javascript")
        || media_type == "application/xml"
}

const fn is_static(kind: LinkKind) -> bool {
    matches!(
        kind,
        LinkKind::Style
            | LinkKind::Script
            | LinkKind::Font
            | LinkKind::Image
            | LinkKind::CssUrl
            | LinkKind::CssImport
    )
}

/// Whether a name holds a part of letters and digits that no word is: `app.3f2a9c1b.js`.
fn has_hash(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut parts = name.split(['.', '-', '_']).skip(1);
    parts.any(|part| {
        let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let has_digit = part.bytes().any(|byte| byte.is_ascii_digit());
        let has_letter = part.bytes().any(|byte| byte.is_ascii_alphabetic());
        part.len() >= SHORTEST_HASH && is_hex && has_digit && has_letter
    })
}
