//! The lease of a member as its threads see it.
//!
//! Owns what tasks and commits have to know of it: until when a request may be sent, and which
//! shards are held for sure. The engine publishes it. It refuses to know how a lease is kept.
//! Invariants: time counts while the machine sleeps; nobody sends or commits on a lease that the
//! engine has not published.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clewline_core::fleet::ShardId;
use clewline_core::frontier::Moment;
use clewline_platform::process::slept;

/// Time since the member was started, while the machine slept, too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseClock {
    start: Instant,
    slept: Duration,
}

impl LeaseClock {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            slept: slept(),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        self.start.elapsed() + slept().saturating_sub(self.slept)
    }
}

/// How a shard is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldLease {
    /// Which of its tenures here it is.
    pub(crate) tenure: u64,
    /// The epoch, if it is held for sure.
    pub(crate) epoch: Option<u64>,
}

#[derive(Debug, Default)]
struct Published {
    shards: BTreeMap<ShardId, HeldLease>,
    ended: Option<String>,
}

/// What is published of a lease; clones show the same.
#[derive(Debug, Clone)]
pub(crate) struct FleetLease {
    pub(crate) clock: LeaseClock,
    /// In milliseconds of the clock.
    send_until: Arc<AtomicU64>,
    published: Arc<(Mutex<Published>, Condvar)>,
}

impl FleetLease {
    pub(crate) fn new() -> Self {
        Self {
            clock: LeaseClock::start(),
            send_until: Arc::default(),
            published: Arc::default(),
        }
    }

    /// Requests may be sent until then.
    pub(crate) fn allow_until(&self, until: Moment) {
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.send_until.store(until, Ordering::Release);
    }

    /// Whether a request may be sent now.
    pub(crate) fn may_send(&self) -> bool {
        let until = Duration::from_millis(self.send_until.load(Ordering::Acquire));
        self.clock.now() < until
    }

    /// These shards are held.
    pub(crate) fn publish(&self, shards: BTreeMap<ShardId, HeldLease>) {
        let mut published = self.lock();
        if published.shards != shards {
            published.shards = shards;
            self.published.1.notify_all();
        }
    }

    /// Nothing counts any more, and why.
    pub(crate) fn end(&self, why: &str) {
        self.lock().ended.get_or_insert_with(|| why.to_owned());
        self.published.1.notify_all();
    }

    /// Why nothing counts any more.
    pub(crate) fn ended(&self) -> Option<String> {
        self.lock().ended.clone()
    }

    /// The shards that are held.
    pub(crate) fn held(&self) -> BTreeMap<ShardId, HeldLease> {
        self.lock().shards.clone()
    }

    /// Waits for something else to be published, for so long at the most.
    pub(crate) fn wait(&self, most: Duration) {
        let published = self.lock();
        drop(self.published.1.wait_timeout(published, most));
    }

    fn lock(&self) -> MutexGuard<'_, Published> {
        let lock = self.published.0.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_only_while_that_is_allowed() {
        let lease = FleetLease::new();
        assert!(!lease.may_send(), "nothing was published");
        lease.allow_until(Duration::from_hours(1));
        assert!(lease.clone().may_send());
        lease.allow_until(Duration::ZERO);
        assert!(!lease.may_send());
    }
}
