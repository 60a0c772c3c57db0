//! Who is asked: the user's DNS server, those of resolv.conf, or the system's own resolver.
//!
//! Owns the reading of resolv.conf and hosts, and the questions themselves. Refuses to know the
//! cache. Invariant: questions in flight are bounded, and those to the system's resolver, which
//! block a thread each, strictly so even when nobody waits for them any more.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RecordType};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Unresolved;
use crate::descriptors::Seats;
use crate::fetch::connect::is_shortage;

/// Names asked about at once.
const QUESTIONS: usize = 256;
/// Sockets of one question: each address family has its own.
pub(in crate::fetch) const QUESTION_SEATS: usize = 2;
/// Threads that may be stuck in the system's resolver.
const SYSTEM_QUESTIONS: usize = 16;
/// The system's resolver does not say how long its answers count.
const SYSTEM_TTL: Duration = Duration::from_mins(1);
/// How long the other address family is waited for once one has answered.
const GRACE: Duration = Duration::from_secs(1);
/// Most that is read of a configuration file.
const FILE_LIMIT: u64 = 1 << 20;
/// Name servers and search domains that are used, as in glibc.
const NAME_SERVERS: usize = 3;
const SEARCH_DOMAINS: usize = 6;

/// The names of a hosts file, in lower case.
pub(super) type Hosts = HashMap<String, Vec<IpAddr>>;

/// Addresses and how long they count.
type Addresses = (Vec<IpAddr>, Duration);

/// Where answers come from.
pub(super) struct DnsSource {
    hosts: Hosts,
    servers: Option<Servers>,
    questions: Arc<Semaphore>,
}

struct Servers {
    resolver: TokioResolver,
    /// Names with fewer dots than this are tried in the search domains first.
    dots: usize,
}

/// What resolv.conf says, as far as it can be understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResolvConf {
    pub(super) servers: Vec<SocketAddr>,
    pub(super) search: Vec<String>,
    pub(super) dots: usize,
}

impl DnsSource {
    pub(super) fn new(server: Option<SocketAddr>, patience: Duration) -> Self {
        let conf = match server {
            Some(server) => ResolvConf {
                servers: vec![server],
                search: Vec::new(),
                dots: 1,
            },
            None => ResolvConf::read(&file("/etc/resolv.conf")),
        };
        Self::with(&conf, read_hosts(&file("/etc/hosts")), patience)
    }

    /// Asks the servers of `conf`, or the system's resolver if there are none.
    pub(super) fn with(conf: &ResolvConf, hosts: Hosts, patience: Duration) -> Self {
        let servers = Servers::new(conf, patience);
        let permits = if servers.is_some() {
            QUESTIONS
        } else {
            SYSTEM_QUESTIONS
        };
        Self {
            hosts,
            servers,
            questions: Arc::new(Semaphore::new(permits)),
        }
    }

    /// Asks about a name; the time counts from when the question is sent.
    pub(super) async fn ask(
        &self,
        host: &str,
        patience: Duration,
    ) -> Result<Addresses, Unresolved> {
        if let Some(addresses) = self.hosts.get(host.strip_suffix('.').unwrap_or(host)) {
            return Ok((addresses.clone(), SYSTEM_TTL));
        }
        let permit = self.questions.clone().acquire_owned().await;
        let permit = permit.map_err(|_| Unresolved::Lookup)?;
        let seats = Seats::take(QUESTION_SEATS).ok_or(Unresolved::Shortage)?;
        let asked = if let Some(servers) = &self.servers {
            let asked = timeout(patience, servers.ask(host)).await;
            drop((seats, permit));
            asked
        } else {
            let name = host.to_owned();
            // The thread keeps permit and seats: it stays busy even if nobody waits any more.
            let lookup = tokio::task::spawn_blocking(move || {
                let _held = (seats, permit);
                system_lookup(&name)
            });
            let asked = timeout(patience, lookup).await;
            asked.map(|joined| joined.unwrap_or(Err(Unresolved::Lookup)))
        };
        asked.unwrap_or(Err(Unresolved::Timeout))
    }
}

impl Servers {
    /// None if there is nobody to ask.
    fn new(conf: &ResolvConf, patience: Duration) -> Option<Self> {
        if conf.servers.is_empty() {
            return None;
        }
        let servers = conf.servers.iter().map(|server| {
            let mut connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
            for connection in &mut connections {
                connection.port = server.port();
            }
            NameServerConfig::new(server.ip(), true, connections.into())
        });
        let search = conf.search.iter().filter_map(|domain| {
            let mut name = Name::from_ascii(domain).ok()?;
            name.set_fqdn(true);
            Some(name)
        });
        let config = ResolverConfig::from_parts(None, search.collect(), servers.collect());
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        *builder.options_mut() = options(conf.dots, patience);
        let resolver = builder.build().ok()?;
        Some(Self {
            resolver,
            dots: conf.dots,
        })
    }

