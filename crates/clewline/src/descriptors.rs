//! The descriptors of this process, and who may have them.
//!
//! Owns the one division of `ulimit -n`. What comes and goes with requests (sockets, questions to
//! name servers, large answers on their way to the archive) takes [`Seats`]; the rest is left to
//! the logs, the store and the runtime, which cannot go on without. It refuses to know what a
//! seat is used for. Invariant: seats are handed out only while as many descriptors stay free as
//! the files of a crawl may need. There is one count for the whole process, as the limit is one.

use std::sync::atomic::{AtomicUsize, Ordering};

use clewline_platform::descriptors::raise;
pub(crate) use clewline_platform::descriptors::ran_out;

/// What a crawl opens apart from requests and tables: logs, locks, sockets of its own, and what
/// is open for a moment while a table or a new file of the archive is made; and the runs of keys.
const OWN: usize = 32;
/// Seats that there are however few descriptors there are: without them nothing would go on.
const FEWEST_SEATS: usize = 4;
/// Tables of the store that stay open, at the least and at the most.
const FEWEST_TABLES: usize = 10;
const MOST_TABLES: usize = 900;
/// The part of what is free that tables may have.
const TABLE_SHARE: usize = 8;
/// Descriptors for each request: its connection, and another one that is idle.
const PER_REQUEST: usize = 2;

/// Seats that are taken.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
/// Seats that there are; before the first crawl nobody counts.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Tables that a store may keep open.
static TABLES: AtomicUsize = AtomicUsize::new(MOST_TABLES);

/// The right to so many descriptors, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seats(usize);

impl Seats {
    /// None while there are not as many.
    pub(crate) fn take(count: usize) -> Option<Self> {
        let most = MOST.load(Ordering::Relaxed);
        let seated = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            taken.checked_add(count).filter(|taken| *taken <= most)
        });
        seated.ok().map(|_| Self(count))
    }
}

impl Drop for Seats {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Raises the soft limit as far as it is needed and allowed for so many requests at once, and
/// shares out what there is. Called before a crawl opens anything.
pub(crate) fn share_out(requests: usize) {
    let others = open_now().saturating_sub(TAKEN.load(Ordering::Relaxed));
    let needed = requests
        .saturating_mul(PER_REQUEST)
        .saturating_add(others + OWN + MOST_TABLES);
    let shares = Shares::new(raise(needed as u64), others);
    MOST.store(shares.seats, Ordering::Relaxed);
    TABLES.store(shares.tables, Ordering::Relaxed);
}

/// How many of the wanted requests can be in flight.
pub(crate) fn room_for(requests: usize) -> usize {
    MOST.load(Ordering::Relaxed).clamp(1, requests.max(1))
}

/// How many seats are taken.
pub(crate) fn taken() -> usize {
    TAKEN.load(Ordering::Relaxed)
}

/// How many tables a store may keep open.
pub(crate) fn tables() -> usize {
    TABLES.load(Ordering::Relaxed)
}

/// What a limit leaves for the parts of a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shares {
    seats: usize,
    tables: usize,
}

impl Shares {
    /// Shares out a limit of which `others` have some already.
    fn new(limit: usize, others: usize) -> Self {
        let free = limit.saturating_sub(others + OWN);
        let tables = (free / TABLE_SHARE).clamp(FEWEST_TABLES, MOST_TABLES);
        Self {
            seats: free.saturating_sub(tables).max(FEWEST_SEATS),
            tables,
        }
    }
}

/// Descriptors that are open, or a guess where the system does not tell.
fn open_now() -> usize {
    const STANDARD: usize = 3;
    let listed = std::fs::read_dir("/dev/fd").map(Iterator::count);
    // The listing itself is one of them.
    listed.map_or(STANDARD, |count| count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_at_most_the_whole() {
        let smallest = OWN + FEWEST_TABLES + FEWEST_SEATS;
        for limit in [smallest, 48, 64, 256, 1_024, 20_000, 1 << 30] {
            let shares = Shares::new(limit, 0);
            assert!(
                shares.seats + shares.tables + OWN <= limit,
                "{limit}: {shares:?}"
            );
            assert!(shares.tables <= MOST_TABLES);
        }
    }

    #[test]
    fn something_goes_on_however_few_there_are() {
        for (limit, others) in [(0, 0), (16, 10), (64, 64), (64, usize::MAX / 2)] {
            assert_eq!(Shares::new(limit, others).seats, FEWEST_SEATS, "{limit}");
        }
        assert!(Shares::new(1_024, 10).seats > 850);
    }

    #[test]
    fn open_descriptors_are_counted() {
        let files: Vec<_> = (0..50).map(|_| tempfile::tempfile().unwrap()).collect();
        assert!(open_now() > files.len());
    }
}
