//! What the state of a finished crawl says, without opening it.
//!
//! Owns a copy of the little that is asked for: the hosts that joined the roots and the rules of
//! every robots.txt. To open the state means to read its journal, tens of megabytes, over again.
//! Invariant: the copy is used only if the files of the state and `job.toml` are those it was made
//! from, and it is made only where nothing waits and nothing is withheld, so that every URL that
//! was let in has a record.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{folder, make_folder};
use crate::folder::{MARKER, STATE};
use crate::witness::Witness;

/// Bytes that are copied at the most: all of them are read for each answer.
pub const MOST_COPIED: usize = 16 * 1024 * 1024;

/// The file's name.
const FILE: &str = "finished";

/// The last byte is the version of the format.
const MAGIC: [u8; 8] = *b"CLEWFIN\x01";

/// What is copied of the state of a finished crawl.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FinishedState {
    /// Hosts that joined the roots.
    pub joined: Vec<CrawlUrl>,
    /// Where each log ended.
    pub ends: Vec<(String, u64)>,
    /// The rows of robots.txt files, as the store has them.
    #[serde(skip)]
    pub robots: Vec<(Vec<u8>, Vec<u8>)>,
}

impl FinishedState {
    /// Reads the copy, if there is one that fits.
    pub fn read(job: &Path) -> Option<Self> {
        let bytes = fs::read(folder(job).join(FILE)).ok()?;
        let (sum, content) = bytes.strip_prefix(&MAGIC)?.split_first_chunk()?;
        if u64::from_le_bytes(*sum) != xxh3_64(content) {
            return None;
        }
        let (made_from, mut rest) = content.split_first_chunk()?;
        if u64::from_le_bytes(*made_from) != source(job).ok()? {
            return None;
        }
        let mut copy: Self = serde_json::from_slice(take(&mut rest)?).ok()?;
        while !rest.is_empty() {
            let row = (take(&mut rest)?.to_vec(), take(&mut rest)?.to_vec());
            copy.robots.push(row);
        }
        Some(copy)
    }

    /// Keeps the copy, if that can be done.
    pub fn keep(&self, job: &Path) -> io::Result<()> {
        make_folder(job)?;
        let mut content = source(job)?.to_le_bytes().to_vec();
        put(&serde_json::to_vec(self)?, &mut content);
        for (key, value) in &self.robots {
            put(key, &mut content);
            put(value, &mut content);
        }
        let mut file = tempfile::NamedTempFile::new_in(folder(job))?;
        file.write_all(&MAGIC)?;
        file.write_all(&xxh3_64(&content).to_le_bytes())?;
        file.write_all(&content)?;
        file.persist(folder(job).join(FILE))?;
        Ok(())
    }

    /// The row of a robots.txt.
    pub fn robots(&self, key: &[u8]) -> Option<&[u8]> {
        let row = self.robots.iter().find(|(known, _)| known == key);
        row.map(|(_, value)| value.as_slice())
    }
}

/// Check sum of what tells whether the state is still the same: every commit is witnessed and
/// makes a journal longer, and every run writes `job.toml`.
fn source(job: &Path) -> io::Result<u64> {
    let mut sum = Xxh3::new();
    sum.update(&fs::read(job.join(MARKER))?);
    let state = job.join(STATE);
    sum.update(&fs::read(Witness::path(&state))?);
    let mut files = Vec::new();
    for file in fs::read_dir(state.join("store"))? {
        let file = file?;
        let facts = file.metadata()?;
        if facts.is_file() {
            files.push((file.file_name(), facts.len()));
        }
    }
    files.sort();
    sum.update(format!("{files:?}").as_bytes());
    Ok(sum.digest())
}

fn put(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (taken, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(taken)
}
