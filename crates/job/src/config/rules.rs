//! From settings to the rules that the frontier works by.

use std::sync::Arc;

use clewline_core::address::AddressPolicy;
use clewline_core::frontier::{HostPattern, HostRules, NearPoliteness, Rules};
use clewline_core::key::Keyer;
use clewline_core::politeness::{Politeness, Rate};
use clewline_core::scope::{PatternError, Scope};

use super::{Config, HostOverride, PolitenessConfig};

/// The figures that a user named, over those of a speed.
impl PolitenessConfig {
    /// What is said for some hosts, over what is said for all.
    fn with(&self, host: &HostOverride) -> Self {
        Self {
            speed: host.speed.or(self.speed),
            delay: host.delay.or(self.delay),
            rate: host.rate.or(self.rate),
            host_concurrency: host.host_concurrency.or(self.host_concurrency),
            ignore_crawl_delay: host.ignore_crawl_delay.unwrap_or(self.ignore_crawl_delay),
            retry_delay: self.retry_delay,
            max_retry_after: self.max_retry_after,
            max_gap: self.max_gap,
            ..Self::default()
        }
    }

    fn politeness(&self) -> Politeness {
        self.tune(Politeness::for_speed(self.speed.unwrap_or_default()))
    }

    /// A root that is near is asked faster, unless the user named a speed, a rate or a delay.
    fn near(&self) -> Option<NearPoliteness> {
        let named = self.speed.is_some() || self.rate.is_some() || self.delay.is_some();
        (!named).then(|| {
            let near = NearPoliteness::default();
            NearPoliteness {
                loopback: self.tune(near.loopback),
                private: self.tune(near.private),
            }
        })
    }

    fn tune(&self, mut politeness: Politeness) -> Politeness {
        let host = &mut politeness.host;
        let is_careful = host.load.is_some();
        if let Some(rate) = self.rate.and_then(Rate::per_second) {
            host.first_rate = Some(rate);
            host.most_rate = Some(rate);
            host.load = None;
        }
        if let Some(most) = self.host_concurrency {
            host.most_in_flight = most;
            host.first_in_flight = if is_careful {
                host.first_in_flight.min(most)
            } else {
                most
            };
        }
        host.delay = self.delay;
        // What is asked for a host is not taken back by the groups it belongs to.
        for group in [&mut politeness.domain, &mut politeness.address] {
            group.in_flight = group.in_flight.max(self.host_concurrency.unwrap_or(0));
            group.rate = group.rate.and_then(|limit| self.group_rate(limit));
        }
        politeness.ignore_crawl_delay = self.ignore_crawl_delay;
        politeness.retry_delay = self.retry_delay.unwrap_or(politeness.retry_delay);
        let longest = &mut politeness.longest_retry_after;
        *longest = self.max_retry_after.unwrap_or(*longest);
        politeness.longest_gap = self.max_gap.unwrap_or(politeness.longest_gap);
        politeness
    }

    /// The rate of a group that is otherwise held to a limit; none is unlimited. A delay overrides
    /// a rate, and one of nothing is no limit but the host's own answers.
    fn group_rate(&self, limit: Rate) -> Option<Rate> {
        let asked = match (self.delay, self.rate) {
            (Some(delay), _) => Rate::per_second(delay.as_secs_f64().recip())?,
            (None, rate) => rate.and_then(Rate::per_second).unwrap_or(limit),
        };
        Some(if asked > limit { asked } else { limit })
    }
}

impl Config {
    /// What makes the keys of this crawl, seeded so that no page can aim at them.
    pub fn keyer(&self, seed: u64) -> Keyer {
        Keyer::new(seed, &self.scope.drop_params)
    }

