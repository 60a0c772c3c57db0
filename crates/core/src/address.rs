//! Which network addresses may be asked.
//!
//! Owns the answer to "is this a public address?" and the list of exceptions. The address that
//! is judged here is the address that is connected to, so a name that changes its answer
//! between the two gains nothing.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A range of addresses, `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cidr {
    base: IpAddr,
    bits: u8,
}

/// The text is not a range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("is not an address or a range such as 10.0.0.0/8")]
pub struct CidrError;

impl Cidr {
    /// Every address there is.
    pub const ALL: [Self; 2] = [
        Self {
            base: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            bits: 0,
        },
        Self {
            base: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            bits: 0,
        },
    ];

    /// Whether an address lies in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.bits);
                u32::from(base).checked_shr(shift) == u32::from(address).checked_shr(shift)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.bits);
                u128::from(base).checked_shr(shift) == u128::from(address).checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (base, bits) = text
            .split_once('/')
            .map_or((text, None), |(a, b)| (a, Some(b)));
        let base: IpAddr = base.trim().parse().map_err(|_| CidrError)?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.trim().parse().map_err(|_| CidrError))?;
        if bits <= most {
            Ok(Self { base, bits })
        } else {
            Err(CidrError)
        }
    }
}

impl TryFrom<String> for Cidr {
    type Error = CidrError;

    fn try_from(text: String) -> Result<Self, CidrError> {
        text.parse()
    }
}

impl From<Cidr> for String {
    fn from(cidr: Cidr) -> Self {
        cidr.to_string()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.base, self.bits)
    }
}

/// Decides which addresses may be connected to.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    allowed: Vec<Cidr>,
    of_roots: HashSet<IpAddr>,
}

impl AddressPolicy {
    /// Public addresses and those in the given ranges.
    pub fn new(allowed: Vec<Cidr>) -> Self {
        Self {
            allowed,
            of_roots: HashSet::new(),
        }
    }

    /// An address that a root's own host resolved to in this run, or that the user named.
    pub fn trust(&mut self, address: IpAddr) {
        self.of_roots.insert(address.to_canonical());
    }

    /// Whether it may be connected to.
    pub fn permits(&self, address: IpAddr) -> bool {
        is_public(address)
            || self.allowed.iter().any(|range| range.contains(address))
            || self.of_roots.contains(&address.to_canonical())
    }
}

/// Whether an address is reachable from anywhere: not loopback, private, link-local, reserved,
/// documentation, multicast or a translation of such a one (IANA special-purpose registries).
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
        || a >= 224)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    match segments {
        // NAT64 and 6to4 carry an IPv4 address that decides.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        // Teredo, benchmarking, ORCHID and documentation lie inside the global range.
        [0x2001, 0 | 2 | 0xdb8 | 0x10..=0x2f, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Only 2000::/3 is handed out as global unicast.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// What a root's address says about the default speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearness {
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// The internet.
    Public,
}

/// Where an address lies.
pub fn nearness(address: IpAddr) -> Nearness {
    let address = address.to_canonical();
    if address.is_loopback() {
        Nearness::Loopback
    } else if is_public(address) {
        Nearness::Public
    } else {
        Nearness::Private
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_and_private() {
        let public = [
            "93.184.216.34",
            "8.8.8.8",
            "2606:4700::1",
            "64:ff9b::808:808",
            "100.128.0.1",
        ];
        let private = [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "fd00::1",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::1",
            "2001:db8::1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
        ];
        for text in public {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in private {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    /// The first and the last address of each range, and the neighbours of both.
    const SPECIAL: &str = "
        0.0.0.0 0.255.255.255 1.0.0.0 1.0.0.0
        10.0.0.0 10.255.255.255 9.255.255.255 11.0.0.0
        100.64.0.0 100.127.255.255 100.63.255.255 100.128.0.0
        127.0.0.0 127.255.255.255 126.255.255.255 128.0.0.0
        169.254.0.0 169.254.255.255 169.253.255.255 169.255.0.0
        172.16.0.0 172.31.255.255 172.15.255.255 172.32.0.0
        192.0.0.0 192.0.0.255 191.255.255.255 192.0.1.0
        192.0.2.0 192.0.2.255 192.0.1.255 192.0.3.0
        192.88.99.0 192.88.99.255 192.88.98.255 192.88.100.0
        192.168.0.0 192.168.255.255 192.167.255.255 192.169.0.0
        198.18.0.0 198.19.255.255 198.17.255.255 198.20.0.0
        198.51.100.0 198.51.100.255 198.51.99.255 198.51.101.0
        203.0.113.0 203.0.113.255 203.0.112.255 203.0.114.0
        224.0.0.0 255.255.255.255 223.255.255.255 223.255.255.255";

    #[test]
    fn every_special_range_ends_where_its_registry_says() {
        let is_public = |text: &str| is_public(text.parse().unwrap());
        for line in SPECIAL.trim().lines() {
            let found: Vec<bool> = line.split_whitespace().map(is_public).collect();
            assert_eq!(found, [false, false, true, true], "{line}");
        }
        // A part of a range's number is not enough.
        for text in ["193.88.99.1", "192.89.99.1", "100.0.0.1", "192.1.0.1"] {
            assert!(is_public(text), "{text}");
        }
    }

    #[test]
    fn ranges() {
        let check = |range: &str, address: &str| {
            range
                .parse::<Cidr>()
                .unwrap()
                .contains(address.parse().unwrap())
        };
        assert!(check("10.0.0.0/8", "10.255.0.1"));
        assert!(!check("10.0.0.0/8", "11.0.0.1"));
        assert!(check("127.0.0.1", "127.0.0.1"));
        assert!(!check("127.0.0.1", "127.0.0.2"));
        assert!(check("0.0.0.0/0", "1.2.3.4"));
        assert!(check("fd00::/8", "fd12::1"));
        assert!(check("10.0.0.0/8", "::ffff:10.0.0.1"));
        for bad in ["10.0.0.0/33", "x", "10.0.0/8", "::/129", ""] {
            assert!(bad.parse::<Cidr>().is_err(), "{bad}");
        }
    }

    #[test]
    fn exceptions() {
        let mut policy = AddressPolicy::new(vec!["10.0.0.0/8".parse().unwrap()]);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(policy.permits(address("10.0.0.1")) && policy.permits(address("9.9.9.9")));
        assert!(!policy.permits(address("127.0.0.1")));
        policy.trust(address("127.0.0.1"));
        assert!(policy.permits(address("::ffff:127.0.0.1")));
        assert!(!policy.permits(address("127.0.0.2")));
    }
}
