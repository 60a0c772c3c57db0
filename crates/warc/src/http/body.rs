//! The body of a recorded message: its payload, and what the payload decodes to.
//!
//! Owns taking off the transfer coding and the content codings, each while reading. Invariant: a
//! coded body can't make more bytes than its reader allows, nor hold a window beyond the limit.

use std::io::{self, BufRead, Cursor, Read};

use super::{HttpHead, LONGEST_HEAD, length};
use crate::chunked::{Dechunker, Framing};

/// Bytes that are taken from a body at once.
const STEP: usize = 16 * 1024;
/// More codings than this on top of each other are an attack.
const MOST_CODINGS: usize = 4;
/// The largest window of a zstd body, as a power of two (RFC 9659).
const WINDOW_LOG: u32 = 23;

/// Reads a block up to the end of the message's head. The head comes with its empty line; without
/// one all bytes, up to [`LONGEST_HEAD`], are head. What is left of the block follows.
pub fn split<R: BufRead>(mut block: R) -> io::Result<(Vec<u8>, impl Read)> {
    let mut head = Vec::new();
    let mut searched = 0;
    let end = loop {
        // Two bytes of an empty line may be there already, behind the line feed before it.
        if let Some(end) = length(&head[searched..]) {
            break searched + end;
        }
        searched = head.len().saturating_sub(3);
        let piece = match block.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        if piece.is_empty() || head.len() >= LONGEST_HEAD {
            break head.len();
        }
        let count = piece.len();
        head.extend_from_slice(piece);
        block.consume(count);
    };
    let rest = head.split_off(end);
    Ok((head, Cursor::new(rest).chain(block)))
}

/// The payload of a body: chunks taken off if the head says so.
pub fn payload<R: Read>(head: HttpHead<'_>, body: R) -> PayloadReader<R> {
    PayloadReader {
        body,
        chunks: head.is_chunked().then(Dechunker::default),
        held: Vec::new(),
        ready: Vec::new(),
        at: 0,
    }
}

/// Reads a payload.
#[derive(Debug)]
pub struct PayloadReader<R> {
    body: R,
    chunks: Option<Dechunker>,
    /// The body as it came, until its first line shows that it is chunked.
    held: Vec<u8>,
    ready: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for PayloadReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let ready = &self.ready[self.at..];
            if !ready.is_empty() {
                let count = ready.len().min(out.len());
                out[..count].copy_from_slice(&ready[..count]);
                self.at += count;
                return Ok(count);
            }
            if self.chunks.is_none() {
                return self.body.read(out);
            }
            if !self.refill()? {
                return Ok(0);
            }
        }
    }
}

impl<R: Read> PayloadReader<R> {
    fn refill(&mut self) -> io::Result<bool> {
        let Some(chunks) = &mut self.chunks else {
            return Ok(false);
        };
        let mut step = [0; STEP];
        let count = self.body.read(&mut step)?;
        let piece = &step[..count];
        self.ready.clear();
        self.at = 0;
        let ready = &mut self.ready;
        chunks.feed(piece, |run| ready.extend_from_slice(run));
        if chunks.has_begun() {
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(piece);
        }
        if chunks.framing() == Framing::Undone {
            self.ready = std::mem::take(&mut self.held);
            self.chunks = None;
            return Ok(true);
        }
        Ok(count > 0)
    }
}

/// What a payload decodes to, at most `limit` bytes of it: more is an error, as are codings that
/// are not known.
pub fn decoded<'a>(
    codings: &[String],
    payload: impl Read + 'a,
    limit: u64,
) -> io::Result<Box<dyn Read + 'a>> {
    if codings.len() > MOST_CODINGS {
        return Err(unsupported(&format!("{} content codings", codings.len())));
    }
    let mut reader: Box<dyn Read + 'a> = Box::new(payload);
    for coding in codings.iter().rev() {
        reader = match coding.as_str() {
            "gzip" | "x-gzip" => gunzipped(reader)?,
            "deflate" => inflated(reader)?,
            "br" => Box::new(brotli_decompressor::Decompressor::new(reader, STEP)),
            "zstd" => {
                let mut decoder = zstd::stream::read::Decoder::new(reader)?;
                decoder.window_log_max(WINDOW_LOG)?;
                Box::new(decoder)
            }
            other => return Err(unsupported(&format!("the content coding {other:?}"))),
        };
    }
    Ok(Box::new(Limited {
        reader,
        left: limit,
    }))
}

fn unsupported(what: &str) -> io::Error {
    let message = format!("{what} cannot be decoded; ask for the payload as it is");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// What is labelled as gzip and does not begin like it is not coded at all: the crawler and
/// browsers read such pages.
fn gunzipped<'a>(mut reader: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::new();
    reader.by_ref().take(2).read_to_end(&mut start)?;
    let is_gzip = b"\x1f\x8b".starts_with(&start);
    let whole = Cursor::new(start).chain(reader);
    Ok(if is_gzip {
        Box::new(flate2::read::MultiGzDecoder::new(whole))
    } else {
        Box::new(whole)
    })
}

