//! A made-up web without a network: which links a page brings.
//!
//! Owns what exists: every page brings a hundred links, a third of them new and the others known,
//! until as many URLs as wanted are known. Most new links stay on their page's host; known
//! ones lie on hosts drawn by Zipf's law. It runs on a thread of its own, as the tasks of a crawl
//! do, and remembers one number per host. Invariant: whether a link is new is known beforehand,
//! so that every answer of the frontier can be checked.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use clewline_core::frontier::{JobId, Offers};
use clewline_core::key::Keyer;
use clewline_core::link::{Link, LinkKind};
use clewline_core::url::CrawlUrl;

/// Links of a page.
const LINKS: u64 = 100;
/// One link of so many is new, so that each is offered so often.
const OFFERS: u64 = 3;
/// One new link of so many leads to another host (a median page of the web has 6 such links
/// among 49).
const ABROAD: u64 = 7;

const WORDS: [&str; 16] = [
    "harbour", "meadow", "granite", "lantern", "orchard", "copper", "valley", "signal", "timber",
    "window", "bridge", "letter", "market", "summer", "silver", "winter",
];

/// How much there is to be found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) urls: u64,
    pub(crate) hosts: u64,
    pub(crate) then_hosts: u64,
}

impl Plan {
    /// URLs at the end of the second part, in which every new URL is on a new host.
    pub(crate) const fn all_urls(&self) -> u64 {
        self.urls + self.then_hosts.saturating_sub(self.hosts)
    }
}

/// What a page brought.
pub(crate) struct Brought {
    pub(crate) job: JobId,
    pub(crate) links: Offers,
    /// Links that nobody has offered before.
    pub(crate) new: u32,
    /// Hosts that were met so far.
    pub(crate) hosts: u64,
}

/// Everything that was found so far.
pub(crate) struct Web {
    plan: Plan,
    keyer: Keyer,
    /// Pages known on each host, in the order in which the hosts were met.
    known: Vec<u32>,
    new: u64,
    offered: u64,
    random: u64,
    text: String,
}

impl Web {
    pub(crate) fn new(plan: Plan, keyer: Keyer) -> Self {
        Self {
            plan,
            keyer,
            known: Vec::with_capacity(plan.then_hosts.max(plan.hosts) as usize),
            new: 0,
            offered: 0,
            random: 1,
            text: String::new(),
        }
    }

    /// A web in which nothing is left to be found.
    pub(crate) fn found(plan: Plan, keyer: Keyer) -> Self {
        let offered = OFFERS * plan.all_urls();
        Self {
            offered,
            ..Self::new(plan, keyer)
        }
    }

    /// The first page of a new host.
    pub(crate) fn root(&mut self) -> CrawlUrl {
        self.new += 1;
        self.offered += OFFERS;
        self.known.push(1);
        self.url(self.known.len() - 1, 0)
    }

    /// What a page brings; nothing when all is found.
    pub(crate) fn visit(&mut self, job: JobId, url: &CrawlUrl) -> Brought {
        let host = host_number(url.host());
        let before = self.new;
        let mut links = Offers::default();
        while (links.len() as u64) < LINKS && self.offered < OFFERS * self.plan.all_urls() {
            self.offered += 1;
            let (host, page) = if self.offered.is_multiple_of(OFFERS) {
                self.find(host)
            } else {
                let host = self.popular();
                (host, self.draw() as u32 % self.known[host])
            };
            let url = self.url(host, page);
            let link = Link::new(url, LinkKind::Anchor);
            links.push(link.by_ref(), self.keyer.key(&link.url));
        }
        Brought {
            job,
            links,
            new: (self.new - before) as u32,
            hosts: self.known.len() as u64,
        }
    }

    /// A page that nobody has named yet.
    fn find(&mut self, at_home: usize) -> (usize, u32) {
        self.new += 1;
        let met = self.known.len() as u64;
        let is_abroad = self.new.is_multiple_of(ABROAD);
        // All hosts have been met when all URLs of the first part are known.
        let is_due = met < self.plan.hosts && met * self.plan.urls < self.new * self.plan.hosts;
        if self.new > self.plan.urls || (is_abroad && is_due) {
            self.known.push(1);
            return (met as usize, 0);
        }
        let host = if is_abroad { self.popular() } else { at_home };
        self.known[host] += 1;
        (host, self.known[host] - 1)
    }

    /// A host by Zipf's law: the chance of the n-th that was met is as 1/n.
    fn popular(&mut self) -> usize {
        let chance = (self.draw() >> 11) as f64 / (1u64 << 53) as f64;
        let met = self.known.len();
        let rank = ((met + 1) as f64).powf(chance) as usize;
        rank.clamp(1, met) - 1
    }

    /// The next random number, made by `SplitMix64`.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        spread(self.random)
    }

    fn url(&mut self, host: usize, page: u32) -> CrawlUrl {
        let word = |number: u64| WORDS[number as usize % WORDS.len()];
        let mixed = spread(((host as u64) << 32) | u64::from(page));
        self.text.clear();
        let written = write!(
            self.text,
            "https://www.{}{host}.org/{}/20{:02}/{}-{}-{page}.html",
            word(host as u64),
            word(u64::from(page) / 256),
            u64::from(page) / 64 % 25,
            word(mixed),
            word(mixed >> 8),
        );
        written.expect("a string takes everything");
        CrawlUrl::parse(&self.text).expect("a made-up URL parses")
    }
}

fn spread(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn host_number(host: &str) -> usize {
    let digits = host.bytes().filter(u8::is_ascii_digit);
    digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
}

/// The address of a host: each has its own, in a public network.
pub(crate) fn address(host: &str) -> IpAddr {
    const NETWORK: u32 = 0x1700_0000;
    IpAddr::V4(Ipv4Addr::from(
        NETWORK + host_number(host) as u32 % (1 << 24),
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_brings_what_it_says() {
        let plan = Plan {
            urls: 5000,
            hosts: 50,
            then_hosts: 400,
        };
        let mut web = Web::new(plan, Keyer::new(1, &[]));
        let mut urls: Vec<CrawlUrl> = (0..5).map(|_| web.root()).collect();
        let mut seen: BTreeSet<String> = urls.iter().map(ToString::to_string).collect();
        let mut offered = 5 * OFFERS;
        for page in 0.. {
            let brought = web.visit(JobId(page), &urls[page as usize]);
            if brought.links.is_empty() {
                break;
            }
            offered += brought.links.len() as u64;
            let before = urls.len();
            for offer in brought.links.iter() {
                if seen.insert(offer.link.url.to_string()) {
                    urls.push(offer.link.url.to_owned());
                }
            }
            assert_eq!(urls.len() - before, brought.new as usize, "page {page}");
        }
        let hosts: BTreeSet<&str> = urls.iter().map(CrawlUrl::host).collect();
        assert_eq!((urls.len(), hosts.len(), offered), (5350, 400, 3 * 5350));
    }
}
