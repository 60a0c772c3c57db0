//! The beginnings of pages: what every page of a size has in common, compressed once.
//!
//! Owns the style and script that make pages as heavy as they are, in a few sizes, encodings and
//! codings, made when they are first needed. Invariant: at most as many as there are
//! combinations, none larger than the largest size.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use flate2::{Compress, Compression, Crc, FlushCompress};

use super::Wrapping;
use crate::internet::chance::Topic;
use crate::internet::world::{Charset, Host, World};

/// Sizes are powers of two from here on; less than half of it is nothing.
const SMALLEST: usize = 1024;
/// The largest size.
const SIZES: u32 = 12;
const BROTLI_QUALITY: u32 = 5;
const BROTLI_WINDOW_LOG: u32 = 20;
const GZIP_HEADER: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF];
/// Hosts per thousand that name the encoding in the header, and of the others in UTF-8, those
/// that have a byte order mark instead of a meta element.
const IN_HEADER: u32 = 600;
const MARKED: u32 = 100;

/// How a page begins and where it names its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Style {
    pub(super) in_header: bool,
    charset: &'static str,
    has_mark: bool,
}

impl Style {
    #[cfg(test)]
    pub(super) const PLAIN: Self = Self {
        in_header: true,
        charset: "utf-8",
        has_mark: false,
    };

    pub(super) fn for_host(world: &World, host: &Host) -> Self {
        let draw = world.chance.draw(Topic::Declared, u64::from(host.id.0), 0);
        let in_header = !world.shape.furnished || draw.happens(IN_HEADER);
        let is_unicode = host.charset == Charset::Utf8;
        Self {
            in_header: in_header && host.charset != Charset::Utf16,
            charset: host.charset.name(),
            has_mark: !in_header && is_unicode && draw.bits() % 1000 < u64::from(MARKED),
        }
    }
}

/// A beginning in a coding that can be continued.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) wrapping: Wrapping,
    pub(super) bytes: Arc<[u8]>,
    /// The checksum of what it unpacks to.
    pub(super) sum: Crc,
}

type Key = (Style, u32, Wrapping);

/// All beginnings that were needed so far.
#[derive(Default)]
pub(super) struct Openings {
    made: HashMap<Key, Arc<Opening>>,
}

impl Openings {
    /// The beginning of about this many bytes before compression.
    pub(super) fn compressed(
        &mut self,
        style: Style,
        size: f64,
        wrapping: Wrapping,
    ) -> Arc<Opening> {
        let size = match size as usize / SMALLEST {
            0 => 0,
            times => (times.ilog2() + 1).min(SIZES),
        };
        let make = || Arc::new(make(style, size, wrapping));
        let key = (style, size, wrapping);
        Arc::clone(self.made.entry(key).or_insert_with(make))
    }
}

fn make(style: Style, size: u32, wrapping: Wrapping) -> Opening {
    let text = text(style, size);
    let mut sum = Crc::new();
    sum.update(&text);
    let bytes = match wrapping {
        Wrapping::Plain => Ok(text),
        Wrapping::Gzip => Ok(gzip(&text)),
        Wrapping::Brotli => {
            let (quality, window) = (BROTLI_QUALITY, BROTLI_WINDOW_LOG);
            let size = text.len().max(1);
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), size, quality, window);
            let written = encoder.write_all(&text).and_then(|()| encoder.flush());
            written.map(|()| encoder.get_ref().clone())
        }
    };
    Opening {
        wrapping,
        bytes: bytes.expect("writing to a vector does not fail").into(),
        sum,
    }
}

/// The text in gzip up to a flush; what ends the stream is left out, because the page goes on.
/// All of it in one call: the encoder for writers flushes through a small buffer, and when that
/// is full it goes on without the flush, which leaves the stream in the middle of a byte.
fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = GZIP_HEADER.to_vec();
    // Even what cannot be compressed grows by less than this.
    out.reserve(text.len() + text.len() / 8 + 1024);
    Compress::new(Compression::fast(), false)
        .compress_vec(text, &mut out, FlushCompress::Sync)
        .expect("compressing into enough room does not fail");
    out
}

/// The first lines of a page, and as much style and script as its size asks for.
pub(super) fn text(style: Style, size: u32) -> Vec<u8> {
    let mut text = Vec::new();
    if style.has_mark {
        text.extend_from_slice("\u{feff}".as_bytes());
    }
    text.extend_from_slice(b"<!doctype html>\n<html lang=\"en\"><head>\n");
    if !style.in_header && !style.has_mark {
        let declared = format!("<meta charset=\"{}\">\n", style.charset);
        text.extend_from_slice(declared.as_bytes());
    }
    if size == 0 {
        return text;
    }
    let size = (SMALLEST << size) / 2;
    text.extend_from_slice(b"<style>\n");
    let mut number = 0_u32;
    while text.len() < size / 3 {
        number += 1;
        let shade = number.wrapping_mul(2_654_435_761) >> 8;
        let rule = format!(
            ".c{number} .item-{} {{ margin: {}px {}px; color: #{shade:06x}; }}\n",
            number % 37,
            number % 17,
            shade % 29
        );
        text.extend_from_slice(rule.as_bytes());
    }
    text.extend_from_slice(b"</style>\n<script type=\"application/json\">[\n");
    while text.len() < size {
        number += 1;
        let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let item = format!(
            "{{\"id\": {number}, \"token\": \"{:08x}\", \"label\": \"entry {}\", \
             \"markup\": \"<a href='/decoy/script'>\"}},\n",
            mixed >> 32,
            mixed % 991
        );
        text.extend_from_slice(item.as_bytes());
    }
    text.extend_from_slice(b"{}]</script>\n");
    text
}
