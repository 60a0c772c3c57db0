//! Records, one after the other.
//!
//! Owns where a record begins and ends. Between records it skips empty lines silently and
//! garbage with an error, so reading always gets to the end of the file and always moves on.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use super::ReadError;
use super::header::{Header, LONGEST_HEADER};
use super::members::{Members, dictionary, is_gzip_next};

/// What a record begins with.
const START: &[u8] = b"WARC/";

/// Reads the records of a file.
pub struct WarcReader<R> {
    members: Members<R>,
    current: Option<Current>,
    /// Why the block could not be read on; whoever reads blocks sees it in a weaker form.
    failed: Option<ReadError>,
    is_over: bool,
}

/// The record that is being read.
#[derive(Debug, Clone, Copy)]
struct Current {
    offset: u64,
    /// The position of its first byte in the decoded stream.
    start: u64,
    owns_member: bool,
    /// Bytes of its block that are to come.
    left: u64,
    is_short: bool,
}

/// Where a record lies, known when it was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordExtent {
    /// Where its member begins in the file.
    pub offset: u64,
    /// How long its member is; zero if the next record begins in the same member.
    pub length: u64,
    /// Whether the record can be read from there alone: it has its member for itself.
    pub is_alone: bool,
    /// Whether two line ends follow the block, as they should.
    pub is_closed: bool,
}

impl<R: Read> WarcReader<R> {
    /// Reads from the beginning of a file.
    pub fn new(input: R) -> Self {
        Self::at(input, 0, Vec::new())
    }

    fn at(input: R, offset: u64, dictionary: Vec<u8>) -> Self {
        Self {
            members: Members::new(input, offset, dictionary),
            current: None,
            failed: None,
            is_over: false,
        }
    }

    /// The next record's header; what is left of the record before is skipped, and if that shows
    /// damage, the damage is answered first. After an error the next call goes on behind it.
    pub fn next_record(&mut self) -> Option<Result<Header, ReadError>> {
        if self.is_over {
            return None;
        }
        let ended = match self.current {
            Some(_) => self.end().map(|_| ()),
            None => Ok(()),
        };
        let next = ended.and_then(|()| self.begin());
        if matches!(next, Ok(None) | Err(ReadError::Input { .. })) {
            self.is_over = true;
        }
        next.transpose()
    }

    /// The place in the file where the record that is being read begins.
    pub fn offset(&self) -> u64 {
        self.current
            .map_or_else(|| self.members.offset(), |current| current.offset)
    }

