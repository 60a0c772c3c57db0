//! What the robots.txt of an origin says, with the line that says it.
//!
//! Owns the account of each file that was met, and what the frontier is told of one that is not
//! obeyed. It refuses to know how it was fetched.

use clewline_core::frontier::{Answer, Ending};
use clewline_core::outcome::{Retry, SkipReason};
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;
use clewline_job::inspection::{Conclusion, Hop, RobotsFile, RobotsState};

use super::visit::Visit;
use crate::clock::millis;
use crate::engine::runner::JobResult;

impl Visit<'_> {
    /// The end where no robots.txt could be read.
    pub(super) fn robots_unreachable(&mut self) -> Conclusion {
        let hop = Hop::unasked(&self.at, millis(self.begun.elapsed()));
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
