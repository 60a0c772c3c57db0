//! The lines of `urls.jsonl`, raw and only as far as they are committed.
//!
//! Owns the reading for whoever looks for a few lines among millions: a line is parsed only if
//! somebody wants it. A line that ends in the middle is the tail of a crash or of a write that
//! goes on at this moment; nothing behind it counts.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Take};
use std::path::Path;

use super::appender::{damage, named};
use super::urls::LONGEST_LINE;

/// Reads line by line.
#[derive(Debug)]
pub struct Lines {
    reader: BufReader<Take<File>>,
    line: Vec<u8>,
    path: std::path::PathBuf,
}

impl Lines {
    /// Opens a log from one offset to another; without the second to its end.
    pub fn open(path: &Path, from: u64, to: Option<u64>) -> io::Result<Self> {
        let mut file = File::open(path).map_err(|error| named(path, &error))?;
        file.seek(SeekFrom::Start(from))
            .map_err(|error| named(path, &error))?;
        let length = to.unwrap_or(u64::MAX).saturating_sub(from);
        Ok(Self {
            reader: BufReader::with_capacity(256 * 1024, file.take(length)),
            line: Vec::new(),
            path: path.to_owned(),
        })
    }

    /// The next whole line.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        (&mut self.reader)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line)
            .map_err(|error| named(&self.path, &error))?;
        if self.line.len() as u64 >= LONGEST_LINE {
            return Err(damage(&self.path, "a line is too long"));
        }
        let whole = self.line.last() == Some(&b'\n');
        Ok(whole.then_some(self.line.as_slice()))
    }
}
