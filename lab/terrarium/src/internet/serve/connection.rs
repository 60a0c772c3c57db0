//! One connection: read a request, wait, answer, again.
//!
//! Owns the life of a socket after it was accepted, with TLS or without, direct or through the
//! proxy. Refuses to know what is served. Invariant: a request is told to the referee once when
//! it comes and once when it goes, whatever happens in between.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::net::TcpStream;
use socket2::SockRef;

use super::answer::{DROPS, add_close};
use super::desk::{Desk, Due};
use super::request::{self, Head, Method, Read};
use super::wire::Wire;
use crate::internet::paint::{Order, simple};
use crate::internet::referee::Request;
use crate::internet::world::{Act, Fate as HostFate, Reaction, Spot};

/// Input that waits while an answer is under way, at the most.
const MAX_AHEAD: usize = 64 << 10;

/// Where a connection came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) address: Option<u32>,
    pub(super) secure: bool,
    pub(super) is_proxy: bool,
}

impl Gate {
    pub(super) const PROXY: Self = Self {
        address: None,
        secure: false,
        is_proxy: true,
    };
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Lives,
    /// It has more to write than the system took.
    Writes,
    Ends,
}

/// A request under way.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) order: Order,
    pub(super) request: Request,
    pub(super) closes: bool,
    pub(super) only_head: bool,
}

pub(super) enum State {
    Reading,
    Waiting(Job),
    Writing(Writing),
    Endless(Job),
    /// Nothing will be answered.
    Stalled(Job),
}

/// An answer that is not sent yet.
pub(super) struct Writing {
    pub(super) job: Job,
    pub(super) bytes: Vec<u8>,
    pub(super) sent: usize,
    /// Only this much may be sent now; a drop at a time.
    pub(super) drop: Option<usize>,
    pub(super) closes: bool,
    pub(super) is_whole: bool,
    pub(super) has_left: bool,
}

