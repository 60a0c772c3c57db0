//! How long requests took, as histograms.
//!
//! Owns the bounds, those of OpenTelemetry's `http.client.request.duration` and one more, and the
//! counting. It refuses to know how they are shown. Invariant: a histogram has one size, whatever it
//! counts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::record::PhaseMillis;

/// Where buckets end, in seconds; behind the last one is one more.
pub const TIME_BOUNDS: [f64; 15] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0,
];

/// How often something took how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeHistogram {
    /// Counts of the buckets, the last of them for what took longer than all bounds.
    pub counts: [u64; TIME_BOUNDS.len() + 1],
    /// All of it together, in microseconds.
    pub micros: u64,
}

impl TimeHistogram {
    fn add(&mut self, millis: Option<f64>) {
        if let Some(micros) = millis.and_then(super::tally::micros) {
            self.count(micros);
        }
    }

    /// Counts something that took so long.
    pub fn add_time(&mut self, time: Duration) {
        self.count(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    fn count(&mut self, micros: u64) {
        let seconds = micros as f64 / 1_000_000.0;
        self.counts[TIME_BOUNDS.partition_point(|bound| *bound < seconds)] += 1;
        self.micros = self.micros.saturating_add(micros);
    }

    /// How often it happened up to each bound, and in all.
    pub fn cumulated(&self) -> [u64; TIME_BOUNDS.len() + 1] {
        let mut sum = 0;
        self.counts.map(|count| {
            sum += count;
            sum
        })
    }
}

/// How long the phases of requests took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseTimes {
    connect: TimeHistogram,
    tls: TimeHistogram,
    first_byte: TimeHistogram,
    total: TimeHistogram,
}

impl PhaseTimes {
    pub(super) fn add(&mut self, timings: &PhaseMillis) {
        self.connect.add(timings.connect);
        self.tls.add(timings.tls);
        self.first_byte.add(timings.first_byte);
        self.total.add(timings.total);
    }

    /// The phases by name, in their order.
    pub const fn rows(&self) -> [(&'static str, &TimeHistogram); 4] {
        [
            ("connect", &self.connect),
            ("tls", &self.tls),
            ("first_byte", &self.first_byte),
            ("total", &self.total),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_the_bucket_that_ends_with_them_or_later() {
        let mut times = TimeHistogram::default();
        for millis in [0.0, 5.0, 5.1, 30_000.0, 30_001.0, f64::NAN, -1.0] {
            times.add(Some(millis));
        }
        times.add(None);
        assert_eq!((times.counts[0], times.counts[1]), (2, 1));
        let mut other = TimeHistogram::default();
        other.add_time(Duration::from_micros(5_100));
        other.add_time(Duration::MAX);
        assert_eq!((other.counts[1], other.counts[15]), (1, 1));
        assert_eq!((times.counts[14], times.counts[15]), (1, 1));
        let all = times.cumulated();
        assert_eq!((all[0], all[13], all[15]), (2, 3, 5));
        assert_eq!(times.micros, 60_011_100);
    }
}
