//! What can be wrong with a configuration, all of it at once.

use std::time::Duration;

use clewline_core::scope::{Reach, Scope};

use super::{ArchiveConfig, Config, ConfigProblem, OutputConfig, PolitenessConfig};

/// No time is longer, so that none can be added up beyond what a clock can show.
const LONGEST_TIME: Duration = Duration::from_hours(10 * 365 * 24);

/// No number is larger: file systems and `job.toml` count in signed numbers.
const LARGEST_NUMBER: u64 = i64::MAX as u64;

impl Config {
    /// Everything that is wrong; an empty list means that a crawl can start.
    pub fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        let mut problem = |setting, problem: &str| {
            problems.push(ConfigProblem {
                setting,
                problem: problem.to_owned(),
            });
        };
        if self.roots.is_empty() {
            problem("url", "there is no URL to begin with");
        }
        if self.scope.reach == Reach::Any && self.fetch.contact.is_none() {
            let text = "a crawl of any host needs an operator whom site owners can reach: \
                        give a URL or a mail address";
            problem("contact", text);
        }
        for (setting, number) in [
            ("concurrency", self.limits.concurrency),
            ("tries", self.limits.tries),
            (
                "host-concurrency",
                self.politeness.host_concurrency.unwrap_or(1),
            ),
        ] {
            if number == 0 {
                problem(setting, "must be at least 1");
            }
        }
        for (setting, number) in [
            ("max-pages", self.limits.pages),
            ("max-pages-per-host", self.limits.pages_per_host),
            ("max-bytes", self.limits.bytes),
            ("render-limit", self.render.limit),
            ("render-tabs", self.render.tabs.map(u64::from)),
        ] {
            if number == Some(0) {
                problem(setting, "must be at least 1; leave it out for no limit");
            }
        }
        if self.fetch.timeout.is_zero() || self.fetch.connect_timeout.is_zero() {
            problem("timeout", "must be longer than zero");
        }
        if self.render.timeout.is_zero() {
            problem("render-timeout", "must be longer than zero");
        }
        if self.fetch.first_byte_timeout.is_zero() {
            problem("first-byte-timeout", "must be longer than zero");
        }
        for (setting, time) in self.times() {
            if time > LONGEST_TIME {
                problem(setting, "must not be longer than ten years");
            }
        }
        for (setting, number) in self.numbers() {
            if number > LARGEST_NUMBER {
                problem(setting, "must be less than 2^63");
            }
        }
        self.output.check(&mut problem);
        problems.extend(self.withheld());
        problems.extend(self.politeness.problems());
        for (setting, patterns) in [
            ("include", &self.scope.include),
            ("exclude", &self.scope.exclude),
        ] {
            for pattern in patterns {
                if let Err(error) =
                    Scope::new(Reach::Host, false, &[], std::slice::from_ref(pattern))
                {
                    problems.push(ConfigProblem {
                        setting,
                        problem: error.to_string(),
                    });
                }
            }
        }
        problems
    }

    /// Every time that is added to a moment.
    fn times(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let politeness = &self.politeness;
        let named = [
            ("timeout", Some(self.fetch.timeout)),
            ("connect-timeout", Some(self.fetch.connect_timeout)),
            ("first-byte-timeout", Some(self.fetch.first_byte_timeout)),
            ("max-time", self.limits.time),
            ("render-timeout", Some(self.render.timeout)),
            ("delay", politeness.delay),
            ("retry-delay", politeness.retry_delay),
            ("max-retry-after", politeness.max_retry_after),
            ("robots-retry", politeness.robots_retry),
        ];
        let hosts = politeness.hosts.iter().map(|host| ("delay", host.delay));
        named
            .into_iter()
            .chain(hosts)
            .filter_map(|(setting, time)| Some((setting, time?)))
    }

    /// Every number that could be too large for a job folder.
    fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let (limits, fetch) = (&self.limits, &self.fetch);
        let named = [
            ("memory", self.output.memory.0),
            ("min-free", self.output.min_free.0),
            ("max-body", fetch.max_body),
            ("max-bytes", limits.bytes.unwrap_or(0)),
            ("max-pages", limits.pages.unwrap_or(0)),
            ("render-limit", self.render.limit.unwrap_or(0)),
            ("max-pages-per-host", limits.pages_per_host.unwrap_or(0)),
            ("min-rate", fetch.min_rate),
            ("max-head", fetch.max_head as u64),
            ("idle-connections", fetch.idle_connections as u64),
            ("max-links", self.extract.max_links as u64),
            ("max-url", limits.url_length as u64),
            ("max-repeats", limits.repeated_segments as u64),
        ];
        let hosts = self.politeness.hosts.iter();
        let hosts = hosts.map(|host| ("max-pages", host.max_pages.unwrap_or(0)));
        named.into_iter().chain(hosts)
    }
}

