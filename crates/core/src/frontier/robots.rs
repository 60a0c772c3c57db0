//! robots.txt at hand-out: what it says about the URL whose turn it is.
//!
//! Owns the judgement of a lane's head by the rules of its origin, and the fetch of rules that are
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
        let lane = self.lane(host);
        if !lane.rules.robots {
            return Ok(Judged::Allowed);
        }
        let origin = Origin::from_url(url);
        self.recall_robots(host, origin, now)?;
        let lane = self.lane(host);
        let last_call = lane.last_call;
        let state = lane.origin(origin);
        let refusal = match &state.robots {
            OriginRobots::Known { robots, until } if *until > now => {
                let verdict = robots.verdict(url.path_and_query());
                if verdict.allowed {
                    return Ok(Judged::Allowed);
                }
                let by_rule = verdict
                    .rule
                    .map(|rule| format!("robots.txt line {}: {}", rule.line, rule.text));
                (
                    SkipReason::Robots,
                    by_rule.unwrap_or_else(|| "robots.txt disallows all".into()),
                )
            }
            OriginRobots::GivenUp if !last_call => {
                self.without_robots.insert(host);
                return Ok(Judged::NotYet);
            }
            OriginRobots::GivenUp => (
                SkipReason::RobotsUnreachable,
                "robots.txt could not be read three times".into(),
            ),
            OriginRobots::Fetching => return Ok(Judged::NotYet),
            OriginRobots::Unreachable { again_at } if *again_at > now => {
                let again_at = *again_at;
                self.schedule_lane(host, again_at);
                return Ok(Judged::NotYet);
            }
            _ => {
                state.robots = OriginRobots::Fetching;
                return self.begin_robots(host, url, now);
            }
        };
        let entry = self.take_head(host, now);
        let finished = self.finish(entry, Outcome::Skipped(refusal.0), Some(refusal.1.into()));
        Ok(Judged::First(Next::Settled(Box::new(finished))))
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
    ) -> Result<Judged, S::Error> {
        let robots_url = url.with_path("/robots.txt");
        self.lane(host).robots_fetches.push_back(RobotsFetch {
            url: robots_url.clone(),
            for_lane: host,
            for_origin: Origin::from_url(url),
            hops_left: ROBOTS_HOPS,
            asked_at: now,
        });
        let next = self.try_robots_fetch(host, &robots_url, now)?;
        Ok(next.map_or(Judged::NotYet, Judged::First))
    }
}
