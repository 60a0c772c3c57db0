//! The figures of each profile.
//!
//! Owns every number that makes one profile differ from another. The figures of `real` are those
//! measured on the web: HTTP Archive's Web Almanac 2024 and 2025 for sizes, links, codings and
//! robots.txt, Common Crawl's statistics of 2026-30 for statuses, protocols and pages per host.

use super::chance::Spread;
use super::config::{InternetConfig, Profile};

/// How the paths of pages look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    /// `/p17`.
    Numbers,
    /// `/3/14/15`: the way from the home page.
    Tree,
    /// Folders, files, queries and letters beyond ASCII.
    Mixed,
}

/// How odd the markup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Markup {
    /// One way to write a link.
    Plain,
    /// The ways that ordinary pages have.
    Varied,
    /// All that the standards allow.
    Wild,
}

/// Hosts per thousand that have a sad fate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fates {
    pub(crate) no_such_name: u32,
    pub(crate) name_server_fails: u32,
    pub(crate) name_server_silent: u32,
    /// The first question for the name gets lost, which costs time only.
    pub(crate) question_lost: u32,
    pub(crate) refused: u32,
    pub(crate) bad_certificate: u32,
    /// robots.txt disallows everything.
    pub(crate) closed: u32,
    /// robots.txt is answered with 500.
    pub(crate) robots_broken: u32,
}

impl Fates {
    fn scaled(self, factor: f64) -> Self {
        let scale = |share: u32| (f64::from(share) * factor.max(0.0)).round() as u32;
        Self {
            no_such_name: scale(self.no_such_name),
            name_server_fails: scale(self.name_server_fails),
            name_server_silent: scale(self.name_server_silent),
            question_lost: scale(self.question_lost),
            refused: scale(self.refused),
            bad_certificate: scale(self.bad_certificate),
            closed: scale(self.closed),
            robots_broken: scale(self.robots_broken),
        }
    }
}

/// Pages per thousand of those that have no children.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Statuses {
    pub(crate) moved: u32,
    pub(crate) missing: u32,
    pub(crate) gone: u32,
}

/// All figures of an internet.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) paths: Paths,
    pub(crate) markup: Markup,
    pub(crate) pages: Spread,
    pub(crate) internal: Spread,
    pub(crate) external: Spread,
    /// Paragraphs of text in an article.
    pub(crate) text: Spread,
    /// Bytes of script and style before the text.
    pub(crate) filler: Spread,
    pub(crate) gzip: u32,
    pub(crate) brotli: u32,
    pub(crate) secure: u32,
    pub(crate) old_tls: u32,
    pub(crate) fates: Fates,
    pub(crate) statuses: Statuses,
    /// Milliseconds before an answer.
    pub(crate) latency: Spread,
    /// Answers per million that wait for that long; the others come at once.
    pub(crate) delayed: u32,
    pub(crate) name_latency: Spread,
    pub(crate) crawl_delay: f64,
    /// Whether hosts have robots.txt with rules, sitemaps, walls and aliases.
    pub(crate) furnished: bool,
    /// Whether hosts have traps and ailments, and a farm of spam is among them.
    pub(crate) trapped: bool,
    pub(crate) keeps_alive: bool,
    pub(crate) addresses: u32,
    /// Hosts per thousand that live at the one address of the content delivery network.
    pub(crate) delivered: u32,
}

/// The median of a log-normal distribution with this mean, which is larger by exp(σ²/2).
fn median_for_mean(mean: f64, sigma: f64) -> f64 {
    mean / (sigma * sigma / 2.0).exp()
}

impl Shape {
    pub(crate) fn new(config: &InternetConfig) -> Self {
        let mut shape = match config.profile {
            Profile::Micro => Self::micro(config.hosts),
            Profile::Slow => Self {
                latency: Spread::new(150.0, 0.5, (100.0, 2000.0)),
                delayed: 1_000_000,
                ..Self::micro(config.hosts)
            },
            Profile::Bubing => Self::bubing(config.hosts),
            Profile::Real => Self::real(config.hosts),
            Profile::Hostile => Self::hostile(config.hosts),
        };
        if let Some(pages) = config.pages {
            let sigma = shape.pages.sigma;
            shape.pages.median = median_for_mean(f64::from(pages), sigma).max(1.0);
            shape.pages.most = shape.pages.most.max(shape.pages.median);
        }
        shape.secure = config.secure.unwrap_or(shape.secure);
        shape.addresses = config.addresses.unwrap_or(shape.addresses).max(1);
        shape.latency = shape.latency.scaled(config.latency.max(0.0));
        if let Some(delay) = config.delay {
            shape.latency = Spread::fixed(delay.as_secs_f64() * 1e3);
            shape.delayed = 1_000_000;
        }
        shape.name_latency = shape.name_latency.scaled(config.latency.max(0.0));
        shape.crawl_delay *= config.latency.max(0.0);
        shape.fates = shape.fates.scaled(config.mishaps);
        shape.filler = shape.filler.scaled(config.body.max(0.0));
        shape.text = shape.text.scaled(config.body.max(0.0));
        shape
    }

