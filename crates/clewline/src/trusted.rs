//! Whom a crawl shows its credentials: the origins of its roots, and nobody else.
//!
//! Owns that rule for the crawl and for `inspect` alike. Sets, because a crawl may have as many
//! roots as hosts and asks for every request. A root's origin is its scheme, host and port; https
//! on the same host belongs to it, because a certificate proves the host. Hosts that joined by a
//! root's redirects belong to it within the root's registrable domain. Invariant: a credential
//! of an https root never leaves over plain http.

use std::collections::{HashMap, HashSet};

use clewline_core::domain::{registrable, without_www};
use clewline_core::url::{CrawlUrl, Scheme, host_ip};

use crate::config::{Config, Root};

/// The origins that get the password of `-u` and the fields of `-H`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trusted {
    origins: HashSet<Origin>,
    /// Hosts that are trusted over https, at any port.
    hosts: HashSet<Box<str>>,
    /// The roots' registrable domains, and whether plain http is good enough there.
    domains: HashMap<Box<str>, Plain>,
    /// How many hosts that joined are known here.
    joined: usize,
}

/// Scheme, host (see [`site`]) and port.
type Origin = (Scheme, Box<str>, u16);

/// Whether a root of a domain is asked over plain http.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plain {
    Enough,
    TooLittle,
}

/// What a URL was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is a root, or a hop of a root's own redirects.
    Root,
    /// Anything else.
    Link,
}

impl Trusted {
    /// Those of the roots, unless others wrote them.
    pub(crate) fn for_roots(config: &Config) -> Self {
        if config.scope.foreign_roots {
            Self::default()
        } else {
            Self::new(&config.roots)
        }
    }

    pub(crate) fn new(roots: &[Root]) -> Self {
        let mut trusted = Self::default();
        for root in roots {
            trusted.add(&root.url);
            // A scheme that nobody wrote may become http. On this machine nobody listens.
            if root.guessed_scheme && is_loopback(root.url.host()) {
                trusted.add(&root.url.over_http());
            }
        }
        trusted
    }

    fn add(&mut self, root: &CrawlUrl) {
        let host = site(root.host());
        self.origins
            .insert((root.scheme(), host.into(), root.port()));
        self.hosts.insert(host.into());
        let domain = registrable(root.host());
        let plain = self
            .domains
            .entry(domain.into())
            .or_insert(Plain::TooLittle);
        if root.scheme() == Scheme::Http {
            *plain = Plain::Enough;
        }
    }

    /// Takes note of the hosts that joined the crawl; the list only grows.
    pub(crate) fn join(&mut self, joined: &[CrawlUrl]) {
        for url in joined.iter().skip(self.joined) {
            if self.may_join(url) {
                self.add(url);
            }
        }
        self.joined = joined.len();
    }

    /// Whether a request for this URL may carry credentials.
    pub(crate) fn includes(&self, url: &CrawlUrl, way: Way) -> bool {
        let host = site(url.host());
        (url.scheme() == Scheme::Https && self.hosts.contains(host))
            || self
                .origins
                .contains(&(url.scheme(), host.into(), url.port()))
            || (way == Way::Root && self.may_join(url))
    }

    fn may_join(&self, url: &CrawlUrl) -> bool {
        match self.domains.get(registrable(url.host())) {
            Some(plain) => url.scheme() == Scheme::Https || *plain == Plain::Enough,
            None => false,
        }
    }
}

/// A host as scopes see it: without `www.`, unless that makes it somebody else's.
fn site(host: &str) -> &str {
    if registrable(host) == host {
        host
    } else {
        without_www(host)
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host_ip(host).is_some_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).expect("a URL")
    }

    fn trusted(root: &str) -> Trusted {
        Trusted::new(&[Root::parse(root).expect("a root")])
    }

    fn check(root: &str, way: Way, urls: &[(&str, bool)]) {
        for (text, included) in urls {
            let found = trusted(root).includes(&url(text), way);
            assert_eq!(found, *included, "{root} {way:?} {text}");
        }
    }

    #[test]
    fn roots_that_others_wrote_see_no_credentials() {
        let root = Root::parse("https://a.test/").expect("a root");
        let mut config = Config {
            roots: vec![root],
            ..Config::default()
        };
        let url = url("https://a.test/x");
        assert!(Trusted::for_roots(&config).includes(&url, Way::Root));
        config.scope.foreign_roots = true;
        let mut trusted = Trusted::for_roots(&config);
        trusted.join(std::slice::from_ref(&url));
        assert!(!trusted.includes(&url, Way::Root));
    }

    #[test]
    fn another_scheme_host_or_port_is_another_origin() {
        let urls = [
            ("http://a.test/", true),
            ("https://a.test/deep", true),
            ("https://a.test:444/deep", true),
            ("http://a.test:81/deep", false),
            ("http://www.a.test/deep", true),
            ("http://b.a.test/deep", false),
            ("https://b.test/", false),
        ];
        check("http://a.test/deep", Way::Link, &urls);
        let urls = [("http://a.test/", false), ("https://a.test:81/", true)];
        check("https://a.test/deep", Way::Link, &urls);
    }

    #[test]
    fn a_www_of_somebody_else_is_somebody_else() {
        let urls = [
            ("https://github.io/", true),
            ("https://www.github.io/", false),
        ];
        check("https://github.io/", Way::Link, &urls);
    }

    #[test]
    fn a_roots_redirects_are_told_within_its_domain_and_not_over_plain_http() {
        let urls = [
            ("https://app.a.test/", true),
            ("http://app.a.test/", false),
            ("http://a.test/", false),
            ("https://b.test/", false),
        ];
        check("https://a.test/", Way::Root, &urls);
        check("http://a.test/", Way::Root, &[("http://app.a.test/", true)]);
    }

    #[test]
    fn a_guessed_scheme_is_plain_on_this_machine_only() {
        check(
            "localhost:3000",
            Way::Link,
            &[("http://localhost:3000/", true)],
        );
        check("127.0.0.1:81", Way::Link, &[("http://127.0.0.1:81/", true)]);
        check("a.test", Way::Link, &[("http://a.test/", false)]);
    }

    #[test]
    fn hosts_that_joined_count_within_the_domain() {
        let mut trusted = trusted("https://a.test/");
        let joined = [
            "https://app.a.test/x",
            "https://b.test/",
            "http://c.a.test/",
        ];
        trusted.join(&joined.map(url));
        let told = |text| trusted.includes(&url(text), Way::Link);
        assert!(told("https://app.a.test/y"));
        assert!(!told("https://b.test/"));
        assert!(!told("http://c.a.test/"));
        assert!(!told("https://d.a.test/"));
    }
}
