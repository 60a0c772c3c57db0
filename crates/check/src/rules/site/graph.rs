//! How pages hang together.
//!
//! Owns pages without links to them, and translations without a way back. It refuses to count
//! links: the table did. Invariant: where a page could not be read, nobody says that a link is
//! missing.

use std::collections::HashSet;
use std::io;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;

use super::{finding_on, url_of};
use crate::rules::bag::FindingBag;
use crate::rules::link_ends::LinkEnds;
use crate::rules::registry::index as rules;
use crate::site::{ChainEnd, RowFlags};

pub(super) fn judge_orphans(ends: &LinkEnds<'_>, bag: &mut FindingBag) -> io::Result<()> {
    let site = ends.site;
    let is_blind = |flags| site.rows().iter().any(|row| row.is(flags));
    if is_blind(RowFlags::UNREAD) || is_blind(RowFlags::CUT) {
        return Ok(());
    }
    let behind_redirects = ends_of_linked_redirects(ends);
    for row in site.rows() {
        let is_listed = row.is(RowFlags::LISTED) || row.kind == LinkKind::Feed;
        let is_own = site.has_host(row.key.host());
        let is_linked = row.is(RowFlags::LINKED) || behind_redirects.contains(&row.key);
        if is_listed && is_own && row.is_indexable() && !is_linked && row.depth > 0 {
            let evidence = match row.kind {
                LinkKind::Feed => "only a feed lists it",
                _ => "only a sitemap lists it",
            };
            bag.list(finding_on(site, row, &rules::ORPHAN, evidence)?);
        }
    }
    Ok(())
}

/// Where redirects end that pages link to.
fn ends_of_linked_redirects(ends: &LinkEnds<'_>) -> HashSet<Key> {
    let redirects = ends.site.rows().iter().filter(|row| {
        let is_known = row.is(RowFlags::LINKED) || row.kind == LinkKind::Root;
        row.redirect.is_some() && is_known
    });
    let ends = redirects.filter_map(|row| match ends.site.end_of(row.key).end {
        ChainEnd::Row(end) => Some(end),
        _ => None,
    });
    ends.collect()
}

/// Translations that are named by one side only. Each pair is a page and what it names.
pub(super) fn judge_returns(
    ends: &LinkEnds<'_>,
    mut pairs: Vec<(u32, u32)>,
    bag: &mut FindingBag,
) -> io::Result<()> {
    let site = ends.site;
    pairs.sort_unstable();
    pairs.dedup();
    for (page, other) in &pairs {
        if page == other || pairs.binary_search(&(*other, *page)).is_ok() {
            continue;
        }
        let (page, other) = (&site.rows()[*page as usize], &site.rows()[*other as usize]);
        let is_read =
            other.is_indexable() && !other.is(RowFlags::UNREAD) && !other.is(RowFlags::CUT);
        if is_read && site.has_host(other.key.host()) {
            let target = url_of(site, other.key)?;
            let evidence = "it does not name this page in return";
            let finding = finding_on(site, page, &rules::HREFLANG_RETURN, evidence)?;
            bag.list(finding.with_target(target.as_str()));
        }
    }
    Ok(())
}
