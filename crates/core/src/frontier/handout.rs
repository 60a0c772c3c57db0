//! The way out to work: which job is next.
//!
//! Owns hand-out. A lane that is due is looked at from its end backwards: has it ended, may it
//! start anything, is its origin resolved, are its robots known, do they allow the head, is the
//! address permitted, have domain and address room? The first "no" says what the lane waits
//! for, and only a "yes" to all of it starts a request and charges it.

use std::net::IpAddr;
use std::slice::from_ref;

use super::Frontier;
use super::entry::{Class, Origin, QueueEntry};
use super::flights::{Flight, JobKind};
use super::group::GroupKey;
use super::job::{End, FetchJob, Finished, Next, Patience, Work};
use super::lane::{Addresses, OriginRobots};
use super::pace::Moment;
use super::page_budget::counts_as_page;
use super::place::LanePlace;
use super::robots::Judged;
use super::schedule::Wake;
use super::shards::ShardCounts;
use super::slots::{Taken, Turn};
use super::store::Store;
use super::suspects::Suspect;
use crate::address::AddressPolicy;
use crate::key::HostId;
use crate::link::LinkKind;
use crate::outcome::{Outcome, SkipReason};
use crate::politeness::GroupPace;
use crate::url::CrawlUrl;

/// Whether a request to an origin could start, and from which address.
pub(super) enum Ready {
    /// It may be asked, at this address; none through a proxy.
    Yes(Option<IpAddr>),
    /// Its name must be resolved first.
    Resolve(Next),
    /// It has no address that may be asked.
    Private(Box<str>),
    /// Somebody is resolving its name.
    No,
}

/// A request about to start.
pub(super) struct Launch {
    pub(super) kind: JobKind,
    pub(super) address: Option<IpAddr>,
    pub(super) work: Work,
}

/// What a job is charged to: groups and a slot.
#[derive(Clone, Copy)]
struct Charged {
    domain: Option<u64>,
    address: Option<IpAddr>,
    slot: (Taken, Patience),
}

impl<S: Store> Frontier<S> {
    /// What to do now.
    pub fn next(&mut self, now: Moment) -> Result<Next, S::Error> {
        loop {
            if let Some(budget) = self.spent(now) {
                self.refuse_all_errands();
                let idle = self.flights.is_empty();
                return Ok(if idle {
                    Next::Done(End::Budget(budget))
                } else {
                    Next::Waiting
                });
            }
            if self.suspects.is_one_alone() {
                return Ok(Next::Waiting);
            }
            if let Some(next) = self.look_for_network(now)? {
                return Ok(next);
            }
            self.take_in_hosts(now)?;
            if let Some(next) = self.serve_line(Turn::First, now)? {
                return Ok(next);
            }
            while let Some((at, wake)) = self.schedule.pop_due(now) {
                if let Some(next) = self.woken(at, wake, now)? {
                    return Ok(next);
                }
            }
            if let Some(next) = self.serve_line(Turn::Last, now)? {
                return Ok(next);
            }
            if !self.go_on(now)? {
                return Ok(self.idle());
            }
        }
    }

    fn woken(&mut self, at: Moment, wake: Wake, now: Moment) -> Result<Option<Next>, S::Error> {
        let woken = match wake {
            Wake::Lane(host) => return self.wake_lane(host, at, now),
            Wake::Group(group) => self.shared.wake(group, at),
        };
        if let Some(host) = woken.lane {
            if let Some(lane) = self.lanes.get_mut(&host) {
                lane.place.move_to(LanePlace::Nowhere);
            }
            self.schedule_lane(host, now);
        }
        if let Some(again) = woken.again {
            self.schedule.add(again, wake);
        }
        Ok(None)
    }

    fn wake_lane(
        &mut self,
        host: HostId,
        at: Moment,
        now: Moment,
    ) -> Result<Option<Next>, S::Error> {
        let Some(lane) = self.lanes.get_mut(&host) else {
            return Ok(None);
        };
        if lane.place.scheduled() != Some(at) {
            return Ok(None);
        }
        lane.place.move_to(LanePlace::Nowhere);
        self.ask_lane(host, now)
    }

    /// Asks a lane what it could start.
    pub(super) fn ask_lane(&mut self, host: HostId, now: Moment) -> Result<Option<Next>, S::Error> {
        let next = self.try_lane(host, now)?;
        if let Some(Next::Settled(finished)) = &next {
            self.store.settle(&finished.entry)?;
        }
        if next.is_some() {
            self.reschedule(host, now)?;
            self.touch(host)?;
        }
        Ok(next)
    }

