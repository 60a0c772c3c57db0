//! Buffers of answers that were written, for answers to come.
//!
//! Owns a bounded stock of them by size. They are taken by the tasks and given back by the
//! thread that writes: an allocator would give such memory back to the system and ask for it
//! again, and the system clears it each time. Refuses to know what was in them: it is gone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The smallest size that is kept; smaller answers are cheap to make room for.
const LEAST: usize = 16 * 1024;
/// Each size is twice the one before.
const SIZES: usize = 5;
/// The largest size that is kept.
pub(super) const MOST: usize = LEAST << (SIZES - 1);

#[derive(Debug)]
pub(super) struct SpoolBuffers {
    idle: Mutex<[Vec<Vec<u8>>; SIZES]>,
    bytes: AtomicU64,
}

impl SpoolBuffers {
    pub(super) const fn new() -> Self {
        Self {
            idle: Mutex::new([const { Vec::new() }; SIZES]),
            bytes: AtomicU64::new(0),
        }
    }

    /// Bytes that lie idle.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// An empty buffer with room for so many bytes, and up to twice as many. If there is none
    /// of its size, others go until no more than `bound` bytes would lie idle beside it.
    pub(super) fn take(&self, room: usize, bound: u64) -> Vec<u8> {
        let size = room.next_power_of_two();
        let mut idle = self.idle();
        let taken = class_of(size).and_then(|class| idle[class].pop());
        if let Some(buffer) = taken {
            self.bytes.fetch_sub(size as u64, Ordering::Relaxed);
            return buffer;
        }
        self.shrink(&mut idle, bound.saturating_sub(size as u64));
        drop(idle);
        Vec::with_capacity(size)
    }

    /// Keeps a buffer if no more than `bound` bytes lie idle then.
    pub(super) fn give_back(&self, mut buffer: Vec<u8>, bound: u64) {
        let size = buffer.capacity();
        let Some(class) = class_of(size) else {
            return;
        };
        let mut idle = self.idle();
        // The stock changes under its lock only, so what is compared still holds when it grows.
        if self.bytes.load(Ordering::Relaxed) + size as u64 <= bound {
            self.bytes.fetch_add(size as u64, Ordering::Relaxed);
            buffer.clear();
            idle[class].push(buffer);
        }
    }

    /// Lets go of buffers, the largest first.
    fn shrink(&self, idle: &mut [Vec<Vec<u8>>; SIZES], bound: u64) {
        let mut left = self.bytes.load(Ordering::Relaxed);
        while left > bound
            && let Some(buffer) = idle.iter_mut().rev().find_map(Vec::pop)
        {
            left -= buffer.capacity() as u64;
        }
        self.bytes.store(left, Ordering::Relaxed);
    }

    fn idle(&self) -> MutexGuard<'_, [Vec<Vec<u8>>; SIZES]> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where buffers of exactly this capacity are kept.
fn class_of(size: usize) -> Option<usize> {
    let is_kept = size.is_power_of_two() && (LEAST..=MOST).contains(&size);
    is_kept.then(|| (size / LEAST).ilog2() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_empty_and_by_size() {
        let buffers = SpoolBuffers::new();
        for (room, capacity) in [
            (100, 128),
            (LEAST / 2 + 1, LEAST),
            (LEAST + 1, 2 * LEAST),
            (MOST, MOST),
        ] {
            let mut buffer = buffers.take(room, 1 << 20);
            assert_eq!(buffer.capacity(), capacity);
            buffer.resize(room, b'x');
            buffers.give_back(buffer, 1 << 20);
            let kept = if capacity >= LEAST { capacity } else { 0 };
            assert_eq!(buffers.bytes(), kept as u64, "{room}");
            let again = buffers.take(room, 1 << 20);
            assert!(again.is_empty() && again.capacity() == capacity);
            assert_eq!(buffers.bytes(), 0);
        }
    }

    #[test]
    fn the_stock_is_bounded() {
        let (buffers, least) = (SpoolBuffers::new(), LEAST as u64);
        let taken: Vec<_> = (0..8).map(|_| buffers.take(LEAST, 3 * least)).collect();
        for buffer in taken {
            buffers.give_back(buffer, 3 * least);
        }
        assert_eq!(buffers.bytes(), 3 * least);
        buffers.give_back(Vec::with_capacity(2 * MOST), u64::MAX);
        assert_eq!(buffers.bytes(), 3 * least);
        // A buffer that is not there takes the room of others.
        assert_eq!(buffers.take(2 * LEAST, 4 * least).capacity(), 2 * LEAST);
        assert_eq!(buffers.bytes(), 2 * least);
        assert_eq!(buffers.take(MOST, 4 * least).capacity(), MOST);
        assert_eq!(buffers.bytes(), 0);
    }
}
