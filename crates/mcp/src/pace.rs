//! When a host may be asked again, from one call to the next.
//!
//! A call of `fetch` is a crawl of one page, which knows nothing of the calls before it. Owns the time
//! between them. Invariant: between two calls for a host lies at least the gap that the first one
//! ended with, and one call is at work at a time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Hosts that are remembered.
const MOST_HOSTS: usize = 1000;
/// Between two pages of a host that asks for no other time.
pub(crate) const USUAL_GAP: Duration = Duration::from_secs(1);
/// The longest that a call waits for its turn.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// When hosts may be asked next.
#[derive(Debug, Default)]
pub(crate) struct HostTurns {
    due: HashMap<String, Instant>,
}

impl HostTurns {
    /// How long a host wants to be left alone.
    pub(crate) fn wait(&self, host: &str, now: Instant) -> Duration {
        let due = self.due.get(host);
        due.map_or(Duration::ZERO, |due| due.saturating_duration_since(now))
    }

    /// A host was asked, and may be asked again after a gap.
    pub(crate) fn asked(&mut self, host: &str, now: Instant, gap: Duration) {
        if self.due.len() >= MOST_HOSTS {
            self.due.retain(|_, due| *due > now);
        }
        if self.due.len() >= MOST_HOSTS && !self.due.contains_key(host) {
            // All of them wait still: the one that is due first makes room.
            let first = self.due.iter().min_by_key(|(_, due)| **due);
            if let Some(first) = first.map(|(host, _)| host.clone()) {
                self.due.remove(&first);
            }
        }
        self.due.insert(host.to_owned(), now + gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_wait_for_their_own_gap() {
        let (now, mut turns) = (Instant::now(), HostTurns::default());
        turns.asked("a.test", now, Duration::from_secs(5));
        assert_eq!(
            turns.wait("a.test", now + Duration::from_secs(2)),
            Duration::from_secs(3)
        );
        assert_eq!(
            turns.wait("a.test", now + Duration::from_secs(6)),
            Duration::ZERO
        );
        assert_eq!(turns.wait("b.test", now), Duration::ZERO);
        for number in 0..2 * MOST_HOSTS {
            turns.asked(&number.to_string(), now, Duration::from_secs(9));
        }
        assert!(turns.due.len() <= MOST_HOSTS);
    }
}
