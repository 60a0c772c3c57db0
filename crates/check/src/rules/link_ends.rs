//! Where links end.
//!
//! Owns the verdict on links to the site's own URLs, from what the crawl recorded, and the choice of
//! what is known of foreign ones. It refuses to know what pages say. Invariants: a record is read
//! only where a link is not good; of what was judged at most [`MOST_REMEMBERED`] are kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;
use clewline_job::record::OutcomeKind;

use crate::facts::{FactRow, ReferenceTarget};
use crate::probe::{ProbeRow, ProbeTable};
use crate::settings::AcceptedStatus;
use crate::site::{ChainEnd, SiteTable, UrlRow};
use crate::verdict::{CheckVerdict, LinkAnswer, judge_answer, status_words};

/// Verdicts that are remembered, and URLs, and whether scripts make a page.
const MOST_REMEMBERED: usize = 50_000;
/// Words below which a page with scripts is thought to be made by them.
const WORDS_OF_SHELL: u32 = 50;

/// The verdict on a link to a URL of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnVerdict {
    /// The verdict.
    pub verdict: CheckVerdict,
    /// What was seen, as a short sentence without its full stop.
    pub evidence: String,
    /// The URLs that redirect, in their order.
    pub hops: Vec<Key>,
    /// How the chain ends.
    pub end: ChainEnd,
    /// robots.txt of the site denies the URL, which its owner means so.
    pub is_denied: bool,
    /// The status at the end, if there was an answer.
    pub status: Option<u16>,
}

/// Judges a link to a URL of the site by what the crawl recorded. Where its redirects leave the
/// site, the probes say how they end.
pub fn own_verdict(
    site: &SiteTable,
    probes: &ProbeTable,
    accept: &[AcceptedStatus],
    key: Key,
) -> io::Result<OwnVerdict> {
    let chain = site.end_of(key);
    let mut judged = OwnVerdict {
        verdict: CheckVerdict::Unchecked,
        evidence: "nobody asked".to_owned(),
        hops: chain.hops,
        end: chain.end,
        is_denied: false,
        status: None,
    };
    match chain.end {
        ChainEnd::Row(end) => judged.judge_row(site, accept, end)?,
        ChainEnd::Loop(_) => {
            judged.verdict = CheckVerdict::Broken;
            FailureClass::RedirectLoop
                .about()
                .clone_into(&mut judged.evidence);
        }
        ChainEnd::Foreign(_) | ChainEnd::Unknown(_) => {}
    }
    if judged.verdict == CheckVerdict::Unchecked && !judged.hops.is_empty() {
        judged.ask_probes(site, probes)?;
    }
    if judged.verdict == CheckVerdict::Ok && !judged.hops.is_empty() {
        judged.verdict = CheckVerdict::Moved;
    }
    Ok(judged)
}

impl OwnVerdict {
    /// Whether the redirects go round in circles.
    pub const fn is_loop(&self) -> bool {
        matches!(self.end, ChainEnd::Loop(_))
    }

    fn judge_row(
        &mut self,
        site: &SiteTable,
        accept: &[AcceptedStatus],
        end: Key,
    ) -> io::Result<()> {
        let Some(row) = site.row(end) else {
            return Ok(());
        };
        self.status = row.status;
        self.is_denied = row.skipped == Some(SkipReason::Robots);
        if row.outcome == OutcomeKind::Unmodified {
            self.verdict = CheckVerdict::Ok;
            return Ok(());
        }
        let record = (!row.is_good()).then(|| site.record(end)).transpose()?;
        let record = record.flatten();
        let answer = match &record {
            Some(record) => LinkAnswer::from_record(record),
            None => LinkAnswer {
                status: row.status,
                ..LinkAnswer::default()
            },
        };
        let judged = judge_answer(&answer, accept);
        self.verdict = judged.verdict;
        self.evidence = judged.evidence;
        if row.failure == Some(FailureClass::RedirectLoop) {
            self.end = ChainEnd::Loop(end);
        }
        Ok(())
    }

    /// The last redirect leads away from the site, or to what the crawl left out.
    fn ask_probes(&mut self, site: &SiteTable, probes: &ProbeTable) -> io::Result<()> {
        let last = self.hops.last().copied();
        let record = last.map(|last| site.record(last)).transpose()?.flatten();
        let end = record.and_then(|record| {
            let target = record.redirect_to.as_deref()?;
            record.url.join(target).ok()
        });
        if let Some(row) = end.and_then(|end| probes.row(&end)) {
            self.verdict = row.verdict();
            self.evidence = row.evidence();
            self.status = row.status;
        }
        Ok(())
    }
}

