//! The schedule: what is to be looked at next, and when.
//!
//! Owns the wake-ups, in the order of their moments. A wake-up is only a hint: whoever is woken
//! checks for itself whether it may start, and outdated wake-ups are thrown away.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::group::GroupKey;
use super::pace::Moment;
use crate::key::HostId;

/// Who is to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    Lane(HostId),
    Group(GroupKey),
}

/// A wake-up: its moment, its number and who it is for.
type WakeUp = (Moment, u64, Wake);

/// All wake-ups; equal moments come in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    later: BinaryHeap<Reverse<WakeUp>>,
    /// Wake-ups that were due when they were added come in order by themselves. With very many
    /// hosts and no delay these are nearly all, and a heap would be walked for each.
    due: VecDeque<WakeUp>,
    /// The latest moment that was asked for.
    now: Moment,
    added: u64,
}

impl Schedule {
    pub(super) fn add(&mut self, at: Moment, wake: Wake) {
        self.added += 1;
        let wake_up = (at, self.added, wake);
        let in_order = self.due.back().is_none_or(|(last, ..)| *last <= at);
        if at <= self.now && in_order {
            self.due.push_back(wake_up);
        } else {
            self.later.push(Reverse(wake_up));
        }
    }

    pub(super) fn pop_due(&mut self, now: Moment) -> Option<(Moment, Wake)> {
        self.now = self.now.max(now);
        let first = self.peek().filter(|(at, _)| *at <= now)?;
        self.drop_first();
        Some(first)
    }

    /// The first wake-up, for the caller to look whether it is outdated.
    pub(super) fn peek(&self) -> Option<(Moment, Wake)> {
        let first = if self.is_due_first() {
            self.due.front()
        } else {
            self.later.peek().map(|Reverse(first)| first)
        };
        first.map(|(at, _, wake)| (*at, *wake))
    }

    /// All wake-ups, in no order, outdated ones among them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Moment, Wake)> {
        let later = self.later.iter().map(|Reverse(wake_up)| wake_up);
        let all = later.chain(&self.due);
        all.map(|(at, _, wake)| (*at, *wake))
    }

    pub(super) fn drop_first(&mut self) {
        if self.is_due_first() {
            self.due.pop_front();
        } else {
            self.later.pop();
        }
    }

    /// Whether the first of those that were due comes before all others.
    fn is_due_first(&self) -> bool {
        match (self.due.front(), self.later.peek()) {
            (Some(due), Some(Reverse(later))) => due < later,
            (due, _) => due.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn wake_ups_come_by_moment_and_then_as_they_were_added() {
        let mut schedule = Schedule::default();
        let (mut waiting, mut now, mut random) = (Vec::new(), Moment::ZERO, 7_u64);
        for number in 0..4000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let ahead = Duration::from_millis(random >> 60);
            let at = if number % 3 == 0 { now } else { now + ahead }.saturating_sub(ahead / 2);
            schedule.add(at, Wake::Lane(HostId(number)));
            waiting.push((at, number));
            if number % 5 == 4 {
                now += Duration::from_millis(random >> 62);
                waiting.sort_unstable();
                for (at, number) in waiting.extract_if(.., |(at, _)| *at <= now) {
                    assert_eq!(schedule.peek(), Some((at, Wake::Lane(HostId(number)))));
                    let popped = schedule.pop_due(now);
                    assert_eq!(popped, Some((at, Wake::Lane(HostId(number)))));
                }
                assert_eq!(schedule.pop_due(now), None, "nothing else is due");
            }
        }
        assert!(!schedule.due.is_empty() || !schedule.later.is_empty());
    }
}
