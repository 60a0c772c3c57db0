//! Records as gzip members (RFC 1952), by libraries.
//!
//! Owns their levels and the choice between two encoders: libdeflate for a record that is in
//! memory, zlib-rs for one that comes in pieces. A body that came compressed is not compressed
//! again: it follows the compressed header in stored blocks (RFC 1951, section 3.2.4).

use std::io::{self, Write};

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor};

use super::member::{Effort, Level};

/// Bytes of a stream that are written at once.
const BUFFER: usize = 64 * 1024;
/// The most that one stored block holds.
const STORED: usize = 0xffff;
/// Deflate, no name, no time, system unknown: the same for every stream.
pub(super) const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

impl Level {
    /// The level of libdeflate. Level 7 is the first whose files are no larger than those of
    /// `gzip -6`; from 10 on it looks for the best way to write a block.
    const fn of_whole(self) -> i32 {
        match self {
            Self::Fast => 1,
            Self::Balanced => 7,
            Self::Small => 10,
        }
    }

    /// The level of zlib.
    const fn of_stream(self) -> u32 {
        match self {
            Self::Fast => 1,
            Self::Balanced => 6,
            Self::Small => 9,
        }
    }
}

pub(super) struct GzipEncoder {
    level: Level,
    whole: Compressor,
    /// Made with the first record that needs it.
    stream: Option<Stream>,
    buffer: Vec<u8>,
}

struct Stream {
    deflate: Compress,
    crc: Crc,
    effort: Effort,
}

impl GzipEncoder {
    pub(super) fn new(level: Level) -> Self {
        let known = CompressionLvl::new(level.of_whole()).expect("libdeflate has these levels");
        Self {
            level,
            whole: Compressor::new(known),
            stream: None,
            buffer: Vec::new(),
        }
    }

    pub(super) fn whole(&mut self, record: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let most = self.whole.gzip_compress_bound(record.len());
        if self.buffer.len() < most {
            self.buffer.resize(most, 0);
        }
        let made = self.whole.gzip_compress(record, &mut self.buffer);
        let made = made.map_err(io::Error::other)?;
        out.write_all(&self.buffer[..made])
    }

    pub(super) fn begin(&mut self, effort: Effort, out: &mut dyn Write) -> io::Result<()> {
        let level = Compression::new(self.level.of_stream());
        let stream = self.stream.get_or_insert_with(|| Stream {
            deflate: Compress::new(level, false),
            crc: Crc::new(),
            effort,
        });
        stream.deflate.reset();
        stream.crc.reset();
        stream.effort = effort;
        if self.buffer.len() < BUFFER {
            self.buffer.resize(BUFFER, 0);
        }
        out.write_all(&HEAD)
    }

    pub(super) fn head(&mut self, head: &[u8], out: &mut dyn Write) -> io::Result<()> {
        match self.effort() {
            Effort::Usual => self.deflate(head, FlushCompress::None, out),
            // Ends at a whole byte, so that stored blocks can follow.
            Effort::Cheapest => self.deflate(head, FlushCompress::Sync, out),
        }
    }

    pub(super) fn body(&mut self, piece: &[u8], out: &mut dyn Write) -> io::Result<()> {
        match self.effort() {
            Effort::Usual => self.deflate(piece, FlushCompress::None, out),
            Effort::Cheapest => self.store(piece, 0, out),
        }
    }

    pub(super) fn end(&mut self, last: &[u8], out: &mut dyn Write) -> io::Result<()> {
        match self.effort() {
            Effort::Usual => self.deflate(last, FlushCompress::Finish, out)?,
            Effort::Cheapest => self.store(last, 1, out)?,
        }
        let crc = &self.stream().crc;
        let (sum, amount) = (crc.sum(), crc.amount());
        out.write_all(&sum.to_le_bytes())?;
        out.write_all(&amount.to_le_bytes())
    }

    fn stream(&mut self) -> &mut Stream {
        self.stream.as_mut().expect("a stream was begun")
    }

    fn effort(&mut self) -> Effort {
        self.stream().effort
    }

    fn deflate(
        &mut self,
        mut input: &[u8],
        flush: FlushCompress,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let stream = self.stream.as_mut().expect("a stream was begun");
        stream.crc.update(input);
        let deflate = &mut stream.deflate;
        loop {
            let before = (deflate.total_in(), deflate.total_out());
            let status = deflate
                .compress(input, &mut self.buffer, flush)
                .map_err(io::Error::other)?;
            let made = (deflate.total_out() - before.1) as usize;
            input = &input[(deflate.total_in() - before.0) as usize..];
            out.write_all(&self.buffer[..made])?;
            // A full buffer may mean that more waits to be written.
            if status == Status::StreamEnd || (input.is_empty() && made < self.buffer.len()) {
                return Ok(());
            }
        }
    }

    fn store(&mut self, bytes: &[u8], is_last: u8, out: &mut dyn Write) -> io::Result<()> {
        self.stream().crc.update(bytes);
        store_blocks(bytes, is_last, out)
    }
}

/// Writes bytes as they are, in as many blocks as they need.
pub(super) fn store_blocks(bytes: &[u8], is_last: u8, out: &mut dyn Write) -> io::Result<()> {
    for block in bytes.chunks(STORED) {
        let [low, high] = (block.len() as u16).to_le_bytes();
        out.write_all(&[is_last, low, high, !low, !high])?;
        out.write_all(block)?;
    }
    Ok(())
}
