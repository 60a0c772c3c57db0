//! What a host can bear: a bucket of tokens, and a queue before one desk.
//!
//! Owns the two sums. Invariant: both take the time from their caller and never read a clock.

use std::time::{Duration, Instant};

/// Lets requests through at a rate, and a few of them at once.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: Option<Instant>,
}

impl Bucket {
    pub(super) fn new(rate: u32, burst: u32) -> Self {
        let burst = f64::from(burst);
        Self {
            rate: f64::from(rate),
            burst,
            tokens: burst,
            filled: None,
        }
    }

    /// Whether a request at this moment is let through. A refused one costs nothing.
    pub(super) fn takes(&mut self, now: Instant) -> bool {
        let before = *self.filled.get_or_insert(now);
        let passed = now.saturating_duration_since(before).as_secs_f64();
        self.tokens = (self.tokens + passed * self.rate).min(self.burst);
        self.filled = Some(before.max(now));
        let is_let = self.tokens >= 1.0;
        if is_let {
            self.tokens -= 1.0;
        }
        is_let
    }
}

/// Serves one request after another, each for the same time.
#[derive(Debug)]
pub(super) struct Queue {
    each: Duration,
    free: Option<Instant>,
}

impl Queue {
    pub(super) fn new(rate: u32) -> Self {
        Self {
            each: Duration::from_secs(1) / rate.max(1),
            free: None,
        }
    }

    /// How long a request that comes now waits for its answer.
    pub(super) fn delay(&mut self, now: Instant) -> Duration {
        let begin = self.free.map_or(now, |free| free.max(now));
        let end = begin + self.each;
        self.free = Some(end);
        end.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn a_bucket_lets_its_rate_through() {
        for rate in [5, 20, 100] {
            let (mut bucket, start) = (Bucket::new(rate, 5), Instant::now());
            let taken = (0..10_000)
                .filter(|at| bucket.takes(start + millis(*at)))
                .count();
            let expected = 10 * rate as usize + 4;
            assert!(taken.abs_diff(expected) <= 1, "{taken} at {rate}/s");
        }
    }

    #[test]
    fn a_bucket_is_never_fuller_than_its_burst() {
        let (mut bucket, start) = (Bucket::new(100, 5), Instant::now());
        assert!(bucket.takes(start));
        let later = start + Duration::from_mins(1);
        assert_eq!((0..50).filter(|_| bucket.takes(later)).count(), 5);
        // A request that was read before another one and came after it finds no token.
        assert!(!bucket.takes(start));
    }

    #[test]
    fn a_queue_grows_with_the_load_and_empties() {
        let (mut queue, start) = (Queue::new(10), Instant::now());
        assert_eq!(queue.delay(start), millis(100));
        assert_eq!(queue.delay(start), millis(200));
        assert_eq!(queue.delay(start + millis(50)), millis(250));
        assert_eq!(queue.delay(start + millis(1_000)), millis(100));
    }
}
