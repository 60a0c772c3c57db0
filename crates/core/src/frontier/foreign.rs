//! What goes to other members of a fleet, and what comes from them.
//!
//! Owns the way out for URLs of foreign hosts, the way in for those that others found, and the
//! errand of a robots.txt that is redirected to a host of another owner. It refuses to know how mail
//! travels: the store keeps it with the batch that is open. Invariants: no lane is made for a
//! foreign host; a URL that comes twice is queued once; a lane never waits for an answer without
//! end.

use super::Frontier;
use super::entry::{QueueEntry, RobotsFetch};
use super::job::Admission;
use super::pace::Moment;
use super::store::Store;
use crate::fleet::Mail;
use crate::key::{HostId, Key};
use crate::robots::Robots;
use crate::scope::Joined;
use crate::url::CrawlUrl;

impl<S: Store> Frontier<S> {
    /// Sends a URL to its owner.
    pub(super) fn send(&mut self, entry: QueueEntry) -> Result<Admission, S::Error> {
        self.store.export(Mail::Url(Box::new(entry)))?;
        Ok(Admission::Sent)
    }

    /// What was sent is durable: it need not be sent again. Sooner it must not be known, since a
    /// part of a batch may count nowhere in the end.
    pub fn know_sent(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), S::Error> {
        for key in keys {
            // What is one's own by now comes back as mail.
            if self.is_foreign(key.host()) && !self.is_known(key)? {
                self.know(key)?;
            }
        }
        Ok(())
    }

    /// Takes in what another member sent; nothing happens if it is known.
    pub fn admit_mail(&mut self, mail: Mail, now: Moment) -> Result<Admission, S::Error> {
        match mail {
            Mail::Url(entry) => self.admit_sent(*entry, now),
            Mail::RobotsFetch(fetch) => {
                let host = self.rules.keyer.key(&fetch.url).host();
                if self.is_closed(host) {
                    self.store.export(Mail::RobotsFetch(fetch))?;
                    return Ok(Admission::Sent);
                }
                let queued = self.lanes.get(&host).map(|lane| &lane.robots_fetches);
                let is_same = |other: &RobotsFetch| {
                    other.for_lane == fetch.for_lane && other.for_origin == fetch.for_origin
                };
                if queued.is_some_and(|queued| queued.iter().any(is_same)) {
                    return Ok(Admission::Known);
                }
                self.send_robots_fetch(*fetch, now)?;
                Ok(Admission::Accepted)
            }
            Mail::RobotsAnswer {
                for_lane,
                for_origin,
                url,
                robots,
            } => {
                // A lane that was put aside or moved asks anew when it needs the rules.
                if !self.lanes.contains_key(&for_lane) {
                    return Ok(Admission::Known);
                }
                let fetch = RobotsFetch {
                    url,
                    for_lane,
                    for_origin,
                    hops_left: 0,
                    asked_at: now,
                };
                match robots {
                    Some(robots) => self.robots_known(&fetch, robots, now)?,
                    None => self.reschedule(for_lane, now)?,
                }
                Ok(Admission::Accepted)
            }
        }
    }

    /// Its finder judged it by the same rules; only whether it is known is to be seen here.
    fn admit_sent(&mut self, entry: QueueEntry, now: Moment) -> Result<Admission, S::Error> {
        let chain = entry.chain.as_deref();
        let wall = chain.is_some_and(|chain| chain.revisited && chain.visited.contains(&entry.key));
        match (self.is_known(entry.key)?, wall) {
            (true, true) => self.enter_again(entry, now),
            (true, false) => Ok(Admission::Known),
            (false, _) => self.enter_new(entry, now),
        }
    }

    /// The robots.txt of a lane is redirected to a host of a shard that is foreign, or closed and
    /// soon foreign. The answer may never come, so the lane begins anew after a while, and not for
    /// ever.
    pub(super) fn mail_robots_fetch(
        &mut self,
        fetch: RobotsFetch,
        now: Moment,
    ) -> Result<(), S::Error> {
        let again_at = now + self.rules.robots_retry;
        if let Some(lane) = self.lanes.get_mut(&fetch.for_lane) {
            lane.origin(fetch.for_origin).await_robots(again_at);
            self.reschedule(fetch.for_lane, now)?;
        }
        self.store.export(Mail::RobotsFetch(Box::new(fetch)))
    }

    /// A robots.txt is to be asked for again in the lane of its host. A closed lane asks nothing more,
    /// and whoever waits there would wait for ever, so that is for the next owner.
    pub(super) fn put_robots_fetch_back(
        &mut self,
        host: HostId,
        fetch: RobotsFetch,
        now: Moment,
    ) -> Result<(), S::Error> {
        if self.is_closed(host) && fetch.for_lane != host {
            return self.mail_robots_fetch(fetch, now);
        }
        self.lane(host).robots_fetches.push_front(fetch);
        Ok(())
    }

    /// Whether the lane that a robots.txt is fetched for is not here: it is foreign, or its shard
    /// came here while its errand was under way.
    pub(super) fn is_asker_away(&self, asker: HostId) -> bool {
        S::IN_FLEET && (self.is_foreign(asker) || !self.lanes.contains_key(&asker))
    }

    /// Tells the owner of a foreign lane what its robots.txt says, or that it could not be read.
    pub(super) fn mail_robots(
        &mut self,
        fetch: &RobotsFetch,
        robots: Option<Box<Robots>>,
    ) -> Result<(), S::Error> {
        if !self.is_foreign(fetch.for_lane) {
            return Ok(());
        }
        self.store.export(Mail::RobotsAnswer {
            for_lane: fetch.for_lane,
            for_origin: fetch.for_origin,
            url: fetch.url.clone(),
            robots,
        })
    }

    /// Another member found that a root's redirects ended on this page: its host joins the roots.
    pub fn hear_joined(&mut self, url: &CrawlUrl) {
        if self.join_scope(url) == Joined::Host {
            self.remember_joined(url);
        }
    }

    /// From here on only roots and hops of their redirects are handed out, or everything: until all
    /// of these have ended, others may not know yet what belongs to the scope.
    pub fn hand_out_roots_only(&mut self, only: RootsOnly, now: Moment) -> Result<(), S::Error> {
        let is_only = only == RootsOnly::Yes;
        let Some(share) = self.share_mut() else {
            return Ok(());
        };
        if std::mem::replace(&mut share.roots_only, is_only) == is_only {
            return Ok(());
        }
        // Roots are not deep, so what is deeper need not be looked through.
        self.reach_down_to(if is_only { 0 } else { u32::MAX }, now)
    }

    /// Whether an entry waits because roots come first.
    pub(super) fn waits_for_roots(&self, entry: &QueueEntry) -> bool {
        self.share().is_some_and(|share| share.roots_only) && !entry.root
    }

    /// Nothing else is left in the whole fleet: hosts without a robots.txt give up their URLs.
    pub fn call_last(&mut self) {
        if let Some(share) = self.share_mut() {
            share.last_call = true;
        }
    }

    /// Whether others may still have something to do.
    pub(super) fn waits_for_last_call(&self) -> bool {
        self.share().is_some_and(|share| !share.last_call)
    }
}

/// Whether only roots are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootsOnly {
    /// Others wait.
    Yes,
    /// Everything is.
    No,
}
