//! The records of one WARC file, as far as the file counts.
//!
//! Owns the one loop over records that every reader of a whole file goes through: the pages of an
//! archive, the making of logs and views, the index of files without one, repairs, packages and the
//! verbs of `clewline warc`. It tells damage, which costs a record and is passed, from a file that
//! cannot be read. It refuses to know what records mean to a crawl, and which files there are. Invariant: nothing that begins behind the end that
//! counts is handed out.

use std::io::{self, Read, Seek};

use clewline_warc::cdxj::Capture;
use clewline_warc::read::{BlockReader, Header, ReadError, RecordExtent, WarcReader};

/// Bytes of a warcinfo record that are looked at: it may hold all settings of a crawl.
const LONGEST_INFO: u64 = 4 * 1024 * 1024;

/// What a record holds, or the damage that was met instead. The outer error is one of the system,
/// after which nothing of the file can be read.
pub type ReadRecord<T> = io::Result<Result<T, ReadError>>;

/// Reads the records of a file.
pub struct FileRecords<R> {
    reader: WarcReader<R>,
    end: u64,
}

impl<R: Read> FileRecords<R> {
    /// Reads all of a file.
    pub fn whole(input: R) -> Self {
        Self {
            reader: WarcReader::new(input),
            end: u64::MAX,
        }
    }

    /// The header of the next record, or damage behind which reading goes on.
    pub fn next_record(&mut self) -> ReadRecord<Option<Header>> {
        let next = self.reader.next_record().transpose();
        match next {
            Ok(Some(_)) if self.reader.offset() >= self.end => Ok(Ok(None)),
            Err(error) if error.offset() >= self.end => Ok(Ok(None)),
            next => apart(next),
        }
    }

    /// Where the record that is being read begins.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// The block of the record that is being read. What is wrong with it is told by its end.
    pub fn block(&mut self) -> BlockReader<'_, R> {
        self.reader.block()
    }

    /// The block of a warcinfo record as text, as far as it can be read.
    pub fn info(&mut self) -> String {
        let mut block = Vec::new();
        // What is wrong with it is told by the end of its record.
        let _ = self.block().take(LONGEST_INFO).read_to_end(&mut block);
        String::from_utf8_lossy(&block).into_owned()
    }

    /// Reads the record to its end.
    pub fn end(&mut self) -> ReadRecord<RecordExtent> {
        apart(self.reader.end())
    }

    /// Reads the record to its end, as a capture in a file of this name; none for kinds that no
    /// index holds.
    pub fn capture(&mut self, header: &Header, name: &str) -> ReadRecord<Option<Capture>> {
        apart(Capture::from_record(header, &mut self.reader, name))
    }

    /// What an index holds of the next record, in a file of this name: a capture; nothing, if no
    /// index holds its kind or it is not wanted; or the damage met instead.
    pub fn next_capture(
        &mut self,
        name: &str,
        is_wanted: impl FnOnce(&Header) -> bool,
    ) -> io::Result<Option<Result<Option<Capture>, ReadError>>> {
        match self.next_record()? {
            Ok(None) => Ok(None),
            Ok(Some(header)) if is_wanted(&header) => self.capture(&header, name).map(Some),
            Ok(Some(_)) => Ok(Some(Ok(None))),
            Err(error) => Ok(Some(Err(error))),
        }
    }
}

impl<R: Read + Seek> FileRecords<R> {
    /// Reads from a place where a record begins to the end that counts.
    pub fn between(input: R, from: u64, end: u64) -> io::Result<Self> {
        match apart(WarcReader::seek(input, from))? {
            Ok(reader) => Ok(Self { reader, end }),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// Damage apart from errors of the system.
fn apart<T>(read: Result<T, ReadError>) -> ReadRecord<T> {
    match read {
        Err(ReadError::Input { source, .. }) => Err(source),
        read => Ok(read),
    }
}
