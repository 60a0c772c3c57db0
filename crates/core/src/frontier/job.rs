//! The words between the frontier and whoever does the work.
//!
//! Owns the shapes of a lease ([`FetchJob`]), of its end ([`Settlement`]) and of the frontier's
//! answers. A job is a lease on one try and is settled exactly once.

use std::net::IpAddr;
use std::ops::Deref;
use std::time::Duration;

use super::entry::QueueEntry;
use super::errands::Errand;
use super::pace::Moment;
use crate::address::Nearness;
use crate::key::Key;
use crate::link::{Link, LinkKind, Links};
use crate::outcome::{FailureClass, Outcome, SkipReason};
use crate::robots::Robots;
use crate::url::CrawlUrl;

/// The name of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u64);

/// A lease on one try.
#[derive(Debug, Clone)]
pub struct FetchJob {
    /// Its name, for the settlement.
    pub id: JobId,
    /// What is to be done.
    pub work: Work,
    /// How long the host may be silent.
    pub patience: Patience,
}

/// How long a host may be silent. A try that ends before its full time is cut short: it does not
/// count, and the next one has its full time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As long as whoever makes the request is configured to wait.
    Full,
    /// The same, but after a second of silence the request ends if somebody waits for its slot
    /// ([`super::Frontier::slots_wanted`]).
    GivesWay,
    /// The first byte may take no longer than this, because the host usually answers far sooner.
    FirstByte(Duration),
}

/// What a job asks for.
#[derive(Debug, Clone)]
pub enum Work {
    /// Find the addresses of a host.
    Resolve {
        /// The URL at the head of the lane, which names host and port.
        url: CrawlUrl,
    },
    /// Fetch a page and read its links.
    Page {
        /// What to fetch.
        url: CrawlUrl,
        /// The address to connect to; none through a proxy.
        address: Option<IpAddr>,
        /// How it was named.
        kind: LinkKind,
        /// The scheme is a guess: where no connection comes soon, another one is tried.
        guessed: bool,
        /// Requests to the host go one at a time and keep a distance. It counts for whatever is
        /// sent, so a second request instead of a lost one is a try of its own.
        spaced: bool,
        /// The text of the page is looked at closely, for [`Answer::look`].
        closely: bool,
        /// Requests that the host may have in flight now.
        streams: u32,
    },
    /// Fetch and parse a robots.txt.
    Robots {
        /// What to fetch.
        url: CrawlUrl,
        /// The address to connect to; none through a proxy.
        address: Option<IpAddr>,
        /// As for a page: it is the robots.txt of one.
        guessed: bool,
        /// As for a page.
        spaced: bool,
        /// As for a page.
        streams: u32,
    },
    /// Fetch what a postponed page asks for.
    Errand {
        /// What to fetch.
        url: CrawlUrl,
        /// The address to connect to; none through a proxy.
        address: Option<IpAddr>,
        /// HEAD instead of GET.
        is_head: bool,
        /// As for a page.
        spaced: bool,
        /// As for a page.
        streams: u32,
    },
}

impl Work {
    /// What it is about.
    pub const fn url(&self) -> &CrawlUrl {
        match self {
            Self::Resolve { url }
            | Self::Page { url, .. }
            | Self::Robots { url, .. }
            | Self::Errand { url, .. } => url,
        }
    }

    /// What is sent and where to, if a request is made.
    pub const fn request(&self) -> Option<(&CrawlUrl, Option<IpAddr>)> {
        match self {
            Self::Resolve { .. } => None,
            Self::Page { url, address, .. }
            | Self::Robots { url, address, .. }
            | Self::Errand { url, address, .. } => Some((url, *address)),
        }
    }

    /// Whether requests to the host keep a distance.
    pub const fn is_spaced(&self) -> bool {
        matches!(
            self,
            Self::Page { spaced: true, .. }
                | Self::Robots { spaced: true, .. }
                | Self::Errand { spaced: true, .. }
        )
    }

    /// Whether the scheme is a guess, and another one is tried where no connection comes soon.
    pub const fn is_guess(&self) -> bool {
        matches!(
            self,
            Self::Page { guessed: true, .. } | Self::Robots { guessed: true, .. }
        )
    }
}

/// The end of a job.
#[derive(Debug)]
pub struct Settlement {
    /// Which job.
    pub job: JobId,
    /// How it ended.
    pub ending: Ending,
}

