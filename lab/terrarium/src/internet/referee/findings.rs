//! The judgement: rules, findings, violations.
//!
//! Owns what counts as impolite and how it is said.

use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::track::Track;
use super::{HostTrack, Referee};
use crate::internet::world::{HostId, World};

/// Of each rule so many violations are told one by one.
const TOLD: usize = 20;

/// What one party may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limit {
    /// The smallest time between two requests.
    pub gap: Option<Duration>,
    /// Requests in any second.
    pub rate: Option<u32>,
    /// Requests in progress at once.
    pub in_flight: Option<u32>,
}

/// What counts as polite. The default asks for robots.txt, Crawl-delay, Retry-After and no
/// repeats, and sets no limits.
#[derive(Clone, Debug, PartialEq)]
pub struct RefereeRules {
    /// For each host.
    pub host: Limit,
    /// For each registrable domain.
    pub domain: Limit,
    /// For each address.
    pub address: Limit,
    /// Addresses for which the limits do not count, such as that of a delivery network.
    pub exempt: Vec<Ipv4Addr>,
    /// Whether robots.txt counts.
    pub robots: bool,
    /// Whether a page may be fetched whole only once.
    pub repeats: bool,
    /// Gaps may be smaller by this, and requests may come this long after a pause was asked
    /// for; sockets and schedulers are not exact.
    pub tolerance: Duration,
}

impl Default for RefereeRules {
    fn default() -> Self {
        Self {
            host: Limit::default(),
            domain: Limit::default(),
            address: Limit::default(),
            exempt: Vec::new(),
            robots: true,
            repeats: true,
            tolerance: Duration::from_millis(10),
        }
    }
}

/// The rules that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A host was asked too soon.
    HostGap,
    /// A host was asked too often in a second.
    HostRate,
    /// A host was asked too much at once.
    HostInFlight,
    /// A registrable domain was asked too soon.
    DomainGap,
    /// A registrable domain was asked too often in a second.
    DomainRate,
    /// A registrable domain was asked too much at once.
    DomainInFlight,
    /// An address was asked too soon.
    AddressGap,
    /// An address was asked too often in a second.
    AddressRate,
    /// An address was asked too much at once.
    AddressInFlight,
    /// A host was asked sooner than its Crawl-delay.
    CrawlDelay,
    /// A host was asked before its Retry-After was over.
    RetryAfter,
    /// A page was asked that robots.txt forbids.
    RobotsDenied,
    /// A page was asked before robots.txt was answered.
    RobotsUnread,
    /// A page was fetched whole more than once.
    Repeat,
}

/// One rule broken by one party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The host, domain, address or URL.
    pub who: String,
    /// What was seen, and what is allowed.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {}: {}", self.rule, self.who, self.seen)
    }
}

/// The extremes over all parties of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The smallest time between two requests to one party.
    pub smallest_gap: Option<Duration>,
    /// The most requests to one party in a second.
    pub greatest_rate: u32,
    /// The most requests to one party in progress at once.
    pub greatest_in_flight: u32,
}

impl Figures {
    fn from_tracks<'a>(tracks: impl Iterator<Item = &'a Track>) -> Self {
        tracks.fold(Self::default(), |figures, track| Self {
            smallest_gap: [figures.smallest_gap, track.smallest_gap]
                .into_iter()
                .flatten()
                .min(),
            greatest_rate: figures.greatest_rate.max(track.most_per_second),
            greatest_in_flight: figures.greatest_in_flight.max(track.most_in_flight),
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.smallest_gap {
            Some(gap) => write!(formatter, "smallest gap {:.1} ms", gap.as_secs_f64() * 1e3)?,
            None => formatter.write_str("no gap")?,
        }
        write!(
            formatter,
            ", at most {}/s and {} at once",
            self.greatest_rate, self.greatest_in_flight
        )
    }
}

/// What the referee found. A run with a violation is void.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Findings {
    /// Requests seen.
    pub requests: u64,
    /// Hosts that were asked.
    pub hosts_asked: usize,
    /// Pages that were answered whole with 200.
    pub pages: usize,
    /// Extremes over hosts.
    pub hosts: Figures,
    /// Extremes over registrable domains.
    pub domains: Figures,
    /// Extremes over addresses.
    pub addresses: Figures,
    /// What was broken; of each rule at the most twenty are told.
    pub violations: Vec<Violation>,
    /// How many there are in all.
    pub violation_count: u64,
}

