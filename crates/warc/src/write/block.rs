//! The block of a record: bytes in memory, in files, or both.
//!
//! Owns reading it piece by piece and hashing it once. Invariant: never holds more of a file than
//! one buffer.

use std::fs::File;
use std::io;

use clewline_platform::file::read_exact_at;

use crate::chunked::{Dechunker, Framing};
use crate::digest::{Digest, Hasher};
use crate::http;

/// Bytes of a file that are read at once.
const BUFFER: usize = 64 * 1024;

/// What stands after a record's header.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    head: &'a [u8],
    parts: Vec<Part<'a>>,
    length: u64,
    digest: Option<Digest>,
}

#[derive(Debug, Clone, Copy)]
enum Part<'a> {
    Bytes(&'a [u8]),
    File {
        file: &'a File,
        start: u64,
        length: u64,
    },
}

/// The digests of a block, made in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Examined {
    /// Of the whole block.
    pub block: Digest,
    /// Of the payload in it.
    pub payload: Payload,
}

/// The payload of an HTTP message: its body without the transfer coding, with the content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    /// Of the payload's bytes.
    pub digest: Digest,
    /// How many they are.
    pub length: u64,
    /// How they lie in the body.
    pub framing: Framing,
}

impl<'a> Block<'a> {
    /// A block that is no message: bytes, to which more may be added.
    pub fn plain(bytes: &'a [u8]) -> Self {
        Self::message(&[]).bytes(bytes)
    }

    /// An HTTP message that begins with this head, its empty line included.
    pub fn message(head: &'a [u8]) -> Self {
        Self {
            head,
            parts: Vec::new(),
            length: head.len() as u64,
            digest: None,
        }
    }

    /// With these bytes after what there is.
    #[must_use]
    pub fn bytes(mut self, bytes: &'a [u8]) -> Self {
        self.push(Part::Bytes(bytes), bytes.len() as u64);
        self
    }

    /// With so many bytes of a file, from `start`. The file's own position is not moved.
    #[must_use]
    pub fn file(mut self, file: &'a File, start: u64, length: u64) -> Self {
        let part = Part::File {
            file,
            start,
            length,
        };
        self.push(part, length);
        self
    }

    /// With the digest that was made of it while it came, so that it need not be read for that.
    #[must_use]
    pub fn digested(mut self, digest: Digest) -> Self {
        self.digest = Some(digest);
        self
    }

    fn push(&mut self, part: Part<'a>, length: u64) {
        self.digest = None;
        self.length += length;
        self.parts.push(part);
    }

    /// The `Content-Length` of the record.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads all of it once for both digests. The block remembers its own, so that writing it
    /// does not read it a third time.
    pub fn examine(&mut self) -> io::Result<Examined> {
        let mut whole = Hasher::default();
        whole.update(self.head);
        let mut payload = PayloadHasher::new(http::is_chunked(self.head));
        self.each_body(&mut |piece| {
            whole.update(piece);
            payload.update(piece);
            true
        })?;
        let block = whole.finish();
        self.digest = Some(block);
        let payload = payload.finish();
        Ok(Examined { block, payload })
    }

    /// The digest of the whole block.
    pub(super) fn digest(&self) -> io::Result<Digest> {
        if let Some(digest) = self.digest {
            return Ok(digest);
        }
        let mut whole = Hasher::default();
        whole.update(self.head);
        self.each_body(&mut |piece| {
            whole.update(piece);
            true
        })?;
        Ok(whole.finish())
    }

    pub(super) fn head(&self) -> &'a [u8] {
        self.head
    }

    /// Hands on what follows the head, piece by piece, until the taker answers no.
    pub(super) fn each_body(&self, take: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<()> {
        for part in &self.parts {
            let wanted = match *part {
                Part::Bytes(bytes) => take(bytes),
                Part::File {
                    file,
                    start,
                    length,
                } => each_of_file(file, start, length, take)?,
            };
            if !wanted {
                break;
            }
        }
        Ok(())
    }
}

fn each_of_file(
    file: &File,
    start: u64,
    length: u64,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<bool> {
    let mut buffer = vec![0; BUFFER.min(usize::try_from(length).unwrap_or(BUFFER))];
    let (mut at, end) = (start, start.saturating_add(length));
    while at < end {
        let size = buffer
            .len()
            .min(usize::try_from(end - at).unwrap_or(BUFFER));
        let piece = &mut buffer[..size];
        read_exact_at(file, piece, at)?;
        at += size as u64;
        if !take(piece) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Hashes the payload while the body goes by. Whether a body said to be chunked is chunked shows
/// only in its first line, so the body as it is gets hashed along until that is known.
pub(crate) struct PayloadHasher {
    chunks: Option<Dechunker>,
    payload: Hasher,
    length: u64,
    plain: Option<Hasher>,
    plain_length: u64,
}

impl PayloadHasher {
    pub(crate) fn new(is_chunked: bool) -> Self {
        Self::with(Hasher::default(), is_chunked)
    }

    /// With a fresh hasher of any algorithm.
    pub(crate) fn with(hasher: Hasher, is_chunked: bool) -> Self {
        Self {
            chunks: is_chunked.then(Dechunker::default),
            plain: is_chunked.then(|| hasher.clone()),
            payload: hasher,
            length: 0,
            plain_length: 0,
        }
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        let Some(chunks) = &mut self.chunks else {
            self.payload.update(piece);
            self.length += piece.len() as u64;
            return;
        };
        let (payload, length) = (&mut self.payload, &mut self.length);
        chunks.feed(piece, |run| {
            payload.update(run);
            *length += run.len() as u64;
        });
        if chunks.has_begun() {
            self.plain = None;
        } else if let Some(plain) = &mut self.plain {
            plain.update(piece);
            self.plain_length += piece.len() as u64;
        }
    }

    pub(crate) fn finish(self) -> Payload {
        let framing = self
            .chunks
            .as_ref()
            .map_or(Framing::Identity, Dechunker::framing);
        let (hasher, length) = match self.plain {
            Some(plain) if framing == Framing::Undone => (plain, self.plain_length),
            _ => (self.payload, self.length),
        };
        Payload {
            digest: hasher.finish(),
            length,
            framing,
        }
    }
}
