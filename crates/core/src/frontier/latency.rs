//! How long a host usually takes to answer, and whether it is taking much longer now.
//!
//! Owns the last few times to a first byte and a coarse memory of those before. It refuses to
//! know what is done about a slow host. Invariant: an answer is compared with what came before
//! it, never with itself, and the memory has a fixed size.
//!
//! What is usual is the time that three of four earlier answers kept. A steady host is measured
//! against its own latency by that; one whose answers scatter is not taken for overloaded
//! whenever a few slow ones meet, as it would be against its luckiest moment.

use std::time::Duration;

/// Answers that are looked at together.
pub(super) const WINDOW: usize = 10;
/// A median above this many times what is usual is a slowdown.
const SLOWDOWN: u32 = 2;
/// Below this, a slower answer is noise of the machine, not trouble of the host.
const NOISE: Duration = Duration::from_millis(50);
/// Answers the memory holds before the older half of its weight fades.
const MEMORY: u16 = 200;
/// Steps of the memory within a doubling of the time.
const STEPS: u32 = 4;
/// A first byte that takes so many times what is usual is not worth waiting for at once …
const FAR_LONGER: u32 = 10;
/// … unless it takes less than this: any host may be busy for a moment.
const SHORTEST_LIMIT: Duration = Duration::from_secs(5);
/// Times are told apart from 2^14 microseconds on: half of [`NOISE`] is more than that.
const FIRST_OCTAVE: u32 = 14;
/// Up to 2^26 microseconds, about a minute.
const OCTAVES: u32 = 12;

/// The first-byte times of one host.
#[derive(Debug, Clone, Default)]
pub(super) struct Latencies {
    /// In microseconds: every host that is active has these.
    recent: [u32; WINDOW],
    /// How many of `recent` count, and where the next one goes.
    filled: u8,
    next: u8,
    earlier: Histogram,
}

impl Latencies {
    /// Takes in one time to a first byte.
    pub(super) fn add(&mut self, first_byte: Duration) {
        let next = usize::from(self.next);
        if self.is_full() {
            self.earlier.add(micros(self.recent[next]));
        } else {
            self.filled += 1;
        }
        self.recent[next] = u32::try_from(first_byte.as_micros()).unwrap_or(u32::MAX);
        self.next = ((next + 1) % WINDOW) as u8;
    }

    /// The median of the last answers, once there are enough of them.
    pub(super) fn median(&self) -> Option<Duration> {
        if !self.is_full() {
            return None;
        }
        let mut recent = self.recent;
        let (_, median, _) = recent.select_nth_unstable(WINDOW / 2);
        Some(micros(*median))
    }

    /// Whether the last answers took much longer than usual.
    pub(super) fn have_slowed(&self) -> bool {
        // Most hosts are quick, and this is asked for every answer.
        let Some(median) = self.median().filter(|median| *median > NOISE) else {
            return false;
        };
        let usual = self.earlier.usual();
        usual.is_some_and(|usual| median > usual * SLOWDOWN)
    }

    /// How long a first byte may take before something seems to be wrong, once enough is known.
    pub(super) fn limit(&self) -> Option<Duration> {
        let usual = self.earlier.usual()?;
        Some((usual * FAR_LONGER).max(SHORTEST_LIMIT))
    }

    /// Begins a new window; the answers of the old one are remembered, so that a host that
    /// stays slow becomes a slow host in the end.
    pub(super) fn turn_over(&mut self) {
        for index in 0..usize::from(self.filled) {
            self.earlier.add(micros(self.recent[index]));
        }
        (self.filled, self.next) = (0, 0);
    }

    fn is_full(&self) -> bool {
        usize::from(self.filled) == WINDOW
    }
}

fn micros(number: u32) -> Duration {
    Duration::from_micros(number.into())
}

/// Times by their magnitude, older ones counting less and less.
#[derive(Debug, Clone)]
struct Histogram {
    counts: [u8; (OCTAVES * STEPS) as usize],
    total: u16,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: [0; (OCTAVES * STEPS) as usize],
            total: 0,
        }
    }
}

