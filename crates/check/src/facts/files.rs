//! The file of facts and the records beside it.
//!
//! Owns the frame of the file: a header with the version and the hash of the records that the rows
//! belong to, and rows with their length and check sum. It refuses to know what the rows say.
//! Invariants: a row is read whole and checked, or not at all; damage is named by its place; the file
//! has its name only when it is whole.

use std::fs::File;
use std::io::{
    self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _,
};
use std::path::{Path, PathBuf};

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_job::log::Offset;
use clewline_job::log::appender::{damage, named};
use clewline_job::log::urls::{Records, records_from};
use clewline_job::record::Record;
use clewline_platform::file::read_exact_at;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::row::RowParts;
use super::{FactRow, Fragment};
use crate::site::UrlRow;

/// The first bytes of the file; the last of them is the version of the format.
const MAGIC: [u8; 8] = *b"CLEWFCT\x03";
/// Bytes before the first row: those, and the hash of the records.
pub(super) const HEADER: usize = MAGIC.len() + size_of::<u64>();
/// Length and check sum of a row.
const FRAME: usize = 8;
/// No row is longer; a longer one is damage.
const LONGEST_ROW: usize = 256 << 20;
/// Bytes that are read and written together.
const BUFFER: usize = 256 * 1024;

/// The files of a check: facts, and the records that they belong to.
#[derive(Debug)]
pub(crate) struct SiteFiles {
    records: PathBuf,
    facts: PathBuf,
    open: File,
    /// Where they are not those of a job folder they go with this.
    _temporary: Option<tempfile::TempDir>,
}

impl SiteFiles {
    pub(super) fn open(
        records: PathBuf,
        facts: PathBuf,
        temporary: Option<tempfile::TempDir>,
    ) -> io::Result<Self> {
        let open = File::open(&facts).map_err(|error| named(&facts, &error))?;
        Ok(Self {
            records,
            facts,
            open,
            _temporary: temporary,
        })
    }

    /// The ids of the row at a place.
    pub(crate) fn ids(&self, at: u64) -> io::Result<Vec<u64>> {
        let row = self.row(at)?;
        let parts = RowParts::new(&row).ok_or_else(|| self.unreadable(at))?;
        Ok(parts.ids())
    }

    /// The facts of the row at a place.
    pub(crate) fn facts(&self, at: u64) -> io::Result<FactRow> {
        let row = self.row(at)?;
        let facts = RowParts::new(&row).and_then(|parts| parts.facts());
        facts.ok_or_else(|| self.unreadable(at))
    }

    /// The record whose line begins at a place.
    pub(crate) fn record(&self, at: u64) -> io::Result<Record> {
        let mut records = records_from(&self.records, Offset(at))?;
        let missing = || damage(&self.records, &format!("there is no record at byte {at}"));
        records.next().unwrap_or_else(|| Err(missing()))
    }

    /// Reads the records alone, in the order of the crawl.
    pub(crate) fn records(&self) -> io::Result<Records> {
        records_from(&self.records, Offset(0))
    }

    /// Reads records and facts in the order of the crawl.
    pub(crate) fn pages(&self) -> io::Result<FilePages> {
        Ok(FilePages {
            records: records_from(&self.records, Offset(0))?,
            rows: RowReader::open(&self.facts)?,
            row: Vec::new(),
        })
    }

    fn row(&self, at: u64) -> io::Result<Vec<u8>> {
        row_at(&self.open, &self.facts, at)
    }

    fn unreadable(&self, at: u64) -> io::Error {
        unreadable(&self.facts, at)
    }
}

/// The row at a place of a file.
fn row_at(file: &File, path: &Path, at: u64) -> io::Result<Vec<u8>> {
    let mut frame = [0; FRAME];
    let named = |error| named(path, &error);
    read_exact_at(file, &mut frame, at).map_err(named)?;
    let (length, sum) = frame_of(frame);
    if length > LONGEST_ROW {
        return Err(unreadable(path, at));
    }
    let mut row = vec![0; length];
    read_exact_at(file, &mut row, at + FRAME as u64).map_err(named)?;
    if check_sum(&row) != sum {
        return Err(unreadable(path, at));
    }
    Ok(row)
}

/// The hash of the records of a crawl, as far as they count, by which rows name it.
pub(super) fn records_hash(path: &Path, end: Offset) -> io::Result<u64> {
    let file = File::open(path).map_err(|error| named(path, &error))?;
    let mut records = BufReader::with_capacity(BUFFER, file).take(end.0);
    let mut hash = Xxh3::new();
    loop {
        let read = records.fill_buf().map_err(|error| named(path, &error))?;
        if read.is_empty() {
            return Ok(hash.digest());
        }
        hash.update(read);
        let count = read.len();
        records.consume(count);
    }
}

fn unreadable(path: &Path, at: u64) -> io::Error {
    let what = format!("the row at byte {at} is damaged; delete the file, and it is made again");
    damage(path, &what)
}

fn frame_of(frame: [u8; FRAME]) -> (usize, u32) {
    let frame = u64::from_le_bytes(frame);
    (frame as u32 as usize, (frame >> 32) as u32)
}

fn check_sum(row: &[u8]) -> u32 {
    xxh3_64(row) as u32
}

/// Reads records and facts in the order of the crawl.
#[derive(Debug)]
pub(crate) struct FilePages {
    records: Records,
    rows: RowReader,
    row: Vec<u8>,
}

