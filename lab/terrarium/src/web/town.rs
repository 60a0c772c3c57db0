//! The map of a web: which site lives where and who answers for which name.
//!
//! Owns addresses, ports and names. Refuses to know what sites answer. Invariant: the map is made
//! once, before the first connection, and does not change while the web lives.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::referee::Referee;
use crate::site::{Door, Outage, Site};
use crate::tls::Authority;

const BACKLOG: i32 = 4096;
/// More sites than this have no address of their own in 127.0.1.0 and beyond.
const MAX_SITES: usize = 60_000;
/// A name between braces is not longer than this.
const MAX_NAME: usize = 300;

/// A site at its address.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) site: Site,
    pub(crate) address: SocketAddr,
    gate: usize,
}

impl Place {
    pub(crate) fn secure(&self) -> bool {
        self.site.certificate.is_some()
    }

    /// The address that is the site's name, if it has no better one.
    pub(crate) fn literal(&self) -> Option<IpAddr> {
        self.name.parse().ok()
    }

    pub(crate) fn origin(&self) -> String {
        let scheme = if self.secure() { "https" } else { "http" };
        match self.literal() {
            Some(_) => format!("{scheme}://{}", self.address),
            None => format!("{scheme}://{}:{}", self.name, self.address.port()),
        }
    }
}

/// What all connections share.
pub(crate) struct Town {
    pub(crate) places: Vec<Place>,
    pub(crate) referee: Arc<Referee>,
    plain: HashMap<String, usize>,
    secure: HashMap<String, usize>,
}

impl Town {
    /// The site that answers for a host behind this gate: by name, or else the first one there.
    pub(crate) fn place(&self, gate: &Gate, host: Option<&str>) -> Option<&Place> {
        let named = host.and_then(|host| self.named(host, Some(gate.tls.is_some())));
        let here = named.filter(|place| place.gate == gate.number);
        here.or_else(|| self.places.get(gate.first))
    }

    /// The site at an address: of this name, or else the first one there.
    pub(crate) fn at(&self, address: SocketAddr, host: Option<&str>) -> Option<&Place> {
        let plain = self.named(host.unwrap_or_default(), Some(false));
        let secure = self.named(host.unwrap_or_default(), Some(true));
        let named = [plain, secure]
            .into_iter()
            .flatten()
            .find(|place| place.address == address);
        named.or_else(|| self.places.iter().find(|place| place.address == address))
    }

    /// The site of a name; with TLS or without, if that is said, else the plain one first.
    pub(crate) fn named(&self, name: &str, secure: Option<bool>) -> Option<&Place> {
        let index = by_name(name, |name| {
            let plain = self.plain.get(name).filter(|_| secure != Some(true));
            plain.or_else(|| self.secure.get(name).filter(|_| secure != Some(false)))
        });
        self.places.get(*index?)
    }

    /// Adds a site to the map while it is made.
    fn settle(&mut self, place: Place) -> io::Result<()> {
        let names = if place.secure() {
            &mut self.secure
        } else {
            &mut self.plain
        };
        if names
            .insert(place.name.clone(), self.places.len())
            .is_some()
        {
            let text = format!("two sites are named {}", place.name);
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        self.places.push(place);
        Ok(())
    }

    /// The text with `{{name}}` replaced by origins; `None` when there is nothing to replace.
    pub(crate) fn expand(&self, text: &[u8]) -> Option<Vec<u8>> {
        // Most bodies have no brace at all, and this look at them is cheap.
        if !text.contains(&b'{') {
            return None;
        }
        let mut expanded = Vec::new();
        let (mut rest, mut found) = (text, false);
        while let Some(start) = rest.windows(2).position(|pair| pair == b"{{") {
            let inner = &rest[start + 2..];
            let end = inner
                .windows(2)
                .take(MAX_NAME)
                .position(|pair| pair == b"}}");
            let origin = end.and_then(|end| self.origin_of(inner.get(..end)?));
            if let (Some(origin), Some(end)) = (origin, end) {
                expanded.extend([&rest[..start], origin.as_bytes()].concat());
                rest = &inner[end + 2..];
                found = true;
            } else {
                expanded.extend_from_slice(&rest[..start + 2]);
                rest = inner;
            }
        }
        expanded.extend_from_slice(rest);
        found.then_some(expanded)
    }

    fn origin_of(&self, inner: &[u8]) -> Option<String> {
        let inner = std::str::from_utf8(inner).ok()?;
        let (name, secure) = match inner.strip_prefix("https ") {
            Some(name) => (name, Some(true)),
            None => (inner, None),
        };
        self.named(name, secure).map(Place::origin)
    }
}

/// One listener: who is behind it and how it treats connections.
pub(crate) struct Gate {
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) door: Door,
    pub(crate) fall: Option<Fall>,
    number: usize,
    first: usize,
}

