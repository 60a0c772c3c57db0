//! Members: the compressed form of one record.
//!
//! Owns which coding a file has, and hands each record to it: a gzip member or a zstd frame,
//! complete in itself, so that a record can be read alone and a file can be cut between two
//! records. A record that fits in memory is compressed at once, which is faster; a larger one
//! goes through a streaming encoder piece by piece.

use std::fmt;
use std::io::{self, Write};

use super::fast::Fast;
use super::frame::ZstdFrames;
use super::gzip::GzipEncoder;
use crate::dictionary::Dictionary;

/// A record up to this size is compressed at once.
pub(super) const WHOLE: u64 = 1024 * 1024;

/// How the records of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WarcCompression {
    /// Not at all.
    Plain,
    /// One gzip member for each.
    Gzip(Level),
    /// One zstd frame for each.
    Zstd,
}

/// How much work gzip does for how small a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Level {
    /// As little work as possible.
    Fast,
    /// No larger than `gzip -6`.
    #[default]
    Balanced,
    /// A little smaller for ten times the work of [`Balanced`](Self::Balanced).
    Small,
}

impl Default for WarcCompression {
    fn default() -> Self {
        Self::Gzip(Level::default())
    }
}

impl WarcCompression {
    /// Every coding, for tests that try them all.
    pub const ALL: [Self; 5] = [
        Self::Plain,
        Self::Gzip(Level::Fast),
        Self::Gzip(Level::Balanced),
        Self::Gzip(Level::Small),
        Self::Zstd,
    ];

    /// How files of this coding end.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Plain => ".warc",
            Self::Gzip(_) => ".warc.gz",
            Self::Zstd => ".warc.zst",
        }
    }
}

/// How hard to try with one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effort {
    /// As is worth it for text.
    #[default]
    Usual,
    /// As little as there can be: the body came compressed.
    Cheapest,
}

/// Makes members of one coding, one after the other.
pub(super) enum MemberEncoder {
    Plain,
    Fast(Box<Fast>),
    Gzip(Box<GzipEncoder>),
    Zstd(Box<ZstdFrames>),
}

impl fmt::Debug for MemberEncoder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Plain => "Plain",
            Self::Fast(_) => "Fast",
            Self::Gzip(_) => "Gzip",
            Self::Zstd(_) => "Zstd",
        })
    }
}

impl MemberEncoder {
    pub(super) fn new(coding: WarcCompression) -> Self {
        match coding {
            WarcCompression::Plain => Self::Plain,
            WarcCompression::Gzip(Level::Fast) => Self::Fast(Box::new(Fast::new())),
            WarcCompression::Gzip(level) => Self::Gzip(Box::new(GzipEncoder::new(level))),
            WarcCompression::Zstd => Self::Zstd(Box::new(ZstdFrames::new(None))),
        }
    }

    pub(super) fn with_dictionary(dictionary: Dictionary) -> Self {
        Self::Zstd(Box::new(ZstdFrames::new(Some(dictionary))))
    }

    /// Whether a record of this length is wanted in one piece.
    pub(super) fn takes_whole(&self, effort: Effort, length: u64) -> bool {
        match self {
            Self::Plain | Self::Fast(_) => false,
            // Only a stream can mix compressed blocks and stored ones.
            Self::Gzip(_) => effort == Effort::Usual && length <= WHOLE,
            Self::Zstd(_) => length <= WHOLE,
        }
    }

    /// Writes the member of a record that is in memory, if it [is wanted](Self::takes_whole).
    pub(super) fn whole(
        &mut self,
        effort: Effort,
        record: &[u8],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Self::Plain | Self::Fast(_) => {
                unreachable!("it takes records in pieces");
            }
            Self::Gzip(gzip) => gzip.whole(record, out),
            Self::Zstd(zstd) => zstd.whole(effort, record, out),
        }
    }

    /// Begins the member of a record of this length.
    pub(super) fn begin<'a>(
        &'a mut self,
        effort: Effort,
        length: u64,
        out: &'a mut dyn Write,
    ) -> io::Result<MemberWriter<'a>> {
        match self {
            Self::Plain => {}
            Self::Fast(fast) => fast.begin(effort),
            Self::Gzip(gzip) => gzip.begin(effort, out)?,
            Self::Zstd(zstd) => zstd.begin(effort, length)?,
        }
        Ok(MemberWriter { packer: self, out })
    }
}

/// A member that is written piece by piece.
pub(super) struct MemberWriter<'a> {
    packer: &'a mut MemberEncoder,
    out: &'a mut dyn Write,
}

impl MemberWriter<'_> {
    /// Takes what always compresses: the record's header and the head of its message.
    pub(super) fn head(&mut self, head: &[u8]) -> io::Result<()> {
        match self.packer {
            MemberEncoder::Plain => self.out.write_all(head),
            MemberEncoder::Fast(fast) => fast.head(head, self.out),
            MemberEncoder::Gzip(gzip) => gzip.head(head, self.out),
            MemberEncoder::Zstd(zstd) => zstd.add(head, self.out),
        }
    }

    pub(super) fn body(&mut self, piece: &[u8]) -> io::Result<()> {
        match self.packer {
            MemberEncoder::Plain => self.out.write_all(piece),
            MemberEncoder::Fast(fast) => fast.body(piece, self.out),
            MemberEncoder::Gzip(gzip) => gzip.body(piece, self.out),
            MemberEncoder::Zstd(zstd) => zstd.add(piece, self.out),
        }
    }

    /// Takes the last bytes and closes the member.
    pub(super) fn end(self, last: &[u8]) -> io::Result<()> {
        match self.packer {
            MemberEncoder::Plain => self.out.write_all(last),
            MemberEncoder::Fast(fast) => fast.end(last, self.out),
            MemberEncoder::Gzip(gzip) => gzip.end(last, self.out),
            MemberEncoder::Zstd(zstd) => zstd.end(last, self.out),
        }
    }
}
