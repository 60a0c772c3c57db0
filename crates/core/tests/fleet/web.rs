//! A web that is the same whoever asks: what each URL answers, and what a crawl must find in it.
//!
//! Owns the answers and the oracle, which is a walk without any of the core's frontier.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use clewline_core::frontier::{Answer, Ending, Look, Work};
use clewline_core::key::Keyer;
use clewline_core::link::{Link, LinkKind};
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;

/// The delay that the robots.txt of every fifth domain asks for.
pub(crate) const CRAWL_DELAY: Duration = Duration::from_secs(3);

/// The web of one run.
#[derive(Debug, Clone)]
pub(crate) struct Web {
    pub(crate) seed: u64,
    pub(crate) hosts: u64,
    pub(crate) pages: u64,
    /// Only hosts of roots, and those that their redirects lead to, belong to the crawl.
    pub(crate) roots_hosts_only: bool,
}

/// What a path of the web is.
enum Kind {
    Page(Vec<String>),
    Redirect(String),
    Sitemap(Vec<String>),
    Missing,
}

fn mix(one: u64, other: u64) -> u64 {
    let mixed = (one ^ other.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 13
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).expect("it is a URL")
}

impl Web {
    /// Two hosts to a domain.
    fn host(&self, number: u64) -> String {
        let number = number % self.hosts;
        format!("h{number}.d{}.test", number / 2)
    }

    fn number(host: &str) -> u64 {
        let digits = host[1..].split('.').next();
        digits
            .and_then(|digits| digits.parse().ok())
            .expect("h{number}")
    }

    fn page(&self, host: u64, page: u64) -> String {
        format!("http://{}/{}", self.host(host), page % self.pages)
    }

    /// The roots; the first one redirects twice, over other domains.
    pub(crate) fn roots(&self) -> Vec<CrawlUrl> {
        vec![
            url(&format!("http://{}/to/4", self.host(0))),
            url(&self.page(2, 0)),
        ]
    }

    /// Eight hosts of different domains share an address.
    pub(crate) fn address(host: &str) -> IpAddr {
        let number = Self::number(host);
        if number.is_multiple_of(4) {
            Ipv4Addr::new(93, 0, 0, 1).into()
        } else {
            Ipv4Addr::new(94, 0, (number >> 8) as u8, number as u8).into()
        }
    }

    pub(crate) fn delay_of(&self, host: &str) -> Duration {
        if self.robots_of(Self::number(host)).contains("delay") {
            CRAWL_DELAY
        } else {
            Duration::ZERO
        }
    }

    /// The robots.txt of a host, after its redirects.
    fn robots_of(&self, host: u64) -> String {
        match host % 10 {
            1 => "User-agent: *\nDisallow: /1".into(),
            4 | 5 => format!("User-agent: *\nCrawl-delay: {}", CRAWL_DELAY.as_secs()),
            7 => format!("Sitemap: http://{}/list.xml", self.host(host + 5)),
            _ => String::new(),
        }
    }

    /// The robots.txt of every tenth host lies in another domain.
    fn robots_hop(&self, host: u64) -> Option<String> {
        (host % 10 == 8).then(|| format!("http://{}/robots.txt", self.host(host + 3)))
    }

    fn at(&self, url: &CrawlUrl) -> Kind {
        let host = Self::number(url.host());
        let path = &url.path()[1..];
        if let Some(rest) = path.strip_prefix("to/") {
            let left: u64 = rest.parse().expect("a number");
            return Kind::Redirect(if left > 2 {
                format!("http://{}/to/{}", self.host(host + 3), left - 2)
            } else {
                self.page(host + 3, 0)
            });
        }
        if path == "list.xml" {
            return Kind::Sitemap(vec![self.page(host, 1), self.page(host + 7, 2)]);
        }
        let Ok(page) = path.parse::<u64>() else {
            return Kind::Missing;
        };
        let mut chance = mix(self.seed, mix(host, page));
        let mut roll = |sides: u64| {
            chance = mix(chance, sides);
            chance % sides
        };
        let mut links = Vec::new();
        for _ in 0..roll(6) {
            links.push(self.page(roll(self.hosts), roll(self.pages)));
        }
        if roll(4) == 0 {
            links.push(format!("http://{}/to/{}", self.host(host), 2 * roll(3)));
        }
        // The next page of the host, and the next host, so that most is reachable.
        links.push(self.page(host, page + 1));
        links.push(self.page(host + 1, page));
        Kind::Page(links)
    }

    fn robots_text(&self, url: &CrawlUrl) -> (u16, String) {
        let host = Self::number(url.host());
        match self.robots_hop(host) {
            Some(target) => (302, target),
            None => (200, self.robots_of(host)),
        }
    }

