//! The site as a table: every URL of a job in a few dozen bytes, and how they hang together.
//!
//! Owns the lookup of URLs by key, the following of redirects, the counting of links and the hosts of
//! the site. It refuses to know rules and how pages become facts. Invariants: the rows stand in the
//! order of the crawl; memory grows by a row for each URL, and beyond that only by [`MOST_CACHED`]
//! bytes of ids.

mod ids;
mod places;
mod row;

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use clewline_core::key::{HostId, Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_core::url::CrawlUrl;
use clewline_job::record::{OutcomeKind, Record};

use crate::facts::{FactRow, FactsSummary, Fragment, SiteFiles};
use ids::IdCache;
use places::KeyPlaces;

pub use ids::MOST_CACHED;
pub use row::{RowFlags, UrlRow};

/// Redirects that are followed in the table.
pub const MOST_HOPS: usize = 20;

/// All URLs of a job.
#[derive(Debug)]
pub struct SiteTable {
    keyer: Keyer,
    rows: Vec<UrlRow>,
    places: KeyPlaces,
    hosts: Vec<SiteHost>,
    host_places: HashMap<HostId, usize>,
    files: SiteFiles,
    ids: IdCache,
}

/// A host of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteHost {
    /// The half of the keys of its URLs.
    pub id: HostId,
    /// Its first URL in the order of the crawl.
    pub first: CrawlUrl,
    /// URLs of it that have a row.
    pub urls: u64,
}

/// Where redirects lead from a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectChain {
    /// The URLs that redirect, in their order; empty where the first is no redirect.
    pub hops: Vec<Key>,
    /// How it ends.
    pub end: ChainEnd,
}

/// How a chain of redirects ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainEnd {
    /// At a URL of the job that is no redirect.
    Row(Key),
    /// At a URL of a host that is not the site's, which has no row.
    Foreign(Key),
    /// At a URL that is in the chain already, or after [`MOST_HOPS`] redirects.
    Loop(Key),
    /// At a URL of the site that nobody asked for, or a redirect that names no URL.
    Unknown(Key),
}

impl SiteTable {
    /// Makes the keys of the job.
    pub const fn keyer(&self) -> &Keyer {
        &self.keyer
    }

    /// All rows in the order of the crawl.
    pub fn rows(&self) -> &[UrlRow] {
        &self.rows
    }

    /// The row of a URL.
    pub fn row(&self, key: Key) -> Option<&UrlRow> {
        self.rows.get(self.place(key)?)
    }

    /// The place of a URL in the order of the crawl.
    pub fn place(&self, key: Key) -> Option<usize> {
        self.places.find(&self.rows, key)
    }

    /// The row of a URL by its text.
    pub fn row_of(&self, url: &CrawlUrl) -> Option<&UrlRow> {
        self.row(self.keyer.key(url))
    }

    /// The hosts of the site, in the order of the crawl.
    pub fn hosts(&self) -> &[SiteHost] {
        &self.hosts
    }

    /// Whether a URL is of a host of the site.
    pub fn is_own(&self, url: &CrawlUrl) -> bool {
        self.has_host(self.keyer.key(url).host())
    }

    /// Whether this is a host of the site.
    pub fn has_host(&self, host: HostId) -> bool {
        self.host_places.contains_key(&host)
    }

    /// Follows the redirects from a URL.
    pub fn end_of(&self, key: Key) -> RedirectChain {
        let mut hops = Vec::new();
        let mut at = key;
        let end = loop {
            if hops.contains(&at) || hops.len() > MOST_HOPS {
                break ChainEnd::Loop(at);
            }
            match self.row(at) {
                None if self.has_host(at.host()) => break ChainEnd::Unknown(at),
                None => break ChainEnd::Foreign(at),
                Some(row) if row.outcome != OutcomeKind::Redirected => break ChainEnd::Row(at),
                Some(row) => {
                    hops.push(at);
                    match row.redirect {
                        Some(next) => at = next,
                        None => break ChainEnd::Unknown(at),
                    }
                }
            }
        };
        RedirectChain { hops, end }
    }

    /// The sorted hashes of the ids of a page, as [`fragment_hash`](crate::facts::fragment_hash)
    /// makes them; none where it is no HTML that was read.
    pub fn ids(&self, key: Key) -> io::Result<Option<Arc<[u64]>>> {
        let Some(row) = self.row(key).filter(|row| row.is(RowFlags::HTML)) else {
            return Ok(None);
        };
        self.ids.ids(key, || self.files.ids(row.facts_at)).map(Some)
    }

    /// The record of a URL.
    pub fn record(&self, key: Key) -> io::Result<Option<Record>> {
        let row = self.row(key);
        row.map(|row| self.files.record(row.record_at)).transpose()
    }

    /// The URL of a key.
    pub fn url(&self, key: Key) -> io::Result<Option<CrawlUrl>> {
        Ok(self.record(key)?.map(|record| record.url))
    }

    /// The facts of a URL.
    pub fn facts(&self, key: Key) -> io::Result<Option<FactRow>> {
        let Some(row) = self.row(key) else {
            return Ok(None);
        };
        let mut facts = self.files.facts(row.facts_at)?;
        facts.settle_hosts(self);
        Ok(Some(facts))
    }

