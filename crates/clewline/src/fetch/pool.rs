//! Connections that wait for their next request.
//!
//! Owns idle connections, their number and their age. Refuses to know HTTP and how connections
//! are made. Invariant: never more than `total` connections, never more than [`PER_ROUTE`] of
//! one route, none handed out that is older than [`IDLE_TIME`] or known to be closed.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clewline_core::url::Scheme;

use super::wire::Wire;
use crate::connections::CountedConnection;
use crate::descriptors::Seats;

/// Idle connections of one route; no speed asks a host with more at once.
const PER_ROUTE: usize = 64;
/// How long a connection may wait. Most servers close theirs after 5 to 75 seconds.
const IDLE_TIME: Duration = Duration::from_secs(15);

/// The way to a server: only equal routes share connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    pub(crate) scheme: Scheme,
    /// The host of the URL, which the certificate was checked for.
    pub(crate) host: Box<str>,
    /// The port that is connected to.
    pub(crate) port: u16,
    /// None through a proxy. The scheme decides which proxy, so it need not be named here.
    pub(crate) address: Option<IpAddr>,
}

/// All idle connections.
pub(crate) struct Pool {
    total: usize,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// By age: numbers only grow.
    connections: BTreeMap<u64, Waiting>,
    /// The numbers of each route, oldest first; no list is empty.
    routes: HashMap<Route, Vec<u64>>,
    next: u64,
}

struct Waiting {
    route: Route,
    wire: Wire,
    since: Instant,
    _counted: CountedConnection,
}

impl Pool {
    /// A pool of at most `total` connections.
    pub(crate) fn new(total: usize) -> Self {
        Self {
            total,
            idle: Mutex::default(),
        }
    }

    /// The youngest living connection of a route.
    pub(crate) fn take(&self, route: &Route) -> Option<Wire> {
        let mut idle = self.lock();
        idle.expire(Instant::now());
        while let Some(mut wire) = idle.pop(route) {
            if wire.is_quiet() {
                return Some(wire);
            }
        }
        None
    }

    /// Keeps a connection; the oldest goes if there are too many.
    pub(crate) fn put(&self, route: Route, wire: Wire) {
        let now = Instant::now();
        let mut idle = self.lock();
        idle.expire(now);
        if idle
            .routes
            .get(&route)
            .is_some_and(|numbers| numbers.len() >= PER_ROUTE)
        {
            let oldest = idle.routes[&route][0];
            idle.remove(oldest);
        }
        idle.push(route, wire, now);
        while idle.connections.len() > self.total {
            idle.remove_oldest();
        }
    }

    /// Seats for what is to be opened; idle connections give up theirs, the oldest first.
    pub(crate) fn seats(&self, count: usize) -> Option<Seats> {
        loop {
            if let Some(seats) = Seats::take(count) {
                return Some(seats);
            }
            if !self.lock().remove_oldest() {
                return None;
            }
        }
    }

    /// Closes everything, because descriptors ran out.
    pub(crate) fn clear(&self) {
        *self.lock() = Idle::default();
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn push(&mut self, route: Route, wire: Wire, since: Instant) {
        let number = self.next;
        self.next += 1;
        self.routes.entry(route.clone()).or_default().push(number);
        let waiting = Waiting {
            route,
            wire,
            since,
            _counted: CountedConnection::idle(),
        };
        self.connections.insert(number, waiting);
    }

    fn pop(&mut self, route: &Route) -> Option<Wire> {
        let number = *self.routes.get(route)?.last()?;
        self.remove(number)
    }

    fn remove(&mut self, number: u64) -> Option<Wire> {
        let waiting = self.connections.remove(&number)?;
        if let Some(numbers) = self.routes.get_mut(&waiting.route) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.routes.remove(&waiting.route);
            }
        }
        Some(waiting.wire)
    }

    /// False if there is none.
    fn remove_oldest(&mut self) -> bool {
        let oldest = self.connections.keys().next().copied();
        oldest.is_some_and(|number| self.remove(number).is_some())
    }

    fn expire(&mut self, now: Instant) {
        while let Some(oldest) = self.connections.values().next()
            && now.duration_since(oldest.since) > IDLE_TIME
        {
            self.remove_oldest();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::super::wire::Stream;
    use super::*;

    fn route(port: u16) -> Route {
        Route {
            scheme: Scheme::Http,
            host: "a.test".into(),
            port,
            address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        }
    }

    /// Our end and the server's.
    async fn pair(listener: &TcpListener) -> (Wire, TcpStream) {
        let address = listener.local_addr().unwrap();
        let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
        let seat = Seats::take(1).unwrap();
        let ours = Stream::Plain(ours.unwrap());
        (Wire::new(ours, seat), theirs.unwrap().0)
    }

    async fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").await.unwrap()
    }

    #[tokio::test]
    async fn bounds_per_route_and_in_all() {
        let listener = listener().await;
        let pool = Pool::new(PER_ROUTE + 3);
        let mut theirs = Vec::new();
        for number in 0..PER_ROUTE + 10 {
            let (ours, other) = pair(&listener).await;
            theirs.push(other);
            pool.put(route(if number < PER_ROUTE + 5 { 1 } else { 2 }), ours);
        }
        let idle = pool.lock();
        assert_eq!(idle.routes[&route(1)].len(), PER_ROUTE - 2);
        assert_eq!(idle.routes[&route(2)].len(), 5);
        assert_eq!(idle.connections.len(), PER_ROUTE + 3);
    }

    #[tokio::test]
    async fn the_old_the_closed_and_the_talkative_are_not_handed_out() {
        let listener = listener().await;
        let pool = Pool::new(10);
        let (ours, _open) = pair(&listener).await;
        pool.put(route(1), ours);
        pool.lock().expire(Instant::now() + IDLE_TIME / 2);
        assert!(pool.take(&route(2)).is_none());
        assert!(pool.take(&route(1)).is_some());
        let (ours, _open) = pair(&listener).await;
        pool.put(route(1), ours);
        pool.lock().expire(Instant::now() + 2 * IDLE_TIME);
        assert!(pool.take(&route(1)).is_none());
        for talk in [&b""[..], b"HTTP/1.1 408 Request Timeout\r\n\r\n"] {
            let (ours, mut other) = pair(&listener).await;
            other.write_all(talk).await.unwrap();
            other.shutdown().await.unwrap();
            ours.readable().await;
            pool.put(route(1), ours);
            assert!(pool.take(&route(1)).is_none(), "{talk:?}");
        }
        assert!(pool.lock().routes.is_empty());
    }
}
