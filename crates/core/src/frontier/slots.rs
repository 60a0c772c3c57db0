//! Who may have a slot: one of the requests in flight that all hosts share.
//!
//! Owns how far each host is trusted with slots, and the line of hosts that wait for one. Most
//! hosts answer within a second. One that stays silent holds its slot until a time-out, and
//! hundreds of them would hold all slots. So a quarter of the slots is kept for hosts that have
//! answered, hosts that were silent before have at most half of all slots and come last for most
//! of these, and a host that has not given a page yet gives its slot back after a second of
//! silence if somebody waits for one.
//! Refuses to know how silence is noticed: whoever makes the request does that. Invariants:
//! shares are never exceeded by a request that could have been held back; the line is served in
//! order, except that a host which may not have a slot yet is passed over; a URL loses at most
//! one request by giving way.

use std::collections::VecDeque;

use super::flights::{Flight, JobKind};
use super::job::{Ending, Patience};
use super::lane::Lane;
use super::pace::Moment;
use super::place::LanePlace;
use super::store::Store;
use super::{Frontier, Next};
use crate::key::HostId;
use crate::outcome::{FailureClass, Retry};

/// What is known of a host's manners.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum HostStanding {
    /// It never answered, and nothing is known against it.
    #[default]
    New,
    /// It answered, but gave no whole page: its robots.txt may be all that it ever gives.
    Answered,
    /// It gave a whole page, in this run or an earlier one.
    Proven,
    /// It was silent or could not be reached, and has not answered since.
    Silent,
}

impl HostStanding {
    /// Whether the host may have any slot that is free.
    const fn is_trusted(self) -> bool {
        matches!(self, Self::Answered | Self::Proven)
    }
}

/// When the line is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Before the hosts that are due, which come after those in the line by their own moments.
    First,
    /// When no other host is due.
    Last,
}

/// What is charged and remembered for a request in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    standing: HostStanding,
    gives_way: bool,
    /// How many whole answers the host had given when the request started.
    answers: u32,
}

/// All slots, and who waits for one.
#[derive(Debug)]
pub(super) struct Slots {
    total: usize,
    /// Requests in flight of hosts that are new.
    new: usize,
    /// Requests in flight of hosts that are silent.
    silent: usize,
    /// Requests in flight that would give way.
    yielding: usize,
    /// Requests that gave way so far.
    given: u64,
    /// Hosts that wait, each with its number in the line.
    new_line: VecDeque<(u64, HostId)>,
    silent_line: VecDeque<(u64, HostId)>,
    joined: u64,
    /// Whose turn it is among those that ask for a slot.
    turn: Turn,
}

impl Slots {
    pub(super) fn new(total: u32) -> Self {
        Self {
            total: total as usize,
            new: 0,
            silent: 0,
            yielding: 0,
            given: 0,
            new_line: VecDeque::new(),
            silent_line: VecDeque::new(),
            joined: 0,
            turn: Turn::First,
        }
    }

    /// Whether a host may have a slot, if one is free.
    pub(super) fn has_room(&self, standing: HostStanding) -> bool {
        match standing {
            HostStanding::Answered | HostStanding::Proven => true,
            HostStanding::New => self.free_share() > 0,
            HostStanding::Silent => self.free_share() > 0 && self.room_for_silent(self.turn) > 0,
        }
    }

    /// How many slots hosts that did not answer may have besides those that they have.
    fn free_share(&self) -> usize {
        let share = (self.total - self.total / 4).max(1);
        share.saturating_sub(self.new + self.silent)
    }

    /// How many slots silent hosts may have besides those that they have. A few are theirs even
    /// if others are always due.
    fn room_for_silent(&self, turn: Turn) -> usize {
        let share = match turn {
            Turn::First => self.total / 8,
            Turn::Last => self.total / 2,
        };
        share.max(1).saturating_sub(self.silent)
    }

    fn join(&mut self, host: HostId, standing: HostStanding) {
        self.joined += 1;
        let line = match standing {
            HostStanding::Silent => &mut self.silent_line,
            _ => &mut self.new_line,
        };
        line.push_back((self.joined, host));
    }

    /// The next host in the line that may have a slot now.
    fn call(&mut self) -> Option<HostId> {
        let first = |line: &VecDeque<(u64, HostId)>, standing| {
            let front = line.front().filter(|_| self.has_room(standing));
            front.map_or(u64::MAX, |(number, _)| *number)
        };
        let new = first(&self.new_line, HostStanding::New);
        let silent = first(&self.silent_line, HostStanding::Silent);
        let line = match new.cmp(&silent) {
            std::cmp::Ordering::Less => &mut self.new_line,
            std::cmp::Ordering::Greater => &mut self.silent_line,
            std::cmp::Ordering::Equal => return None,
        };
        line.pop_front().map(|(_, host)| host)
    }

    /// How many requests should give way to new hosts in the line. Nobody gives way to a host
    /// that is known to be silent.
    fn wanted(&self) -> usize {
        self.new_line.len().saturating_sub(self.free_share())
    }

    /// Whether a host waits that was never asked.
    pub(super) fn are_wanted_by_new(&self) -> bool {
        !self.new_line.is_empty()
    }

    /// A request starts.
    pub(super) fn start(&mut self, taken: Taken) {
        match taken.standing {
            HostStanding::New => self.new += 1,
            HostStanding::Silent => self.silent += 1,
            HostStanding::Answered | HostStanding::Proven => {}
        }
        self.yielding += usize::from(taken.gives_way);
    }

