//! What is remembered of one host, domain or address: a few dozen bytes.
//!
//! Owns gaps, rates and concurrency of one party. Invariant: it never accuses falsely. A moment
//! of arrival is an interval, because a busy server reads late; gaps are the largest that the
//! intervals allow, and rates count less than a second rather than more.

use std::time::Duration;

/// The sliding second is cut into so many parts.
const PARTS: u64 = 8;
const PART: Duration = Duration::from_millis(1000 / PARTS);

/// When a request came: between these two moments since the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) earliest: Duration,
    pub(crate) latest: Duration,
}

/// The memory of one party.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    last: Option<Duration>,
    pub(super) smallest_gap: Option<Duration>,
    in_flight: u32,
    pub(super) most_in_flight: u32,
    counts: [u16; PARTS as usize],
    part: u64,
    pub(super) most_per_second: u32,
}

impl Track {
    pub(super) fn arrived(&mut self, at: Arrival) {
        if let Some(last) = self.last {
            let gap = at.latest.saturating_sub(last);
            self.smallest_gap = Some(self.smallest_gap.map_or(gap, |known| known.min(gap)));
        }
        self.last = Some(at.earliest);
        self.in_flight += 1;
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        self.count(at.latest);
    }

    pub(super) fn left(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    fn count(&mut self, at: Duration) {
        let part = (at.as_nanos() / PART.as_nanos()) as u64;
        let passed = part.saturating_sub(self.part).min(PARTS);
        for behind in 0..passed {
            self.counts[((part - behind) % PARTS) as usize] = 0;
        }
        self.part = self.part.max(part);
        let here = &mut self.counts[(self.part % PARTS) as usize];
        *here = here.saturating_add(1);
        let sum = self.counts.iter().map(|count| u32::from(*count)).sum();
        self.most_per_second = self.most_per_second.max(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(milliseconds: &[u64]) -> Track {
        let mut track = Track::default();
        for at in milliseconds {
            let at = Duration::from_millis(*at);
            track.arrived(Arrival {
                earliest: at,
                latest: at,
            });
            track.left();
        }
        track
    }

    #[test]
    fn gaps_rates_and_concurrency() {
        let seen = track(&[0, 500, 900, 2000]);
        assert_eq!(seen.smallest_gap, Some(Duration::from_millis(400)));
        assert_eq!((seen.most_per_second, seen.most_in_flight), (3, 1));
        assert_eq!(track(&[0, 1001, 2002, 3003]).most_per_second, 1);
        assert_eq!(track(&[0]).smallest_gap, None);
        let hasty: Vec<u64> = (0..40).map(|number| number * 20).collect();
        assert_eq!(track(&hasty).most_per_second, 40);
    }

    #[test]
    fn doubt_is_for_the_accused() {
        let mut track = Track::default();
        let ms = Duration::from_millis;
        track.arrived(Arrival {
            earliest: ms(10),
            latest: ms(90),
        });
        track.arrived(Arrival {
            earliest: ms(80),
            latest: ms(120),
        });
        assert_eq!(track.smallest_gap, Some(ms(110)));
        assert_eq!(track.most_in_flight, 2);
    }
}
