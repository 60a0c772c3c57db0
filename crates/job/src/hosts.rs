//! The hosts of a crawl, page by page, as data.
//!
//! Owns the question for some of the hosts, how they are ordered, and the shape of the answer, which
//! a running crawl sends over its socket. It refuses to know where the figures come from. Invariants:
//! an answer holds at most [`MOST_ROWS`] rows however many hosts there are, and a cursor leads to the
//! rows behind it even if hosts came or went.

use std::cmp::Ordering;
use std::collections::HashSet;

use clewline_core::frontier::{Cause, HostSummary};
use serde::{Deserialize, Serialize};

use crate::report::{HostTally, Tally};

/// Rows of one answer.
pub const MOST_ROWS: usize = 500;

/// What hosts are ordered by; the name decides between equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostSort {
    /// URLs that wait.
    #[default]
    Queued,
    /// URLs that are settled.
    Done,
    /// URLs that failed or answered with an error status.
    Errors,
    /// Bytes read from the network.
    Bytes,
    /// The time that the queue takes at the least.
    Left,
    /// Requests in flight.
    InFlight,
    /// Pages fetched.
    Pages,
    /// The time between two requests.
    Interval,
    /// The name.
    Host,
}

impl HostSort {
    /// All orders by the names that they are asked for with.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("queued", Self::Queued),
        ("done", Self::Done),
        ("errors", Self::Errors),
        ("bytes", Self::Bytes),
        ("left", Self::Left),
        ("flight", Self::InFlight),
        ("pages", Self::Pages),
        ("interval", Self::Interval),
        ("host", Self::Host),
    ];
}

/// Where a page of hosts ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCursor {
    /// What the last row is ordered by.
    pub rank: u64,
    /// Its host, which decides between equals.
    pub host: String,
}

/// Which hosts are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostQuestion {
    /// The order.
    pub sort: HostSort,
    /// The least comes first.
    pub ascending: bool,
    /// Only hosts that wait for this.
    pub cause: Option<Cause>,
    /// Only hosts whose names contain this.
    pub contains: String,
    /// Only what lies behind this.
    pub after: Option<HostCursor>,
    /// Rows that are wanted.
    pub most: usize,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrawledHost {
    /// The host.
    pub host: String,
    /// How it stands, if it is among the active ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<HostSummary>,
    /// What was done of it; zeros for hosts beyond those that are counted by name.
    #[serde(flatten)]
    pub tally: HostTally,
}

/// Some of the hosts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostPage {
    /// The rows, in the order that was asked for.
    pub rows: Vec<CrawledHost>,
    /// Hosts that the question fits, on all pages.
    pub matching: u64,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<HostCursor>,
}

impl HostPage {
    /// The answer to a question, from the active hosts and from what is counted of all.
    pub fn from_parts(
        question: &HostQuestion,
        active: impl Iterator<Item = HostSummary>,
        tally: &Tally,
    ) -> Self {
        let most = question.most.clamp(1, MOST_ROWS);
        let mut page = Gathering::new(question, most);
        let mut named = HashSet::new();
        for summary in active {
            let counted = tally.hosts.get(&*summary.host);
            if counted.is_some() {
                named.insert(summary.host.clone());
            }
            let host = summary.host.to_string();
            page.add(CrawledHost {
                host,
                active: Some(summary),
                tally: counted.copied().unwrap_or_default(),
            });
        }
        for (host, counted) in &tally.hosts {
            if !named.contains(host.as_str()) {
                page.add(CrawledHost {
                    host: host.clone(),
                    active: None,
                    tally: *counted,
                });
            }
        }
        page.finish()
    }
}

impl CrawledHost {
    /// What it is ordered by; more comes first.
    fn rank(&self, sort: HostSort) -> u64 {
        let active = self.active.as_ref();
        match sort {
            HostSort::Queued => active.map_or(0, |active| active.queued),
            HostSort::Done => self.tally.done,
            HostSort::Errors => self.tally.errors + self.tally.failures,
            HostSort::Bytes => self.tally.bytes,
            HostSort::Left => active.map_or(0, |active| active.left.as_millis() as u64),
            HostSort::InFlight => active.map_or(0, |active| active.in_flight.into()),
            HostSort::Pages => active.map_or(self.tally.done, |active| active.pages),
            HostSort::Interval => active.map_or(0, |active| active.interval.as_micros() as u64),
            HostSort::Host => 0,
        }
    }

    fn fits(&self, question: &HostQuestion) -> bool {
        let waits_for = self.active.as_ref().map(|active| active.cause);
        let fits_cause = question.cause.is_none_or(|cause| waits_for == Some(cause));
        fits_cause && self.host.contains(&question.contains)
    }
}

