//! What connections share: the world, the painter, the referee, time, and counters.
//!
//! Owns the clock of the loop and the memory of attempts. Invariant: attempts are counted only
//! for resources that ail, so the memory is in proportion to those.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::names::NameServer;
use super::tls::Vault;
use crate::internet::paint::{Painter, Sheet};
use crate::internet::referee::{Arrival, Referee};
use crate::internet::wheel::Wheel;
use crate::internet::world::{Act, Ailment, Spot, World};

/// The buffer that sockets are read into.
const BUFFER: usize = 64 << 10;
/// The loop looks around at least this often, so that a machine that stood still is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(4);
/// So much later than asked for a wait may end on a machine that runs.
const A_TICK: Duration = Duration::from_millis(2);

/// What is due later.
pub(super) enum Due {
    /// A connection in this slot, if it still has this serial number.
    Connection(usize, u64),
    Gate(usize),
    Datagram(SocketAddr, Vec<u8>),
}

/// Figures for a live line.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

pub(super) struct Desk {
    pub(super) world: Arc<World>,
    pub(super) painter: Painter,
    pub(super) sheet: Sheet,
    pub(super) vault: Vault,
    pub(super) counters: Arc<Counters>,
    pub(super) buffer: Vec<u8>,
    referee: Arc<Mutex<Referee>>,
    names: NameServer,
    wheel: Wheel<Due>,
    attempts: HashMap<Spot, u32>,
    started: Instant,
    polled: Duration,
    earliest: Duration,
    serials: u64,
}

impl Desk {
    pub(super) fn new(world: Arc<World>, referee: Arc<Mutex<Referee>>, vault: Vault) -> Self {
        Self {
            world,
            painter: Painter::new(),
            sheet: Sheet::default(),
            vault,
            counters: Arc::default(),
            buffer: vec![0; BUFFER],
            referee,
            names: NameServer::default(),
            wheel: Wheel::new(),
            attempts: HashMap::new(),
            started: Instant::now(),
            polled: Duration::ZERO,
            earliest: Duration::ZERO,
            serials: 0,
        }
    }

    /// The system told of events: at once, or after a wait that began then. The thread may have
    /// waited for a processor for as long as `lag` before it heard of them; if it comes back later
    /// than it may wait, the machine itself stood still, and for how long nobody knows.
    pub(super) fn polled(&mut self, waits: Option<Instant>, lag: Duration) {
        let now = self.now();
        self.earliest = match waits {
            Some(entered) => earliest(entered.saturating_duration_since(self.started), now, lag),
            None => self.polled,
        };
        self.polled = now;
    }

    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// When the request that is being read came.
    pub(super) fn arrival(&self) -> Arrival {
        Arrival {
            earliest: self.earliest,
            latest: self.now(),
        }
    }

    /// How long nothing falls due; no longer than a wait may last.
    pub(super) fn until_next(&self, now: Instant) -> Duration {
        let next = self.wheel.next().map(Duration::from_millis);
        let next = next.map(|at| at.saturating_sub(now - self.started));
        next.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
    }

    pub(super) fn later(&mut self, milliseconds: u64, due: Due) {
        // What is left of the current millisecond does not count, so nothing comes early.
        let at = self.now().as_micros().div_ceil(1000) as u64 + milliseconds;
        self.wheel.add(at, due);
    }

    pub(super) fn expire(&mut self, due: &mut Vec<Due>) {
        let now = self.now().as_millis() as u64;
        self.wheel.expire(now, due);
    }

    pub(super) fn next_serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    pub(super) fn referee(&self) -> MutexGuard<'_, Referee> {
        self.referee.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an ailing resource does this time.
    pub(super) fn attempt(&mut self, spot: Spot, ailment: Ailment) -> Act {
        let attempts = self.attempts.entry(spot).or_default();
        *attempts = attempts.saturating_add(1);
        ailment.act(*attempts)
    }

    pub(super) fn answer_name(&mut self, datagram: &[u8]) -> Option<(Vec<u8>, u64)> {
        self.names.answer(&self.world, datagram)
    }

    pub(super) fn count_in(&self) {
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        self.counters.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_out(&self) {
        self.counters.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// When something may have come at the earliest that ended a wait.
fn earliest(entered: Duration, now: Duration, lag: Duration) -> Duration {
    let stood_still = now.saturating_sub(entered) > LONGEST_WAIT + A_TICK;
    if stood_still {
        return entered;
    }
    now.saturating_sub(lag).max(entered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_stood_still_leaves_the_whole_wait_in_doubt() {
        let ms = Duration::from_millis;
        for (entered, now, lag, expected) in [
            (100, 103, 0, 103),
            (100, 103, 1, 102),
            (100, 103, 9, 100),
            (100, 125, 0, 100),
        ] {
            assert_eq!(
                earliest(ms(entered), ms(now), ms(lag)),
                ms(expected),
                "{now}"
            );
        }
    }
}
