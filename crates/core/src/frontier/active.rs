//! Which hosts are in memory.
//!
//! Owns the coming and going of lanes. At most so many are active; a host beyond that waits in
//! the store, and takes the place of a lane that has nothing to do. What a lane learnt is kept
//! when it is put aside, and at every seal for all lanes that were touched, so that neither
//! turns the crawl impolite.

use std::collections::VecDeque;

use super::lane::Lane;
use super::pace::Moment;
use super::shards::OwnShards;
use super::store::{Span, Store, Waiting};
use super::traps::domain;
use super::{Frontier, FrontierState};
use crate::key::HostId;
use crate::url::CrawlUrl;

/// Waiting hosts that are taken in at a time.
const INTAKE: usize = 256;

/// The comings and goings of lanes.
#[derive(Debug, Default)]
pub(super) struct Residents {
    /// Lanes that changed since the last seal.
    pub(super) touched: Vec<HostId>,
    /// Lanes that had nothing to do when they were looked at, the first one first.
    resting: VecDeque<HostId>,
    /// Hosts that are not active may have work in the store.
    do_hosts_wait: bool,
}

impl Residents {
    /// A host that is not active has work.
    pub(super) const fn let_wait(&mut self) {
        self.do_hosts_wait = true;
    }

    /// Whether a host that is not active may have work.
    pub(super) const fn do_hosts_wait(&self) -> bool {
        self.do_hosts_wait
    }
}

impl<S: Store> Frontier<S> {
    /// Goes on where an earlier run stopped.
    pub fn restore(&mut self, state: FrontierState) {
        self.counts = state.counts;
        self.counts.in_flight = 0;
        for (reason, count) in state.refused {
            self.refused[reason.place()] = count;
        }
        self.restore_joined(state.joined);
        self.sitemaps_todo = state.sitemaps_todo;
        if self.rules.limits.depth.is_some() {
            self.levels.restore(state.level);
        }
        self.residents.let_wait();
        self.recall_traps(state.traps);
    }

    /// Closes the open batch: saves what was touched, and what else the caller has to keep.
    pub fn seal(&mut self, notes: Vec<(&'static str, Vec<u8>)>) -> Result<S::Sealed, S::Error> {
        for host in std::mem::take(&mut self.residents.touched) {
            if let Some(lane) = self.lanes.get_mut(&host) {
                lane.touched = false;
                let mut row = lane.row(|moment| self.rules.wall(moment));
                if S::IN_FLEET {
                    lane.keep_delay(&mut row);
                }
                self.store.save_lane(host, row)?;
            }
        }
        self.save_sites()?;
        self.store.seal(notes)
    }

    /// The oldest sealed batch is durable.
    pub fn committed(&mut self) {
        self.store.committed();
    }

    /// How much the open batch holds.
    pub fn open_size(&self) -> usize {
        self.store.open_size()
    }

    /// What must be found again after a restart.
    pub fn state(&self) -> FrontierState {
        FrontierState {
            counts: self.counts,
            refused: self.refused().filter(|(_, count)| *count > 0).collect(),
            joined: self.joined().to_vec(),
            level: self.levels.level(),
            sitemaps_todo: self.sitemaps_todo,
            traps: self.traps(),
        }
    }

    /// The lane of a URL's host, made where it is new, however many there are.
    pub(super) fn lane_of(
        &mut self,
        url: &CrawlUrl,
        host: HostId,
        now: Moment,
    ) -> Result<HostId, S::Error> {
        if !self.lanes.contains_key(&host) {
            let rules = self.rules.for_host(url.host());
            let domain = Self::domain_on(host, domain(url));
            let mut lane = Lane::new(url.host(), domain, rules);
            let mut delay = Moment::ZERO;
            match self.store.load_lane(host)? {
                Some(row) => {
                    delay = row.interval;
                    lane.restore(row, now, |wall| self.rules.moment(wall, now));
                }
                None => self.counts.hosts += 1,
            }
            self.hold_after_adoption(host, &mut lane, delay);
            lane.counted = !self.residents.do_hosts_wait;
            self.lanes.insert(host, Box::new(lane));
        }
        Ok(host)
    }

    /// Whether a host is active, or could be made so.
    pub(super) fn has_lane_for(
        &mut self,
        url: &CrawlUrl,
        host: HostId,
        now: Moment,
    ) -> Result<bool, S::Error> {
        let has_room = self.lanes.contains_key(&host) || self.has_room_for_lane()?;
        if has_room {
            self.lane_of(url, host, now)?;
        }
        Ok(has_room)
    }

    /// Remembers that a lane changed, and whether it has nothing to do.
    pub(super) fn touch(&mut self, host: HostId) -> Result<(), S::Error> {
        let Some(lane) = self.lanes.get_mut(&host) else {
            return Ok(());
        };
        if !std::mem::replace(&mut lane.touched, true) {
            self.residents.touched.push(host);
        }
        if lane.resting || !lane.is_idle() {
            return Ok(());
        }
        let span = self.whole_span(host);
        if self.store.waiting(host, span)? == Waiting::Nothing {
            self.lane(host).resting = true;
            self.residents.resting.push_back(host);
        }
        Ok(())
    }

    /// Whether another host may become active, in the place of one that has nothing to do if need be.
    pub(super) fn has_room_for_lane(&mut self) -> Result<bool, S::Error> {
        Ok(self.lanes.len() < self.rules.active_lanes || self.put_one_aside()?)
    }

    /// Puts the lane aside that has had nothing to do for the longest time.
    fn put_one_aside(&mut self) -> Result<bool, S::Error> {
        while let Some(host) = self.residents.resting.pop_front() {
            let span = self.whole_span(host);
            let Some(lane) = self.lanes.get_mut(&host) else {
                continue;
            };
            lane.resting = false;
            if !lane.is_idle() || self.store.waiting(host, span)? != Waiting::Nothing {
                continue;
            }
            let mut row = lane.row(|moment| self.rules.wall(moment));
            if S::IN_FLEET {
                lane.keep_delay(&mut row);
            }
            let domain = lane.domain;
            self.store.save_lane(host, row)?;
            self.store.rest(host);
            self.lanes.remove(&host);
            self.put_site_aside(host, domain)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Takes in hosts that wait in the store, as far as there is room.
    pub(super) fn take_in_hosts(&mut self, now: Moment) -> Result<(), S::Error> {
        for _ in 0..INTAKE {
            if !self.residents.do_hosts_wait {
                return Ok(());
            }
            if !self.has_room_for_lane()? {
                return Ok(());
            }
            if !self.take_in_host(self.intake_span(), now)? {
                self.residents.do_hosts_wait = false;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes in one host for which something of a span waits; whether there was one.
    pub(super) fn take_in_host(&mut self, span: Span, now: Moment) -> Result<bool, S::Error> {
        let (lanes, share) = (&self.lanes, Self::share_of(self.share.as_deref()));
        let is_closed = |host| share.is_some_and(|share: &OwnShards| share.is_closed(host));
        let next = self
            .store
            .next_host(span, &|host| lanes.contains_key(&host) || is_closed(host))?;
        let Some(host) = next else {
            return Ok(false);
        };
        let window = self.first_window(host, span)?;
        if let Some(url) = window.front().map(|entry| entry.url.clone()) {
            self.lane_of(&url, host, now)?;
            let lane = self.lane(host);
            lane.queued = lane.queued.max(window.len() as u64);
            lane.window = window;
            self.reschedule(host, now)?;
        }
        Ok(true)
    }
}