/// How a job ended.
#[derive(Debug)]
pub enum Ending {
    /// The host has these addresses; none means that a proxy does the resolving.
    Resolved {
        /// In the order in which they should be tried.
        addresses: Vec<IpAddr>,
        /// How long that holds.
        ttl: Duration,
        /// The user named the addresses.
        trusted: bool,
    },
    /// An HTTP answer was read.
    Answered(Box<Answer>),
    /// There was no whole answer.
    Failed(Failure),
    /// The request has to be sent later: its host asked for a pause after the job was handed
    /// out, or was gone from the connection that it went into. The try does not count.
    Withheld {
        /// The host is left alone until then.
        until: Moment,
        /// When the request left, if it did.
        sent_at: Option<Moment>,
    },
    /// The host was silent for too long, but not for the full time: see [`Patience`].
    CutShort {
        /// Bytes read from the network.
        wire: u64,
        /// When the request left, if it did.
        sent_at: Option<Moment>,
    },
}

/// Why there was no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub class: FailureClass,
    /// In words.
    pub message: Box<str>,
    /// Why the try does not count, if it does not.
    pub excuse: Option<Excuse>,
    /// A connection was made for this try: whatever failed, the network is there.
    pub connected: bool,
    /// Bytes read from the network.
    pub wire: u64,
    /// When the request left, if it did.
    pub sent_at: Option<Moment>,
}

/// Why a try that failed does not count: nothing is known against its URL or its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excuse {
    /// This machine lacks descriptors or memory. Whoever makes the requests says so, and should
    /// make fewer at once.
    Shortage,
    /// The process was stopped while the request was under way. The frontier finds that out, and
    /// what follows.
    Stopped,
    /// The network is away.
    NetworkAway,
    /// The host died under several requests at once, and one of them was counted.
    SameOutage,
}

/// What an HTTP answer means to the frontier.
#[derive(Debug, Default)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Where a redirect points, if it can be followed at all.
    pub location: Option<CrawlUrl>,
    /// Retry-After.
    pub retry_after: Option<Duration>,
    /// Time to the first byte.
    pub first_byte: Duration,
    /// Time until the connection stood; zero on one that was there.
    pub connect: Duration,
    /// When the request left.
    pub sent_at: Option<Moment>,
    /// Bytes read from the network.
    pub wire: u64,
    /// Links of the page.
    pub links: Offers,
    /// Links that are not among them, because the scope is known to refuse them.
    pub refused: Refusals,
    /// The page asks not to follow its links.
    pub nofollow: bool,
    /// A cookie was accepted.
    pub cookie: bool,
    /// The rules, if this was a robots.txt.
    pub robots: Option<Box<Robots>>,
    /// The body was not read, for this reason.
    pub unread: Option<SkipReason>,
    /// The page is as an earlier crawl saw it; the links are those of then.
    pub unmodified: bool,
    /// What a closer look at the text told, where one was asked for.
    pub look: Option<Box<Look>>,
    /// The verdict on each link, in their order, if whoever answers brings a list for it:
    /// [`super::Frontier::settle`] fills it where the page was let in.
    pub verdicts: Option<Vec<Admission>>,
}

/// What a closer look at the text of a page told, without words of its own URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// A hash of the whole text without its numbers; the order of its pieces does not count.
    pub text: u64,
    /// A hash of the texts of its links, with their numbers, in any order.
    pub links: u64,
    /// Hashes of distinct pieces of the text without their numbers: the smallest of them.
    pub pieces: Vec<u32>,
    /// What it cost: one, and one more for each [`Look::STEP`] bytes that were read.
    pub cost: u16,
}

impl Look {
    /// Pieces at the most.
    pub const PIECES: usize = 64;

    /// Bytes that cost as much as a look at a page without any.
    pub const STEP: usize = 2048;
}

/// How often links were refused, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refusals([u32; SkipReason::ALL.len()]);

impl Refusals {
    /// Counts one.
    pub fn count(&mut self, reason: SkipReason) {
        self.0[reason.place()] += 1;
    }

    /// The counts in the order of [`SkipReason::ALL`].
    pub fn counts(&self) -> impl Iterator<Item = u32> {
        self.0.into_iter()
    }
}

/// A link with its key.
#[derive(Debug, Clone, Copy)]
pub struct Offer<Text: Deref<Target = str> = Box<str>> {
    /// The link.
    pub link: Link<Text>,
    /// The key of its URL.
    pub key: Key,
}

/// The links of a page with their keys, as they come to [`super::Frontier::settle`]. Most are
/// known, and need no text of their own to be told so.
#[derive(Debug, Clone, Default)]
pub struct Offers {
    links: Links,
    keys: Vec<Key>,
}

