//! Members: the compressed form of one record.
//!
//! Owns gzip members and zstd frames, each complete in itself, so that a record can be read
//! alone and a file can be cut between two of them. A body that came compressed is not compressed
//! again: in gzip it is copied into stored blocks, while the header before it is deflated.
//! Invariant: output goes through one buffer of fixed size that is never cleared.

use std::fmt;
use std::io::{self, Write};

use flate2::Crc;
use zstd::bulk::Compressor as Wholes;
use zstd::stream::raw::{CParameter, Encoder as Frames, InBuffer, Operation as _, OutBuffer};

use super::deflate::{Deflate, Follows, LEAST_ROOM};

/// Blocks below this size are deflated together with the header of their record: requests and
/// facts repeat what stands there.
const DEFLATED_WHOLE: u64 = 16 * 1024;
/// Blocks below this size are made a frame at once: what comes in pieces is copied by zstd,
/// and its matches are sought in two places.
const FRAMED_WHOLE: u64 = 512 * 1024;
/// Bytes of output that are gathered before they are handed on.
const BUFFER: usize = 64 * 1024;
/// The most that one stored block holds (RFC 1951, section 3.2.4).
const STORED: usize = 0xffff;
/// Deflate, no name, no time, system unknown: the same for every member.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// What pages are worth: higher levels cost twice as much for a quarter less.
const ZSTD_LEVEL: i32 = 1;
/// Negative levels skip ever more of what does not compress.
const ZSTD_CHEAPEST: i32 = -7;

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
    Gzip {
        deflate: Deflate,
        buffer: Box<[u8]>,
    },
    Zstd {
        /// For records that come in pieces.
        frames: Frames<'static>,
        buffer: Box<[u8]>,
        /// For records that come whole.
        wholes: Wholes<'static>,
        frame: Vec<u8>,
    },
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
                frames: Frames::new(ZSTD_LEVEL).expect("level and empty dictionary are sound"),
                buffer: buffer(),
                wholes: Wholes::new(ZSTD_LEVEL).expect("level and empty dictionary are sound"),
                frame: Vec::new(),
            },
        }
    }

    /// A record whose block is smaller than that is better given whole than in pieces.
    pub(super) const fn gathers(&self, effort: Effort) -> u64 {
        match (self, effort) {
            (Self::Gzip { .. }, Effort::Usual) => DEFLATED_WHOLE,
            (Self::Zstd { .. }, _) => FRAMED_WHOLE,
            (Self::Plain, _) | (Self::Gzip { .. }, Effort::Cheapest) => 0,
        }
    }

    /// Makes the member of a whole record.
    pub(super) fn whole(
        &mut self,
        record: &[u8],
        effort: Effort,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if let Self::Zstd { wholes, frame, .. } = self {
            wholes.set_parameter(level(effort))?;
            wholes.set_parameter(CParameter::ChecksumFlag(true))?;
            frame.clear();
            frame.reserve(zstd::compress_bound(record.len()));
            wholes.compress_to_buffer(record, frame)?;
            return out.write_all(frame);
        }
        let mut member = self.begin(effort, record.len() as u64, out)?;
        member.head(record)?;
        member.end(&[])
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
                deflate.begin(match effort {
                    Effort::Usual => Follows::Nothing,
                    Effort::Cheapest => Follows::Blocks,
                });
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
            Self::Zstd { frames, buffer, .. } => {
                frames.reinit()?;
                frames.set_parameter(level(effort))?;
                frames.set_parameter(CParameter::ChecksumFlag(true))?;
                frames.set_pledged_src_size(Some(length))?;
                let out = Gathered {
                    buffer,
                    filled: 0,
                    out,
                };
                Ok(Member::Zstd { frames, out })
            }
        }
    }
}

const fn level(effort: Effort) -> CParameter {
    CParameter::CompressionLevel(match effort {
        Effort::Usual => ZSTD_LEVEL,
        Effort::Cheapest => ZSTD_CHEAPEST,
    })
}

/// A member on its way.
pub(super) enum Member<'a> {
    Plain(&'a mut dyn Write),
    Gzip(Gzip<'a>),
    Zstd {
        frames: &'a mut Frames<'static>,
        out: Gathered<'a>,
    },
}

impl Member<'_> {
    /// Takes what always compresses: the record's header and the head of its message.
    pub(super) fn head(&mut self, head: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(gzip) => gzip.head(head),
            _ => self.body(head),
        }
    }

    pub(super) fn body(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(piece),
            Self::Gzip(gzip) if gzip.effort == Effort::Usual => gzip.deflate(piece),
            Self::Gzip(gzip) => gzip.store(piece, 0),
            Self::Zstd { frames, out } => run_frame(frames, out, piece),
        }
    }

    /// Takes the last bytes and closes the member.
    pub(super) fn end(mut self, last: &[u8]) -> io::Result<()> {
        match &mut self {
            Self::Plain(out) => out.write_all(last),
            Self::Gzip(gzip) => gzip.end(last),
            Self::Zstd { frames, out } => {
                run_frame(frames, out, last)?;
                end_frame(frames, out)
            }
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
        if bytes.len() > self.buffer.len() - self.filled {
            self.hand_on()?;
        }
        if bytes.len() > self.buffer.len() {
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
            let filled = self.deflate.end_before_stored(self.out.room()?);
            self.out.filled += filled;
        }
        Ok(())
    }

    fn deflate(&mut self, input: &[u8]) -> io::Result<()> {
        self.crc.update(input);
        let mut at = 0;
        while at < input.len() {
            let (stopped, filled) = self.deflate.take(input, at, self.out.room()?);
            self.out.filled += filled;
            at = stopped;
        }
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

fn run_frame(frames: &mut Frames<'static>, out: &mut Gathered<'_>, piece: &[u8]) -> io::Result<()> {
    let mut input = InBuffer::around(piece);
    while input.pos() < piece.len() {
        let mut room = OutBuffer::around(&mut out.buffer[out.filled..]);
        frames.run(&mut input, &mut room)?;
        out.filled += room.pos();
        if out.filled == out.buffer.len() {
            out.hand_on()?;
        }
    }
    Ok(())
}

fn end_frame(frames: &mut Frames<'static>, out: &mut Gathered<'_>) -> io::Result<()> {
    loop {
        let mut room = OutBuffer::around(&mut out.buffer[out.filled..]);
        let left = frames.finish(&mut room, true)?;
        out.filled += room.pos();
        if left == 0 {
            return out.hand_on();
        }
        out.hand_on()?;
    }
}
