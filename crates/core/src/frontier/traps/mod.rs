//! Traps: URLs without end that bring nothing new.
//!
//! Owns what the frontier does with what it learns of a site: links are queued by it, heads of
//! lanes are queued anew when more is known, suspects wait behind everything else, and what is
//! given up is withheld. It refuses to know what makes a page new; that is the learner's. A site
//! is a registrable domain, so that host names without end share one budget. Invariants: a root
//! and what a sitemap lists are never withheld; an entry is moved from queue to queue within one
//! batch; what is withheld stays in the store.

mod learner;
mod memory;
mod moving;
mod order;
mod row;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::Frontier;
use super::entry::{Class, QueueEntry};
use super::job::{Answer, Note};
use super::pace::Moment;
use super::page_budget::counts_as_page;
use super::store::{KeyMap, LaneRow, Store};
use crate::domain::registrable;
use crate::key::{HostId, Key};
use crate::link::LinkKind;
use crate::url::CrawlUrl;

pub use learner::GivenUp;
use learner::{Fetched, Learner, LinkSource, TextVerdict};
pub(super) use order::Turns;
pub use row::Site;
use template::UrlShape;

/// Pages of a host after which its site is learnt from: most hosts of a wide crawl have fewer.
const FIRST_PAGES: u64 = 2;

/// Hosts of a site from which those that brought nothing wait for all others.
const MANY_HOSTS: usize = 4;

/// Given-up templates that are named in the end.
const MOST_NAMED: usize = 256;

/// A template that was given up, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// The registrable domain.
    pub site: Box<str>,
    /// The template, as in `/calendar/{n}/{n}`.
    pub template: Box<str>,
    /// Pages of it that were fetched and brought nothing.
    pub alike: u32,
    /// URLs of it that are withheld.
    pub withheld: u32,
}

/// A site in memory.
#[derive(Debug, Default)]
struct Known {
    name: Box<str>,
    learner: Learner,
    /// The first hosts that were met, as many as make a difference.
    hosts: Vec<HostId>,
    touched: bool,
}

/// What a frontier knows of traps.
#[derive(Debug, Default)]
pub(super) struct Traps {
    sites: KeyMap<u64, Box<Known>>,
    touched: Vec<u64>,
    /// Who stands behind the links of the page that is being settled.
    speaking: LinkSource,
    /// What that page said.
    said: TextVerdict,
    /// The page that is being settled, and the one that it was found on.
    shapes: Option<(UrlShape, Option<UrlShape>)>,
    /// The page on which the last one that was settled was found: the next one often was, too.
    found_on: LastShape,
    /// The page whose links are being let in.
    leading: LastShape,
    /// Links of that page to its kin that were let in and are not repeats.
    born: u32,
    /// A site has many hosts.
    is_wide: bool,
    /// Active hosts with suspects in the store.
    held: BTreeSet<HostId>,
    /// Hosts that are not active may have suspects in the store.
    parked: bool,
    /// Sites in memory with templates that were given up.
    caught: BTreeSet<u64>,
    /// Templates that were given up, of sites in memory as they were before.
    named: Vec<Trap>,
}

/// The shape of a page that was asked about last.
#[derive(Debug, Default)]
struct LastShape(Option<(Arc<CrawlUrl>, UrlShape)>);

impl LastShape {
    /// The shape of a page, worked out where it is another one than the last.
    fn shape(&mut self, page: &Arc<CrawlUrl>) -> UrlShape {
        match &self.0 {
            Some((last, shape)) if Arc::ptr_eq(last, page) || last == page => *shape,
            _ => {
                let shape = UrlShape::new(page);
                self.0 = Some((Arc::clone(page), shape));
                shape
            }
        }
    }
}

fn standing(entry: &QueueEntry) -> LinkSource {
    if entry.repeat {
        LinkSource::Repeats
    } else if entry.unvouched {
        LinkSource::Silent
    } else {
        LinkSource::Vouches
    }
}