pub(super) struct Connection {
    pub(super) wire: Wire,
    pub(super) slot: usize,
    pub(super) serial: u64,
    gate: Gate,
    input: Vec<u8>,
    pub(super) state: State,
    /// The first bytes may have come together with the connection: not before this moment.
    fresh_since: Option<Duration>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, gate: Gate, fresh_since: Duration) -> Self {
        Self {
            wire: Wire::new(stream, gate.secure),
            slot: 0,
            serial: 0,
            gate,
            input: Vec::new(),
            state: State::Reading,
            fresh_since: Some(fresh_since),
        }
    }

    /// The socket is ready for something.
    pub(super) fn ready(&mut self, desk: &mut Desk, can_read: bool, is_ending: bool) -> Fate {
        let mut buffer = std::mem::take(&mut desk.buffer);
        let mut fate = Fate::Lives;
        if can_read || is_ending {
            fate = self.read(desk, &mut buffer, is_ending);
            self.fresh_since = None;
        }
        desk.buffer = buffer;
        if fate == Fate::Lives {
            fate = self.proceed(desk);
        }
        fate
    }

    /// Reads what there is and takes requests from it.
    fn read(&mut self, desk: &mut Desk, buffer: &mut [u8], is_ending: bool) -> Fate {
        loop {
            let length = match self.wire.receive(&desk.vault, buffer) {
                Ok(0) => return Fate::Ends,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Fate::Lives,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Fate::Ends,
            };
            let fate = self.take_in(desk, &buffer[..length]);
            if fate != Fate::Lives {
                return fate;
            }
            // A short read has emptied the socket, unless its end is already there too.
            let is_plain = self.wire.is_plain();
            if is_plain && length < buffer.len() && !is_ending {
                return Fate::Lives;
            }
        }
    }

    fn take_in(&mut self, desk: &mut Desk, bytes: &[u8]) -> Fate {
        let is_idle = matches!(self.state, State::Reading);
        if !self.input.is_empty() || !is_idle {
            if self.input.len() + bytes.len() > MAX_AHEAD + request::MAX_HEAD {
                return Fate::Ends;
            }
            self.input.extend_from_slice(bytes);
            return if is_idle {
                self.take_waiting(desk)
            } else {
                Fate::Lives
            };
        }
        match self.take_request(desk, bytes) {
            Ok((used, fate)) => {
                self.input.extend_from_slice(&bytes[used..]);
                fate
            }
            Err(fate) => fate,
        }
    }

    /// Takes the next request from the input that waits.
    fn take_waiting(&mut self, desk: &mut Desk) -> Fate {
        let input = std::mem::take(&mut self.input);
        match self.take_request(desk, &input) {
            Ok((used, fate)) => {
                self.input = input;
                self.input.drain(..used);
                fate
            }
            Err(fate) => fate,
        }
    }

    fn take_request(&mut self, desk: &mut Desk, bytes: &[u8]) -> Result<(usize, Fate), Fate> {
        match request::read(bytes) {
            Read::Part => Ok((0, Fate::Lives)),
            Read::Bad => Err(Fate::Ends),
            Read::Whole(head) => Ok((head.length, self.begin(desk, &head))),
        }
    }

    fn begin(&mut self, desk: &mut Desk, head: &Head<'_>) -> Fate {
        if head.method == Method::Connect {
            return self.tunnel(desk, head);
        }
        let host = desk.world.host_named(head.host);
        let Some(id) = host.filter(|_| matches!(head.method, Method::Get | Method::Head)) else {
            return self.refuse(desk, if self.gate.is_proxy { 502 } else { 404 });
        };
        let world = Arc::clone(&desk.world);
        let host = world.host(id);
        if self.gate.is_proxy && is_lost(host.fate) {
            return self.refuse(desk, 502);
        }
        let spot = Spot {
            host: id,
            secure: self.gate.secure,
            resource: world.locate(&host, head.target),
        };
        let act = match world.reaction(&host, spot, head.has_cookie) {
            Reaction::Ailing(ailment) => Some(desk.attempt(spot, ailment)),
            _ => None,
        };
        let mut at = desk.arrival();
        if let Some(since) = self.fresh_since {
            at.earliest = at.earliest.min(since);
        }
        let job = Job {
            order: Order {
                spot,
                accepts_gzip: head.accepts_gzip,
                accepts_brotli: head.accepts_brotli,
                has_cookie: head.has_cookie,
                act,
            },
            request: Request {
                spot,
                address: self.gate.address,
                at,
            },
            closes: head.closes || !world.shape.keeps_alive,
            only_head: head.method == Method::Head,
        };
        desk.count_in();
        desk.referee().arrived(&job.request, head.target);
        self.schedule(desk, job)
    }

    fn schedule(&mut self, desk: &mut Desk, job: Job) -> Fate {
        match job.order.act {
            Some(Act::Stall) => {
                self.state = State::Stalled(job);
                return Fate::Lives;
            }
            Some(Act::Reset) => {
                self.state = State::Stalled(job);
                let _ = SockRef::from(&self.wire.stream).set_linger(Some(Duration::ZERO));
                return Fate::Ends;
            }
            _ => {}
        }
        let wait = desk.world.latency(job.order.spot);
        if wait == 0 {
            return self.answer(desk, job);
        }
        self.state = State::Waiting(job);
        desk.later(wait, Due::Connection(self.slot, self.serial));
        Fate::Lives
    }

    /// What it waited for has come.
    pub(super) fn due(&mut self, desk: &mut Desk) -> Fate {
        let fate = match &mut self.state {
            State::Waiting(job) => {
                let job = *job;
                self.answer(desk, job)
            }
            State::Writing(writing) => {
                if let Some(allowed) = &mut writing.drop {
                    *allowed += writing.bytes.len().div_ceil(DROPS);
                }
                Fate::Lives
            }
            _ => return Fate::Lives,
        };
        if fate == Fate::Lives {
            self.proceed(desk)
        } else {
            fate
        }
    }

    /// Goes on with what is under way, and with requests that wait behind it.
    fn proceed(&mut self, desk: &mut Desk) -> Fate {
        loop {
            let fate = match &self.state {
                State::Writing(_) => self.write(desk),
                State::Endless(_) => return self.write_on(),
                State::Reading if !self.input.is_empty() => {
                    let before = self.input.len();
                    let fate = self.take_waiting(desk);
                    if fate == Fate::Lives && self.input.len() == before {
                        return Fate::Lives;
                    }
                    fate
                }
                _ => return Fate::Lives,
            };
            let is_under_way = matches!(self.state, State::Writing(_));
            if fate != Fate::Lives || is_under_way {
                return fate;
            }
        }
    }

    /// The way through the proxy to a host.
    fn tunnel(&mut self, desk: &mut Desk, head: &Head<'_>) -> Fate {
        let host = desk.world.host_named(head.host);
        let is_known = host.is_some_and(|host| !is_lost(desk.world.fate(host)));
        let port = request::port(head.target);
        if !self.gate.is_proxy || !is_known {
            return self.refuse(desk, 502);
        }
        self.gate.secure = port == Some(desk.world.ports.secure);
        self.gate.is_proxy = false;
        let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
        match self.wire.send(&[established, &[], &[]]) {
            Ok(sent) if sent == established.len() => {
                self.wire.restart(self.gate.secure);
                Fate::Lives
            }
            _ => Fate::Ends,
        }
    }

    /// An answer that concerns no host, and the last one.
    fn refuse(&mut self, desk: &mut Desk, status: u16) -> Fate {
        let mut sheet = std::mem::take(&mut desk.sheet);
        sheet.clear();
        let text = b"There is no such host here.\n";
        simple(&mut sheet, status, "text/plain", text);
        add_close(&mut sheet.head);
        // Nobody waits for it if it cannot be sent.
        let _ = self.wire.send(&[&sheet.head, &[], &sheet.body]);
        desk.sheet = sheet;
        self.end_answer(true)
    }

    /// The connection is over; what was under way is told.
    pub(super) fn leave(&mut self, desk: &mut Desk) {
        let job = match std::mem::replace(&mut self.state, State::Reading) {
            State::Waiting(job) | State::Endless(job) | State::Stalled(job) => job,
            State::Writing(writing) if !writing.has_left => writing.job,
            State::Writing(_) | State::Reading => return,
        };
        desk.referee().left(&job.request);
        desk.count_out();
    }
}

/// Whether no connection to the host could be made.
fn is_lost(fate: HostFate) -> bool {
    matches!(
        fate,
        HostFate::NoSuchName
            | HostFate::NameServerFails
            | HostFate::NameServerSilent
            | HostFate::Refused
    )
}
