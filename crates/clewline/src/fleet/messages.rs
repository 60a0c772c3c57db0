//! Messages between members of a fleet as bytes.
//!
//! Owns how a delta and a piece of mail are packed; a checkpoint is one or more deltas over nothing.
//! Each begins with its version. It refuses to know who sends them and what they change. Invariant:
//! whatever the bytes are, reading them ends with what they say or with [`BadMessage`].

use std::collections::BTreeMap;

use clewline_core::cookies::CookieJar;
use clewline_core::fleet::Mail;
use clewline_core::frontier::{LaneRow, Origin, QueueEntry, RobotsFetch};
use clewline_core::key::{HostId, Key, Keyer};
use clewline_core::robots::Robots;
use clewline_core::url::{CrawlUrl, Scheme};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::store::packing::{
    PackedRow, Packer, Rank, read_bytes, read_number, read_row, write_number,
};

#[cfg(test)]
mod tests;

/// The first byte of every message; members of one job understand the same.
pub(crate) const VERSION: u8 = 2;

/// A message that makes no sense here.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("a message of the fleet is damaged or of a newer version: {0}")]
pub(crate) struct BadMessage(&'static str);

/// What one batch changed in one shard, or a part of all that is known of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delta {
    /// URLs that were queued; their keys are known from then on.
    pub(crate) queued: Vec<QueueEntry>,
    /// Keys that became known without being queued.
    pub(crate) known: Vec<Key>,
    /// URLs that reached their end.
    pub(crate) settled: Vec<Key>,
    /// Keys of URLs that wait under another one from now on, and have no record.
    pub(crate) renamed: Vec<Key>,
    /// What is kept of hosts.
    pub(crate) lanes: BTreeMap<HostId, LaneRow>,
    /// The cookies of sites that changed, all of each.
    pub(crate) cookies: BTreeMap<String, CookieJar>,
}

impl Delta {
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        pack_entries(&mut bytes, &self.queued);
        pack_keys(&mut bytes, &self.known);
        pack_keys(&mut bytes, &self.settled);
        pack_keys(&mut bytes, &self.renamed);
        write_number(&mut bytes, self.lanes.len() as u64);
        for (host, row) in &self.lanes {
            bytes.extend(host.0.to_be_bytes());
            pack_json(&mut bytes, row);
        }
        if self.cookies.is_empty() {
            write_number(&mut bytes, 0);
        } else {
            pack_json(&mut bytes, &self.cookies);
        }
        bytes
    }

    pub(crate) fn read(bytes: &[u8], keyer: &Keyer) -> Result<Self, BadMessage> {
        let mut rest = versioned(bytes)?;
        let queued = read_entries(&mut rest, keyer).ok_or(BadMessage("queued URLs"))?;
        let known = read_keys(&mut rest).ok_or(BadMessage("known keys"))?;
        let settled = read_keys(&mut rest).ok_or(BadMessage("settled keys"))?;
        let renamed = read_keys(&mut rest).ok_or(BadMessage("renamed keys"))?;
        let lanes = read_lanes(&mut rest).ok_or(BadMessage("hosts"))?;
        let cookies = read_bytes(&mut rest).ok_or(BadMessage("cookies"))?;
        let cookies = match cookies {
            [] => BTreeMap::new(),
            json => serde_json::from_slice(json).map_err(|_| BadMessage("cookies"))?,
        };
        if !rest.is_empty() {
            return Err(BadMessage("something follows its end"));
        }
        Ok(Self {
            queued,
            known,
            settled,
            renamed,
            lanes,
            cookies,
        })
    }
}

/// Packs mail for one shard.
pub(crate) fn pack_mail<'a>(mail: impl Iterator<Item = &'a Mail>) -> Vec<u8> {
    let mut entries = Vec::new();
    let mut robots = Vec::new();
    for one in mail {
        match one {
            Mail::Url(entry) => entries.push((**entry).clone()),
            Mail::RobotsFetch(fetch) => robots.push(RobotsMail::Fetch {
                url: fetch.url.to_string(),
                for_lane: fetch.for_lane.0,
                for_origin: fetch.for_origin.into(),
                hops_left: fetch.hops_left,
            }),
            Mail::RobotsAnswer {
                for_lane,
                for_origin,
                url,
                robots: rules,
            } => robots.push(RobotsMail::Answer {
                url: url.to_string(),
                for_lane: for_lane.0,
                for_origin: (*for_origin).into(),
                robots: rules.clone(),
            }),
        }
    }
    let mut bytes = vec![VERSION];
    pack_entries(&mut bytes, &entries);
    pack_json(&mut bytes, &robots);
    bytes
}

/// Reads mail for one shard.
pub(crate) fn read_mail(bytes: &[u8], keyer: &Keyer) -> Result<Vec<Mail>, BadMessage> {
    let mut rest = versioned(bytes)?;
    let entries = read_entries(&mut rest, keyer).ok_or(BadMessage("URLs"))?;
    let robots = read_bytes(&mut rest).ok_or(BadMessage("robots"))?;
    let robots: Vec<RobotsMail> =
        serde_json::from_slice(robots).map_err(|_| BadMessage("robots"))?;
    let mut mail: Vec<Mail> = entries
        .into_iter()
        .map(|entry| Mail::Url(Box::new(entry)))
        .collect();
    for one in robots {
        mail.push(one.into_mail().ok_or(BadMessage("a robots.txt"))?);
    }
    Ok(mail)
}