/// The outage that lies ahead of a listener.
pub(crate) struct Fall {
    pub(crate) outage: Outage,
    /// The same address once more: it keeps the port while nobody listens, and listens after.
    pub(crate) spare: Mutex<Option<Socket>>,
    /// Set by the last answer before the outage.
    pub(crate) begins: watch::Sender<bool>,
    /// Set when nobody listens any more: now connections are cut.
    pub(crate) cut: watch::Sender<bool>,
    answered: AtomicUsize,
}

impl Fall {
    fn new(outage: Outage, spare: Socket) -> Self {
        Self {
            outage,
            spare: Mutex::new(Some(spare)),
            begins: watch::Sender::new(outage.after == 0),
            cut: watch::Sender::new(false),
            answered: AtomicUsize::new(0),
        }
    }

    /// Counts an answer; the last one before the outage begins it.
    pub(crate) fn answered(&self) {
        if self.answered.fetch_add(1, Ordering::Relaxed) + 1 == self.outage.after {
            self.begins.send_replace(true);
        }
    }
}

/// Looks up a name, then the wildcards above it.
pub(crate) fn by_name<T>(name: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
    // An IPv6 address stands in brackets where a port may follow it.
    let name = name
        .trim_matches(['[', ']'])
        .trim_end_matches('.')
        .to_ascii_lowercase();
    let wildcards = name
        .match_indices('.')
        .map(|(dot, _)| format!("*{}", &name[dot..]));
    find(&name).or_else(|| wildcards.into_iter().find_map(|wildcard| find(&wildcard)))
}

pub(super) type Bound = Vec<(Socket, Gate)>;

/// Sites that share a listener agree in this: address, TLS, door, and the owner of the port if it
/// is not shared.
type GateKey = (IpAddr, bool, Door, Option<usize>);

pub(super) fn build(
    sites: Vec<(String, Site)>,
    authority: &Authority,
) -> io::Result<(Arc<Town>, Bound)> {
    let mut gates: Vec<(Listener, Door, Vec<usize>)> = Vec::new();
    let mut known: HashMap<GateKey, usize> = HashMap::new();
    let mut town = Town {
        places: Vec::new(),
        referee: Arc::default(),
        plain: HashMap::new(),
        secure: HashMap::new(),
    };
    for (index, (name, site)) in sites.into_iter().enumerate() {
        let chosen = site.address.or_else(|| name.parse().ok());
        let ip = chosen.map_or_else(|| own_address(index), Ok)?;
        let owner = site.own_port.then_some(index);
        let gate = match known.entry((ip, site.certificate.is_some(), site.door, owner)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                gates.push((listener(ip, &site)?, site.door, Vec::new()));
                *entry.insert(gates.len() - 1)
            }
        };
        let ((socket, _), _, members) = &mut gates[gate];
        members.push(index);
        let address = socket
            .local_addr()?
            .as_socket()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        town.settle(Place {
            name,
            site,
            address,
            gate,
        })?;
    }
    let mut bound = Vec::new();
    for (number, ((socket, fall), door, members)) in gates.into_iter().enumerate() {
        let Some(&first) = members.first() else {
            continue;
        };
        let tls = acceptor(authority, &town.places, &members)?;
        bound.push((
            socket,
            Gate {
                tls,
                door,
                fall,
                number,
                first,
            },
        ));
    }
    Ok((Arc::new(town), bound))
}

/// The acceptor for these sites, which are all with TLS or all without.
fn acceptor(
    authority: &Authority,
    places: &[Place],
    members: &[usize],
) -> io::Result<Option<TlsAcceptor>> {
    let shown = |index: &usize| {
        let place = places.get(*index)?;
        Some((place.name.as_str(), place.site.certificate?))
    };
    let shown: Vec<_> = members.iter().filter_map(shown).collect();
    if shown.is_empty() {
        return Ok(None);
    }
    authority.acceptor(&shown).map(Some)
}

/// Named sites get 127.0.1.1 and upwards, away from the addresses that tests choose themselves.
fn own_address(index: usize) -> io::Result<IpAddr> {
    if index >= MAX_SITES {
        return Err(io::Error::other("too many sites for one web"));
    }
    let (high, low) = (index / 250, index % 250);
    Ok(Ipv4Addr::new(127, 0, 1 + high as u8, 1 + low as u8).into())
}

/// A socket, with the one that takes its place after an outage.
type Listener = (Socket, Option<Fall>);

fn listener(ip: IpAddr, site: &Site) -> io::Result<Listener> {
    let address = SocketAddr::new(ip, 0);
    let Some(outage) = site.outage else {
        let socket = bind(address, false)?;
        if site.door != Door::Refused {
            socket.listen(BACKLOG)?;
        }
        return Ok((socket, None));
    };
    let socket = bind(address, true)?;
    let address = socket.local_addr()?.as_socket();
    let spare = bind(address.ok_or(io::ErrorKind::AddrNotAvailable)?, true)?;
    if outage.after > 0 {
        socket.listen(BACKLOG)?;
    }
    Ok((socket, Some(Fall::new(outage, spare))))
}

/// A socket at an address, which it may share with another one of ours.
fn bind(address: SocketAddr, is_shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_port(is_shared)?;
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Makes a bound socket listen.
pub(super) fn open(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
