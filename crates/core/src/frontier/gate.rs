//! The gate: whether pages may be handed out, or only what those in hand need.
//!
//! Owns which lanes it stopped. Whoever has enough pages in hand closes it; errands and robots files
//! pass, so that what is in hand can end. It refuses to know how much is enough. Invariant: every lane
//! that it stopped is asked again when it opens.

use std::collections::BTreeSet;

use super::Frontier;
use super::pace::Moment;
use super::store::Store;
use crate::key::HostId;

/// What may be handed out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Handout {
    /// Whatever is next.
    #[default]
    All,
    /// Only what the pages in hand need.
    ErrandsOnly,
}

/// The gate, and who waits before it.
#[derive(Debug, Default)]
pub(super) struct Gate {
    handout: Handout,
    stopped: BTreeSet<HostId>,
}

impl Gate {
    /// Whether it stops a lane that has a page to ask for.
    pub(super) fn holds(&mut self, host: HostId) -> bool {
        let is_closed = self.handout == Handout::ErrandsOnly;
        if is_closed {
            self.stopped.insert(host);
        }
        is_closed
    }

    /// Whether a lane waits before it.
    pub(super) fn holds_any(&self) -> bool {
        !self.stopped.is_empty()
    }
}

impl<S: Store> Frontier<S> {
    /// Says what may be handed out from now on.
    pub fn hand_out(&mut self, handout: Handout, now: Moment) -> Result<(), S::Error> {
        self.gate.handout = handout;
        if handout == Handout::All {
            for host in std::mem::take(&mut self.gate.stopped) {
                self.reschedule(host, now)?;
            }
        }
        Ok(())
    }
}
