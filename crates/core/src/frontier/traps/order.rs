//! The order of a host's queues: when suspects have their turn.
//!
//! Owns what a lane takes from the store and when. Suspects wait until nothing normal does, but
//! for a probe now and then, ever more rarely while it brings nothing, so that a wrong suspicion
//! is corrected. On a site of many hosts, those that brought nothing wait for all others, and a
//! host with suspects only is not made active before the crawl has nothing else to do.

use std::collections::VecDeque;

use super::super::Frontier;
use super::super::entry::{Class, QueueEntry};
use super::super::pace::Moment;
use super::super::shards::ShardCounts;
use super::super::store::{Span, Store, Waiting};
use super::template::UrlShape;
use super::{MANY_HOSTS, standing};
use crate::key::HostId;

/// Normal pages to a probe, at first and at the most.
const FIRST_GAP: u16 = 16;
const LARGEST_GAP: u16 = 4096;

/// Hosts with suspects only that are taken in at a time.
const INTAKE: usize = 16;

/// Of so many suspects, one that is cleared is not worth the moving of the others.
const FEW_CLEARED: usize = 8;

/// When suspects of a host have their turn.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Turns {
    since: u16,
    gap: u16,
    /// A page of the host brought something new, or nobody had a reason to look.
    brought: bool,
    /// Nothing else could be done: one window of suspects may be taken.
    released: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            since: 0,
            gap: FIRST_GAP,
            brought: false,
            released: false,
        }
    }
}

impl Turns {
    pub(super) fn brought_something(&mut self, class: Class) {
        self.brought = true;
        if class != Class::Normal {
            self.gap = FIRST_GAP;
        }
    }

    /// So many normal pages are next; whether a probe is due.
    fn is_due(&mut self, pages: usize) -> bool {
        self.since = self.since.saturating_add(pages as u16);
        if self.since < self.gap {
            return false;
        }
        self.since = 0;
        self.gap = (2 * self.gap).min(LARGEST_GAP);
        true
    }
}

impl<S: Store> Frontier<S> {
    /// What a lane may take from the store now.
    pub(in super::super) fn span(&self, host: HostId) -> Span {
        let class = if self.rules.traps {
            self.last_class(host)
        } else {
            Class::Withheld
        };
        Span {
            class,
            deepest: self.levels.level(),
        }
    }

    /// On a site of many hosts repeats wait for all of them, and suspects of a host that brought
    /// nothing as well.
    fn last_class(&self, host: HostId) -> Class {
        if !self.traps.is_wide {
            return Class::Repeat;
        }
        let Some(lane) = self.lanes.get(&host) else {
            return Class::Repeat;
        };
        let site = self.traps.sites.get(&lane.domain);
        let has_many = site.is_some_and(|site| site.hosts.len() >= MANY_HOSTS);
        if !has_many || lane.turns.released || lane.ended.is_some() {
            Class::Repeat
        } else if lane.turns.brought || self.roots.are_on(host) {
            Class::Suspect
        } else {
            Class::Normal
        }
    }

    /// The same at any depth.
    pub(in super::super) fn whole_span(&self, host: HostId) -> Span {
        Span {
            deepest: u32::MAX,
            ..self.span(host)
        }
    }

    /// What a host must have to be made active.
    pub(in super::super) const fn intake_span(&self) -> Span {
        Span {
            class: if self.rules.traps {
                Class::Normal
            } else {
                Class::Withheld
            },
            deepest: self.levels.level(),
        }
    }

    /// Fills the window of a lane that has none.
    pub(in super::super) fn fill(&mut self, host: HostId) -> Result<(), S::Error> {
        let (most, span) = (self.window(), self.span(host));
        let lane = self.lane(host);
        if !lane.window.is_empty() {
            return Ok(());
        }
        // It may have been one of few lanes when it took its last window.
        lane.window.shrink_to(most);
        let mut window = std::mem::take(&mut lane.window);
        self.take_up_to(host, span, most, &mut window)?;
        match window.front().map(|first| first.class) {
            Some(Class::Normal) if self.rules.traps => {
                let is_due = self.lane(host).turns.is_due(window.len());
                if is_due && span.class != Class::Normal {
                    let class = Class::Suspect;
                    self.store
                        .take(host, Span { class, ..span }, 1, &mut window)?;
                }
            }
            Some(Class::Repeat) => self.lane(host).turns.released = false,
            Some(Class::Suspect) if self.rules.traps => {
                self.lane(host).turns.released = false;
                self.bring_cleared_before(host, &mut window)?;
            }
            _ => {}
        }
        self.lane(host).window = window;
        Ok(())
    }

