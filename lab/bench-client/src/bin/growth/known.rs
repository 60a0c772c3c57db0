//! What is known, and what pages link to.
//!
//! Owns made-up URLs by number. The first so many are known; pages bring links to them and to
//! others. Invariant: whether a link is known follows from its number, so that what the frontier
//! counts as new can be compared.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use clewline_core::frontier::{Offer, Offers};
use clewline_core::key::{Key, Keyer};
use clewline_core::link::{Link, LinkKind};
use clewline_core::url::CrawlUrl;
use frontier_alone::keyer;

/// URLs of a host that is known.
const URLS_PER_HOST: u64 = 100;

/// Hosts that new URLs are on, whatever is known: as many as a crawl is busy with.
const BUSY_HOSTS: u64 = 1000;

/// A web of which so many URLs are known.
pub(crate) struct Known {
    keyer: Keyer,
    urls: u64,
    hosts: u64,
    /// URLs that were new and are named now.
    named: u64,
    random: u64,
    text: String,
}

impl Known {
    pub(crate) fn new(urls: u64) -> Self {
        Self {
            keyer: keyer(),
            urls,
            hosts: (urls / URLS_PER_HOST).max(1),
            named: 0,
            random: 1,
            text: String::new(),
        }
    }

    /// Everything that is known.
    pub(crate) fn everything(mut self) -> impl Iterator<Item = CrawlUrl> + Send {
        (0..self.urls).map(move |number| self.known(number))
    }

    /// The keys of everything that is known.
    pub(crate) fn keys(&mut self) -> impl Iterator<Item = Key> {
        (0..self.urls).map(|number| {
            let url = self.known(number);
            self.keyer.key(&url)
        })
    }

    fn known(&mut self, number: u64) -> CrawlUrl {
        self.url("harbour", number % self.hosts, number / self.hosts)
    }

    /// A URL that nobody has named before.
    pub(crate) fn fresh(&mut self) -> CrawlUrl {
        let (host, page) = (self.named % BUSY_HOSTS, self.named / BUSY_HOSTS);
        self.named += 1;
        self.url("meadow", host, page)
    }

    /// What a page names: so many new URLs among others that are known.
    pub(crate) fn named_by_page(&mut self, all: usize, new: usize) -> Vec<CrawlUrl> {
        let every = all / new.max(1);
        let url = |at: usize| {
            let is_new = at.is_multiple_of(every) && at / every < new;
            if is_new { self.fresh() } else { self.popular() }
        };
        (0..all).map(url).collect()
    }

    /// The same as links, with their keys.
    pub(crate) fn links(&mut self, all: usize, new: usize) -> Offers {
        let urls = self.named_by_page(all, new).into_iter();
        let offer = |url| Offer {
            key: self.keyer.key(&url),
            link: Link::new(url, LinkKind::Anchor),
        };
        urls.map(offer).collect()
    }

    /// A known URL on a host by Zipf's law: the chance of the n-th host is as 1/n.
    fn popular(&mut self) -> CrawlUrl {
        let chance = (self.draw() >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = ((self.hosts + 1) as f64).powf(chance) as u64;
        let host = rank.clamp(1, self.hosts) - 1;
        let pages = (self.urls - host).div_ceil(self.hosts);
        let page = self.draw() % pages.max(1);
        self.url("harbour", host, page)
    }

    /// The next random number, made by `SplitMix64`.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn url(&mut self, name: &str, host: u64, page: u64) -> CrawlUrl {
        self.text.clear();
        let written = write!(
            self.text,
            "https://www.{name}{host}.org/chapter-{}/page-{page}.html",
            page % 17
        );
        written.expect("a string takes everything");
        CrawlUrl::parse(&self.text).expect("a made-up URL parses")
    }
}

/// The address of a host: each has its own, in a public network.
pub(crate) fn address(host: &str) -> IpAddr {
    const NETWORK: u32 = 0x1700_0000;
    let digits = host.bytes().filter(u8::is_ascii_digit);
    let number = digits.fold(0, |number: u32, digit| {
        (number * 10 + u32::from(digit - b'0')) % (1 << 24)
    });
    IpAddr::V4(Ipv4Addr::from(NETWORK + number))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn links_are_new_or_known_as_they_should_be() {
        for urls in [1, 99, 5000] {
            let mut known = Known::new(urls);
            let mut seen: HashSet<Key> = known.keys().collect();
            assert_eq!(seen.len() as u64, urls);
            for _ in 0..50 {
                let links = known.links(32, 4);
                let new = links.iter().filter(|offer| seen.insert(offer.key)).count();
                assert_eq!((links.len(), new), (32, 4), "{urls}");
            }
        }
    }
}
