//! What was learnt of a site, in the row that stands for its domain.
//!
//! Owns the text of that row and where it is kept: among the rows of hosts, under a name that no
//! host has. Refuses to know what it means. A row that does not read is as good as none.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD, Engine as _};

use super::super::store::LaneRow;
use super::learner::{GivenUp, Learner};
use crate::key::{HOST_BITS, HostId};
use crate::url::CrawlUrl;

/// Makes the name of a domain's row differ from those of hosts.
const SALT: u64 = 0x7472_6170_2073_6974;

/// Stands before the text of a learner; another number is another meaning.
const VERSION: char = '2';

/// The row of a domain in a fleet: it lies in the shard of the domain's hosts, as their keys do.
pub(super) const fn id_in_shard(domain: u64) -> HostId {
    HostId(domain ^ (SALT & HOST_BITS))
}

/// The row of a domain.
pub(super) const fn id(domain: u64) -> HostId {
    HostId(domain ^ SALT)
}

pub(super) fn write(learner: &Learner) -> LaneRow {
    let mut text = String::from(VERSION);
    URL_SAFE_NO_PAD.encode_string(learner.to_bytes(), &mut text);
    LaneRow {
        traps: Some(text.into()),
        ..LaneRow::default()
    }
}

pub(super) fn read(row: &LaneRow) -> Option<Learner> {
    let text = row.traps.as_ref()?.strip_prefix(VERSION)?;
    Learner::from_bytes(&URL_SAFE_NO_PAD.decode(text).ok()?)
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
