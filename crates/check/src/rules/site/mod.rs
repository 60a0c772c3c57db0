//! Rules on the site as a whole.
//!
//! Owns what is noted of each page on the way, and what is asked when all pages were seen. It refuses
//! to judge single pages. Invariant: a page costs a few words of memory, and a URL is read again only
//! for a finding.

mod duplicates;
mod graph;
mod hosts;
mod sitemaps;

use std::io;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use xxhash_rust::xxh3::Xxh3;

use super::bag::FindingBag;
use super::judge::JudgeOptions;
use super::link_ends::LinkEnds;
use super::page::{PageView, is_default};
use crate::finding::CheckFinding;
use crate::rule::CheckRule;
use crate::site::{SiteTable, UrlRow};

/// Pairs of translations that are compared; beyond that nothing is said of returns.
const MOST_PAIRS: usize = 4_000_000;
/// Words below which equal texts mean nothing.
const COMPARABLE_WORDS: u32 = 20;
/// Words below which similar texts mean nothing.
const SIMILAR_WORDS: u32 = 50;

/// What the rules on the site keep of each page.
#[derive(Debug, Default)]
pub(super) struct SiteNotes {
    /// Hashes of titles, each with the place of its page.
    titles: Vec<(u64, u32)>,
    /// Hashes of descriptions.
    descriptions: Vec<(u64, u32)>,
    /// Hashes of texts, exact and near; the latter is 0 where a text is too short for it.
    texts: Vec<(u64, u64, u32)>,
    /// Pages and what they name as a translation, by their places.
    translations: Vec<(u32, u32)>,
    /// There were more of them than are compared.
    has_more_translations: bool,
}

impl SiteNotes {
    /// Notes a page.
    pub(super) fn note(&mut self, place: usize, view: &PageView<'_>) {
        let place = place as u32;
        let Some(html) = view.html() else { return };
        self.note_translations(place, view);
        if !view.row.is_indexable() {
            return;
        }
        if html.words >= COMPARABLE_WORDS && html.exact != 0 {
            let near = if html.words >= SIMILAR_WORDS {
                html.near
            } else {
                0
            };
            self.texts.push((html.exact, near, place));
        }
        let references = view.facts.references.iter();
        let is_in_series = references
            .map(|reference| reference.kind)
            .any(|kind| matches!(kind, LinkKind::Next | LinkKind::Prev));
        if is_in_series || matches!(view.row.kind, LinkKind::Next | LinkKind::Prev) {
            return;
        }
        let language = html.language.as_deref().unwrap_or_default();
        let identity = |text: &str| {
            let mut hash = Xxh3::new();
            for part in [text.trim(), language, view.url().host()] {
                hash.update(part.as_bytes());
                hash.update(b"\n");
            }
            hash.digest()
        };
        if let Some(title) = html.titles.first().filter(|title| !title.trim().is_empty()) {
            self.titles.push((identity(title), place));
        }
        if let Some(description) = html
            .descriptions
            .first()
            .filter(|text| !text.trim().is_empty())
        {
            self.descriptions.push((identity(description), place));
        }
    }

    fn note_translations(&mut self, place: u32, view: &PageView<'_>) {
        let site = view.ends.site;
        let named = view.html().map_or(&[][..], |html| &html.translations);
        for (_, url) in named.iter().filter(|(code, _)| !is_default(code)) {
            let Ok(url) = url else { continue };
            let Some(other) = site.place(site.keyer().key(url)) else {
                continue;
            };
            if self.translations.len() >= MOST_PAIRS {
                self.has_more_translations = true;
                return;
            }
            self.translations.push((place, other as u32));
        }
    }
}

/// Asks all rules on the site.
pub(super) fn judge_site(
    ends: &LinkEnds<'_>,
    notes: SiteNotes,
    options: &JudgeOptions,
    bag: &mut FindingBag,
) -> io::Result<()> {
    hosts::judge_noindex(ends, bag);
    hosts::judge_plain_http(ends, bag);
    hosts::judge_soft_hosts(ends, bag);
    hosts::judge_speed(ends, bag)?;
    sitemaps::judge_entries(ends, bag)?;
    sitemaps::judge_files(ends, bag)?;
    if options.is_complete {
        graph::judge_orphans(ends, bag)?;
    }
    if !notes.has_more_translations {
        graph::judge_returns(ends, notes.translations, bag)?;
    }
    duplicates::judge_titles(ends, notes.titles, bag)?;
    duplicates::judge_descriptions(ends, notes.descriptions, bag)?;
    duplicates::judge_texts(ends, notes.texts, bag)
}

/// The URL of a row.
fn url_of(site: &SiteTable, key: Key) -> io::Result<CrawlUrl> {
    let missing = || io::Error::other("a row of the table has no record; run the check again");
    site.url(key)?.ok_or_else(missing)
}

/// A finding on the page of a row.
fn finding_on(
    site: &SiteTable,
    row: &UrlRow,
    rule: &'static CheckRule,
    evidence: impl Into<String>,
) -> io::Result<CheckFinding> {
    Ok(CheckFinding::new(rule, url_of(site, row.key)?, evidence))
}
