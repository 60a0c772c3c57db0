//! robots.txt at hand-out: what it says about the URL whose turn it is.
//!
//! Owns the judgement of a URL by the rules of its origin, what follows for the head of a lane, and the fetch of rules that are
//! not known. It refuses to know how rules are written and matched; `crate::robots` does.

use super::Frontier;
use super::entry::{Origin, RobotsFetch};
use super::job::Next;
use super::lane::OriginRobots;
use super::pace::Moment;
use super::store::Store;
use crate::key::HostId;
use crate::outcome::{Outcome, SkipReason};
use crate::url::CrawlUrl;

/// Redirect hops for a robots.txt (RFC 9309, 2.3.1.2).
const ROBOTS_HOPS: u32 = 5;

/// What the robots.txt of an origin says about one of its URLs.
pub(super) enum RobotsWord {
    Allowed,
    /// The rule that disallows it.
    Disallowed(Box<str>),
    /// Not known yet; the lane waits.
    NotYet,
    /// It could not be read, and will be tried again then.
    Later(Moment),
    /// It could not be read, and will not be tried again.
    GivenUp,
    /// It is to be fetched, which begins with this.
    First(Next),
}

/// What robots.txt says about a head.
pub(super) enum Judged {
    Allowed,
    /// Not known yet; the lane waits.
    NotYet,
    /// This comes first: the fetch of the robots.txt, or the end of the URL it disallows.
    First(Next),
}

impl<S: Store> Frontier<S> {
    /// Judges the head by robots.txt.
    pub(super) fn judge_robots(
        &mut self,
        host: HostId,
        url: &CrawlUrl,
        now: Moment,
    ) -> Result<Judged, S::Error> {
        let (reason, why) = match self.ask_robots(host, url, now)? {
            RobotsWord::Allowed => return Ok(Judged::Allowed),
            RobotsWord::NotYet => return Ok(Judged::NotYet),
            RobotsWord::First(next) => return Ok(Judged::First(next)),
            RobotsWord::Later(again_at) => {
                self.schedule_lane(host, again_at);
                return Ok(Judged::NotYet);
            }
            RobotsWord::GivenUp if !self.lane(host).last_call => {
                self.without_robots.insert(host);
                return Ok(Judged::NotYet);
            }
            RobotsWord::GivenUp => (
                SkipReason::RobotsUnreachable,
                "robots.txt could not be read three times".into(),
            ),
            RobotsWord::Disallowed(why) => (SkipReason::Robots, why),
        };
        let entry = self.take_head(host, now);
        let finished = self.finish(entry, Outcome::Skipped(reason), Some(why));
        Ok(Judged::First(Next::Settled(Box::new(finished))))
    }

    /// What robots.txt says about a URL of a lane; the fetch of rules that are not known begins.
    pub(super) fn ask_robots(
        &mut self,
        host: HostId,
        url: &CrawlUrl,
        now: Moment,
    ) -> Result<RobotsWord, S::Error> {
        let lane = self.lane(host);
        if !lane.rules.robots {
            return Ok(RobotsWord::Allowed);
        }
        let origin = Origin::from_url(url);
        self.recall_robots(host, origin, now)?;
        let state = self.lane(host).origin(origin);
        match &state.robots {
            OriginRobots::Known { robots, until } if *until > now => {
                let verdict = robots.verdict(url.path_and_query());
                if verdict.allowed {
                    return Ok(RobotsWord::Allowed);
                }
                let by_rule = verdict
                    .rule
                    .map(|rule| format!("robots.txt line {}: {}", rule.line, rule.text));
                let why = by_rule.unwrap_or_else(|| "robots.txt disallows all".into());
                Ok(RobotsWord::Disallowed(why.into()))
            }
            OriginRobots::GivenUp => Ok(RobotsWord::GivenUp),
            OriginRobots::Fetching => Ok(RobotsWord::NotYet),
            OriginRobots::Unreachable { again_at } if *again_at > now => {
                Ok(RobotsWord::Later(*again_at))
            }
            _ => {
                state.robots = OriginRobots::Fetching;
                self.begin_robots(host, url, now)
            }
        }
    }

    /// Takes up a robots.txt that an earlier run, or the lane before it was put aside, knew.
    pub(super) fn recall_robots(
        &mut self,
        host: HostId,
        origin: Origin,
        now: Moment,
    ) -> Result<(), S::Error> {
        let state = self.lane(host).origin(origin);
        if !matches!(state.robots, OriginRobots::Unknown) || state.robots_recalled {
            return Ok(());
        }
        state.robots_recalled = true;
        if let Some((robots, until)) = self.store.load_robots(host, origin)? {
            let until = Moment::from_millis(until.saturating_sub(self.rules.epoch));
            if until > now {
                let delay = robots.crawl_delay();
                let lane = self.lane(host);
                if let Some(delay) = delay.filter(|_| !lane.rules.politeness.ignore_crawl_delay) {
                    lane.pace.obey_delay(delay);
                }
                let robots = Box::new(robots);
                lane.origin(origin).robots = OriginRobots::Known { robots, until };
            }
        }
        Ok(())
    }

    fn begin_robots(
        &mut self,
        host: HostId,
        url: &CrawlUrl,
        now: Moment,
    ) -> Result<RobotsWord, S::Error> {
        let robots_url = url.with_path("/robots.txt");
        self.lane(host).robots_fetches.push_back(RobotsFetch {
            url: robots_url.clone(),
            for_lane: host,
            for_origin: Origin::from_url(url),
            hops_left: ROBOTS_HOPS,
            asked_at: now,
        });
        let next = self.try_robots_fetch(host, &robots_url, now)?;
        Ok(next.map_or(RobotsWord::NotYet, RobotsWord::First))
    }
}
