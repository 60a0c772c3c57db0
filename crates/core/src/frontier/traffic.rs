//! How many requests a host got and answered lately.
//!
//! Owns two counters for this second and the one before. It refuses to know what the figures
//! are used for. Invariant: a fixed size, and no memory of anything older than two seconds.

use std::time::Duration;

use super::pace::Moment;

/// With fewer requests in hand, a rate says nothing.
const FEWEST: u32 = 10;
/// The gap that is assumed then.
const USUAL_GAP: Duration = Duration::from_millis(100);

/// Requests by second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traffic {
    second: u64,
    started: [u32; 2],
    answered: [u32; 2],
}

impl Traffic {
    /// A request was handed out.
    pub(super) fn started(&mut self, now: Moment) {
        self.turn(now);
        self.started[0] += 1;
    }

    /// A good answer came.
    pub(super) fn answered(&mut self, now: Moment) {
        self.turn(now);
        self.answered[0] += 1;
    }

    /// The gap between requests as it was.
    pub(super) fn gap(mut self, now: Moment) -> Duration {
        self.turn(now);
        let count = self.started[0] + self.started[1];
        if count < FEWEST {
            USUAL_GAP
        } else {
            span(now) / count
        }
    }

    /// How many requests there were for each good answer, if there were enough to tell.
    pub(super) fn requests_per_answer(mut self, now: Moment) -> Option<u32> {
        self.turn(now);
        let requests = self.started[0] + self.started[1];
        let answers = self.answered[0] + self.answered[1];
        (requests >= FEWEST && answers > 0).then(|| requests / answers)
    }

    fn turn(&mut self, now: Moment) {
        let second = now.as_secs();
        if second == self.second {
            return;
        }
        let follows = second == self.second + 1;
        for counts in [&mut self.started, &mut self.answered] {
            *counts = [0, if follows { counts[0] } else { 0 }];
        }
        self.second = second;
    }
}

/// The time that the counters cover: this second as far as it has come, and the one before.
/// At the start of a crawl that is less, and what came then came within a second.
fn span(now: Moment) -> Duration {
    let this = Duration::from_nanos(now.subsec_nanos().into());
    let before = Duration::from_secs(now.as_secs().min(1));
    (this + before).max(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(number: u64) -> Moment {
        Moment::from_millis(number)
    }

    #[test]
    fn counts_the_last_two_seconds() {
        let mut traffic = Traffic::default();
        for number in 0..100 {
            traffic.started(millis(5_000 + number * 10));
        }
        for number in 0..20 {
            traffic.answered(millis(5_500 + number * 10));
        }
        assert_eq!(traffic.gap(millis(6_000)), millis(10));
        assert_eq!(traffic.requests_per_answer(millis(6_000)), Some(5));
        // Two seconds later nothing is known any more.
        assert_eq!(traffic.gap(millis(7_100)), USUAL_GAP);
        assert_eq!(traffic.requests_per_answer(millis(7_100)), None);
    }

    #[test]
    fn a_burst_at_the_start_came_within_a_second() {
        let mut traffic = Traffic::default();
        (0..64).for_each(|_| traffic.started(millis(1)));
        let gap = traffic.gap(millis(2));
        assert_eq!(gap, Duration::from_secs(1) / 64);
    }
}
