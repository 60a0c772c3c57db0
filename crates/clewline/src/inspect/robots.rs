//! What the robots.txt of an origin says, with the line that says it.
//!
//! Owns the account of each file that was met, and what the frontier is told of one that is not
//! obeyed. It refuses to know how it was fetched.

use clewline_core::frontier::{Answer, Ending};
use clewline_core::outcome::{Retry, SkipReason};
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;
use serde::Serialize;

use super::visit::Visit;
use super::{Conclusion, Hop};
use crate::control::RobotsSaying;
use crate::engine::runner::JobResult;
use crate::engine::says;

/// The robots.txt of one origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RobotsFile {
    /// Whose it is.
    pub origin: String,
    /// The requests for it, redirects included.
    pub hops: Vec<Hop>,
    /// What came of them.
    pub state: RobotsState,
    /// It is shown but not obeyed.
    pub ignored: bool,
    /// The group that applies: our own token or `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Seconds of Crawl-delay in that group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crawl_delay: Option<f64>,
    /// The sitemaps it names, as written.
    pub sitemaps: Vec<String>,
    /// The URLs of the chain on this origin, judged.
    pub verdicts: Vec<RobotsVerdict>,
    #[serde(skip)]
    rules: Option<Robots>,
}

/// What came of the requests for a robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RobotsState {
    /// It was read.
    Found,
    /// There is none, so everything is allowed.
    Absent,
    /// It could not be read, so nothing is allowed for now.
    Unreachable,
}

/// Whether robots.txt allows a URL, and the line that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsVerdict {
    /// The URL.
    pub url: CrawlUrl,
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The number of the line that decided, from 1; none if no rule matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The line itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl RobotsFile {
    pub(super) fn new(origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            hops: Vec::new(),
            state: RobotsState::Absent,
            ignored: false,
            group: None,
            crawl_delay: None,
            sitemaps: Vec::new(),
            verdicts: Vec::new(),
            rules: None,
        }
    }

    /// Takes in the file.
    pub(super) fn learn(&mut self, rules: Robots) {
        self.state = RobotsState::Found;
        self.group = rules.group().map(str::to_owned);
        self.crawl_delay = rules.crawl_delay().map(|delay| delay.as_secs_f64());
        self.sitemaps = rules.sitemaps().to_vec();
        self.rules = Some(rules);
    }

    /// Whether it is the file for a URL.
    pub(super) fn covers(&self, url: &CrawlUrl) -> bool {
        self.origin == url.origin()
    }

    /// The verdict on a URL of this origin.
    pub(super) fn verdict(&self, url: &CrawlUrl) -> RobotsVerdict {
        let without_rules = RobotsSaying {
            allowed: self.state != RobotsState::Unreachable,
            line: None,
            text: None,
        };
        let rules = self.rules.as_ref();
        let said = rules.map_or(without_rules, |rules| says(rules, url));
        RobotsVerdict {
            url: url.clone(),
            allowed: said.allowed,
            line: said.line,
            text: said.text,
        }
    }
}

impl Visit<'_> {
    /// The end where no robots.txt could be read.
    pub(super) fn robots_unreachable(&mut self) -> Conclusion {
        let hop = Hop::unasked(&self.at, self.begun.elapsed());
        self.hops.push(hop);
        let reason = SkipReason::RobotsUnreachable;
        let last = self.files.last_mut().and_then(|file| {
            file.state = RobotsState::Unreachable;
            file.hops.last()
        });
        let why = match last.map(|hop| (hop.status, &hop.location, &hop.failure)) {
            Some((_, _, Some(failure))) => format!("robots.txt: {}", failure.message),
            Some((_, Some(to), None)) => format!("robots.txt leads to {to}, which is not asked"),
            Some((Some(status), None, None)) => format!("robots.txt answers {status}"),
            _ => reason.about().to_owned(),
        };
        Conclusion::Skipped { reason, why }
    }

    /// A new record, unless this is where the redirect of the last one leads.
    pub(super) fn open_file(&mut self, url: &CrawlUrl) {
        if self.files_next.take().as_ref() == Some(url) {
            return;
        }
        let mut file = RobotsFile::new(url.origin());
        file.ignored = !self.configured.for_host(url.host()).robots;
        self.files.push(file);
    }

    /// Writes down what a request for a robots.txt brought back.
    pub(super) fn note_robots(&mut self, url: &CrawlUrl, hop: Hop, result: &JobResult) {
        self.files_next = hop.location.as_ref().and_then(|to| url.join(to).ok());
        let Some(file) = self.files.last_mut() else {
            return;
        };
        file.hops.push(hop);
        file.state = match result.answer().map(|answer| answer.status) {
            None | Some(429 | 500..) => RobotsState::Unreachable,
            Some(_) => RobotsState::Absent,
        };
        if let Some(rules) = result.answer().and_then(|answer| answer.robots.as_ref()) {
            file.learn(Robots::clone(rules));
        }
    }

    /// A robots.txt that is not obeyed is told to the frontier as one that is not there; so it
    /// can't keep the page from being fetched, and its redirects are not followed.
    pub(super) fn excuse(&self, ending: &mut Ending) {
        if !self.files.last().is_some_and(|file| file.ignored) {
            return;
        }
        match ending {
            Ending::Failed(failure)
                if failure.excuse.is_some() || failure.class.retry() == Retry::Host => {}
            _ => {
                *ending = Ending::Answered(Box::new(Answer {
                    status: 404,
                    ..Answer::default()
                }));
            }
        }
    }

    /// Writes down what robots.txt says about a URL of the chain.
    pub(super) fn judge_by_robots(&mut self, url: &CrawlUrl) {
        let file = self.files.iter_mut().find(|file| file.covers(url));
        if let Some(file) = file
            && file.verdicts.iter().all(|known| known.url != *url)
        {
            let verdict = file.verdict(url);
            file.verdicts.push(verdict);
        }
    }
}