impl Offers {
    /// Adds a link.
    pub fn push(&mut self, link: Link<&str>, key: Key) {
        self.links.push(link);
        self.keys.push(key);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Offer<&str>> {
        let keys = self.keys.iter().copied();
        self.links
            .iter()
            .zip(keys)
            .map(|(link, key)| Offer { link, key })
    }

    /// The keys of all.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
}

impl FromIterator<Offer> for Offers {
    fn from_iter<I: IntoIterator<Item = Offer>>(offers: I) -> Self {
        let mut all = Self::default();
        for Offer { link, key } in offers {
            all.push(link.by_ref(), key);
        }
        all
    }
}

/// The verdict on an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// New, and queued.
    Accepted,
    /// For another member of the fleet, which queues it unless it knows it.
    Sent,
    /// Seen before.
    Known,
    /// Not part of this crawl.
    Refused(SkipReason),
}

/// A URL that reached its end.
#[derive(Debug)]
pub struct Finished {
    /// The URL and what is known of it.
    pub entry: QueueEntry,
    /// What happened.
    pub outcome: Outcome,
    /// Links that were new and queued.
    pub new_links: u32,
    /// The failure or the refusal in words.
    pub error: Option<Box<str>>,
}

/// What became of a settled job.
#[derive(Debug)]
pub enum Settled {
    /// The same URL will be tried again, not before this moment.
    Again(Moment),
    /// The URL reached its end.
    Done(Box<Finished>),
    /// The lane is prepared, or will be prepared again; no URL was concerned.
    Prepared,
    /// The errand of a postponed page was answered, or failed.
    Errand(Box<Errand>),
}

/// The frontier's answer to "what next?".
#[derive(Debug)]
pub enum Next {
    /// Do this.
    Start(FetchJob),
    /// This URL reached its end without a request.
    Settled(Box<Finished>),
    /// Nothing may start before this moment.
    WaitUntil(Moment),
    /// Nothing may start before a job is settled.
    Waiting,
    /// There is nothing left to do here, but other members of the fleet may send something.
    Idle,
    /// There is nothing left to do.
    Done(End),
}

/// Why a crawl is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every URL was settled.
    Finished,
    /// A budget is spent; URLs are left.
    Budget(Budget),
}

/// The budgets that can end a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// `--max-pages`.
    Pages,
    /// `--max-pages-per-host`, on every host that is left.
    PagesPerHost,
    /// `--max-bytes`.
    Bytes,
    /// `--max-time`.
    Time,
}

impl Budget {
    /// The flag that sets it.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Pages => "--max-pages",
            Self::PagesPerHost => "--max-pages-per-host",
            Self::Bytes => "--max-bytes",
            Self::Time => "--max-time",
        }
    }
}

/// Something a person may want to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// https could not connect for a root typed without a scheme; http is tried.
    SchemeFellBack {
        /// The new URL.
        url: CrawlUrl,
    },
    /// A root's redirects ended on this host, which joins the roots.
    HostJoined {
        /// The host.
        host: Box<str>,
    },
    /// A root's host is near, and so the default speed is another.
    Near {
        /// The host.
        host: Box<str>,
        /// How near.
        nearness: Nearness,
    },
    /// A host is left alone for a while.
    Parked {
        /// The host.
        host: Box<str>,
        /// Until when.
        until: Moment,
        /// Why.
        why: &'static str,
    },
    /// URLs of a template are not asked for any more.
    Trap {
        /// The host whose page was the last.
        host: Box<str>,
        /// The template, as in `/calendar/{n}/{n}`.
        template: Box<str>,
        /// Pages of it that were fetched.
        alike: u32,
    },
    /// A host will not be asked any more.
    HostEnded {
        /// The host.
        host: Box<str>,
        /// Why, in words.
        why: Box<str>,
    },
    /// Nearly all hosts failed at once: the crawl waits for the network, and what failed does
    /// not count.
    NetworkAway {
        /// Hosts that failed.
        hosts: usize,
    },
    /// The crawl goes on.
    NetworkBack {
        /// How long it waited.
        after: Duration,
    },
    /// The process was stopped; what was in flight and failed does not count.
    Stopped {
        /// How long.
        stopped: Duration,
    },
}

/// What keeps the crawl from going faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// The host that is next, with its port where only that port is concerned.
    pub host: Box<str>,
    /// Until when it is held.
    pub until: Moment,
    /// By what.
    pub by: HoldKind,
}

/// The kinds of [`Hold`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HoldKind {
    /// The rate in force, per second; a host without a limit of rate is never held by it.
    Rate(f64),
    /// The next try of a URL that failed, or of a host that did not answer.
    Retry {
        /// Tries of the next URL that were made; none if others of its host failed.
        tried: u32,
        /// Tries that a URL has at the most.
        most: u32,
    },
    /// A fixed delay or Crawl-delay.
    Delay(Duration),
    /// The host is parked after trouble.
    Parked,
    /// robots.txt could not be read and will be tried again.
    Robots,
    /// Nearly all hosts failed at once; one at a time is asked whether the network is back.
    NetworkAway,
}
