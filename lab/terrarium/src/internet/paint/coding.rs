//! Content codings put together from parts.
//!
//! Owns the joints: how bytes that were compressed before and bytes that were not become one
//! valid stream. Deflate has stored blocks (RFC 1951 section 3.2.4), brotli uncompressed
//! meta-blocks (RFC 7932 section 9.2); both begin at a byte after a flush.

use flate2::Crc;

use super::Order;
use super::opening::Opening;
use crate::internet::chance::Draw;
use crate::internet::world::{Charset, Host, World};

/// A stored block of deflate holds this much.
const DEFLATE_BLOCK: usize = 65_535;
/// An uncompressed meta-block whose length has four nibbles holds this much.
const BROTLI_BLOCK: usize = 65_536;

/// The coding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wrapping {
    Plain,
    Gzip,
    Brotli,
}

impl Wrapping {
    /// What the host would use, if the client takes it.
    pub(super) fn choose(world: &World, order: &Order, host: &Host, draw: Draw) -> Self {
        let (gzip, brotli) = (world.shape.gzip, world.shape.brotli);
        match draw.below(1000) {
            _ if host.charset == Charset::Utf16 => Self::Plain,
            kind if kind < gzip && order.accepts_gzip => Self::Gzip,
            kind if kind >= gzip && kind < gzip + brotli && order.accepts_brotli => Self::Brotli,
            _ => Self::Plain,
        }
    }

    pub(super) fn header(self) -> &'static [u8] {
        match self {
            Self::Plain => b"",
            Self::Gzip => b"Content-Encoding: gzip\r\n",
            Self::Brotli => b"Content-Encoding: br\r\n",
        }
    }
}

/// Appends what follows an opening: the text, and the end of the coding.
pub(super) fn close(opening: &Opening, text: &[u8], out: &mut Vec<u8>) {
    match opening.wrapping {
        Wrapping::Plain => out.extend_from_slice(text),
        Wrapping::Gzip => {
            for block in text.chunks(DEFLATE_BLOCK) {
                let length = block.len() as u16;
                out.push(0);
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(&(!length).to_le_bytes());
                out.extend_from_slice(block);
            }
            // A last block of nothing, then the checksum and the length of the whole.
            out.extend_from_slice(&[1, 0, 0, 0xFF, 0xFF]);
            let (mut sum, mut end) = (Crc::new(), Crc::new());
            end.update(text);
            sum.combine(&opening.sum);
            sum.combine(&end);
            out.extend_from_slice(&sum.sum().to_le_bytes());
            out.extend_from_slice(&sum.amount().to_le_bytes());
        }
        Wrapping::Brotli => {
            for block in text.chunks(BROTLI_BLOCK) {
                // Not the last, four nibbles, the length less one, uncompressed.
                let header = ((block.len() as u32 - 1) << 3) | 1 << 19;
                out.extend_from_slice(&header.to_le_bytes()[..3]);
                out.extend_from_slice(block);
            }
            out.push(3);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::super::opening::{Openings, Style};
    use super::*;

    #[test]
    fn joined_streams_are_valid() {
        let mut openings = Openings::default();
        let style = Style::PLAIN;
        let text = "<p>the end\n".repeat(20_000);
        for size in [0.0, 3000.0, 70_000.0, 1_000_000.0] {
            let plain = openings.compressed(style, size, Wrapping::Plain);
            let expected = [&plain.bytes[..], text.as_bytes()].concat();
            for wrapping in [Wrapping::Gzip, Wrapping::Brotli] {
                let opening = openings.compressed(style, size, wrapping);
                let mut end = Vec::new();
                close(&opening, text.as_bytes(), &mut end);
                let whole = [&opening.bytes[..], &end].concat();
                let mut decoded = Vec::new();
                match wrapping {
                    Wrapping::Gzip => flate2::read::GzDecoder::new(&whole[..])
                        .read_to_end(&mut decoded)
                        .map(drop),
                    _ => brotli::BrotliDecompress(&mut &whole[..], &mut decoded),
                }
                .unwrap();
                assert!(decoded == expected, "{wrapping:?} {size}");
            }
        }
    }
}
