//! A body that is read whole, at its end.
//!
//! Owns the bytes of formats that are small or rare enough not to be streamed, and takes off
//! the gzip that sitemaps are published in. Refuses to know the formats. Invariant: never more
//! than the limit is held, and a bomb is stopped at that size, not after it.

use std::io::{Error, Write};

use flate2::write::MultiGzDecoder;

const TOO_LARGE: &str = "the content is too large to be read whole";
const NOT_GZIP: &str = "the gzip data is damaged";

/// The first bytes of gzip (RFC 1952 section 2.3.1).
const GZIP_MAGIC: &[u8] = b"\x1f\x8b";

/// Bytes up to a limit.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> Result<usize, Error> {
        let room = self.limit - self.bytes.len();
        self.is_full |= piece.len() > room;
        self.bytes
            .extend_from_slice(&piece[..piece.len().min(room)]);
        // To accept nothing is how a writer says that it is full.
        Ok(piece.len().min(room))
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

enum Form {
    Plain(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
}

/// Gathers a body.
pub(super) struct BodyBuffer {
    form: Form,
    is_damaged: bool,
}

impl BodyBuffer {
    pub(super) fn plain(limit: usize) -> Self {
        let bounded = Bounded {
            bytes: Vec::new(),
            limit,
            is_full: false,
        };
        Self {
            form: Form::Plain(bounded),
            is_damaged: false,
        }
    }

    /// A body that is gunzipped if its first bytes say so.
    pub(super) fn perhaps_gzip(first: &[u8], limit: usize) -> Self {
        let bounded = Bounded {
            bytes: Vec::new(),
            limit,
            is_full: false,
        };
        let form = if first.starts_with(GZIP_MAGIC) {
            Form::Gzip(Box::new(MultiGzDecoder::new(bounded)))
        } else {
            Form::Plain(bounded)
        };
        Self {
            form,
            is_damaged: false,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        if self.is_damaged {
            return;
        }
        let written = match &mut self.form {
            Form::Plain(bounded) => bounded.write_all(piece),
            Form::Gzip(decoder) => decoder.write_all(piece),
        };
        self.is_damaged = written.is_err();
    }

    /// Bytes gathered so far.
    pub(super) fn len(&self) -> usize {
        match &self.form {
            Form::Plain(bounded) => bounded.bytes.len(),
            Form::Gzip(decoder) => decoder.get_ref().bytes.len(),
        }
    }

    /// What was gathered, and why it is not all.
    pub(super) fn finish(self) -> (Vec<u8>, Option<&'static str>) {
        let (bounded, is_damaged) = match self.form {
            Form::Plain(bounded) => (bounded, self.is_damaged),
            Form::Gzip(mut decoder) => {
                // An ended or a damaged stream has nothing more to give; a cut one has.
                let is_whole = !self.is_damaged && decoder.try_finish().is_ok();
                let bounded = decoder.get_mut();
                let limit = bounded.limit;
                let empty = Bounded {
                    bytes: Vec::new(),
                    limit,
                    is_full: false,
                };
                (std::mem::replace(bounded, empty), !is_whole)
            }
        };
        let problem = match (bounded.is_full, is_damaged) {
            (true, _) => Some(TOO_LARGE),
            (false, true) => Some(NOT_GZIP),
            (false, false) => None,
        };
        (bounded.bytes, problem)
    }
}
