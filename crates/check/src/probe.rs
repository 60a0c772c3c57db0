//! What the asking of foreign URLs brought.
//!
//! Owns a row for each URL that was asked, and how several askings become one verdict. It refuses to
//! know how URLs are asked and where rows are kept between runs. Invariants: a link is broken only
//! if two askings, apart in time, said so, or if it failed for days and in several runs; a guess
//! never makes it more than unsure.

mod hosts;
mod impossible;
mod not_found;

use std::collections::BTreeMap;
use std::time::Duration;

use clewline_core::outcome::SkipReason;
use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

use crate::verdict::{CheckVerdict, JudgedAnswer};

pub use hosts::HostSigns;
pub use impossible::{ImpossibleAnswer, impossible_place};
pub use not_found::says_not_found;

/// Words of a page from which on it is no error page.
pub const FEW_WORDS: u32 = 500;
/// Words below which a page says nothing beside its title.
const NO_TEXT: u32 = 50;

/// A redirect on the way to the end of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeHop {
    /// The status of the redirect.
    pub status: u16,
    /// Where it leads.
    pub to: CrawlUrl,
}

impl ProbeHop {
    /// Whether links should be changed to where it leads (RFC 9110 sections 15.4.2 and 15.4.9).
    pub const fn is_permanent(&self) -> bool {
        matches!(self.status, 301 | 308)
    }
}

/// How long and how often a URL has failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingSince {
    /// Runs in a row.
    pub runs: u32,
    /// When the first of them asked, in seconds since 1970.
    pub first: u64,
    /// When the last of them asked.
    pub last: u64,
}

/// How long a URL may fail before it counts as broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailurePatience {
    /// Runs in a row.
    pub runs: u32,
    /// Time between the first and the last of them.
    pub span: Duration,
}

impl Default for FailurePatience {
    fn default() -> Self {
        Self {
            runs: 3,
            span: Duration::from_hours(72),
        }
    }
}

/// What is known of one URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeRow {
    judged: JudgedAnswer,
    /// The status at the end, if there was an answer.
    pub status: Option<u16>,
    /// Why nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<SkipReason>,
    /// The redirects, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<ProbeHop>,
    /// Hashes of the ids that links wanted there, and whether each was found; sorted. Empty where
    /// no fragment was wanted, or where the page cannot be searched for ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<(u64, bool)>,
    /// Scripts make what the page shows, and may make ids.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_scripted: bool,
    /// It is good by its status, and looks like an error page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_soft: bool,
    /// Askings that agree, apart in time.
    askings: u32,
    /// How long it has failed, if it does.
    #[serde(default)]
    pub failing: FailingSince,
}

impl ProbeRow {
    /// A row of what one asking brought at the end of its redirects.
    pub fn new(judged: JudgedAnswer, status: Option<u16>, hops: Vec<ProbeHop>) -> Self {
        Self {
            judged,
            status,
            skip: None,
            hops,
            ids: Vec::new(),
            is_scripted: false,
            is_soft: false,
            askings: 1,
            failing: FailingSince::default(),
        }
    }

    /// A row of a URL that nobody asked.
    pub fn for_unasked(judged: JudgedAnswer, skip: SkipReason) -> Self {
        Self {
            skip: Some(skip),
            ..Self::new(judged, None, Vec::new())
        }
    }

    /// The verdict on links to it.
    pub fn verdict(&self) -> CheckVerdict {
        match self.judged.verdict {
            CheckVerdict::Broken if self.askings < 2 => CheckVerdict::Unsure,
            CheckVerdict::Ok if self.is_soft => CheckVerdict::Unsure,
            CheckVerdict::Ok if !self.hops.is_empty() => CheckVerdict::Moved,
            verdict => verdict,
        }
    }

    /// What was seen, as a short sentence without its full stop.
    pub fn evidence(&self) -> String {
        let words = &self.judged.evidence;
        if self.is_soft && self.judged.verdict.is_good() {
            format!("{words}, and its title says that there is no such page")
        } else if self.judged.verdict == CheckVerdict::Broken && self.askings < 2 {
            format!("{words}, asked once")
        } else {
            words.clone()
        }
    }

    /// Where its redirects end, if there are any.
    pub fn end(&self) -> Option<&CrawlUrl> {
        self.hops.last().map(|hop| &hop.to)
    }

    /// Whether it should be asked again, apart in time, before anybody believes it.
    pub fn needs_another_asking(&self) -> bool {
        let is_bad = matches!(
            self.judged.verdict,
            CheckVerdict::Broken | CheckVerdict::Unsure
        );
        is_bad && self.askings < 2
    }

    /// What two askings say together. A good answer outweighs a bad one, and a refusal to be
    /// checked outweighs a failure; broken is what both call broken.
    #[must_use]
    pub fn asked_again(self, later: Self) -> Self {
        use CheckVerdict as V;
        let askings = self.askings + later.askings;
        let both = (self.judged.verdict, later.judged.verdict);
        let kept = match both {
            (_, V::Ok | V::Moved) => later,
            (V::Ok | V::Moved, _) => self,
            (_, V::Blocked) => later,
            (V::Blocked, _) => self,
            (V::Broken, V::Unsure | V::Unchecked) | (V::Unsure, V::Broken) => {
                let (first, second) = (&self.judged.evidence, &later.judged.evidence);
                let judged = JudgedAnswer {
                    evidence: format!("{first}, then {second}"),
                    verdict: V::Unsure,
                    is_failing: true,
                };
                Self { judged, ..later }
            }
            // That nobody asked again says nothing.
            (V::Unsure, V::Unsure) if later.is_left_out() => self,
            (V::Broken | V::Unsure | V::Unchecked, _) => later,
        };
        Self { askings, ..kept }
    }

