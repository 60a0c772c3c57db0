//! Requests that give way: a silent host ends its request early if somebody waits for the slot.
//!
//! Owns how many slots are wanted, as everybody who makes a request may know it, and the moments
//! at which a request looks. Refuses to know who waits and why. Invariants: no more requests give
//! way than slots are wanted, and a look costs one load while none is. A request that goes on
//! being silent looks less and less often, because tens of thousands may be silent at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clewline_core::outcome::FailureClass;
use tokio::time::timeout_at;

use super::FetchFailure;

/// A host that is silent for so long gives way.
const SILENCE: Duration = Duration::from_secs(1);
/// The longest time between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Bytes per second; an answer that comes more slowly is hardly better than silence.
const TRICKLE: u64 = 1024;

/// How many slots are wanted; clones show the same.
#[derive(Debug, Clone, Default)]
pub struct SlotDemand(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// How many requests may have given way by now.
    wanted: AtomicU64,
    given: AtomicU64,
}

impl SlotDemand {
    /// So many requests may have given way by now, those of before included.
    pub fn publish(&self, wanted: u64) {
        self.0.wanted.store(wanted, Ordering::Relaxed);
    }

    /// Gives way if a slot is wanted that nobody else gave yet.
    pub fn give_way(&self) -> bool {
        let wanted = self.0.wanted.load(Ordering::Relaxed);
        let one_more = |given: u64| (given < wanted).then_some(given + 1);
        let relaxed = Ordering::Relaxed;
        let given = &self.0.given;
        given.fetch_update(relaxed, relaxed, one_more).is_ok()
    }
}

/// The silence of one request, and when it looks whether to give way.
#[derive(Debug)]
pub(crate) struct Silence {
    /// None for a request that has its full time.
    demand: Option<SlotDemand>,
    look_at: Instant,
    pause: Duration,
}

impl Silence {
    pub(crate) fn begin(demand: Option<SlotDemand>) -> Self {
        Self {
            demand,
            look_at: Instant::now() + SILENCE,
            pause: SILENCE,
        }
    }

    /// When to look, if ever.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.demand.as_ref().map(|_| self.look_at)
    }

    /// Looks, if it is time to; whether the request gives way, given that its host is silent.
    pub(super) fn gives_way(&mut self, host_is_silent: bool, now: Instant) -> bool {
        let Some(demand) = self.demand.as_ref().filter(|_| now >= self.look_at) else {
            return false;
        };
        self.look_at = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        host_is_silent && demand.give_way()
    }

    /// Waits for something that is silence while it lasts.
    pub(crate) async fn watch<F>(&mut self, mut work: F) -> Result<F::Output, FetchFailure>
    where
        F: Future + Unpin,
    {
        while let Some(at) = self.look_at() {
            if let Ok(done) = timeout_at(at.into(), &mut work).await {
                return Ok(done);
            }
            if self.gives_way(true, Instant::now()) {
                return Err(FetchFailure::gave_way());
            }
        }
        Ok(work.await)
    }
}

/// Whether so many bytes in this time are hardly better than silence.
pub(super) fn is_trickle(bytes: u64, time: Duration) -> bool {
    bytes as f64 <= TRICKLE as f64 * time.as_secs_f64()
}

impl FetchFailure {
    /// The request gave way.
    pub(super) fn gave_way() -> Self {
        Self {
            cut_short: true,
            ..Self::new(
                FailureClass::Timeout,
                "the host was silent and others waited",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_give_way_as_slots_are_wanted() {
        let demand = SlotDemand::default();
        assert!(!demand.give_way(), "nobody waits");
        demand.publish(2);
        assert!(demand.give_way() && demand.clone().give_way());
        assert!(!demand.give_way(), "two were wanted");
        demand.publish(3);
        assert!(demand.give_way(), "one more than before");
        demand.publish(1);
        assert!(!demand.give_way());
    }

    #[test]
    fn it_looks_after_a_second_and_then_less_often() {
        let mut silence = Silence::begin(Some(SlotDemand::default()));
        let begun = silence.look_at().unwrap();
        let mut looks = Vec::new();
        for _ in 0..6 {
            let at = silence.look_at().unwrap();
            let before = at.checked_sub(Duration::from_millis(1)).unwrap();
            assert!(!silence.gives_way(true, before));
            assert_eq!(silence.look_at(), Some(at), "it was not time yet");
            silence.gives_way(true, at);
            looks.push((at - begun).as_secs());
        }
        assert_eq!(looks, [0, 1, 3, 7, 15, 23]);
        assert_eq!(Silence::begin(None).look_at(), None);
    }

    #[tokio::test]
    async fn a_wait_ends_by_its_result_or_by_giving_way() {
        let done = Silence::begin(None).watch(Box::pin(async { 7 })).await;
        assert_eq!(done.unwrap(), 7);
        let demand = SlotDemand::default();
        demand.publish(1);
        let mut silent = Silence::begin(Some(demand));
        silent.look_at = Instant::now();
        let never = Box::pin(std::future::pending::<()>());
        assert!(silent.watch(never).await.unwrap_err().cut_short);
    }

    #[test]
    fn a_host_that_is_not_silent_keeps_its_slot() {
        let demand = SlotDemand::default();
        demand.publish(1);
        let mut silence = Silence::begin(Some(demand));
        let at = silence.look_at().unwrap();
        assert!(!silence.gives_way(false, at));
        let at = silence.look_at().unwrap();
        assert!(silence.gives_way(true, at));
    }

    #[test]
    fn a_drip_is_a_trickle_and_a_page_is_not() {
        assert!(is_trickle(0, Duration::from_secs(1)));
        assert!(is_trickle(300, Duration::from_secs(1)));
        assert!(!is_trickle(4096, Duration::from_secs(1)));
    }
}
