//! A part of a file that looks like a file.
//!
//! WARC files lie in folders, or uncompressed within a package; readers need not know which.
//! Invariant: nothing outside the part is ever read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// A part of a file.
#[derive(Debug)]
pub struct Section {
    file: File,
    base: u64,
    length: u64,
    at: u64,
}

impl Section {
    /// So many bytes from a place on.
    pub fn new(mut file: File, base: u64, length: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(base))?;
        Ok(Self {
            file,
            base,
            length,
            at: 0,
        })
    }
}

impl Read for Section {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(self.at);
        let room = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.file.read(&mut out[..room])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Section {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        let at = at.ok_or(io::ErrorKind::InvalidInput)?;
        let place = self
            .base
            .checked_add(at)
            .ok_or(io::ErrorKind::InvalidInput)?;
        self.file.seek(SeekFrom::Start(place))?;
        self.at = at;
        Ok(at)
    }
}
