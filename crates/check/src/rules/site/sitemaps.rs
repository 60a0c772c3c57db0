//! Sitemaps and what they list.
//!
//! Owns which entries search engines cannot show, and which files they cannot use. It refuses to
//! parse sitemaps: the crawl did. Invariant: an entry that was not asked for has no finding.

use std::io;

use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_job::record::{OutcomeKind, Record};

use super::finding_on;
use crate::finding::CheckFinding;
use crate::rules::bag::FindingBag;
use crate::rules::link_ends::LinkEnds;
use crate::rules::registry::index as rules;
use crate::site::{RowFlags, UrlRow};
use crate::verdict::{CheckVerdict, LinkAnswer, judge_answer};

/// Addresses that a sitemap may list (sitemaps.org).
const MOST_ENTRIES: u32 = 50_000;
/// Bytes that a sitemap may have, uncompressed.
const MOST_BYTES: u64 = 50 << 20;

pub(super) fn judge_entries(ends: &LinkEnds<'_>, bag: &mut FindingBag) -> io::Result<()> {
    for row in ends.site.rows() {
        if !row.is(RowFlags::LISTED) {
            continue;
        }
        if let Some(evidence) = fault_of_entry(ends, row)? {
            bag.list(finding_on(ends.site, row, &rules::SITEMAP_ENTRY, evidence)?);
        }
    }
    Ok(())
}

fn fault_of_entry(ends: &LinkEnds<'_>, row: &UrlRow) -> io::Result<Option<String>> {
    if row.is_good() {
        let fault = if row.is(RowFlags::NOINDEX) {
            Some("it says noindex")
        } else if row.is(RowFlags::CANONICAL_ELSEWHERE) {
            Some("it names another page as canonical")
        } else {
            None
        };
        return Ok(fault.map(str::to_owned));
    }
    if !ends.site.has_host(row.key.host()) {
        return Ok(Some("it is on another host".to_owned()));
    }
    if row.skipped == Some(SkipReason::Robots) {
        return Ok(Some(SkipReason::Robots.about().to_owned()));
    }
    let judged = ends.own(row.key)?;
    let fault = match (row.outcome, judged.verdict) {
        (OutcomeKind::Redirected, _) => Some(ends.hops_in_words(&judged)),
        (_, CheckVerdict::Broken | CheckVerdict::Blocked) => Some(judged.evidence.clone()),
        _ => None,
    };
    Ok(fault)
}

pub(super) fn judge_files(ends: &LinkEnds<'_>, bag: &mut FindingBag) -> io::Result<()> {
    let site = ends.site;
    for row in site.rows() {
        if row.kind != LinkKind::SitemapFile || !site.has_host(row.key.host()) {
            continue;
        }
        let Some(record) = site.record(row.key)? else {
            continue;
        };
        if let Some(evidence) = fault_of_file(row, &record) {
            bag.list(CheckFinding::new(
                &rules::SITEMAP_FILE,
                record.url,
                evidence,
            ));
        }
    }
    Ok(())
}

fn fault_of_file(row: &UrlRow, record: &Record) -> Option<String> {
    // Nobody announced it: the crawl looked at the usual place, and a site need not have one.
    if record.reason == Some(SkipReason::NoSitemap) {
        return None;
    }
    if !row.is_good() {
        let judged = judge_answer(&LinkAnswer::from_record(record), &[]);
        let is_bad = matches!(judged.verdict, CheckVerdict::Broken | CheckVerdict::Blocked);
        return is_bad.then_some(judged.evidence);
    }
    if record.outcome == OutcomeKind::Unmodified {
        return None;
    }
    if record.body_bytes > MOST_BYTES {
        Some(format!("{} MB", record.body_bytes >> 20))
    } else if record.links > MOST_ENTRIES {
        Some(format!("{} addresses", record.links))
    } else if record.links == 0 && !record.truncated {
        let words = record.error.as_deref().unwrap_or("it lists nothing");
        Some(words.to_owned())
    } else {
        None
    }
}
