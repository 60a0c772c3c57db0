//! What is asked of foreign hosts, and how long that may take.
//!
//! Owns the order, the bound for each host and the one line that is said before. It refuses to ask.
//! Invariants: each URL is asked once, however many pages link to it; hosts with most left come
//! first, since they decide when the check ends. A host that fails is left after some of its links, so
//! that each run begins with others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clewline_core::politeness::{Politeness, Rate};
use clewline_core::url::CrawlUrl;
use clewline_job::config::PolitenessConfig;
use clewline_job::report::figures;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What is wanted of an external URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProbeWish {
    /// Hashes of the ids that links want there, as they are written and decoded.
    pub(crate) ids: BTreeSet<u64>,
}

/// External URLs by host.
#[derive(Debug, Default)]
pub(crate) struct ProbePlan {
    /// What is asked, hosts with most URLs first.
    pub(crate) urls: Vec<CrawlUrl>,
    /// How many stay unchecked, since their host has too many.
    left_out: usize,
    hosts: usize,
    /// The host with most URLs, and how many.
    slowest: Option<(String, usize)>,
}

impl ProbePlan {
    /// Orders URLs and bounds them for each host. URLs of a host have another order for each `turn`.
    pub(crate) fn new(
        urls: impl IntoIterator<Item = CrawlUrl>,
        most_per_host: usize,
        turn: impl Fn(&CrawlUrl) -> u64,
    ) -> Self {
        let mut by_host: BTreeMap<String, BTreeMap<String, CrawlUrl>> = BTreeMap::new();
        for url in urls {
            let of_host = by_host.entry(url.host().to_owned()).or_default();
            of_host.insert(url.as_str().to_owned(), url);
        }
        let mut hosts: Vec<(String, Vec<CrawlUrl>)> = by_host
            .into_iter()
            .map(|(host, urls)| {
                let mut urls: Vec<CrawlUrl> = urls.into_values().collect();
                urls.sort_by_cached_key(|url| {
                    xxh3_64_with_seed(url.as_str().as_bytes(), turn(url))
                });
                (host, urls)
            })
            .collect();
        hosts.sort_by_key(|(_, urls)| std::cmp::Reverse(urls.len()));
        let mut plan = Self {
            hosts: hosts.len(),
            ..Self::default()
        };
        for (host, mut urls) in hosts {
            plan.left_out += urls.len().saturating_sub(most_per_host);
            urls.truncate(most_per_host);
            if plan.slowest.is_none() && !urls.is_empty() {
                plan.slowest = Some((host, urls.len()));
            }
            plan.urls.append(&mut urls);
        }
        plan
    }

    /// `external: 4,812 links on 311 hosts, about 6 min; slowest github.com`.
    pub(crate) fn told(&self, pace: &PolitenessConfig, concurrency: u32) -> String {
        let links = figures::plural(self.urls.len() as u64, "link");
        let hosts = figures::plural(self.hosts as u64, "host");
        let time = about(self.estimate(pace, concurrency));
        let mut told = format!("external: {links} on {hosts}, {time}");
        if let Some((host, _)) = self.slowest.as_ref().filter(|(_, count)| *count > 1) {
            told = format!("{told}; slowest {host}");
        }
        if self.left_out > 0 {
            let more = figures::count(self.left_out as u64);
            told = format!("{told}; {more} more stay unchecked (--max-external-per-host)");
        }
        told
    }

    /// How long the probes take at this pace: as long as the largest host, and no shorter than all
    /// of them side by side.
    fn estimate(&self, pace: &PolitenessConfig, concurrency: u32) -> Duration {
        let gap = gap(pace);
        let largest = self.slowest.as_ref().map_or(0, |(_, count)| *count);
        // Each host is asked for its robots.txt as well.
        let of_largest = (gap + USUAL_ANSWER) * (largest as u32 + 1);
        let requests = (self.urls.len() + self.hosts) as u32;
        let of_all = USUAL_ANSWER * requests / concurrency.max(1);
        of_largest.max(of_all)
    }
}

/// What a foreign host usually takes to answer.
const USUAL_ANSWER: Duration = Duration::from_millis(250);

/// The time between two requests to a host.
fn gap(pace: &PolitenessConfig) -> Duration {
    if let Some(delay) = pace.delay {
        return delay;
    }
    let rate = pace.rate.filter(|rate| *rate > 0.0).or_else(|| {
        let politeness = Politeness::for_speed(pace.speed.unwrap_or_default());
        politeness.host.first_rate.map(Rate::number)
    });
    rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(rate.recip()))
}

fn about(time: Duration) -> String {
    match time.as_secs() {
        0..60 => "less than a minute".to_owned(),
        seconds @ 60..5400 => format!("about {} min", seconds.div_ceil(60)),
        seconds => format!("about {} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use clewline_job::config::Speed;

    use super::*;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    #[test]
    fn each_url_is_asked_once_and_large_hosts_come_first() {
        let urls = [
            "https://a.test/1",
            "https://b.test/1",
            "https://b.test/2",
            "https://b.test/1",
            "https://b.test/3",
        ];
        let plan = ProbePlan::new(urls.map(url), 2, |_| 0);
        let asked: Vec<&str> = plan.urls.iter().map(CrawlUrl::host).collect();
        assert_eq!(asked, ["b.test", "b.test", "a.test"]);
        assert_ne!(plan.urls[0], plan.urls[1]);
        let told = plan.told(&PolitenessConfig::default(), 100);
        assert!(told.contains("; 1 more stay unchecked"), "{told}");
    }

    #[test]
    fn each_run_begins_with_other_links_of_a_host() {
        let urls = (0..100).map(|number| url(&format!("https://a.test/{number}")));
        let first = |turn| {
            let plan = ProbePlan::new(urls.clone(), 100, |_| turn);
            assert_eq!(plan.urls.len(), 100);
            plan.urls[..8].to_vec()
        };
        assert_eq!(first(1), first(1));
        let again = first(2);
        let same = first(1).iter().filter(|url| again.contains(url)).count();
        assert!(same < 4, "{same} of 8");
    }

    #[test]
    fn the_estimate_is_that_of_the_largest_host() {
        let check = |count: usize, pace: &PolitenessConfig, expected: &str| {
            let urls = (0..count).map(|number| url(&format!("https://big.test/{number}")));
            let plan = ProbePlan::new(urls.chain([url("https://small.test/")]), 10_000, |_| 0);
            assert_eq!(plan.told(pace, 100), expected);
        };
        let polite = PolitenessConfig::default();
        let max = PolitenessConfig {
            speed: Some(Speed::Max),
            ..PolitenessConfig::default()
        };
        let slow = PolitenessConfig {
            delay: Some(Duration::from_secs(10)),
            ..PolitenessConfig::default()
        };
        let of = "external: 501 links on 2 hosts";
        check(
            500,
            &polite,
            &format!("{of}, about 7 min; slowest big.test"),
        );
        check(500, &max, &format!("{of}, about 3 min; slowest big.test"));
        check(500, &slow, &format!("{of}, about 86 min; slowest big.test"));
        check(1, &max, "external: 2 links on 2 hosts, less than a minute");
    }
}
