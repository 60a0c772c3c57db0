//! Hosts: which of them belong to the crawl, and where they are.
//!
//! Owns the strict and the lenient rule, and a memory of addresses. It refuses to know paths.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use url::{Host, Url};

/// The hosts of the roots, and how closely others must resemble them.
#[derive(Debug)]
pub(crate) struct Hosts {
    lenient: bool,
    roots: HashSet<String>,
}

impl Hosts {
    /// Strict: a host must be a root's, but for a leading `www.`; lenient: the last two labels
    /// count. An address must always be a root's own.
    pub(crate) fn new<'a>(lenient: bool, roots: impl IntoIterator<Item = &'a Url>) -> Self {
        let roots = roots.into_iter();
        let roots = roots.filter_map(|root| essence(root, lenient)).collect();
        Self { lenient, roots }
    }

    /// Whether a URL's host belongs to the crawl.
    pub(crate) fn allow(&self, url: &Url) -> bool {
        essence(url, self.lenient).is_some_and(|host| self.roots.contains(&host))
    }
}

/// The part of a host that must match.
fn essence(url: &Url, lenient: bool) -> Option<String> {
    let Host::Domain(name) = url.host()? else {
        return url.host_str().map(str::to_owned);
    };
    if !lenient {
        return Some(name.strip_prefix("www.").unwrap_or(name).to_owned());
    }
    let dots: Vec<usize> = name.rmatch_indices('.').map(|(at, _)| at).collect();
    let start = dots.get(1).map_or(0, |dot| dot + 1);
    Some(name[start..].to_owned())
}

/// Addresses of hosts. The system's resolver has no way to say "not yet": asking it stops the
/// whole loop, so every host is asked for once only.
#[derive(Debug, Default)]
pub struct Addresses {
    fixed: Option<SocketAddr>,
    known: Mutex<HashMap<String, SocketAddr>>,
}

impl Addresses {
    /// All URLs lead to the fixed address, if there is one.
    pub fn new(fixed: Option<SocketAddr>) -> Self {
        Self {
            fixed,
            known: Mutex::default(),
        }
    }

    /// Where to connect for a URL, as far as that is known.
    pub fn known(&self, url: &Url) -> io::Result<Option<SocketAddr>> {
        if url.scheme() != "http" {
            let why = "this rung speaks no TLS; climb to clew";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Ok(self
            .fixed
            .or_else(|| self.memory().get(url.authority()).copied()))
    }

    /// Where to connect for a URL. Blocks when the host is new.
    pub fn of(&self, url: &Url) -> io::Result<SocketAddr> {
        if let Some(address) = self.known(url)? {
            return Ok(address);
        }
        let found = url.socket_addrs(|| None)?;
        let address = found.iter().find(|found| found.is_ipv4()).or(found.first());
        let address = *address.ok_or(io::ErrorKind::AddrNotAvailable)?;
        self.memory().insert(url.authority().to_owned(), address);
        Ok(address)
    }

    fn memory(&self) -> MutexGuard<'_, HashMap<String, SocketAddr>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_strictly_or_leniently() {
        let check = |root: &str, host: &str, expected: [bool; 2]| {
            let url = |host: &str| Url::parse(&format!("http://{host}/")).unwrap();
            let found =
                [false, true].map(|lenient| Hosts::new(lenient, [&url(root)]).allow(&url(host)));
            assert_eq!(found, expected, "{host} from {root}: strict, lenient");
        };
        check("a.test", "a.test", [true, true]);
        check("a.test", "www.a.test:8080", [true, true]);
        check("www.a.test", "a.test", [true, true]);
        check("a.test", "b.a.test", [false, true]);
        check("c.a.test", "b.a.test", [false, true]);
        check("a.test", "b.test", [false, false]);
        check("localhost", "localhost", [true, true]);
        check("127.0.0.1", "127.0.0.1", [true, true]);
        check("127.0.0.1", "127.1.0.1", [false, false]);
        check("127.0.0.1", "a.test", [false, false]);
    }

    #[test]
    fn addresses_are_fixed_or_found() {
        let url = |text: &str| Url::parse(text).unwrap();
        let found = Addresses::default()
            .of(&url("http://127.0.0.1:81/"))
            .unwrap();
        assert_eq!(found.to_string(), "127.0.0.1:81");
        let fixed = Addresses::new("127.0.0.2:9".parse().ok());
        assert_eq!(fixed.of(&url("http://a.test/")).unwrap().port(), 9);
        let error = fixed.of(&url("https://a.test/")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
