//! Archives served back: pages at their time, or the exact bytes through a proxy.
//!
//! Owns the listener, its bounds, and who may ask. Refuses to know how a page is rewritten and
//! what it looks like. Invariants: nothing is ever fetched; nobody is answered who was led here
//! under a foreign name (DNS rebinding) or asks from a foreign page.

mod answer;
mod guest;
mod page;
mod proxy;
mod range;
mod replay;
mod request;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use clewline_warc::Moment;

use crate::open::Archive;
use answer::Answer;
pub use guest::{Asked, Guest, Shown};
use replay::Site;
pub use replay::path_of;
use request::{Request, Unread};

/// Connections that are answered at once; more are sent away.
const MOST_CONNECTIONS: usize = 64;
/// How long one write may take.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// How long to wait when the system has no more descriptors.
const BREATH: Duration = Duration::from_millis(50);

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A list of captures, and pages with references that lead to captures.
    #[default]
    Pages,
    /// A proxy that answers with the bytes that were recorded.
    Proxy,
}

/// Whether the scripts of pages run. A script may send its reader into the live web, which no
/// policy can keep it from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scripts {
    /// They do not run.
    #[default]
    Blocked,
    /// They run.
    Allowed,
}

/// How an archive is served.
#[derive(Debug, Clone, Copy)]
pub struct ServeConfig {
    /// Where to listen.
    pub address: SocketAddr,
    /// What is served.
    pub mode: Mode,
    /// Whether scripts run.
    pub scripts: Scripts,
    /// The time that a proxy shows; the latest captures without one.
    pub at: Option<Moment>,
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    shared: Shared,
}

#[derive(Debug)]
struct Shared {
    archive: Archive,
    config: ServeConfig,
    /// Where it listens in fact.
    address: SocketAddr,
    guest: Option<Guest>,
    connections: AtomicUsize,
}

impl Server {
    /// Listens; nobody is answered yet.
    pub fn bind(archive: Archive, config: ServeConfig) -> io::Result<Self> {
        let listener = TcpListener::bind(config.address)?;
        let address = listener.local_addr()?;
        let shared = Shared {
            archive,
            config,
            address,
            guest: None,
            connections: AtomicUsize::new(0),
        };
        Ok(Self { listener, shared })
    }

    /// Has a guest answer paths beside the archive; a proxy has none.
    #[must_use]
    pub fn with_guest(mut self, guest: Guest) -> Self {
        self.shared.guest = Some(guest);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Answers, until the process ends.
    pub fn run(self) -> io::Result<()> {
        let shared = Arc::new(self.shared);
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => shared.welcome(stream),
                Err(error) if is_passing(&error) => {}
                // Connections that end free descriptors.
                Err(_) => thread::sleep(BREATH),
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
    )
}

/// A place among the connections, given back when it is dropped, even by a panic.
struct Seat(Arc<Shared>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    fn welcome(self: &Arc<Self>, mut stream: TcpStream) {
        let taken = self.connections.fetch_add(1, Ordering::AcqRel);
        let seat = Seat(Arc::clone(self));
        if stream.set_write_timeout(Some(WRITE_TIME)).is_err() {
            return;
        }
        if taken >= MOST_CONNECTIONS {
            // Whoever is gone already misses nothing.
            let _ = page::refusal(503, "too many connections; try again").write(&mut stream);
            return;
        }
        let started = thread::Builder::new().spawn(move || {
            let shared = Arc::clone(&seat.0);
            // A connection that breaks is the other side's business.
            let _ = shared.converse(&mut stream);
            drop(seat);
        });
        // Without a thread the connection is closed, and the browser tries again.
        drop(started);
    }

    fn converse(&self, stream: &mut TcpStream) -> io::Result<()> {
        let request = match Request::read(stream) {
            Ok(request) => request,
            Err(Unread::Gone(error)) => return Err(error),
            Err(Unread::Refused(status, why)) => return page::refusal(status, why).write(stream),
        };
        if self.config.mode == Mode::Proxy {
            return proxy::answer(&request, &self.archive, self.config.at, stream);
        }
        let answer = match self.objection(&request) {
            Some(why) => page::refusal(403, why),
            None => self.answer(&request),
        };
        answer.for_request(&request).write(stream)
    }

    /// Why this request is not answered: it came under a foreign name or from a foreign page.
    fn objection(&self, request: &Request) -> Option<&'static str> {
        let Some(host) = request.host.as_deref() else {
            return Some("the request names no host");
        };
        if !is_ours(host, self.address.port()) {
            return Some("the server is not known by this name; use its address or localhost");
        }
        let expected = format!("http://{host}");
        match &request.origin {
            Some(origin) if !origin.eq_ignore_ascii_case(&expected) => {
                Some("the request comes from another site")
            }
            _ => None,
        }
    }

    fn site(&self) -> Site<'_> {
        Site {
            archive: &self.archive,
            scripts: self.config.scripts,
            guest: self.guest.as_ref().map(Guest::link),
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        match request.method.as_str() {
            "GET" | "HEAD" => {
                let guest = self.guest.as_ref();
                let guest = guest.filter(|_| !replay::is_from_capture(request));
                let answer = guest.and_then(|guest| guest.answer(&request.target));
                answer.unwrap_or_else(|| replay::answer(request, &self.site()))
            }
            _ => page::refusal(405, "an archive can only be read"),
        }
    }
}

/// Names lead anywhere; addresses and `localhost` don't.
fn is_ours(host: &str, port: u16) -> bool {
    let (name, named_port) = match host.rsplit_once(':') {
        Some((name, digits)) if !digits.ends_with(']') => match digits.parse() {
            Ok(named) => (name, named),
            Err(_) => return false,
        },
        _ => (host, 80),
    };
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let is_address = inner.unwrap_or(name).parse::<IpAddr>().is_ok();
    named_port == port && (is_address || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests;
