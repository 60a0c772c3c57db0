//! What one robots.txt asks of this crawler: RFC 9309, read and matched the way Google does.
//!
//! This module owns the parsed rules of the one group that applies, the crawl delay of that group
//! and the sitemaps of the file. It refuses to know how the file was fetched, what an HTTP status
//! means and which host it belongs to: a caller turns "absent" into [`Robots::allow_all`] and
//! "unreachable" into [`Robots::disallow_all`].
//!
//! Invariant: whatever the bytes, memory is bounded by [`MAX_RULE_BYTES`] and [`MAX_RULES`], also
//! while the file arrives, and the time of a verdict by [`MAX_VERDICT_STEPS`]; where that bound is
//! met the answer errs towards not fetching.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::url::redacted;

mod parse;
mod pattern;
mod rules;
#[cfg(test)]
mod tests;

pub use parse::RobotsReader;
use rules::{Kind, RuleDraft, RuleSet};

/// How much of a file is read. RFC 9309 section 2.5 asks for 500 KiB at least; real files, most of
/// which repeat their rules for many crawlers, reach 850 KB.
pub const MAX_BYTES: usize = 4 << 20;

/// How many bytes of rules are kept: those of the one group that applies. 500 KiB of a file, which
/// RFC 9309 section 2.5 asks for, take this much if every byte has to be escaped; usual rules, none
/// of which is, fill three quarters of the largest file.
pub const MAX_RULE_BYTES: usize = 3 << 20;

/// How much of a line is read; the rest is ignored, as in Google's parser.
pub const MAX_LINE_BYTES: usize = 2083 * 8 - 1;

/// How many rules are kept: more than fit into the 500 KiB of RFC 9309 section 2.5.
pub const MAX_RULES: usize = 1 << 16;

/// How many sitemaps are kept.
pub const MAX_SITEMAPS: usize = 1_000;

/// The longest sitemap address that is kept.
pub const MAX_SITEMAP_BYTES: usize = 8 * 1024;

/// How many bytes of path and pattern a verdict may compare for patterns with wildcards.
///
/// A file of honest size stays far below. Beyond it each further `Disallow` with a wildcard whose
/// literal beginning fits the path counts as matching, and each such `Allow` as not matching.
pub const MAX_VERDICT_STEPS: usize = 4 << 20;

/// The rules of a robots.txt that apply to one crawler.
///
/// ```
/// use clewline_core::robots::Robots;
///
/// let robots = Robots::parse(b"User-agent: *\nDisallow: /private\n", &["clewline"]);
/// assert!(robots.verdict("/public").allowed);
/// let verdict = robots.verdict("/private/page?x=1");
/// assert!(!verdict.allowed);
/// assert_eq!(verdict.rule.map(|rule| rule.line), Some(2));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Robots {
    group: Option<Box<str>>,
    rules: RuleSet,
    otherwise: Kind,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<String>,
}

/// Whether a URL may be fetched, and the line that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RobotsDecision<'a> {
    /// Whether the crawler may fetch the URL.
    pub allowed: bool,
    /// The rule that decided; none if no rule matched.
    pub rule: Option<Rule<'a>>,
}

/// A line of the file that decided a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'a> {
    /// The number of the line, from 1.
    pub line: u32,
    /// The line without its comment and outer spaces. It is foreign text and may hold control
    /// characters: escape it before it reaches a terminal.
    pub text: &'a str,
}

impl Robots {
    /// Reads the file for a crawler that answers to any of the product tokens in `agents`.
    ///
    /// The groups that name one of them are merged; if none does, the groups for `*` are
    /// (RFC 9309 section 2.2.1).
    pub fn parse(body: &[u8], agents: &[&str]) -> Self {
        let mut reader = RobotsReader::new(agents);
        reader.feed(body);
        reader.finish()
    }

    /// The answer for a site without a robots.txt.
    pub fn allow_all() -> Self {
        Self::without_rules(Kind::Allow)
    }

    /// The answer for a site whose robots.txt cannot be had (RFC 9309 section 2.3.1.4).
    pub fn disallow_all() -> Self {
        Self::without_rules(Kind::Disallow)
    }

    fn without_rules(otherwise: Kind) -> Self {
        Self {
            group: None,
            rules: RuleSet::default(),
            otherwise,
            crawl_delay: None,
            sitemaps: Vec::new(),
        }
    }

    /// Judges the path and query of a URL as the URL standard serialises them.
    ///
    /// The longest matching pattern decides, `Allow` wins a tie, and `/robots.txt` itself is
    /// always allowed (RFC 9309 section 2.2.2).
    pub fn verdict(&self, path_and_query: &str) -> RobotsDecision<'_> {
        let path = pattern::request_path(path_and_query);
        if path == "/robots.txt" {
            return RobotsDecision {
                allowed: true,
                rule: None,
            };
        }
        match self.rules.decide(&path) {
            Some((kind, rule)) => RobotsDecision {
                allowed: kind == Kind::Allow,
                rule: Some(rule),
            },
            None => RobotsDecision {
                allowed: self.otherwise == Kind::Allow,
                rule: None,
            },
        }
    }

    /// The crawl delay of the group that applies; the longest one if it has several.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The sitemaps the file names, as written, in order; they belong to no group.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// The token of the group that applies: one of the crawler's own, `*`, or none.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }
}

/// The form on disk: plain rules, from which the compact form is built and checked anew.
#[derive(Serialize, Deserialize)]
struct Stored {
    group: Option<Box<str>>,
    rules: Vec<RuleDraft<'static>>,
    otherwise: Kind,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<String>,
}

impl From<Stored> for Robots {
    fn from(stored: Stored) -> Self {
        Self {
            group: stored.group,
            rules: RuleSet::build(stored.rules),
            otherwise: stored.otherwise,
            crawl_delay: stored.crawl_delay,
            sitemaps: stored.sitemaps,
        }
    }
}

impl From<Robots> for Stored {
    fn from(robots: Robots) -> Self {
        let owned = |draft: RuleDraft<'_>| RuleDraft {
            pattern: Cow::Owned(draft.pattern.into_owned()),
            text: Cow::Owned(draft.text.into_owned()),
            ..draft
        };
        Self {
            rules: robots.rules.drafts().map(owned).collect(),
            group: robots.group,
            otherwise: robots.otherwise,
            crawl_delay: robots.crawl_delay,
            // Whoever writes a password into a public file must not find it in our state.
            sitemaps: robots
                .sitemaps
                .iter()
                .map(|url| redacted(url).into_owned())
                .collect(),
        }
    }
}
