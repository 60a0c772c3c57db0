//! What a frontier waits for, summed up for people.
//!
//! Owns the reading of lanes: how much waits on which host, for what, and how long that takes at
//! the least under the politeness in force. It changes nothing and decides nothing. One summary
//! looks at every active lane, so whoever asks often keeps the last answer for a while.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lane::{Addresses, Lane, OriginRobots};
use super::pace::Moment;
use super::store::Store;
use super::{Frontier, Origin};
use crate::address::nearness;
use crate::key::HostId;
use crate::politeness::{GroupPace, Rate};
use crate::url::CrawlUrl;

#[cfg(test)]
mod tests;

/// What a URL waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// Requests of its host that are under way.
    InFlight,
    /// The addresses of its host.
    Name,
    /// Its host's robots.txt, which is being fetched or will be tried again.
    Robots,
    /// The end of a time in which its host is left alone, after trouble or a Retry-After.
    Parked,
    /// The Crawl-delay of its host's robots.txt.
    CrawlDelay,
    /// The delay that the user asked for.
    Delay,
    /// The rate per host.
    Rate,
    /// The limits of its registrable domain or of its address.
    Shared,
    /// A budget of pages.
    Budget,
    /// The level before its own.
    Level,
    /// Nothing of its host's: its turn, and room for another request.
    Turn,
    /// A place among the active hosts.
    Place,
}

/// How one host stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostSummary {
    /// The host.
    pub host: Box<str>,
    /// URLs that wait or are in flight.
    pub queued: u64,
    /// There may be more: some of them lie in the store, uncounted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Requests in flight.
    pub in_flight: u32,
    /// Pages fetched.
    pub pages: u64,
    /// Seconds between two requests, as it stands now.
    #[serde(with = "seconds")]
    pub interval: Duration,
    /// What the next of its URLs waits for.
    pub cause: Cause,
    /// Seconds until that ends, where it is known.
    #[serde(
        with = "maybe_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub until: Option<Duration>,
    /// Seconds that its queue takes at the least.
    #[serde(with = "seconds")]
    pub left: Duration,
}

/// How many URLs wait for the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// What they wait for.
    pub cause: Cause,
    /// How many.
    pub urls: u64,
    /// On how many hosts.
    pub hosts: u64,
    /// The host with the most of them; empty where none is active.
    pub host: Box<str>,
}

/// What a frontier waits for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FrontierSummary {
    /// The hosts with the longest queues, the longest first.
    pub hosts: Vec<HostSummary>,
    /// What URLs wait for, the most frequent first.
    pub waits: Vec<Wait>,
    /// Seconds that everything known takes at the least.
    #[serde(with = "seconds")]
    pub left: Duration,
    /// The host that takes longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<Box<str>>,
}

impl<S: Store> Frontier<S> {
    /// Sums up all active lanes, and names the `most` hosts with the longest queues.
    pub fn summary(&self, now: Moment, most: usize) -> FrontierSummary {
        let mut sums = Sums::default();
        let counted: u64 = self.lanes.values().map(|lane| known_queue(lane)).sum();
        let elsewhere = self.counts.todo().saturating_sub(counted + self.withheld());
        let mut uncounted = self.lanes.iter().filter(|(_, lane)| !lane.counted);
        // What is not counted lies on the only host that may have it.
        let only = match (uncounted.next(), uncounted.next()) {
            (Some((host, _)), None) if !self.residents.do_hosts_wait() => Some(*host),
            _ => None,
        };
        for (host, lane) in &self.lanes {
            let rest = if only == Some(*host) { elsewhere } else { 0 };
            let mut one = self.host_summary(*host, lane, rest, now);
            one.at_least &= only.is_none();
            if one.queued > 0 {
                sums.add(one, lane, self.limited_address(lane));
            }
        }
        let mut summary = sums.finish(most);
        if only.is_none() && elsewhere > 0 {
            summary.waits.push(Wait {
                cause: Cause::Place,
                urls: elsewhere,
                hosts: 0,
                host: "".into(),
            });
            summary
                .waits
                .sort_by_key(|wait| std::cmp::Reverse(wait.urls));
        }
        summary
    }

