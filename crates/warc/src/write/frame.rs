//! Records as zstd frames (RFC 8878), as the WARC specification of zstd wants them.
//!
//! Owns the levels and the fields that each frame must have: the size of its content, a
//! checksum, and the number of the dictionary if there is one.

use std::io::{self, Write};

use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd::zstd_safe::{
    CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, compress_bound, get_error_name,
};

use super::member::Effort;
use crate::dictionary::Dictionary;

/// Bytes of a stream that are written at once.
const BUFFER: usize = 128 * 1024;

/// The level of the library. A body that came compressed gains nothing by a higher one.
const fn level(effort: Effort) -> i32 {
    match effort {
        Effort::Usual => 3,
        Effort::Cheapest => -3,
    }
}

pub(super) struct ZstdFrames {
    dictionary: Option<Dictionary>,
    usual: Option<CCtx<'static>>,
    cheapest: Option<CCtx<'static>>,
    /// The effort of the record that is being written.
    effort: Effort,
    buffer: Vec<u8>,
}

impl ZstdFrames {
    pub(super) const fn new(dictionary: Option<Dictionary>) -> Self {
        Self {
            dictionary,
            usual: None,
            cheapest: None,
            effort: Effort::Usual,
            buffer: Vec::new(),
        }
    }

    pub(super) fn whole(
        &mut self,
        effort: Effort,
        record: &[u8],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.begin(effort, record.len() as u64)?;
        let most = compress_bound(record.len());
        if self.buffer.len() < most {
            self.buffer.resize(most, 0);
        }
        let (context, buffer) = self.parts()?;
        let made = context.compress2(buffer, record).map_err(refused)?;
        out.write_all(&buffer[..made])
    }

    pub(super) fn begin(&mut self, effort: Effort, length: u64) -> io::Result<()> {
        self.effort = effort;
        if self.buffer.len() < BUFFER {
            self.buffer.resize(BUFFER, 0);
        }
        let (context, _) = self.parts()?;
        context
            .reset(ResetDirective::SessionOnly)
            .and_then(|_| context.set_pledged_src_size(Some(length)))
            .map_err(refused)?;
        Ok(())
    }

    pub(super) fn add(&mut self, piece: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.run(piece, ZSTD_EndDirective::ZSTD_e_continue, out)
    }

    pub(super) fn end(&mut self, last: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.run(last, ZSTD_EndDirective::ZSTD_e_end, out)
    }

    fn run(
        &mut self,
        piece: &[u8],
        directive: ZSTD_EndDirective,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (context, buffer) = self.parts()?;
        let mut input = InBuffer::around(piece);
        loop {
            let mut made = OutBuffer::around(&mut buffer[..]);
            let left = context
                .compress_stream2(&mut made, &mut input, directive)
                .map_err(refused)?;
            out.write_all(made.as_slice())?;
            let is_done = match directive {
                ZSTD_EndDirective::ZSTD_e_continue => input.pos() == piece.len(),
                _ => left == 0,
            };
            if is_done {
                return Ok(());
            }
        }
    }

    /// The context for the present effort, and the place for what it makes.
    fn parts(&mut self) -> io::Result<(&mut CCtx<'static>, &mut [u8])> {
        let place = match self.effort {
            Effort::Usual => &mut self.usual,
            Effort::Cheapest => &mut self.cheapest,
        };
        if place.is_none() {
            *place = Some(context(self.effort, self.dictionary.as_ref())?);
        }
        let context = place.as_mut().expect("it was made above");
        Ok((context, &mut self.buffer))
    }
}

fn context(effort: Effort, dictionary: Option<&Dictionary>) -> io::Result<CCtx<'static>> {
    let mut context = CCtx::create();
    let level = CParameter::CompressionLevel(level(effort));
    for parameter in [level, CParameter::ChecksumFlag(true)] {
        context.set_parameter(parameter).map_err(refused)?;
    }
    if let Some(dictionary) = dictionary {
        context
            .load_dictionary(dictionary.bytes())
            .map_err(refused)?;
    }
    Ok(context)
}

fn refused(code: usize) -> io::Error {
    io::Error::other(get_error_name(code))
}
