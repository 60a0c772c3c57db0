//! Pauses that hosts asked for, known to everybody who is about to ask them.
//!
//! Owns which hosts are to be left alone, and until when. The engine hears of a refusal when its
//! answer has ended, which may take long; and by then requests are on their way that were handed
//! out before: they wait for a thread, for a connection, for a handshake. So whoever reads the
//! head of a refusal notes it here, and whoever fetches looks here last, when nothing is left to
//! do but to send. A member of a fleet whose lease has lapsed leaves every host alone. Refuses to
//! know what a refusal is. Invariants: a look costs one load while no
//! pause is in force, and at most [`MOST`] hosts are remembered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::fleet::FleetLease;

/// Hosts that are remembered, at the most; of further ones only the engine knows.
const MOST: usize = 65_536;
/// A request that has no lease is put off for this long; by then there is one, or it is dropped.
const WITHOUT_LEASE: Duration = Duration::from_millis(500);
/// How often pauses that are over are looked for, so that to note one stays cheap.
const SWEEP: Duration = Duration::from_secs(1);

/// The pauses of a crawl; clones show the same.
#[derive(Debug, Clone)]
pub struct Pauses(Arc<Board>);

#[derive(Debug)]
struct Board {
    /// In a fleet nothing is sent without a lease.
    lease: OnceLock<FleetLease>,
    begun: Instant,
    /// When the last of all pauses is over, in milliseconds since the beginning.
    last_end: AtomicU64,
    hosts: Mutex<Hosts>,
}

#[derive(Debug)]
struct Hosts {
    until: HashMap<Box<str>, Instant>,
    swept: Instant,
}

impl Default for Pauses {
    fn default() -> Self {
        let begun = Instant::now();
        Self(Arc::new(Board {
            lease: OnceLock::new(),
            begun,
            last_end: AtomicU64::new(0),
            hosts: Mutex::new(Hosts {
                until: HashMap::new(),
                swept: begun,
            }),
        }))
    }
}

impl Pauses {
    /// The host is to be left alone until then, or for longer if it asked for that before.
    pub fn note(&self, host: &str, until: Instant) {
        let board = &*self.0;
        let mut hosts = board.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.note(host, until, Instant::now());
        let end = until.saturating_duration_since(board.begun).as_millis() + 1;
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        // Whoever sees the end finds the host: it still has to come by the lock.
        board.last_end.fetch_max(end, Ordering::Release);
    }

    /// Nothing is sent without this lease from here on.
    pub(crate) fn bind(&self, lease: FleetLease) {
        self.0.lease.set(lease).ok();
    }

    /// Until when the host is to be left alone, if it is.
    pub fn until(&self, host: &str) -> Option<Instant> {
        let board = &*self.0;
        if board.lease.get().is_some_and(|lease| !lease.may_send()) {
            return Some(Instant::now() + WITHOUT_LEASE);
        }
        let last_end = board.last_end.load(Ordering::Acquire);
        if last_end == 0 {
            return None;
        }
        let now = Instant::now();
        if now.duration_since(board.begun) >= Duration::from_millis(last_end) {
            return None;
        }
        let hosts = board.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.until.get(host).copied().filter(|until| *until > now)
    }
}

impl Hosts {
    fn note(&mut self, host: &str, until: Instant, now: Instant) {
        if let Some(known) = self.until.get_mut(host) {
            *known = until.max(*known);
            return;
        }
        if now.duration_since(self.swept) >= SWEEP {
            self.swept = now;
            self.until.retain(|_, until| *until > now);
        }
        if self.until.len() < MOST {
            self.until.insert(host.into(), until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any test takes.
    const PATIENCE: Duration = Duration::from_mins(1);

    #[test]
    fn pauses_are_of_one_host_and_end() {
        let pauses = Pauses::default();
        assert_eq!(pauses.until("a.test"), None);
        let soon = Instant::now() + PATIENCE;
        let late = soon + PATIENCE;
        pauses.clone().note("a.test", late);
        pauses.note("a.test", soon);
        assert_eq!(pauses.until("a.test"), Some(late), "none ends sooner");
        assert_eq!(pauses.until("b.test"), None);
        pauses.note("b.test", Instant::now());
        assert_eq!(pauses.until("b.test"), None, "it is over");
    }

    #[test]
    fn what_is_over_makes_room_and_nothing_else_does() {
        let begun = Instant::now();
        let mut hosts = Hosts {
            until: HashMap::new(),
            swept: begun,
        };
        let over = begun + SWEEP / 2;
        (0..MOST + 5).for_each(|number| hosts.note(&format!("{number}.test"), over, begun));
        assert_eq!(hosts.until.len(), MOST);
        hosts.note("a.test", begun + PATIENCE, begun + SWEEP / 4);
        assert!(!hosts.until.contains_key("a.test"), "there is no room");
        hosts.note("a.test", begun + PATIENCE, begun + SWEEP);
        assert_eq!(hosts.until.len(), 1);
    }
}
