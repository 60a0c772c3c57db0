//! A crawl over time, in a bounded number of points.
//!
//! Owns how moments become points: when the points are full, neighbours are joined and the
//! resolution doubles, so a minute and a month take the same memory. It refuses to know the
//! clock: `at` is an argument. Invariant: never more than [`MOST_POINTS`] points.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// More points than a plot has room for.
pub const MOST_POINTS: usize = 600;

/// The resolution of a crawl that just began.
const FIRST_RESOLUTION: Duration = Duration::from_millis(250);

/// Rate, latency and requests in flight over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// How long a point lasts, in milliseconds.
    pub resolution: u64,
    /// The points from the start on, without gaps.
    pub points: Vec<SeriesPoint>,
    /// What happened since the last tick.
    pending: SeriesPoint,
    /// When that was, in milliseconds since the start.
    ticked: u64,
}

/// What happened in one span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// URLs settled.
    pub done: u64,
    /// Body bytes.
    pub bytes: u64,
    /// Answers whose first byte was timed.
    pub timed: u64,
    /// The sum of their first-byte times, in microseconds.
    pub first_byte: u64,
    /// Most requests in flight that a tick saw.
    pub in_flight: u32,
}

impl SeriesPoint {
    /// Mean first-byte time in milliseconds, if any answer was timed.
    pub fn latency(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.first_byte as f64 / 1000.0 / self.timed as f64)
    }

    /// What falls into the first `part` of a span of `whole`.
    fn part(&self, part: u64, whole: u64) -> Self {
        let scaled = |number: u64| match whole {
            0 => number,
            _ => (u128::from(number) * u128::from(part) / u128::from(whole)) as u64,
        };
        Self {
            done: scaled(self.done),
            bytes: scaled(self.bytes),
            timed: scaled(self.timed),
            first_byte: scaled(self.first_byte),
            in_flight: 0,
        }
    }

    fn less(&self, other: &Self) -> Self {
        Self {
            done: self.done - other.done,
            bytes: self.bytes - other.bytes,
            timed: self.timed - other.timed,
            first_byte: self.first_byte - other.first_byte,
            in_flight: 0,
        }
    }

    fn join(&mut self, other: &Self) {
        self.done += other.done;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.timed += other.timed;
        self.first_byte += other.first_byte;
        self.in_flight = self.in_flight.max(other.in_flight);
    }
}

impl Default for Series {
    fn default() -> Self {
        Self {
            resolution: FIRST_RESOLUTION.as_millis() as u64,
            points: Vec::new(),
            pending: SeriesPoint::default(),
            ticked: 0,
        }
    }
}

impl Series {
    /// Notes a settled URL; it lands in the point of the next tick.
    pub(super) fn add(&mut self, bytes: u64, first_byte: Option<u64>) {
        self.pending.join(&SeriesPoint {
            done: 1,
            bytes,
            timed: u64::from(first_byte.is_some()),
            first_byte: first_byte.unwrap_or_default(),
            in_flight: 0,
        });
    }

    /// Spreads what was noted since the last tick over the time that passed since then, so
    /// that ticks and points need no common measure. `at` counts from the start of the crawl.
    pub(super) fn tick(&mut self, at: Duration, in_flight: u32) {
        let now = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        // A resolution of zero can only come from a damaged store; it must not divide.
        self.resolution = self.resolution.max(1);
        while now / self.resolution >= MOST_POINTS as u64 {
            self.halve();
        }
        let last = (now / self.resolution) as usize;
        if last >= self.points.len() {
            self.points.resize(last + 1, SeriesPoint::default());
        }
        // A moment before the last tick means that the clock began anew.
        let since = self.ticked.min(now);
        let pending = std::mem::take(&mut self.pending);
        let mut given = SeriesPoint::default();
        for index in (since / self.resolution) as usize..=last {
            let end = (index as u64 + 1).saturating_mul(self.resolution).min(now);
            let upto = pending.part(end - since, now - since);
            let mut share = upto.less(&given);
            share.in_flight = in_flight;
            self.points[index].join(&share);
            given = upto;
        }
        self.ticked = now;
    }

    fn halve(&mut self) {
        self.resolution = self.resolution.saturating_mul(2);
        let joined = self.points.chunks(2).map(|pair| {
            let mut point = pair[0];
            pair[1..].iter().for_each(|other| point.join(other));
            point
        });
        self.points = joined.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_bounded_and_nothing_is_lost() {
        let mut series = Series::default();
        for second in 0..100_000 {
            series.add(10, Some(2_000));
            series.add(10, None);
            series.tick(Duration::from_secs(second), (second % 7) as u32);
            assert!(series.points.len() <= MOST_POINTS);
        }
        let mut sum = SeriesPoint::default();
        series.points.iter().for_each(|point| sum.join(point));
        assert_eq!(
            (sum.done, sum.bytes, sum.timed),
            (200_000, 2_000_000, 100_000)
        );
        assert_eq!(sum.latency(), Some(2.0));
        assert_eq!(sum.in_flight, 6);
        assert_eq!(series.resolution, 250 << 10);
        assert!(series.points.len() > MOST_POINTS / 3);
    }

    #[test]
    fn an_even_crawl_is_an_even_curve() {
        let mut series = Series::default();
        for tenth in 1..=100 {
            (0..100).for_each(|_| series.add(1, Some(1_000)));
            series.tick(Duration::from_millis(tenth * 100), 1);
        }
        let whole = &series.points[..40];
        assert!(whole.iter().all(|point| point.done == 250), "{whole:?}");
        assert!(whole.iter().all(|point| point.latency() == Some(1.0)));
    }

    #[test]
    fn any_moment_is_taken() {
        for at in [
            Duration::ZERO,
            Duration::from_hours(24 * 3650),
            Duration::MAX,
        ] {
            let mut series = Series::default();
            series.add(1, None);
            series.tick(at, 1);
            series.tick(Duration::from_secs(1), 1);
            assert!(series.points.len() <= MOST_POINTS);
            assert_eq!(series.points.iter().map(|point| point.done).sum::<u64>(), 1);
        }
    }
}
