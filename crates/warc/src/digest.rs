//! Digests of blocks and payloads.
//!
//! Owns hashing and the labelled spelling `sha1:` with base 32. It writes SHA-1, which the tools
//! of the field compare by, and reads SHA-1, SHA-256 and SHA-512, in base 32 or hexadecimal.

use std::fmt;

use aws_lc_rs::digest as hashes;

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The algorithm of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// The one that is written.
    Sha1,
    /// Read only.
    Sha256,
    /// Read only.
    Sha512,
}

impl Algorithm {
    const ALL: [Self; 3] = [Self::Sha1, Self::Sha256, Self::Sha512];

    /// The label in front of the digest.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    const fn size(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// Labels are written `sha1`, `SHA1` and `sha-1`.
    fn from_label(label: &str) -> Option<Self> {
        let plain = label.trim().replace('-', "").to_ascii_lowercase();
        Self::ALL.into_iter().find(|one| one.label() == plain)
    }
}

/// A digest and its algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest {
    algorithm: Algorithm,
    bytes: [u8; 64],
}

impl Digest {
    /// The SHA-1 of bytes.
    pub fn sha1(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Reads `label:digest`; nothing if the algorithm is not known or the length is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let (label, text) = text.trim().split_once(':')?;
        let algorithm = Algorithm::from_label(label)?;
        let text = text.trim_end_matches('=');
        let size = algorithm.size();
        let mut bytes = [0; 64];
        let read = if text.len() == size * 2 {
            from_digits(text, 4, &mut bytes[..size])
        } else if text.len() == (size * 8).div_ceil(5) {
            from_digits(text, 5, &mut bytes[..size])
        } else {
            None
        };
        read.map(|()| Self { algorithm, bytes })
    }

    /// How it was made.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The digest itself.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.algorithm.size()]
    }

    /// The digest in base 32, without its label.
    pub fn base32(&self) -> String {
        let digits = |group: &[u8]| {
            let mut bytes = [0; 8];
            bytes[3..3 + group.len()].copy_from_slice(group);
            let (bits, count) = (u64::from_be_bytes(bytes), (group.len() * 8).div_ceil(5));
            let digit = move |index| ALPHABET[(bits >> (35 - 5 * index)) as usize % 32];
            (0..count).map(move |index| char::from(digit(index)))
        };
        self.as_bytes().chunks(5).flat_map(digits).collect()
    }
}

/// Reads digits of so many bits each; bits beyond the last byte are ignored.
fn from_digits(text: &str, width: u32, out: &mut [u8]) -> Option<()> {
    let (mut held, mut bits) = (0_u32, 0);
    let mut out = out.iter_mut();
    for byte in text.bytes() {
        let digit = match (width, byte) {
            (4, _) => char::from(byte).to_digit(16)?,
            (_, b'2'..=b'7') => u32::from(byte - b'2') + 26,
            _ if byte.is_ascii_alphabetic() => u32::from(byte.to_ascii_uppercase() - b'A'),
            _ => return None,
        };
        held = (held << width) | digit;
        bits += width;
        if bits >= 8 {
            bits -= 8;
            *out.next()? = (held >> bits) as u8;
            held &= (1 << bits) - 1;
        }
    }
    out.next().is_none().then_some(())
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.algorithm.label(), self.base32())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Makes a digest of bytes that come in pieces.
#[derive(Clone)]
pub struct Hasher {
    algorithm: Algorithm,
    context: hashes::Context,
    /// Bytes of a block that is not full yet.
    begun: usize,
}

/// What SHA-1 takes at once.
const BLOCK: usize = 64;

impl Hasher {
    /// A hasher of this algorithm.
    pub fn new(algorithm: Algorithm) -> Self {
        let implementation = match algorithm {
            Algorithm::Sha1 => &hashes::SHA1_FOR_LEGACY_USE_ONLY,
            Algorithm::Sha256 => &hashes::SHA256,
            Algorithm::Sha512 => &hashes::SHA512,
        };
        Self {
            algorithm,
            context: hashes::Context::new(implementation),
            begun: 0,
        }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.begun = (self.begun + bytes.len()) % BLOCK;
    }

    /// As [`Hasher::update`] for both, which takes a third less time than one after the other:
    /// within a block every step waits for the one before, so a processor that has a block of
    /// each at hand works on both.
    pub fn update_both(&mut self, other: &mut Self, bytes: &[u8]) {
        let (mine, others) = (self.fill_block(bytes), other.fill_block(bytes));
        let (blocks, other_blocks) = (mine.as_chunks::<BLOCK>().0, others.as_chunks::<BLOCK>().0);
        for (block, other_block) in blocks.iter().zip(other_blocks) {
            self.context.update(block);
            other.context.update(other_block);
        }
        let woven = BLOCK * blocks.len().min(other_blocks.len());
        self.update(&mine[woven..]);
        other.update(&others[woven..]);
    }

    /// Takes what is missing in a block that was begun; answers what is left.
    fn fill_block<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let missing = (BLOCK - self.begun) % BLOCK;
        let (first, rest) = bytes.split_at(missing.min(bytes.len()));
        self.update(first);
        rest
    }

    /// The digest of all of them.
    pub fn finish(self) -> Digest {
        let made = self.context.finish();
        let mut bytes = [0; 64];
        bytes[..made.as_ref().len()].copy_from_slice(made.as_ref());
        Digest {
            algorithm: self.algorithm,
            bytes,
        }
    }
}

impl Default for Hasher {
    /// SHA-1.
    fn default() -> Self {
        Self::new(Algorithm::Sha1)
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Hasher")
            .field(&self.algorithm)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_field() {
        // The digest of nothing stands in many archives.
        assert_eq!(
            Digest::sha1(b"").to_string(),
            "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
        );
        assert_eq!(
            Digest::sha1(b"abc"),
            Digest::parse("SHA-1:a9993e364706816aba3e25717850c26c9cd0d89d").unwrap()
        );
    }

    #[test]
    fn two_at_once_are_as_one_after_the_other() {
        let bytes: Vec<u8> = (0..1000_u16).map(|number| (number % 251) as u8).collect();
        for head in [0, 1, 63, 64, 65, 200] {
            for piece in [1, 7, 63, 64, 65, 128, 500, 1000] {
                let (mut whole, mut body) = (Hasher::default(), Hasher::default());
                whole.update(&bytes[..head]);
                for piece in bytes[head..].chunks(piece) {
                    whole.update_both(&mut body, piece);
                }
                assert_eq!(whole.finish(), Digest::sha1(&bytes), "{head} {piece}");
                assert_eq!(
                    body.finish(),
                    Digest::sha1(&bytes[head..]),
                    "{head} {piece}"
                );
            }
        }
    }

    #[test]
    fn every_spelling_is_read() {
        for algorithm in Algorithm::ALL {
            let mut hasher = Hasher::new(algorithm);
            hasher.update(b"pieces ");
            hasher.update(b"of it");
            let digest = hasher.finish();
            let hex: Vec<_> = digest
                .as_bytes()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let hex = hex.concat();
            for text in [
                digest.to_string(),
                digest.to_string().to_lowercase(),
                format!("{}:{hex}", algorithm.label()),
                format!(" {digest}===="),
            ] {
                assert_eq!(Digest::parse(&text), Some(digest), "{text}");
            }
        }
        for text in [
            "",
            "sha1",
            "sha1:",
            "md5:abc",
            "sha1:zz",
            "sha1:0I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        ] {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
    }
}
