//! Bodies made in the process: documents of a chosen shape, compressed bodies, bombs.
//!
//! Owns the making of bytes. Refuses to know who sends them. Invariant: the same arguments make
//! the same bytes, and memory is in proportion to what is returned.

use std::fmt::Write as _;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

/// Level at which bodies are compressed; tests care for the format, not the ratio.
const BROTLI_QUALITY: u32 = 5;
const BROTLI_WINDOW_LOG: u32 = 22;
/// How much is compressed per write when a bomb is made.
const BOMB_PORTION: usize = 64 << 10;
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
    compress(coding, |sink| sink.write_all(body))
}

/// `mebibytes` MiB of zeros, compressed.
pub fn bomb(coding: Coding, mebibytes: usize) -> Vec<u8> {
    if coding == Coding::Zstd {
        return zstd_bomb(mebibytes, ZSTD_WINDOW_LOG);
    }
    let zeros = vec![0_u8; BOMB_PORTION];
    let portions = mebibytes * ((1 << 20) / BOMB_PORTION);
    compress(coding, |sink| {
        (0..portions).try_for_each(|_| sink.write_all(&zeros))
    })
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

fn compress(coding: Coding, feed: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Vec<u8> {
    try_compress(coding, feed).expect("writing to a vector does not fail")
}

fn try_compress(
    coding: Coding,
    feed: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    match coding {
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            feed(&mut encoder)?;
            encoder.finish()
        }
        Coding::Deflate => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            feed(&mut encoder)?;
            encoder.finish()
        }
        Coding::RawDeflate => {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            feed(&mut encoder)?;
            encoder.finish()
        }
        Coding::Brotli => {
            let mut encoder = brotli::CompressorWriter::new(
                Vec::new(),
                BOMB_PORTION,
                BROTLI_QUALITY,
                BROTLI_WINDOW_LOG,
            );
            feed(&mut encoder)?;
            Ok(encoder.into_inner())
        }
        Coding::Zstd => {
            let mut encoder = zstd::stream::Encoder::new(Vec::new(), 0)?;
            feed(&mut encoder)?;
            encoder.finish()
        }
    }
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
