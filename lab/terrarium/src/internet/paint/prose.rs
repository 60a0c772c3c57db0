//! Text for articles.
//!
//! Owns a few dozen paragraphs of nonsense, made once. They are plain ASCII, so that they stand
//! in every encoding.

use crate::internet::chance::{Chance, Draw, Topic};

/// Paragraphs to choose from.
const PARAGRAPHS: u64 = 64;
/// Words in a paragraph.
const WORDS: u64 = 64;

const SUBJECTS: [&str; 16] = [
    "the keeper",
    "a lantern",
    "this river",
    "her brother",
    "the old town",
    "a letter",
    "the north wind",
    "his orchard",
    "an empty boat",
    "the market",
    "a narrow road",
    "the bell",
    "our neighbour",
    "the winter",
    "a blue door",
    "the map",
];
const VERBS: [&str; 16] = [
    "remembers",
    "follows",
    "carries",
    "forgets",
    "answers",
    "leaves",
    "paints",
    "repairs",
    "watches",
    "borrows",
    "finds",
    "counts",
    "opens",
    "crosses",
    "keeps",
    "meets",
];
const ENDS: [&str; 16] = [
    "before the rain",
    "without a word",
    "for many years",
    "at the harbour",
    "in the morning",
    "behind the mill",
    "as if by chance",
    "under the bridge",
    "with both hands",
    "once again",
    "after the feast",
    "along the shore",
    "by candle light",
    "for no reason",
    "near the well",
    "on the way home",
];

/// The paragraphs.
pub(super) struct Prose {
    paragraphs: Vec<Vec<u8>>,
}

impl Prose {
    pub(super) fn new() -> Self {
        // The same for every seed: what differs between pages is which paragraphs they have.
        let chance = Chance::new(0);
        let paragraphs = (0..PARAGRAPHS).map(|number| paragraph(chance, number));
        Self {
            paragraphs: paragraphs.collect(),
        }
    }

    /// One of the paragraphs, with its markup.
    pub(super) fn pick(&self, number: u64) -> &[u8] {
        &self.paragraphs[number as usize % self.paragraphs.len()]
    }
}

/// A few words for a link or a title.
pub(super) fn phrase(draw: Draw) -> [&'static str; 2] {
    let bits = draw.bits() as usize;
    [SUBJECTS[bits % 16], ENDS[bits / 16 % 16]]
}

fn paragraph(chance: Chance, number: u64) -> Vec<u8> {
    let mut text = b"<p>".to_vec();
    for word in 0..WORDS / 8 {
        let bits = chance.draw(Topic::Text, number, word).bits() as usize;
        let sentence = [
            SUBJECTS[bits % 16],
            VERBS[bits / 16 % 16],
            SUBJECTS[bits / 256 % 16],
            ENDS[bits / 4096 % 16],
        ]
        .join(" ");
        let mut letters = sentence.into_bytes();
        letters[0].make_ascii_uppercase();
        text.extend_from_slice(&letters);
        text.extend_from_slice(b". ");
    }
    text.extend_from_slice(b"</p>\n");
    text
}
