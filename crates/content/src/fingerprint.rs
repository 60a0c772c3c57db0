//! Whether two pages say the same, or nearly.
//!
//! Owns both fingerprints and how near ones form clusters. It refuses to know of pages: words
//! in, numbers out. Invariant: fingerprints never change between versions, since they are kept;
//! clusters cost `O(n log n)` time and `O(n)` memory whatever the numbers are.

use serde::Serialize;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::text::words;

/// Words in a shingle: enough to keep their order, few enough to survive small changes.
const SHINGLE: usize = 3;
/// Fingerprints that one is compared with in each table. Honest tables have a few in a bucket;
/// one that holds more is crossed by chains of neighbours.
const MOST_COMPARED: usize = 64;
/// The largest distance that clusters can be asked for.
pub const LARGEST_DISTANCE: u32 = 15;

/// What identifies the words of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Fingerprint {
    /// Equal if and only if the words are the same, whatever their case and the spaces between.
    pub exact: u64,
    /// `SimHash` over shingles of three words: differs in few bits where few words differ.
    pub near: u64,
}

impl Fingerprint {
    /// The fingerprints of a text, in one pass over its words.
    pub fn from_text(text: &str) -> Self {
        Self::with_count(text).0
    }

    /// The fingerprints of a text, and how many words it has.
    pub fn with_count(text: &str) -> (Self, usize) {
        let mut exact = Xxh3::new();
        let mut tally = BitTally::default();
        let mut last = [0_u64; SHINGLE];
        let mut count = 0_usize;
        let mut lower = String::with_capacity(2 * TOGETHER);
        for word in words(text) {
            let begin = lower.len();
            push_lower(word, &mut lower);
            lower.push(' ');
            last.rotate_left(1);
            last[SHINGLE - 1] = xxh3_64(&lower.as_bytes()[begin..]);
            if lower.len() >= TOGETHER {
                exact.update(lower.as_bytes());
                lower.clear();
            }
            count += 1;
            if count >= SHINGLE {
                tally.add(shingle(&last));
            }
        }
        if count < SHINGLE {
            tally.add(shingle(&last));
        }
        exact.update(lower.as_bytes());
        let fingerprint = Self {
            exact: exact.digest(),
            near: tally.majority(),
        };
        (fingerprint, count)
    }
}

/// Bytes of words that are hashed together, which is faster than one by one.
const TOGETHER: usize = 1024;

