//! Room: whether something new may be handed out.
//!
//! Owns the one predicate: requests in flight, bytes in flight against `--memory`, batches not
//! yet written, pages not yet taken, space on the disk. It also notices what else keeps the
//! crawl from its work: a full disk, or a stop of the whole process.

use clewline_core::frontier::{Moment, Store};
use clewline_platform::process::slept;

use super::batches::{BATCH_SIZE, BATCH_TIME, LINKS_PER_RECORD};
use super::disk::DiskChange;
use super::{Engine, Event};

/// Answers after which one request more is tried again.
const ANSWERS_PER_STEP: u32 = 32;

/// Requests that may be in flight: fewer while this machine is short of something.
#[derive(Debug)]
pub(super) struct Room {
    now: usize,
    most: usize,
    answers: u32,
}

impl Room {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            now: most,
            most,
            answers: 0,
        }
    }

    /// How many requests may be in flight.
    pub(super) const fn slots(&self) -> usize {
        self.now
    }

    /// Whether so many requests in flight are as many as there may be.
    pub(super) const fn is_full(&self, in_flight: u64) -> bool {
        in_flight as usize >= self.now
    }

    /// One of so many requests found a shortage.
    pub(super) fn narrow(&mut self, in_flight: usize) {
        self.now = (in_flight * 3 / 4).clamp(1, self.now);
        self.answers = 0;
    }

    /// A request found everything it needed.
    pub(super) const fn widen(&mut self) {
        self.answers += 1;
        if self.answers >= ANSWERS_PER_STEP {
            self.answers = 0;
            if self.now < self.most {
                self.now += 1;
            }
        }
    }
}

impl<S: Store> Engine<S> {
    /// Whether something new may be handed out.
    pub(super) fn has_room(&self) -> bool {
        self.stop_at.is_none()
            && !self.room.is_full(self.frontier.counts().in_flight)
            && (self.held.has_room() || self.has_renderings())
            && !self.are_logs_behind()
            && self.exchanges.has_room()
            && (!self.delivery.is_behind() || self.has_renderings())
            && !self.no_room
            && !self.disk.is_low()
            && !self.control_state.is_paused()
            && !self.member_says.holds
    }

    /// What waits in the open batch, in records or what weighs as much.
    pub(super) fn open_records(&self) -> usize {
        let links = self.frontier.open_size().max(self.batch_links);
        let records = self.batch.len().max(self.exchanges.count());
        records.max(links / LINKS_PER_RECORD)
    }

    /// Whether the open batch is full, and so is the queue before the logs.
    pub(super) fn are_logs_behind(&self) -> bool {
        !self.log_writer.has_room() && self.open_records() >= BATCH_SIZE
    }

    /// When the open batch is to be handed over. While the log writer has no room for it there is no
    /// such moment: the log writer's word ends the wait, and asking again and again until it comes
    /// would take the processor from those who write.
    pub(super) fn batch_due(&self) -> Option<Moment> {
        // A member of a fleet says when.
        let open = self.batch.len() + self.exchanges.count();
        (open > 0 && self.member.is_none() && self.log_writer.has_room())
            .then(|| self.batch_since + BATCH_TIME)
    }

    /// What was in flight while this process was stopped is nobody's fault if it fails.
    pub(super) fn notice_stop(&mut self) {
        if let Some(stopped) = self.suspend_detector.turn(self.clock.now(), slept()) {
            self.frontier.excuse(stopped);
            self.tell_notes();
        }
    }

    /// Pauses before the disk is full, and goes on when it is not.
    pub(super) fn watch_disk(&mut self, now: Moment) {
        match self.disk.look(now) {
            Some(DiskChange::Low { free }) => {
                let why = format!(
                    "only {} MB are free on the disk, less than --min-free",
                    free / 1_000_000
                );
                (self.observer)(Event::NoRoom(&why));
            }
            Some(DiskChange::Fine) => (self.observer)(Event::RoomAgain),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortage_narrows_and_answers_widen_again() {
        let mut room = Room::new(100);
        room.narrow(80);
        assert_eq!(room.now, 60);
        room.narrow(80);
        assert_eq!(
            room.now, 60,
            "a late word of the same shortage changes nothing"
        );
        room.narrow(1);
        assert_eq!(room.now, 1);
        for _ in 0..ANSWERS_PER_STEP * 200 {
            room.widen();
        }
        assert_eq!(room.now, 100);
    }
}