/// What is known of a foreign URL.
#[derive(Debug, Clone)]
pub(crate) struct ForeignVerdict<'a> {
    pub(crate) verdict: CheckVerdict,
    pub(crate) evidence: String,
    pub(crate) probe: Option<&'a ProbeRow>,
}

/// Judges links, and remembers what it read.
#[derive(Debug)]
pub(crate) struct LinkEnds<'a> {
    pub(crate) site: &'a SiteTable,
    pub(crate) probes: &'a ProbeTable,
    accept: &'a [AcceptedStatus],
    is_plain: bool,
    remembered: RefCell<HashMap<Key, Rc<OwnVerdict>>>,
    urls: RefCell<HashMap<Key, Option<CrawlUrl>>>,
    scripted: RefCell<HashMap<Key, bool>>,
}

impl<'a> LinkEnds<'a> {
    pub(crate) fn new(
        site: &'a SiteTable,
        probes: &'a ProbeTable,
        accept: &'a [AcceptedStatus],
    ) -> Self {
        Self {
            site,
            probes,
            accept,
            is_plain: accept.is_empty(),
            remembered: RefCell::default(),
            urls: RefCell::default(),
            scripted: RefCell::default(),
        }
    }

    /// Whether a row needs no judging: most links of a site lead to one that is good.
    pub(crate) fn is_plainly_good(&self, row: &UrlRow) -> bool {
        self.is_plain && row.is_good()
    }

    /// The verdict on a link to a URL of the site.
    pub(crate) fn own(&self, key: Key) -> io::Result<Rc<OwnVerdict>> {
        if let Some(known) = self.remembered.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let judged = Rc::new(own_verdict(self.site, self.probes, self.accept, key)?);
        remember(&self.remembered, key, Rc::clone(&judged));
        Ok(judged)
    }

    /// The verdict on a foreign URL: what the probes brought, else what the crawl recorded of it as
    /// a part of a page. The crawl asked once, which proves nothing.
    pub(crate) fn foreign(&self, url: &CrawlUrl) -> io::Result<Option<ForeignVerdict<'a>>> {
        if let Some(row) = self.probes.row(url) {
            return Ok(Some(ForeignVerdict {
                verdict: row.verdict(),
                evidence: row.evidence(),
                probe: Some(row),
            }));
        }
        let Some(row) = self.site.row_of(url) else {
            return Ok(None);
        };
        let judged = self.own(row.key)?;
        let verdict = match judged.verdict {
            CheckVerdict::Broken => CheckVerdict::Unsure,
            verdict => verdict,
        };
        Ok(Some(ForeignVerdict {
            verdict,
            evidence: judged.evidence.clone(),
            probe: None,
        }))
    }

    /// The URL of a key of the site.
    pub(crate) fn url(&self, key: Key) -> io::Result<Option<CrawlUrl>> {
        if let Some(known) = self.urls.borrow().get(&key) {
            return Ok(known.clone());
        }
        let url = self.site.url(key)?;
        remember(&self.urls, key, url.clone());
        Ok(url)
    }

    /// Whether scripts make what a page of the site shows.
    pub(crate) fn is_scripted(&self, key: Key) -> io::Result<bool> {
        if let Some(known) = self.scripted.borrow().get(&key) {
            return Ok(*known);
        }
        let facts = self.site.facts(key)?;
        let row = self.site.row(key);
        let is_scripted = facts
            .zip(row)
            .is_some_and(|(facts, row)| is_made_by_scripts(&facts, row.body_bytes));
        remember(&self.scripted, key, is_scripted);
        Ok(is_scripted)
    }

    /// The hops and the end in words: `301 Moved Permanently to https://…`.
    pub(crate) fn hops_in_words(&self, judged: &OwnVerdict) -> String {
        let status = judged.hops.first().and_then(|hop| self.site.row(*hop));
        let status = status.and_then(|row| row.status).unwrap_or_default();
        status_words(status)
    }
}

/// Remembers something of a URL, and forgets the rest when it is too much.
fn remember<T>(known: &RefCell<HashMap<Key, T>>, key: Key, value: T) {
    let mut known = known.borrow_mut();
    if known.len() >= MOST_REMEMBERED {
        known.clear();
    }
    known.insert(key, value);
}

/// Whether scripts make what a page shows: it has few words and scripts, or is half script.
pub fn is_made_by_scripts(facts: &FactRow, body_bytes: u64) -> bool {
    let Some(html) = &facts.html else {
        return false;
    };
    let loads = facts.references.iter().any(|reference| {
        reference.kind == LinkKind::Script && reference.target != ReferenceTarget::Itself
    });
    let has_scripts = loads || html.script_bytes > 0;
    has_scripts && html.words < WORDS_OF_SHELL || u64::from(html.script_bytes) * 2 > body_bytes
}
