//! Parts of pages, when no more pages may be fetched.
//!
//! Owns what a crawl with parts of pages still asks for once a page budget is spent: what the
//! fetched pages are made of goes ahead of pages that may not be fetched any more. Those are
//! passed over and stay unsettled, for a run with a larger budget. It refuses to know which
//! budget it was. Invariant: not more than the page budget allows are held in memory for that;
//! parts that wait behind so many pages are left to a later run as well.

use super::Frontier;
use super::pace::Moment;
use super::place::LanePlace;
use super::store::{Span, Store};
use crate::key::HostId;

impl<S: Store> Frontier<S> {
    /// Brings the parts that wait in a lane, whose head may not be fetched, before its pages; says
    /// when the first of them is due, if there are any.
    pub(super) fn part_ahead(
        &mut self,
        host: HostId,
        now: Moment,
    ) -> Result<Option<Moment>, S::Error> {
        let most = self.window();
        let Some(lane) = self.lanes.get_mut(&host) else {
            return Ok(None);
        };
        if !self.rules.scope.takes_requisites() {
            return Ok(None);
        }
        lane.sort_due_retries(now);
        let mut looked = 0;
        loop {
            if lane.bring_parts_before(looked) {
                return Ok(Some(now));
            }
            looked = lane.window.len();
            if self.page_budget.may_pass_over() {
                let span = Span::normal(self.levels.level());
                self.store.take(host, span, most, &mut lane.window)?;
            }
            let taken = lane.window.len() - looked;
            if taken == 0 {
                return Ok(lane.first_delayed_part());
            }
            self.page_budget.pass_over(taken);
        }
    }

    /// From now on only parts are asked for: wake-ups of lanes that have none mean nothing.
    pub(super) fn sift(&mut self, now: Moment) -> Result<(), S::Error> {
        let hosts: Vec<HostId> = self.lanes.keys().copied().collect();
        for host in hosts {
            let place = &mut self.lane(host).place;
            if place.scheduled().is_some() {
                place.move_to(LanePlace::Nowhere);
            }
            self.reschedule(host, now)?;
        }
        Ok(())
    }
}
