//! The schedule: what is to be looked at next, and when.
//!
//! Owns a heap of wake-ups. A wake-up is only a hint: whoever is woken checks for itself
//! whether it may start, and outdated wake-ups are thrown away.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

use super::pace::Moment;
use crate::key::HostId;

/// Who is to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    Lane(HostId),
    Domain(u64),
    Address(IpAddr),
}

/// A heap of wake-ups; equal moments come in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    heap: BinaryHeap<Reverse<(Moment, u64, Wake)>>,
    added: u64,
}

impl Schedule {
    pub(super) fn add(&mut self, at: Moment, wake: Wake) {
        self.added += 1;
        self.heap.push(Reverse((at, self.added, wake)));
    }

    pub(super) fn pop_due(&mut self, now: Moment) -> Option<(Moment, Wake)> {
        let Reverse((at, _, _)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, wake))| (at, wake))
    }

    /// Takes away the first wake-up, for the caller to look whether it is outdated.
    pub(super) fn peek(&self) -> Option<(Moment, Wake)> {
        self.heap.peek().map(|Reverse((at, _, wake))| (*at, *wake))
    }

    pub(super) fn drop_first(&mut self) {
        self.heap.pop();
    }
}
