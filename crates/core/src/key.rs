//! Identity: which URLs are the same resource.
//!
//! Owns the 16-byte [`Key`] under which a URL is known: partition(2) ‖ host(6) ‖ URL(8), so
//! that a registrable domain is one key range and a host is one sub-range. The key hashes a
//! *normalised* form (percent-encoding case, unreserved characters decoded, dropped
//! parameters); the request always uses the URL's own text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use data_encoding::HEXLOWER;
use percent_encoding::percent_encode_byte;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::domain::registrable;
use crate::url::CrawlUrl;

/// How many key ranges there are; a partition is what could move to another machine.
pub const PARTITIONS: u64 = 4096;

/// The part of a [`HostId`] that tells hosts of one partition apart.
pub(crate) const HOST_BITS: u64 = (1 << 48) - 1;

/// The identity of a URL within one job.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 16]);

// As the bytes compare, but by two words: the links of every page are sorted.
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.number().cmp(&other.number())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    /// Wraps bytes read from a log or a store.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes as they sort.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The key with this number.
    pub const fn from_number(number: u128) -> Self {
        Self(number.to_be_bytes())
    }

    /// The bytes as one number, which sorts as they do.
    pub const fn number(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// The bytes in hexadecimal. Every line of a log has one, so it is not left to `write!`.
    fn digits(&self) -> [u8; 32] {
        let mut digits = [0; 32];
        HEXLOWER.encode_mut(&self.0, &mut digits);
        digits
    }

    /// The key range it lies in.
    pub const fn partition(&self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]])
    }

    /// The part shared by all URLs of a host.
    pub fn host(&self) -> HostId {
        HostId(u64::from_be_bytes(
            self.0[..8].try_into().expect("eight bytes"),
        ))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(as_text(&self.digits()))
    }
}

fn as_text(digits: &[u8; 32]) -> &str {
    std::str::from_utf8(digits).expect("hexadecimal digits are ASCII")
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::str::FromStr for Key {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self::from_number)
    }
}

impl Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(as_text(&self.digits()))
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The first half of every key of one host: the name of its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostId(pub u64);

impl HostId {
    /// The key range that the keys of the host lie in.
    pub const fn partition(self) -> u16 {
        (self.0 >> 48) as u16
    }
}

/// Makes keys; cheap to share between threads.
#[derive(Debug, Clone, Default)]
pub struct Keyer {
    seed: u64,
    drop_params: Vec<DropParam>,
}

/// A query parameter that does not change the resource, `utm_*` or `sessionid`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DropParam {
    name: String,
    prefix: bool,
}

impl Keyer {
    /// `drop_params` are parameter names; a trailing `*` makes a prefix.
    pub fn new(seed: u64, drop_params: &[String]) -> Self {
        let drop_params = drop_params
            .iter()
            .map(|pattern| match pattern.strip_suffix('*') {
                Some(name) => DropParam {
                    name: name.to_owned(),
                    prefix: true,
                },
                None => DropParam {
                    name: pattern.clone(),
                    prefix: false,
                },
            })
            .collect();
        Self { seed, drop_params }
    }

    /// The key of a URL.
    pub fn key<Text: Deref<Target = str>>(&self, url: &CrawlUrl<Text>) -> Key {
        let host = url.host();
        let partition =
            (xxh3_64_with_seed(registrable(host).as_bytes(), self.seed) % PARTITIONS) as u16;
        let host_hash = xxh3_64_with_seed(host.as_bytes(), self.seed);
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&partition.to_be_bytes());
        bytes[2..8].copy_from_slice(&host_hash.to_be_bytes()[2..]);
        self.key_within(&bytes, url)
    }

    /// The key of a URL, when that of another on the same host is known: the host's part need not
    /// be found again.
    pub fn key_beside<Text: Deref<Target = str>>(&self, url: &CrawlUrl<Text>, other: Key) -> Key {
        let key = self.key_within(&other.0, url);
        debug_assert_eq!(key, self.key(url), "both are on one host");
        key
    }

    /// The key of a URL on the host of another key.
    fn key_within<Text: Deref<Target = str>>(&self, host: &[u8; 16], url: &CrawlUrl<Text>) -> Key {
        let mut bytes = *host;
        let url_hash = xxh3_64_with_seed(self.normalised(url).as_bytes(), self.seed);
        bytes[8..].copy_from_slice(&url_hash.to_be_bytes());
        Key(bytes)
    }

    /// The text that a key stands for.
    pub fn normalised<'a, Text: Deref<Target = str>>(
        &self,
        url: &'a CrawlUrl<Text>,
    ) -> Cow<'a, str> {
        let has_escapes = url.path_and_query().as_bytes().contains(&b'%');
        if has_escapes || !self.drop_params.is_empty() && url.query().is_some() {
            Cow::Owned(self.rewritten(url))
        } else {
            Cow::Borrowed(url.as_str())
        }
    }

    fn rewritten<Text: Deref<Target = str>>(&self, url: &CrawlUrl<Text>) -> String {
        let mut text = String::with_capacity(url.as_str().len());
        text.push_str(url.origin());
        normalise_escapes(url.path(), &mut text);
        if let Some(query) = url.query() {
            let mut separator = '?';
            for parameter in query.split('&') {
                let start = text.len();
                text.push(separator);
                normalise_escapes(parameter, &mut text);
                // Judged in the normalised form: `%73id` is `sid`.
                if self.drops(&text[start + 1..]) {
                    text.truncate(start);
                } else {
                    separator = '&';
                }
            }
        }
        text
    }

    fn drops(&self, parameter: &str) -> bool {
        let name = parameter.split('=').next().unwrap_or_default();
        self.drop_params.iter().any(|drop| {
            if drop.prefix {
                name.starts_with(drop.name.as_str())
            } else {
                name == drop.name
            }
        })
    }
}

