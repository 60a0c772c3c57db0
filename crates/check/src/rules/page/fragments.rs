//! Links to parts of pages.
//!
//! Owns when a part is missing, and when nobody can say. It refuses to know how fragments are
//! spelled: facts compare hashes. Invariant: a page that was cut lacks nothing.

use std::io;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;

use super::PageView;
use crate::facts::{Fragment, PageReference};
use crate::rules::bag::FindingBag;
use crate::rules::link_ends::is_made_by_scripts;
use crate::rules::registry::links as rules;
use crate::site::RowFlags;

/// The ids that a link of a page wants. Parts of drawings and times of films are no ids of pages.
fn wanted(reference: &PageReference) -> Option<[u64; 2]> {
    let is_link = matches!(reference.kind, LinkKind::Anchor | LinkKind::Area);
    match reference.fragment {
        Some(Fragment::Id(raw, decoded)) if is_link => Some([raw, decoded]),
        _ => None,
    }
}

fn has(ids: &[u64], wanted: [u64; 2]) -> bool {
    wanted.iter().any(|id| ids.binary_search(id).is_ok())
}

fn subject(wanted: [u64; 2]) -> String {
    format!("fragment {:016x}", wanted[0])
}

/// A link to a part of its own page.
pub(super) fn judge_itself(view: &PageView<'_>, reference: &PageReference, bag: &mut FindingBag) {
    let (Some(wanted), Some(html)) = (wanted(reference), view.html()) else {
        return;
    };
    if view.facts.is_cut || has(&html.ids, wanted) {
        return;
    }
    let is_scripted = is_made_by_scripts(view.facts, view.row.body_bytes);
    report(view, reference, (view.url(), is_scripted), bag);
}

/// A link to a part of a page of the site: `from` is what the link says, `end` where redirects end.
pub(super) fn judge_own(
    view: &PageView<'_>,
    reference: &PageReference,
    (from, end): (Key, Key),
    bag: &mut FindingBag,
) -> io::Result<()> {
    let Some(wanted) = wanted(reference) else {
        return Ok(());
    };
    let row = view.ends.site.row(end);
    let is_whole =
        row.is_some_and(|row| row.is_good() && !row.is(RowFlags::CUT) && !row.is(RowFlags::UNREAD));
    if !is_whole {
        return Ok(());
    }
    let Some(ids) = view.ends.site.ids(end)? else {
        return Ok(());
    };
    if has(&ids, wanted) {
        return Ok(());
    }
    let is_scripted = view.ends.is_scripted(end)?;
    if let Some(url) = view.ends.url(from)? {
        report(view, reference, (&url, is_scripted), bag);
    }
    Ok(())
}

fn report(
    view: &PageView<'_>,
    reference: &PageReference,
    (target, is_scripted): (&CrawlUrl, bool),
    bag: &mut FindingBag,
) {
    let Some(wanted) = wanted(reference) else {
        return;
    };
    let (rule, evidence) = if is_scripted {
        (
            &rules::FRAGMENT_UNSURE,
            "no element has that id, but scripts make the page",
        )
    } else {
        (&rules::FRAGMENT, "no element has that id")
    };
    let finding = view.finding(rule, evidence).with_target(target.as_str());
    bag.list(finding.with_subject(subject(wanted)).at(reference.byte));
}

/// A link to a part of a foreign page that was read.
pub(super) fn judge_foreign(
    view: &PageView<'_>,
    reference: &PageReference,
    url: &CrawlUrl,
    bag: &mut FindingBag,
) {
    let (Some(wanted), Some(row)) = (wanted(reference), view.ends.probes.row(url)) else {
        return;
    };
    if row.is_scripted || row.has_id(wanted) != Some(false) {
        return;
    }
    let finding = view.finding(&rules::FRAGMENT_EXTERNAL, "no element has that id");
    let finding = finding.with_target(url.as_str());
    bag.list(finding.with_subject(subject(wanted)).at(reference.byte));
}
