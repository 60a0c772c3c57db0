//! What known keys put into the rows of a database that commits.
//!
//! Owns the names and the format of these rows, and the format's version. It refuses to know the
//! database: whoever has one writes the rows in the commit of their batch, and shows them again
//! on start. What is in the files that the rows name is `run.rs`'s.
//!
//! | row | value |
//! |---|---|
//! | `keys.format` | the version, four bytes; missing in version 1 |
//! | `runs` | which runs count: number, keys and sum of each, 24 bytes |
//! | `fresh.` batch part | keys of a batch that lie in no run yet, 16 bytes each |
//!
//! Version 1 had no row for the version; everything else is the same. Such rows are migrated by
//! the next commit, which writes the version.

use std::path::Path;

use clewline_core::frontier::KeySet;
use clewline_core::key::Key;

use crate::error::KeysError;

/// The version that is written. One that is higher is refused.
const FORMAT: u32 = 2;
/// The version without a row for it.
const FIRST_FORMAT: u32 = 1;

const FORMAT_ROW: &[u8] = b"keys.format";
const RUNS_ROW: &[u8] = b"runs";
const FRESH_ROWS: &[u8] = b"fresh.";

/// Keys of a row at the most.
const ROW_KEYS: usize = 4096;
/// Bytes of a key.
const KEY_BYTES: usize = 16;

/// A row that goes into a commit: its value, or its removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The row's key in the database.
    pub name: Vec<u8>,
    /// Its value; none removes the row.
    pub value: Option<Vec<u8>>,
}

impl KeyRow {
    pub(crate) fn removed(name: Vec<u8>) -> Self {
        Self { name, value: None }
    }

    /// The row that says which runs count.
    pub(crate) fn runs(list: Vec<u8>) -> Self {
        Self {
            name: RUNS_ROW.to_vec(),
            value: Some(list),
        }
    }

    /// The row that says which version all of this has.
    pub(crate) fn format() -> Self {
        Self {
            name: FORMAT_ROW.to_vec(),
            value: Some(FORMAT.to_be_bytes().to_vec()),
        }
    }
}

/// The rows of the last commit, as they are found on start.
#[derive(Debug, Default)]
pub struct SavedKeys {
    format: Option<Vec<u8>>,
    pub(crate) runs: Vec<u8>,
    pub(crate) fresh: KeySet<Key>,
    pub(crate) fresh_rows: Vec<Vec<u8>>,
    is_torn: bool,
}

impl SavedKeys {
    /// Where the rows are: from each first name up to the second one, which is behind them.
    pub const SPANS: [(&'static [u8], &'static [u8]); 3] = [
        (FRESH_ROWS, b"fresh/"),
        (FORMAT_ROW, b"keys.format\0"),
        (RUNS_ROW, b"runs\0"),
    ];

    /// Takes a row of one of the spans.
    pub fn read(&mut self, name: &[u8], value: &[u8]) {
        match name {
            FORMAT_ROW => self.format = Some(value.to_vec()),
            RUNS_ROW => self.runs = value.to_vec(),
            _ => {
                let (keys, rest) = value.as_chunks::<KEY_BYTES>();
                self.is_torn |= !rest.is_empty();
                self.fresh.extend(keys.iter().copied().map(Key::from_bytes));
                self.fresh_rows.push(name.to_vec());
            }
        }
    }

    /// Whether the next commit must say which version it has; refuses what cannot be read.
    pub(crate) fn needs_format(&self, folder: &Path) -> Result<bool, KeysError> {
        if self.is_torn {
            return Err(KeysError::damaged("a row of keys"));
        }
        let format = match &self.format {
            None => FIRST_FORMAT,
            Some(bytes) => {
                let bytes = bytes.as_slice().try_into();
                let damaged = |_| KeysError::damaged("the version of the keys");
                u32::from_be_bytes(bytes.map_err(damaged)?)
            }
        };
        match format {
            FIRST_FORMAT => Ok(true),
            FORMAT => Ok(false),
            _ => Err(KeysError::Later(folder.into())),
        }
    }
}

/// The names of the rows that so many keys of a batch make.
pub(crate) fn fresh_names(batch: u64, keys: usize) -> impl Iterator<Item = Vec<u8>> {
    let parts = keys.div_ceil(ROW_KEYS) as u32;
    (0..parts).map(move |part| [FRESH_ROWS, &batch.to_be_bytes(), &part.to_be_bytes()].concat())
}

/// The keys of a batch as rows.
pub(crate) fn fresh_rows(batch: u64, keys: &KeySet<Key>) -> impl Iterator<Item = KeyRow> {
    let mut rest = keys.iter();
    fresh_names(batch, keys.len()).map(move |name| {
        let row = rest.by_ref().take(ROW_KEYS);
        let value = row.flat_map(Key::as_bytes).copied().collect();
        KeyRow {
            name,
            value: Some(value),
        }
    })
}
