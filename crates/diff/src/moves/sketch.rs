//! What a page is known by, in a few bytes.
//!
//! Owns the fingerprint of the main text, the sketch by which the likeness of two texts is
//! estimated, and the marks of title and path. It refuses to read bodies. Invariant: a sketch takes
//! less than 200 bytes, however long the page is.

use clewline_content::{Content, ContentLimits, Fingerprint, Url, words};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::side::BodyForm;

/// Slots of a sketch: the error of an estimate is at most one in fourteen (one standard deviation).
pub(super) const SLOTS: usize = 64;
/// Words in a shingle.
const SHINGLE: usize = 3;

/// Names of files that say nothing of a page.
const PLAIN_NAMES: [&str; 5] = ["index", "default", "home", "start", "main"];

/// What a page is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageSketch {
    /// Of the main text; 0 if it has too few words to be known by.
    pub(crate) exact: u64,
    pub(crate) words: u32,
    /// The least hash of all shingles that fall into each slot (one-permutation hashing).
    pub(super) slots: [u16; SLOTS],
    /// Of the first heading, else of the title; 0 without both.
    pub(crate) title: u64,
    /// Of the last segment of the path that says something; 0 without one.
    pub(crate) tail: u64,
}

impl PageSketch {
    /// Of a page whose text is there.
    pub(crate) fn from_page(text: &str, form: BodyForm, url: &Url) -> Self {
        let limits = ContentLimits::default();
        let (mut title, mut main) = (0, None);
        if form == BodyForm::Html
            && let Ok(content) = Content::from_html(text, url, &limits)
        {
            let metadata = &content.metadata;
            title = title_mark(metadata.h1.as_deref(), metadata.html_title.as_deref());
            main = Some(content.main.map_or(content.text, |main| main.text));
        }
        let main = match (&main, form) {
            (Some(main), _) => main.as_str(),
            (None, BodyForm::Text) => text,
            (None, _) => "",
        };
        Self {
            title,
            ..Self::from_words(main, url)
        }
    }

    fn from_words(text: &str, url: &Url) -> Self {
        let mut sketch = Self::of_path(url);
        let mut least = [u64::MAX; SLOTS];
        let mut shingle = [0_u64; SHINGLE];
        let mut count = 0;
        for word in words(text) {
            shingle.rotate_left(1);
            shingle[SHINGLE - 1] = xxh3_64(word.to_lowercase().as_bytes());
            count += 1;
            if count >= SHINGLE {
                let hash = shingle
                    .iter()
                    .fold(0, |seed, word| xxh3_64_with_seed(&word.to_le_bytes(), seed));
                let slot = &mut least[(hash % SLOTS as u64) as usize];
                *slot = (*slot).min(hash >> 8);
            }
        }
        sketch.words = count.min(u32::MAX as usize) as u32;
        sketch.exact = Fingerprint::from_text(text).exact.max(1);
        for (number, slot) in sketch.slots.iter_mut().enumerate() {
            // An empty slot borrows from the next one that is filled, and from how far that is, so
            // that short texts are compared as well as long ones.
            let distance =
                (0..SLOTS).find(|distance| least[(number + distance) % SLOTS] != u64::MAX);
            if let Some(distance) = distance {
                let hash = least[(number + distance) % SLOTS];
                *slot = (xxh3_64_with_seed(&hash.to_le_bytes(), distance as u64) as u16).max(1);
            }
        }
        sketch
    }

    /// What the URL alone says.
    pub(crate) fn of_path(url: &Url) -> Self {
        Self {
            exact: 0,
            words: 0,
            slots: [0; SLOTS],
            title: 0,
            tail: tail_mark(url),
        }
    }

    /// The likeness of two texts, from 0 to 1: an estimate of the share of their shingles that both have.
    pub(super) fn likeness(&self, other: &Self) -> f64 {
        if self.exact == other.exact && self.exact != 0 {
            return 1.0;
        }
        let slots = self.slots.iter().zip(&other.slots);
        let equal = slots.filter(|(one, other)| one == other && **one != 0);
        equal.count() as f64 / SLOTS as f64
    }
}

/// A heading is the page's own, where a title may have the name of the site behind it.
fn title_mark(h1: Option<&str>, title: Option<&str>) -> u64 {
    let is_wordy = |text: &&str| words(text).next().is_some();
    let own = |title| {
        let parts = str::split(title, ['|', '–', '—', '·', '»', '•']);
        parts.flat_map(|part| part.split(" - ")).find(is_wordy)
    };
    let found = h1.filter(is_wordy).or_else(|| title.and_then(own));
    found.map_or(0, mark)
}

fn tail_mark(url: &Url) -> u64 {
    let mut segments = url.path_segments().into_iter().flatten().rev();
    let tail = segments.find_map(|segment| {
        let stem = segment.split_once('.').map_or(segment, |(stem, _)| stem);
        let is_plain = PLAIN_NAMES
            .iter()
            .any(|name| stem.eq_ignore_ascii_case(name));
        (!is_plain && words(stem).next().is_some()).then_some(stem)
    });
    let decoded = tail.map(|tail| tail.replace("%20", " "));
    match (decoded, url.query()) {
        (None, None) => 0,
        (tail, query) => {
            let mut text = tail.unwrap_or_default();
            // Pages that a query tells apart are told apart by it here, too.
            text.extend(query.map(|query| format!(" {query}")));
            mark(&text)
        }
    }
}

/// Words, whatever their case and what is between.
fn mark(text: &str) -> u64 {
    let words: Vec<String> = words(text).map(str::to_lowercase).collect();
    if words.is_empty() {
        0
    } else {
        xxh3_64(words.join(" ").as_bytes()).max(1)
    }
}
