//! Keys in order, more of them than memory holds.
//!
//! Owns runs of keys with the worker that each came from, and their merge. It refuses to know what
//! is compared. Invariant: holds at most [`MOST_HELD`] keys and one of each run; what does not fit
//! lies in unnamed files, 24 bytes a key.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use clewline_core::key::Key;

/// Keys that are held: 48 MiB of them.
const MOST_HELD: usize = 1 << 21;
/// Runs that are merged at once.
const MOST_RUNS: usize = 64;
/// Bytes of a key and of a worker.
const ROW: usize = 24;

/// A key and its worker, as bytes that compare as both do.
type Row = [u8; ROW];

/// Takes keys in any order.
#[derive(Debug)]
pub(super) struct KeySorter {
    folder: PathBuf,
    held: Vec<Row>,
    most: usize,
    runs: Vec<File>,
}

impl KeySorter {
    /// Keeps its files in this folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            held: Vec::new(),
            most: MOST_HELD,
            runs: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, key: Key, worker: u64) -> io::Result<()> {
        let mut row = [0; ROW];
        row[..16].copy_from_slice(key.as_bytes());
        row[16..].copy_from_slice(&worker.to_be_bytes());
        self.held.push(row);
        if self.held.len() < self.most {
            return Ok(());
        }
        self.put_down()
    }

    fn put_down(&mut self) -> io::Result<()> {
        self.held.sort_unstable();
        let mut out = BufWriter::new(tempfile::tempfile_in(&self.folder)?);
        for row in self.held.drain(..) {
            out.write_all(&row)?;
        }
        self.runs.push(rewound(out)?);
        if self.runs.len() == MOST_RUNS {
            let mut rows = SortedKeys::over(std::mem::take(&mut self.runs))?;
            let mut out = BufWriter::new(tempfile::tempfile_in(&self.folder)?);
            while let Some(row) = rows.next_row()? {
                out.write_all(&row)?;
            }
            self.runs.push(rewound(out)?);
        }
        Ok(())
    }

    /// All of them, in order.
    pub(super) fn sorted(mut self) -> io::Result<SortedKeys> {
        if !self.held.is_empty() {
            self.put_down()?;
        }
        SortedKeys::over(self.runs)
    }
}

fn rewound(out: BufWriter<File>) -> io::Result<File> {
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Gives keys in order.
#[derive(Debug)]
pub(super) struct SortedKeys {
    runs: Vec<BufReader<File>>,
    next: BinaryHeap<Reverse<(Row, usize)>>,
}

impl SortedKeys {
    fn over(runs: Vec<File>) -> io::Result<Self> {
        let mut sorted = Self {
            runs: runs.into_iter().map(BufReader::new).collect(),
            next: BinaryHeap::new(),
        };
        for run in 0..sorted.runs.len() {
            sorted.pull(run)?;
        }
        Ok(sorted)
    }

    fn pull(&mut self, run: usize) -> io::Result<()> {
        let mut row = [0; ROW];
        match self.runs[run].read_exact(&mut row) {
            Ok(()) => self.next.push(Reverse((row, run))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn next_row(&mut self) -> io::Result<Option<Row>> {
        let Some(Reverse((row, run))) = self.next.pop() else {
            return Ok(None);
        };
        self.pull(run)?;
        Ok(Some(row))
    }

    /// The next key and its worker.
    pub(super) fn next_key(&mut self) -> io::Result<Option<(Key, u64)>> {
        let row = self.next_row()?;
        Ok(row.map(|row| {
            let (key, worker) = row.split_at(16);
            let key = Key::from_bytes(key.try_into().expect("sixteen bytes"));
            (
                key,
                u64::from_be_bytes(worker.try_into().expect("eight bytes")),
            )
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_order_however_few_are_held() {
        let place = tempfile::tempdir().unwrap();
        for most in [1, 7, 5_000] {
            let mut taking = KeySorter::new(place.path());
            taking.most = most;
            let mut expected = Vec::new();
            for number in 0..300_u64 {
                let key =
                    Key::from_number(u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 60);
                taking.add(key, number % 3).unwrap();
                expected.push((key, number % 3));
            }
            expected.sort_unstable();
            let mut sorted = taking.sorted().unwrap();
            let mut found = Vec::new();
            while let Some(next) = sorted.next_key().unwrap() {
                found.push(next);
            }
            assert!(found == expected, "{most}");
        }
    }
}
