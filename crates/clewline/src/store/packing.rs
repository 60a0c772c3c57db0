//! Rows of a queue as bytes.
//!
//! Owns the encoding of entries: URLs front-coded against the one before, everything rare
//! behind a flag. A row begins with its version. Keys are not stored: they follow from the URL.

use std::sync::Arc;

use clewline_core::frontier::{Attempts, Chain, QueueEntry, Ticket};
use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;

use super::database::StoreError;
pub(crate) use super::queue::Rank;

const VERSION: u8 = 1;

const ROOT: u8 = 1;
const GUESSED_SCHEME: u8 = 2;
const GUESSED_SITEMAP: u8 = 4;
const FOUND_ON_NONE: u8 = 8;
const FOUND_ON_NEW: u8 = 16;
const LASTMOD: u8 = 32;
const CHAIN: u8 = 64;
const NESTED: u8 = 128;

/// Stands beside the kind, whose numbers are smaller.
const UNVOUCHED: u8 = 128;

/// Packs entries one after the other.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    count: u32,
    last_url: String,
    last_found_on: Option<Arc<CrawlUrl>>,
}

impl Packer {
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn push(&mut self, entry: &QueueEntry) {
        if self.bytes.is_empty() {
            self.bytes.push(VERSION);
        }
        let same_source = match (&entry.found_on, &self.last_found_on) {
            (Some(this), Some(last)) => Arc::ptr_eq(this, last) || this == last,
            _ => false,
        };
        let mut flags = 0;
        for (is_set, flag) in [
            (entry.root, ROOT),
            (entry.guessed_scheme, GUESSED_SCHEME),
            (entry.guessed_sitemap, GUESSED_SITEMAP),
            (entry.found_on.is_none(), FOUND_ON_NONE),
            (entry.found_on.is_some() && !same_source, FOUND_ON_NEW),
            (entry.lastmod.is_some(), LASTMOD),
            (entry.chain.is_some(), CHAIN),
            (entry.nesting > 0, NESTED),
        ] {
            flags |= if is_set { flag } else { 0 };
        }
        let unvouched = if entry.unvouched { UNVOUCHED } else { 0 };
        self.bytes.extend([flags, entry.kind as u8 | unvouched]);
        self.number(u64::from(entry.hops_left));
        self.url(entry.url.as_str());
        if flags & FOUND_ON_NEW != 0 {
            self.text(entry.found_on.as_ref().map_or("", |url| url.as_str()));
            self.last_found_on.clone_from(&entry.found_on);
        }
        if let Some(lastmod) = &entry.lastmod {
            self.text(lastmod);
        }
        if let Some(chain) = &entry.chain {
            let json = serde_json::to_string(chain).unwrap_or_default();
            self.text(&json);
        }
        if entry.nesting > 0 {
            self.bytes.push(entry.nesting);
        }
        self.count += 1;
    }

    fn url(&mut self, url: &str) {
        let shared = self
            .last_url
            .bytes()
            .zip(url.bytes())
            .take_while(|(left, right)| left == right)
            .count();
        self.number(shared as u64);
        self.number((url.len() - shared) as u64);
        self.bytes.extend_from_slice(&url.as_bytes()[shared..]);
        self.last_url.clear();
        self.last_url.push_str(url);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        write_number(&mut self.bytes, number);
    }
}

/// Writes seven bits a byte, the lowest first.
pub(crate) fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// What the key of a row says, beside its host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedRow {
    /// Which row, for the tickets of its entries.
    pub(crate) row: u64,
    /// Class and depth of its entries.
    pub(crate) rank: Rank,
}

/// Unpacks the entries of a row that are wanted, by their places. The others are passed over.
pub(super) fn unpack(
    bytes: &[u8],
    row: PackedRow,
    keyer: &Keyer,
    is_wanted: impl FnMut(u32) -> bool,
) -> Result<Vec<QueueEntry>, StoreError> {
    let damaged = StoreError::damaged("a row of the queue");
    read_row(bytes, row, keyer, is_wanted).ok_or(damaged)
}

/// The same where it is not the store's own damage if the bytes make no sense.
pub(crate) fn read_row(
    bytes: &[u8],
    PackedRow { row, rank }: PackedRow,
    keyer: &Keyer,
    mut is_wanted: impl FnMut(u32) -> bool,
) -> Option<Vec<QueueEntry>> {
    let (version, mut rest) = bytes.split_first()?;
    if *version != VERSION {
        return None;
    }
    let mut entries: Vec<QueueEntry> = Vec::new();
    let mut last_url: Vec<u8> = Vec::new();
    let mut source = Source::default();
    for place in 0.. {
        if rest.is_empty() {
            break;
        }
        let packed = read_entry(&mut rest, &mut last_url, &mut source)?;
        if !is_wanted(place) {
            continue;
        }
        let url = CrawlUrl::parse(std::str::from_utf8(&last_url).ok()?).ok()?;
        let flags = packed.flags;
        entries.push(QueueEntry {
            key: keyer.key(&url),
            url,
            kind: packed.kind,
            depth: rank.depth(),
            found_on: match flags & FOUND_ON_NONE {
                0 => Some(source.url()?),
                _ => None,
            },
            lastmod: packed.lastmod.map(Into::into),
            tries: 0,
            wire: 0,
            hops_left: packed.hops_left,
            nesting: packed.nesting,
            root: flags & ROOT != 0,
            guessed_scheme: flags & GUESSED_SCHEME != 0,
            guessed_sitemap: flags & GUESSED_SITEMAP != 0,
            was_cut: false,
            earlier: Vec::new(),
            attempts: Attempts::default(),
            chain: match packed.chain {
                Some(json) => Some(serde_json::from_str::<Box<Chain>>(json).ok()?),
                None => None,
            },
            class: rank.class(),
            unvouched: packed.unvouched,
            repeat: false,
            ticket: Ticket { row, place },
        });
    }
    Some(entries)
}

