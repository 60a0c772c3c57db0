//! The web as a function of seed and URL.
//!
//! Owns what there is: hosts, their names, addresses and fates, their pages and links. It stores
//! nothing and knows no sockets; server, oracle and referee all ask it. Invariant: the answer to
//! a question never depends on what was asked before.

mod ailment;
mod charset;
mod host;
mod links;
mod names;
mod resource;
mod robots;
mod special;

use std::net::Ipv4Addr;

pub(crate) use ailment::{Act, Ailment};
pub(crate) use charset::Charset;
pub(crate) use host::{Fate, Host, SitemapKind};
pub(crate) use links::{How, Link};
pub(crate) use resource::{Reaction, Resource};
pub(crate) use robots::Flavour;

use super::chance::{Chance, Topic};
use super::config::InternetConfig;
use super::shape::Shape;

/// So many hosts at the front always work; crawls begin there.
pub(crate) const ROOTS: u32 = 4;
/// Each host's home page leads to so many others, so that every host can be reached.
const HOST_FAN: u32 = 4;
/// No more addresses than this: each needs a listener or two.
const MAX_ADDRESSES: u32 = 8000;
/// Nobody listens here.
pub(crate) const NOWHERE: Ipv4Addr = Ipv4Addr::new(127, 127, 127, 127);

/// A host by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HostId(pub(crate) u32);

impl HostId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One URL: a resource of a host over one of the two schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    pub(crate) host: HostId,
    pub(crate) secure: bool,
    pub(crate) resource: Resource,
}

impl Spot {
    /// Two numbers to draw by: the host and the resource. A copy has the numbers of its page.
    pub(crate) fn keys(self) -> (u64, u64) {
        let resource = match self.resource {
            Resource::Page(number) | Resource::Copy(number) => u64::from(number),
            Resource::Orphan(number) => 1 << 40 | u64::from(number),
            Resource::Private(number) => 2 << 40 | u64::from(number),
            Resource::Search(number) => 3 << 40 | u64::from(number),
            _ => 4 << 40,
        };
        (u64::from(self.host.0), resource)
    }
}

/// The ports that URLs carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) plain: u16,
    pub(crate) secure: u16,
}

impl Ports {
    /// Those of the schemes, which URLs leave out.
    pub(crate) const USUAL: Self = Self {
        plain: 80,
        secure: 443,
    };
}

/// A whole internet.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) shape: Shape,
    pub(crate) chance: Chance,
    pub(crate) ports: Ports,
    pub(crate) agent: String,
    /// Whether a script has to ask for what a page says.
    pub(crate) scripted: bool,
    hosts: u32,
    addresses: u32,
}

impl World {
    pub(crate) fn new(config: &InternetConfig, ports: Ports) -> Self {
        let shape = Shape::new(config);
        Self {
            addresses: shape.addresses.min(MAX_ADDRESSES),
            hosts: config.hosts.max(1),
            chance: Chance::new(config.seed),
            agent: config.agent.clone(),
            scripted: config.scripted,
            ports,
            shape,
        }
    }

    pub(crate) fn hosts(&self) -> u32 {
        self.hosts
    }

    /// How many addresses there are; they are numbered from 0.
    pub(crate) fn addresses(&self) -> u32 {
        self.addresses
    }

    /// The number of a host's address. The first one is the delivery network's, if there is one;
    /// the others are shared unevenly, as hosting is.
    pub(crate) fn address_number(&self, host: HostId) -> u32 {
        if self.is_farm(host) {
            return self.addresses - 1;
        }
        if self.shape.delivered == 0 || self.addresses == 1 {
            return host.0 % self.addresses;
        }
        let draw = self.chance.draw(Topic::Address, u64::from(host.0), 0);
        if draw.happens(self.shape.delivered) {
            return 0;
        }
        let place = self.chance.draw(Topic::Address, u64::from(host.0), 1);
        let rest = f64::from(self.addresses - 1);
        1 + (rest * place.unit().powf(1.5)) as u32
    }

    pub(crate) fn address(number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(Ipv4Addr::new(127, 64, 0, 1).to_bits() + number)
    }

    /// Hosts from here on are the farm of spam: one domain, one address.
    fn farm_start(&self) -> u32 {
        if self.shape.trapped {
            self.hosts - self.hosts / 5
        } else {
            self.hosts
        }
    }

    pub(crate) fn is_farm(&self, host: HostId) -> bool {
        host.0 >= self.farm_start()
    }

    /// The scheme, host and port of a URL.
    pub(crate) fn write_origin(&self, host: HostId, secure: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(if secure { b"https://" } else { b"http://" });
        self.write_authority(host, secure, out);
    }

    /// The host and, where URLs carry one, the port.
    pub(crate) fn write_authority(&self, host: HostId, secure: bool, out: &mut Vec<u8>) {
        self.write_name(host, out);
        let port = if secure {
            self.ports.secure
        } else {
            self.ports.plain
        };
        if self.ports != Ports::USUAL {
            out.push(b':');
            push_number(out, u64::from(port));
        }
    }

    /// The whole URL, as a crawler must write it.
    pub(crate) fn url(&self, spot: Spot) -> String {
        let mut url = Vec::new();
        self.write_origin(spot.host, spot.secure, &mut url);
        self.write_path(&self.host(spot.host), spot.resource, &mut url);
        String::from_utf8(url).expect("URLs of this web are ASCII")
    }

    /// The next host of the same scheme, whose data a page may show as well.
    pub(crate) fn beside(&self, host: HostId) -> Option<HostId> {
        let others = (host.0 + 1..self.hosts).chain(0..host.0).map(HostId);
        let mut open = others.filter(|other| self.fate(*other) == Fate::Open);
        open.find(|other| self.is_secure(*other) == self.is_secure(host))
    }

    /// The home page of a host, over the scheme that the host prefers.
    pub(crate) fn home(&self, host: HostId) -> Spot {
        Spot {
            host,
            secure: self.is_secure(host),
            resource: Resource::Page(0),
        }
    }

    /// Milliseconds that an answer waits.
    pub(crate) fn latency(&self, spot: Spot) -> u64 {
        let shape = &self.shape;
        if shape.delayed == 0 || shape.latency.median == 0.0 {
            return 0;
        }
        let (host, page) = spot.keys();
        let waits = self.chance.draw(Topic::Latency, host ^ 1 << 40, page);
        if waits.below(1_000_000) >= shape.delayed {
            return 0;
        }
        shape
            .latency
            .at(self.chance.draw(Topic::Latency, host, page)) as u64
    }

    /// Where crawls begin.
    pub(crate) fn roots(&self) -> Vec<Spot> {
        let count = ROOTS.min(self.farm_start()).max(1);
        (0..count).map(|host| self.home(HostId(host))).collect()
    }
}

/// Appends a number in decimal; the formatter of the standard library costs more than the page.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
