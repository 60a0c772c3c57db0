//! A name server over UDP for the names of one web.
//!
//! Owns the reading and writing of the few messages of RFC 1035 that a resolver needs: one
//! question, A and AAAA answers, error codes, silence. Refuses to recurse, to speak TCP and to
//! know names outside the web. Invariant: no datagram, however odd, does more than be ignored or
//! answered with one datagram.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::sync::Semaphore;

use crate::web::town::{Town, by_name};

/// Datagrams are cut at this size when they are read.
const MAX_DATAGRAM: usize = 1500;
/// So many addresses fit into the 512 bytes of RFC 1035 section 4.2.1 with any name.
const MAX_ANSWERS: usize = 8;
/// Queries beyond this many waiting ones are dropped, as a loaded server would.
const MAX_WAITING: usize = 4096;
/// The log keeps at most this many queries.
const MAX_QUERIES: usize = 1_000_000;
/// Time to live, in seconds, when none is chosen.
const DEFAULT_TTL: u32 = 60;

pub(crate) const HEADER: usize = 12;
pub(crate) const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
pub(crate) const NO_ERROR: u8 = 0;
pub(crate) const FORMAT_ERROR: u8 = 1;
pub(crate) const SERVER_FAILURE: u8 = 2;
pub(crate) const NAME_ERROR: u8 = 3;
const REFUSED: u8 = 5;

/// What the name server says about a name.
#[derive(Debug)]
pub struct Dns {
    kind: Kind,
    ttl: u32,
    delay: Duration,
    asked: [AtomicUsize; 2],
}

#[derive(Debug)]
enum Kind {
    Addresses(Vec<IpAddr>),
    Alternate(Vec<IpAddr>),
    Code(u8),
    Silent,
}

impl Dns {
    /// All of these addresses in each answer; A and AAAA get those of their kind.
    ///
    /// # Panics
    /// When a text is no IP address.
    pub fn addresses<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Kind::Addresses(parsed(addresses)))
    }

    /// One of these addresses per query, in turn and over again: the rebinding attack. A and AAAA
    /// queries are counted apart.
    ///
    /// # Panics
    /// When a text is no IP address.
    pub fn alternate<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Kind::Alternate(parsed(addresses)))
    }

    /// The name exists and has no address.
    pub fn no_data() -> Self {
        Self::new(Kind::Addresses(Vec::new()))
    }

    /// The name does not exist, which is also said of every name that was not given.
    pub fn nxdomain() -> Self {
        Self::new(Kind::Code(NAME_ERROR))
    }

    /// The server fails.
    pub fn servfail() -> Self {
        Self::new(Kind::Code(SERVER_FAILURE))
    }

    /// The server refuses.
    pub fn refused() -> Self {
        Self::new(Kind::Code(REFUSED))
    }

    /// The server says nothing.
    pub fn silent() -> Self {
        Self::new(Kind::Silent)
    }

    /// Sets the time to live, in whole seconds; 60 s otherwise.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = u32::try_from(ttl.as_secs()).unwrap_or(u32::MAX);
        self
    }

    /// Waits before each answer.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    fn new(kind: Kind) -> Self {
        Self {
            kind,
            ttl: DEFAULT_TTL,
            delay: Duration::ZERO,
            asked: Default::default(),
        }
    }

    /// The error code and the addresses for a question of this type.
    fn answer(&self, kind: u16) -> Option<(u8, Vec<IpAddr>)> {
        let fits = |address: &&IpAddr| match kind {
            TYPE_A => address.is_ipv4(),
            TYPE_AAAA => address.is_ipv6(),
            _ => false,
        };
        match &self.kind {
            Kind::Silent => None,
            Kind::Code(code) => Some((*code, Vec::new())),
            Kind::Addresses(all) => {
                let fitting = all.iter().filter(fits).take(MAX_ANSWERS);
                Some((NO_ERROR, fitting.copied().collect()))
            }
            Kind::Alternate(all) => {
                let fitting: Vec<IpAddr> = all.iter().filter(fits).copied().collect();
                let turn =
                    self.asked[usize::from(kind == TYPE_AAAA)].fetch_add(1, Ordering::Relaxed);
                let chosen = fitting.get(turn.checked_rem(fitting.len()).unwrap_or(0));
                Some((NO_ERROR, chosen.copied().into_iter().collect()))
            }
        }
    }
}

fn parsed<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Vec<IpAddr> {
    let parse = |text: &str| text.parse().expect("Dns takes IP addresses");
    addresses.into_iter().map(parse).collect()
}

/// One question that reached the name server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Query {
    /// When it arrived.
    pub at: Instant,
    /// The name in lower case, without the last dot.
    pub name: String,
    /// The type: 1 is A, 28 is AAAA.
    pub kind: u16,
}

/// The name server's data and log.
#[derive(Default)]
pub(crate) struct NameServer {
    names: HashMap<String, Dns>,
    log: Mutex<Vec<Query>>,
}

