//! The referee: was the crawler polite?
//!
//! Owns the memory of who was asked when, and the judgement by rules that are given afterwards.
//! Refuses to know bytes and sockets. Invariant: it never accuses falsely; a request counts as
//! done before its last bytes are sent, and whatever cannot be known is in the crawler's favour.

mod findings;
mod track;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

pub use findings::{Figures, Findings, Limit, RefereeRules, Rule, Violation};
pub(crate) use track::Arrival;

use super::world::{HostId, Resource, Spot, World};
use track::Track;

/// Of breaches that are seen at once, so many are kept by name; the others are counted.
const EXAMPLES: usize = 100;

/// One request, as the referee sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) spot: Spot,
    /// The number of the address; none through the proxy.
    pub(crate) address: Option<u32>,
    pub(crate) at: Arrival,
}

#[derive(Clone, Debug, Default)]
struct HostTrack {
    track: Track,
    /// The schemes over which robots.txt was answered: plain, secure.
    robots_read: [bool; 2],
    /// The host asked for a pause: when, and until when.
    pause: Option<(Duration, Duration)>,
    /// How deep into a pause a request came. What comes soon after its beginning was on its way
    /// already, so the depth counts from both ends.
    deepest: Duration,
}

/// Breaches that are clear as soon as they happen.
#[derive(Clone, Debug, Default)]
struct Breaches {
    count: u64,
    examples: Vec<String>,
}

impl Breaches {
    fn note(&mut self, world: &World, spot: Spot) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(world.url(spot));
        }
    }
}

/// All that was seen.
pub(crate) struct Referee {
    world: Arc<World>,
    hosts: Vec<HostTrack>,
    domains: Vec<Track>,
    addresses: Vec<Track>,
    whole: HashSet<Spot>,
    requests: u64,
    denied: Breaches,
    unread: Breaches,
    repeated: Breaches,
}

impl Referee {
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self {
            hosts: vec![HostTrack::default(); world.hosts() as usize],
            domains: vec![Track::default(); world.domains() as usize],
            addresses: vec![Track::default(); world.addresses() as usize],
            world,
            whole: HashSet::new(),
            requests: 0,
            denied: Breaches::default(),
            unread: Breaches::default(),
            repeated: Breaches::default(),
        }
    }

    /// A request came for this path.
    pub(crate) fn arrived(&mut self, request: &Request, path: &[u8]) {
        self.requests += 1;
        let spot = request.spot;
        let domain = self.world.domain(spot.host) as usize;
        self.domains[domain].arrived(request.at);
        if let Some(address) = request.address {
            self.addresses[address as usize].arrived(request.at);
        }
        let host = &mut self.hosts[spot.host.index()];
        host.track.arrived(request.at);
        if let Some((asked, until)) = host.pause {
            let since = request.at.earliest.saturating_sub(asked);
            let early = until.saturating_sub(request.at.latest);
            host.deepest = host.deepest.max(since.min(early));
        }
        let is_robots = matches!(spot.resource, Resource::Robots | Resource::RobotsElsewhere);
        if is_robots {
            return;
        }
        let has_read = host.robots_read[usize::from(spot.secure)];
        if !has_read {
            self.unread.note(&self.world, spot);
        }
        if World::denies(&self.world.host(spot.host), path) {
            self.denied.note(&self.world, spot);
        }
    }

    /// An answer is about to be complete, or its connection has ended.
    pub(crate) fn left(&mut self, request: &Request) {
        let host = request.spot.host;
        let domain = self.world.domain(host) as usize;
        self.domains[domain].left();
        if let Some(address) = request.address {
            self.addresses[address as usize].left();
        }
        self.hosts[host.index()].track.left();
    }

    /// robots.txt is being answered over this scheme, well or not.
    pub(crate) fn robots_answered(&mut self, host: HostId, secure: bool) {
        self.hosts[host.index()].robots_read[usize::from(secure)] = true;
    }

    /// A host is asking not to be asked for a while.
    pub(crate) fn pause_asked(&mut self, host: HostId, now: Duration, pause: Duration) {
        self.hosts[host.index()].pause = Some((now, now + pause));
    }

    /// A page was answered whole, with 200.
    pub(crate) fn answered_whole(&mut self, spot: Spot) {
        let is_robots = matches!(spot.resource, Resource::Robots | Resource::RobotsElsewhere);
        if !is_robots && !self.whole.insert(spot) {
            self.repeated.note(&self.world, spot);
        }
    }
}