fn push_lower(word: &str, out: &mut String) {
    if word.is_ascii() {
        let begin = out.len();
        out.push_str(word);
        out[begin..].make_ascii_lowercase();
    } else {
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
}

fn shingle(words: &[u64; SHINGLE]) -> u64 {
    let mut bytes = [0; SHINGLE * 8];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    xxh3_64(&bytes)
}

/// Counts for each of 64 bits in how many numbers it is set: plane n holds bit n of all 64 counts,
/// so that a number is added to all of them with a few operations.
#[derive(Debug, Default)]
struct BitTally {
    planes: [u64; 32],
    added: u64,
}

impl BitTally {
    fn add(&mut self, number: u64) {
        self.added += 1;
        let mut carry = number;
        for plane in &mut self.planes {
            if carry == 0 {
                return;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// The bits that are set in more than half of the numbers.
    fn majority(&self) -> u64 {
        let count = |bit: u32| {
            let planes = self.planes.iter().rev();
            planes.fold(0, |sum: u64, plane| sum << 1 | (plane >> bit & 1))
        };
        let bits = (0..64).filter(|bit| 2 * count(*bit) > self.added);
        bits.fold(0, |sum, bit| sum | 1 << bit)
    }
}

/// Groups near fingerprints: for each place the place of the first of its cluster.
///
/// Two belong together if a chain of neighbours, each at most `distance` bits apart, joins
/// them; `distance` is cut at [`LARGEST_DISTANCE`]. Those that share an even block of bits are
/// compared, at most 64 with each in the order of a table.
///
/// ```
/// let clusters = clewline_content::clusters(&[0b1000, u64::MAX, 0b1001], 3);
/// assert_eq!(clusters, [0, 1, 0]);
/// ```
pub fn clusters(near: &[u64], distance: u32) -> Vec<usize> {
    let distance = distance.min(LARGEST_DISTANCE);
    let mut first: Vec<usize> = (0..near.len()).collect();
    let mut order = first.clone();
    // Of distance + 1 blocks at least one is equal in two numbers at most that far apart.
    let blocks = distance + 1;
    for block in 0..blocks {
        let start = block * 64 / blocks;
        let width = (block + 1) * 64 / blocks - start;
        let mask = u64::MAX >> (64 - width);
        let key = |place: usize| near[place].rotate_right(start);
        order.sort_unstable_by_key(|place| (key(*place) & mask, key(*place), *place));
        for (index, place) in order.iter().enumerate() {
            let others = order[index + 1..].iter().take(MOST_COMPARED);
            for other in others.take_while(|other| (key(**other) ^ key(*place)) & mask == 0) {
                if (near[*place] ^ near[*other]).count_ones() <= distance {
                    join(&mut first, *place, *other);
                }
            }
        }
    }
    for place in 0..first.len() {
        first[place] = root(&mut first, place);
    }
    first
}

fn root(first: &mut [usize], mut place: usize) -> usize {
    while first[place] != place {
        first[place] = first[first[place]];
        place = first[place];
    }
    place
}

fn join(first: &mut [usize], left: usize, right: usize) {
    let (left, right) = (root(first, left), root(first, right));
    // The smaller place is the root, so that a cluster is named by its first member.
    first[left.max(right)] = left.min(right);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_as_one_by_one() {
        let mut tally = BitTally::default();
        let mut weights = [0_i64; 64];
        let mut number = 1_u64;
        for round in 0..1000 {
            number = number
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(round % 64)
                ^ 7;
            tally.add(number);
            for (bit, weight) in weights.iter_mut().enumerate() {
                *weight += (number >> bit & 1).cast_signed() * 2 - 1;
            }
            let expected = (0..64).filter(|bit| weights[*bit] > 0);
            let expected = expected.fold(0_u64, |sum, bit| sum | 1 << bit);
            assert_eq!(tally.majority(), expected, "{round}");
        }
    }

    /// Fingerprints are kept, so they must never change.
    #[test]
    fn fingerprints_stay_as_they_are() {
        let long = "Ärger über Öl, 東京 and ASCII Words 42! ".repeat(60);
        for (text, exact, near) in [
            ("", 0x2d06_8005_38d3_94c2, 0x743d_f94e_e4c7_8a2a),
            (
                "The quick, brown FOX",
                0xa530_e886_f55a_3d8f,
                0x0088_0010_0024_8a56,
            ),
            (&long, 0xe2e1_f54c_b307_61fb, 0x7a5e_9ee1_fd5a_5058),
        ] {
            assert_eq!(
                Fingerprint::from_text(text),
                Fingerprint { exact, near },
                "{text}"
            );
        }
    }

    #[test]
    fn exact_sees_words_only() {
        let one = Fingerprint::from_text("The quick, brown FOX");
        assert_eq!(one, Fingerprint::from_text("the quick\nbrown fox."));
        assert_ne!(
            one.exact,
            Fingerprint::from_text("the quick brownfox").exact
        );
        assert_ne!(Fingerprint::from_text("").exact, one.exact);
    }

    #[test]
    fn near_texts_are_near_and_others_far() {
        let text: Vec<String> = (0..400)
            .map(|n| format!("word{}", n * 7919 % 1009))
            .collect();
        let mut changed = text.clone();
        changed[200] = "another".to_owned();
        let other: Vec<String> = (0..400).map(|n| format!("thing{}", n * 31 % 997)).collect();
        let near = |words: &[String]| Fingerprint::from_text(&words.join(" ")).near;
        assert!((near(&text) ^ near(&changed)).count_ones() <= 6);
        assert!((near(&text) ^ near(&other)).count_ones() > 16);
    }

    #[test]
    fn clusters_follow_the_distance() {
        let base = 0x0123_4567_89ab_cdef_u64;
        let near = [
            base,
            !base,
            base ^ 0b111,
            base ^ (1 << 63),
            !base ^ (1 << 20),
            0,
        ];
        assert_eq!(clusters(&near, 3), [0, 1, 0, 0, 1, 5]);
        assert_eq!(clusters(&near, 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(clusters(&[7, 7, 7], 0), [0, 0, 0]);
        assert_eq!(clusters(&[], 3), [0_usize; 0]);
    }

    #[test]
    fn equal_ones_cost_little() {
        let many = vec![42; 50_000];
        assert!(clusters(&many, 3).iter().all(|first| *first == 0));
    }
}
