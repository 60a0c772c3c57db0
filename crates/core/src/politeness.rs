//! The numbers of politeness: how often and how much at once a host may be asked.
//!
//! Owns the defaults of the four speeds and nothing else; the frontier enforces them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A named set of politeness figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speed {
    /// One request a second, one at a time.
    Gentle,
    /// Starts slowly and grows as long as the host answers as fast as before.
    #[default]
    Polite,
    /// For one's own servers: 32 in flight, 100 a second.
    Fast,
    /// For machines of one's own: 64 in flight, no rate limit.
    Max,
}

impl Speed {
    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gentle => "gentle",
            Self::Polite => "polite",
            Self::Fast => "fast",
            Self::Max => "max",
        }
    }
}

/// Requests per second; never zero, negative or not a number.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Rate(f64);

impl Rate {
    /// A rate, or nothing where the number is not a positive, finite one.
    pub fn per_second(number: f64) -> Option<Self> {
        (number.is_finite() && number > 0.0).then_some(Self(number))
    }

    /// The gap between two starts.
    pub fn interval(self) -> Duration {
        Duration::try_from_secs_f64(1.0 / self.0).unwrap_or(Duration::MAX)
    }

    /// The number per second.
    pub const fn number(self) -> f64 {
        self.0
    }

    /// This rate times a positive factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self((self.0 * factor).max(f64::MIN_POSITIVE))
    }
}

/// How one host may be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostPace {
    /// In flight at the start.
    pub first_in_flight: u32,
    /// In flight at the most.
    pub most_in_flight: u32,
    /// Rate at the start; none is unlimited.
    pub first_rate: Option<Rate>,
    /// Rate at the most; none is unlimited.
    pub most_rate: Option<Rate>,
    /// Rate times response time stays below this.
    pub load: Option<f64>,
    /// A fixed delay: one at a time, start to start. Overrides the rates.
    pub delay: Option<Duration>,
}

impl HostPace {
    /// The same pace from the first request to the last.
    pub const fn steady(in_flight: u32, rate: Option<Rate>) -> Self {
        Self {
            first_in_flight: in_flight,
            most_in_flight: in_flight,
            first_rate: rate,
            most_rate: rate,
            load: None,
            delay: None,
        }
    }
}

/// How a group of hosts, a registrable domain or an address, may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GroupPace {
    /// Rate at the most; none is unlimited.
    pub rate: Option<Rate>,
    /// In flight at the most.
    pub in_flight: u32,
}

impl GroupPace {
    /// No limit at all.
    pub const UNLIMITED: Self = Self {
        rate: None,
        in_flight: u32::MAX,
    };
}

/// All figures of politeness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Politeness {
    /// Per host.
    pub host: HostPace,
    /// Per registrable domain.
    pub domain: GroupPace,
    /// Per address.
    pub address: GroupPace,
    /// Whether Crawl-delay lines are ignored; for one's own site.
    pub ignore_crawl_delay: bool,
    /// A longer Crawl-delay refuses the host.
    pub longest_crawl_delay: Duration,
    /// A longer Retry-After is not waited for: another URL is asked after this time.
    pub longest_retry_after: Duration,
    /// First pause after 429 or 503 without Retry-After; doubles while other URLs are refused.
    pub first_pause: Duration,
    /// Where the doubling ends.
    pub longest_pause: Duration,
    /// The longest pause after a host could not be reached.
    pub longest_outage_pause: Duration,
    /// The longest gap between requests that trouble teaches. What a host asks for may be longer.
    pub longest_gap: Duration,
    /// Wait before the second try of a URL; doubles with each further try.
    pub retry_delay: Duration,
    /// Whether the host keeps its pace when most of what it is asked fails; for servers on one's
    /// own machine.
    pub tolerates_failures: bool,
}

impl Politeness {
    /// The figures of a named speed.
    pub fn for_speed(speed: Speed) -> Self {
        let rate = Rate::per_second;
        let pace = |in_flight: (u32, u32), rates: (Option<f64>, Option<f64>), load| HostPace {
            first_in_flight: in_flight.0,
            most_in_flight: in_flight.1,
            first_rate: rates.0.and_then(rate),
            most_rate: rates.1.and_then(rate),
            load,
            delay: None,
        };
        let (host, group) = match speed {
            Speed::Gentle => (
                pace((1, 1), (Some(1.0), Some(1.0)), Some(1.0)),
                GroupPace {
                    rate: rate(2.0),
                    in_flight: 2,
                },
            ),
            Speed::Polite => (
                pace((1, 4), (Some(2.0), Some(10.0)), Some(2.0)),
                GroupPace {
                    rate: rate(20.0),
                    in_flight: 8,
                },
            ),
            Speed::Fast => (
                pace((32, 32), (Some(100.0), Some(100.0)), None),
                GroupPace::UNLIMITED,
            ),
            Speed::Max => (pace((64, 64), (None, None), None), GroupPace::UNLIMITED),
        };
        Self {
            host,
            domain: group,
            address: group,
            ..Self::base()
        }
    }

    /// Hosts on this machine: no limit of rate, tries soon again, and no slowing down for pages
    /// that fail. It begins with few requests at once: small servers queue hardly more than five
    /// connections, and the way is so short that a crawl loses nothing by it.
    pub fn loopback() -> Self {
        let mut politeness = Self {
            retry_delay: Duration::from_millis(100),
            tolerates_failures: true,
            ..Self::for_speed(Speed::Max)
        };
        politeness.host.first_in_flight = 8;
        politeness
    }

    /// Hosts in private ranges: 8 in flight and 50 a second.
    pub fn private_network() -> Self {
        let mut politeness = Self::for_speed(Speed::Max);
        politeness.host.first_in_flight = 8;
        politeness.host.most_in_flight = 8;
        politeness.host.first_rate = Rate::per_second(50.0);
        politeness.host.most_rate = Rate::per_second(50.0);
        politeness
    }

    fn base() -> Self {
        Self {
            host: HostPace::steady(1, None),
            domain: GroupPace::UNLIMITED,
            address: GroupPace::UNLIMITED,
            ignore_crawl_delay: false,
            longest_crawl_delay: Duration::from_mins(5),
            longest_retry_after: Duration::from_mins(10),
            first_pause: Duration::from_secs(2),
            longest_pause: Duration::from_mins(10),
            longest_outage_pause: Duration::from_mins(1),
            longest_gap: Duration::from_mins(1),
            retry_delay: Duration::from_secs(1),
            tolerates_failures: false,
        }
    }
}

impl Default for Politeness {
    fn default() -> Self {
        Self::for_speed(Speed::Polite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_positive_number() {
        for number in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::per_second(number), None, "{number}");
        }
        let rate = Rate::per_second(4.0).unwrap();
        assert_eq!(rate.interval(), Duration::from_millis(250));
    }
}
