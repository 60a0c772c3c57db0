//! One part of the lookup: what a stretch of the logs says of each key, sorted by key.
//!
//! Owns the format of its file, which docs/formats.md describes, and how a stretch is opened. It
//! refuses to know what lines and links mean. Invariant: a page is believed only if its check sum fits, so that damage is an
//! error and never a wrong answer.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use clewline_core::link::LinkKind;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::MOST_PLACES;
use crate::log::lines::Lines;
use crate::log::links::push_varint;
use crate::log::{LinksReader, urls};

/// The file is read in pages of this size; the first holds the head.
const PAGE: usize = 4096;

/// Bytes of the check sum at the front of each page.
const SUM: usize = 8;

/// Check sum, and length of the rows behind it.
const FRONT: usize = SUM + 2;

/// The last byte is the version of the format.
const MAGIC: [u8; 8] = *b"CLEWLKP\x01";

/// A range of both logs, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) from: LogPlaces,
    pub(super) to: LogPlaces,
}

impl Stretch {
    /// Its lines of `urls.jsonl`; nothing if there are none to read.
    pub(super) fn lines(self, folder: &Path) -> io::Result<Option<Lines>> {
        let (from, to) = (self.from.urls, self.to.urls);
        let open = || Lines::open(&folder.join(urls::FILE), from, Some(to));
        (from < to).then(open).transpose()
    }

    /// Its blocks of `links/`; nothing if there are none to read.
    pub(super) fn links(self, folder: &Path) -> io::Result<Option<LinksReader>> {
        let (from, to) = (self.from.links, self.to.links);
        let open = || Ok(LinksReader::open(folder)?.from(from)?.until(to));
        (from < to).then(open).transpose()
    }
}

/// A place in each log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPlaces {
    /// In `urls.jsonl`.
    pub urls: u64,
    /// In `links/`.
    pub links: u64,
}

/// What must fit for a part to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// What the keys were made with.
    pub(super) keys: u64,
    pub(super) stretch: Stretch,
    /// Check sum of the last bytes of both logs within the stretch.
    pub(super) ending: u64,
}

/// One thing that a line or a link says of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fact {
    pub(super) key: u128,
    pub(super) what: What,
    /// The place of the line or block in its log.
    pub(super) at: u64,
    /// The number of a link's kind.
    pub(super) kind: u8,
}

/// What a fact says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The line is the record of the key.
    Record,
    /// The line is a redirect to the key.
    Redirect,
    /// The block holds a link to the key.
    Link,
}

/// What a part knows of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookupRow {
    /// Where its last record is in `urls.jsonl`.
    pub record: Option<u64>,
    /// Lines with the first redirects to it.
    pub redirects: Vec<u64>,
    /// How many there are.
    pub redirect_count: u64,
    /// Blocks with the first links to it.
    pub links: Vec<(u64, LinkKind)>,
    /// How many there are.
    pub link_count: u64,
}

impl LookupRow {
    fn add(&mut self, fact: &Fact) {
        match fact.what {
            What::Record => self.record = Some(fact.at),
            What::Redirect => {
                self.redirect_count += 1;
                if self.redirects.len() < MOST_PLACES {
                    self.redirects.push(fact.at);
                }
            }
            What::Link => {
                self.link_count += 1;
                if let Some(kind) = LinkKind::from_number(fact.kind)
                    && self.links.len() < MOST_PLACES
                {
                    self.links.push((fact.at, kind));
                }
            }
        }
    }

    /// Adds what a later part knows.
    pub(super) fn join(&mut self, later: &Self) {
        self.record = later.record.or(self.record);
        self.redirect_count += later.redirect_count;
        self.link_count += later.link_count;
        let room = MOST_PLACES - self.redirects.len();
        self.redirects.extend(later.redirects.iter().take(room));
        let room = MOST_PLACES - self.links.len();
        self.links.extend(later.links.iter().take(room));
    }

    fn write(&self, key: u128, from: LogPlaces, out: &mut Vec<u8>) {
        out.extend_from_slice(&key.to_be_bytes());
        push_varint(self.record.map_or(0, |at| at - from.urls + 1), out);
        push_varint(self.redirect_count, out);
        for at in &self.redirects {
            push_varint(at - from.urls, out);
        }
        push_varint(self.link_count, out);
        for (at, kind) in &self.links {
            push_varint(at - from.links, out);
            out.push(*kind as u8);
        }
    }

    /// Reads a row, and leaves what is behind it.
    fn read(bytes: &mut &[u8], from: LogPlaces) -> Option<(u128, Self)> {
        let (key, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        let mut row = Self {
            record: take_number(bytes)?.checked_sub(1).map(|at| at + from.urls),
            redirect_count: take_number(bytes)?,
            ..Self::default()
        };
        for _ in 0..row.redirect_count.min(MOST_PLACES as u64) {
            row.redirects.push(take_number(bytes)? + from.urls);
        }
        row.link_count = take_number(bytes)?;
        for _ in 0..row.link_count.min(MOST_PLACES as u64) {
            let at = take_number(bytes)? + from.links;
            let (kind, rest) = bytes.split_first()?;
            *bytes = rest;
            row.links.push((at, LinkKind::from_number(*kind)?));
        }
        Some((u128::from_be_bytes(*key), row))
    }
}

/// A part that lies in a file.
#[derive(Debug)]
pub(super) struct LookupPart {
    file: File,
    head: Head,
    pages: u64,
}

impl LookupPart {
    /// Opens a part. Only its head is looked at.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let pages = (file.metadata()?.len() / PAGE as u64).saturating_sub(1);
        let first = page(&file, 0)?;
        let head = read_head(&first[FRONT..]).ok_or_else(damaged)?;
        Ok(Self { file, head, pages })
    }

