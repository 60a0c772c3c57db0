//! Bodies made in the process: documents of a chosen shape, compressed bodies, bombs.
//!
//! Owns the making of bytes. Refuses to know who sends them. Invariant: the same arguments make
//! the same bytes, and memory is in proportion to what is returned.

use std::fmt::Write as _;
use std::io::{self, Write};

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, Crc};

/// Level at which bodies are compressed; tests care for the format, not the ratio.
const BROTLI_QUALITY: u32 = 5;
const BROTLI_WINDOW_LOG: u32 = 22;
/// How many zeros a repeatable part of a bomb stands for; a whole number of them is one MiB.
const BOMB_PORTION: usize = 256 << 10;
/// The largest block a zstd frame may hold (RFC 8878 section 3.1.1.2.4).
const ZSTD_BLOCK: usize = 128 << 10;
/// Window of the zstd bomb of [`bomb`]: one MiB, which every decoder accepts.
const ZSTD_WINDOW_LOG: u8 = 20;

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate` as RFC 9110 means it: with the zlib wrapper.
    Deflate,
    /// `deflate` as many servers mean it: without the wrapper.
    RawDeflate,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
}

impl Coding {
    /// The token in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate | Self::RawDeflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// Compresses a body.
pub fn encode(coding: Coding, body: &[u8]) -> Vec<u8> {
    try_encode(coding, body).expect("writing to a vector does not fail")
}

fn try_encode(coding: Coding, body: &[u8]) -> io::Result<Vec<u8>> {
    match coding {
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(body)?;
            encoder.finish()
        }
        Coding::Deflate => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(body)?;
            encoder.finish()
        }
        Coding::RawDeflate => {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(body)?;
            encoder.finish()
        }
        Coding::Brotli => {
            let (quality, window) = (BROTLI_QUALITY, BROTLI_WINDOW_LOG);
            let buffer = body.len().clamp(1, BOMB_PORTION);
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), buffer, quality, window);
            encoder.write_all(body)?;
            Ok(encoder.into_inner())
        }
        Coding::Zstd => zstd::stream::encode_all(body, 0),
    }
}

/// `mebibytes` MiB of zeros, compressed; the time goes with the compressed size.
pub fn bomb(coding: Coding, mebibytes: usize) -> Vec<u8> {
    match coding {
        Coding::Zstd => zstd_bomb(mebibytes, ZSTD_WINDOW_LOG),
        Coding::Brotli => brotli_zeros(mebibytes),
        Coding::RawDeflate => deflate_zeros(mebibytes),
        Coding::Deflate => {
            // RFC 1950 section 8.2: over zeros the first sum stays 1, the second is the length.
            let sum = ((mebibytes << 20) % 65_521) << 16 | 1;
            let sum = (sum as u32).to_be_bytes();
            [&[0x78, 0x9C], &deflate_zeros(mebibytes)[..], &sum].concat()
        }
        Coding::Gzip => {
            let header = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF];
            let (sum, length) = (checksum_of_zeros(mebibytes), (mebibytes << 20) as u32);
            let trailer = [sum.to_le_bytes(), length.to_le_bytes()].concat();
            [&header[..], &deflate_zeros(mebibytes), &trailer].concat()
        }
    }
}

/// Zeros as deflate: the encoder makes two portions, the second of which can stand any number of
/// times, since it begins at a whole byte and all it refers back to are zeros.
fn deflate_zeros(mebibytes: usize) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let mut marks = [0; 2];
    for mark in &mut marks {
        feed_portion(&mut encoder);
        *mark = encoder.get_ref().len();
    }
    let bytes = encoder.finish().expect("writing to a vector does not fail");
    multiplied(&bytes, marks, mebibytes)
}

/// Zeros as brotli, in the same way.
fn brotli_zeros(mebibytes: usize) -> Vec<u8> {
    let (quality, window) = (BROTLI_QUALITY, BROTLI_WINDOW_LOG);
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), BOMB_PORTION, quality, window);
    let mut marks = [0; 2];
    for mark in &mut marks {
        feed_portion(&mut encoder);
        *mark = encoder.get_ref().len();
    }
    multiplied(&encoder.into_inner(), marks, mebibytes)
}

fn feed_portion(encoder: &mut dyn Write) {
    let zeros = vec![0; BOMB_PORTION];
    encoder
        .write_all(&zeros)
        .and_then(|()| encoder.flush())
        .expect("writing to a vector does not fail");
}

/// The first portion, the second as often as it takes, and the end.
fn multiplied(bytes: &[u8], [first, second]: [usize; 2], mebibytes: usize) -> Vec<u8> {
    let portions = (mebibytes << 20) / BOMB_PORTION;
    let middle = bytes[first..second].repeat(portions.saturating_sub(1));
    [&bytes[..first], &middle, &bytes[second..]].concat()
}

fn checksum_of_zeros(mebibytes: usize) -> u32 {
    let mut one = Crc::new();
    one.update(&vec![0; 1 << 20]);
    let mut sum = Crc::new();
    for _ in 0..mebibytes {
        sum.combine(&one);
    }
    sum.sum()
}

/// A zstd frame of zeros that asks its decoder for a window of 2^`window_log` bytes (10 to 41).
///
/// It is written by hand: run-length blocks of 4 bytes stand for 128 KiB each, and no encoder
/// would announce a window that large.
pub fn zstd_bomb(mebibytes: usize, window_log: u8) -> Vec<u8> {
    let exponent = window_log.clamp(10, 41) - 10;
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, exponent << 3];
    let block = ZSTD_BLOCK.min(1 << window_log.clamp(10, 41));
    let count = ((mebibytes << 20) / block).max(1);
    for index in 0..count {
        // RFC 8878 section 3.1.1.2: last block flag, type 1 (RLE), 21 bits of size.
        let header = u32::from(index + 1 == count) | (1 << 1) | ((block as u32) << 3);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// A page that links to each of these targets. The targets are put in as they are.
pub fn links<S: AsRef<str>>(targets: impl IntoIterator<Item = S>) -> String {
    let mut page = String::from("<!doctype html><title>links</title>\n");
    for target in targets {
        let target = target.as_ref();
        writeln!(page, "<a href=\"{target}\">{target}</a>").expect("a string takes any text");
    }
    page
}

/// A page with `count` distinct links, `{prefix}0` and upwards. A million make about 30 MB.
pub fn numbered_links(prefix: &str, count: usize) -> String {
    links((0..count).map(|number| format!("{prefix}{number}")))
}

/// A page of `depth` elements, each inside the one before, around one link to `target`.
pub fn nested(depth: usize, target: &str) -> String {
    format!(
        "<!doctype html>{}<a href=\"{target}\">deep</a>{}",
        "<div>".repeat(depth),
        "</div>".repeat(depth)
    )
}

/// A page with one element of `count` attributes, before a link to `target`.
pub fn attributes(count: usize, target: &str) -> String {
    let mut page = String::from("<!doctype html><p");
    for number in 0..count {
        write!(page, " a{number}=v").expect("a string takes any text");
    }
    write!(page, "><a href=\"{target}\">after</a>").expect("a string takes any text");
    page
}

/// A sitemap (or with `{{...}}` in the addresses, one of a running site) of these URLs.
pub fn sitemap<S: AsRef<str>>(urls: impl IntoIterator<Item = S>) -> String {
    listing("urlset", "url", urls)
}

/// A sitemap index of these sitemaps.
pub fn sitemap_index<S: AsRef<str>>(urls: impl IntoIterator<Item = S>) -> String {
    listing("sitemapindex", "sitemap", urls)
}

fn listing<S: AsRef<str>>(root: &str, item: &str, urls: impl IntoIterator<Item = S>) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    for url in urls {
        let url = url.as_ref().replace('&', "&amp;").replace('<', "&lt;");
        writeln!(text, "<{item}><loc>{url}</loc></{item}>").expect("a string takes any text");
    }
    text + "</" + root + ">\n"
}
