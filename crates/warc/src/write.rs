//! Writing records.
//!
//! Owns the way from a draft to the bytes of a member: `draft` the header, `block` what follows
//! it, `member` the compression, `gzip` and `frame` its forms by libraries, `fast` the cheapest
//! gzip (`repeats` is what it looks for, `deflate` how it is written). The same draft, its block in
//! the same parts, gives the same bytes: nothing here reads a clock or a random number. Memory is
//! bounded whatever the size of a block.

mod bits;
mod block;
mod deflate;
mod draft;
mod fast;
mod frame;
mod gzip;
mod member;
mod repeats;

use std::io::{self, Write};

use crate::dictionary::Dictionary;

pub(crate) use block::PayloadHasher;
pub use block::{Block, Examined, Payload};
pub use draft::{RecordDraft, RevisitOriginal, warc_fields};
use member::MemberEncoder;
pub use member::{Effort, Level, WarcCompression};

/// Why a record was not written. What is in the output by then is part of a record: cut it off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A file that holds part of the block could not be read, or has become shorter.
    #[error("cannot read the block of record {id} back: {source}")]
    Block {
        /// The record.
        id: crate::RecordId,
        /// What the system says.
        source: io::Error,
    },
    /// The output did not take the bytes.
    #[error("cannot write record {id}: {source}")]
    Output {
        /// The record.
        id: crate::RecordId,
        /// What the system says.
        source: io::Error,
    },
}

/// Makes members of one coding; keeps its buffers from record to record.
#[derive(Debug)]
pub struct Encoder {
    packer: MemberEncoder,
    /// The header and the head of a message behind it, or the whole record.
    record: Vec<u8>,
}

impl Encoder {
    /// An encoder of this coding; zstd has no dictionary.
    pub fn new(coding: WarcCompression) -> Self {
        Self::from_packer(MemberEncoder::new(coding))
    }

    /// An encoder of zstd for a file that begins with this dictionary.
    pub fn with_dictionary(dictionary: Dictionary) -> Self {
        Self::from_packer(MemberEncoder::with_dictionary(dictionary))
    }

    const fn from_packer(packer: MemberEncoder) -> Self {
        Self {
            packer,
            record: Vec::new(),
        }
    }

    /// Writes one record as a member of its own and answers the member's length.
    pub fn encode(
        &mut self,
        draft: &RecordDraft<'_>,
        effort: Effort,
        out: &mut dyn Write,
    ) -> Result<u64, WriteError> {
        let id = draft.id();
        let unread = |source| WriteError::Block { id, source };
        let failed = |source| WriteError::Output { id, source };
        let mut counted = Counted { out, written: 0 };
        let record = &mut self.record;
        record.clear();
        draft.header(record).map_err(unread)?;
        let block = draft.block();
        let length = (record.len() + END.len()) as u64 + block.length();
        record.extend_from_slice(block.head());
        if self.packer.takes_whole(effort, length) {
            let take = &mut |piece: &[u8]| {
                record.extend_from_slice(piece);
                true
            };
            block.each_body(take).map_err(unread)?;
            record.extend_from_slice(END);
            let written = self.packer.whole(effort, record, &mut counted);
            written.map_err(failed)?;
            return Ok(counted.written);
        }
        let mut member = self
            .packer
            .begin(effort, length, &mut counted)
            .map_err(failed)?;
        member.head(record).map_err(failed)?;
        let mut refused = None;
        let read = block.each_body(&mut |piece| match member.body(piece) {
            Ok(()) => true,
            Err(error) => {
                refused = Some(error);
                false
            }
        });
        if let Some(error) = refused {
            return Err(failed(error));
        }
        read.map_err(unread)?;
        member.end(END).map_err(failed)?;
        Ok(counted.written)
    }
}

/// What follows every block.
const END: &[u8] = b"\r\n\r\n";

/// An output that counts.
struct Counted<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.out.write(bytes)?;
        self.written += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
