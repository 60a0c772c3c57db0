//! Connections that many requests share.
//!
//! Owns which connection a route has, how many streams are open on it, and which hosts speak which
//! protocol. Refuses to know requests. Invariants: a route has one connection that new streams begin
//! on; one without streams is closed after [`IDLE_TIME`]; hosts that are remembered are bounded.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use tokio::io::{AsyncRead, AsyncWrite};

use super::guard::IdleBytes;
use super::{CONNECTION_WINDOW, GuardedStream, Http2Stream, MOST_RESET, STREAM_WINDOW};
use crate::connections::CountedConnection;
use crate::descriptors::Seats;
use crate::fetch::pool::Route;

/// How long a connection without streams is kept, as with those of HTTP/1.1.
const IDLE_TIME: Duration = Duration::from_secs(15);

/// How often connections without streams are looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// Hosts whose protocol is remembered. Where there are more, some are asked once more than needed.
const MOST_HOSTS: usize = 100_000;

/// Room for names that header fields of an answer are told by.
const HEADER_TABLE: u32 = 4096;

/// The protocols of a connection, by the version of TLS.
const OVER_TLS_13: [&str; 2] = ["h2", "tls/1.3"];
const OVER_TLS_12: [&str; 2] = ["h2", "tls/1.2"];

/// What a host speaks, as far as it showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostProtocol {
    /// HTTP/1.1 only, whatever it is offered.
    Http1,
    /// HTTP/2 only: it refuses TLS for whoever does not offer it.
    Http2,
}

/// Ports of a host with what each speaks; few hosts have more than one.
type ProtocolsByHost = HashMap<Box<str>, Vec<(u16, HostProtocol)>>;

/// All shared connections.
#[derive(Default)]
pub(crate) struct SharedConnections {
    routes: Mutex<RouteTable>,
    protocols: Mutex<ProtocolsByHost>,
}

/// The routes that somebody wants a stream of.
#[derive(Default)]
struct RouteTable {
    turns: HashMap<Route, Arc<RouteTurn>>,
    /// When connections were last looked through for those that nobody uses.
    swept: Option<Instant>,
}

/// A route and whoever opens its connection: the others wait for it.
#[derive(Default)]
pub(crate) struct RouteTurn {
    pub(crate) opening: tokio::sync::Mutex<()>,
    connection: Mutex<Option<Http2Connection>>,
}

/// A connection that streams can begin on.
#[derive(Clone)]
pub(crate) struct Http2Connection {
    sender: SendRequest<Bytes>,
    facts: Arc<ConnectionFacts>,
}

struct ConnectionFacts {
    streams: AtomicUsize,
    /// New streams begin elsewhere.
    is_closed: AtomicBool,
    idle: Arc<IdleBytes>,
    idle_since: Mutex<Instant>,
    protocols: &'static [&'static str],
}

/// The place of one stream on its connection.
pub(super) struct ConnectionUse(Arc<ConnectionFacts>);

impl SharedConnections {
    /// A new stream of a route, if there is a connection for it.
    pub(crate) fn stream(&self, route: &Route) -> Option<Http2Stream> {
        let mut routes = lock(&self.routes);
        routes.sweep(Instant::now());
        routes.turns.get(route)?.stream()
    }

    /// Whoever opens a connection of a route takes its turn here.
    pub(crate) fn route(&self, route: &Route) -> Arc<RouteTurn> {
        let mut routes = lock(&self.routes);
        routes.sweep(Instant::now());
        Arc::clone(routes.turns.entry(route.clone()).or_default())
    }

    /// What a host speaks, if that is known.
    pub(crate) fn protocol(&self, route: &Route) -> Option<HostProtocol> {
        let protocols = lock(&self.protocols);
        let ports = protocols.get(&*route.host)?;
        let known = ports.iter().find(|(port, _)| *port == route.port)?;
        Some(known.1)
    }