impl fmt::Display for Findings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{} requests to {} hosts, {} pages",
            self.requests, self.hosts_asked, self.pages
        )?;
        writeln!(formatter, "per host:    {}", self.hosts)?;
        writeln!(formatter, "per domain:  {}", self.domains)?;
        writeln!(formatter, "per address: {}", self.addresses)?;
        match self.violation_count {
            0 => formatter.write_str("no violation")?,
            count => write!(formatter, "VOID: {count} violations")?,
        }
        for violation in &self.violations {
            write!(formatter, "\n  {violation}")?;
        }
        Ok(())
    }
}

impl Referee {
    /// Judges everything seen so far.
    pub(crate) fn findings(&self, rules: &RefereeRules) -> Findings {
        let mut case = Case {
            rules,
            told: Vec::new(),
            count: 0,
        };
        for (number, host) in self.hosts.iter().enumerate() {
            self.judge_host(&mut case, HostId(number as u32), host);
        }
        for (number, track) in self.domains.iter().enumerate() {
            let name = || World::domain_name(number as u32);
            let kinds = [Rule::DomainGap, Rule::DomainRate, Rule::DomainInFlight];
            case.judge(kinds, &rules.domain, track, &name);
        }
        for (number, track) in self.addresses.iter().enumerate() {
            let address = World::address(number as u32);
            if !rules.exempt.contains(&address) {
                let kinds = [Rule::AddressGap, Rule::AddressRate, Rule::AddressInFlight];
                case.judge(kinds, &rules.address, track, &|| address.to_string());
            }
        }
        let breaches = [
            (rules.robots, Rule::RobotsDenied, &self.denied),
            (rules.robots, Rule::RobotsUnread, &self.unread),
            (rules.repeats, Rule::Repeat, &self.repeated),
        ];
        for (_, rule, breaches) in breaches.into_iter().filter(|(counts, ..)| *counts) {
            for url in breaches.examples.iter().take(TOLD) {
                case.tell(rule, url.clone(), "seen".to_owned());
            }
            case.count += breaches.count - breaches.examples.len().min(TOLD) as u64;
        }
        let asked = self
            .hosts
            .iter()
            .filter(|host| host.track.most_in_flight > 0);
        Findings {
            requests: self.requests,
            hosts_asked: asked.count(),
            pages: self.whole.len(),
            hosts: Figures::from_tracks(self.hosts.iter().map(|host| &host.track)),
            domains: Figures::from_tracks(self.domains.iter()),
            addresses: Figures::from_tracks(self.addresses.iter()),
            violations: case.told,
            violation_count: case.count,
        }
    }

    fn judge_host(&self, case: &mut Case<'_>, id: HostId, host: &HostTrack) {
        if host.track.most_in_flight == 0 {
            return;
        }
        let name = || self.world.name(id);
        let kinds = [Rule::HostGap, Rule::HostRate, Rule::HostInFlight];
        case.judge(kinds, &case.rules.host.clone(), &host.track, &name);
        let tolerance = case.rules.tolerance;
        if host.deepest > tolerance {
            let seen = format!("asked {:?} deep into its pause", host.deepest);
            case.tell(Rule::RetryAfter, name(), seen);
        }
        let delay = self.world.crawl_delay(&self.world.host(id));
        if let (Some(delay), true) = (delay, case.rules.robots) {
            let limit = Limit {
                gap: Some(Duration::from_secs_f64(delay)),
                ..Limit::default()
            };
            case.judge([Rule::CrawlDelay; 3], &limit, &host.track, &name);
        }
    }
}

/// Violations as they gather.
struct Case<'a> {
    rules: &'a RefereeRules,
    told: Vec<Violation>,
    count: u64,
}

impl Case<'_> {
    fn tell(&mut self, rule: Rule, who: String, seen: String) {
        self.count += 1;
        let told = self.told.iter().filter(|known| known.rule == rule);
        if told.count() < TOLD {
            self.told.push(Violation { rule, who, seen });
        }
    }

    fn judge(
        &mut self,
        [gap_rule, rate_rule, in_flight_rule]: [Rule; 3],
        limit: &Limit,
        track: &Track,
        name: &dyn Fn() -> String,
    ) {
        if let (Some(gap), Some(seen)) = (limit.gap, track.smallest_gap)
            && seen + self.rules.tolerance < gap
        {
            self.tell(gap_rule, name(), format!("a gap of {seen:?}, not {gap:?}"));
        }
        if let Some(rate) = limit.rate.filter(|rate| track.most_per_second > *rate) {
            let seen = format!("{} in a second, not {rate}", track.most_per_second);
            self.tell(rate_rule, name(), seen);
        }
        if let Some(most) = limit.in_flight.filter(|most| track.most_in_flight > *most) {
            let seen = format!("{} at once, not {most}", track.most_in_flight);
            self.tell(in_flight_rule, name(), seen);
        }
    }
}