    /// Hands on every reference of the site's own pages to another host, in the order of the crawl,
    /// but for those that a page wants left out.
    pub fn foreign(&self, mut each: impl FnMut(CrawlUrl, Option<Fragment>)) -> io::Result<()> {
        let mut pages = self.files.pages()?;
        for row in self.rows.iter().filter(|row| self.has_host(row.key.host())) {
            pages.foreign(row, |url, fragment| {
                let url = CrawlUrl::parse(url).ok().filter(|url| !self.is_own(url));
                if let Some(url) = url {
                    each(url, fragment);
                }
            })?;
        }
        Ok(())
    }

    /// Every row with its record, in the order of the crawl.
    pub fn records(&self) -> io::Result<impl Iterator<Item = io::Result<(&UrlRow, Record)>>> {
        let records = self.files.records()?;
        let rows = self.rows.iter().zip(records);
        Ok(rows.map(|(row, record)| record.map(|record| (row, record))))
    }

    /// Every record with its facts, in the order of the crawl.
    pub fn pages(&self) -> io::Result<impl Iterator<Item = io::Result<(Record, FactRow)>>> {
        let mut pages = self.files.pages()?;
        let mut rows = self.rows.iter();
        Ok(std::iter::from_fn(move || {
            let row = rows.next()?;
            Some(pages.page(row).map(|(record, mut facts)| {
                facts.settle_hosts(self);
                (record, facts)
            }))
        }))
    }
}

/// Gathers the rows of a table.
#[derive(Debug, Default)]
pub(crate) struct TableDraft {
    keyer: Keyer,
    rows: Vec<UrlRow>,
    hosts: Vec<SiteHost>,
    host_places: HashMap<HostId, usize>,
}

impl TableDraft {
    pub(crate) fn new(keyer: Keyer) -> Self {
        Self {
            keyer,
            ..Self::default()
        }
    }

    pub(crate) const fn keyer(&self) -> &Keyer {
        &self.keyer
    }

    /// Takes in the next record of the crawl, of which the record and the facts lie at two places.
    pub(crate) fn push(&mut self, record: &Record, summary: &FactsSummary, places: (u64, u64)) {
        let target = record.redirect_to.as_deref();
        let target = target.and_then(|target| record.url.join(target).ok());
        let redirect = target.map(|target| self.keyer.key(&target));
        let mut row = UrlRow::new(record, redirect, summary);
        (row.record_at, row.facts_at) = places;
        self.note_host(record);
        self.rows.push(row);
    }

    /// A host is one of the site if something of it that is no mere part of a page was asked for.
    fn note_host(&mut self, record: &Record) {
        let id = record.key.host();
        if let Some(place) = self.host_places.get(&id) {
            self.hosts[*place].urls += 1;
            return;
        }
        let is_outside = matches!(record.reason, Some(SkipReason::OutOfScope));
        if record.kind.is_page() && !is_outside {
            self.host_places.insert(id, self.hosts.len());
            self.hosts.push(SiteHost {
                id,
                first: record.url.clone(),
                urls: 1,
            });
        }
    }

    /// Counts the links and is done. `listed` are URLs that a sitemap lists.
    pub(crate) fn finish(mut self, files: SiteFiles, listed: &[Key]) -> io::Result<SiteTable> {
        let places = KeyPlaces::new(&self.rows);
        for key in listed {
            if let Some(place) = places.find(&self.rows, *key) {
                self.rows[place].flags.put(RowFlags::LISTED, true);
            }
        }
        self.count_links(&places, &files)?;
        Ok(SiteTable {
            keyer: self.keyer,
            rows: self.rows,
            places,
            hosts: self.hosts,
            host_places: self.host_places,
            files,
            ids: IdCache::default(),
        })
    }

    /// Counts for every row what it links to and which pages link to it.
    fn count_links(&mut self, places: &KeyPlaces, files: &SiteFiles) -> io::Result<()> {
        let (rows, keyer) = (&mut self.rows, &self.keyer);
        let hosts: HashSet<&str> = self.hosts.iter().map(|host| host.first.host()).collect();
        let mut pages = files.pages()?;
        let mut last_source = vec![u32::MAX; rows.len()];
        let mut targets: Vec<(Key, LinkKind)> = Vec::new();
        for source in 0..rows.len() {
            let mut elsewhere = Vec::new();
            targets.clear();
            let own = |key, kind| targets.push((key, kind));
            // Which other hosts are the site's no page could know.
            let foreign = |url: &str, kind| {
                if hosts.len() > 1
                    && let Some(url) = CrawlUrl::parse(url)
                        .ok()
                        .filter(|url| hosts.contains(url.host()))
                {
                    elsewhere.push((keyer.key(&url), kind));
                }
            };
            pages.targets(&rows[source], own, foreign)?;
            targets.append(&mut elsewhere);
            targets.sort_unstable_by_key(|(key, _)| *key);
            let mut before = None;
            for (key, kind) in &targets {
                rows[source].links_out += u32::from(before.replace(*key) != Some(*key));
                let Some(place) = places.find(rows, *key) else {
                    continue;
                };
                if place == source {
                    continue;
                }
                rows[place].flags.put(RowFlags::LINKED, kind.is_page());
                if last_source[place] != source as u32 {
                    last_source[place] = source as u32;
                    rows[place].links_in += 1;
                }
            }
        }
        Ok(())
    }
}
