//! A synthetic internet of any size, with an oracle and a referee.
//!
//! Owns start and stop, and what tests and people see of it. The parts: the `world` says what
//! there is, as a function of seed and URL; the painter makes bytes of it; the server sends them;
//! the referee watches; the oracle foretells. Invariant: one process, one thread, no storage;
//! dropping a [`LiveInternet`] ends everything it started.

pub(crate) mod chance;
mod compare;
mod config;
mod oracle;
mod paint;
mod referee;
mod serve;
mod shape;
mod wheel;
mod world;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub use compare::{Comparison, Seen};
pub use config::{InternetConfig, Profile, UnknownProfile, Way};
pub use oracle::{Expectation, OracleRules, OracleScope};
pub use referee::{Figures, Findings, Limit, RefereeRules, Rule, Violation};

use referee::Referee;
use serve::{Handles, Server, Sockets};
use world::{Ports, World};

/// An internet about to start.
pub struct Internet {
    config: InternetConfig,
}

impl Internet {
    /// An internet made from this.
    pub fn new(config: InternetConfig) -> Self {
        Self { config }
    }

    /// Starts it.
    ///
    /// # Panics
    /// When a socket cannot be bound or a thread not be started; see [`Internet::try_start`].
    pub fn start(self) -> LiveInternet {
        self.try_start().expect("the internet could not be started")
    }

    /// Starts it, or says why that is impossible here.
    pub fn try_start(self) -> io::Result<LiveInternet> {
        serve::raise_limit();
        let mut world = World::new(&self.config, Ports::USUAL);
        let sockets = Sockets::bind(&self.config, &world)?;
        world.ports = sockets.ports;
        let world = Arc::new(world);
        let referee = Arc::new(Mutex::new(Referee::new(Arc::clone(&world))));
        let (dns_addr, proxy_addr) = (sockets.names_at, sockets.proxy_at);
        let (server, handles) = Server::new(&world, Arc::clone(&referee), sockets)?;
        let thread = std::thread::Builder::new()
            .name("terrarium".to_owned())
            .spawn(move || server.run())?;
        Ok(LiveInternet {
            config: self.config,
            world,
            referee,
            dns_addr,
            proxy_addr,
            handles,
            thread: Some(thread),
        })
    }

    /// What a crawl by these rules must find, for an internet with these ports, without starting
    /// anything. URLs are told in no order that matters.
    pub fn foretell(
        &self,
        rules: &OracleRules,
        (port, tls_port): (u16, u16),
        tell: impl FnMut(String, Expectation),
    ) {
        let ports = Ports {
            plain: port,
            secure: tls_port,
        };
        oracle::walk(&World::new(&self.config, ports), rules, tell);
    }
}

/// Figures of the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pulse {
    /// Requests so far.
    pub requests: u64,
    /// Requests that wait for their answer.
    pub in_flight: u64,
    /// Connections that are open.
    pub connections: u64,
    /// Bytes of whole answers so far.
    pub bytes: u64,
}

/// A running internet. Dropping it stops everything.
pub struct LiveInternet {
    config: InternetConfig,
    world: Arc<World>,
    referee: Arc<Mutex<Referee>>,
    dns_addr: SocketAddr,
    proxy_addr: SocketAddr,
    handles: Handles,
    thread: Option<JoinHandle<()>>,
}

impl LiveInternet {
    /// What it was made from.
    pub fn config(&self) -> &InternetConfig {
        &self.config
    }

    /// Where the name server listens (UDP).
    pub fn dns_addr(&self) -> SocketAddr {
        self.dns_addr
    }

    /// The port of all plain sites.
    pub fn port(&self) -> u16 {
        self.world.ports.plain
    }

    /// The port of all sites with TLS.
    pub fn tls_port(&self) -> u16 {
        self.world.ports.secure
    }

    /// Where the HTTP proxy listens; it takes `CONNECT` and requests in absolute form.
    pub fn proxy_addr(&self) -> SocketAddr {
        self.proxy_addr
    }

    /// The certificate of the internet's own authority, to be trusted by the client.
    pub fn ca_pem(&self) -> &str {
        &self.handles.ca_pem
    }

    /// The address that many hosts share, as behind a delivery network, if there is one.
    pub fn shared_address(&self) -> Option<Ipv4Addr> {
        (self.world.shape.delivered > 0).then(|| World::address(0))
    }

    /// All addresses that sites listen on.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        (0..self.world.addresses()).map(World::address).collect()
    }

    /// A few URLs from which everything that the oracle names can be reached.
    pub fn roots(&self) -> Vec<String> {
        let roots = self.world.roots();
        roots.iter().map(|root| self.world.url(*root)).collect()
    }

    /// What a crawl from the roots must find.
    pub fn oracle(&self, rules: &OracleRules) -> BTreeMap<String, Expectation> {
        oracle::foretell(&self.world, rules)
    }

    /// What the referee saw so far, by these rules.
    pub fn referee(&self, rules: &RefereeRules) -> Findings {
        let referee = self.referee.lock().unwrap_or_else(PoisonError::into_inner);
        referee.findings(rules)
    }

    /// Figures of the moment.
    pub fn pulse(&self) -> Pulse {
        let counters = &self.handles.counters;
        Pulse {
            requests: counters.requests.load(Ordering::Relaxed),
            in_flight: counters.in_flight.load(Ordering::Relaxed),
            connections: counters.connections.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
        }
    }
}

impl Drop for LiveInternet {
    fn drop(&mut self) {
        self.handles.stop.store(true, Ordering::Relaxed);
        let woken = self.handles.waker.wake();
        if let Some(thread) = self.thread.take().filter(|_| woken.is_ok()) {
            let _ = thread.join();
        }
    }
}