    /// Remembers what a host speaks.
    pub(crate) fn learn(&self, route: &Route, protocol: HostProtocol) {
        let mut protocols = lock(&self.protocols);
        if protocols.len() >= MOST_HOSTS {
            protocols.clear();
        }
        let ports = protocols.entry(route.host.clone()).or_default();
        ports.retain(|(port, _)| *port != route.port);
        ports.push((route.port, protocol));
    }
}

impl RouteTable {
    /// Closes connections that nobody used for a while, and forgets routes that have none and that
    /// nobody opens one for. To look through all of them is too dear for each request.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_some_and(|last| now - last < SWEEP) {
            return;
        }
        self.swept = Some(now);
        self.turns.retain(|_, turn| {
            let mut connection = lock(&turn.connection);
            if connection.as_ref().is_some_and(Http2Connection::is_over) {
                *connection = None;
            }
            connection.is_some() || Arc::strong_count(turn) > 1
        });
    }
}

impl RouteTurn {
    /// A new stream, if there is a connection for it.
    pub(crate) fn stream(&self) -> Option<Http2Stream> {
        let mut connection = lock(&self.connection);
        if connection.as_ref().is_some_and(Http2Connection::is_over) {
            *connection = None;
        }
        connection.as_ref().map(Http2Connection::stream)
    }

    /// New streams begin on this connection.
    pub(crate) fn put(&self, connection: Http2Connection) {
        *lock(&self.connection) = Some(connection);
    }
}

impl Http2Connection {
    /// Begins to speak HTTP/2 over a connection that TLS chose it for. A task of its own moves frames
    /// until the connection ends, and holds its seat for as long.
    pub(crate) async fn begin<S>(
        stream: S,
        seat: Seats,
        is_tls_12: bool,
        max_head: usize,
    ) -> io::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let idle: Arc<IdleBytes> = Arc::default();
        let stream = GuardedStream::new(stream, Arc::clone(&idle));
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .header_table_size(HEADER_TABLE)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_reset_streams(MOST_RESET)
            .max_header_list_size(u32::try_from(max_head).unwrap_or(u32::MAX));
        let begun = builder.handshake(stream).await;
        let (sender, connection) = begun.map_err(|error| super::io_error(&error))?;
        let facts = Arc::new(ConnectionFacts {
            streams: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            idle,
            idle_since: Mutex::new(Instant::now()),
            protocols: if is_tls_12 {
                &OVER_TLS_12
            } else {
                &OVER_TLS_13
            },
        });
        let ended = Arc::clone(&facts);
        let counted = CountedConnection::open();
        tokio::spawn(async move {
            // Each stream hears of the error by itself.
            let _ = connection.await;
            ended.is_closed.store(true, Ordering::Relaxed);
            drop((seat, counted));
        });
        Ok(Self { sender, facts })
    }

    /// A new stream.
    pub(crate) fn stream(&self) -> Http2Stream {
        self.facts.streams.fetch_add(1, Ordering::Relaxed);
        let place = ConnectionUse(Arc::clone(&self.facts));
        Http2Stream::new(self.sender.clone(), place)
    }

    fn is_over(&self) -> bool {
        let facts = &self.facts;
        let is_unused = facts.streams.load(Ordering::Relaxed) == 0
            && lock(&facts.idle_since).elapsed() > IDLE_TIME;
        is_unused || facts.is_closed.load(Ordering::Relaxed)
    }
}

impl ConnectionUse {
    /// The stream got something.
    pub(super) fn progress(&self) {
        self.0.idle.reset();
    }

    /// New streams begin elsewhere.
    pub(super) fn close(&self) {
        self.0.is_closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn protocols(&self) -> &'static [&'static str] {
        self.0.protocols
    }
}

impl Drop for ConnectionUse {
    fn drop(&mut self) {
        if self.0.streams.fetch_sub(1, Ordering::Relaxed) == 1 {
            *lock(&self.0.idle_since) = Instant::now();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