    /// Takes stock of hosts whose queues were counted elsewhere, for a summary of a crawl that
    /// does not run: a URL of each, and how many wait. `root_address` tells where the host of a
    /// root was found, since one that is near may be asked faster.
    pub fn take_stock(
        &mut self,
        queues: Vec<(CrawlUrl, u64)>,
        root_address: &dyn Fn(&str) -> Option<IpAddr>,
        now: Moment,
    ) -> Result<(), S::Error> {
        let hosts = self.counts.hosts;
        for (url, queued) in queues {
            let host = self.rules.keyer.key(&url).host();
            self.lane_of(&url, host, now)?;
            if let Some(address) = root_address(url.host()) {
                self.adapt_to(host, nearness(address));
            }
            let lane = self.lane(host);
            lane.queued = queued;
            lane.counted = true;
            self.recall_robots(host, Origin::from_url(&url), now)?;
        }
        self.counts.hosts = hosts;
        Ok(())
    }

    /// How the host of a URL stands, if it is active.
    pub fn host(&self, host: HostId, now: Moment) -> Option<HostSummary> {
        let lane = self.lanes.get(&host)?;
        Some(self.host_summary(host, lane, 0, now))
    }

    /// How each active host stands, in no order.
    pub fn active_hosts(&self, now: Moment) -> impl Iterator<Item = HostSummary> {
        let lanes = self.lanes.iter();
        lanes.map(move |(host, lane)| self.host_summary(*host, lane, 0, now))
    }

    fn host_summary(&self, host: HostId, lane: &Lane, more: u64, now: Moment) -> HostSummary {
        let queued = known_queue(lane) + more;
        let (cause, until) = self.cause(host, lane, now);
        let wait = lane.pace.next_at().saturating_sub(now);
        let rest = u32::try_from(queued.saturating_sub(1)).unwrap_or(u32::MAX);
        HostSummary {
            host: lane.host.clone(),
            queued,
            at_least: !lane.counted,
            in_flight: lane.in_flight,
            pages: lane.pages,
            interval: lane.pace.interval(),
            cause,
            until: until.map(|until| until.saturating_sub(now)),
            left: wait.saturating_add(lane.pace.interval().saturating_mul(rest)),
        }
    }

    fn cause(&self, host: HostId, lane: &Lane, now: Moment) -> (Cause, Option<Moment>) {
        let robots = lane.origins.iter().find_map(|origin| match origin.robots {
            OriginRobots::Fetching => Some(None),
            OriginRobots::Unreachable { again_at } if again_at > now => Some(Some(again_at)),
            _ => None,
        });
        let resolving = lane.origins.iter();
        let resolving = resolving
            .map(|origin| &origin.addresses)
            .any(|addresses| matches!(addresses, Addresses::Asking));
        let next_at = Some(lane.pace.next_at()).filter(|at| *at > now);
        if let Some(until) = lane.pace.parked_until(now) {
            (Cause::Parked, Some(until))
        } else if resolving {
            (Cause::Name, None)
        } else if let Some(until) = robots {
            (Cause::Robots, until)
        } else if let Some(until) = next_at.filter(|_| lane.pace.is_one_at_a_time()) {
            let cause = crawl_delay(lane).map_or(Cause::Delay, |_| Cause::CrawlDelay);
            (cause, Some(until))
        } else if lane.in_flight >= lane.pace.in_flight_limit() {
            (Cause::InFlight, None)
        } else if next_at.is_some() {
            (Cause::Rate, next_at)
        } else if lane.place.is_in_group() {
            (Cause::Shared, None)
        } else if self.page_budget.holds(host) {
            (Cause::Budget, None)
        } else if self.levels.holds(host) {
            (Cause::Level, None)
        } else {
            (Cause::Turn, lane.place.scheduled().filter(|at| *at > now))
        }
    }