    fn micro(hosts: u32) -> Self {
        Self {
            paths: Paths::Numbers,
            markup: Markup::Plain,
            pages: Spread::fixed(50.0),
            internal: Spread::fixed(10.0),
            external: Spread::fixed(2.0),
            text: Spread::fixed(8.0),
            filler: Spread::fixed(0.0),
            gzip: 0,
            brotli: 0,
            secure: 0,
            old_tls: 0,
            fates: Fates::default(),
            statuses: Statuses::default(),
            latency: Spread::fixed(0.0),
            delayed: 0,
            name_latency: Spread::fixed(0.0),
            crawl_delay: 0.0,
            furnished: false,
            trapped: false,
            keeps_alive: true,
            addresses: hosts.div_ceil(8).clamp(1, 128),
            delivered: 0,
        }
    }

    /// `RandomNamedGraphServer` with its own flags: degree 50, depth 3, both log-normal with a
    /// sigma of 0.5, a tenth of the links external, 600 bytes per link, one answer in 10,000
    /// delayed by a second.
    fn bubing(hosts: u32) -> Self {
        Self {
            paths: Paths::Tree,
            pages: Spread::new(125_000.0, 1.5, (1.0, 1_000_000.0)),
            internal: Spread::fixed(45.0),
            external: Spread::fixed(5.0),
            text: Spread::fixed(70.0),
            latency: Spread::new(1000.0, 0.7, (100.0, 5000.0)),
            delayed: 100,
            keeps_alive: false,
            ..Self::micro(hosts)
        }
    }

    fn real(hosts: u32) -> Self {
        Self {
            paths: Paths::Mixed,
            markup: Markup::Varied,
            pages: Spread::new(median_for_mean(53.0, 1.7), 1.7, (1.0, 1_000_000.0)),
            internal: Spread::new(43.0, 1.15, (1.0, 1500.0)),
            external: Spread::new(6.0, 1.15, (0.0, 200.0)),
            text: Spread::new(6.0, 1.0, (1.0, 100.0)),
            filler: Spread::new(120_000.0, 1.06, (2000.0, 2_000_000.0)),
            gzip: 530,
            brotli: 360,
            secure: 916,
            old_tls: 110,
            fates: Fates {
                no_such_name: 10,
                name_server_fails: 3,
                name_server_silent: 2,
                question_lost: 2,
                refused: 3,
                bad_certificate: 5,
                closed: 20,
                robots_broken: 1,
            },
            statuses: Statuses {
                moved: 108,
                missing: 62,
                gone: 3,
            },
            latency: Spread::new(400.0, 0.8, (5.0, 30_000.0)),
            delayed: 1_000_000,
            name_latency: Spread::new(30.0, 1.0, (1.0, 2000.0)),
            crawl_delay: 1.0,
            furnished: true,
            addresses: hosts.div_ceil(10).clamp(2, 1000),
            delivered: 200,
            ..Self::micro(hosts)
        }
    }

    fn hostile(hosts: u32) -> Self {
        Self {
            markup: Markup::Wild,
            pages: Spread::new(8.0, 0.8, (1.0, 100.0)),
            internal: Spread::new(12.0, 0.5, (1.0, 60.0)),
            external: Spread::new(3.0, 0.5, (0.0, 20.0)),
            text: Spread::new(3.0, 0.8, (1.0, 20.0)),
            filler: Spread::new(3000.0, 1.0, (0.0, 50_000.0)),
            secure: 300,
            fates: Fates {
                no_such_name: 40,
                name_server_fails: 20,
                name_server_silent: 10,
                question_lost: 10,
                refused: 20,
                bad_certificate: 30,
                closed: 30,
                robots_broken: 20,
            },
            latency: Spread::new(3.0, 1.0, (0.0, 100.0)),
            name_latency: Spread::new(2.0, 1.0, (0.0, 50.0)),
            crawl_delay: 0.1,
            trapped: true,
            addresses: hosts.div_ceil(8).clamp(2, 64),
            ..Self::real(hosts)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_fixed_delay_replaces_that_of_every_profile() {
        for profile in Profile::ALL {
            let config = |delay| InternetConfig {
                profile,
                delay,
                latency: 0.0,
                ..InternetConfig::default()
            };
            let figures = |config| {
                let shape = Shape::new(&config);
                let milliseconds = shape.latency.median.round() as u64;
                (milliseconds, shape.latency.sigma > 0.0, shape.delayed)
            };
            let fixed = figures(config(Some(Duration::from_millis(250))));
            assert_eq!(fixed, (250, false, 1_000_000), "{profile}");
            assert_eq!(figures(config(None)).0, 0, "{profile}: the factor is 0");
        }
    }

    #[test]
    fn a_share_of_tls_replaces_that_of_every_profile() {
        for profile in Profile::ALL {
            let secure = |secure| {
                let config = InternetConfig {
                    profile,
                    secure,
                    ..InternetConfig::default()
                };
                Shape::new(&config).secure
            };
            assert_eq!(secure(Some(1000)), 1000, "{profile}");
            assert_eq!(secure(Some(0)), 0, "{profile}");
            assert_eq!(
                secure(None) > 0,
                matches!(profile, Profile::Real | Profile::Hostile)
            );
        }
    }
}
