//! What load a host had to bear: how much of it was refused, how hard it was pressed while it was
//! in trouble, and when full speed came back.
//!
//! Owns the figures, all from the times and statuses in the log. A request counts as refused if
//! its answer was 429, 5xx, or no page at all.

use std::time::{Duration, Instant};

use crate::referee::{Hit, Log};

/// Speed is counted in spans of this length.
const SPAN: Duration = Duration::from_secs(1);
/// The share of the speed before that counts as full, in per cent.
const FULL: usize = 80;

/// The load on one host.
#[derive(Clone, Debug)]
pub struct Strain {
    /// Arrivals in order of time, and whether they were refused.
    arrivals: Vec<(Instant, bool)>,
}

impl Strain {
    /// The load on a host; neither robots.txt nor the question for a sitemap.
    pub fn from_log(log: &Log, host: &str) -> Self {
        let own = |hit: &&Hit| hit.host == host || hit.site == host;
        let is_page = |hit: &&Hit| hit.target != "/robots.txt" && hit.target != "/sitemap.xml";
        let refused = |hit: &Hit| {
            hit.status
                .is_none_or(|status| status == 429 || status >= 500)
        };
        let hits = log.iter().filter(own).filter(is_page);
        let mut arrivals: Vec<_> = hits.map(|hit| (hit.at, refused(hit))).collect();
        arrivals.sort_unstable();
        Self { arrivals }
    }

    /// How many requests came.
    pub fn requests(&self) -> usize {
        self.arrivals.len()
    }

    /// How many of them were refused.
    pub fn refused(&self) -> usize {
        self.arrivals.iter().filter(|(_, refused)| *refused).count()
    }

    /// The share that was refused, in per cent, of what came later than this after the first
    /// request: the steady state, without the search for it.
    pub fn refused_after(&self, settling: Duration) -> f64 {
        let from = self.arrivals.first().map(|(first, _)| *first + settling);
        let late = self.arrivals.iter().filter(|(at, _)| Some(*at) >= from);
        let (mut all, mut refused) = (0_usize, 0_usize);
        for (_, is_refused) in late {
            all += 1;
            refused += usize::from(*is_refused);
        }
        100.0 * refused as f64 / all.max(1) as f64
    }

    /// How many requests came while the host was in trouble: between a refusal and the next
    /// answer, the refused ones that follow a refusal.
    pub fn pressed(&self) -> usize {
        let pairs = self.arrivals.windows(2);
        pairs.filter(|pair| pair[0].1 && pair[1].1).count()
    }

    /// The most that came within a second.
    pub fn greatest_rate(&self) -> usize {
        let begins = self.arrivals.iter().map(|(at, _)| *at);
        begins.map(|at| self.within(at)).max().unwrap_or(0)
    }

    /// How long after the end of a trouble requests came as fast as they did at the fastest
    /// before it began; `None` if they never did.
    pub fn return_after(&self, begin: Instant, end: Instant) -> Option<Duration> {
        let before = self.arrivals.partition_point(|(at, _)| *at < begin);
        let before = self.arrivals[..before].to_vec();
        let full = Self { arrivals: before }.greatest_rate();
        let later = self.arrivals.iter().map(|(at, _)| *at);
        let mut later = later.filter(|at| *at >= end);
        let back = later.find(|at| self.within(*at) * 100 >= full * FULL)?;
        Some(back - end)
    }

    /// How many came in the second that begins here.
    fn within(&self, begin: Instant) -> usize {
        let from = self.arrivals.partition_point(|(at, _)| *at < begin);
        let to = self.arrivals.partition_point(|(at, _)| *at < begin + SPAN);
        to - from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals at these milliseconds; those from `from` to `to` were refused.
    fn strain(start: Instant, at: impl Iterator<Item = u64>, from: u64, to: u64) -> Strain {
        let arrivals = at.map(|at| (start + Duration::from_millis(at), (from..to).contains(&at)));
        Strain {
            arrivals: arrivals.collect(),
        }
    }

    #[test]
    fn shares_are_of_the_time_after_settling() {
        let strain = strain(Instant::now(), (0..1_000).map(|at| at * 10), 1_000, 2_000);
        assert_eq!(
            (strain.requests(), strain.refused(), strain.pressed()),
            (1_000, 100, 99)
        );
        assert!((strain.refused_after(Duration::ZERO) - 10.0).abs() < 0.001);
        assert!(strain.refused_after(Duration::from_secs(2)).abs() < 0.001);
        assert_eq!(strain.greatest_rate(), 100);
    }

    #[test]
    fn full_speed_is_what_was_seen_before() {
        let start = Instant::now();
        // A hundred a second, then trouble for two seconds, ten a second, and full speed again.
        let before = (0..300).map(|at| at * 10);
        let trouble = [3_000, 4_000, 4_900].into_iter();
        let slow = (50..80).map(|at| at * 100);
        let again = (800..1_000).map(|at| at * 10);
        let at = before.chain(trouble).chain(slow).chain(again);
        let strain = strain(start, at, 3_000, 5_000);
        let end = start + Duration::from_secs(5);
        let begin = start + Duration::from_secs(3);
        let back = strain.return_after(begin, end).map(|time| time.as_millis());
        // The second that begins at 7.8 s has two slow requests and eighty quick ones.
        assert_eq!(back, Some(2_800));
        let never = start + Duration::from_secs(10);
        assert_eq!(strain.return_after(begin, never), None);
    }
}
