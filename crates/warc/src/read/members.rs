//! Members: taking the compression off while remembering where each member begins.
//!
//! Owns the bytes of the file and the decoders. It hands out one stream of decoded bytes, and for
//! each position in it whether a member begins there. Refuses to know records. Invariant: what is
//! held is at most the window its reader asks for and one buffer more, whatever a member claims.

use std::collections::VecDeque;
use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as Frames, InBuffer, Operation as _, OutBuffer};

use super::ReadError;
use crate::dictionary::MAGIC;

/// Bytes of the file that are read at once …
const RAW: usize = 64 * 1024;
/// … and at first: whoever seeks often wants one record.
const FIRST_RAW: usize = 8 * 1024;
/// Bytes that stay after they are decoded. A member that was cut short runs into the next one,
/// and the damage shows only some bytes later; from here its beginning is found again. More would
/// let a hostile file have its bytes decoded more often.
const KEPT: usize = 8 * 1024;
/// Decoded bytes that are made at once …
const STEP: usize = 32 * 1024;
/// … and at first.
const FIRST_STEP: usize = 4 * 1024;
/// The largest window of a zstd frame, as a power of two: what its own tools take unasked.
const WINDOW_LOG: u32 = 27;
/// The largest dictionary, packed or not.
const DICTIONARY: u64 = 16 * 1024 * 1024;

const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// How a file is packed, told by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    fn from_start(start: &[u8]) -> Self {
        if start.starts_with(&GZIP[..2]) {
            Self::Gzip
        } else if start.starts_with(&ZSTD) || is_skippable(start) {
            Self::Zstd
        } else {
            Self::Plain
        }
    }

    fn begins(self, start: &[u8]) -> bool {
        match self {
            Self::Plain => true,
            Self::Gzip => start.starts_with(&GZIP),
            Self::Zstd => start.starts_with(&ZSTD) || is_skippable(start),
        }
    }
}

