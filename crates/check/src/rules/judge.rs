//! The way from a table to findings.
//!
//! Owns the two passes: one over all pages, and one over the table as a whole. It refuses to know
//! what the rules look for. Invariant: memory is bounded by the findings that are listed and by a
//! few words for each page, whatever the pages hold.

use std::io;

use super::bag::FindingBag;
use super::link_ends::LinkEnds;
use super::page::{self, PageView};
use super::site::{self, SiteNotes};
use crate::finding::CheckFinding;
use crate::probe::ProbeTable;
use crate::settings::AcceptedStatus;
use crate::site::SiteTable;

/// What judging depends on beside facts and answers.
#[derive(Debug, Clone, Default)]
pub struct JudgeOptions {
    /// The crawl came to its end: what was not found is not there.
    pub is_complete: bool,
    /// What the user says of statuses.
    pub accept: Vec<AcceptedStatus>,
}

/// Asks every rule. The findings are sorted: worst first, then by rule, page, target and place.
pub fn judge(
    site: &SiteTable,
    probes: &ProbeTable,
    options: &JudgeOptions,
) -> io::Result<Vec<CheckFinding>> {
    let ends = LinkEnds::new(site, probes, &options.accept);
    let mut bag = FindingBag::default();
    let mut notes = SiteNotes::default();
    for (place, read) in site.pages()?.enumerate() {
        let (record, facts) = read?;
        let row = &site.rows()[place];
        if !site.has_host(record.key.host()) {
            continue;
        }
        let view = PageView {
            ends: &ends,
            record: &record,
            row,
            facts: &facts,
        };
        page::judge_page(&view, &mut bag)?;
        notes.note(place, &view);
    }
    site::judge_site(&ends, notes, options, &mut bag)?;
    Ok(bag.into_findings())
}
