//! How each foreign host behaves.
//!
//! Owns the shares: six in a hundred limit their rate, four wall off robots, three refuse HEAD in five
//! ways, three fail at first, two answer a soft 404, two forbid a part in robots.txt, three are dead in
//! eight ways. It refuses to know bytes. Invariant: a host's habit follows from its number and the seed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::truth::LinkDeath;
use super::{LinkPorts, LinkWebConfig};
use crate::internet::chance::{Chance, Topic};

/// How a foreign host treats who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostHabit {
    /// It answers.
    Plain,
    /// It answers 429 to requests that come too soon.
    LimitsRate,
    /// It walls off robots in one of three ways.
    WallsOff(u8),
    /// It answers GET, and HEAD in one of five ways that are no answer.
    RefusesHead(u8),
    /// The first requests for each page fail.
    Flaps,
    /// It answers 200 to everything, also where there is nothing.
    IsSoft,
    /// Its robots.txt forbids a part.
    Forbids,
    /// Nothing of it is there.
    IsDead(LinkDeath),
}

/// Everything that follows from the configuration, and what hosts remember.
pub(crate) struct LinkShape {
    config: LinkWebConfig,
    chance: Chance,
    ports: Arc<OnceLock<LinkPorts>>,
    memory: Mutex<HostMemory>,
}

#[derive(Default)]
struct HostMemory {
    /// When a host was asked last.
    last: HashMap<u32, Instant>,
    /// How often a page was asked for.
    asked: HashMap<String, u32>,
}

impl LinkShape {
    pub(super) fn new(config: LinkWebConfig, ports: Arc<OnceLock<LinkPorts>>) -> Self {
        Self {
            config,
            chance: Chance::new(config.seed),
            ports,
            memory: Mutex::default(),
        }
    }

    pub(super) const fn config(&self) -> &LinkWebConfig {
        &self.config
    }

    pub(super) fn ports(&self) -> LinkPorts {
        self.ports.get().copied().unwrap_or_default()
    }

    /// A number below `end` for something.
    pub(super) fn below(&self, what: u64, number: u32, end: u32) -> u32 {
        let draw = self.chance.draw(Topic::Generated, what, u64::from(number));
        ((draw.bits() >> 20) % u64::from(end.max(1))) as u32
    }

    pub(super) fn habit(&self, host: u32) -> HostHabit {
        let kind = self.below(2, host, 840) as u8;
        match self.below(1, host, 1000) {
            0..60 => HostHabit::LimitsRate,
            60..100 => HostHabit::WallsOff(kind % 3),
            100..130 => HostHabit::RefusesHead(kind % 5),
            130..160 => HostHabit::Flaps,
            160..180 => HostHabit::IsSoft,
            180..200 => HostHabit::Forbids,
            200..230 => HostHabit::IsDead(LinkDeath::ALL[usize::from(kind) % 8]),
            _ => HostHabit::Plain,
        }
    }

    /// Whether robots.txt of a host forbids a path.
    pub(super) fn forbids(&self, host: &str, path: &str) -> bool {
        let number = number_of(host);
        let is_one = number.is_some_and(|number| self.habit(number) == HostHabit::Forbids);
        is_one && path.starts_with("/private/")
    }

    /// Whether a request to a host comes too soon after the last one.
    pub(super) fn is_too_soon(&self, host: u32, at: Instant) -> bool {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let last = memory.last.get(&host).copied();
        let is_soon = last.is_some_and(|last| at.saturating_duration_since(last) < super::PAUSE);
        // A refusal is no answer, so the pause is counted from the last answer.
        if !is_soon {
            memory.last.insert(host, at);
        }
        is_soon
    }

    /// How often a page was asked for before.
    pub(super) fn asked_before(&self, page: &str) -> u32 {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = memory.asked.entry(page.to_owned()).or_default();
        *asked += 1;
        *asked - 1
    }
}

/// The number of a foreign host, `h17.test`.
pub(super) fn number_of(host: &str) -> Option<u32> {
    let (name, _) = host.split_once('.')?;
    name.strip_prefix('h')?.parse().ok()
}