/// The best rows so far.
struct Gathering<'a> {
    question: &'a HostQuestion,
    most: usize,
    matching: u64,
    rows: Vec<(u64, CrawledHost)>,
}

impl HostQuestion {
    fn order(&self, a: (u64, &str), b: (u64, &str)) -> Ordering {
        let (ranks, names) = (a.0.cmp(&b.0), a.1.cmp(b.1));
        match (self.sort, self.ascending) {
            (HostSort::Host, true) => names,
            (HostSort::Host, false) => names.reverse(),
            (_, true) => ranks.then(names),
            (_, false) => ranks.reverse().then(names),
        }
    }
}

impl<'a> Gathering<'a> {
    fn new(question: &'a HostQuestion, most: usize) -> Self {
        Self {
            question,
            most,
            matching: 0,
            rows: Vec::new(),
        }
    }

    fn add(&mut self, row: CrawledHost) {
        if !row.fits(self.question) {
            return;
        }
        self.matching += 1;
        let rank = row.rank(self.question.sort);
        let is_behind = self.question.after.as_ref().is_none_or(|after| {
            self.question
                .order((after.rank, &after.host), (rank, &row.host))
                == Ordering::Less
        });
        if is_behind {
            self.rows.push((rank, row));
        }
        // What is cut off can never be shown: so many rows come before it.
        if self.rows.len() > 4 * self.most {
            self.cut();
        }
    }

    /// Keeps one row more than is wanted: it tells whether there is a next page.
    fn cut(&mut self) {
        let question = self.question;
        self.rows
            .sort_unstable_by(|(a, x), (b, y)| question.order((*a, &x.host), (*b, &y.host)));
        self.rows.truncate(self.most + 1);
    }

    fn finish(mut self) -> HostPage {
        self.cut();
        let has_more = self.rows.len() > self.most;
        self.rows.truncate(self.most);
        let last = self.rows.last().filter(|_| has_more);
        let next = last.map(|(rank, row)| HostCursor {
            rank: *rank,
            host: row.host.clone(),
        });
        HostPage {
            rows: self.rows.into_iter().map(|(_, row)| row).collect(),
            matching: self.matching,
            next,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn summary(number: u64) -> HostSummary {
        HostSummary {
            host: format!("h{number}.test").into(),
            queued: number % 7,
            at_least: false,
            in_flight: 0,
            pages: 0,
            interval: Duration::ZERO,
            cause: if number.is_multiple_of(2) {
                Cause::Rate
            } else {
                Cause::Turn
            },
            until: None,
            left: Duration::from_secs(number),
        }
    }

    fn tally() -> Tally {
        let mut tally = Tally::default();
        for number in 900..1100u64 {
            let done = number;
            let host = HostTally {
                done,
                ..HostTally::default()
            };
            tally.hosts.insert(format!("h{number}.test"), host);
        }
        tally
    }

    /// Every host comes once, in order, whatever the order and however long a page is.
    #[test]
    fn pages_hold_every_host_once_in_order() {
        let tally = tally();
        let orders = HostSort::NAMES
            .iter()
            .flat_map(|(_, sort)| [(*sort, true), (*sort, false)]);
        for (sort, ascending) in orders {
            let mut question = HostQuestion {
                sort,
                ascending,
                most: 37,
                ..HostQuestion::default()
            };
            let mut seen = Vec::new();
            loop {
                let page = HostPage::from_parts(&question, (0..1000).map(summary), &tally);
                assert_eq!(page.matching, 1100);
                seen.extend(page.rows);
                let Some(next) = page.next else { break };
                question.after = Some(next);
            }
            assert_eq!(seen.len(), 1100, "{sort:?}");
            let keys: Vec<_> = seen
                .iter()
                .map(|row| (row.rank(sort), &*row.host))
                .collect();
            assert!(keys.is_sorted_by(|a, b| question.order(*a, *b) == Ordering::Less));
        }
    }

    #[test]
    fn filters_narrow_and_counts_are_joined() {
        let question = HostQuestion {
            cause: Some(Cause::Rate),
            contains: "h99".to_owned(),
            sort: HostSort::Done,
            most: 3,
            ..HostQuestion::default()
        };
        let page = HostPage::from_parts(&question, (0..1000).map(summary), &tally());
        // h990, h992, … h998; h99 is odd.
        assert_eq!(page.matching, 5);
        let rows: Vec<_> = page
            .rows
            .iter()
            .map(|row| (&*row.host, row.tally.done))
            .collect();
        assert_eq!(
            rows,
            [("h998.test", 998), ("h996.test", 996), ("h994.test", 994)]
        );
        assert!(page.next.is_some());
    }
}
