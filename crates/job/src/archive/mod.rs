//! `archive/`: the names in it, places in it, the fields that a crawl adds to its records, and
//! opening it for whoever looks for captures.
//!
//! Owns what writers and readers of an archive must agree on, and the way from a path (the folder
//! of a crawl, a folder of WARC files, WARC and WACZ files) to the captures of a URL ([`Archive`])
//! and what they hold ([`CaptureContent`]). It refuses to know how records are written and read
//! (`clewline-warc`). Invariant: places compare as the archive is written, file after file by
//! their serial numbers.

mod content;
mod open;
mod package;
mod records;
mod section;
mod zip;

use std::path::{Path, PathBuf};

use clewline_warc::cdxj::{self, Capture};

use crate::escape;
use crate::log::Offset;

pub(crate) use content::is_rendered;
pub use content::{CaptureContent, ContentError, LARGEST, is_indexed};
pub use open::{
    Archive, ArchivedCapture, OpenError, WarcLocation, archive_in, is_archive, warcs_in,
};
pub use package::{ARCHIVE as PACKAGED, PackageError};
pub use records::{FileRecords, ReadRecord};
pub use section::Section;

/// The archive's place in a job folder.
pub const FOLDER: &str = "archive";
/// The name under which the store keeps the log's offset.
pub const NAME: &str = "archive";
/// The index of a run that ended in order.
pub const SORTED: &str = cdxj::INDEX;
/// What the name of the file in progress ends with.
pub const OPEN: &str = ".open";
/// The field of a metadata record that holds a line of `urls.jsonl`.
pub const LINE_FIELD: &str = "urls-jsonl";
/// The fields of a metadata record that hold links.
pub const OUTLINK_FIELD: &str = "outlink";
/// The field of a metadata record that says what found the links.
pub const EXTRACTOR_FIELD: &str = "extractor";
/// What the DOM that a browser made of a page is called in front of the page's URL.
pub const RENDERED: &str = "urn:rendered:";
/// The same of the picture that it took.
pub const PICTURED: &str = "urn:view:";
/// The same of a small one.
pub const THUMBNAIL: &str = "urn:thumbnail:";
/// The field of a warcinfo record with what the keys of the crawl are seeded with, in hexadecimal.
/// Without it the keys of links could not be made again from the archive.
pub const KEY_SEED: &str = "key-seed";
/// Bits of an offset that say where in a file.
const WITHIN: u32 = 40;

/// An end of the archive: so many bytes into the file with this serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// The serial number of the file; 0 is before the first.
    pub serial: u64,
    /// Bytes of that file.
    pub offset: u64,
}

impl Position {
    /// Serial numbers from this one on do not fit into an offset.
    pub const MOST_FILES: u64 = 1 << (u64::BITS - WITHIN - 4);

    /// What an offset of the log means.
    pub const fn new(offset: Offset) -> Self {
        Self {
            serial: offset.0 >> WITHIN,
            offset: offset.0 & ((1 << WITHIN) - 1),
        }
    }

    /// As an offset of the log.
    pub const fn offset(self) -> Offset {
        Offset(self.serial << WITHIN | self.offset)
    }
}

/// What the name of a file of an archive says: `NAME-TIME-SERIAL.warc.gz`, with or without `.open`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WarcName {
    /// Which one it is.
    pub serial: u64,
    /// The name without `.open`.
    pub name: String,
    /// Whether it is in progress.
    pub is_open: bool,
}

impl WarcName {
    /// Reads a name; nothing if it is not that of a file of an archive.
    pub fn parse(name: &str) -> Option<Self> {
        let is_open = name.ends_with(OPEN);
        let name = name.strip_suffix(OPEN).unwrap_or(name);
        let stem = [".warc.gz", ".warc.zst", ".warc"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))?;
        let serial = stem.rsplit_once('-')?.1.parse().ok()?;
        Some(Self {
            serial,
            name: name.to_owned(),
            is_open,
        })
    }

    /// Where the file lies in the folder of its archive.
    pub fn path(&self, folder: &Path) -> PathBuf {
        let ending = if self.is_open { OPEN } else { "" };
        folder.join(format!("{}{ending}", self.name))
    }
}

/// The serial number in the name of a file, if it is one of an archive.
pub fn serial_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    WarcName::parse(name).map(|found| found.serial)
}

/// Appends a line of the index. What a server calls the type of its answer may hold anything; as
/// in the other logs, nothing in it steers a terminal.
pub fn write_index_line(capture: &Capture, lines: &mut Vec<u8>) {
    escape::json_text(&capture.line(), lines);
    lines.push(b'\n');
}