    fn end(&mut self, taken: Taken) {
        match taken.standing {
            HostStanding::New => self.new -= 1,
            HostStanding::Silent => self.silent -= 1,
            HostStanding::Answered | HostStanding::Proven => {}
        }
        self.yielding -= usize::from(taken.gives_way);
    }
}

impl Lane {
    /// How long the next request of this host may be silent.
    fn patience(&self, kind: &JobKind) -> Patience {
        let was_cut = match kind {
            JobKind::Page(entry) => entry.was_cut,
            JobKind::Errand(errand) => errand.was_cut,
            JobKind::Resolve(_) | JobKind::Robots(_) | JobKind::Postponed(_) => false,
        };
        match (self.standing, kind) {
            _ if was_cut => Patience::Full,
            (HostStanding::New | HostStanding::Answered, _) => Patience::GivesWay,
            // A host that slows down must not be asked for everything twice: so after one
            // request that was cut short, the others have their full time.
            (HostStanding::Proven, JobKind::Page(_)) if self.keeps_time => {
                let limit = self.pace.first_byte_limit();
                limit.map_or(Patience::Full, Patience::FirstByte)
            }
            _ => Patience::Full,
        }
    }

    /// What is charged for a request, and how long it may be silent.
    pub(super) fn slot_for(&self, kind: &JobKind) -> (Taken, Patience) {
        let patience = self.patience(kind);
        let taken = Taken {
            standing: self.standing,
            gives_way: patience == Patience::GivesWay,
            answers: self.whole_answers,
        };
        (taken, patience)
    }

    /// What a job's end says about the host's manners.
    fn judge(&mut self, flight: &Flight, ending: &Ending) {
        let proven = self.standing == HostStanding::Proven;
        match ending {
            Ending::Answered(answer) => {
                let whole = matches!(flight.kind, JobKind::Page(_)) && answer.unread.is_none();
                self.whole_answers = self.whole_answers.wrapping_add(whole.into());
                if whole {
                    let limit = self.pace.first_byte_limit();
                    self.keeps_time = limit.is_some_and(|limit| answer.first_byte < limit);
                    self.standing = HostStanding::Proven;
                } else if !proven {
                    self.standing = HostStanding::Answered;
                }
            }
            Ending::Failed(failure) if failure.excuse.is_none() => {
                let slow = matches!(failure.class, FailureClass::Timeout | FailureClass::TooSlow);
                // A page that is slow while others come is the page's own matter.
                let alone = self.whole_answers == flight.taken.answers;
                let away = failure.class.retry() == Retry::Host;
                if (slow && alone) || (away && !proven) {
                    self.standing = HostStanding::Silent;
                }
            }
            Ending::CutShort { .. } => {
                self.keeps_time = false;
                if !proven {
                    self.standing = HostStanding::Silent;
                }
            }
            _ => {}
        }
    }
}

impl<S: Store> Frontier<S> {
    /// How many requests may be in flight in all, where that is not what the limits say.
    pub const fn set_slots(&mut self, total: usize) {
        self.slots.total = total;
    }

    /// How many requests gave way so far, and how many more should, in one number: whoever gives
    /// way counts itself, and nobody does who would be beyond it.
    pub fn slots_wanted(&mut self, now: Moment) -> u64 {
        if self.slots.yielding == 0 {
            return self.slots.given;
        }
        let is_full = self.counts.in_flight >= self.slots.total as u64;
        let is_due = is_full && self.first_wake().is_some_and(|(at, _)| at <= now);
        // How many are due is not counted, and as many may start as there are slots.
        let due = if is_due { self.slots.total } else { 0 };
        self.slots.given + (self.slots.wanted() + due) as u64
    }

    /// A lane for which there is no room joins the line.
    pub(super) fn wait_for_slot(&mut self, host: HostId) {
        let lane = self.lane(host);
        let standing = lane.standing;
        lane.place.move_to(LanePlace::InLine);
        self.slots.join(host, standing);
    }

    /// Asks the lanes at the head of the line, as far as there is room for them.
    pub(super) fn serve_line(&mut self, turn: Turn, now: Moment) -> Result<Option<Next>, S::Error> {
        if self.slots.new_line.is_empty() && self.slots.silent_line.is_empty() {
            return Ok(None);
        }
        self.slots.turn = turn;
        let mut next = None;
        while next.is_none()
            && let Some(host) = self.slots.call()
        {
            // One that answered meanwhile left the line, and only its number is still there.
            if let Some(lane) = self.lanes.get_mut(&host)
                && lane.place.leave_line()
            {
                next = self.ask_lane(host, now)?;
            }
        }
        self.slots.turn = Turn::First;
        Ok(next)
    }

    /// Takes back the slot of a request that ended, and learns from how it ended.
    pub(super) fn give_slot_back(&mut self, flight: &Flight, ending: &Ending) {
        self.slots.end(flight.taken);
        if matches!(ending, Ending::CutShort { .. }) {
            self.slots.given += u64::from(flight.taken.gives_way);
        }
        let Some(lane) = self.lanes.get_mut(&flight.lane) else {
            return;
        };
        lane.judge(flight, ending);
        if lane.standing.is_trusted() {
            lane.place.leave_line();
        }
    }
}

impl Taken {
    pub(super) const fn standing(self) -> HostStanding {
        self.standing
    }
}