    fn try_lane(&mut self, host: HostId, now: Moment) -> Result<Option<Next>, S::Error> {
        if !self.lanes.contains_key(&host) || self.is_closed(host) {
            return Ok(None);
        }
        self.fill(host)?;
        let lane = self.lane(host);
        if lane.ended.is_some() {
            self.return_robots_fetches(host, now)?;
            self.refuse_errands_of_ended(host);
            let next = self.drain_ended(host);
            if next.is_none() {
                // What waits may be deeper: the level has to know.
                self.reschedule(host, now)?;
            }
            return Ok(next);
        }
        if lane.in_flight >= lane.pace.in_flight_limit() {
            return Ok(None);
        }
        let has_other_work = !lane.robots_fetches.is_empty() || lane.has_errands();
        if lane.pace.next_at() > now || (!has_other_work && lane.head(now).is_none()) {
            self.reschedule(host, now)?;
            return Ok(None);
        }
        let fetch = lane.robots_fetches.front().map(|fetch| fetch.url.clone());
        let errand = lane.first_errand().map(|errand| errand.url.clone());
        if !has_other_work {
            if self.gate.holds(host) {
                return Ok(None);
            }
            if self.reconsider(host, now)? {
                self.reschedule(host, now)?;
                return Ok(None);
            }
        }
        let standing = self.lane(host).standing;
        if !self.slots.has_room(standing) {
            self.wait_for_slot(host);
            return Ok(None);
        }
        match (fetch, errand) {
            (Some(url), _) => self.try_robots_fetch(host, &url, now),
            (None, Some(url)) => self.try_errand(host, url, now),
            (None, None) => self.try_head(host, now),
        }
    }

    pub(super) fn try_robots_fetch(
        &mut self,
        host: HostId,
        url: &CrawlUrl,
        now: Moment,
    ) -> Result<Option<Next>, S::Error> {
        match self.ready(host, url, now) {
            Ready::Yes(address) if self.may_start(host, address, now) => {
                let lane = self.lane(host);
                let fetch = lane.take_robots_fetch();
                let fetch = fetch.expect("the robots fetch was at the front a moment ago");
                let waiting = lane.head(now).filter(|_| fetch.for_lane == host);
                let work = Work::Robots {
                    url: url.clone(),
                    address,
                    guessed: waiting.is_some_and(QueueEntry::guesses),
                    spaced: lane.pace.is_one_at_a_time(),
                    streams: lane.pace.in_flight_limit(),
                };
                let kind = JobKind::Robots(Box::new(fetch));
                Ok(Some(self.start(
                    host,
                    Launch {
                        kind,
                        address,
                        work,
                    },
                    now,
                )))
            }
            Ready::Private(why) => self.abandon_robots_fetch(host, why, now),
            Ready::Resolve(next) => Ok(Some(next)),
            Ready::Yes(_) | Ready::No => Ok(None),
        }
    }

    /// No address of this lane may be asked for a robots.txt.
    fn abandon_robots_fetch(
        &mut self,
        host: HostId,
        why: Box<str>,
        now: Moment,
    ) -> Result<Option<Next>, S::Error> {
        let lane = self.lane(host);
        let Some(fetch) = lane.take_robots_fetch() else {
            return Ok(None);
        };
        if fetch.for_lane == host {
            lane.origin(fetch.for_origin).robots = OriginRobots::Unknown;
            return Ok(self.refuse_head(host, SkipReason::PrivateAddress, why, now));
        }
        self.robots_unreachable(&fetch, now)?;
        self.reschedule(host, now)?;
        Ok(None)
    }

    fn refuse_head(
        &mut self,
        host: HostId,
        reason: SkipReason,
        why: Box<str>,
        now: Moment,
    ) -> Option<Next> {
        let entry = self.lanes.get_mut(&host)?.take_head(now)?;
        let outcome = Outcome::Skipped(reason);
        Some(Next::Settled(Box::new(self.finish(
            entry,
            outcome,
            Some(why),
        ))))
    }

