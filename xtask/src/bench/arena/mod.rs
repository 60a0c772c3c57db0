//! Arenas: the servers that contestants are let loose on.
//!
//! Each has a root, a way to tell how many requests it answered and what they cost it, and
//! knows what a whole crawl of it must find.

pub(crate) mod internet;
pub(crate) mod nginx;
pub(crate) mod truth;

use std::collections::{BTreeMap, HashSet};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::Result;

/// Ports that were free a moment ago: some servers cannot be told to take any that is.
fn free_ports() -> Result<[u16; 3]> {
    let listeners = [(); 3].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(listeners) {
        *port = listener?.local_addr()?.port();
    }
    Ok(ports)
}

/// What a run asked for, compared with what it should have asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// What a whole crawl finds: pages of a real site, verdicts of a synthetic one.
    pub(crate) expected: usize,
    /// How many of them were found.
    pub(crate) found: usize,
    /// URLs that no page names.
    pub(crate) strays: usize,
    /// Requests for what had been asked for before.
    pub(crate) repeats: usize,
}

impl Coverage {
    /// Compares the paths of an access log, in order, with those that are linked. Only pages
    /// must be there: some crawlers leave out pictures or guess what is broken. What every
    /// crawler asks for of its own accord is no stray.
    pub(crate) fn new<'a>(
        asked: impl Iterator<Item = &'a str>,
        linked: &BTreeMap<String, u16>,
    ) -> Self {
        const OWN_ACCORD: [&str; 2] = ["/robots.txt", "/sitemap.xml"];
        let is_page = |path: &str| path.ends_with('/') || path.rsplit('.').next() == Some("html");
        let is_found = |path: &str, status: u16| status == 200 && is_page(path);
        let pages = linked
            .iter()
            .filter(|(path, status)| is_found(path, **status));
        let mut coverage = Self {
            expected: pages.count(),
            ..Self::default()
        };
        let mut seen = HashSet::new();
        for path in asked {
            if !seen.insert(path) {
                coverage.repeats += 1;
            } else if let Some(status) = linked.get(path) {
                coverage.found += usize::from(is_found(path, *status));
            } else if !OWN_ACCORD.contains(&path) {
                coverage.strays += 1;
            }
        }
        coverage
    }

    /// The part that was found, at most 1.
    pub(crate) fn recall(&self) -> f64 {
        if self.expected == 0 {
            return 1.0;
        }
        self.found as f64 / self.expected as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_is_counted_once() {
        let linked = [
            ("/", 200),
            ("/a.html", 200),
            ("/b.html", 200),
            ("/c/", 200),
            ("/broken.html", 404),
            ("/p.svg", 200),
        ];
        let linked = linked.map(|(path, status)| (path.to_owned(), status));
        let asked = [
            "/robots.txt",
            "/",
            "/a.html",
            "/a.html",
            "/x",
            "/c/",
            "/broken.html",
        ];
        let coverage = Coverage::new(asked.into_iter(), &linked.into());
        let wanted = Coverage {
            expected: 4,
            found: 3,
            strays: 1,
            repeats: 1,
        };
        assert_eq!(coverage, wanted);
        assert!((coverage.recall() - 0.75).abs() < f64::EPSILON);
    }
}
