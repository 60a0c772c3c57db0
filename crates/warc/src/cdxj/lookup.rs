//! Finding captures in a sorted index.
//!
//! Owns the halving of a file by lines: a look-up reads a line for each halving and then the lines
//! of the URL, never the whole.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::sort::CdxjLines;
use super::{Capture, LONGEST_LINE};
use crate::moment::Moment;
use crate::surt::surt;

/// A sorted index in a file.
#[derive(Debug)]
pub struct CdxjIndex {
    file: BufReader<File>,
    length: u64,
}

impl CdxjIndex {
    /// Opens an index.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::from_file(File::open(path)?)
    }

    /// An index in a file that is open already; any file of sorted lines will do.
    pub fn from_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let file = BufReader::new(file);
        Ok(Self { file, length })
    }

    /// Hands on the captures of a URL, oldest first, until the taker answers no.
    pub fn each(&mut self, url: &str, mut take: impl FnMut(Capture) -> bool) -> io::Result<()> {
        let key = surt(url) + " ";
        self.each_line(key.as_bytes(), |line| {
            let capture = Capture::parse(&String::from_utf8_lossy(line));
            capture.is_none_or(&mut take)
        })
    }

    /// Hands on keys and captures in order, from the first that is not before a line, which may
    /// be the beginning of one, until the taker answers no.
    pub fn each_from(
        &mut self,
        line: &str,
        mut take: impl FnMut(&str, Capture) -> bool,
    ) -> io::Result<()> {
        self.lines_from(line.as_bytes(), |line| {
            let line = String::from_utf8_lossy(line);
            let key = line.split(' ').next().unwrap_or_default();
            Capture::parse(&line).is_none_or(|capture| take(key, capture))
        })
    }

    /// Hands on the lines that begin with a prefix, in order, until the taker answers no.
    pub fn each_line(
        &mut self,
        prefix: &[u8],
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        self.lines_from(prefix, |line| line.starts_with(prefix) && take(line))
    }

    fn lines_from(&mut self, first: &[u8], mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        let start = self.first_not_before(first)?;
        self.file.seek(SeekFrom::Start(start))?;
        let mut lines = CdxjLines(&mut self.file);
        while let Some(line) = lines.next_line()? {
            if !take(&line) {
                break;
            }
        }
        Ok(())
    }

    /// The capture of a URL that is closest in time; of two as close, the earlier.
    pub fn closest(&mut self, url: &str, moment: Moment) -> io::Result<Option<Capture>> {
        let mut best: Option<(u64, Capture)> = None;
        self.each(url, |capture| {
            let time = Moment::from_timestamp(&capture.timestamp);
            let away = time.map_or(u64::MAX, |time| time.seconds().abs_diff(moment.seconds()));
            let is_nearer = best.as_ref().is_none_or(|(least, _)| away < *least);
            if is_nearer {
                best = Some((away, capture));
            }
            // Times only grow from here on.
            is_nearer || time.is_none_or(|time| time <= moment)
        })?;
        Ok(best.map(|(_, capture)| capture))
    }

    /// Where the first line begins that is not less than a key.
    fn first_not_before(&mut self, key: &[u8]) -> io::Result<u64> {
        // Every line that begins before `low` is less; none that begins at or behind `high` is.
        let (mut low, mut high) = (0, self.length);
        while low < high {
            let middle = low + (high - low) / 2;
            let begin = self.line_at(middle)?;
            if begin >= high {
                high = middle;
                continue;
            }
            let line = CdxjLines(&mut self.file).next_line()?;
            if line.is_some_and(|line| line.as_slice() < key) {
                low = self.file.stream_position()?;
            } else {
                high = middle;
            }
        }
        self.line_at(low)
    }

    /// Goes to the first line that begins at or behind a place.
    fn line_at(&mut self, place: u64) -> io::Result<u64> {
        let before = place.saturating_sub(1);
        self.file.seek(SeekFrom::Start(before))?;
        if place == 0 {
            return Ok(0);
        }
        let mut passed = Vec::new();
        let mut limited = self.file.by_ref().take(LONGEST_LINE + 1);
        Ok(before + limited.read_until(b'\n', &mut passed)? as u64)
    }
}