    fn try_head(&mut self, host: HostId, now: Moment) -> Result<Option<Next>, S::Error> {
        match self.examine(host, now)? {
            Suspect::Free => {}
            Suspect::Aside => return Ok(None),
            Suspect::Ended(next) => return Ok(Some(next)),
        }
        let Some(head) = self.lanes.get(&host).and_then(|lane| lane.head(now)) else {
            return Ok(None);
        };
        let (url, kind, guessed) = (head.url.clone(), head.kind, head.guesses());
        if self.rules.scope.leaves_out(&url, kind) {
            let why = "a pattern that came when it was queued".into();
            return Ok(self.refuse_head(host, SkipReason::Excluded, why, now));
        }
        if self.waits_for_roots(head) {
            return self.put_off(host, now);
        }
        if self.page_budget_holds(host, kind) {
            return self.try_part(host, now);
        }
        if kind == LinkKind::SitemapFile && self.enough_waits() {
            return self.put_off(host, now);
        }
        let address = match self.ready(host, &url, now) {
            Ready::Yes(address) => address,
            Ready::Resolve(next) => return Ok(Some(next)),
            Ready::Private(why) => {
                return Ok(self.refuse_head(host, SkipReason::PrivateAddress, why, now));
            }
            Ready::No => return Ok(None),
        };
        match self.judge_robots(host, &url, now)? {
            Judged::Allowed => {}
            Judged::NotYet => return Ok(None),
            Judged::First(next) => return Ok(Some(next)),
        }
        if !self.may_start(host, address, now) {
            return Ok(None);
        }
        let entry = self.take_head(host, now);
        self.guard(entry.key);
        let closely = self.asks_closely(host, &entry)?;
        let pace = &self.lane(host).pace;
        let work = Work::Page {
            closely,
            url,
            address,
            kind,
            guessed,
            spaced: pace.is_one_at_a_time(),
            streams: pace.in_flight_limit(),
        };
        if counts_as_page(kind) {
            self.page_budget.started();
            self.count_pages(host, |pages| pages.in_flight += 1);
            self.lane(host).pages_in_flight += 1;
        }
        let kind = JobKind::Page(Box::new(entry));
        Ok(Some(self.start(
            host,
            Launch {
                kind,
                address,
                work,
            },
            now,
        )))
    }