    /// The address that the limit per address counts for a lane.
    fn limited_address(&self, lane: &Lane) -> Option<IpAddr> {
        let known = lane
            .origins
            .iter()
            .find_map(|origin| match &origin.addresses {
                Addresses::Known { addresses, .. } => addresses.first().copied(),
                _ => None,
            });
        known.filter(|address| self.is_limited(*address))
    }
}

/// The Crawl-delay that a lane obeys, if it does.
pub(super) fn crawl_delay(lane: &Lane) -> Option<Duration> {
    let delays = lane
        .origins
        .iter()
        .filter_map(|origin| match &origin.robots {
            OriginRobots::Known { robots, .. } => robots.crawl_delay(),
            _ => None,
        });
    delays
        .max()
        .filter(|_| !lane.rules.politeness.ignore_crawl_delay)
}

/// What is counted of a lane's queue, or at least in its hands.
fn known_queue(lane: &Lane) -> u64 {
    if lane.counted {
        lane.queued
    } else {
        lane.queued.max(lane.in_hand() as u64)
    }
}

/// The sums over all lanes.
#[derive(Default)]
struct Sums {
    hosts: Vec<HostSummary>,
    causes: BTreeMap<Cause, (u64, u64, u64, Box<str>)>,
    domains: HashMap<u64, Group>,
    addresses: HashMap<IpAddr, Group>,
}

/// What waits in a group of hosts.
struct Group {
    urls: u64,
    pace: GroupPace,
    host: Box<str>,
}

impl Sums {
    fn add(&mut self, host: HostSummary, lane: &Lane, address: Option<IpAddr>) {
        let wait = self.causes.entry(host.cause).or_default();
        wait.0 += host.queued;
        wait.1 += 1;
        if host.queued > wait.2 {
            wait.2 = host.queued;
            wait.3.clone_from(&host.host);
        }
        let politeness = &lane.rules.politeness;
        let group = |pace| Group {
            urls: 0,
            pace,
            host: host.host.clone(),
        };
        let domain = self.domains.entry(lane.domain);
        domain.or_insert_with(|| group(politeness.domain)).urls += host.queued;
        if let Some(address) = address {
            let of_address = self.addresses.entry(address);
            of_address.or_insert_with(|| group(politeness.address)).urls += host.queued;
        }
        self.hosts.push(host);
    }

    fn finish(mut self, most: usize) -> FrontierSummary {
        let by_host = self.hosts.iter().map(|host| (host.left, &host.host));
        let groups = self.domains.values().chain(self.addresses.values());
        let by_group = groups.map(|group| (group.least(), &group.host));
        // The name decides between equals, so that the answer is the same each time.
        let slowest = by_host.chain(by_group).max();
        let (left, slowest) = match slowest {
            Some((left, host)) => (left, Some(host.clone())),
            None => (Duration::ZERO, None),
        };
        let mut waits: Vec<Wait> = self
            .causes
            .into_iter()
            .map(|(cause, (urls, hosts, _, host))| Wait {
                cause,
                urls,
                hosts,
                host,
            })
            .collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.urls));
        self.hosts.sort_by(|one, other| {
            let order = other.queued.cmp(&one.queued);
            order.then_with(|| one.host.cmp(&other.host))
        });
        self.hosts.truncate(most);
        FrontierSummary {
            hosts: self.hosts,
            waits,
            left,
            slowest: slowest.filter(|_| !left.is_zero()),
        }
    }
}

impl Group {
    /// The time that the group's rate alone asks for.
    fn least(&self) -> Duration {
        let gap = self.pace.rate.map_or(Duration::ZERO, Rate::interval);
        gap.saturating_mul(u32::try_from(self.urls.saturating_sub(1)).unwrap_or(u32::MAX))
    }
}

/// Durations as seconds, which every reader of JSON understands.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        period: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(period.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Ok(Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX))
    }
}

/// The same where there may be none.
mod maybe_seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde asks for this signature")]
    pub(super) fn serialize<S: Serializer>(
        period: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        period
            .map(|period| period.as_secs_f64())
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let number = Option::<f64>::deserialize(deserializer)?;
        Ok(number.map(|number| Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX)))
    }
}
