//! How many connections to hosts are open, and how many of them wait for a request.
//!
//! Owns the two counts. It refuses to know who opens connections and who keeps them. Invariant: what is
//! counted is uncounted when it is dropped. There is one count for the whole process, as with
//! [`descriptors`](crate::descriptors).

use std::sync::atomic::{AtomicUsize, Ordering};

static OPEN: AtomicUsize = AtomicUsize::new(0);
static IDLE: AtomicUsize = AtomicUsize::new(0);

/// One more is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct CountedConnection(&'static AtomicUsize);

impl CountedConnection {
    /// A connection that is open.
    pub(crate) fn open() -> Self {
        Self::in_count(&OPEN)
    }

    /// A connection that is kept for a later request.
    pub(crate) fn idle() -> Self {
        Self::in_count(&IDLE)
    }

    fn in_count(count: &'static AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many connections are at work, and how many are idle.
pub(crate) fn counted() -> (usize, usize) {
    let idle = IDLE.load(Ordering::Relaxed);
    (OPEN.load(Ordering::Relaxed).saturating_sub(idle), idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_not_counted() {
        // A count of its own: other tests open connections at the same time.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let one = CountedConnection::in_count(&COUNT);
        let two = CountedConnection::in_count(&COUNT);
        assert_eq!(COUNT.load(Ordering::Relaxed), 2);
        drop(one);
        assert_eq!(COUNT.load(Ordering::Relaxed), 1);
        drop(two);
        assert_eq!(COUNT.load(Ordering::Relaxed), 0);
    }
}