    /// Of suspects that were taken, those go first that would not be suspects any more; the
    /// others wait again, unless that is nearly all of them.
    fn bring_cleared_before(
        &mut self,
        host: HostId,
        window: &mut VecDeque<QueueEntry>,
    ) -> Result<(), S::Error> {
        let domain = self.lane(host).domain;
        let Some(site) = self.traps.sites.get(&domain) else {
            return Ok(());
        };
        let is_cleared = |entry: &QueueEntry| {
            let shape = UrlShape::new(&entry.url);
            let class = site.learner.class(&shape, standing(entry));
            class == Class::Normal && !entry.kind.is_guess()
        };
        let verdicts: Vec<bool> = window.iter().map(is_cleared).collect();
        let cleared = verdicts.iter().filter(|cleared| **cleared).count();
        if cleared == window.len() || cleared * FEW_CLEARED < window.len() {
            return Ok(());
        }
        for (entry, is_cleared) in std::mem::take(window).into_iter().zip(verdicts) {
            if is_cleared {
                window.push_back(entry);
            } else {
                self.store.settle(&entry)?;
                self.store.push(entry)?;
            }
        }
        Ok(())
    }

    /// Takes entries of the first queue in a span that has any.
    fn take_up_to(
        &mut self,
        host: HostId,
        span: Span,
        most: usize,
        into: &mut VecDeque<QueueEntry>,
    ) -> Result<(), S::Error> {
        let mut classes = Class::ALL;
        if !self.rules.traps {
            // Whoever turns the detection off wants what was withheld, and new links may not end.
            // Suspects are last: without detection they are guesses from scripts.
            classes = [
                Class::Withheld,
                Class::Repeat,
                Class::Normal,
                Class::Suspect,
            ];
        }
        for class in classes.into_iter().filter(|class| *class <= span.class) {
            self.store.take(host, Span { class, ..span }, most, into)?;
            if into.is_empty() {
                continue;
            }
            if let Some(lane) = self.lanes.get_mut(&host)
                && class == Class::Withheld
            {
                lane.queued += into.len() as u64;
            }
            break;
        }
        Ok(())
    }

    /// The first window of a host that is made active.
    pub(in super::super) fn first_window(
        &mut self,
        host: HostId,
        span: Span,
    ) -> Result<VecDeque<QueueEntry>, S::Error> {
        let mut window = VecDeque::new();
        self.take_up_to(host, span, self.window(), &mut window)?;
        self.traps.held.insert(host);
        Ok(window)
    }

    /// Queues an entry that is not asked for in its turn.
    pub(in super::super) fn put_behind(
        &mut self,
        entry: QueueEntry,
        now: Moment,
    ) -> Result<(), S::Error> {
        let host = entry.key.host();
        if entry.class == Class::Withheld {
            let domain = self.domain(&entry);
            self.counts.withheld += 1;
            self.count_in_shard(&entry, ShardCounts::withhold);
            if let Some(site) = self.traps.sites.get_mut(&domain) {
                site.learner.count_withheld(&entry.url, standing(&entry));
                self.traps.caught.insert(domain);
            }
            self.touch_site(domain);
            return self.store.push(entry);
        }
        // The levels of a crawl are counted by its lanes.
        let is_active = self.lanes.contains_key(&host)
            || (self.rules.limits.depth.is_some() && self.has_lane_for(&entry.url, host, now)?);
        self.store.push(entry)?;
        if is_active {
            self.lane(host).queued += 1;
            self.traps.held.insert(host);
            self.reschedule(host, now)
        } else {
            self.traps.parked = true;
            Ok(())
        }
    }

    /// Lets suspects go that waited until nothing else could be done.
    pub(in super::super) fn release_suspects(&mut self, now: Moment) -> Result<bool, S::Error> {
        let nothing_waits = self.traps.held.is_empty() && !self.traps.parked;
        if !self.rules.traps
            || nothing_waits
            || !self.flights.is_empty()
            || self.first_wake().is_some()
        {
            return Ok(false);
        }
        let mut any = false;
        for host in std::mem::take(&mut self.traps.held) {
            any |= self.release_host(host, now)?;
        }
        for _ in 0..INTAKE {
            if !self.traps.parked || !self.has_room_for_lane()? {
                break;
            }
            let span = Span {
                class: Class::Repeat,
                deepest: self.levels.level(),
            };
            self.traps.parked = self.take_in_host(span, now)?;
            any |= self.traps.parked;
        }
        Ok(any)
    }

    fn release_host(&mut self, host: HostId, now: Moment) -> Result<bool, S::Error> {
        let span = Span {
            class: Class::Repeat,
            deepest: self.levels.level(),
        };
        if self.last_class(host) == Class::Repeat {
            return Ok(false);
        }
        let is_released = match self.store.waiting(host, span)? {
            Waiting::Nothing => return Ok(false),
            Waiting::Ready => {
                self.lane(host).turns.released = true;
                true
            }
            Waiting::Deeper => self.levels.hold(host),
        };
        self.traps.held.insert(host);
        self.reschedule(host, now)?;
        Ok(is_released)
    }
}