fn is_skippable(start: &[u8]) -> bool {
    matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

enum Decoder {
    /// Between two members.
    Idle,
    Plain,
    Gzip(Box<Decompress>),
    Zstd,
}

/// Where a member begins, in the decoded stream and in the file.
#[derive(Debug, Clone, Copy)]
struct Mark {
    decoded: u64,
    offset: u64,
}

pub(super) struct Members<R> {
    input: R,
    raw: Vec<u8>,
    /// The next byte of `raw` to decode, and its place in the file.
    raw_at: usize,
    offset: u64,
    is_at_end: bool,
    packing: Option<Packing>,
    decoder: Decoder,
    frames: Option<Frames<'static>>,
    dictionary: Vec<u8>,
    /// Where the member begins that is being decoded.
    member: u64,
    /// Marks of what is in the window, and the last before it.
    marks: VecDeque<Mark>,
    window: Vec<u8>,
    window_at: usize,
    /// The position of the window's next byte in the decoded stream.
    decoded: u64,
    step: Vec<u8>,
    needs_resync: bool,
    /// Damage that is told when the bytes before it are used up.
    pending: Option<ReadError>,
}

impl<R: Read> Members<R> {
    pub(super) fn new(input: R, offset: u64, dictionary: Vec<u8>) -> Self {
        Self {
            input,
            raw: Vec::new(),
            raw_at: 0,
            offset,
            is_at_end: false,
            packing: None,
            decoder: Decoder::Idle,
            frames: None,
            dictionary,
            member: offset,
            marks: VecDeque::new(),
            window: Vec::new(),
            window_at: 0,
            decoded: 0,
            step: vec![0; FIRST_STEP],
            needs_resync: false,
            pending: None,
        }
    }

    /// The decoded bytes that are there.
    pub(super) fn window(&self) -> &[u8] {
        &self.window[self.window_at..]
    }

    /// Takes bytes off the window's front.
    pub(super) fn consume(&mut self, count: usize) {
        self.window_at += count;
        self.decoded += count as u64;
        self.drop_marks();
        if self.window_at == self.window.len() {
            self.window.clear();
            self.window_at = 0;
        } else if self.window_at >= STEP {
            self.window.drain(..self.window_at);
            self.window_at = 0;
        }
    }

    /// Forgets all marks before the last one that is not behind the window's first byte.
    fn drop_marks(&mut self) {
        while self
            .marks
            .get(1)
            .is_some_and(|mark| mark.decoded <= self.decoded)
        {
            self.marks.pop_front();
        }
    }

    /// The position of the window in the decoded stream.
    pub(super) fn position(&self) -> u64 {
        self.decoded
    }

    /// The place in the file of the window's first byte: that of its member where it is packed.
    pub(super) fn offset(&self) -> u64 {
        match (self.packing, self.marks.front()) {
            (Some(Packing::Plain), _) => self.offset - self.window().len() as u64,
            (_, Some(mark)) => mark.offset,
            _ => self.offset,
        }
    }

    /// Whether a member begins with the window's first byte. In a plain file every byte can
    /// begin one.
    pub(super) fn begins_member(&self) -> bool {
        !self.is_packed() || self.begins_packed()
    }

    /// Whether a compressed member begins with the window's first byte.
    pub(super) fn begins_packed(&self) -> bool {
        let begins = |mark: &Mark| mark.decoded == self.decoded;
        self.is_packed() && self.marks.front().is_some_and(begins)
    }

    pub(super) fn is_packed(&self) -> bool {
        self.packing != Some(Packing::Plain)
    }

    /// How far the window's bytes reach in their member.
    pub(super) fn until_next_member(&self) -> usize {
        let mut later = self.marks.iter().filter(|mark| mark.decoded > self.decoded);
        let left = later.next().map(|mark| mark.decoded - self.decoded);
        left.map_or(self.window().len(), |left| left as usize)
    }

    /// Where the bytes that follow what was consumed begin in the file, and whether a record that
    /// ends before them, in the member at `begun`, has that member for itself. Damage counts as
    /// the beginning of a member, unless it is in the record's own.
    pub(super) fn border(&mut self, begun: u64) -> Result<(u64, bool), ReadError> {
        self.fill_to(1)?;
        if !self.window().is_empty() {
            return Ok((self.offset(), self.begins_member()));
        }
        match &self.pending {
            Some(damage) if damage.offset() > begun => Ok((damage.offset(), true)),
            Some(_) => self.damage().map(|()| (self.offset, false)),
            None => Ok((self.offset, true)),
        }
    }

    /// Fills the window up to so many bytes, fewer only before damage and at the end. Damage is
    /// told when the window is empty.
    pub(super) fn fill_to(&mut self, count: usize) -> Result<(), ReadError> {
        while self.window().len() < count && self.pending.is_none() {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error @ ReadError::Input { .. }) => return Err(error),
                Err(error) => self.pending = Some(error),
            }
        }
        Ok(())
    }

    /// The damage behind what was read, once.
    pub(super) fn damage(&mut self) -> Result<(), ReadError> {
        self.pending.take().map_or(Ok(()), Err)
    }

    /// Adds to the window. `false` at the end of the file.
    pub(super) fn fill(&mut self) -> Result<bool, ReadError> {
        loop {
            self.damage()?;
            if self.needs_resync {
                self.resync()?;
            }
            if matches!(self.decoder, Decoder::Idle) {
                if !self.begin()? {
                    return Ok(false);
                }
                continue;
            }
            let made = match self.decoder {
                Decoder::Idle => 0,
                Decoder::Plain => self.copy()?,
                Decoder::Gzip(_) => self.inflate()?,
                Decoder::Zstd => self.decode_frame()?,
            };
            if made > 0 {
                self.window.extend_from_slice(&self.step[..made]);
                self.step.resize(STEP, 0);
                return Ok(true);
            }
            if matches!(self.decoder, Decoder::Plain) {
                return Ok(false);
            }
        }
    }

    /// Brings more of the file into memory. `false` at its end.
    fn read_raw(&mut self) -> Result<bool, ReadError> {
        if self.is_at_end {
            return Ok(false);
        }
        if self.raw_at > KEPT {
            self.raw.drain(..self.raw_at - KEPT);
            self.raw_at = KEPT;
        }
        let filled = self.raw.len();
        let more = if filled == 0 { FIRST_RAW } else { RAW };
        self.raw.resize(filled + more, 0);
        let read = loop {
            match self.input.read(&mut self.raw[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.raw.truncate(filled + *read.as_ref().unwrap_or(&0));
        let read = read.map_err(|source| ReadError::Input {
            offset: self.offset,
            source,
        })?;
        self.is_at_end = read == 0;
        Ok(read > 0)
    }

    fn rest(&self) -> &[u8] {
        &self.raw[self.raw_at..]
    }

    fn advance(&mut self, count: usize) {
        self.raw_at += count;
        self.offset += count as u64;
    }

    /// At least so many bytes of the file, fewer only at its end.
    fn peek(&mut self, count: usize) -> Result<&[u8], ReadError> {
        while self.rest().len() < count && self.read_raw()? {}
        Ok(self.rest())
    }

    /// Begins the next member. `false` if there is none.
    fn begin(&mut self) -> Result<bool, ReadError> {
        let start = self.peek(4)?;
        if start.is_empty() {
            return Ok(false);
        }
        let packing = Packing::from_start(start);
        let packing = *self.packing.get_or_insert(packing);
        if !packing.begins(self.rest()) {
            self.member = self.offset;
            return Err(self.damaged(io::Error::other("no member begins here")));
        }
        self.member = self.offset;
        match packing {
            Packing::Plain => self.decoder = Decoder::Plain,
            Packing::Gzip => self.decoder = Decoder::Gzip(Box::new(Decompress::new_gzip(15))),
            Packing::Zstd if is_skippable(self.rest()) => return self.skip_frame(),
            Packing::Zstd => self.begin_frame()?,
        }
        let decoded = self.decoded + self.window().len() as u64;
        // Members without content begin where the next one does.
        if self
            .marks
            .back()
            .is_some_and(|last| last.decoded == decoded)
        {
            self.marks.pop_back();
        }
        self.marks.push_back(Mark {
            decoded,
            offset: self.member,
        });
        self.drop_marks();
        Ok(true)
    }

    fn copy(&mut self) -> Result<usize, ReadError> {
        if self.rest().is_empty() {
            self.read_raw()?;
        }
        let count = self.rest().len().min(self.step.len());
        self.step[..count].copy_from_slice(&self.raw[self.raw_at..][..count]);
        self.advance(count);
        Ok(count)
    }

    fn inflate(&mut self) -> Result<usize, ReadError> {
        self.peek(1)?;
        let Decoder::Gzip(inflate) = &mut self.decoder else {
            return Ok(0);
        };
        let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
        let input = &self.raw[self.raw_at..];
        let status = inflate.decompress(input, &mut self.step, FlushDecompress::None);
        let taken = (inflate.total_in() - before_in) as usize;
        let made = (inflate.total_out() - before_out) as usize;
        self.advance(taken);
        match status {
            Ok(Status::StreamEnd) => self.decoder = Decoder::Idle,
            Ok(_) if taken == 0 && made == 0 => return Err(self.stuck()),
            Ok(_) => {}
            Err(error) => self.damaged_after(made, io::Error::other(error))?,
        }
        Ok(made)
    }

    fn begin_frame(&mut self) -> Result<(), ReadError> {
        let begun = match &mut self.frames {
            Some(frames) => frames.reinit(),
            none => new_frames(&self.dictionary).map(|frames| *none = Some(frames)),
        };
        begun.map_err(|error| self.damaged(error))?;
        self.decoder = Decoder::Zstd;
        Ok(())
    }

    fn decode_frame(&mut self) -> Result<usize, ReadError> {
        self.peek(1)?;
        let Some(frames) = &mut self.frames else {
            return Ok(0);
        };
        let mut input = InBuffer::around(&self.raw[self.raw_at..]);
        let mut output = OutBuffer::around(&mut self.step[..]);
        let left = frames.run(&mut input, &mut output);
        let (taken, made) = (input.pos(), output.pos());
        self.advance(taken);
        match left {
            Ok(0) => self.decoder = Decoder::Idle,
            Ok(_) if taken == 0 && made == 0 => return Err(self.stuck()),
            Ok(_) => {}
            Err(error) => self.damaged_after(made, error)?,
        }
        Ok(made)
    }

    /// Passes a skippable frame, and keeps it if it is the dictionary at the file's start.
    fn skip_frame(&mut self) -> Result<bool, ReadError> {
        let head: [u8; 8] = match self.peek(8)?.first_chunk() {
            Some(head) => *head,
            None => return Err(self.cut_short()),
        };
        self.advance(8);
        let mut left = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
        let is_dictionary = head[..4] == MAGIC && self.member == 0;
        let mut kept = (is_dictionary && left <= DICTIONARY).then(Vec::new);
        while left > 0 {
            if self.rest().is_empty() && !self.read_raw()? {
                return Err(self.cut_short());
            }
            let count = (self.rest().len() as u64).min(left) as usize;
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(&self.raw[self.raw_at..][..count]);
            }
            self.advance(count);
            left -= count as u64;
        }
        if is_dictionary {
            let unpacked = kept.ok_or_else(|| io::Error::other("the dictionary is too large"));
            let unpacked = unpacked.and_then(unpacked_dictionary);
            self.dictionary = unpacked.map_err(|error| self.damaged(error))?;
            self.frames = None;
        }
        Ok(true)
    }

    fn damaged(&mut self, source: io::Error) -> ReadError {
        self.decoder = Decoder::Idle;
        self.needs_resync = true;
        ReadError::Damaged {
            offset: self.member,
            source,
        }
    }

    /// What was made before the damage is handed out before the damage is told.
    fn damaged_after(&mut self, made: usize, source: io::Error) -> Result<(), ReadError> {
        let damage = self.damaged(source);
        if made == 0 {
            return Err(damage);
        }
        self.pending = Some(damage);
        Ok(())
    }

    fn cut_short(&mut self) -> ReadError {
        self.damaged(io::ErrorKind::UnexpectedEof.into());
        ReadError::Truncated {
            offset: self.member,
        }
    }

    /// A decoder that neither takes nor makes anything lacks input, or is lost.
    fn stuck(&mut self) -> ReadError {
        if self.rest().is_empty() {
            return self.cut_short();
        }
        self.damaged(io::Error::other("the decoder is stuck"))
    }

    /// Goes to the next place that looks like a member, behind the beginning of the damaged one.
    fn resync(&mut self) -> Result<(), ReadError> {
        self.needs_resync = false;
        let back = (self.offset - self.member).saturating_sub(1);
        let back = self
            .raw_at
            .min(KEPT)
            .min(usize::try_from(back).unwrap_or(KEPT));
        self.raw_at -= back;
        self.offset -= back as u64;
        if self.offset == self.member {
            let is_more = !self.peek(1)?.is_empty();
            self.advance(usize::from(is_more));
        }
        let magic: &[u8] = match self.packing {
            Some(Packing::Gzip) => &GZIP,
            Some(Packing::Zstd) => &ZSTD,
            _ => return Ok(()),
        };
        loop {
            let found = memchr::memmem::find(self.rest(), magic);
            // The magic may lie across the end of what is in memory.
            let passed = self.rest().len().saturating_sub(magic.len() - 1);
            self.advance(found.unwrap_or(passed));
            if found.is_some() {
                return Ok(());
            }
            if !self.read_raw()? {
                self.advance(self.rest().len());
                return Ok(());
            }
        }
    }
}

fn new_frames(dictionary: &[u8]) -> io::Result<Frames<'static>> {
    let mut frames = Frames::with_dictionary(dictionary)?;
    frames.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
    Ok(frames)
}

