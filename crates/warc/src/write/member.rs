//! Members: the compressed form of one record.
//!
//! Owns gzip members and zstd frames, each complete in itself, so that a record can be read
//! alone and a file can be cut between two of them. A body that came compressed is not compressed
//! again: it is copied into blocks that hold bytes as they are, while the header before it is
//! compressed. Invariant: output goes through one buffer of fixed size that is never cleared.

use std::fmt;
use std::io::{self, Write};

use flate2::Crc;
use xxhash_rust::xxh64::Xxh64;

use super::deflate::{Deflate, Follows, LEAST_ROOM};
use super::frame::{self, BLOCK, Content, Frame, LONGEST_HEADER, Place};

/// Bytes of output that are gathered before they are handed on.
const BUFFER: usize = 80 * 1024;
const _: () = assert!(BUFFER >= LEAST_ROOM);
/// So many bytes are handed on without a copy.
const AT_ONCE: usize = 1024;
/// The most that one stored block holds (RFC 1951, section 3.2.4).
const STORED: usize = 0xffff;
/// Deflate, no name, no time, system unknown: the same for every member.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// How the records of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Coding {
    /// Not at all.
    Plain,
    /// One gzip member for each.
    #[default]
    Gzip,
    /// One zstd frame for each, without a dictionary.
    Zstd,
}

impl Coding {
    /// How files of this coding end.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Plain => ".warc",
            Self::Gzip => ".warc.gz",
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
pub(super) enum Packer {
    Plain,
    Gzip { deflate: Deflate, buffer: Box<[u8]> },
    Zstd { frame: Frame, buffer: Box<[u8]> },
}

impl fmt::Debug for Packer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Plain => "Plain",
            Self::Gzip { .. } => "Gzip",
            Self::Zstd { .. } => "Zstd",
        })
    }
}

impl Packer {
    pub(super) fn new(coding: Coding) -> Self {
        let buffer = || vec![0; BUFFER].into_boxed_slice();
        match coding {
            Coding::Plain => Self::Plain,
            Coding::Gzip => Self::Gzip {
                deflate: Deflate::new(),
                buffer: buffer(),
            },
            Coding::Zstd => Self::Zstd {
                frame: Frame::new(),
                buffer: buffer(),
            },
        }
    }

    /// Begins the member of a record that is so many bytes long.
    pub(super) fn begin<'a>(
        &'a mut self,
        effort: Effort,
        length: u64,
        out: &'a mut dyn Write,
    ) -> io::Result<Member<'a>> {
        match self {
            Self::Plain => Ok(Member::Plain(out)),
            Self::Gzip { deflate, buffer } => {
                let follows = match effort {
                    Effort::Usual => Follows::Nothing,
                    Effort::Cheapest => Follows::Blocks,
                };
                deflate.begin(follows);
                buffer[..GZIP_HEAD.len()].copy_from_slice(&GZIP_HEAD);
                Ok(Member::Gzip(Gzip {
                    deflate,
                    out: Gathered {
                        buffer,
                        filled: GZIP_HEAD.len(),
                        out,
                    },
                    crc: Crc::new(),
                    effort,
                }))
            }
            Self::Zstd { frame, buffer } => {
                frame.begin();
                let mut out = Gathered {
                    buffer,
                    filled: 0,
                    out,
                };
                let mut header = [0; LONGEST_HEADER];
                let size = frame::frame_header(length, &mut header);
                out.push(&header[..size])?;
                Ok(Member::Zstd(Zstd {
                    frame,
                    out,
                    sum: Xxh64::new(0),
                    effort,
                }))
            }
        }
    }
}

/// A member on its way.
pub(super) enum Member<'a> {
    Plain(&'a mut dyn Write),
    Gzip(Gzip<'a>),
    Zstd(Zstd<'a>),
}

impl Member<'_> {
    /// Takes what always compresses: the record's header and the head of its message.
    pub(super) fn head(&mut self, head: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(head),
            Self::Gzip(gzip) => gzip.head(head),
            Self::Zstd(zstd) => zstd.head(head),
        }
    }

    pub(super) fn body(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(piece),
            Self::Gzip(gzip) if gzip.effort == Effort::Usual => gzip.deflate(piece),
            Self::Gzip(gzip) => gzip.store(piece, 0),
            Self::Zstd(zstd) if zstd.effort == Effort::Usual => zstd.compress(piece),
            Self::Zstd(zstd) => zstd.copy(piece),
        }
    }

    /// Takes the last bytes and closes the member.
    pub(super) fn end(mut self, last: &[u8]) -> io::Result<()> {
        match &mut self {
            Self::Plain(out) => out.write_all(last),
            Self::Gzip(gzip) => gzip.end(last),
            Self::Zstd(zstd) => zstd.end(last),
        }
    }
}