/// The page that the entries were found on which are being read, parsed when one of them is
/// wanted.
#[derive(Default)]
struct Source<'a> {
    text: Option<&'a str>,
    parsed: Option<Arc<CrawlUrl>>,
}

impl Source<'_> {
    /// Nothing where there is none, or where it does not parse.
    fn url(&mut self) -> Option<Arc<CrawlUrl>> {
        if let Some(text) = self.text.take() {
            self.parsed = Some(Arc::new(CrawlUrl::parse(text).ok()?));
        }
        self.parsed.clone()
    }
}

/// An entry as it is packed, without its URL.
struct Packed<'a> {
    flags: u8,
    kind: LinkKind,
    unvouched: bool,
    hops_left: u32,
    lastmod: Option<&'a str>,
    chain: Option<&'a str>,
    nesting: u8,
}

/// Reads an entry; `last_url` becomes its URL, and `source` the page that it was found on.
fn read_entry<'a>(
    rest: &mut &'a [u8],
    last_url: &mut Vec<u8>,
    source: &mut Source<'a>,
) -> Option<Packed<'a>> {
    let flags = read_byte(rest)?;
    let kind = read_byte(rest)?;
    let unvouched = kind & UNVOUCHED != 0;
    let kind = LinkKind::from_number(kind & !UNVOUCHED)?;
    let hops_left = u32::try_from(read_number(rest)?).ok()?;
    let shared = usize::try_from(read_number(rest)?).ok()?;
    last_url.truncate(shared);
    last_url.extend_from_slice(read_bytes(rest)?);
    if flags & FOUND_ON_NEW != 0 {
        source.text = Some(read_text(rest)?);
    }
    let mut text_if = |flag| match flags & flag {
        0 => Some(None),
        _ => read_text(rest).map(Some),
    };
    let lastmod = text_if(LASTMOD)?;
    let chain = text_if(CHAIN)?;
    let nesting = match flags & NESTED {
        0 => 0,
        _ => read_byte(rest)?,
    };
    Some(Packed {
        flags,
        kind,
        unvouched,
        hops_left,
        lastmod,
        chain,
        nesting,
    })
}

fn read_byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    Some(*first)
}

pub(crate) fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = read_byte(rest)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

pub(crate) fn read_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(read_number(rest)?).ok()?;
    let (text, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(text)
}

fn read_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(read_bytes(rest)?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::plain_entry;
    use super::*;

    const ROW: PackedRow = PackedRow {
        row: 9,
        rank: Rank::normal(4),
    };

    fn entry(url: &str, found_on: Option<&str>) -> QueueEntry {
        let parse = |text: &str| CrawlUrl::parse(text).unwrap();
        QueueEntry {
            found_on: found_on.map(|url| Arc::new(parse(url))),
            ..plain_entry(&Keyer::new(3, &[]), parse(url), 4)
        }
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let mut entries = [
            entry("http://a.test/long/path/1.html", Some("http://a.test/")),
            entry("http://a.test/long/path/2.html", Some("http://a.test/")),
            entry("http://a.test/x", None),
            entry(
                "http://a.test/long/path/3.html",
                Some("http://b.test/other"),
            ),
            entry(
                "http://a.test/long/path/4.html",
                Some("http://b.test/other"),
            ),
        ];
        entries[1].lastmod = Some("2026-01-01".into());
        entries[2].root = true;
        entries[2].guessed_scheme = true;
        entries[3].nesting = 2;
        entries[3].unvouched = true;
        let visited = vec![entries[0].key];
        entries[4].chain = Some(Box::new(Chain {
            visited,
            cookie: true,
            revisited: false,
        }));
        let mut packer = Packer::default();
        for entry in &entries {
            packer.push(entry);
        }
        let keyer = Keyer::new(3, &[]);
        let bytes = packer.into_bytes();
        let back = unpack(&bytes, ROW, &keyer, |_| true).unwrap();
        assert_eq!(back.len(), 5);
        for (place, (left, right)) in entries.iter().zip(&back).enumerate() {
            let mut left = left.clone();
            left.ticket = Ticket {
                row: 9,
                place: place as u32,
            };
            assert_eq!(format!("{left:?}"), format!("{right:?}"));
        }
        let places = |at: u32| at == 1 || at == 4;
        let some = unpack(&bytes, ROW, &keyer, places).unwrap();
        let expected = [&back[1], &back[4]];
        assert_eq!(
            format!("{:?}", some.iter().collect::<Vec<_>>()),
            format!("{expected:?}")
        );
    }

    #[test]
    fn damage_is_named_and_never_a_panic() {
        let mut packer = Packer::default();
        for page in 0..20 {
            packer.push(&entry(
                &format!("http://a.test/{page}"),
                Some("http://a.test/"),
            ));
        }
        let keyer = Keyer::new(3, &[]);
        let good = packer.into_bytes();
        for length in 0..good.len() {
            // A cut may fall between two entries; it must not invent any.
            if let Ok(entries) = unpack(&good[..length], ROW, &keyer, |_| true) {
                assert!(entries.len() < 20);
            }
        }
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 0xff;
            let _ = unpack(&bad, ROW, &keyer, |_| true);
        }
    }
}
