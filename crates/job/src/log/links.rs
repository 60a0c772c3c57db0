//! `links/`: every distinct link, by the keys of both ends and its kind.
//!
//! Owns the compact binary format, which docs/formats.md describes byte by byte. It refuses
//! to know URLs: keys are resolved through `urls.jsonl`. Invariant: a block is read whole and
//! checked, or not at all; damage is named by its place in the file.
//!
//! Most links stay on their host, whose keys share eight bytes, and the links of a page are
//! sorted; so each target is written as the part that differs from the one before it. A page
//! of a hundred links to its own host costs about ten bytes a link.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use xxhash_rust::xxh3::xxh3_64;

use super::Offset;
use super::appender::{Appender, damage, named, torn};

/// The log's place in a job folder.
pub const FILE: &str = "links/00000.links";

/// The name under which the store keeps the log's offset.
pub const NAME: &str = "links";

/// The first bytes of the file; the last of them is the version of the format.
const HEADER: [u8; 8] = *b"CLEWLNK\x01";

/// A page with more links is written as several blocks, which bounds a reader's memory.
const LINKS_PER_BLOCK: usize = 65_536;

/// Bytes of a key.
const KEY: usize = 16;

/// A payload: the source, a count of at most three bytes, and at most 18 bytes a link.
const LARGEST_PAYLOAD: usize = KEY + 3 + LINKS_PER_BLOCK * (2 + KEY);

/// Writes the link log.
#[derive(Debug)]
pub struct LinksLog {
    appender: Appender,
    /// The keys of a page's targets as numbers, which compare and move faster than bytes.
    sorted: Vec<(u128, LinkKind)>,
    block: Vec<u8>,
}

impl LinksLog {
    /// Opens or creates the log in a job folder, to go on at its end.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut appender = Appender::open(folder.join(FILE))?;
        if appender.end() < HEADER.len() as u64 {
            // A crash may have torn the header itself; nothing was committed behind it.
            appender.cut(Offset(0))?;
            appender.write(&HEADER)?;
        } else {
            check_header(appender.path(), &mut File::open(appender.path())?)?;
        }
        Ok(Self {
            appender,
            sorted: Vec::new(),
            block: Vec::new(),
        })
    }

    /// Appends the links of a page, each once. Nothing counts before [`LinksLog::sync`] returned.
    pub fn add(&mut self, source: Key, links: &[(Key, LinkKind)]) -> io::Result<()> {
        self.sorted.clear();
        let links = links.iter();
        self.sorted
            .extend(links.map(|(target, kind)| (target.number(), *kind)));
        self.sorted.sort_unstable();
        self.sorted.dedup();
        for links in self.sorted.chunks(LINKS_PER_BLOCK) {
            encode(source, links, &mut self.block);
            self.appender.write(&self.block)?;
        }
        Ok(())
    }

    /// Makes everything appended so far durable and says where the log ends.
    pub fn sync(&mut self) -> io::Result<Offset> {
        self.appender.sync()
    }

    /// Takes back everything after an offset that [`LinksLog::sync`] once returned.
    pub fn cut(&mut self, offset: Offset) -> io::Result<()> {
        self.appender.cut(offset)?;
        if offset.0 < HEADER.len() as u64 {
            self.appender.cut(Offset(0))?;
            self.appender.write(&HEADER)?;
        }
        Ok(())
    }
}

/// Length and check sum of the payload, then the payload.
fn encode(source: Key, links: &[(u128, LinkKind)], block: &mut Vec<u8>) {
    block.clear();
    block.extend_from_slice(&[0; 8]);
    block.extend_from_slice(source.as_bytes());
    push_varint(links.len() as u64, block);
    let mut before = source.number();
    for (target, kind) in links {
        let shared = (before ^ target).leading_zeros() as usize / 8;
        block.push(*kind as u8);
        block.push(shared as u8);
        block.extend_from_slice(&target.to_be_bytes()[shared..]);
        before = *target;
    }
    let payload = &block[8..];
    let (length, sum) = (payload.len() as u32, check_sum(payload));
    block[..4].copy_from_slice(&length.to_le_bytes());
    block[4..8].copy_from_slice(&sum.to_le_bytes());
}

fn check_sum(payload: &[u8]) -> u32 {
    xxh3_64(payload) as u32
}

/// The link at the front of bytes, after another target, and how many bytes it takes.
fn decode(bytes: &[u8], before: u128) -> Option<(LinkKind, u128, usize)> {
    let (&[kind, shared], rest) = bytes.split_first_chunk()?;
    let own = KEY.checked_sub(usize::from(shared))?;
    // In the middle of a block there is a whole number to read, of which a part is meant.
    let mut part = [0; KEY];
    match rest.first_chunk() {
        Some(whole) => part = *whole,
        None => part.get_mut(..own)?.copy_from_slice(rest.get(..own)?),
    }
    let shift = 8 * u32::from(shared);
    let part = u128::from_be_bytes(part).checked_shr(shift).unwrap_or(0);
    let differs = u128::MAX.checked_shr(shift).unwrap_or(0);
    let target = before & !differs | part;
    Some((LinkKind::from_number(kind)?, target, 2 + own))
}

/// Little-endian base 128, seven bits a byte, the high bit set on all but the last.
pub fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn check_header(path: &Path, file: &mut impl io::Read) -> io::Result<()> {
    let mut header = [0; HEADER.len()];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(torn(path, "the header ends in the middle"));
        }
        other => other.map_err(|error| named(path, &error))?,
    }
    if header[..7] != HEADER[..7] {
        return Err(damage(path, "it is not a link log"));
    }
    if header[7] != HEADER[7] {
        let version = header[7];
        return Err(damage(
            path,
            &format!("it has the unknown format {version}"),
        ));
    }
    Ok(())
}

