//! robots.txt: its text, and what it allows by this crate's own reading of RFC 9309.
//!
//! Owns the kinds of files that hosts have and the verdict on a path for the crawler under test.
//! The verdict is written apart from any crawler, so that both cannot share a mistake.

use super::host::{Fate, Host, SitemapKind};
use super::{HostId, Resource, World};
use crate::internet::chance::Topic;

/// Hosts per thousand by kind of robots.txt, in the order of [`Flavour`]; the rest is plain.
/// Of the web's, 13 % are missing and 0.5 % forbidden (Web Almanac 2025).
const SHARES: [(u32, Flavour); 8] = [
    (133, Flavour::Missing),
    (5, Flavour::Forbidden),
    (60, Flavour::Empty),
    (100, Flavour::Wildcards),
    (60, Flavour::Named),
    (60, Flavour::Others),
    (40, Flavour::Elsewhere),
    (50, Flavour::Odd),
];

/// A kind of robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// 404: everything is allowed.
    Missing,
    /// 403: the same (RFC 9309 section 2.3.1.3).
    Forbidden,
    /// Nothing in it.
    Empty,
    /// A folder or two.
    Plain,
    /// Wildcards, ends and exceptions.
    Wildcards,
    /// Only the crawler under test may come, by two groups in its name.
    Named,
    /// Another crawler may not come.
    Others,
    /// Behind a redirect.
    Elsewhere,
    /// A byte order mark, comments, odd case and line ends, and a Crawl-delay.
    Odd,
    /// Everything is disallowed.
    Closed,
    /// 500: everything is disallowed.
    Broken,
}

impl Flavour {
    pub(super) fn lists_sitemaps(self) -> bool {
        !matches!(
            self,
            Self::Missing | Self::Forbidden | Self::Closed | Self::Broken
        )
    }

    fn rules(self) -> &'static [Rule] {
        match self {
            Self::Missing | Self::Forbidden | Self::Empty => &[],
            Self::Plain | Self::Others | Self::Elsewhere | Self::Odd => PLAIN,
            Self::Wildcards => WILDCARDS,
            Self::Named => NAMED,
            Self::Closed | Self::Broken => NOTHING,
        }
    }
}

#[derive(Debug)]
enum Rule {
    Allow(&'static str),
    Disallow(&'static str),
}

use Rule::{Allow, Disallow};

const PLAIN: &[Rule] = &[Disallow("/private/"), Disallow("/calendar/")];
const WILDCARDS: &[Rule] = &[
    Disallow("/*/secret"),
    Allow("/open/secret"),
    Disallow("/*.pdf$"),
    Disallow("/calendar"),
];
const NAMED: &[Rule] = &[
    Disallow("/private/"),
    Allow("/private/open/"),
    Disallow("/calendar/"),
];
const NOTHING: &[Rule] = &[Disallow("/")];

impl World {
    pub(super) fn flavour(&self, id: HostId, fate: Fate) -> Flavour {
        match fate {
            Fate::Closed => return Flavour::Closed,
            Fate::RobotsBroken => return Flavour::Broken,
            _ if !self.shape.keeps_alive => return Flavour::Empty,
            _ if !self.shape.furnished || self.is_farm(id) => return Flavour::Missing,
            _ => {}
        }
        let draw = self.chance.draw(Topic::Robots, u64::from(id.0), 0);
        let mut left = draw.below(1000);
        for (share, flavour) in SHARES {
            if left < share {
                return flavour;
            }
            left -= share;
        }
        Flavour::Plain
    }

    /// Whether the crawler under test may not ask for this path and query.
    pub(crate) fn denies(host: &Host, path: &[u8]) -> bool {
        let mut verdict = (0, false);
        for rule in host.flavour.rules() {
            let (pattern, denies) = match rule {
                Allow(pattern) => (pattern, false),
                Disallow(pattern) => (pattern, true),
            };
            // The longest pattern counts; of equal ones the one that allows (section 2.2.2).
            let weight = pattern.len();
            let counts = weight > verdict.0 || (weight == verdict.0 && !denies);
            if counts && matches(pattern.as_bytes(), path) {
                verdict = (weight, denies);
            }
        }
        verdict.1
    }

    /// Seconds between two requests that a host asks for.
    pub(crate) fn crawl_delay(&self, host: &Host) -> Option<f64> {
        let delay = self.shape.crawl_delay;
        (host.flavour == Flavour::Odd && delay > 0.0).then_some(delay)
    }

    /// The text of a host's robots.txt.
    pub(crate) fn robots_text(&self, host: &Host) -> String {
        let agent = &self.agent;
        let mut text = match host.flavour {
            Flavour::Named => format!(
                "User-agent: *\nDisallow: /\n\nUser-agent: {agent}\n{}\nUser-agent: {agent}\n{}",
                lines(&NAMED[..1], "\n"),
                lines(&NAMED[1..], "\n")
            ),
            Flavour::Others => format!(
                "User-agent: not-{agent}\nDisallow: /\n\nUser-agent: *\n{}",
                lines(PLAIN, "\n")
            ),
            Flavour::Odd => self.odd_text(),
            Flavour::Empty => String::new(),
            flavour => format!("User-agent: *\n{}", lines(flavour.rules(), "\n")),
        };
        if host.sitemap != SitemapKind::None {
            let spot = super::Spot {
                host: host.id,
                secure: host.secure,
                resource: Resource::Sitemap(0),
            };
            text = format!("{text}Sitemap: {}\n", self.url(spot));
        }
        text
    }

    fn odd_text(&self) -> String {
        let delay = match self.shape.crawl_delay {
            delay if delay > 0.0 => format!("crawl-DELAY:{delay:.3} # seconds\r\n"),
            _ => String::new(),
        };
        format!(
            "\u{feff}# mind the gap\r\nuser-AGENT : * # all of you\r\n{delay}\r\n{}unknown: line\r\n",
            lines(PLAIN, "  # please\r\n")
        )
    }
}

fn lines(rules: &[Rule], end: &str) -> String {
    let line = |rule: &Rule| match rule {
        Allow(pattern) => format!("Allow: {pattern}{end}"),
        Disallow(pattern) => format!("Disallow: {pattern}{end}"),
    };
    rules.iter().map(line).collect()
}

/// Whether a pattern matches the beginning of a path; `*` stands for anything, `$` for the end.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|skip| matches(rest, &path[skip..])),
        [byte, rest @ ..] => path.first() == Some(byte) && matches(rest, &path[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let check = |rules: Flavour, path: &str, denied: bool| {
            let config = crate::internet::config::InternetConfig::default();
            let world = World::new(&config, super::super::Ports::USUAL);
            let host = Host {
                flavour: rules,
                ..world.host(HostId(0))
            };
            assert_eq!(
                World::denies(&host, path.as_bytes()),
                denied,
                "{rules:?} {path}"
            );
        };
        check(Flavour::Missing, "/private/a.html", false);
        check(Flavour::Plain, "/private/a.html", true);
        check(Flavour::Plain, "/private", false);
        check(Flavour::Named, "/private/open/b.html", false);
        check(Flavour::Named, "/private/a.html", true);
        check(Flavour::Wildcards, "/area/7/secret", true);
        check(Flavour::Wildcards, "/open/secret", false);
        check(Flavour::Wildcards, "/files/paper.pdf", true);
        check(Flavour::Wildcards, "/files/paper.pdf?download=1", false);
        check(Flavour::Wildcards, "/", false);
        check(Flavour::Closed, "/", true);
    }
}
