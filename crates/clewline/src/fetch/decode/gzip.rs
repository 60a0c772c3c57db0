//! The gzip wrapper (RFC 1952) around deflate.
//!
//! Owns the member header, the trailer and what may follow a member. Refuses to know the
//! contents of the header. Invariant: holds no header bytes, only a state of constant size.
//!
//! The checksum is passed over, as browsers do: a page whose server computes it wrongly is still
//! a page, and the transport has checksums of its own.

use flate2::Decompress;

use super::codec::{CodecState, CodecStep, inflate_step};
use super::{Coding, DecodeError};

/// How every member begins.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Deflate, the only method there is.
const METHOD: u8 = 8;
const FIXED_HEADER: u8 = 10;
const TRAILER: u8 = 8;

const HAS_HEADER_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

pub(super) struct Gzip {
    inflate: Decompress,
    part: Part,
    /// Flags of the optional header parts that are still to come.
    flags: u8,
    members: u64,
}

#[derive(Clone, Copy)]
enum Part {
    /// This many bytes of the fixed header were read.
    Fixed(u8),
    ExtraLength(Option<u8>),
    Extra(u16),
    Name,
    Comment,
    /// This many bytes of the header checksum are to come.
    Checksum(u8),
    Data,
    /// This many bytes of the trailer were read.
    Trailer(u8),
}

impl Default for Gzip {
    fn default() -> Self {
        Self {
            inflate: Decompress::new(false),
            part: Part::Fixed(0),
            flags: 0,
            members: 0,
        }
    }
}

impl Gzip {
    /// Whether the body may end here: after a member, even if bytes follow that look like the
    /// beginning of another.
    pub(super) fn is_whole(&self) -> bool {
        self.members > 0 && matches!(self.part, Part::Fixed(_))
    }

    pub(super) fn step(&mut self, input: &[u8], out: &mut [u8]) -> CodecStep {
        let mut read = 0;
        while !matches!(self.part, Part::Data) {
            let Some(&byte) = input.get(read) else {
                return CodecStep {
                    read,
                    wrote: 0,
                    fate: CodecState::Going,
                };
            };
            read += 1;
            let Some(part) = self.next(byte) else {
                // What follows a member and is not another is garbage, which gzip ignores too.
                let fate = if self.members > 0 {
                    CodecState::Ended
                } else {
                    CodecState::Failed(DecodeError::Corrupt(Coding::Gzip))
                };
                return CodecStep {
                    read,
                    wrote: 0,
                    fate,
                };
            };
            self.part = part;
        }
        let mut step = inflate_step(&mut self.inflate, &input[read..], out, Coding::Gzip);
        step.read += read;
        if matches!(step.fate, CodecState::Ended) {
            self.part = Part::Trailer(0);
            step.fate = CodecState::Going;
        }
        step
    }

    /// What comes after this byte of a header or trailer, or nothing if it can't stand there.
    fn next(&mut self, byte: u8) -> Option<Part> {
        Some(match self.part {
            Part::Fixed(at) => return self.fixed(at, byte),
            Part::ExtraLength(None) => Part::ExtraLength(Some(byte)),
            Part::ExtraLength(Some(low)) => match u16::from_le_bytes([low, byte]) {
                0 => self.after(HAS_EXTRA),
                length => Part::Extra(length),
            },
            Part::Extra(1) => self.after(HAS_EXTRA),
            Part::Extra(left) => Part::Extra(left - 1),
            Part::Name if byte == 0 => self.after(HAS_NAME),
            Part::Comment if byte == 0 => self.after(HAS_COMMENT),
            Part::Checksum(1) => self.after(HAS_HEADER_CHECKSUM),
            Part::Checksum(left) => Part::Checksum(left - 1),
            Part::Trailer(at) if at + 1 == TRAILER => {
                self.members += 1;
                self.inflate.reset(false);
                Part::Fixed(0)
            }
            Part::Trailer(at) => Part::Trailer(at + 1),
            same @ (Part::Name | Part::Comment | Part::Data) => same,
        })
    }

    fn fixed(&mut self, at: u8, byte: u8) -> Option<Part> {
        let allowed = match at {
            0 => byte == MAGIC[0],
            1 => byte == MAGIC[1],
            2 => byte == METHOD,
            3 => byte & RESERVED == 0,
            _ => true,
        };
        if at == 3 {
            self.flags = byte;
        }
        let part = if at + 1 == FIXED_HEADER {
            self.after(0)
        } else {
            Part::Fixed(at + 1)
        };
        allowed.then_some(part)
    }

    /// The part of the header that follows the one that the flag stands for.
    fn after(&mut self, flag: u8) -> Part {
        self.flags &= !flag;
        match self.flags {
            flags if flags & HAS_EXTRA != 0 => Part::ExtraLength(None),
            flags if flags & HAS_NAME != 0 => Part::Name,
            flags if flags & HAS_COMMENT != 0 => Part::Comment,
            flags if flags & HAS_HEADER_CHECKSUM != 0 => Part::Checksum(2),
            _ => Part::Data,
        }
    }
}