    /// Notes when it was asked, given what an earlier run knew, and calls it broken if it has
    /// failed for longer than anybody should wait.
    #[must_use]
    pub fn after(mut self, earlier: Option<&Self>, now: u64, patience: &FailurePatience) -> Self {
        let is_bad = self.judged.is_failing || self.judged.verdict == CheckVerdict::Broken;
        if !is_bad {
            return self;
        }
        let before = earlier.map_or(FailingSince::default(), |earlier| earlier.failing);
        self.failing = FailingSince {
            runs: before.runs + 1,
            first: if before.runs == 0 { now } else { before.first },
            last: now,
        };
        let span = Duration::from_secs(now.saturating_sub(self.failing.first));
        if self.failing.runs >= patience.runs && span >= patience.span && self.judged.is_failing {
            let days = span.as_secs() / (24 * 60 * 60);
            let (words, runs) = (&self.judged.evidence, self.failing.runs);
            self.judged = JudgedAnswer {
                evidence: format!("{words}, in {runs} runs over {days} days"),
                verdict: CheckVerdict::Broken,
                is_failing: true,
            };
            self.askings = self.askings.max(2);
        }
        self
    }

    /// Whether nobody asked, because its host failed or refused too often.
    fn is_left_out(&self) -> bool {
        self.skip == Some(SkipReason::HostUnreachable)
    }

    /// Says which of the ids that links want are there. All slices are sorted.
    pub fn note_ids(&mut self, wanted: &[u64], found: &[u64]) {
        let search = |id: &u64| (*id, found.binary_search(id).is_ok());
        self.ids = wanted.iter().map(search).collect();
    }

    /// Whether one of these ids is there; none if nobody knows.
    pub fn has_id(&self, ids: [u64; 2]) -> Option<bool> {
        let find = |id: u64| {
            let place = self.ids.binary_search_by_key(&id, |(known, _)| *known);
            place.ok().map(|place| self.ids[place].1)
        };
        let found: Vec<bool> = ids.into_iter().filter_map(find).collect();
        (!found.is_empty()).then(|| found.contains(&true))
    }

    /// Notes what stands on the page at the end: whether it is an error page behind a good status.
    /// A guess: a title alone is none, and a host's own root is never one.
    pub fn note_page(&mut self, end: &CrawlUrl, title: &str, words: u32) {
        let is_deep = end.path() != "/" || end.query().is_some();
        self.is_soft = is_deep && words < NO_TEXT && says_not_found(title);
    }
}

/// What is known of URLs outside of the site, and of names on the site that cannot exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeTable {
    rows: BTreeMap<CrawlUrl, ProbeRow>,
    impossible: BTreeMap<String, ImpossibleAnswer>,
}

impl ProbeTable {
    /// Takes in what is known of a URL.
    pub fn insert(&mut self, url: CrawlUrl, row: ProbeRow) {
        self.rows.insert(url, row);
    }

    /// What is known of a URL.
    pub fn row(&self, url: &CrawlUrl) -> Option<&ProbeRow> {
        self.rows.get(url)
    }

    /// All rows, in the order of their URLs.
    pub fn rows(&self) -> impl Iterator<Item = (&CrawlUrl, &ProbeRow)> {
        self.rows.iter()
    }

    /// Links of how many URLs nobody asked.
    pub fn unchecked(&self) -> usize {
        let unchecked = |row: &&ProbeRow| row.verdict() == CheckVerdict::Unchecked;
        self.rows.values().filter(unchecked).count()
    }

    /// Takes in what a name brought that cannot exist, at a [place](impossible_place) of the site.
    pub fn insert_impossible(&mut self, place: String, answer: ImpossibleAnswer) {
        self.impossible.insert(place, answer);
    }

    /// What names bring that cannot exist beside a URL.
    pub fn impossible_beside(&self, url: &CrawlUrl) -> Option<&ImpossibleAnswer> {
        self.impossible.get(&impossible_place(url))
    }

    /// All places where such names were asked for, in order.
    pub fn impossible(&self) -> impl Iterator<Item = (&str, &ImpossibleAnswer)> {
        self.impossible
            .iter()
            .map(|(place, answer)| (&**place, answer))
    }

    /// Gives URLs that were not asked, because their host could not be reached, the verdict of the
    /// URL of that host that was: a host without an address is dead for all of its URLs.
    pub fn spread_dead_hosts(&mut self) {
        let mut dead: BTreeMap<String, (JudgedAnswer, u32)> = BTreeMap::new();
        let mut answered = std::collections::BTreeSet::new();
        for (url, row) in &self.rows {
            let origin = url.origin();
            if row.status.is_some() || !row.hops.is_empty() {
                answered.insert(origin.to_owned());
            } else if row.judged.verdict == CheckVerdict::Broken {
                let known = (row.judged.clone(), row.askings);
                dead.entry(origin.to_owned()).or_insert(known);
            }
        }
        for (url, row) in &mut self.rows {
            if !row.is_left_out() || answered.contains(url.origin()) {
                continue;
            }
            if let Some((judged, askings)) = dead.get(url.origin()) {
                row.judged = judged.clone();
                row.askings = *askings;
            }
        }
    }
}

#[cfg(test)]
mod tests;
