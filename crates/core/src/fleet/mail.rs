//! What members of a fleet send to each other.
//!
//! Owns the kinds of mail and for which host each is. Mail is a set: it comes in any order, and
//! what comes twice counts once. It refuses to know how it is packed and carried.

use crate::frontier::{Origin, QueueEntry, RobotsFetch};
use crate::key::{HostId, Keyer};
use crate::robots::Robots;
use crate::url::CrawlUrl;

/// Something for the owner of a shard.
#[derive(Debug, Clone)]
pub enum Mail {
    /// A URL that was let in: a link, a sitemap, or a redirect with its chain.
    Url(Box<QueueEntry>),
    /// The robots.txt of a host is redirected to this one.
    RobotsFetch(Box<RobotsFetch>),
    /// What came of that.
    RobotsAnswer {
        /// Whose robots.txt it is.
        for_lane: HostId,
        /// Which origin of that host.
        for_origin: Origin,
        /// Where it was read.
        url: CrawlUrl,
        /// The rules; none if they could not be read.
        robots: Option<Box<Robots>>,
    },
}

impl Mail {
    /// The host whose owner it is for.
    pub fn host(&self, keyer: &Keyer) -> HostId {
        match self {
            Self::Url(entry) => entry.key.host(),
            Self::RobotsFetch(fetch) => keyer.key(&fetch.url).host(),
            Self::RobotsAnswer { for_lane, .. } => *for_lane,
        }
    }
}