/// Reads the link log as (source, target, kind), page by page in the order of the crawl.
///
/// Damage is an error that names the byte; a block that the file does not hold to its end is
/// of the kind [`io::ErrorKind::UnexpectedEof`]. The iterator ends after its first error.
#[derive(Debug)]
pub struct LinksReader {
    file: BufReader<File>,
    path: PathBuf,
    /// The place of the block that is read.
    at: u64,
    /// The place behind the last block that was read whole.
    after: u64,
    payload: Vec<u8>,
    read: usize,
    left: usize,
    source: Key,
    before: u128,
    ended: bool,
    end: u64,
}

impl LinksReader {
    /// Opens the link log of a job folder.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        let file = File::open(&path).map_err(|error| named(&path, &error))?;
        let mut file = BufReader::with_capacity(256 * 1024, file);
        check_header(&path, &mut file)?;
        Ok(Self {
            file,
            path,
            at: HEADER.len() as u64,
            after: HEADER.len() as u64,
            payload: Vec::new(),
            read: 0,
            left: 0,
            source: Key::from_bytes([0; KEY]),
            before: 0,
            ended: false,
            end: u64::MAX,
        })
    }

    /// Reads no further than an offset that the log once had.
    #[must_use]
    pub const fn until(mut self, end: u64) -> Self {
        self.end = end;
        self
    }

    /// Begins at a block that was once found at this place.
    pub fn from(mut self, place: u64) -> io::Result<Self> {
        let place = place.max(HEADER.len() as u64);
        self.file
            .seek(SeekFrom::Start(place))
            .map_err(|error| named(&self.path, &error))?;
        self.after = place;
        Ok(self)
    }

    /// The place of the next block.
    pub const fn place(&self) -> u64 {
        self.after
    }

    /// The page whose links the next block holds; nothing at the end.
    pub fn source(&mut self) -> io::Result<Option<Key>> {
        Ok(self.block()?.then_some(self.source))
    }

    fn row(&mut self) -> io::Result<Option<(Key, Key, LinkKind)>> {
        while self.left == 0 {
            if !self.block()? {
                return Ok(None);
            }
        }
        let (target, kind) = self.link().ok_or_else(|| self.damaged("holds no link"))?;
        self.left -= 1;
        Ok(Some((self.source, target, kind)))
    }

    /// Hands every link on, as the iterator does and much faster: there are hundreds of them for
    /// a page.
    pub fn each(mut self, mut use_link: impl FnMut(Key, Key, LinkKind)) -> io::Result<()> {
        while self.each_of_block(&mut use_link)? {}
        Ok(())
    }

    /// Hands on the links of the next block; false at the end.
    pub fn each_of_block(
        &mut self,
        mut use_link: impl FnMut(Key, Key, LinkKind),
    ) -> io::Result<bool> {
        if !self.block()? {
            return Ok(false);
        }
        let mut rest = &self.payload[self.read..];
        let mut before = self.before;
        for _ in 0..self.left {
            let link = decode(rest, before);
            let (kind, target, length) = link.ok_or_else(|| self.damaged("holds no link"))?;
            rest = &rest[length..];
            before = target;
            use_link(self.source, Key::from_number(target), kind);
        }
        Ok(true)
    }

    /// Reads the next block; false at the end of the file.
    fn block(&mut self) -> io::Result<bool> {
        self.at = self.after;
        if self.at >= self.end {
            return Ok(false);
        }
        let mut frame = [0; 8];
        match self.fill(&mut frame)? {
            0 => return Ok(false),
            8 => {}
            _ => return Err(self.torn()),
        }
        let (length, sum) = frame.split_at(4);
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        if !(KEY + 1..=LARGEST_PAYLOAD).contains(&length) {
            return Err(self.damaged("has an impossible length"));
        }
        let mut payload = std::mem::take(&mut self.payload);
        payload.resize(length, 0);
        let filled = self.fill(&mut payload)?;
        self.payload = payload;
        if filled < length {
            return Err(self.torn());
        }
        if check_sum(&self.payload).to_le_bytes() != sum {
            return Err(self.damaged("does not match its check sum"));
        }
        self.after = self.at + 8 + length as u64;
        self.open_block()
    }

    fn open_block(&mut self) -> io::Result<bool> {
        self.read = 0;
        let source = self.take(KEY).and_then(|bytes| bytes.try_into().ok());
        self.source = Key::from_bytes(source.expect("the length was checked"));
        self.before = self.source.number();
        let count = self.varint().filter(|count| *count <= LINKS_PER_BLOCK);
        self.left = count.ok_or_else(|| self.damaged("has an impossible count"))?;
        Ok(true)
    }

    fn link(&mut self) -> Option<(Key, LinkKind)> {
        let (kind, target, length) = decode(self.payload.get(self.read..)?, self.before)?;
        self.read += length;
        self.before = target;
        Some((Key::from_number(target), kind))
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let bytes = self.payload.get(self.read..self.read + count)?;
        self.read += count;
        Some(bytes)
    }

    fn varint(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in [0, 7, 14] {
            let byte = self.take(1)?[0];
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads until the buffer is full or the file ends, and says how much was read.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(named(&self.path, &error)),
            }
        }
        Ok(filled)
    }

    fn torn(&self) -> io::Error {
        let what = format!("the block at byte {} ends in the middle", self.at);
        torn(&self.path, &what)
    }

    fn damaged(&self, what: &str) -> io::Error {
        damage(&self.path, &format!("the block at byte {} {what}", self.at))
    }
}

impl Iterator for LinksReader {
    type Item = io::Result<(Key, Key, LinkKind)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.row().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}