    pub(super) const fn head(&self) -> &Head {
        &self.head
    }

    /// What the part knows of a key.
    pub(super) fn find(&self, key: u128) -> io::Result<Option<LookupRow>> {
        let from = self.head.stretch.from;
        let (mut low, mut high) = (1, self.pages + 1);
        let mut candidate = None;
        while low < high {
            let middle = u64::midpoint(low, high);
            let page = page(&self.file, middle)?;
            let first = page[FRONT..].first_chunk().expect("a page is longer");
            if u128::from_be_bytes(*first) <= key {
                low = middle + 1;
                candidate = Some(page);
            } else {
                high = middle;
            }
        }
        let Some(page) = candidate else {
            return Ok(None);
        };
        let length = usize::from(u16::from_le_bytes([page[SUM], page[SUM + 1]]));
        let mut rows = page.get(FRONT..FRONT + length).ok_or_else(damaged)?;
        while !rows.is_empty() {
            let (own, row) = LookupRow::read(&mut rows, from).ok_or_else(damaged)?;
            if own >= key {
                return Ok((own == key).then_some(row));
            }
        }
        Ok(None)
    }
}

/// Writes a part: the facts are sorted, and those of a key become a row.
pub(super) fn write_part(path: &Path, head: &Head, facts: &mut [Fact]) -> io::Result<()> {
    facts.sort_unstable();
    let folder = crate::durable::parent(path);
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let mut out = io::BufWriter::with_capacity(64 * PAGE, file.as_file_mut());
    let mut pages = Pages {
        out: &mut out,
        number: 0,
        rows: write_head(head),
    };
    pages.end_page()?;
    let mut row_bytes = Vec::new();
    for of_key in facts.chunk_by(|one, other| one.key == other.key) {
        let mut row = LookupRow::default();
        for fact in of_key {
            row.add(fact);
        }
        row_bytes.clear();
        row.write(of_key[0].key, head.stretch.from, &mut row_bytes);
        pages.push(&row_bytes)?;
    }
    pages.end_page()?;
    out.flush()?;
    drop(out);
    // Nothing is synced: what a loss of power spoils does not fit its check sum.
    file.persist(path)?;
    Ok(())
}

struct Pages<'a, W> {
    out: &'a mut W,
    number: u64,
    rows: Vec<u8>,
}

impl<W: io::Write> Pages<'_, W> {
    fn push(&mut self, row: &[u8]) -> io::Result<()> {
        if FRONT + self.rows.len() + row.len() > PAGE {
            self.end_page()?;
        }
        self.rows.extend_from_slice(row);
        Ok(())
    }

    fn end_page(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut page = [0; PAGE];
        page[SUM..FRONT].copy_from_slice(&(self.rows.len() as u16).to_le_bytes());
        page[FRONT..FRONT + self.rows.len()].copy_from_slice(&self.rows);
        let sum = xxh3_64_with_seed(&page[SUM..], self.number);
        page[..SUM].copy_from_slice(&sum.to_le_bytes());
        self.rows.clear();
        self.number += 1;
        self.out.write_all(&page)
    }
}

/// Reads a page and checks it; its sum depends on its number, so that none takes another's place.
fn page(mut file: &File, number: u64) -> io::Result<[u8; PAGE]> {
    let mut page = [0; PAGE];
    file.seek(SeekFrom::Start(number * PAGE as u64))?;
    file.read_exact(&mut page)?;
    let sum = xxh3_64_with_seed(&page[SUM..], number);
    if page[..SUM] != sum.to_le_bytes() {
        return Err(damaged());
    }
    Ok(page)
}

fn write_head(head: &Head) -> Vec<u8> {
    let Stretch { from, to } = head.stretch;
    let numbers = [
        head.keys,
        from.urls,
        from.links,
        to.urls,
        to.links,
        head.ending,
    ];
    let mut out = MAGIC.to_vec();
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    out
}

fn read_head(bytes: &[u8]) -> Option<Head> {
    let mut rest = bytes.strip_prefix(&MAGIC)?;
    let mut number = || {
        let (bytes, behind) = rest.split_first_chunk()?;
        rest = behind;
        Some(u64::from_le_bytes(*bytes))
    };
    let keys = number()?;
    let (urls, links) = (number()?, number()?);
    let from = LogPlaces { urls, links };
    let (urls, links) = (number()?, number()?);
    let to = LogPlaces { urls, links };
    Some(Head {
        keys,
        stretch: Stretch { from, to },
        ending: number()?,
    })
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the lookup is damaged")
}
