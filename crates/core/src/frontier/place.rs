//! Where a lane is, which says what will wake it.
//!
//! Owns the one place of each lane, the one function that moves it ([`Whereabouts::move_to`]), and
//! the choice of the moment at which a lane could start something. A lane leaves a list lazily: a
//! wake-up, a number in the line or a waiter of a group that is met while the lane is elsewhere
//! means nothing. Refuses to know what a lane does once it is woken. Invariant: a lane that could
//! start something is scheduled, in a group or in the line, and only in one of them.

use super::Frontier;
use super::pace::Moment;
use super::schedule::Wake;
use super::store::{Store, Waiting};
use crate::key::HostId;

/// Where a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LanePlace {
    /// In no list. It is being asked just now, or it can start nothing before something of it is
    /// settled or admitted.
    Nowhere,
    /// In the schedule, for this moment.
    Scheduled(Moment),
    /// Among those that wait for their domain or address.
    InGroup,
    /// In the line for a slot.
    InLine,
}

/// The place of one lane.
#[derive(Debug)]
pub(super) struct Whereabouts(LanePlace);

impl Whereabouts {
    /// A lane that is new is in no list.
    pub(super) const NEW: Self = Self(LanePlace::Nowhere);

    /// Moves a lane. It leaves one list before it enters another; only within the schedule it moves
    /// at once.
    #[inline]
    pub(super) fn move_to(&mut self, place: LanePlace) {
        use LanePlace::{Nowhere, Scheduled};
        debug_assert!(
            matches!(
                (self.0, place),
                (_, Nowhere) | (Nowhere, _) | (Scheduled(_), Scheduled(_))
            ),
            "a lane moves from {:?} to {place:?}",
            self.0
        );
        self.0 = place;
    }

    /// The moment for which it is scheduled, if it is.
    #[inline]
    pub(super) const fn scheduled(&self) -> Option<Moment> {
        match self.0 {
            LanePlace::Scheduled(at) => Some(at),
            LanePlace::Nowhere | LanePlace::InGroup | LanePlace::InLine => None,
        }
    }

    /// Whether it waits for others to make room.
    #[inline]
    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self.0, LanePlace::InGroup | LanePlace::InLine)
    }

    /// Whether it waits for its domain or address.
    pub(super) fn is_in_group(&self) -> bool {
        self.0 == LanePlace::InGroup
    }

    /// Leaves the line for a slot; whether it was there.
    pub(super) fn leave_line(&mut self) -> bool {
        let was_there = self.0 == LanePlace::InLine;
        if was_there {
            self.move_to(LanePlace::Nowhere);
        }
        was_there
    }
}

impl<S: Store> Frontier<S> {
    /// Puts a lane into the schedule at the earliest moment at which it could start something.
    pub(super) fn reschedule(&mut self, host: HostId, now: Moment) -> Result<(), S::Error> {
        let Some(lane) = self.lanes.get(&host) else {
            return Ok(());
        };
        if lane.place.is_waiting() {
            return Ok(());
        }
        if lane.ended.is_none() && lane.in_flight >= lane.pace.in_flight_limit() {
            return Ok(());
        }
        let has_other_work = !lane.robots_fetches.is_empty() || lane.has_errands();
        let queued = !lane.window.is_empty() || has_other_work;
        let has_page_only = lane.ended.is_none() && !has_other_work && self.only_parts();
        let work = if has_page_only {
            let part = self.part_ahead(host, now)?;
            if part.is_none() {
                self.page_budget.hold(host);
            }
            part
        } else if queued {
            Some(now)
        } else {
            let delayed = lane.first_delayed();
            match self.store.waiting(host, self.span(host))? {
                Waiting::Ready => Some(now),
                Waiting::Deeper => {
                    self.levels.hold(host);
                    delayed
                }
                Waiting::Nothing => delayed,
            }
        };
        let (Some(work), Some(lane)) = (work, self.lanes.get(&host)) else {
            return Ok(());
        };
        let at = if lane.ended.is_some() {
            now
        } else {
            work.max(lane.pace.next_at())
        };
        self.schedule_lane(host, at);
        Ok(())
    }

    /// Puts a lane into the schedule, unless it is there for an earlier moment.
    #[inline]
    pub(super) fn schedule_lane(&mut self, host: HostId, at: Moment) {
        let Some(lane) = self.lanes.get_mut(&host) else {
            return;
        };
        if lane.place.scheduled().is_none_or(|known| at < known) {
            lane.place.move_to(LanePlace::Scheduled(at));
            self.schedule.add(at, Wake::Lane(host));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LanePlace::{InGroup, InLine, Nowhere};
    use super::*;

    #[test]
    #[cfg(debug_assertions)]
    fn a_lane_is_in_one_list_at_a_time() {
        let soon = LanePlace::Scheduled(Moment::ZERO);
        let later = LanePlace::Scheduled(Moment::from_secs(1));
        let places = [Nowhere, soon, later, InGroup, InLine];
        for from in places {
            for to in places {
                let moved = std::panic::catch_unwind(|| {
                    let mut place = Whereabouts::NEW;
                    place.move_to(from);
                    place.move_to(to);
                    place.0
                });
                let is_free = from == Nowhere || to == Nowhere;
                let is_scheduled = [soon, later].contains(&from) && [soon, later].contains(&to);
                let expected = (is_free || is_scheduled).then_some(to);
                assert_eq!(moved.ok(), expected, "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn only_the_line_is_left_by_leaving_it() {
        for (from, to) in [(InLine, Nowhere), (InGroup, InGroup), (Nowhere, Nowhere)] {
            let mut place = Whereabouts::NEW;
            place.move_to(from);
            assert_eq!(place.leave_line(), from == InLine);
            assert_eq!(place.0, to);
        }
    }
}