    /// The head is held by a page budget; something behind it may not be.
    fn try_part(&mut self, host: HostId, now: Moment) -> Result<Option<Next>, S::Error> {
        match self.part_ahead(host, now)? {
            Some(at) if at <= now => self.try_head(host, now),
            Some(at) => {
                self.schedule_lane(host, at);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    pub(super) fn take_head(&mut self, host: HostId, now: Moment) -> QueueEntry {
        let lane = self.lane(host);
        lane.take_head(now)
            .expect("the head was looked at a moment ago")
    }

    /// Makes sure that the origin of a URL is resolved and its address permitted.
    pub(super) fn ready(&mut self, host: HostId, url: &CrawlUrl, now: Moment) -> Ready {
        self.drop_ungranted(host, url, now);
        let rules = &self.rules;
        let lane = self.lanes.get_mut(&host);
        let lane = lane.expect("a lane with work is there");
        let turn = lane.address_turn;
        let state = lane.origin(Origin::from_url(url));
        match &state.addresses {
            Addresses::Known { addresses, until } if *until > now => {
                // Through a proxy there is no address, except where the URL has one.
                let literal = if addresses.is_empty() { url.ip() } else { None };
                let addresses = literal.as_ref().map_or(&addresses[..], from_ref);
                permitted(&rules.addresses, addresses, turn)
            }
            Addresses::Asking => Ready::No,
            _ => {
                state.addresses = Addresses::Asking;
                let kind = JobKind::Resolve(Origin::from_url(url));
                let charged = Charged {
                    domain: None,
                    address: None,
                    slot: lane.slot_for(&kind),
                };
                let launch = Launch {
                    kind,
                    address: None,
                    work: Work::Resolve { url: url.clone() },
                };
                Ready::Resolve(self.lease(host, launch, charged, now))
            }
        }
    }

    /// Whether domain and address have room; if not, the lane waits for them.
    pub(super) fn may_start(&mut self, host: HostId, address: Option<IpAddr>, now: Moment) -> bool {
        let lane = self.lane(host);
        let politeness = &lane.rules.politeness;
        let (domain, pace, address_pace) = (lane.domain, politeness.domain, politeness.address);
        if self.shared.counts_domains() && !self.has_room(host, GroupKey::Domain(domain), pace, now)
        {
            return false;
        }
        match address.filter(|address| self.is_limited(*address)) {
            Some(address) => {
                let pace = self.granted(address, address_pace);
                self.has_room(host, GroupKey::Address(address), pace, now)
            }
            None => true,
        }
    }

    /// Whether a group has room; if not, the lane waits for it.
    fn has_room(&mut self, host: HostId, group: GroupKey, pace: GroupPace, now: Moment) -> bool {
        let Some(room) = self.shared.room(group, pace, now) else {
            return true;
        };
        self.lane(host).place.move_to(LanePlace::InGroup);
        if let Some(at) = self.shared.wait(group, host, room) {
            self.schedule.add(at, Wake::Group(group));
        }
        false
    }

    /// Whether requests to an address are counted.
    pub(super) fn is_limited(&self, address: IpAddr) -> bool {
        let mut shared = self.rules.shared_addresses.iter();
        self.shared.counts_addresses() && !shared.any(|range| range.contains(address))
    }

    /// Starts a request and charges it to lane, domain and address.
    pub(super) fn start(&mut self, host: HostId, mut launch: Launch, now: Moment) -> Next {
        match &mut launch.kind {
            JobKind::Page(entry) => entry.attempts.asked_at = now,
            JobKind::Robots(fetch) => fetch.asked_at = now,
            JobKind::Errand(errand) => errand.asked_at = now,
            JobKind::Resolve(_) | JobKind::Postponed(_) => {}
        }
        let limited = launch.address.filter(|address| self.is_limited(*address));
        let lane = self.lane(host);
        lane.in_flight += 1;
        lane.pace.started(now);
        let slot = lane.slot_for(&launch.kind);
        let politeness = &lane.rules.politeness;
        let paces = (politeness.domain, politeness.address);
        let domain = Some(lane.domain).filter(|_| self.shared.counts_domains());
        if let Some(domain) = domain {
            self.shared.start(GroupKey::Domain(domain), paces.0, now);
        }
        if let Some(address) = limited {
            let pace = self.granted(address, paces.1);
            self.shared.start(GroupKey::Address(address), pace, now);
        }
        let charged = Charged {
            domain,
            address: limited,
            slot,
        };
        self.lease(host, launch, charged, now)
    }

    fn lease(&mut self, lane: HostId, launch: Launch, charged: Charged, now: Moment) -> Next {
        self.counts.in_flight += 1;
        let (taken, patience) = charged.slot;
        self.slots.start(taken);
        let id = self.flights.add(Flight {
            lane,
            kind: launch.kind,
            domain: charged.domain,
            address: charged.address,
            since: now,
            taken,
            excused: false,
        });
        self.await_flight(id, taken.standing(), now);
        Next::Start(FetchJob {
            id,
            work: launch.work,
            patience,
        })
    }

    /// A lane that has ended runs no robots fetches; the lanes that sent them must not wait for ever.
    fn return_robots_fetches(&mut self, host: HostId, now: Moment) -> Result<(), S::Error> {
        for fetch in std::mem::take(&mut self.lane(host).robots_fetches) {
            if fetch.for_lane != host {
                self.robots_unreachable(&fetch, now)?;
            }
        }
        Ok(())
    }

    fn drain_ended(&mut self, host: HostId) -> Option<Next> {
        let lane = self.lane(host);
        let (end, entry) = (lane.ended.clone()?, lane.take_any()?);
        let finished = self.finish(entry, end.outcome, Some(end.why));
        Some(Next::Settled(Box::new(finished)))
    }

    /// Brings an entry to its end.
    pub(super) fn finish(
        &mut self,
        entry: QueueEntry,
        outcome: Outcome,
        error: Option<Box<str>>,
    ) -> Finished {
        self.counts.settled += 1;
        self.count_in_shard(&entry, ShardCounts::settle);
        self.counts.withheld -= u64::from(entry.class == Class::Withheld);
        self.sitemap_ended(&entry);
        self.suspects.clear(entry.key);
        if let Some(lane) = self.lanes.get_mut(&entry.key.host()) {
            lane.queued = lane.queued.saturating_sub(1);
        }
        Finished {
            entry,
            outcome,
            new_links: 0,
            error,
        }
    }
}

/// The address whose turn it is, of those that may be asked.
pub(super) fn permitted(policy: &AddressPolicy, addresses: &[IpAddr], turn: usize) -> Ready {
    let Some(first) = addresses.first() else {
        return Ready::Yes(None);
    };
    let permitted = || addresses.iter().filter(|address| policy.permits(**address));
    // Most hosts have one address, which need not be judged twice.
    let count = match addresses.len() {
        1 => 1,
        _ => permitted().count().max(1),
    };
    match permitted().nth(turn % count) {
        Some(address) => Ready::Yes(Some(*address)),
        None => Ready::Private(format!("{first} is not a public address").into()),
    }
}
