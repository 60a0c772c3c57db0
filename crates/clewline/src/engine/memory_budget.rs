//! Bytes in flight: what tasks hold of the memory.
//!
//! Owns the account of what answers under way take: kept bodies, links as they are collected,
//! pages that wait for their reader. Nothing new is handed out above half of the bound; above
//! all of it a task that wants more gives up what it has and its URL is tried again, unless it
//! is the only one: so the bound is exceeded by one answer at the most, and every answer has
//! its turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::MemoryPlan;

/// The account of a crawl.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    bytes: AtomicU64,
    most: AtomicU64,
    bound: u64,
}

/// What one task holds; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    held: Arc<MemoryBudget>,
    bytes: u64,
}

/// There is no more memory for this task.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMuch;

impl MemoryBudget {
    /// As much as a crawl with this memory may have under way.
    pub(super) fn within(memory: u64) -> Arc<Self> {
        Arc::new(Self {
            bytes: AtomicU64::new(0),
            most: AtomicU64::new(0),
            bound: MemoryPlan::new(memory).in_flight().max(1),
        })
    }

    /// Whether something new may be handed out.
    pub(super) fn has_room(&self) -> bool {
        self.bytes() <= self.bound / 2
    }

    /// What is held now.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The most that was held at once.
    pub(super) fn peak(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// The share of a task that holds nothing yet.
    pub(super) fn share(self: &Arc<Self>) -> Share {
        Share {
            held: Arc::clone(self),
            bytes: 0,
        }
    }
}

impl Share {
    /// What all shares together may hold.
    pub(super) fn bound(&self) -> u64 {
        self.held.bound
    }

    /// The task holds so much now.
    pub(super) fn hold(&mut self, bytes: u64) -> Result<(), TooMuch> {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let held = &self.held;
        let total = if bytes >= before {
            let more = bytes - before;
            held.bytes.fetch_add(more, Ordering::Relaxed) + more
        } else {
            let less = before - bytes;
            held.bytes.fetch_sub(less, Ordering::Relaxed) - less
        };
        held.most.fetch_max(total, Ordering::Relaxed);
        if total > held.bound && total > bytes && bytes > before {
            return Err(TooMuch);
        }
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.held.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_but_for_the_last_one() {
        let held = MemoryBudget::within(16_000);
        let (mut first, mut second) = (held.share(), held.share());
        assert_eq!(first.hold(1200), Ok(()));
        assert!(held.has_room());
        assert_eq!(second.hold(1500), Ok(()));
        assert!(!held.has_room());
        assert_eq!(first.hold(1501), Err(TooMuch));
        drop(first);
        assert_eq!(
            second.hold(15_000),
            Ok(()),
            "alone it may take what it needs"
        );
        assert_eq!(second.hold(900), Ok(()));
        assert!(held.has_room());
        assert_eq!(held.peak(), 15_000);
        drop(second);
        assert_eq!(held.bytes(), 0);
    }
}
