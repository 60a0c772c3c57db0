//! The name server of an internet.
//!
//! Owns the answer to one datagram: addresses by the world, errors by the fate of the host.
//! Invariant: the answer depends on the name and on how often it was asked, nothing else.

use std::collections::HashSet;
use std::net::IpAddr;

use crate::dns::{
    FORMAT_ERROR, HEADER, NAME_ERROR, NO_ERROR, Question, SERVER_FAILURE, TYPE_A, message,
};
use crate::internet::chance::{Spread, Topic};
use crate::internet::world::{Fate, NOWHERE, World};

/// Seconds that an answer counts.
const TIME_TO_LIVE: Spread = Spread::new(600.0, 1.5, (60.0, 86_400.0));

/// The name server's only memory: which questions were lost already.
#[derive(Default)]
pub(super) struct NameServer {
    lost: HashSet<(u32, u16)>,
}

impl NameServer {
    /// The answer to a datagram and the milliseconds it waits; none is silence.
    pub(super) fn answer(&mut self, world: &World, datagram: &[u8]) -> Option<(Vec<u8>, u64)> {
        let header = datagram.get(..HEADER)?;
        // A response is never answered, or two servers could talk for ever.
        if header[2] & 0x80 != 0 {
            return None;
        }
        let Some(question) = Question::read(datagram) else {
            return Some((message(header, &[], (FORMAT_ERROR, &[]), 0), 0));
        };
        let raw = question.raw;
        let Some(host) = world.host_named(question.name.as_bytes()) else {
            return Some((message(header, raw, (NAME_ERROR, &[]), 0), 0));
        };
        let draw = |topic| world.chance.draw(topic, u64::from(host.0), 0);
        let wait = world.shape.name_latency.at(draw(Topic::NameLatency)) as u64;
        let code = match world.fate(host) {
            Fate::NameServerSilent => return None,
            Fate::NoSuchName => NAME_ERROR,
            Fate::NameServerFails => SERVER_FAILURE,
            _ => NO_ERROR,
        };
        if world.loses_question(host) && self.lost.insert((host.0, question.kind)) {
            return None;
        }
        let address = match world.fate(host) {
            Fate::Refused => NOWHERE,
            _ => World::address(world.address_number(host)),
        };
        let addresses = [IpAddr::V4(address)];
        let found = question.kind == TYPE_A && code == NO_ERROR;
        let addresses = if found { &addresses[..] } else { &[] };
        let ttl = TIME_TO_LIVE.at(draw(Topic::TimeToLive)) as u32;
        Some((message(header, raw, (code, addresses), ttl), wait))
    }
}