impl OutputConfig {
    fn check(&self, problem: &mut impl FnMut(&'static str, &str)) {
        if !(1..=ArchiveConfig::LARGEST_FILE).contains(&self.archive.file_size) {
            problem("warc-size", "must be from 1 byte to 512 GiB");
        }
        let has_archive = self.archive.write && self.folder.is_some();
        if self.archive.update_from.is_some() && !has_archive {
            let text = "needs an archive of this crawl to compare with";
            problem("update-from", text);
        }
        if !self.views.is_empty() && self.folder.is_none() {
            problem("to", "needs a job folder to put the views into");
        }
    }
}

impl PolitenessConfig {
    fn problems(&self) -> Vec<ConfigProblem> {
        let rates = std::iter::once(self.rate).chain(self.hosts.iter().map(|host| host.rate));
        rates
            .flatten()
            .filter(|rate| !(rate.is_finite() && *rate > 0.0))
            .map(|rate| ConfigProblem {
                setting: "rate",
                problem: format!("{rate} is not a positive number of requests per second"),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, HostOverride, Root};
    use super::{Duration, Reach};

    #[test]
    fn all_problems_at_once() {
        let mut config = Config::default();
        config.scope.reach = Reach::Any;
        config.limits.tries = 0;
        config.limits.pages = Some(0);
        config.politeness.rate = Some(-1.0);
        config.scope.exclude = vec!["(".into()];
        let settings: Vec<_> = config
            .validate()
            .iter()
            .map(|problem| problem.setting)
            .collect();
        assert_eq!(
            settings,
            ["url", "contact", "tries", "max-pages", "rate", "exclude"]
        );
    }

    #[test]
    fn no_time_and_no_size_is_beyond_what_can_be_counted() {
        let mut config = Config {
            roots: vec![Root::parse("example.com").unwrap()],
            ..Config::default()
        };
        config.fetch.timeout = Duration::MAX;
        config.fetch.connect_timeout = Duration::MAX;
        config.fetch.first_byte_timeout = Duration::MAX;
        config.limits.time = Some(Duration::MAX);
        config.politeness.delay = Some(Duration::from_secs(u64::MAX));
        config.politeness.retry_delay = Some(Duration::from_hours(24 * 3651));
        config.politeness.robots_retry = Some(Duration::MAX);
        config.output.memory.0 = u64::MAX;
        config.output.min_free.0 = 1 << 63;
        config.fetch.max_body = u64::MAX;
        config.limits.bytes = Some(u64::MAX);
        config.limits.pages = Some(1 << 63);
        config.limits.pages_per_host = Some(u64::MAX);
        config.fetch.min_rate = u64::MAX;
        config.fetch.max_head = usize::MAX;
        config.fetch.idle_connections = usize::MAX;
        config.extract.max_links = usize::MAX;
        config.limits.url_length = usize::MAX;
        config.limits.repeated_segments = usize::MAX;
        config.politeness.hosts = vec![HostOverride {
            max_pages: Some(u64::MAX),
            ..HostOverride::default()
        }];
        let settings: Vec<_> = config
            .validate()
            .iter()
            .map(|problem| problem.setting)
            .collect();
        assert_eq!(
            settings,
            [
                "timeout",
                "connect-timeout",
                "first-byte-timeout",
                "max-time",
                "delay",
                "retry-delay",
                "robots-retry",
                "memory",
                "min-free",
                "max-body",
                "max-bytes",
                "max-pages",
                "max-pages-per-host",
                "min-rate",
                "max-head",
                "idle-connections",
                "max-links",
                "max-url",
                "max-repeats",
                "max-pages",
            ]
        );
    }

    #[test]
    fn the_defaults_are_fine() {
        let roots = vec![Root::parse("example.com").unwrap()];
        assert_eq!(
            Config {
                roots,
                ..Config::default()
            }
            .validate(),
            []
        );
    }

    #[test]
    fn roots_as_people_type_them() {
        for (text, expected, guessed) in [
            ("example.com", "https://example.com/", true),
            ("localhost:3000/docs", "https://localhost:3000/docs", true),
            ("//example.com", "https://example.com/", true),
            ("HTTP://Example.com", "http://example.com/", false),
            ("127.0.0.1:8080", "https://127.0.0.1:8080/", true),
        ] {
            let root = Root::parse(text).unwrap();
            assert_eq!(
                (root.url.as_str(), root.guessed_scheme),
                (expected, guessed),
                "{text}"
            );
        }
        for text in [
            "file:///etc/hostname",
            "mailto:a@b.c",
            "javascript:alert(1)",
            "",
            "http://",
        ] {
            assert!(Root::parse(text).is_err(), "{text}");
        }
    }
}
