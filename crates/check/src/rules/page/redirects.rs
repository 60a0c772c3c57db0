//! Links to redirects.
//!
//! Owns which redirects are worth a finding, and the patterns that are told once. It refuses to
//! follow them. Invariant: a redirect that ends well is never an error.

use std::io;

use clewline_core::domain::without_www;
use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::url::{CrawlUrl, Scheme};

use super::PageView;
use crate::facts::PageReference;
use crate::rules::bag::FindingBag;
use crate::rules::link_ends::OwnVerdict;
use crate::rules::registry::links as rules;

/// A link to a URL of the site that redirects to a good end.
pub(super) fn judge(
    view: &PageView<'_>,
    reference: &PageReference,
    (key, judged): (Key, &OwnVerdict),
    bag: &mut FindingBag,
) -> io::Result<()> {
    if matches!(reference.kind, LinkKind::Refresh | LinkKind::LazyImage) {
        return Ok(());
    }
    let site = view.ends.site;
    let hops: Vec<u16> = judged
        .hops
        .iter()
        .filter_map(|hop| site.row(*hop)?.status)
        .collect();
    let is_permanent = hops.iter().all(|status| matches!(status, 301 | 308));
    let rule = match hops.len() {
        0 | 1 if is_permanent => &rules::REDIRECT,
        _ if !is_permanent => &rules::REDIRECT_TEMPORARY,
        _ => &rules::REDIRECT_CHAIN,
    };
    let (Some(from), Some(end)) = (view.ends.url(key)?, end_url(view, judged)?) else {
        return Ok(());
    };
    let evidence = match hops.len() {
        0 | 1 => view.ends.hops_in_words(judged),
        count => format!("{count} redirects"),
    };
    let finding = view.finding(rule, evidence).at(reference.byte);
    match pattern(&from, &end) {
        Some(pattern) => {
            let mend = format!("{from} becomes {end}");
            bag.gather(finding.with_subject(pattern).with_mend(mend));
        }
        None => bag.list(finding.with_target(from.as_str()).with_mend(end.as_str())),
    }
    Ok(())
}

/// Where the redirects end, on the site or elsewhere.
fn end_url(view: &PageView<'_>, judged: &OwnVerdict) -> io::Result<Option<CrawlUrl>> {
    let Some(last) = judged.hops.last() else {
        return Ok(None);
    };
    let record = view.ends.site.record(*last)?;
    Ok(record.and_then(|record| record.url.join(record.redirect_to.as_deref()?).ok()))
}

/// What differs, if it is only what servers rewrite for every URL.
fn pattern(from: &CrawlUrl, end: &CrawlUrl) -> Option<&'static str> {
    if from.query() != end.query() {
        return None;
    }
    let is_same_host = from.host() == end.host();
    let is_same_path = from.path() == end.path();
    let with_slash = |a: &CrawlUrl, b: &CrawlUrl| b.path().strip_suffix('/') == Some(a.path());
    if is_same_host && is_same_path && from.scheme() == Scheme::Http {
        Some("http becomes https")
    } else if is_same_path && without_www(from.host()) == without_www(end.host()) {
        Some("www differs")
    } else if is_same_host && with_slash(from, end) {
        Some("a slash is added")
    } else if is_same_host && with_slash(end, from) {
        Some("the slash is removed")
    } else {
        None
    }
}
