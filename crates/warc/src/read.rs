//! Reading records: streaming, lenient, bounded.
//!
//! Owns the way from the bytes of any WARC file to headers and blocks: `members` takes the
//! compression off, `header` reads the fields, `reader` finds where records begin and end. It
//! accepts what is found in the wild: gzip for each record or for all, zstd with a dictionary or
//! without, plain files, sloppy line ends, garbage between records. Damage is an error with the
//! place it lies at, and reading goes on behind it.

mod header;
mod members;
mod reader;
mod watched;

use std::io;

pub use header::{Header, LONGEST_HEADER};
pub(crate) use members::dictionary;
pub use reader::{BlockReader, RecordExtent, WarcReader};
pub use watched::Watched;

/// Why a record cannot be read. Offsets are positions in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file itself cannot be read.
    #[error("cannot read on at {offset}: {source}")]
    Input {
        /// Where.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// A member does not decompress, or its checksum differs.
    #[error("the compressed member at {offset} is damaged: {source}")]
    Damaged {
        /// Where the member begins.
        offset: u64,
        /// What the decoder says.
        source: io::Error,
    },
    /// The file, or the member of its own that a record has, ends within a record.
    #[error("the record at {offset} is cut short")]
    Truncated {
        /// Where the record begins.
        offset: u64,
    },
    /// A header does not end within the limit.
    #[error("the header of the record at {offset} is longer than {LONGEST_HEADER} bytes")]
    LongHeader {
        /// Where the record begins.
        offset: u64,
    },
    /// A header does not say how long its block is.
    #[error("the record at {offset} has no sound Content-Length")]
    NoLength {
        /// Where the record begins.
        offset: u64,
    },
    /// There are bytes, and no record begins in them.
    #[error("no record begins in the {length} bytes from {offset}")]
    NoRecord {
        /// Where they begin.
        offset: u64,
        /// How many they are, after decompression.
        length: u64,
    },
}

impl ReadError {
    /// Where the damage lies.
    pub const fn offset(&self) -> u64 {
        match self {
            Self::Input { offset, .. }
            | Self::Damaged { offset, .. }
            | Self::Truncated { offset }
            | Self::LongHeader { offset }
            | Self::NoLength { offset }
            | Self::NoRecord { offset, .. } => *offset,
        }
    }
}

#[cfg(test)]
mod tests;