/// Output that is handed on whenever the buffer is full.
pub(super) struct Gathered<'a> {
    buffer: &'a mut [u8],
    filled: usize,
    out: &'a mut dyn Write,
}

impl Gathered<'_> {
    fn hand_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer[..self.filled])?;
        self.filled = 0;
        Ok(())
    }

    /// Room for what [`Deflate`] makes.
    fn room(&mut self) -> io::Result<&mut [u8]> {
        if self.buffer.len() - self.filled < LEAST_ROOM {
            self.hand_on()?;
        }
        Ok(&mut self.buffer[self.filled..])
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() >= AT_ONCE || bytes.len() > self.buffer.len() - self.filled {
            self.hand_on()?;
        }
        if bytes.len() >= AT_ONCE {
            return self.out.write_all(bytes);
        }
        self.buffer[self.filled..][..bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
        Ok(())
    }
}

pub(super) struct Gzip<'a> {
    deflate: &'a mut Deflate,
    out: Gathered<'a>,
    crc: Crc,
    effort: Effort,
}

impl Gzip<'_> {
    fn head(&mut self, head: &[u8]) -> io::Result<()> {
        self.deflate(head)?;
        if self.effort == Effort::Cheapest {
            self.write()?;
            let filled = self.deflate.end_before_stored(self.out.room()?);
            self.out.filled += filled;
        }
        Ok(())
    }

    fn deflate(&mut self, mut input: &[u8]) -> io::Result<()> {
        self.crc.update(input);
        loop {
            input = self.deflate.fill(input);
            if input.is_empty() {
                return Ok(());
            }
            self.write()?;
        }
    }

    /// Writes what is in the window.
    fn write(&mut self) -> io::Result<()> {
        let filled = self.deflate.write(self.out.room()?);
        self.out.filled += filled;
        Ok(())
    }

    fn store(&mut self, bytes: &[u8], is_last: u8) -> io::Result<()> {
        self.crc.update(bytes);
        for block in bytes.chunks(STORED) {
            let length = (block.len() as u16).to_le_bytes();
            let [low, high] = length;
            self.out.push(&[is_last, low, high, !low, !high])?;
            self.out.push(block)?;
        }
        Ok(())
    }

    fn end(&mut self, last: &[u8]) -> io::Result<()> {
        match self.effort {
            Effort::Usual => {
                self.deflate(last)?;
                self.write()?;
                let filled = self.deflate.end(self.out.room()?);
                self.out.filled += filled;
            }
            Effort::Cheapest => self.store(last, 1)?,
        }
        let (crc, amount) = (self.crc.sum(), self.crc.amount());
        self.out.push(&crc.to_le_bytes())?;
        self.out.push(&amount.to_le_bytes())?;
        self.out.hand_on()
    }
}

pub(super) struct Zstd<'a> {
    frame: &'a mut Frame,
    out: Gathered<'a>,
    sum: Xxh64,
    effort: Effort,
}

impl Zstd<'_> {
    fn head(&mut self, head: &[u8]) -> io::Result<()> {
        self.compress(head)?;
        match self.effort {
            Effort::Usual => Ok(()),
            Effort::Cheapest => self.write(Place::Within),
        }
    }

    fn compress(&mut self, mut input: &[u8]) -> io::Result<()> {
        self.sum.update(input);
        loop {
            input = self.frame.fill(input);
            if input.is_empty() {
                return Ok(());
            }
            self.write(Place::Within)?;
        }
    }

    /// Writes what is in the window.
    fn write(&mut self, place: Place) -> io::Result<()> {
        let (content, block) = self.frame.block();
        push_block(&mut self.out, block, content, place)?;
        self.frame.go_on();
        Ok(())
    }

    fn copy(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        for block in bytes.chunks(BLOCK) {
            push_block(&mut self.out, block, Content::Raw, Place::Within)?;
        }
        Ok(())
    }

    fn end(&mut self, last: &[u8]) -> io::Result<()> {
        match self.effort {
            Effort::Usual => {
                self.compress(last)?;
                self.write(Place::Last)?;
            }
            Effort::Cheapest => {
                self.sum.update(last);
                push_block(&mut self.out, last, Content::Raw, Place::Last)?;
            }
        }
        // The lower half of the sum (section 3.1.1).
        let sum = self.sum.digest() as u32;
        self.out.push(&sum.to_le_bytes())?;
        self.out.hand_on()
    }
}

/// Writes a block of a frame, its header before it.
fn push_block(
    out: &mut Gathered<'_>,
    block: &[u8],
    content: Content,
    place: Place,
) -> io::Result<()> {
    out.push(&frame::block_header(block.len(), content, place))?;
    out.push(block)
}