    /// The rules of this crawl, with keys of this seed.
    pub fn rules(&self, seed: u64) -> Result<Rules, PatternError> {
        let mut scope = Scope::new(
            self.scope.reach,
            self.scope.page_requisites,
            &self.scope.include,
            &self.scope.exclude,
        )?;
        if self.extract.script_links {
            scope = scope.with_scripts();
        }
        let host_rules = |named: &PolitenessConfig, robots: bool, pages| HostRules {
            politeness: named.politeness(),
            near: named.near(),
            robots,
            pages,
        };
        let robots = self.scope.robots;
        let hosts = self.politeness.hosts.iter().map(|host| {
            let robots = robots && !host.ignore_robots.unwrap_or(false);
            let rules = host_rules(&self.politeness.with(host), robots, host.max_pages);
            HostPattern {
                pattern: host.host.as_str().into(),
                rules: Arc::new(rules),
            }
        });
        let mut rules = Rules::new(scope, self.keyer(seed));
        rules.limits = self.limits.clone();
        rules.addresses = AddressPolicy::new(self.fetch.allow_private.clone());
        rules.host = Arc::new(host_rules(&self.politeness, robots, None));
        rules.hosts = hosts.collect();
        rules
            .shared_addresses
            .clone_from(&self.politeness.shared_addresses);
        rules.follow_nofollow = self.scope.follow_nofollow;
        rules.sitemaps = self.scope.sitemaps;
        rules.traps = self.scope.traps;
        rules.foreign_roots = self.scope.foreign_roots;
        rules.robots_retry = self.politeness.robots_retry.unwrap_or(rules.robots_retry);
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clewline_core::politeness::Speed;

    use super::*;

    fn rules(change: impl FnOnce(&mut PolitenessConfig)) -> Rules {
        let mut config = Config::default();
        change(&mut config.politeness);
        config.rules(1).unwrap()
    }

    #[test]
    fn wishes_are_kept_and_groups_do_not_take_them_back() {
        let rules = rules(|politeness| {
            politeness.rate = Some(50.0);
            politeness.host_concurrency = Some(16);
        });
        let politeness = &rules.host.politeness;
        assert_eq!(politeness.host.first_rate, Rate::per_second(50.0));
        assert_eq!(
            (
                politeness.host.first_in_flight,
                politeness.host.most_in_flight
            ),
            (1, 16)
        );
        assert_eq!(politeness.domain.in_flight, 16);
        assert_eq!(politeness.address.rate, Rate::per_second(50.0));
        assert!(rules.host.near.is_none(), "a rate was named");
    }

    #[test]
    fn a_short_delay_is_kept_by_the_groups_too() {
        let check = |delay: u64, rate: Option<f64>, expected: Option<f64>| {
            let rules = rules(|politeness| {
                politeness.delay = Some(Duration::from_millis(delay));
                politeness.rate = rate;
            });
            let politeness = &rules.host.politeness;
            let expected = expected.and_then(Rate::per_second);
            let found = [politeness.domain.rate, politeness.address.rate];
            assert_eq!(found, [expected, expected], "{delay} ms, {rate:?}");
        };
        check(10, None, Some(100.0));
        check(1000, None, Some(20.0));
        // The delay overrides the rate.
        check(1000, Some(50.0), Some(20.0));
        check(0, None, None);
    }

    #[test]
    fn near_roots_are_fast_only_where_nothing_was_named() {
        let near = rules(|politeness| politeness.host_concurrency = Some(5))
            .host
            .near
            .clone();
        assert_eq!(near.unwrap().loopback.host.first_in_flight, 5);
        assert!(
            rules(|politeness| politeness.speed = Some(Speed::Polite))
                .host
                .near
                .is_none()
        );
        let delay = Some(Duration::from_secs(1));
        assert!(
            rules(|politeness| politeness.delay = delay)
                .host
                .near
                .is_none()
        );
    }

    #[test]
    fn overrides_by_host() {
        let rules = rules(|politeness| {
            politeness.hosts = vec![HostOverride {
                host: "*.slow.test".into(),
                delay: Some(Duration::from_secs(7)),
                ignore_robots: Some(true),
                max_pages: Some(3),
                ..HostOverride::default()
            }];
        });
        let slow = rules.for_host("a.slow.test");
        assert_eq!(slow.politeness.host.delay, Some(Duration::from_secs(7)));
        assert_eq!((slow.robots, slow.pages), (false, Some(3)));
        assert!(rules.for_host("other.test").robots);
    }
}
