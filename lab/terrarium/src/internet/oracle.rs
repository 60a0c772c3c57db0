//! The oracle: what a correct crawl must find, computed without crawling.
//!
//! Owns the walk over the generated graph and the verdict on each URL. It asks the world alone;
//! no byte is served or parsed. Invariant: it terminates, because every trap ends at one of the
//! bounds that the rules state.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;

use super::world::{Fate, How, Link, Reaction, Resource, SitemapKind, Spot, World};

/// How far a crawl goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OracleScope {
    /// Wherever links lead.
    #[default]
    Any,
    /// Only the roots' hosts.
    RootHosts,
}

/// The rules of the crawl that is foretold; the defaults are those of a polite crawler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OracleRules {
    /// How far it goes.
    pub scope: OracleScope,
    /// Longest URL that it takes, in bytes.
    pub url_length: usize,
    /// How often one path segment may occur in a URL.
    pub repeated_segments: usize,
    /// Hops of a redirect that it follows.
    pub redirects: u32,
    /// Whether it reads the sitemaps that robots.txt lists.
    pub sitemaps: bool,
    /// Whether it keeps cookies.
    pub cookies: bool,
}

impl Default for OracleRules {
    fn default() -> Self {
        Self {
            scope: OracleScope::Any,
            url_length: 8192,
            repeated_segments: 3,
            redirects: 10,
            sitemaps: true,
            cookies: true,
        }
    }
}

/// What must become of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expectation {
    /// It is fetched and has this status.
    Fetched {
        /// The status of the last try.
        status: u16,
    },
    /// It redirects.
    Redirected {
        /// The target.
        to: String,
    },
    /// robots.txt forbids it, or cannot be read, which means the same.
    RobotsDenied,
    /// Its host does not exist.
    NoSuchHost,
    /// Its host cannot be reached, for this reason.
    Unreachable(&'static str),
    /// No answer of its own is ever sound, for this reason.
    Failed(&'static str),
}

impl fmt::Display for Expectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetched { status } => write!(formatter, "fetched {status}"),
            Self::Redirected { to } => write!(formatter, "redirected to {to}"),
            Self::RobotsDenied => formatter.write_str("robots-denied"),
            Self::NoSuchHost => formatter.write_str("no-such-host"),
            Self::Unreachable(why) => write!(formatter, "unreachable: {why}"),
            Self::Failed(why) => write!(formatter, "failed: {why}"),
        }
    }
}

/// Every URL that the crawl must meet.
pub(crate) fn foretell(world: &World, rules: &OracleRules) -> BTreeMap<String, Expectation> {
    let mut expected = BTreeMap::new();
    walk(world, rules, |url, expectation| {
        expected.insert(url, expectation);
    });
    expected
}

/// Tells of each URL once, in no order that matters. Memory goes with the number of URLs, not
/// with their text.
pub(crate) fn walk(world: &World, rules: &OracleRules, tell: impl FnMut(String, Expectation)) {
    let mut walk = Walk {
        world,
        rules,
        tell,
        queue: VecDeque::new(),
        known: HashSet::new(),
        read_robots: HashSet::new(),
        roots: world.roots().iter().map(|root| root.host.0).collect(),
    };
    for root in world.roots() {
        walk.admit(root, rules.redirects);
    }
    while let Some((spot, hops)) = walk.queue.pop_front() {
        walk.visit(spot, hops);
    }
}

struct Walk<'a, T> {
    world: &'a World,
    rules: &'a OracleRules,
    tell: T,
    queue: VecDeque<(Spot, u32)>,
    known: HashSet<Spot>,
    read_robots: HashSet<u32>,
    roots: HashSet<u32>,
}

impl<T: FnMut(String, Expectation)> Walk<'_, T> {
    fn admit(&mut self, spot: Spot, hops: u32) {
        let out_of_scope =
            self.rules.scope == OracleScope::RootHosts && !self.roots.contains(&spot.host.0);
        if out_of_scope || self.known.contains(&spot) {
            return;
        }
        // Ordinary pages are short and do not repeat themselves.
        let is_suspect = !matches!(spot.resource, Resource::Page(_) | Resource::Copy(_));
        if is_suspect && self.is_refused(spot) {
            return;
        }
        self.known.insert(spot);
        self.queue.push_back((spot, hops));
    }

    fn is_refused(&self, spot: Spot) -> bool {
        let url = self.world.url(spot);
        let mut path = Vec::new();
        self.world
            .write_path(&self.world.host(spot.host), spot.resource, &mut path);
        let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
        let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
        for segment in path
            .split(|byte| *byte == b'/')
            .filter(|part| !part.is_empty())
        {
            *counts.entry(segment).or_default() += 1;
        }
        let most = counts.values().max().copied().unwrap_or(0);
        url.len() > self.rules.url_length || most > self.rules.repeated_segments
    }

    fn visit(&mut self, spot: Spot, hops: u32) {
        let expectation = self.verdict(spot, hops);
        (self.tell)(self.world.url(spot), expectation);
    }

    fn verdict(&mut self, spot: Spot, hops: u32) -> Expectation {
        let world = self.world;
        let host = world.host(spot.host);
        match host.fate {
            Fate::Open => {}
            Fate::NoSuchName => return Expectation::NoSuchHost,
            Fate::NameServerFails | Fate::NameServerSilent => {
                return Expectation::Unreachable("dns");
            }
            Fate::Refused => return Expectation::Unreachable("connect"),
            Fate::BadCertificate => return Expectation::Unreachable("certificate"),
            Fate::Closed | Fate::RobotsBroken => return Expectation::RobotsDenied,
        }
        if self.read_robots.insert(spot.host.0)
            && self.rules.sitemaps
            && host.sitemap != SitemapKind::None
        {
            let sitemap = Spot {
                secure: host.secure,
                resource: Resource::Sitemap(0),
                ..spot
            };
            self.admit(sitemap, self.rules.redirects);
        }
        let mut path = Vec::new();
        world.write_path(&host, spot.resource, &mut path);
        if World::denies(&host, &path) {
            return Expectation::RobotsDenied;
        }
        match world.reaction(&host, spot, false) {
            Reaction::Moved(_, to) => {
                if hops > 0 {
                    self.admit(to, hops - 1);
                }
                // A cookie opens the wall, and the page behind it is fetched after all.
                if spot.resource == Resource::Wall
                    && self.rules.cookies
                    && spot.secure == host.secure
                {
                    return Expectation::Fetched { status: 200 };
                }
                let to = world.url(to);
                Expectation::Redirected { to }
            }
            Reaction::Ailing(ailment) => match ailment.end() {
                Some(status) => Expectation::Fetched { status },
                None => Expectation::Failed(ailment.about()),
            },
            Reaction::Content(status) => {
                if status == 200 {
                    self.follow(&host, spot.resource);
                }
                Expectation::Fetched { status }
            }
        }
    }

    fn follow(&mut self, host: &super::world::Host, resource: Resource) {
        let mut links: Vec<Link> = Vec::new();
        self.world.links(host, resource, &mut links);
        for link in links.iter().filter(|link| link.how != How::Nofollow) {
            self.admit(link.to, self.rules.redirects);
        }
    }
}