/// An errand for a robots.txt, or what came of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RobotsMail {
    Fetch {
        url: String,
        for_lane: u64,
        for_origin: PackedOrigin,
        hops_left: u32,
    },
    Answer {
        url: String,
        for_lane: u64,
        for_origin: PackedOrigin,
        robots: Option<Box<Robots>>,
    },
}

/// Whether it is https, and the port.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct PackedOrigin(bool, u16);

impl From<Origin> for PackedOrigin {
    fn from(origin: Origin) -> Self {
        Self(origin.scheme == Scheme::Https, origin.port)
    }
}

impl From<PackedOrigin> for Origin {
    fn from(PackedOrigin(is_https, port): PackedOrigin) -> Self {
        let scheme = if is_https {
            Scheme::Https
        } else {
            Scheme::Http
        };
        Self { scheme, port }
    }
}

impl RobotsMail {
    fn into_mail(self) -> Option<Mail> {
        Some(match self {
            Self::Fetch {
                url,
                for_lane,
                for_origin,
                hops_left,
            } => Mail::RobotsFetch(Box::new(RobotsFetch::new(
                CrawlUrl::parse(&url).ok()?,
                (HostId(for_lane), for_origin.into()),
                hops_left,
            ))),
            Self::Answer {
                url,
                for_lane,
                for_origin,
                robots,
            } => Mail::RobotsAnswer {
                for_lane: HostId(for_lane),
                for_origin: for_origin.into(),
                url: CrawlUrl::parse(&url).ok()?,
                robots,
            },
        })
    }
}

fn versioned(bytes: &[u8]) -> Result<&[u8], BadMessage> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => Ok(rest),
        Some(_) => Err(BadMessage("its version is unknown")),
        None => Err(BadMessage("it is empty")),
    }
}

/// One row for each rank; the order within a rank stays.
fn pack_entries(bytes: &mut Vec<u8>, entries: &[QueueEntry]) {
    let mut rows: BTreeMap<Rank, Packer> = BTreeMap::new();
    for entry in entries {
        let rank = Rank::new(entry.class, entry.depth);
        rows.entry(rank).or_default().push(entry);
    }
    write_number(bytes, rows.len() as u64);
    for (rank, packer) in rows {
        write_number(bytes, u64::from(rank.number()));
        pack_bytes(bytes, &packer.into_bytes());
    }
}

fn read_entries(rest: &mut &[u8], keyer: &Keyer) -> Option<Vec<QueueEntry>> {
    let mut entries = Vec::new();
    for _ in 0..read_number(rest)? {
        let rank = u32::try_from(read_number(rest)?).ok()?;
        let packed = PackedRow {
            row: 0,
            rank: Rank::from_number(rank),
        };
        entries.extend(read_row(read_bytes(rest)?, packed, keyer, |_| true)?);
    }
    Some(entries)
}

/// Keys by their hosts, which most of them share.
fn pack_keys(bytes: &mut Vec<u8>, keys: &[Key]) {
    let mut hosts: BTreeMap<HostId, Vec<u64>> = BTreeMap::new();
    for key in keys {
        hosts
            .entry(key.host())
            .or_default()
            .push(key.number() as u64);
    }
    write_number(bytes, hosts.len() as u64);
    for (host, paths) in hosts {
        bytes.extend(host.0.to_be_bytes());
        write_number(bytes, paths.len() as u64);
        for path in paths {
            bytes.extend(path.to_be_bytes());
        }
    }
}

fn read_keys(rest: &mut &[u8]) -> Option<Vec<Key>> {
    let mut keys = Vec::new();
    for _ in 0..read_number(rest)? {
        let host = u128::from(read_word(rest)?) << 64;
        for _ in 0..read_number(rest)? {
            keys.push(Key::from_number(host | u128::from(read_word(rest)?)));
        }
    }
    Some(keys)
}

fn read_lanes(rest: &mut &[u8]) -> Option<BTreeMap<HostId, LaneRow>> {
    let mut lanes = BTreeMap::new();
    for _ in 0..read_number(rest)? {
        let host = HostId(read_word(rest)?);
        lanes.insert(host, serde_json::from_slice(read_bytes(rest)?).ok()?);
    }
    Some(lanes)
}

fn read_word(rest: &mut &[u8]) -> Option<u64> {
    let (word, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(u64::from_be_bytes(*word))
}

fn pack_bytes(bytes: &mut Vec<u8>, packed: &[u8]) {
    write_number(bytes, packed.len() as u64);
    bytes.extend_from_slice(packed);
}

fn pack_json(bytes: &mut Vec<u8>, value: &impl Serialize) {
    let json = serde_json::to_vec(value).unwrap_or_default();
    pack_bytes(bytes, &json);
}
