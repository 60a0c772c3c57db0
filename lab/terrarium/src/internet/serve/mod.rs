//! The server: one thread, one loop, many sockets.
//!
//! Owns listeners, connections, the name server's socket and the timer wheel. It is written for
//! little CPU per request, because it shares the machine with the crawler it measures: requests
//! are read in place, waiting answers are a few bytes, bodies are joined from parts in one call.
//! Invariant: everything is bound to loopback; no client, however odd, ends the loop.

mod answer;
mod connection;
mod desk;
mod lag;
mod names;
mod request;
mod sockets;
mod tls;
mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, UdpSocket};
use mio::{Events, Interest, Poll, Token, Waker};

pub(crate) use desk::Counters;
pub(crate) use sockets::{Sockets, raise_limit};

use crate::internet::referee::Referee;
use crate::internet::world::World;
use connection::{Connection, Fate, Gate};
use desk::{Desk, Due};
use lag::Lag;
use tls::Vault;

/// Connections at once; beyond that they are closed, as a full server would.
const MAX_CONNECTIONS: usize = 60_000;
/// Events taken from the system at a time.
const EVENTS: usize = 1024;
/// Datagrams are cut at this size when they are read.
const MAX_DATAGRAM: usize = 1500;
/// Pause after a failed accept, which is nearly always a lack of file descriptors.
const ACCEPT_RETRY: u64 = 10;

const WAKER: Token = Token(0);
const NAMES: Token = Token(1);
const FIRST_GATE: usize = 2;

/// The state of the loop.
pub(crate) struct Server {
    poll: Poll,
    gates: Vec<(TcpListener, Gate)>,
    names: UdpSocket,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    desk: Desk,
    stop: Arc<AtomicBool>,
}

/// What a server leaves with those who started it.
pub(crate) struct Handles {
    pub(crate) waker: Waker,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) ca_pem: String,
    pub(crate) counters: Arc<Counters>,
}

impl Server {
    pub(crate) fn new(
        world: &Arc<World>,
        referee: Arc<std::sync::Mutex<Referee>>,
        sockets: Sockets,
    ) -> io::Result<(Self, Handles)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let (vault, ca_pem) = Vault::new(world)?;
        let desk = Desk::new(Arc::clone(world), referee, vault);
        let (counters, stop) = (Arc::clone(&desk.counters), Arc::new(AtomicBool::new(false)));
        let mut server = Self {
            poll,
            gates: sockets.gates,
            names: sockets.names,
            connections: Vec::new(),
            free: Vec::new(),
            desk,
            stop: Arc::clone(&stop),
        };
        let registry = server.poll.registry();
        registry.register(&mut server.names, NAMES, Interest::READABLE)?;
        for (number, (listener, _)) in server.gates.iter_mut().enumerate() {
            registry.register(listener, Token(FIRST_GATE + number), Interest::READABLE)?;
        }
        let handles = Handles {
            waker,
            stop,
            ca_pem,
            counters,
        };
        Ok((server, handles))
    }

    /// Serves until it is stopped.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut due = Vec::new();
        let mut lag = Lag::for_this_thread();
        loop {
            // What is there at once may have come at any time since the last look; what has to be
            // waited for came since then, and as late as this thread was let run again.
            let _ = self.poll.poll(&mut events, Some(Duration::ZERO));
            let waits = events.is_empty().then(Instant::now);
            if let Some(entered) = waits {
                let timeout = self.desk.until_next(entered);
                match self.poll.poll(&mut events, Some(timeout)) {
                    Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                    _ => {}
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let lag = lag.since_last();
            self.desk.polled(waits, lag);
            for event in &events {
                match event.token() {
                    WAKER => {}
                    NAMES => self.answer_names(),
                    Token(number) if number < FIRST_GATE + self.gates.len() => {
                        self.accept(number - FIRST_GATE);
                    }
                    Token(number) => {
                        let slot = number - FIRST_GATE - self.gates.len();
                        let is_ending = event.is_read_closed() || event.is_error();
                        self.attend(slot, |connection, desk| {
                            connection.ready(desk, event.is_readable(), is_ending)
                        });
                    }
                }
            }
            self.desk.expire(&mut due);
            for thing in due.drain(..) {
                self.fall_due(thing);
            }
        }
    }

    fn fall_due(&mut self, thing: Due) {
        match thing {
            Due::Connection(slot, serial) => self.attend(slot, |connection, desk| {
                if connection.serial == serial {
                    connection.due(desk)
                } else {
                    Fate::Lives
                }
            }),
            Due::Gate(number) => self.accept(number),
            Due::Datagram(peer, bytes) => {
                let _ = self.names.send_to(&bytes, peer);
            }
        }
    }

    /// Lets a connection act, and sees to what becomes of it.
    fn attend(&mut self, slot: usize, act: impl FnOnce(&mut Connection, &mut Desk) -> Fate) {
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else {
            return;
        };
        let fate = act(connection, &mut self.desk);
        match fate {
            Fate::Lives => {}
            Fate::Writes => {
                let token = Token(FIRST_GATE + self.gates.len() + slot);
                let interest = Interest::READABLE | Interest::WRITABLE;
                let registry = self.poll.registry();
                let _ = registry.reregister(&mut connection.wire.stream, token, interest);
            }
            Fate::Ends => {
                let mut connection = self.connections[slot].take();
                if let Some(connection) = &mut connection {
                    connection.leave(&mut self.desk);
                }
                self.free.push(slot);
                self.desk
                    .counters
                    .connections
                    .fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn accept(&mut self, number: usize) {
        loop {
            let (listener, gate) = &self.gates[number];
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    self.desk.later(ACCEPT_RETRY, Due::Gate(number));
                    return;
                }
            };
            if self.connections.len() - self.free.len() >= MAX_CONNECTIONS {
                continue;
            }
            let connection = Connection::new(stream, *gate, self.desk.arrival().earliest);
            self.settle(connection);
        }
    }

    fn settle(&mut self, mut connection: Connection) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let token = Token(FIRST_GATE + self.gates.len() + slot);
        connection.slot = slot;
        connection.serial = self.desk.next_serial();
        // Each answer is one write, and its last segment should not wait for anything.
        let _ = connection.wire.stream.set_nodelay(true);
        let registry = self.poll.registry();
        if registry
            .register(&mut connection.wire.stream, token, Interest::READABLE)
            .is_ok()
        {
            self.connections[slot] = Some(Box::new(connection));
            self.desk
                .counters
                .connections
                .fetch_add(1, Ordering::Relaxed);
        } else {
            self.free.push(slot);
        }
    }

    fn answer_names(&mut self) {
        let mut datagram = [0; MAX_DATAGRAM];
        loop {
            match self.names.recv_from(&mut datagram) {
                Ok((length, peer)) => self.answer_name(&datagram[..length], peer),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // An error belongs to an earlier answer (its port was closed).
                Err(_) => {}
            }
        }
    }

    fn answer_name(&mut self, datagram: &[u8], peer: SocketAddr) {
        match self.desk.answer_name(datagram) {
            Some((bytes, 0)) => {
                let _ = self.names.send_to(&bytes, peer);
            }
            Some((bytes, wait)) => self.desk.later(wait, Due::Datagram(peer, bytes)),
            None => {}
        }
    }
}
