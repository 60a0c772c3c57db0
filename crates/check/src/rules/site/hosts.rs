//! What whole hosts do.
//!
//! Owns the rules that speak of a host once. It refuses to ask hosts anything. Invariant: a host
//! without an answer has no finding.

use std::io;

use clewline_core::url::{CrawlUrl, Scheme};

use super::finding_on;
use crate::finding::CheckFinding;
use crate::rules::bag::FindingBag;
use crate::rules::link_ends::LinkEnds;
use crate::rules::registry::{content, index, links};
use crate::site::{RowFlags, UrlRow};
use crate::verdict::{CheckVerdict, status_words};

/// Pages from which on a site that hides itself is told.
const FEW_PAGES: u64 = 10;
/// Percent of the pages that say noindex.
const MOST_HIDDEN: u64 = 80;
/// Milliseconds to the first byte that are slow on every site.
const SLOW: u32 = 3_000;
/// Milliseconds that are never slow.
const FAST_ENOUGH: u32 = 1_000;
/// How many times slower than the site's median a slow page is.
const TIMES_SLOWER: u32 = 5;

fn is_own_page(ends: &LinkEnds<'_>, row: &UrlRow) -> bool {
    let is_html = row.is_good() && row.is(RowFlags::HTML) && row.kind.is_page();
    is_html && ends.site.has_host(row.key.host())
}

/// Nearly all pages say noindex.
pub(super) fn judge_noindex(ends: &LinkEnds<'_>, bag: &mut FindingBag) {
    let (mut pages, mut hidden) = (0_u64, 0_u64);
    for row in ends.site.rows() {
        if is_own_page(ends, row) {
            pages += 1;
            hidden += u64::from(row.is(RowFlags::NOINDEX));
        }
    }
    let Some(host) = ends.site.hosts().first() else {
        return;
    };
    if pages >= FEW_PAGES && hidden * 100 >= pages * MOST_HIDDEN {
        let evidence = format!("{hidden} of {pages} pages say noindex");
        let root = host.first.with_path("/");
        let mut finding = CheckFinding::new(&index::NOINDEX_SITEWIDE, root, evidence);
        finding.count = hidden;
        bag.list(finding);
    }
}

/// A host on https that also gives pages over http.
pub(super) fn judge_plain_http(ends: &LinkEnds<'_>, bag: &mut FindingBag) {
    for host in ends.site.hosts() {
        let name = host.first.host();
        let root = |scheme: &str| CrawlUrl::parse(&format!("{scheme}://{name}/")).ok();
        let (Some(plain), Some(secure)) = (root("http"), root("https")) else {
            continue;
        };
        let is_secure = host.first.scheme() == Scheme::Https
            || ends.site.row_of(&secure).is_some_and(UrlRow::is_good);
        let status = match ends.site.row_of(&plain) {
            Some(row) => row.status.filter(|_| row.is_good()),
            None => ends.probes.row(&plain).and_then(|row| {
                let stays = row.end().is_none_or(|end| end.scheme() == Scheme::Http);
                let is_good = matches!(row.verdict(), CheckVerdict::Ok | CheckVerdict::Moved);
                row.status.filter(|_| stays && is_good)
            }),
        };
        if let Some(status) = status.filter(|_| is_secure) {
            let evidence = format!("it answers {}", status_words(status));
            bag.list(CheckFinding::new(&links::NOT_HTTPS, plain, evidence));
        }
    }
}

/// Parts of the site that answer names which cannot exist as if they did.
pub(super) fn judge_soft_hosts(ends: &LinkEnds<'_>, bag: &mut FindingBag) {
    for (place, answer) in ends.probes.impossible() {
        let Some(url) = CrawlUrl::parse(place).ok().filter(|_| answer.is_good()) else {
            continue;
        };
        let words = status_words(answer.status);
        let evidence = match &answer.end {
            Some(end) => format!("names that cannot exist are sent to {end}, {words}"),
            None => format!("names that cannot exist answer {words}"),
        };
        let finding = CheckFinding::new(&content::SOFT_404, url, evidence);
        bag.list(finding.with_subject("every name"));
    }
}

/// Pages whose first byte came late at the first try: later ones were throttled.
pub(super) fn judge_speed(ends: &LinkEnds<'_>, bag: &mut FindingBag) -> io::Result<()> {
    let site = ends.site;
    let pages = || {
        let pages = site.rows().iter();
        pages.filter(|row| row.first_byte > 0 && is_own_page(ends, row))
    };
    let mut times: Vec<u32> = pages().map(|row| row.first_byte).collect();
    if times.is_empty() {
        return Ok(());
    }
    let middle = times.len() / 2;
    let median = *times.select_nth_unstable(middle).1;
    let limit = (median * TIMES_SLOWER).clamp(FAST_ENOUGH, SLOW);
    for row in pages().filter(|row| row.first_byte > limit) {
        let record = site.record(row.key)?;
        if record.is_some_and(|record| record.tries <= 1) {
            let time = row.first_byte;
            let evidence = format!("{time} ms to the first byte; the site's median is {median} ms");
            bag.list(finding_on(site, row, &links::SLOW, evidence)?);
        }
    }
    Ok(())
}
