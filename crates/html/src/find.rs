//! Finding a byte that is near.
//!
//! Owns searches that are cheap to begin: the next `<` or quote is mostly within a few words,
//! where choosing a vector search by what the processor can do costs more than the search.
//! Refuses to be the fastest over a distance.

use memchr::{memchr, memchr2};

/// Where the first byte of this value is.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn find(needle: u8, bytes: &[u8]) -> Option<usize> {
    use memchr::arch::x86_64::sse2::memchr::One;
    // All processors of this kind have what it takes, so this becomes part of the caller.
    match One::new(needle) {
        Some(search) => search.find(bytes),
        None => memchr(needle, bytes),
    }
}

/// Where the first byte of this value is.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn find(needle: u8, bytes: &[u8]) -> Option<usize> {
    /// How many words are looked at before the vector search takes over.
    const WORDS: usize = 4;
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
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

/// Where the first byte of either value is.
#[inline]
pub fn find_either(one: u8, other: u8, bytes: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(search) = memchr::arch::x86_64::sse2::memchr::Two::new(one, other) {
        return search.find(bytes);
    }
    memchr2(one, other, bytes)
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
                    assert_eq!(find_either(b'#', b'<', &bytes), Some(at));
                    assert_eq!(find_either(b'<', b'#', &bytes), Some(at));
                }
            }
        }
    }
}
