//! What can be seen of a crawl while it runs.
//!
//! Owns the measuring of rates and the shape of a snapshot. It decides nothing.

use std::collections::VecDeque;
use std::time::Duration;

use clewline_core::fleet::FleetTotals;
use clewline_core::frontier::{Counts, Hold, Moment, Note, Work};

use crate::record::Record;
use crate::report::Tally;

/// Rates are averaged over this time.
const WINDOW: Duration = Duration::from_secs(5);

/// Something that happened, told to the observer of a crawl.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A URL is settled and its record durable.
    Settled(&'a Record),
    /// Something a person may want to hear of.
    Note(&'a Note),
    /// An unfinished crawl goes on.
    Resumed {
        /// URLs settled by earlier runs.
        done: u64,
        /// URLs that still wait.
        todo: u64,
    },
    /// What was done to a damaged job before it goes on, in words.
    Repaired(&'a str),
    /// Nothing can be written for lack of room; the crawl waits until there is.
    NoRoom(&'a str),
    /// There is room again.
    RoomAgain,
    /// What somebody told the crawl to do, in words.
    Told(&'a str),
    /// How far the crawl is; about ten times a second.
    Progress(&'a Progress),
}

/// How far a crawl is.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Since the start.
    pub elapsed: Duration,
    /// URLs settled, with durable records.
    pub done: u64,
    /// URLs waiting or in flight.
    pub todo: u64,
    /// URLs that are withheld as parts of traps.
    pub withheld: u64,
    /// Jobs in flight.
    pub in_flight: u64,
    /// Pages fetched.
    pub pages: u64,
    /// Pages per second, over the last seconds.
    pub pages_per_second: f64,
    /// Bytes read per second, over the last seconds.
    pub bytes_per_second: f64,
    /// URLs that failed.
    pub failed: u64,
    /// URLs that answered with an error status.
    pub broken: u64,
    /// Pages that look empty without JavaScript, as long as no page was rendered.
    pub empty_pages: u64,
    /// Hosts met.
    pub hosts: u64,
    /// Bytes that answers under way hold of the memory.
    pub bytes_in_flight: u64,
    /// The most that they held at once.
    pub peak_bytes_in_flight: u64,
    /// How long what is queued is expected to take, where that can be said.
    pub time_left: Option<Duration>,
    /// What keeps it from going faster.
    pub hold: Option<Hold>,
    /// The URL that was started last.
    pub last_url: Option<String>,
    /// It waits for the word to go on.
    pub paused: bool,
    /// In a fleet, how many workers there are, and what all of them have done.
    pub fleet: Option<(u64, FleetTotals)>,
}

/// Measures rates and the peak of requests in flight.
#[derive(Debug, Default)]
pub(super) struct Meter {
    peak: u64,
    last_told: Option<Moment>,
    samples: VecDeque<(Moment, u64, u64)>,
    last_url: Option<String>,
}

impl Meter {
    pub(super) fn started(&mut self, in_flight: u64, work: &Work) {
        if let Work::Page { url, .. } = work {
            self.peak = self.peak.max(in_flight);
            // Only the one that is shown next needs its text.
            if self.last_url.is_none() {
                self.last_url = Some(url.to_string());
            }
        }
    }

    pub(super) fn peak_in_flight(&self) -> u32 {
        u32::try_from(self.peak).unwrap_or(u32::MAX)
    }

    pub(super) fn is_due(&mut self, now: Moment, every: Duration) -> bool {
        let due = self.last_told.is_none_or(|last| now >= last + every);
        if due {
            self.last_told = Some(now);
        }
        due
    }

    pub(super) fn measure(
        &mut self,
        now: Moment,
        tally: &Tally,
        counts: Counts,
        hold: Option<Hold>,
    ) -> Progress {
        self.samples.push_back((now, counts.pages, counts.wire));
        while self.samples.len() > 2 && self.samples[1].0 + WINDOW <= now {
            self.samples.pop_front();
        }
        let (since, pages, wire) = self.samples.front().copied().unwrap_or_default();
        let seconds = now.saturating_sub(since).as_secs_f64().max(0.001);
        let single = self.samples.len() < 2;
        let rate = |count: u64| if single { 0.0 } else { count as f64 / seconds };
        Progress {
            elapsed: now,
            done: tally.done,
            todo: counts.todo() - counts.withheld.min(counts.todo()),
            withheld: counts.withheld,
            in_flight: counts.in_flight,
            pages: counts.pages,
            pages_per_second: rate(counts.pages - pages),
            bytes_per_second: rate(counts.wire - wire),
            failed: tally.outcomes.failed,
            broken: tally.broken,
            empty_pages: match tally.rendered.done {
                0 => tally.shells,
                _ => 0,
            },
            hosts: counts.hosts,
            bytes_in_flight: 0,
            peak_bytes_in_flight: 0,
            time_left: None,
            hold,
            fleet: None,
            last_url: self.last_url.take(),
            paused: false,
        }
    }
}
