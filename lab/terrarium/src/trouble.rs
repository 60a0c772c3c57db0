//! Hosts in trouble: too busy, too slow, down for a while, with pages that fail.
//!
//! A [`Trouble`] is a web with one thing wrong, made to be crawled. It says which pages are good;
//! [`Order`] tells from the log when they were asked for, and [`Strain`] what load a host had to
//! bear. Owns what such webs answer. Refuses to know crawlers, and what would be polite: it
//! measures, the test judges. Invariant: what a host does depends on the arrivals of requests, as
//! the log has them, and on no other clock.

mod bucket;
mod order;
mod parse;
mod sites;
mod strain;

use std::time::{Duration, Instant};

use crate::referee::Log;
use crate::web::Web;

pub use order::Order;
pub use strain::Strain;

/// The host in trouble, or the good one where all others are in trouble.
pub const HOST: &str = "host.test";

/// One kind of trouble.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trouble {
    /// Refuses what comes faster than a rate that it does not tell.
    Busy {
        /// Requests a second.
        rate: u32,
        /// With which status it refuses.
        status: u16,
        /// Seconds in its `Retry-After`, if it has one.
        retry_after: Option<u64>,
        /// Its pages.
        pages: usize,
    },
    /// Serves one request after another, so that answers come later the more are asked for.
    Slowing {
        /// Requests a second that it can serve.
        rate: u32,
        /// Its pages.
        pages: usize,
    },
    /// Resets connections for a while.
    Resetting {
        /// Requests that it answers before.
        after: usize,
        /// How long it does so.
        lasts: Duration,
        /// Its pages.
        pages: usize,
    },
    /// Nobody listens for a while.
    Down {
        /// Requests that it answers before.
        after: usize,
        /// How long it is down.
        lasts: Duration,
        /// Its pages.
        pages: usize,
    },
    /// Some pages always answer 500.
    Failing {
        /// How many of a hundred.
        percent: u32,
        /// All pages.
        pages: usize,
    },
    /// Pages that always answer 500 are listed before the good ones.
    FailingFirst {
        /// Pages that fail.
        failing: usize,
        /// Pages after them.
        good: usize,
    },
    /// One page says that the host is busy.
    OneBusy {
        /// With which status.
        status: u16,
        /// Seconds in its `Retry-After`, if it has one.
        retry_after: Option<u64>,
        /// The other pages.
        good: usize,
    },
    /// Hosts on which the first request for some pages fails.
    Passing {
        /// How many hosts.
        hosts: usize,
        /// How many pages of a hundred.
        percent: u32,
        /// Pages of each host.
        pages: usize,
    },
    /// Hosts that accept connections and never say a word, beside a good one.
    Silent {
        /// How many of them.
        hosts: usize,
        /// Pages of the good host.
        good: usize,
    },
    /// Hosts that send one byte a second, beside a good one.
    Dripping {
        /// How many of them.
        hosts: usize,
        /// Pages of the good host.
        good: usize,
    },
    /// Two roots, one of which never says a word.
    SilentRoot {
        /// Pages of the other one.
        good: usize,
    },
}

/// A page of a web: host and target.
pub type Place = (String, String);

impl Trouble {
    /// Adds the hosts to a web.
    #[must_use]
    pub fn mount(&self, web: Web) -> Web {
        sites::mount(self, web)
    }

    /// Where a crawl begins.
    pub fn roots(&self) -> Vec<Place> {
        let place = |host: &str| (host.to_owned(), "/".to_owned());
        match self {
            Self::SilentRoot { .. } => vec![place(&sites::mute(0)), place(HOST)],
            Self::Passing { hosts, .. } => {
                (0..*hosts).map(|host| place(&sites::part(host))).collect()
            }
            _ => vec![place(HOST)],
        }
    }

    /// Every page that answers 200, sooner or later; home pages are among them.
    pub fn good(&self) -> Vec<Place> {
        sites::good(self)
    }

    /// When a trouble that passes began and ended, if it began.
    pub fn spell(&self, log: &Log) -> Option<(Instant, Instant)> {
        let asked = log.of(HOST);
        let (begin, lasts) = match *self {
            Self::Resetting { after, lasts, .. } => (asked.get(after)?.at, lasts),
            Self::Down { after, lasts, .. } => (asked.get(after.checked_sub(1)?)?.done_at?, lasts),
            _ => return None,
        };
        Some((begin, begin + lasts))
    }

    /// Every page that never does.
    pub fn failing(&self) -> Vec<Place> {
        sites::failing(self)
    }
}
