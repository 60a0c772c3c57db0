//! The sending of answers: at once, in drops, cut short, without end.
//!
//! Owns what happens between a painted answer and the end of its last byte. Invariant: a request
//! counts as done before its last bytes are sent, so that nobody is seen with two requests who
//! waits for the end of one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::connection::{Connection, Fate, Job, State, Writing};
use super::desk::{Desk, Due};
use crate::internet::paint::Sheet;
use crate::internet::world::{Act, Resource, Spot};

/// A dripping answer comes in so many drops, so many milliseconds apart.
pub(super) const DROPS: usize = 10;
const DROP_TIME: u64 = 20;
/// A piece of an answer without end.
const ENDLESS: [u8; 16 << 10] = [b'.'; 16 << 10];
/// What Retry-After asks for.
const PAUSE: Duration = Duration::from_secs(1);

impl Connection {
    pub(super) fn answer(&mut self, desk: &mut Desk, job: Job) -> Fate {
        let world = Arc::clone(&desk.world);
        let mut sheet = std::mem::take(&mut desk.sheet);
        desk.painter.paint(&world, &job.order, &mut sheet);
        tell_of(desk, &job);
        if job.closes && !sheet.closes {
            add_close(&mut sheet.head);
            sheet.closes = true;
        }
        if job.only_head {
            sheet.opening = None;
            sheet.body.clear();
        }
        let fate = match job.order.act {
            Some(Act::Endless) => {
                let sent = self.wire.send(&[&sheet.head, &[], &[]]);
                self.state = State::Endless(job);
                sent.map_or(Fate::Ends, |_| self.write_on())
            }
            Some(act @ (Act::Cut | Act::Drip)) => self.answer_slowly(desk, job, act, &sheet),
            _ => self.answer_at_once(desk, job, &sheet),
        };
        desk.sheet = sheet;
        fate
    }

    fn answer_at_once(&mut self, desk: &mut Desk, job: Job, sheet: &Sheet) -> Fate {
        let is_sound = job.order.act.is_none_or(Act::is_sound);
        let is_whole = sheet.status == 200 && !job.only_head && is_sound;
        let opening = sheet.opening.as_deref().unwrap_or_default();
        let parts = [&sheet.head[..], opening, &sheet.body];
        self.state = State::Reading;
        // It counts as done before its last bytes are sent.
        desk.referee().left(&job.request);
        desk.count_out();
        match self.wire.send(&parts) {
            Ok(sent) if sent == sheet.len() && self.wire.is_drained() => {
                sent_whole(desk, job.order.spot, is_whole, sent);
                self.end_answer(sheet.closes)
            }
            Ok(sent) => {
                self.state = State::Writing(Writing {
                    job,
                    bytes: parts.concat(),
                    sent,
                    drop: None,
                    closes: sheet.closes,
                    is_whole,
                    has_left: true,
                });
                Fate::Writes
            }
            Err(_) => Fate::Ends,
        }
    }

    /// Answers that come in drops or end too soon.
    fn answer_slowly(&mut self, desk: &mut Desk, job: Job, act: Act, sheet: &Sheet) -> Fate {
        let mut bytes = [&sheet.head[..], &sheet.body].concat();
        if act == Act::Cut {
            bytes.truncate(sheet.head.len() + sheet.body.len() / 2);
        }
        self.state = State::Writing(Writing {
            job,
            drop: (act == Act::Drip).then(|| bytes.len().div_ceil(DROPS)),
            bytes,
            sent: 0,
            closes: sheet.closes || act == Act::Cut,
            is_whole: act == Act::Drip && !job.only_head,
            has_left: false,
        });
        self.write(desk)
    }

    pub(super) fn end_answer(&mut self, closes: bool) -> Fate {
        if !closes {
            return Fate::Lives;
        }
        self.wire.say_goodbye();
        Fate::Ends
    }

    /// Goes on writing an answer.
    pub(super) fn write(&mut self, desk: &mut Desk) -> Fate {
        let State::Writing(mut writing) = std::mem::replace(&mut self.state, State::Reading) else {
            return Fate::Lives;
        };
        let end = writing.drop.unwrap_or(usize::MAX).min(writing.bytes.len());
        if end == writing.bytes.len() && !writing.has_left {
            writing.has_left = true;
            desk.referee().left(&writing.job.request);
            desk.count_out();
        }
        let sent = self.wire.flush().and_then(|()| {
            let rest = &writing.bytes[writing.sent.min(end)..end];
            self.wire.send(&[rest, &[], &[]])
        });
        let Ok(sent) = sent else {
            self.state = State::Writing(writing);
            return Fate::Ends;
        };
        writing.sent += sent;
        if writing.sent < end || !self.wire.is_drained() {
            self.state = State::Writing(writing);
            return Fate::Writes;
        }
        if end < writing.bytes.len() {
            self.state = State::Writing(writing);
            desk.later(DROP_TIME, Due::Connection(self.slot, self.serial));
            return Fate::Lives;
        }
        let spot = writing.job.order.spot;
        sent_whole(desk, spot, writing.is_whole, writing.sent);
        self.end_answer(writing.closes)
    }

    /// An answer without end goes on for as long as somebody reads it.
    pub(super) fn write_on(&mut self) -> Fate {
        loop {
            match self.wire.send(&[&ENDLESS, &[], &[]]) {
                Ok(0) => return Fate::Writes,
                Ok(_) => {}
                Err(_) => return Fate::Ends,
            }
        }
    }
}

/// What the referee has to know of an answer that is about to be sent.
fn tell_of(desk: &Desk, job: &Job) {
    let spot = job.order.spot;
    if matches!(spot.resource, Resource::Robots | Resource::RobotsElsewhere) {
        desk.referee().robots_answered(spot.host, spot.secure);
    }
    if let Some(Act::Later(_)) = job.order.act {
        desk.referee().pause_asked(spot.host, desk.now(), PAUSE);
    }
}

fn sent_whole(desk: &Desk, spot: Spot, is_page: bool, bytes: usize) {
    desk.counters
        .bytes
        .fetch_add(bytes as u64, Ordering::Relaxed);
    if is_page {
        desk.referee().answered_whole(spot);
    }
}

/// Says in a head that the connection will be closed.
pub(super) fn add_close(head: &mut Vec<u8>) {
    let line = b"HTTP/1.1 ";
    if head.starts_with(line)
        && let Some(end) = memchr::memchr(b'\n', head)
    {
        let after = end + 1;
        head.splice(after..after, *b"Connection: close\r\n");
    }
}
