//! Finding a byte that is near.
//!
//! Owns a search that is cheap to begin: the next `<` or quote is mostly within a few words,
//! where setting up a vector search costs more than it saves. Beyond, the vector search takes
//! over.

use memchr::memchr;

/// How many words are looked at before.
const WORDS: usize = 4;

/// The lowest and the highest bit of each byte.
pub(super) const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
pub(super) const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Where the first byte of this value is.
pub(super) fn find(needle: u8, bytes: &[u8]) -> Option<usize> {
    let pattern = u64::from_ne_bytes([needle; 8]);
    let mut at = 0;
    for word in bytes.as_chunks::<8>().0.iter().take(WORDS) {
        // A byte that is equal is now zero; the lowest bit that remains is that of the first.
        let word = u64::from_le_bytes(*word) ^ pattern;
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr(needle, &bytes[at..]).map(|found| at + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_found_wherever_it_is() {
        for length in 0..80 {
            assert_eq!(find(b'<', &vec![b';'; length]), None);
            for at in 0..length {
                for filler in [b';', b'=', 0, 0xff, 0xbc] {
                    let mut bytes = vec![filler; length];
                    bytes[at] = b'<';
                    bytes[length - 1] = b'<';
                    assert_eq!(find(b'<', &bytes), Some(at), "{length} {filler}");
                }
            }
        }
    }
}