/// Whether an entry is asked for whatever is known of its site.
fn is_exempt(entry: &QueueEntry) -> bool {
    entry.root || entry.kind == LinkKind::Sitemap || !counts_as_page(entry.kind)
}

impl<S: Store> Frontier<S> {
    /// URLs that wait for nothing, because they are given up as parts of traps.
    pub(super) const fn withheld(&self) -> u64 {
        if self.rules.traps {
            self.counts.withheld
        } else {
            0
        }
    }

    /// The templates that were given up.
    pub fn traps(&self) -> Vec<Trap> {
        let mut traps = self.traps.named.clone();
        for domain in &self.traps.caught {
            if let Some(site) = self.traps.sites.get(domain) {
                site.tell(&mut traps);
            }
        }
        traps
    }

    /// Takes up the templates that an earlier run gave up.
    pub(super) fn recall_traps(&mut self, traps: Vec<Trap>) {
        self.traps.named = traps;
        self.traps.parked = true;
    }

    fn domain(&self, entry: &QueueEntry) -> u64 {
        let lane = self.lanes.get(&entry.key.host());
        lane.map_or_else(
            || Self::domain_on(entry.key.host(), domain(&entry.url)),
            |lane| lane.domain,
        )
    }

    /// A page that was fetched. Its shape is kept until its links are let in.
    fn fetched<'a>(&mut self, entry: &'a QueueEntry) -> Fetched<'a> {
        let traps = &mut self.traps;
        let (shape, found_on) = traps.shapes.unwrap_or_else(|| {
            let found_on = entry.found_on.as_ref();
            let found_on = found_on.map(|page| traps.found_on.shape(page));
            (UrlShape::new(&entry.url), found_on)
        });
        traps.shapes = Some((shape, found_on));
        Fetched {
            url: &entry.url,
            shape,
            found_on,
            source: standing(entry),
        }
    }

    /// Learns from a page that was fetched, before its links are let in.
    pub(super) fn learn(
        &mut self,
        host: HostId,
        entry: &QueueEntry,
        answer: &Answer,
    ) -> Result<(), S::Error> {
        self.traps.speaking = LinkSource::Vouches;
        (self.traps.said, self.traps.born) = (TextVerdict::Unknown, 0);
        self.traps.shapes = None;
        if !self.rules.traps || !counts_as_page(entry.kind) || answer.status >= 300 {
            return Ok(());
        }
        let lane = self.lane(host);
        let (domain, pages) = (lane.domain, lane.pages);
        if pages < FIRST_PAGES && !self.traps.sites.contains_key(&domain) {
            return Ok(());
        }
        let page = self.fetched(entry);
        let site = self.site(domain, &entry.url)?;
        let has_many_hosts = site.meet(host);
        let verdict = site.learner.learn(&page, answer.look.as_deref());
        let only_grows = !entry.root && site.learner.only_grows(&page.shape);
        self.traps.is_wide |= has_many_hosts;
        self.touch_site(domain);
        let is_trusted = verdict == TextVerdict::Unknown && standing(entry) == LinkSource::Vouches;
        let brought_something = verdict == TextVerdict::New || is_trusted;
        if brought_something {
            self.lane(host).turns.brought_something(entry.class);
        }
        self.traps.said = verdict;
        self.traps.speaking = if entry.root || (brought_something && !only_grows) {
            LinkSource::Vouches
        } else {
            LinkSource::Silent
        };
        Ok(())
    }

    /// The links of a page were let in, so many of them new.
    pub(super) fn count_born(&mut self, host: HostId, entry: &QueueEntry, new: u32) {
        let born = std::mem::take(&mut self.traps.born);
        let said = std::mem::replace(&mut self.traps.said, TextVerdict::Unknown);
        if entry.root {
            return;
        }
        let domain = self.domain(entry);
        if !self.traps.sites.contains_key(&domain) {
            return;
        }
        let page = self.fetched(entry);
        let Some(site) = self.traps.sites.get_mut(&domain) else {
            return;
        };
        let given_up = site.learner.given_up().len();
        site.learner.brought(&page.shape, born);
        if new > 0 {
            let is_wanted = self.rules.scope.names_what_is_wanted();
            site.learner.charge(&page, said, is_wanted);
        }
        if let Some(trap) = site.learner.given_up().get(given_up).cloned() {
            self.tell_trap(host, domain, trap);
        }
    }

    fn tell_trap(&mut self, host: HostId, domain: u64, trap: GivenUp) {
        self.traps.caught.insert(domain);
        let host = self.lane(host).host.clone();
        self.note(Note::Trap {
            host,
            template: trap.template,
            alike: trap.alike,
        });
    }

    /// Whether a link of the page that is being settled has nobody who stands behind it.
    pub(super) fn is_unvouched(&self) -> bool {
        self.traps.speaking != LinkSource::Vouches
    }

    /// Finds the queue of an entry that is let in.
    pub(super) fn classify(&mut self, entry: &mut QueueEntry) -> Result<(), S::Error> {
        if entry.kind.is_guess() {
            entry.class = Class::Suspect;
        }
        if !self.rules.traps || self.traps.sites.is_empty() || is_exempt(entry) {
            return Ok(());
        }
        let domain = self.domain(entry);
        let Some(site) = self.traps.sites.get_mut(&domain) else {
            return Ok(());
        };
        let shape = UrlShape::new(&entry.url);
        let is_kin = entry.found_on.as_ref().is_some_and(|page| {
            let page = self.traps.leading.shape(page);
            site.learner.stem(&page) == site.learner.stem(&shape)
        });
        if is_kin {
            self.traps.born += 1;
            site.learner.await_kin(&shape);
        }
        if !site.learner.is_wary() {
            return Ok(());
        }
        let key = self.repeat_key(domain, entry);
        entry.repeat = holds(&mut self.store, key)?;
        self.traps.born -= u32::from(entry.repeat && is_kin);
        if let Some(site) = self.traps.sites.get(&domain) {
            let class = site.learner.class(&shape, standing(entry));
            entry.class = class.max(entry.class);
        }
        Ok(())
    }

    /// The key of what is left of a URL without what does not matter in it.
    fn repeat_key(&self, domain: u64, entry: &QueueEntry) -> Option<Key> {
        let site = self.traps.sites.get(&domain)?;
        let reduced = site.learner.reduced(&entry.url)?;
        Some(Key::from_number(
            u128::from(domain) << 64 | u128::from(reduced),
        ))
    }

    /// Queues the head of a lane anew where it would be queued otherwise by now; whether it did.
    pub(super) fn reconsider(&mut self, host: HostId, now: Moment) -> Result<bool, S::Error> {
        let Some(lane) = self.lanes.get(&host) else {
            return Ok(false);
        };
        let Some(site) = self.traps.sites.get(&lane.domain) else {
            return Ok(false);
        };
        let Some(head) = lane.head(now) else {
            return Ok(false);
        };
        let is_settled = !self.rules.traps || !site.learner.is_wary();
        if is_settled || head.tries > 0 || is_exempt(head) {
            return Ok(false);
        }
        let key = self.repeat_key(lane.domain, head);
        let repeat = holds(&mut self.store, key)?;
        let standing = if repeat {
            LinkSource::Repeats
        } else {
            standing(head)
        };
        let class = site.learner.class(&UrlShape::new(&head.url), standing);
        if class <= head.class {
            self.mark_head(host, now, repeat);
            return Ok(false);
        }
        let mut entry = self.take_head(host, now);
        self.store.settle(&entry)?;
        self.lane(host).queued -= u64::from(self.lane(host).queued > 0);
        (entry.class, entry.repeat) = (class, repeat);
        self.put_behind(entry, now)?;
        Ok(true)
    }

    fn mark_head(&mut self, host: HostId, now: Moment, repeat: bool) {
        if let Some(head) = self.lane(host).head_mut(now) {
            head.repeat = repeat;
        }
    }

    /// A page is asked for: whether it is to be looked at closely.
    pub(super) fn asks_closely(
        &mut self,
        host: HostId,
        entry: &QueueEntry,
    ) -> Result<bool, S::Error> {
        let Some(lane) = self.lanes.get(&host) else {
            return Ok(false);
        };
        let domain = lane.domain;
        let Some(site) = self.traps.sites.get(&domain) else {
            return Ok(false);
        };
        if !self.rules.traps || !counts_as_page(entry.kind) {
            return Ok(false);
        }
        let closely = site.learner.wants_look(&entry.url, standing(entry));
        if let Some(key) = self.repeat_key(domain, entry)
            && !self.store.contains(key)?
        {
            self.store.add(key)?;
        }
        Ok(closely)
    }

    /// The site of a domain, recalled or made where it is new.
    fn site(&mut self, domain: u64, url: &CrawlUrl) -> Result<&mut Known, S::Error> {
        if !self.traps.sites.contains_key(&domain) {
            let row = self.store.load_lane(Self::site_row(domain))?;
            let learner = row.as_ref().and_then(row::read).unwrap_or_default();
            if !learner.given_up().is_empty() {
                self.traps.caught.insert(domain);
            }
            let known = Known {
                name: registrable(url.host()).into(),
                learner,
                ..Known::default()
            };
            self.traps.sites.insert(domain, Box::new(known));
        }
        let site = self.traps.sites.get_mut(&domain);
        Ok(site.expect("the site was made a moment ago"))
    }

    fn touch_site(&mut self, domain: u64) {
        if let Some(site) = self.traps.sites.get_mut(&domain)
            && !std::mem::replace(&mut site.touched, true)
        {
            self.traps.touched.push(domain);
        }
    }

    /// Saves what was learnt since the last time.
    pub(super) fn save_sites(&mut self) -> Result<(), S::Error> {
        for domain in std::mem::take(&mut self.traps.touched) {
            if let Some(site) = self.traps.sites.get_mut(&domain) {
                site.touched = false;
                self.store.save_lane(Self::site_row(domain), site.row())?;
            }
        }
        Ok(())
    }

    /// A lane is put aside: its site goes with it, and comes back with the next page.
    pub(super) fn put_site_aside(&mut self, host: HostId, domain: u64) -> Result<(), S::Error> {
        if self.traps.held.remove(&host) {
            self.traps.parked = true;
        }
        if let Some(site) = self.traps.sites.remove(&domain) {
            site.tell(&mut self.traps.named);
            self.traps.caught.remove(&domain);
            if site.touched {
                self.store.save_lane(Self::site_row(domain), site.row())?;
            }
        }
        Ok(())
    }
}