    /// Asks for both address families at once. The slower one is waited for only briefly once
    /// the other has answered: servers that swallow questions for IPv6 are common.
    async fn ask(&self, host: &str) -> Result<Addresses, Unresolved> {
        let mut name = Name::from_ascii(host).map_err(|_| Unresolved::NotFound)?;
        // A name with enough dots is not tried in the search domains, even if it is not found.
        if host.bytes().filter(|byte| *byte == b'.').count() >= self.dots {
            name.set_fqdn(true);
        }
        let four = pin!(self.resolver.lookup(name.clone(), RecordType::A));
        let six = pin!(self.resolver.lookup(name, RecordType::AAAA));
        let (first, second) = match select(four, six).await {
            Either::Left((four, six)) => second(four, six).await,
            Either::Right((six, four)) => second(six, four).await,
        };
        join(first, second)
    }
}

type Looked = Result<Lookup, NetError>;

async fn second(first: Looked, other: impl Future<Output = Looked>) -> (Looked, Option<Looked>) {
    if first.is_ok() {
        let other = timeout(GRACE, other).await.ok();
        (first, other)
    } else {
        (first, Some(other.await))
    }
}

/// One answer of two. A name is only missing if both families say so.
fn join(first: Looked, second: Option<Looked>) -> Result<Addresses, Unresolved> {
    let now = Instant::now();
    let mut addresses = Vec::new();
    let mut ttl = Duration::MAX;
    let mut failure = Unresolved::NotFound;
    for looked in std::iter::once(first).chain(second) {
        match looked {
            Ok(lookup) => {
                let found = lookup
                    .answers()
                    .iter()
                    .filter_map(|record| record.data.ip_addr());
                addresses.extend(found);
                ttl = ttl.min(lookup.valid_until().saturating_duration_since(now));
            }
            Err(error) => {
                let reason = reason(&error);
                if reason != Unresolved::NotFound {
                    failure = reason;
                }
            }
        }
    }
    if addresses.is_empty() {
        Err(failure)
    } else {
        Ok((addresses, ttl))
    }
}

fn reason(error: &NetError) -> Unresolved {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain | ResponseCode::NoError => Unresolved::NotFound,
            code => Unresolved::Server(code),
        },
        NetError::Dns(DnsError::ResponseCode(code)) => Unresolved::Server(*code),
        NetError::Timeout => Unresolved::Timeout,
        NetError::Io(error) if is_shortage(error) => Unresolved::Shortage,
        _ => Unresolved::Lookup,
    }
}

fn options(dots: usize, patience: Duration) -> ResolverOpts {
    let mut options = ResolverOpts::default();
    options.ndots = dots;
    // Three questions must fit into the total time.
    options.timeout = (patience / 3).clamp(Duration::from_millis(10), Duration::from_secs(5));
    options.attempts = 2;
    // The cache above knows more than this one would: failures, bounds, who waits.
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    options.max_active_requests = 2 * QUESTIONS;
    options
}

fn system_lookup(host: &str) -> Result<Addresses, Unresolved> {
    match (host, 0).to_socket_addrs() {
        Ok(found) => {
            let addresses: Vec<_> = found.map(|address| address.ip()).collect();
            if addresses.is_empty() {
                return Err(Unresolved::NotFound);
            }
            Ok((addresses, SYSTEM_TTL))
        }
        // The standard library keeps the code of the error to itself and gives only its text.
        Err(error) => {
            let text = error.to_string();
            let missing = ["not known", "No address associated", "No such host"];
            if missing.iter().any(|phrase| text.contains(phrase)) {
                Err(Unresolved::NotFound)
            } else {
                Err(Unresolved::Lookup)
            }
        }
    }
}

impl ResolvConf {
    /// Reads what is understood and ignores the rest: one unknown option must not send all
    /// questions elsewhere.
    pub(super) fn read(text: &str) -> Self {
        let mut conf = Self {
            servers: Vec::new(),
            search: Vec::new(),
            dots: 1,
        };
        for line in text.lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") => {
                    let address = words.next().and_then(|word| word.parse().ok());
                    let server = address.map(|address: IpAddr| SocketAddr::new(address, 53));
                    conf.servers.extend(server);
                }
                Some("search" | "domain") => conf.search = words.map(ToOwned::to_owned).collect(),
                Some("options") => {
                    let dots = words.find_map(|word| word.strip_prefix("ndots:")?.parse().ok());
                    conf.dots = dots.unwrap_or(conf.dots).min(15);
                }
                _ => {}
            }
        }
        conf.servers.truncate(NAME_SERVERS);
        conf.search.retain(|domain| domain != ".");
        conf.search.truncate(SEARCH_DOMAINS);
        conf
    }
}

/// The lines of a hosts file: an address and its names.
pub(super) fn read_hosts(text: &str) -> Hosts {
    let mut hosts = Hosts::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let Some(address) = words.next().and_then(|word| word.parse::<IpAddr>().ok()) else {
            continue;
        };
        for name in words {
            hosts
                .entry(name.to_ascii_lowercase())
                .or_default()
                .push(address);
        }
    }
    hosts
}

/// A file's text, or nothing where there is none.
fn file(path: &str) -> String {
    use std::io::Read;
    let mut text = Vec::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(FILE_LIMIT).read_to_end(&mut text));
    match read {
        Ok(_) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::new(),
    }
}
