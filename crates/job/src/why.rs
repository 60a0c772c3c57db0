//! Why a URL was fetched, or was not, as data.
//!
//! Owns the shape of the trail of one URL, which `why --json` prints. It refuses to know how the
//! trail is found: the library joins the logs, the state and the configuration of a job.

use clewline_core::frontier::HostSummary;
use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

use crate::record::Record;

/// What became of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fate {
    /// It is settled: there is a record.
    Recorded,
    /// It was let in, and waits or is in flight.
    Queued,
    /// It was let in, and is withheld as part of a trap.
    Withheld,
    /// It was refused, or would be.
    Refused,
    /// The crawl never met it, and nothing speaks against it.
    Unknown,
}

/// A page that links to the URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Referrer {
    /// The page.
    pub url: CrawlUrl,
    /// How it names the URL.
    pub kind: LinkKind,
}

/// One answer of a chain of redirects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedirectHop {
    /// The URL that answered.
    pub url: CrawlUrl,
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// The trail of one URL.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The URL that was asked about.
    pub url: CrawlUrl,
    /// The form in which the crawl knows it.
    pub normalised: String,
    /// Parameters that make no difference, by --drop-params.
    pub dropped: Vec<String>,
    /// Its key in the logs.
    pub key: Key,
    /// What became of it.
    pub fate: Fate,
    /// Why it was refused, or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<SkipReason>,
    /// The rule that decided, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the stored robots.txt says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robots: Option<RobotsSaying>,
    /// When it was queued: UTC, RFC 3339; none for roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<String>,
    /// The first pages that link to it.
    pub referrers: Vec<Referrer>,
    /// How many links to it there are.
    pub referrer_count: u64,
    /// Redirects that led to it, in order.
    pub before: Vec<RedirectHop>,
    /// Where its own redirect led, in order.
    pub after: Vec<RedirectHop>,
    /// All URLs that redirect to it, the first few.
    pub redirected_from: Vec<CrawlUrl>,
    /// How many do.
    pub redirected_from_count: u64,
    /// How its host stands, where the crawl runs and the host is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSummary>,
    /// Its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
}

/// What a robots.txt says of one URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsSaying {
    /// It may be fetched.
    pub allowed: bool,
    /// The line that decided, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The text of that line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl RobotsSaying {
    /// What these rules say of a URL.
    pub fn new(robots: &Robots, url: &CrawlUrl) -> Self {
        let verdict = robots.verdict(url.path_and_query());
        Self {
            allowed: verdict.allowed,
            line: verdict.rule.map(|rule| rule.line),
            text: verdict.rule.map(|rule| rule.text.to_owned()),
        }
    }
}
