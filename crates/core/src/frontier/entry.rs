//! What waits in the frontier: one URL and what is known of it.
//!
//! Owns the row of a queue. Everything that a later decision needs travels with the URL, so
//! that a queue can live on disk and a crawl can go on after a restart.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::pace::Moment;
use crate::key::{HostId, Key};
use crate::link::{Link, LinkKind};
use crate::outcome::FailureClass;
use crate::url::{CrawlUrl, Scheme};

/// A URL that was admitted and is not settled yet.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the URL"
)]
#[derive(Debug, Clone)]
pub struct QueueEntry {
    /// What is requested.
    pub url: CrawlUrl,
    /// Its identity.
    pub key: Key,
    /// How it was named when it was first found.
    pub kind: LinkKind,
    /// Links away from a root.
    pub depth: u32,
    /// The page it was first found on.
    pub found_on: Option<Arc<CrawlUrl>>,
    /// `lastmod` of the sitemap that named it.
    pub lastmod: Option<Box<str>>,
    /// Tries made so far.
    pub tries: u32,
    /// Bytes that they read from the network.
    pub wire: u64,
    /// Redirect hops that its chain may still take.
    pub hops_left: u32,
    /// Sitemap indexes above it.
    pub nesting: u8,
    /// It is a root, or a hop of a root's own redirects.
    pub root: bool,
    /// Typed without a scheme: http is tried if https cannot connect.
    pub guessed_scheme: bool,
    /// A sitemap at the usual place that nobody announced.
    pub guessed_sitemap: bool,
    /// A try was cut short, which does not count; the next one has its full time.
    pub was_cut: bool,
    /// The redirects that led here.
    pub chain: Option<Box<Chain>>,
    /// Tries of this run that were not the last, the first of them at the most
    /// [`Try::MOST`].
    pub earlier: Vec<Try>,
    /// What its tries in this run say about the next.
    pub attempts: Attempts,
    /// In which of its host's queues it waits.
    pub class: Class,
    /// It was found on a page that brought nothing new.
    pub unvouched: bool,
    /// It is like a URL that was asked for, as far as is known now.
    pub repeat: bool,
    /// Where the store keeps it.
    pub ticket: Ticket,
}

/// The queues of a host, in the order in which they are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// Asked in its turn.
    #[default]
    Normal = 0,
    /// Asked when nothing normal waits, and now and then before.
    Suspect = 1,
    /// Like a URL that was asked for, but for values that do not matter: asked last.
    Repeat = 2,
    /// Given up as part of a trap: asked only where traps are not looked for.
    Withheld = 3,
}

impl Class {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Suspect, Self::Repeat, Self::Withheld];
}

impl QueueEntry {
    /// What is known of a URL when it is found, but for where.
    pub(super) fn new(link: Link, key: Key, hops_left: u32) -> Self {
        Self {
            url: link.url,
            key,
            kind: link.kind,
            depth: 0,
            found_on: None,
            lastmod: link.lastmod,
            tries: 0,
            wire: 0,
            hops_left,
            nesting: 0,
            root: false,
            guessed_scheme: false,
            guessed_sitemap: false,
            was_cut: false,
            chain: None,
            earlier: Vec::new(),
            attempts: Attempts::default(),
            class: Class::Normal,
            unvouched: false,
            repeat: false,
            ticket: Ticket::default(),
        }
    }

    /// Whether another scheme is tried if this one can't connect.
    pub(super) fn guesses(&self) -> bool {
        self.guessed_scheme && self.url.scheme() == Scheme::Https
    }

    /// Keeps how a try ended after which another one follows.
    pub(super) fn remember(&mut self, at: u64, what: Result<u16, FailureClass>) {
        if self.earlier.len() < Try::MOST {
            self.earlier.push(Try {
                at,
                status: what.ok(),
                failure: what.err(),
            });
        }
    }
}

/// What the tries of a URL in this run say about the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts {
    /// When it was handed out last.
    pub(super) asked_at: Moment,
    /// When a try was held against its host.
    pub(super) blamed_host_at: Option<Moment>,
    /// Tries that do not count, because its host refused everybody.
    pub(super) excused: u32,
}

impl Attempts {
    /// The host is to blame for a try, not the URL.
    pub(super) fn blame_host(&mut self, now: Moment) {
        self.blamed_host_at = Some(now);
    }

    /// The try does not count; as many can be excused as are counted, but one.
    pub(super) fn excuse(&mut self, tries: u32) {
        self.excused = (self.excused + 1).min(tries.saturating_sub(1));
    }
}

/// A try that was not the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Try {
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
    /// The status that was answered, if one was.
    pub status: Option<u16>,
    /// Why there was no answer, if there was none.
    pub failure: Option<FailureClass>,
}

impl Try {
    /// Tries that an entry remembers.
    pub const MOST: usize = 16;
}

/// The store's own mark on an entry: a row of a queue and a place in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticket {
    /// The row.
    pub row: u64,
    /// The place in it.
    pub place: u32,
}

/// The redirects that led to a URL, to tell cookie walls from loops.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Chain {
    /// The URLs already visited in this chain.
    pub visited: Vec<Key>,
    /// A cookie was accepted on the way.
    pub cookie: bool,
    /// One URL of the chain was already asked a second time.
    pub revisited: bool,
}

/// Scheme and port on a lane's host: the unit of robots.txt and of resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// http or https.
    pub scheme: Scheme,
    /// The port.
    pub port: u16,
}

impl Origin {
    /// The origin of a URL, its host left out.
    pub fn from_url(url: &CrawlUrl) -> Self {
        Self {
            scheme: url.scheme(),
            port: url.port(),
        }
    }
}

/// A request for some origin's robots.txt; the first one, or a hop of its redirects.
#[derive(Debug, Clone)]
pub struct RobotsFetch {
    /// What is requested.
    pub url: CrawlUrl,
    /// Whose robots.txt it is.
    pub for_lane: HostId,
    /// Which origin of that lane.
    pub for_origin: Origin,
    /// Redirect hops left.
    pub hops_left: u32,
    /// When it was handed out last.
    pub(super) asked_at: Moment,
}

impl RobotsFetch {
    /// A request that was not handed out here yet, for an origin of a lane.
    pub const fn new(url: CrawlUrl, asker: (HostId, Origin), hops_left: u32) -> Self {
        Self {
            url,
            for_lane: asker.0,
            for_origin: asker.1,
            hops_left,
            asked_at: Moment::ZERO,
        }
    }
}