impl Histogram {
    fn add(&mut self, time: Duration) {
        if self.total >= MEMORY {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().copied().map(u16::from).sum();
        }
        let bucket = bucket_of(time).min(self.counts.len() - 1);
        self.counts[bucket] += 1;
        self.total += 1;
    }

    /// What three of four answers kept, once there are enough of them to say so.
    fn usual(&self) -> Option<Duration> {
        let wanted = (self.total * 3).div_ceil(4);
        let mut kept = 0;
        let bucket = self.counts.iter().position(|count| {
            kept += u16::from(*count);
            kept >= wanted
        });
        bucket
            .filter(|_| usize::from(self.total) >= WINDOW)
            .map(middle_of)
    }
}

fn bucket_of(time: Duration) -> usize {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let octave = micros.max(1).ilog2();
    if octave < FIRST_OCTAVE {
        return 0;
    }
    let step = (micros >> (octave - STEPS.ilog2())) as u32 - STEPS;
    ((octave - FIRST_OCTAVE) * STEPS + step) as usize
}

fn middle_of(bucket: usize) -> Duration {
    let (octave, step) = (bucket as u32 / STEPS, bucket as u64 % u64::from(STEPS));
    let unit = 1 << (octave + FIRST_OCTAVE - STEPS.ilog2());
    Duration::from_micros((u64::from(STEPS) + step) * unit + unit / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(times: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::default();
        for milliseconds in times {
            latencies.add(Duration::from_millis(milliseconds));
        }
        latencies
    }

    #[test]
    fn a_bucket_holds_what_is_near_its_middle() {
        for milliseconds in [17, 25, 60, 99, 250, 1_000, 7_000, 60_000] {
            let time = Duration::from_millis(milliseconds);
            let middle = middle_of(bucket_of(time));
            let ratio = middle.as_secs_f64() / time.as_secs_f64();
            assert!((0.87..1.13).contains(&ratio), "{milliseconds} ms: {ratio}");
        }
    }

    #[test]
    fn extremes_stay_in_the_memory() {
        let mut histogram = Histogram::default();
        for time in [Duration::ZERO, Duration::MAX] {
            histogram.add(time);
        }
        assert_eq!(histogram.total, 2);
    }

    #[test]
    fn tells_a_slowdown_from_what_is_usual() {
        let check = |times: Vec<u64>, slowed: bool| {
            assert_eq!(fed(times.clone()).have_slowed(), slowed, "{times:?}");
        };
        check([vec![100; 20], vec![250; 10]].concat(), true);
        check([vec![100; 20], vec![180; 10]].concat(), false);
        // Nothing to compare with yet.
        check(vec![100; 10], false);
        check([vec![100; 5], vec![900; 10]].concat(), false);
        // Noise of the machine.
        check([vec![1; 20], vec![40; 10]].concat(), false);
        // A host that is now quick, now slow, is as it always was.
        check([100, 300].repeat(20), false);
    }

    #[test]
    fn the_limit_is_far_above_what_is_usual() {
        let seconds = |times: Vec<u64>| fed(times).limit().map(|limit| limit.as_secs_f64().round());
        assert_eq!(seconds(vec![20; 19]), None, "too little is known");
        assert_eq!(seconds(vec![20; 20]), Some(5.0));
        assert_eq!(seconds(vec![1000; 20]), Some(10.0));
        // One slow answer among others does not raise it, and many do.
        assert_eq!(seconds([vec![20; 30], vec![9000; 5]].concat()), Some(5.0));
        let slow = seconds([vec![20; 10], vec![3000; 60]].concat());
        assert!(slow > Some(25.0), "{slow:?}");
    }

    #[test]
    fn a_host_that_stays_slow_becomes_a_slow_host() {
        let mut latencies = fed(vec![100; 300]);
        let mut slowdowns = 0;
        for _ in 0..400 {
            latencies.add(Duration::from_millis(400));
            if latencies.have_slowed() {
                slowdowns += 1;
                latencies.turn_over();
            }
        }
        assert!((2..=20).contains(&slowdowns), "{slowdowns}");
    }
}
