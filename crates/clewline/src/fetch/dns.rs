//! From a host name to addresses.
//!
//! Owns the cache: how long answers count, how many are kept, how many questions are asked at
//! once, and that nobody asks the same question twice at a time. Refuses to judge addresses.
//! Invariant: no server is asked that neither the user nor the system named, and names for this
//! machine itself are never asked about at all.

mod source;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clewline_core::url::host_ip;
use hickory_resolver::proto::op::ResponseCode;
use thiserror::Error;
use tokio::sync::OnceCell;

use super::proxy::is_this_machine;
use source::DnsSource;
pub(super) use source::QUESTION_SEATS;

/// The longest that an answer is used.
pub(crate) const LONGEST_TTL: Duration = Duration::from_hours(24);
/// The shortest; names that change faster than this would be asked for at every request.
const SHORTEST_TTL: Duration = Duration::from_secs(30);
/// How long "there is no such name" is believed.
const NOT_FOUND_TTL: Duration = Duration::from_mins(5);
/// How long a server's failure is believed.
const FAILURE_TTL: Duration = Duration::from_secs(30);
/// Names in each of the two generations of the cache.
const GENERATION: usize = 32 * 1024;
/// Addresses kept of one answer.
const ADDRESSES: usize = 16;

/// Why a name has no address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum Unresolved {
    /// There is no such name, or it has no address.
    #[error("there is no such host")]
    NotFound,
    /// No server answered in time.
    #[error("the DNS server did not answer in time")]
    Timeout,
    /// A server answered with an error.
    #[error("the DNS server could not answer ({0})")]
    Server(ResponseCode),
    /// The question could not be asked.
    #[error("the name could not be looked up")]
    Lookup,
    /// This machine lacks descriptors or memory; it says nothing about the name.
    #[error("this machine has no descriptor or memory left to ask with")]
    Shortage,
}

/// Addresses and until when they count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundAddresses {
    /// IPv4 first; never empty.
    pub(crate) addresses: Arc<[IpAddr]>,
    pub(crate) until: Instant,
}

/// What a name led to, good or bad, and until when that counts.
type Answer = (Result<Arc<[IpAddr]>, Unresolved>, Instant);

/// Resolves names and remembers them.
pub(crate) struct Dns {
    source: DnsSource,
    timeout: Duration,
    cache: Mutex<Cache>,
}

/// Two generations: when the young one is full, the old one is forgotten. That bounds memory
/// without ever searching for what to drop.
#[derive(Default)]
struct Cache {
    young: HashMap<Box<str>, Arc<OnceCell<Answer>>>,
    old: HashMap<Box<str>, Arc<OnceCell<Answer>>>,
}

impl Dns {
    /// Asks `server`, or those that the system names.
    pub(crate) fn new(server: Option<SocketAddr>, timeout: Duration) -> Self {
        Self {
            source: DnsSource::new(server, timeout),
            timeout,
            cache: Mutex::default(),
        }
    }

    /// The addresses of a host in serialised form.
    pub(crate) async fn resolve(&self, host: &str) -> Result<FoundAddresses, Unresolved> {
        if let Some(addresses) = known(host) {
            return Ok(FoundAddresses {
                addresses,
                until: Instant::now() + LONGEST_TTL,
            });
        }
        // Whoever comes first asks, the others wait. If the first gives up, the next one asks.
        let slot = self.slot(host);
        let (answer, until) = slot.get_or_init(|| self.ask(host)).await.clone();
        answer.map(|addresses| FoundAddresses { addresses, until })
    }

    fn slot(&self, host: &str) -> Arc<OnceCell<Answer>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.slot(host, Instant::now())
    }

    async fn ask(&self, host: &str) -> Answer {
        let asked = self.source.ask(host, self.timeout).await;
        let now = Instant::now();
        match asked {
            Ok((mut addresses, ttl)) => {
                addresses.sort_by_key(IpAddr::is_ipv6);
                let first = |ipv6: bool| {
                    let family = addresses.iter().filter(move |one| one.is_ipv6() == ipv6);
                    family.copied().take(ADDRESSES / 2)
                };
                let kept: Arc<[IpAddr]> = first(false).chain(first(true)).collect();
                (Ok(kept), now + ttl.clamp(SHORTEST_TTL, LONGEST_TTL))
            }
            Err(Unresolved::NotFound) => (Err(Unresolved::NotFound), now + NOT_FOUND_TTL),
            Err(Unresolved::Shortage) => (Err(Unresolved::Shortage), now),
            Err(other) => (Err(other), now + FAILURE_TTL),
        }
    }
}

impl Cache {
    /// The place of a name's answer; a new one if the old answer no longer counts.
    fn slot(&mut self, host: &str, now: Instant) -> Arc<OnceCell<Answer>> {
        let counts =
            |slot: &Arc<OnceCell<Answer>>| slot.get().is_none_or(|(_, until)| *until > now);
        if let Some(slot) = self.young.get(host).filter(|slot| counts(slot)) {
            return slot.clone();
        }
        let slot = self.old.remove(host).filter(counts).unwrap_or_default();
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(host.into(), slot.clone());
        slot
    }
}

/// Addresses that need no question: literals, and this machine (RFC 6761 section 6.3).
fn known(host: &str) -> Option<Arc<[IpAddr]>> {
    if let Some(address) = host_ip(host) {
        return Some([address].into());
    }
    is_this_machine(host).then(|| {
        [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ]
        .into()
    })
}
