//! How the memory that a crawl may take is shared out.
//!
//! Owns the one division of `--memory`. It refuses to know how a share is spent: whoever gets
//! one keeps to it. Invariant: all shares together are at most the whole, except where so little
//! is given that a part could not work at all.

/// Parts that the memory is divided into.
const PARTS: u64 = 16;
const HOT_KEYS: u64 = 2;
const CACHE: u64 = 1;
const KEY_RUNS: u64 = 2;
const KEY_BLOCKS: u64 = 1;
const WRITE_BUFFERS: u64 = 3;
const LANES: u64 = 2;
const IN_FLIGHT: u64 = 3;
const SPOOL: u64 = 2;

/// What an active host takes: its lane, the entries in its window, its queue, its groups.
const LANE_BYTES: u64 = 2_500;
/// Hosts that are active however little memory there is.
const FEWEST_LANES: u64 = 1_000;
/// Hosts that are active however much there is.
const MOST_LANES: u64 = 100_000;

/// What every part of a crawl may take, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    whole: u64,
}

impl MemoryPlan {
    /// Shares out a number of bytes.
    pub(crate) const fn new(whole: u64) -> Self {
        Self { whole }
    }

    /// For keys met lately.
    pub(crate) const fn hot_keys(self) -> u64 {
        self.share(HOT_KEYS)
    }

    /// For blocks of the store that were read before.
    pub(crate) const fn cache(self) -> u64 {
        self.share(CACHE)
    }

    /// For what is kept of the runs of keys, apart from the keys.
    pub(crate) const fn key_runs(self) -> u64 {
        self.share(KEY_RUNS)
    }

    /// For blocks of the runs of keys that were read more than once.
    pub(crate) const fn key_blocks(self) -> u64 {
        self.share(KEY_BLOCKS)
    }

    /// For writes that are not in tables yet.
    pub(crate) const fn write_buffers(self) -> u64 {
        self.share(WRITE_BUFFERS)
    }

    /// For answers under way.
    pub(crate) const fn in_flight(self) -> u64 {
        self.share(IN_FLIGHT)
    }

    /// For exchanges that wait to be archived.
    pub(crate) const fn spool(self) -> u64 {
        self.share(SPOOL)
    }

    /// How many hosts may be active.
    pub(crate) fn active_lanes(self) -> usize {
        let lanes = self.share(LANES) / LANE_BYTES;
        lanes.clamp(FEWEST_LANES, MOST_LANES) as usize
    }

    const fn share(self, parts: u64) -> u64 {
        self.whole / PARTS * parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_at_most_the_whole() {
        for whole in [64_000_000, 256_000_000, 1 << 30, u64::MAX / PARTS] {
            let plan = MemoryPlan::new(whole);
            let lanes = plan.active_lanes() as u64 * LANE_BYTES;
            let shares = [
                plan.hot_keys(),
                plan.cache(),
                plan.key_runs(),
                plan.key_blocks(),
                plan.write_buffers(),
                plan.in_flight(),
                plan.spool(),
                lanes,
            ];
            assert!(shares.iter().sum::<u64>() <= whole, "{whole}: {shares:?}");
        }
    }

    #[test]
    fn hosts_are_active_as_far_as_memory_goes() {
        for (whole, lanes) in [
            (0, 1_000),
            (256_000_000, 12_800),
            (1_000_000_000, 50_000),
            (u64::MAX, 100_000),
        ] {
            assert_eq!(MemoryPlan::new(whole).active_lanes(), lanes, "{whole}");
        }
    }
}
