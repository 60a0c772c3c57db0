//! The user's own answers to "where is this host?".
//!
//! Owns curl's `--resolve` and `--connect-to`: their syntax and which entry counts. Refuses to
//! know DNS and sockets. Invariant: an entry that is accepted names at least one address or one
//! destination, so whatever is found here can be trusted as the user's word.

use std::net::IpAddr;

use clewline_core::url::{host_ip, parse_host};

use super::client::FetchSetupError;

/// All entries, in the order in which they were given.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    addresses: Vec<Addresses>,
    destinations: Vec<Destination>,
}

/// `HOST:PORT:ADDRESS[,ADDRESS…]`.
#[derive(Debug)]
struct Addresses {
    host: Part<String>,
    port: Part<u16>,
    list: Vec<IpAddr>,
}

/// `HOST1:PORT1:HOST2:PORT2`.
#[derive(Debug)]
struct Destination {
    host: Part<String>,
    port: Part<u16>,
    to_host: Part<String>,
    to_port: Part<u16>,
}

/// A part of an entry.
#[derive(Debug)]
enum Part<T> {
    /// Matches everything; as a destination, leaves everything as it is.
    Any,
    Only(T),
}

impl<T> Part<T> {
    /// None if the text is neither the wildcard nor what `read` accepts.
    fn parse(text: &str, any: &str, read: impl Fn(&str) -> Option<T>) -> Option<Self> {
        if text == any {
            Some(Self::Any)
        } else {
            read(text).map(Self::Only)
        }
    }

    fn only(&self) -> Option<&T> {
        match self {
            Self::Any => None,
            Self::Only(value) => Some(value),
        }
    }

    fn fits<U: ?Sized>(&self, value: &U) -> bool
    where
        T: PartialEq<U>,
    {
        self.only().is_none_or(|only| only == value)
    }
}

impl Overrides {
    /// Reads the entries of both options.
    pub(crate) fn new(resolve: &[String], connect_to: &[String]) -> Result<Self, FetchSetupError> {
        let addresses = resolve.iter().map(|entry| {
            parse_addresses(entry).ok_or_else(|| FetchSetupError::Resolve(entry.clone()))
        });
        let destinations = connect_to.iter().map(|entry| {
            parse_destination(entry).ok_or_else(|| FetchSetupError::ConnectTo(entry.clone()))
        });
        Ok(Self {
            addresses: addresses.collect::<Result<_, _>>()?,
            destinations: destinations.collect::<Result<_, _>>()?,
        })
    }

    /// The addresses the user gave for a host. A named host counts before `*`, and of several
    /// entries the last one, as in curl.
    pub(crate) fn addresses(&self, host: &str, port: u16) -> Option<&[IpAddr]> {
        let named = |entry: &&Addresses| entry.host.only().is_some_and(|only| only == host);
        let any = |entry: &&Addresses| entry.host.only().is_none();
        let entries = || {
            let entries = self.addresses.iter().rev();
            entries.filter(|entry| entry.port.fits(&port))
        };
        let found = entries().find(named).or_else(|| entries().find(any))?;
        Some(&found.list)
    }

    /// Where to go instead; the first entry that matches counts, as in curl.
    pub(crate) fn destination<'a>(&'a self, host: &'a str, port: u16) -> Option<(&'a str, u16)> {
        let found = self
            .destinations
            .iter()
            .find(|entry| entry.host.fits(host) && entry.port.fits(&port))?;
        let to_host = found.to_host.only().map_or(host, String::as_str);
        Some((to_host, found.to_port.only().copied().unwrap_or(port)))
    }
}

fn parse_addresses(entry: &str) -> Option<Addresses> {
    // A leading plus lets curl forget the entry after a minute; a crawl keeps it.
    let entry = entry.strip_prefix('+').unwrap_or(entry);
    let (host, rest) = split_host(entry)?;
    let (port, list) = rest.split_once(':')?;
    let list: Option<Vec<_>> = list.split(',').map(|one| host_ip(one.trim())).collect();
    Some(Addresses {
        host: Part::parse(host, "*", parse_host)?,
        port: Part::parse(port, "*", |text| text.parse().ok())?,
        list: list?,
    })
}

fn parse_destination(entry: &str) -> Option<Destination> {
    let (host, rest) = split_host(entry)?;
    let (port, rest) = rest.split_once(':')?;
    let (to_host, to_port) = split_host(rest)?;
    Some(Destination {
        host: Part::parse(host, "", parse_host)?,
        port: Part::parse(port, "", |text| text.parse().ok())?,
        to_host: Part::parse(to_host, "", parse_host)?,
        to_port: Part::parse(to_port, "", |text| text.parse().ok())?,
    })
}

/// Splits at the colon after a host, which may itself hold colons in brackets.
fn split_host(text: &str) -> Option<(&str, &str)> {
    let end = if text.starts_with('[') {
        text.find(']')? + 1
    } else {
        text.find(':')?
    };
    Some((&text[..end], text[end..].strip_prefix(':')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides(resolve: &[&str], connect_to: &[&str]) -> Result<Overrides, FetchSetupError> {
        let own = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        Overrides::new(&own(resolve), &own(connect_to))
    }

    #[test]
    fn addresses_by_host_and_port() {
        let entries = [
            "*:80:192.0.2.9",
            "a.test:80:192.0.2.1",
            "+A.test:80:192.0.2.2,[2001:db8::2]",
            "b.test:*:2001:db8::3",
            "[2001:db8::5]:443:192.0.2.5",
        ];
        let overrides = overrides(&entries, &[]).unwrap();
        for (host, port, expected) in [
            ("a.test", 80, "192.0.2.2 2001:db8::2"),
            ("a.test", 81, ""),
            ("c.test", 80, "192.0.2.9"),
            ("b.test", 7, "2001:db8::3"),
            ("[2001:db8::5]", 443, "192.0.2.5"),
        ] {
            let found = overrides.addresses(host, port).unwrap_or_default();
            let shown: Vec<_> = found.iter().map(ToString::to_string).collect();
            assert_eq!(shown.join(" "), expected, "{host}:{port}");
        }
    }

    #[test]
    fn destinations_keep_what_is_empty() {
        let entries = [
            "a.test:443:b.test:8443",
            "c.test:::81",
            "[::1]:80:[::2]:",
            "::z.test:",
        ];
        let overrides = overrides(&[], &entries).unwrap();
        for (host, port, expected) in [
            ("a.test", 443, ("b.test", 8443)),
            ("a.test", 80, ("z.test", 80)),
            ("c.test", 5, ("c.test", 81)),
            ("[::1]", 80, ("[::2]", 80)),
        ] {
            assert_eq!(
                overrides.destination(host, port),
                Some(expected),
                "{host}:{port}"
            );
        }
    }

    #[test]
    fn malformed_entries_are_named() {
        for entry in [
            "",
            "a.test",
            "a.test:80",
            "a.test:80:",
            "a.test:x:192.0.2.1",
            "a.test:80:b.test",
            "a.test:80:192.0.2.1,",
            "[::1:80:192.0.2.1",
            ":80:192.0.2.1",
            "-a.test:80",
        ] {
            let error = overrides(&[entry], &[]).unwrap_err().to_string();
            assert!(error.starts_with("resolve: "), "{entry}: {error}");
        }
        for entry in [
            "",
            "a.test",
            "a.test:80",
            "a.test:80:b",
            "a:b:c:d",
            "a:1:b:2:3",
        ] {
            let error = overrides(&[], &[entry]).unwrap_err().to_string();
            assert!(error.starts_with("connect-to: "), "{entry}: {error}");
        }
    }
}
