//! The engine's turns: whether this process was stopped between two of them.
//!
//! Owns the comparison of the clocks. The loop turns several times a second, so a long gap
//! means that the process was stopped, or that the machine slept: then the monotonic clock
//! stands still, and only its distance to the clock that counts sleep tells.

use std::time::Duration;

use clewline_core::frontier::Moment;

/// No turn takes as long; if one does on a machine that gasps, no harm is done.
const LONGEST_TURN: Duration = Duration::from_secs(2);

/// Looks at the clocks once a turn.
#[derive(Debug)]
pub(super) struct SuspendDetector {
    last: Moment,
    asleep: Duration,
}

impl SuspendDetector {
    /// Begins now; `asleep` is how long the machine slept so far.
    pub(super) const fn begin(now: Moment, asleep: Duration) -> Self {
        Self { last: now, asleep }
    }

    /// The next turn; for how long the process was stopped, if it was.
    pub(super) fn turn(&mut self, now: Moment, asleep: Duration) -> Option<Duration> {
        let gap = now.saturating_sub(std::mem::replace(&mut self.last, now));
        let slept = asleep.saturating_sub(std::mem::replace(&mut self.asleep, asleep));
        let away = gap + slept;
        (away > LONGEST_TURN).then_some(away)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_gaps_and_sleep_are_noticed_once() {
        let seconds = Duration::from_secs;
        let mut suspend_detector = SuspendDetector::begin(seconds(0), seconds(100));
        assert_eq!(suspend_detector.turn(seconds(1), seconds(100)), None);
        assert_eq!(
            suspend_detector.turn(seconds(61), seconds(100)),
            Some(seconds(60))
        );
        assert_eq!(suspend_detector.turn(seconds(62), seconds(100)), None);
        assert_eq!(
            suspend_detector.turn(seconds(62), seconds(3700)),
            Some(seconds(3600))
        );
        assert_eq!(suspend_detector.turn(seconds(63), seconds(3700)), None);
    }
}
