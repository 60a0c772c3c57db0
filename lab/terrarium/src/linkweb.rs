//! A site whose links lead to thousands of foreign hosts, some of them dead and many only odd.
//!
//! Owns start and stop, what tests see of it, and the referee of the foreign hosts. `hosts` says how
//! each host behaves, `truth` what is true of each link, `pages` what is served. Invariants: everything
//! follows from the seed; a link that is called live is alive to whoever asks with GET and waits when
//! it is told to; one that is called dead is dead to everybody, always.

mod hosts;
mod pages;
mod truth;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::referee::Hit;
use crate::site::{Door, Site};
use crate::tls::Certificate;
use crate::web::{LiveWeb, Web};

use hosts::LinkShape;
pub use truth::{FragmentTruth, LinkDeath, LinkTruth, WebLink};

/// The host of the site that is checked.
const SITE: &str = "www.linkweb.test";
/// How long a host that limits its rate wants to be left alone.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);
/// How much too early a request may come after a pause.
const TOLERANCE: Duration = Duration::from_millis(100);

/// What a link web is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkWebConfig {
    /// Pages of the site.
    pub pages: u32,
    /// Links that lead away, each to a URL of its own.
    pub links: u32,
    /// Foreign hosts.
    pub hosts: u32,
    /// The same seed makes the same web.
    pub seed: u64,
}

impl Default for LinkWebConfig {
    fn default() -> Self {
        Self {
            pages: 2_000,
            links: 20_000,
            hosts: 3_000,
            seed: 1,
        }
    }
}

/// A link web about to start.
#[derive(Debug)]
pub struct LinkWeb {
    config: LinkWebConfig,
}

/// A running link web. Dropping it stops everything.
pub struct LiveLinkWeb {
    web: LiveWeb,
    shape: Arc<LinkShape>,
}

/// A request that a host did not want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkBreach {
    /// The host.
    pub host: String,
    /// What was wrong, in words.
    pub what: String,
}

/// The ports of the foreign hosts, known once they listen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LinkPorts {
    pub(crate) live: u16,
    pub(crate) certificate: u16,
    pub(crate) refused: u16,
    pub(crate) reset: u16,
}

impl LinkWeb {
    /// A web made from this.
    pub fn new(config: LinkWebConfig) -> Self {
        Self { config }
    }

    /// Starts it.
    ///
    /// # Panics
    /// When a socket cannot be bound or a thread not be started.
    pub fn start(self) -> LiveLinkWeb {
        let ports = Arc::new(OnceLock::new());
        let shape = Arc::new(LinkShape::new(self.config, Arc::clone(&ports)));
        let (site, live) = (Arc::clone(&shape), Arc::clone(&shape));
        let secure = || Site::new().certificate(Certificate::WrongHost);
        let web = Web::new()
            .site(
                SITE,
                Site::new().handler(move |request| site.site_page(request)),
            )
            .site(
                "*.test",
                Site::new().handler(move |request| live.foreign_page(request)),
            )
            .site("*.certificate", secure())
            .site("*.refused", Site::new().door(Door::Refused))
            .site("*.reset", Site::new().door(Door::Reset))
            .start();
        let port = |name: &str| web.addr(name).port();
        let known = LinkPorts {
            live: port("*.test"),
            certificate: web.tls_addr("*.certificate").port(),
            refused: port("*.refused"),
            reset: port("*.reset"),
        };
        ports.set(known).expect("ports are set once, here");
        LiveLinkWeb { web, shape }
    }
}

impl LiveLinkWeb {
    /// The first page of the site.
    pub fn root(&self) -> String {
        self.web.url(SITE, "/")
    }

    /// Where the name server listens (UDP).
    pub fn dns_addr(&self) -> SocketAddr {
        self.web.dns_addr()
    }

    /// Where an HTTP proxy listens that knows all names.
    pub fn http_proxy(&self) -> SocketAddr {
        self.web.http_proxy()
    }

    /// The certificate of the web's own authority, to be trusted by the client.
    pub fn ca_pem(&self) -> &str {
        self.web.ca_pem()
    }

    /// Every link that leads away, with what is true of it.
    pub fn links(&self) -> Vec<WebLink> {
        let numbers = 0..self.shape.config().links;
        numbers.map(|number| self.shape.link(number)).collect()
    }

    /// The names of the site and of all hosts that links lead to and that exist, with their addresses:
    /// for clients that can be told names by a file only.
    pub fn names(&self, links: &[WebLink]) -> BTreeMap<String, IpAddr> {
        let mut names = BTreeMap::from([(SITE.to_owned(), self.web.addr(SITE).ip())]);
        for link in links {
            let rest = link.url.split("://").nth(1).unwrap_or_default();
            let host = rest.split([':', '/']).next().unwrap_or_default();
            let address = match host.rsplit('.').next() {
                Some("test") => self.web.addr("*.test"),
                Some("certificate") => self.web.tls_addr("*.certificate"),
                Some("refused") => self.web.addr("*.refused"),
                Some("reset") => self.web.addr("*.reset"),
                _ => continue,
            };
            names.insert(host.to_owned(), address.ip());
        }
        names
    }

    /// How many requests the foreign hosts got.
    pub fn requests(&self) -> usize {
        self.foreign_hits().values().map(Vec::len).sum()
    }

    /// What was asked of hosts that did not want it: more than one request at once, what robots.txt
    /// forbids, or anything during a pause that the host asked for.
    pub fn breaches(&self) -> Vec<LinkBreach> {
        let mut breaches = Vec::new();
        for (host, hits) in self.foreign_hits() {
            let mut breach = |what: String| {
                breaches.push(LinkBreach {
                    host: host.clone(),
                    what,
                });
            };
            if let Some(most) = hits.iter().map(|hit| hit.concurrent_for_host).max()
                && most > 1
            {
                breach(format!("{most} requests at once"));
            }
            let forbidden = hits
                .iter()
                .filter(|hit| self.shape.forbids(&host, hit.path()));
            for hit in forbidden {
                breach(format!("robots.txt forbids {}", hit.path()));
            }
            for pair in hits.windows(2) {
                let [first, second] = pair else { continue };
                let until = first.done_at.unwrap_or(first.at) + PAUSE;
                if first.status == Some(429) && second.at + TOLERANCE < until {
                    breach(format!("{} during a pause", second.path()));
                }
            }
        }
        breaches
    }

    /// The requests to each foreign host, in their order.
    fn foreign_hits(&self) -> BTreeMap<String, Vec<Hit>> {
        let mut hits: BTreeMap<String, Vec<Hit>> = BTreeMap::new();
        for hit in &self.web.log() {
            if hit.host != SITE {
                hits.entry(hit.host.clone()).or_default().push(hit.clone());
            }
        }
        hits
    }
}
