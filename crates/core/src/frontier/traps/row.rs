//! What was learnt of a site, in the row that stands for its domain.
//!
//! Owns the text of that row and where it is kept: among the rows of hosts, under a name that no
//! host has. Refuses to know what it means. A row that does not read is as good as none.

use super::super::store::LaneRow;
use super::learner::{GivenUp, Learner};
use crate::key::HostId;
use crate::url::CrawlUrl;

/// Makes the name of a domain's row differ from those of hosts.
const SALT: u64 = 0x7472_6170_2073_6974;

/// Six bits are a letter.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Stands before the text of a learner; another number is another meaning.
const VERSION: u8 = b'2';

/// The row of a domain.
pub(super) const fn id(domain: u64) -> HostId {
    HostId(domain ^ SALT)
}

pub(super) fn write(learner: &Learner) -> LaneRow {
    let mut text = String::from(char::from(VERSION));
    for group in learner.to_bytes().chunks(3) {
        let mut bits = 0_u32;
        for (place, byte) in group.iter().enumerate() {
            bits |= u32::from(*byte) << (8 * place);
        }
        for place in 0..=group.len() {
            let letter = LETTERS[(bits >> (6 * place)) as usize & 63];
            text.push(char::from(letter));
        }
    }
    LaneRow {
        traps: Some(text.into()),
        ..LaneRow::default()
    }
}

pub(super) fn read(row: &LaneRow) -> Option<Learner> {
    let letters = row.traps.as_ref()?.as_bytes().strip_prefix(&[VERSION])?;
    let mut bytes = Vec::with_capacity(letters.len());
    for group in letters.chunks(4) {
        let mut bits = 0_u32;
        for (place, letter) in group.iter().enumerate() {
            let value = LETTERS.iter().position(|known| known == letter)?;
            bits |= (value as u32) << (6 * place);
        }
        let count = group.len() - 1;
        bytes.extend_from_slice(&bits.to_le_bytes()[..count]);
    }
    Learner::from_bytes(&bytes)
}

/// What was learnt of a site, for whoever looks into a store.
#[derive(Debug)]
pub struct Site(Learner);

impl Site {
    /// The row of the site that a URL belongs to.
    pub fn row_of(url: &CrawlUrl) -> HostId {
        id(super::domain(url))
    }

    /// Reads such a row.
    pub fn read(row: &LaneRow) -> Option<Self> {
        read(row).map(Self)
    }

    /// The template of a URL, if it was given up.
    pub fn given_up(&self, url: &CrawlUrl) -> Option<&GivenUp> {
        self.0.why(url)
    }
}