/// Upper-cases escapes and decodes those of unreserved characters (RFC 3986, 6.2.2).
fn normalise_escapes(part: &str, out: &mut String) {
    let mut rest = part;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let escape = rest.as_bytes().get(at + 1..at + 3);
        let value = escape.and_then(|digits| Some(hex(digits[0])? << 4 | hex(digits[1])?));
        match value {
            Some(byte) if is_unreserved(byte) && !completes_escape(byte, out) => {
                out.push(char::from(byte));
                rest = &rest[at + 3..];
            }
            Some(byte) => {
                out.push_str(percent_encode_byte(byte));
                rest = &rest[at + 3..];
            }
            None => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Whether this character would make an escape of a percent sign that begins none: `%4%31` is
/// not `%41`, and the normalised form of a normalised form must be itself.
fn completes_escape(byte: u8, out: &str) -> bool {
    let tail = out.as_bytes();
    let after_percent = match tail {
        [.., b'%'] => true,
        [.., b'%', digit] => hex(*digit).is_some(),
        _ => false,
    };
    after_percent && hex(byte).is_some()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(keyer: &Keyer, text: &str) -> Key {
        keyer.key(&CrawlUrl::parse(text).unwrap())
    }

    #[test]
    fn same_resource_same_key() {
        let keyer = Keyer::new(7, &["utm_*".into(), "sid".into()]);
        for (left, right) in [
            ("http://a.test/%7euser", "http://a.test/~user"),
            ("http://a.test/%c3%bc", "http://a.test/%C3%BC"),
            (
                "http://a.test/?a=1&utm_source=x&b=2",
                "http://a.test/?a=1&b=2",
            ),
            ("http://a.test/?sid=9", "http://a.test/"),
            ("http://a.test/?%73id=9&a", "http://a.test/?a"),
            ("http://a.test/%%341", "http://a.test/%%34%31"),
            ("http://a.test/?", "http://a.test/?"),
        ] {
            assert_eq!(key(&keyer, left), key(&keyer, right), "{left} {right}");
        }
    }

    #[test]
    fn different_resources_differ() {
        let keyer = Keyer::new(7, &["sid".into()]);
        for (left, right) in [
            ("http://a.test/", "https://a.test/"),
            ("http://a.test/%2F", "http://a.test//"),
            ("http://a.test/?sid2=9", "http://a.test/"),
            ("http://a.test/a", "http://a.test/A"),
            ("http://a.test/?", "http://a.test/"),
            ("http://a.test/%4%31", "http://a.test/A"),
            ("http://a.test/%4%31", "http://a.test/%%341"),
        ] {
            assert_ne!(key(&keyer, left), key(&keyer, right), "{left} {right}");
        }
    }

    #[test]
    fn keys_begin_with_partition_and_host() {
        let keyer = Keyer::new(1, &[]);
        let a = key(&keyer, "http://a.example.com/1");
        let b = key(&keyer, "https://a.example.com:8443/2");
        let c = key(&keyer, "http://b.example.com/1");
        assert_eq!(a.host(), b.host());
        assert_ne!(a.host(), c.host());
        assert_eq!(a.as_bytes()[..2], c.as_bytes()[..2]);
        assert_eq!(a.partition(), c.host().partition());
        assert_eq!(a.partition().to_be_bytes(), a.as_bytes()[..2]);
        assert!(u64::from(a.partition()) < PARTITIONS);
        assert_ne!(
            Keyer::new(2, &[]).key(&CrawlUrl::parse("http://a.example.com/1").unwrap()),
            a
        );
        assert_eq!(a.to_string().parse::<Key>().unwrap(), a);
        assert_eq!(a.cmp(&c), a.as_bytes().cmp(c.as_bytes()));
        assert_eq!(c.partial_cmp(&a), Some(a.cmp(&c).reverse()));
        let near = CrawlUrl::parse("http://a.example.com/1").unwrap();
        let other = CrawlUrl::parse("https://a.example.com:8443/2").unwrap();
        assert_eq!(
            keyer.key_beside(&other, keyer.key(&near)),
            keyer.key(&other)
        );
    }
}