    /// The block of the record that is being read, as far as it is not read yet.
    pub fn block(&mut self) -> BlockReader<'_, R> {
        BlockReader { reader: self }
    }

    /// Reads the record to its end and tells where it lies.
    pub fn end(&mut self) -> Result<RecordExtent, ReadError> {
        let Some(current) = self.current else {
            let offset = self.members.offset();
            return Err(ReadError::NoRecord { offset, length: 0 });
        };
        let skipped = match self.failed.take() {
            Some(error) => Err(error),
            None => self.skip_block(),
        };
        let is_short = self.current.take().is_some_and(|current| current.is_short);
        skipped?;
        if is_short {
            return Err(ReadError::Truncated {
                offset: current.offset,
            });
        }
        let line_ends = self.skip_line_ends()?;
        let (next, is_border) = self.members.border(current.offset)?;
        Ok(RecordExtent {
            offset: current.offset,
            length: next - current.offset,
            is_alone: current.owns_member && is_border,
            is_closed: line_ends >= 2,
        })
    }

    fn skip_block(&mut self) -> Result<(), ReadError> {
        while let ready @ 1.. = self.ready()? {
            self.take(ready);
        }
        Ok(())
    }

    /// How many bytes of the block lie in the window; zero at the block's end.
    fn ready(&mut self) -> Result<usize, ReadError> {
        let Some(current) = self
            .current
            .filter(|current| current.left > 0 && !current.is_short)
        else {
            return Ok(0);
        };
        if self.members.window().is_empty() && !self.members.fill()? {
            self.cut();
            return Ok(0);
        }
        let is_next = current.owns_member
            && self.members.position() > current.start
            && self.members.is_packed()
            && self.members.begins_member();
        if is_next {
            self.members.fill_to(START.len())?;
            // The record before was cut, and this is the next one.
            if self.members.window().starts_with(START) {
                self.cut();
                return Ok(0);
            }
        }
        let reach = self.members.until_next_member() as u64;
        Ok(reach.min(current.left) as usize)
    }

    fn cut(&mut self) {
        if let Some(current) = &mut self.current {
            current.is_short = true;
        }
    }

    fn take(&mut self, count: usize) {
        self.members.consume(count);
        if let Some(current) = &mut self.current {
            current.left -= count as u64;
        }
    }

    /// Skips the line ends after a block, with or without carriage return, and counts them.
    fn skip_line_ends(&mut self) -> Result<u64, ReadError> {
        let mut count = 0;
        loop {
            self.members.fill_to(2)?;
            let is_next = count > 0 && self.members.begins_packed();
            match self.members.window() {
                [b'\r', b'\n', ..] if !is_next => self.members.consume(2),
                [b'\n', ..] if !is_next => self.members.consume(1),
                _ => return Ok(count),
            }
            count += 1;
        }
    }

    fn begin(&mut self) -> Result<Option<Header>, ReadError> {
        loop {
            self.members.fill_to(START.len())?;
            match self.members.window() {
                [] => return self.members.damage().map(|()| None),
                [b'\r' | b'\n', ..] => self.members.consume(1),
                window if window.starts_with(START) => break,
                _ => return Err(self.skip_garbage()?),
            }
        }
        let (offset, start) = (self.members.offset(), self.members.position());
        let owns_member = self.members.begins_member();
        let Some(end) = self.header_end(offset)? else {
            self.drop_window();
            return Err(ReadError::Truncated { offset });
        };
        let header = Header::parse(&self.members.window()[..end]);
        self.members.consume(end);
        let Some(header) = header else {
            return Err(ReadError::NoLength { offset });
        };
        self.current = Some(Current {
            offset,
            start,
            owns_member,
            left: header.length(),
            is_short: false,
        });
        Ok(Some(header))
    }

    /// Where the header ends that the window begins with.
    fn header_end(&mut self, offset: u64) -> Result<Option<usize>, ReadError> {
        let mut searched = 0;
        loop {
            let window = self.members.window();
            if let Some(end) = empty_line(window, searched) {
                return Ok(Some(end));
            }
            if window.len() > LONGEST_HEADER {
                // The rest of it counts as garbage.
                self.members.consume(START.len());
                return Err(ReadError::LongHeader { offset });
            }
            // An empty line may have begun already.
            searched = window.len().saturating_sub(2);
            match self.members.fill() {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    self.drop_window();
                    return Err(error);
                }
            }
        }
    }

    fn drop_window(&mut self) {
        let held = self.members.window().len();
        self.members.consume(held);
    }

    /// Goes to the next place that looks like a record: line starts and beginnings of members.
    /// The error tells what was passed.
    fn skip_garbage(&mut self) -> Result<ReadError, ReadError> {
        let (offset, start) = (self.members.offset(), self.members.position());
        let mut is_start = false;
        loop {
            self.members.fill_to(START.len() + 1)?;
            let window = self.members.window();
            if window.is_empty() || (is_start && window.starts_with(START)) {
                break;
            }
            let border = self.members.until_next_member();
            // Looking further would be in vain, again and again if members are tiny.
            let near = &window[..window.len().min(border + START.len())];
            let line = memchr::memmem::find(near, b"\nWARC/").map(|at| at + 1);
            let next = line
                .into_iter()
                .chain([border])
                .filter(|&at| at < window.len());
            is_start = next.clone().next().is_some();
            // Without one, the bytes that may begin one are kept, unless nothing follows.
            let kept = window.len().saturating_sub(START.len());
            let passed = if kept > 0 { kept } else { window.len() };
            let passed = next.min().unwrap_or(passed);
            self.members.consume(passed);
        }
        let length = self.members.position() - start;
        Ok(ReadError::NoRecord { offset, length })
    }
}

impl<R: Read + Seek> WarcReader<R> {
    /// Reads from a place where a member begins; a dictionary at the file's start is honoured.
    pub fn seek(mut input: R, offset: u64) -> Result<Self, ReadError> {
        let failed = |source| ReadError::Input { offset, source };
        input.seek(SeekFrom::Start(offset)).map_err(failed)?;
        if is_gzip_next(&mut input).map_err(failed)? {
            // Only zstd has dictionaries.
            input.seek(SeekFrom::Start(offset)).map_err(failed)?;
            return Ok(Self::at(input, offset, Vec::new()));
        }
        input.seek(SeekFrom::Start(0)).map_err(failed)?;
        // A dictionary that can't be read is none, as when reading from the beginning.
        let dictionary = match dictionary(&mut input) {
            Err(error @ ReadError::Input { .. }) => return Err(error),
            read => read.unwrap_or_default(),
        };
        input.seek(SeekFrom::Start(offset)).map_err(failed)?;
        Ok(Self::at(input, offset, dictionary))
    }
}

/// Where the first empty line ends, looked for from a line feed at or behind `from`.
fn empty_line(window: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', &window[from..]).find_map(|at| {
        match window.get(from + at + 1..)? {
            [b'\n', ..] => Some(from + at + 2),
            [b'\r', b'\n', ..] => Some(from + at + 3),
            _ => None,
        }
    })
}

/// Reads a record's block. Ends where the block ends; a block that is cut short ends there, too.
/// What is wrong with it is told by [`WarcReader::end`].
pub struct BlockReader<'a, R> {
    reader: &'a mut WarcReader<R>,
}

impl<R: Read> Read for BlockReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(out.len());
        out[..count].copy_from_slice(&ready[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for BlockReader<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let ready = match self.reader.ready() {
            Ok(ready) => ready,
            Err(error) => {
                let weaker = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
                self.reader.cut();
                self.reader.failed = Some(error);
                return Err(weaker);
            }
        };
        Ok(&self.reader.members.window()[..ready])
    }

    fn consume(&mut self, count: usize) {
        self.reader.take(count);
    }
}