    /// How a job ends.
    pub(crate) fn answer(&self, work: &Work, keyer: &Keyer) -> Ending {
        let mut answer = Answer {
            status: 200,
            first_byte: Duration::from_millis(30),
            wire: 100,
            ..Answer::default()
        };
        match work {
            Work::Resolve { url } => {
                return Ending::Resolved {
                    addresses: vec![Self::address(url.host())],
                    ttl: Duration::from_mins(10),
                    trusted: false,
                };
            }
            Work::Robots { url: asked, .. } => match self.robots_text(asked) {
                (200, text) => {
                    let robots = Robots::parse(text.as_bytes(), &["clewline"]);
                    answer.robots = Some(Box::new(robots));
                }
                (status, target) => {
                    answer.status = status;
                    answer.location = Some(url(&target));
                }
            },
            Work::Page { url: asked, .. } | Work::Errand { url: asked, .. } => {
                let (links, kind) = match self.at(asked) {
                    Kind::Page(links) => (links, LinkKind::Anchor),
                    Kind::Sitemap(links) => (links, LinkKind::Sitemap),
                    Kind::Redirect(target) => {
                        answer.status = 302;
                        answer.location = Some(url(&target));
                        (Vec::new(), LinkKind::Anchor)
                    }
                    Kind::Missing => {
                        answer.status = 404;
                        (Vec::new(), LinkKind::Anchor)
                    }
                };
                for target in links {
                    let link = Link::new(url(&target), kind);
                    answer.links.push(link.by_ref(), keyer.key(&link.url));
                }
                // All pages of a host say one of two things.
                let piece = mix(Self::number(asked.host()), asked.path().len() as u64) as u32;
                answer.look = Some(Box::new(Look {
                    pieces: vec![piece],
                    text: u64::from(piece) << 32,
                    links: 0,
                    cost: 1,
                }));
            }
        }
        Ending::Answered(Box::new(answer))
    }

    /// The hosts that belong to the crawl, if not all do.
    fn scope(&self) -> Option<HashSet<String>> {
        if !self.roots_hosts_only {
            return None;
        }
        let mut hosts = HashSet::new();
        for root in self.roots() {
            hosts.insert(root.host().to_owned());
            let mut at = root;
            while let Kind::Redirect(target) = self.at(&at) {
                at = url(&target);
            }
            hosts.insert(at.host().to_owned());
        }
        Some(hosts)
    }

    /// The roots, and what their redirects lead to.
    fn led_to(&self) -> BTreeSet<String> {
        let mut led_to = BTreeSet::new();
        for root in self.roots() {
            let mut at = root;
            led_to.insert(at.to_string());
            while let Kind::Redirect(target) = self.at(&at) {
                at = url(&target);
                led_to.insert(at.to_string());
            }
        }
        led_to
    }

    /// The pages whose host is asked for its sitemap: roots, and the ends of their redirects. Such
    /// an end may have been found as a link before, and then it is known and no root. The order
    /// decides that, with and without a fleet, so `as_roots` says as what pages were settled.
    fn with_sitemap(&self, as_roots: &BTreeSet<String>) -> BTreeSet<String> {
        let led_to = self.led_to();
        let roots = self.roots().into_iter().map(|root| root.to_string());
        roots
            .chain(led_to.intersection(as_roots).cloned())
            .collect()
    }

    /// Every URL that a crawl settles, roots and what they lead to, if it settled these as roots.
    pub(crate) fn reachable(&self, as_roots: &BTreeSet<String>) -> BTreeSet<String> {
        let with_sitemap = self.with_sitemap(as_roots);
        let scope = self.scope();
        let is_in =
            |target: &CrawlUrl| scope.as_ref().is_none_or(|all| all.contains(target.host()));
        let mut found = BTreeSet::new();
        let mut asked_robots = HashSet::new();
        let mut queue: VecDeque<(CrawlUrl, bool)> =
            self.roots().into_iter().map(|root| (root, true)).collect();
        while let Some((at, root)) = queue.pop_front() {
            if !found.insert(at.to_string()) {
                continue;
            }
            let host = Self::number(at.host());
            // The rules and the sitemap are those that its robots.txt leads to.
            let rules_of = if self.robots_hop(host).is_some() {
                (host + 3) % self.hosts
            } else {
                host
            };
            let rules_of = if self.robots_hop(rules_of).is_some() {
                (rules_of + 3) % self.hosts
            } else {
                rules_of
            };
            let robots = Robots::parse(self.robots_of(rules_of).as_bytes(), &["clewline"]);
            if asked_robots.insert(host) {
                for sitemap in robots.sitemaps() {
                    let sitemap = url(sitemap);
                    if is_in(&sitemap) {
                        queue.push_back((sitemap, false));
                    }
                }
            }
            if !robots.verdict(at.path_and_query()).allowed {
                continue;
            }
            let targets = match self.at(&at) {
                Kind::Redirect(target) => {
                    let target = url(&target);
                    if root || is_in(&target) {
                        queue.push_back((target, root));
                    }
                    continue;
                }
                Kind::Page(links) | Kind::Sitemap(links) => links,
                Kind::Missing => continue,
            };
            if with_sitemap.contains(&at.to_string()) && robots.sitemaps().is_empty() {
                queue.push_back((at.with_path("/sitemap.xml"), false));
            }
            let targets = targets.iter().map(|target| url(target));
            queue.extend(targets.filter(is_in).map(|target| (target, false)));
        }
        found
    }
}