impl FilePages {
    /// The record and the facts of a row; the rows must come in their order.
    pub(crate) fn page(&mut self, row: &UrlRow) -> io::Result<(Record, FactRow)> {
        let missing = || self.rows.missing();
        let record = self.records.next().unwrap_or_else(|| Err(missing()))?;
        self.read(row)?;
        let facts = RowParts::new(&self.row).and_then(|parts| parts.facts());
        let facts = facts.ok_or_else(|| self.rows.missing())?;
        Ok((record, facts))
    }

    /// What a page refers to: by key, and by URL where it is of another host.
    pub(crate) fn targets(
        &mut self,
        row: &UrlRow,
        own: impl FnMut(Key, LinkKind),
        foreign: impl FnMut(&str, LinkKind),
    ) -> io::Result<()> {
        self.read(row)?;
        let parts = RowParts::new(&self.row);
        let told = parts.and_then(|parts| parts.targets(own, foreign));
        told.ok_or_else(|| self.rows.missing())
    }

    /// What a page refers to on other hosts.
    pub(crate) fn foreign(
        &mut self,
        row: &UrlRow,
        each: impl FnMut(&str, Option<Fragment>),
    ) -> io::Result<()> {
        self.read(row)?;
        let told = RowParts::new(&self.row).and_then(|parts| parts.foreign(each));
        told.ok_or_else(|| self.rows.missing())
    }

    fn read(&mut self, row: &UrlRow) -> io::Result<()> {
        self.rows.seek(row.facts_at)?;
        if !self.rows.next_row(&mut self.row)? {
            return Err(self.rows.missing());
        }
        Ok(())
    }
}

/// Reads the rows of a file one after the other.
#[derive(Debug)]
pub(super) struct RowReader {
    input: BufReader<File>,
    path: PathBuf,
    at: u64,
    records: u64,
}

impl RowReader {
    /// Opens a file; one of another format is an error.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path).map_err(|error| named(path, &error))?;
        let mut input = BufReader::with_capacity(BUFFER, file);
        let mut header = [0; HEADER];
        let read = input.read_exact(&mut header);
        read.map_err(|error| named(path, &error))?;
        let hash = header.strip_prefix(&MAGIC).and_then(<[u8]>::first_chunk);
        let Some(hash) = hash else {
            return Err(damage(path, "it holds no facts of this version"));
        };
        Ok(Self {
            records: u64::from_le_bytes(*hash),
            input,
            path: path.to_owned(),
            at: HEADER as u64,
        })
    }

    /// The [hash](records_hash) of the records that the rows belong to.
    pub(super) const fn records(&self) -> u64 {
        self.records
    }

    /// The row at a place; where the next row is read does not change.
    pub(super) fn row_at(&self, at: u64) -> io::Result<Vec<u8>> {
        row_at(self.input.get_ref(), &self.path, at)
    }

    /// Where the next row begins.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn seek(&mut self, at: u64) -> io::Result<()> {
        if at != self.at {
            self.input.seek(SeekFrom::Start(at))?;
            self.at = at;
        }
        Ok(())
    }

    /// Reads the next row; false at the end of the file.
    pub(super) fn next_row(&mut self, row: &mut Vec<u8>) -> io::Result<bool> {
        let mut frame = [0; FRAME];
        match self.input.read_exact(&mut frame) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other.map_err(|error| named(&self.path, &error))?,
        }
        let (length, sum) = frame_of(frame);
        if length > LONGEST_ROW {
            return Err(unreadable(&self.path, self.at));
        }
        row.resize(length, 0);
        let read = self.input.read_exact(row);
        read.map_err(|error| named(&self.path, &error))?;
        if check_sum(row) != sum {
            return Err(unreadable(&self.path, self.at));
        }
        self.at += (FRAME + length) as u64;
        Ok(true)
    }

    fn missing(&self) -> io::Error {
        unreadable(&self.path, self.at)
    }
}

/// Writes a file of facts under a name of its own.
#[derive(Debug)]
pub(super) struct RowWriter {
    output: BufWriter<File>,
    path: PathBuf,
    at: u64,
}

impl RowWriter {
    /// Begins a file with the rows of records of this [hash](records_hash).
    pub(super) fn create(path: PathBuf, records: u64) -> io::Result<Self> {
        let file = File::create(&path).map_err(|error| named(&path, &error))?;
        let mut writer = Self {
            output: BufWriter::with_capacity(BUFFER, file),
            path,
            at: HEADER as u64,
        };
        writer.output.write_all(&MAGIC)?;
        writer.output.write_all(&records.to_le_bytes())?;
        Ok(writer)
    }

    /// Appends a row; answers where it begins.
    pub(super) fn push(&mut self, row: &[u8]) -> io::Result<u64> {
        let at = self.at;
        if row.len() > LONGEST_ROW {
            return Err(damage(&self.path, "a row is too long"));
        }
        self.output.write_all(&(row.len() as u32).to_le_bytes())?;
        self.output.write_all(&check_sum(row).to_le_bytes())?;
        self.output.write_all(row)?;
        self.at += (FRAME + row.len()) as u64;
        Ok(at)
    }

    /// Takes the rows of another file over, which begin behind its header.
    pub(super) fn copy(&mut self, mut rows: impl io::Read, length: u64) -> io::Result<()> {
        rows.read_exact(&mut [0; HEADER])?;
        let copied = io::copy(&mut rows, &mut self.output)?;
        if copied != length {
            return Err(damage(&self.path, "the earlier file became shorter"));
        }
        self.at += copied;
        Ok(())
    }

    /// Makes what was written durable; answers the file's name.
    pub(super) fn finish(mut self) -> io::Result<PathBuf> {
        self.output.flush()?;
        self.output.get_ref().sync_all()?;
        Ok(self.path)
    }
}