impl NameServer {
    /// A server that knows these names and all sites; the former win.
    pub(crate) fn new(town: &Town, names: Vec<(String, Dns)>) -> Self {
        let site = |place: &crate::web::town::Place| {
            let dns = Dns::new(Kind::Addresses(vec![place.address.ip()]));
            (place.name.clone(), dns)
        };
        let mut known: HashMap<String, Dns> = town.places.iter().map(site).collect();
        known.extend(names);
        Self {
            names: known,
            log: Mutex::default(),
        }
    }

    pub(crate) fn log(&self) -> Vec<Query> {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Answers datagrams until the runtime ends.
    pub(crate) async fn serve(self: Arc<Self>, socket: UdpSocket) {
        let socket = Arc::new(socket);
        let waiting = Arc::new(Semaphore::new(MAX_WAITING));
        let mut datagram = [0; MAX_DATAGRAM];
        loop {
            let Ok((length, peer)) = socket.recv_from(&mut datagram).await else {
                // An error belongs to an earlier answer (its port was closed), not to the socket.
                tokio::task::yield_now().await;
                continue;
            };
            let Some((answer, delay)) = self.reply(&datagram[..length]) else {
                continue;
            };
            let Ok(permit) = Arc::clone(&waiting).try_acquire_owned() else {
                continue;
            };
            let socket = Arc::clone(&socket);
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = socket.send_to(&answer, peer).await;
                drop(permit);
            });
        }
    }

    fn reply(&self, datagram: &[u8]) -> Option<(Vec<u8>, Duration)> {
        let header = datagram.get(..HEADER)?;
        // A response is never answered, or two servers could talk for ever.
        if header[2] & 0x80 != 0 {
            return None;
        }
        let Some(question) = Question::read(datagram) else {
            return Some((message(header, &[], (FORMAT_ERROR, &[]), 0), Duration::ZERO));
        };
        self.note(&question);
        let Some(dns) = by_name(&question.name, |name| self.names.get(name)) else {
            return Some((
                message(header, question.raw, (NAME_ERROR, &[]), 0),
                Duration::ZERO,
            ));
        };
        let (code, addresses) = dns.answer(question.kind)?;
        let answer = message(header, question.raw, (code, &addresses), dns.ttl);
        Some((answer, dns.delay))
    }

    fn note(&self, question: &Question<'_>) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() < MAX_QUERIES {
            let (name, kind) = (question.name.clone(), question.kind);
            log.push(Query {
                at: Instant::now(),
                name,
                kind,
            });
        }
    }
}

/// The one question of a query.
pub(crate) struct Question<'a> {
    pub(crate) raw: &'a [u8],
    pub(crate) name: String,
    pub(crate) kind: u16,
}

impl<'a> Question<'a> {
    /// The one question of a query (RFC 1035 section 4.1.2); pointers have no place in it.
    pub(crate) fn read(datagram: &'a [u8]) -> Option<Self> {
        if datagram.get(4..6)? != [0, 1] {
            return None;
        }
        let mut labels = Vec::new();
        let mut at = HEADER;
        loop {
            let length = usize::from(*datagram.get(at)?);
            at += 1;
            match length {
                0 => break,
                1..=63 => {
                    labels.push(String::from_utf8_lossy(datagram.get(at..at + length)?));
                    at += length;
                }
                _ => return None,
            }
        }
        let kind = u16::from_be_bytes(datagram.get(at..at + 2)?.try_into().ok()?);
        let raw = datagram.get(HEADER..at + 4)?;
        Some(Self {
            raw,
            name: labels.join(".").to_ascii_lowercase(),
            kind,
        })
    }
}

/// A response with this code and these addresses.
pub(crate) fn message(
    header: &[u8],
    question: &[u8],
    answer: (u8, &[IpAddr]),
    ttl: u32,
) -> Vec<u8> {
    let (code, addresses) = answer;
    let mut message = header[..2].to_vec();
    // Response, authoritative, recursion desired as asked; recursion available and the code.
    message.extend([0x84 | (header[2] & 0x01), 0x80 | code]);
    let counts = [
        u16::from(!question.is_empty()),
        addresses.len() as u16,
        0,
        0,
    ];
    message.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
    message.extend_from_slice(question);
    for address in addresses {
        let (kind, data) = match address {
            IpAddr::V4(address) => (TYPE_A, address.octets().to_vec()),
            IpAddr::V6(address) => (TYPE_AAAA, address.octets().to_vec()),
        };
        // The name is a pointer to the question, which begins right after the header.
        message.extend([0xC0, HEADER as u8]);
        message.extend([kind, 1].iter().flat_map(|number| number.to_be_bytes()));
        message.extend(ttl.to_be_bytes());
        message.extend((data.len() as u16).to_be_bytes());
        message.extend(data);
    }
    message
}