/// `deflate` means zlib's format; many servers send it bare, and both are told apart by zlib's
/// two bytes of header.
fn inflated<'a>(mut reader: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::new();
    reader.by_ref().take(2).read_to_end(&mut start)?;
    let is_zlib = matches!(start[..], [first, second]
        if first & 15 == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31));
    let whole = Cursor::new(start).chain(reader);
    Ok(if is_zlib {
        Box::new(flate2::read::ZlibDecoder::new(whole))
    } else {
        Box::new(flate2::read::DeflateDecoder::new(whole))
    })
}

struct Limited<'a> {
    reader: Box<dyn Read + 'a>,
    left: u64,
}

impl Read for Limited<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(out)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let message = "the body decodes to more bytes than allowed";
            io::Error::new(io::ErrorKind::FileTooLarge, message)
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn all(mut reader: impl Read) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map(|_| bytes)
    }

    #[test]
    fn blocks_split_at_the_empty_line() {
        for (block, head) in [
            (&b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\n"[..], 25),
            (b"HTTP/1.1 200 OK\nA: b\n\nbody", 22),
            (b"HTTP/1.1 200 OK\r\nA: b", 21),
            (b"\r\n", 2),
            (b"", 0),
        ] {
            for size in 1..8 {
                let reader = io::BufReader::with_capacity(size, block);
                let (found, rest) = split(reader).unwrap();
                assert_eq!(found, &block[..head]);
                assert_eq!(all(rest).unwrap(), &block[head..]);
            }
        }
    }

    #[test]
    fn payloads_lose_their_chunks() {
        let chunked = HttpHead::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let plain = HttpHead::parse(b"HTTP/1.1 200 OK\r\n\r\n");
        for (head, body, expected) in [
            (chunked, &b"3\r\nabc\r\n0\r\n\r\n"[..], &b"abc"[..]),
            (chunked, b"<p>never chunked", b"<p>never chunked"),
            (chunked, b"3\r\nab", b"ab"),
            (chunked, b"", b""),
            (plain, b"3\r\nabc\r\n0\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n"),
        ] {
            for size in [1, 2, 100] {
                let body = io::BufReader::with_capacity(size, body);
                assert_eq!(all(payload(head, body)).unwrap(), expected);
            }
        }
    }

    fn coded(coding: &str, bytes: &[u8]) -> Vec<u8> {
        let level = flate2::Compression::fast();
        match coding {
            "gzip" => {
                let mut out = flate2::write::GzEncoder::new(Vec::new(), level);
                out.write_all(bytes).unwrap();
                out.finish().unwrap()
            }
            "deflate" => {
                let mut out = flate2::write::ZlibEncoder::new(Vec::new(), level);
                out.write_all(bytes).unwrap();
                out.finish().unwrap()
            }
            "bare deflate" => {
                let mut out = flate2::write::DeflateEncoder::new(Vec::new(), level);
                out.write_all(bytes).unwrap();
                out.finish().unwrap()
            }
            "br" => {
                let mut out = brotli::CompressorWriter::new(Vec::new(), 4096, 4, 20);
                out.write_all(bytes).unwrap();
                out.into_inner()
            }
            _ => zstd::stream::encode_all(bytes, 1).unwrap(),
        }
    }

    #[test]
    fn codings_come_off_within_the_limit() {
        let text = b"a page ".repeat(10_000);
        for coding in ["gzip", "deflate", "bare deflate", "br", "zstd"] {
            let body = coded(coding, &text);
            let named = coding.strip_prefix("bare ").unwrap_or(coding).to_owned();
            let limit = text.len() as u64;
            let reader = decoded(std::slice::from_ref(&named), &body[..], limit).unwrap();
            assert!(all(reader).unwrap() == text, "{coding}");
            let reader = decoded(&[named], &body[..], limit - 1).unwrap();
            let error = all(reader).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "{coding}");
        }
        let twice = coded("br", &coded("gzip", &text));
        let codings = ["gzip".to_owned(), "br".to_owned()];
        assert!(all(decoded(&codings, &twice[..], 1 << 20).unwrap()).unwrap() == text);
        let mislabelled = decoded(&["gzip".to_owned()], &text[..], 1 << 20).unwrap();
        assert!(all(mislabelled).unwrap() == text);
        for codings in [vec!["compress".to_owned()], vec!["gzip".to_owned(); 5]] {
            assert!(decoded(&codings, &b""[..], 1).is_err());
        }
    }
}
