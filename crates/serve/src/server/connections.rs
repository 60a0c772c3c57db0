//! Connections and their bounds.
//!
//! Owns the loop that accepts, a thread for each connection, and how many there may be. Refuses to
//! know what is said on them. Invariant: a place is given back however its connection ends.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::page;

/// Connections that are answered at once; more wait until one ends.
const MOST_CONNECTIONS: usize = 512;
/// How long they wait before they are sent away.
const PATIENCE: Duration = Duration::from_secs(5);
/// Memory for the stack of a connection's thread.
const STACK: usize = 1024 * 1024;
/// How long one write may take.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// How long to wait when the system has no more descriptors.
const BREATH: Duration = Duration::from_millis(50);

/// What is done with a connection.
pub(super) type Converse = dyn Fn(&mut TcpStream) -> io::Result<()> + Send + Sync;

/// Accepts connections and answers each on a thread of its own, until it is over. Whoever ends it
/// connects once more, so that the loop looks.
pub(super) fn accept(listener: &TcpListener, converse: &Arc<Converse>, is_over: &AtomicBool) {
    let seats = Arc::new(Seats::default());
    loop {
        let accepted = listener.accept();
        if is_over.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((stream, _)) => welcome(&seats, converse, stream),
            Err(error) if is_passing(&error) => {}
            // Connections that end free descriptors.
            Err(_) => thread::sleep(BREATH),
        }
    }
}

fn welcome(seats: &Arc<Seats>, converse: &Arc<Converse>, mut stream: TcpStream) {
    if stream.set_write_timeout(Some(WRITE_TIME)).is_err() {
        return;
    }
    if !seats.take() {
        // Whoever is gone already misses nothing.
        let _ = page::refusal(503, "too many connections; try again").write(&mut stream);
        return;
    }
    let seat = Seat(Arc::clone(seats));
    let converse = Arc::clone(converse);
    let started = thread::Builder::new().stack_size(STACK).spawn(move || {
        // A connection that breaks is the other side's business.
        let _ = converse(&mut stream);
        drop(seat);
    });
    // Without a thread the connection is closed, and the browser tries again.
    drop(started);
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
    )
}

/// How many connections are answered.
#[derive(Debug, Default)]
struct Seats {
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Seats {
    /// Waits for a place, for a while.
    fn take(&self) -> bool {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .freed
            .wait_timeout_while(taken, PATIENCE, |taken| *taken >= MOST_CONNECTIONS);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let has_room = *taken < MOST_CONNECTIONS;
        *taken += usize::from(has_room);
        has_room
    }

    fn give_back(&self) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.freed.notify_one();
    }
}

/// A place among the connections, given back when it is dropped, even by a panic.
struct Seat(Arc<Seats>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.give_back();
    }
}
