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

/// `HOST:PORT:ADDRESS[,ADDRESS…]`; what is none matches everything.
#[derive(Debug, PartialEq, Eq)]
struct Addresses {
    host: Option<String>,
    port: Option<u16>,
    addresses: Vec<IpAddr>,
}

/// `HOST1:PORT1:HOST2:PORT2`; what is none matches everything, or stays as it is.
#[derive(Debug, PartialEq, Eq)]
struct Destination {
    host: Option<String>,
    port: Option<u16>,
    to_host: Option<String>,
    to_port: Option<u16>,
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
        let fits = |entry: &&Addresses| entry.port.is_none_or(|only| only == port);
        let named = |entry: &&Addresses| entry.host.as_deref() == Some(host);
        let any = |entry: &&Addresses| entry.host.is_none();
        let entries = || self.addresses.iter().rev().filter(fits);
        let found = entries().find(named).or_else(|| entries().find(any))?;
        Some(&found.addresses)
    }

    /// Where to go instead; the first entry that matches counts, as in curl.
    pub(crate) fn destination<'a>(&'a self, host: &'a str, port: u16) -> Option<(&'a str, u16)> {
        let found = self.destinations.iter().find(|entry| {
            entry.host.as_deref().is_none_or(|only| only == host)
                && entry.port.is_none_or(|only| only == port)
        })?;
        let to_host = found.to_host.as_deref().unwrap_or(host);
        Some((to_host, found.to_port.unwrap_or(port)))
    }
}

fn parse_addresses(entry: &str) -> Option<Addresses> {
    // A leading plus lets curl forget the entry after a minute; a crawl keeps it.
    let entry = entry.strip_prefix('+').unwrap_or(entry);
    let (host, rest) = split_host(entry)?;
    let (port, list) = rest.split_once(':')?;
    let addresses: Option<Vec<_>> = list.split(',').map(|one| host_ip(one.trim())).collect();
    Some(Addresses {
        host: pattern(host, "*", parse_host)?,
        port: pattern(port, "*", |text| text.parse().ok())?,
        addresses: addresses?,
    })
}

fn parse_destination(entry: &str) -> Option<Destination> {
    let (host, rest) = split_host(entry)?;
    let (port, rest) = rest.split_once(':')?;
    let (to_host, to_port) = split_host(rest)?;
    Some(Destination {
        host: pattern(host, "", parse_host)?,
        port: pattern(port, "", |text| text.parse().ok())?,
        to_host: pattern(to_host, "", parse_host)?,
        to_port: pattern(to_port, "", |text| text.parse().ok())?,
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

/// None outside: malformed. None inside: the wildcard.
fn pattern<T>(text: &str, any: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text == any {
        Some(None)
    } else {
        read(text).map(Some)
    }
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