impl Known {
    fn row(&self) -> LaneRow {
        row::write(&self.learner)
    }

    /// A page of a host was fetched; whether the site has many.
    fn meet(&mut self, host: HostId) -> bool {
        if self.hosts.len() < MANY_HOSTS && !self.hosts.contains(&host) {
            self.hosts.push(host);
        }
        self.hosts.len() >= MANY_HOSTS
    }

    fn tell(&self, traps: &mut Vec<Trap>) {
        for given_up in self.learner.given_up() {
            let of = |trap: &Trap| trap.site == self.name && trap.template == given_up.template;
            let trap = Trap {
                site: self.name.clone(),
                template: given_up.template.clone(),
                alike: given_up.alike,
                withheld: given_up.withheld,
            };
            match traps.iter().position(of) {
                Some(at) => traps[at] = trap,
                None if traps.len() < MOST_NAMED => traps.push(trap),
                None => {}
            }
        }
    }
}

/// Whether a store knows a key, if there is one.
fn holds<S: Store>(store: &mut S, key: Option<Key>) -> Result<bool, S::Error> {
    key.map_or(Ok(false), |key| store.contains(key))
}

/// The registrable domain of a URL as it is known in lanes.
pub(super) fn domain(url: &CrawlUrl) -> u64 {
    xxh3_64(registrable(url.host()).as_bytes())
}