/// A dictionary stands as it is, or packed itself.
fn unpacked_dictionary(kept: Vec<u8>) -> io::Result<Vec<u8>> {
    if !kept.starts_with(&ZSTD) {
        return Ok(kept);
    }
    let mut decoder = zstd::stream::read::Decoder::new(&kept[..])?;
    decoder.window_log_max(WINDOW_LOG)?;
    let mut dictionary = Vec::new();
    decoder.take(DICTIONARY + 1).read_to_end(&mut dictionary)?;
    if dictionary.len() as u64 > DICTIONARY {
        return Err(io::Error::other("the dictionary is too large"));
    }
    Ok(dictionary)
}

/// Whether a gzip member begins with the next bytes.
pub(super) fn is_gzip_next<R: Read>(input: R) -> io::Result<bool> {
    let mut start = Vec::with_capacity(GZIP.len());
    input.take(GZIP.len() as u64).read_to_end(&mut start)?;
    Ok(start == GZIP)
}

/// The dictionary at the start of a file, if there is one.
pub(crate) fn dictionary<R: Read>(input: R) -> Result<Vec<u8>, ReadError> {
    let mut members = Members::new(input, 0, Vec::new());
    let start = members.peek(4)?;
    if start.starts_with(&MAGIC) {
        members.skip_frame()?;
    }
    Ok(members.dictionary)
}
