//! Records as gzip members with the least work.
//!
//! Owns the frame around [`Deflate`], which takes a third less processor time than any level of
//! a library at the price of larger files. Invariant: output goes through one buffer of fixed
//! size that is never cleared.

use std::io::{self, Write};

use flate2::Crc;

use super::deflate::{Deflate, Follows, LEAST_ROOM};
use super::gzip::{HEAD, store_blocks};
use super::member::Effort;

/// Bytes of output that are gathered before they are handed on.
const BUFFER: usize = 80 * 1024;
const _: () = assert!(BUFFER >= LEAST_ROOM + HEAD.len());

pub(super) struct Fast {
    deflate: Deflate,
    buffer: Box<[u8]>,
    filled: usize,
    crc: Crc,
    effort: Effort,
}

impl Fast {
    pub(super) fn new() -> Self {
        Self {
            deflate: Deflate::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            filled: 0,
            crc: Crc::new(),
            effort: Effort::Usual,
        }
    }

    pub(super) fn begin(&mut self, effort: Effort) {
        self.deflate.begin(match effort {
            Effort::Usual => Follows::Nothing,
            Effort::Cheapest => Follows::Blocks,
        });
        self.crc.reset();
        self.effort = effort;
        self.buffer[..HEAD.len()].copy_from_slice(&HEAD);
        self.filled = HEAD.len();
    }

    pub(super) fn head(&mut self, head: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.add(head, out)?;
        if self.effort == Effort::Cheapest {
            self.write(out)?;
            let (deflate, room) = self.parts(out)?;
            let filled = deflate.end_before_stored(room);
            self.filled += filled;
            self.hand_on(out)?;
        }
        Ok(())
    }

    pub(super) fn body(&mut self, piece: &[u8], out: &mut dyn Write) -> io::Result<()> {
        match self.effort {
            Effort::Usual => self.add(piece, out),
            Effort::Cheapest => {
                self.crc.update(piece);
                store_blocks(piece, 0, out)
            }
        }
    }

    pub(super) fn end(&mut self, last: &[u8], out: &mut dyn Write) -> io::Result<()> {
        match self.effort {
            Effort::Usual => {
                self.add(last, out)?;
                self.write(out)?;
                let (deflate, room) = self.parts(out)?;
                let filled = deflate.end(room);
                self.filled += filled;
                self.hand_on(out)?;
            }
            Effort::Cheapest => {
                self.crc.update(last);
                store_blocks(last, 1, out)?;
            }
        }
        out.write_all(&self.crc.sum().to_le_bytes())?;
        out.write_all(&self.crc.amount().to_le_bytes())
    }

    fn add(&mut self, mut input: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.crc.update(input);
        loop {
            input = self.deflate.fill(input);
            if input.is_empty() {
                return Ok(());
            }
            self.write(out)?;
        }
    }

    /// Writes what is in the window.
    fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let (deflate, room) = self.parts(out)?;
        let filled = deflate.write(room);
        self.filled += filled;
        Ok(())
    }

    /// The encoder, and room for what it makes.
    fn parts(&mut self, out: &mut dyn Write) -> io::Result<(&mut Deflate, &mut [u8])> {
        if self.buffer.len() - self.filled < LEAST_ROOM {
            self.hand_on(out)?;
        }
        Ok((&mut self.deflate, &mut self.buffer[self.filled..]))
    }

    fn hand_on(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.buffer[..self.filled])?;
        self.filled = 0;
        Ok(())
    }
}
