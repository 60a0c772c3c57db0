//! Which page of then is which page of now.
//!
//! Owns the rounds in which pages find each other, the surest first, and the bounds of likeness. It
//! refuses to know URLs: candidates have numbers. Invariants: each candidate is in one pair at the
//! most; what several pages could be is never sure; time is linear but for a bounded factor.

use std::collections::HashMap;

use super::sketch::SLOTS;
use super::{MoveCertainty, MoveReason, PageSketch};

/// Words from which on a text alone proves that it is the same page.
const TELLING_WORDS: u32 = 12;
/// Words from which on a likeness says something.
const LIKENED_WORDS: u32 = 30;
/// Likeness from which on a text is nearly the same.
const NEAR: f64 = 0.8;
/// How much less like the next best page must be.
const MARGIN: f64 = 0.15;
/// Likeness from which on a page is likely the same.
const ALIKE: f64 = 0.5;
/// Likeness below which title and path prove nothing: somebody took over the name.
const UNLIKE: f64 = 0.1;
/// Slots of a band: pages that share one are compared.
const BAND: usize = 3;
/// Pages of a band that are compared with each.
const MOST_COMPARED: usize = 64;

/// A page that is on one side only.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Of its body; 0 if there is none.
    pub(crate) digest: u64,
    pub(crate) sketch: PageSketch,
}

/// A pair: the numbers of the page then and now.
pub(crate) type MatchedPair = (usize, usize, MoveCertainty, MoveReason);

/// Finds pairs.
pub(crate) fn matched(old: &[Candidate], new: &[Candidate]) -> Vec<MatchedPair> {
    let mut matching = Matching {
        old,
        new,
        old_free: vec![true; old.len()],
        new_free: vec![true; new.len()],
        pairs: Vec::new(),
    };
    matching.by_text();
    let near = matching.nearest();
    matching.by_likeness(&near, NEAR, MoveCertainty::Sure);
    matching.by_marks();
    matching.by_likeness(&near, ALIKE, MoveCertainty::Likely);
    matching.by_one_mark(|it| it.sketch.tail, MoveReason::Path);
    matching.by_one_mark(|it| it.sketch.title, MoveReason::Title);
    matching
        .pairs
        .sort_unstable_by_key(|(old, new, ..)| (*old, *new));
    matching.pairs
}

struct Matching<'a> {
    old: &'a [Candidate],
    new: &'a [Candidate],
    old_free: Vec<bool>,
    new_free: Vec<bool>,
    pairs: Vec<MatchedPair>,
}

/// The page most like another, how much, and how much the next best.
#[derive(Debug, Clone, Copy, Default)]
struct Nearest {
    page: usize,
    likeness: f64,
    next: f64,
}

impl Nearest {
    /// Takes a page into account; any number of times.
    fn offer(&mut self, page: usize, likeness: f64) {
        if page == self.page && self.likeness > 0.0 {
            return;
        }
        if likeness > self.likeness {
            self.next = self.likeness;
            (self.page, self.likeness) = (page, likeness);
        } else if likeness > self.next {
            self.next = likeness;
        }
    }

    fn is_clear(&self) -> bool {
        self.likeness - self.next >= MARGIN
    }
}

/// The nearest page of each, on both sides.
struct NearestPages {
    of_old: Vec<Nearest>,
    of_new: Vec<Nearest>,
}

impl Matching<'_> {
    fn join(&mut self, old: usize, new: usize, certainty: MoveCertainty, reason: MoveReason) {
        if self.old_free[old] && self.new_free[new] {
            self.old_free[old] = false;
            self.new_free[new] = false;
            self.pairs.push((old, new, certainty, reason));
        }
    }

    /// Pages that are free and alone with their value on both sides.
    fn unique<V: std::hash::Hash + Eq>(
        &self,
        value: impl Fn(&Candidate) -> Option<V>,
    ) -> Vec<(usize, usize)> {
        let alone = |side: &[Candidate], free: &[bool]| {
            let mut found: HashMap<V, Option<usize>> = HashMap::new();
            for (number, candidate) in side.iter().enumerate().filter(|(number, _)| free[*number]) {
                if let Some(value) = value(candidate) {
                    let entry = found.entry(value);
                    entry
                        .and_modify(|known| *known = None)
                        .or_insert(Some(number));
                }
            }
            found
        };
        let (old, new) = (
            alone(self.old, &self.old_free),
            alone(self.new, &self.new_free),
        );
        let mut pairs: Vec<_> = old
            .into_iter()
            .filter_map(|(value, old)| Some((old?, (*new.get(&value)?)?)))
            .collect();
        pairs.sort_unstable();
        pairs
    }

    fn by_text(&mut self) {
        let is_telling = |it: &&Candidate| it.sketch.words >= TELLING_WORDS;
        let bytes = |it: &Candidate| (it.digest != 0).then_some(it.digest);
        for (old, new) in self.unique(bytes) {
            // Pages that say hardly anything may be equal by chance, unless they are no pages.
            let is_page = self.old[old].sketch.exact != 0;
            if !is_page || self.old[old].sketch.words >= TELLING_WORDS {
                self.join(old, new, MoveCertainty::Sure, MoveReason::SameBytes);
            }
        }
        let text = |it: &Candidate| {
            let telling = Some(it).filter(is_telling)?;
            Some(telling.sketch.exact)
        };
        for (old, new) in self.unique(text) {
            self.join(old, new, MoveCertainty::Sure, MoveReason::SameText);
        }
        // Of several pages with one text, title and path tell which is which.
        let marked = |it: &Candidate| {
            let sketch = &Some(it).filter(is_telling)?.sketch;
            (sketch.title != 0 && sketch.tail != 0).then_some((
                sketch.exact,
                sketch.title,
                sketch.tail,
            ))
        };
        for (old, new) in self.unique(marked) {
            self.join(old, new, MoveCertainty::Sure, MoveReason::SameText);
        }
    }

    /// The nearest pages of all, also of those that have found each other: a page that is as near
    /// to one of these is not clear.
    fn nearest(&self) -> NearestPages {
        let mut nearest = NearestPages {
            of_old: vec![Nearest::default(); self.old.len()],
            of_new: vec![Nearest::default(); self.new.len()],
        };
        for band in 0..SLOTS / BAND {
            let key = |it: &Candidate| -> Option<[u16; BAND]> {
                let slots = it.sketch.slots[band * BAND..].first_chunk()?;
                (it.sketch.words >= LIKENED_WORDS).then_some(*slots)
            };
            let mut buckets: HashMap<[u16; BAND], Vec<usize>> = HashMap::new();
            for (number, candidate) in self.new.iter().enumerate() {
                if let Some(key) = key(candidate) {
                    let bucket = buckets.entry(key).or_default();
                    if bucket.len() < MOST_COMPARED {
                        bucket.push(number);
                    }
                }
            }
            for (old, candidate) in self.old.iter().enumerate() {
                for new in key(candidate)
                    .and_then(|key| buckets.get(&key))
                    .into_iter()
                    .flatten()
                {
                    let likeness = candidate.sketch.likeness(&self.new[*new].sketch);
                    nearest.of_old[old].offer(*new, likeness);
                    nearest.of_new[*new].offer(old, likeness);
                }
            }
        }
        nearest
    }

    /// Joins pages that are nearest to each other, with nothing else as near.
    fn by_likeness(&mut self, near: &NearestPages, least: f64, certainty: MoveCertainty) {
        for old in 0..self.old.len() {
            let found = near.of_old[old];
            let back = near.of_new.get(found.page).copied().unwrap_or_default();
            let is_mutual = found.likeness >= least && back.page == old;
            let is_clear = found.is_clear() && back.is_clear();
            if is_mutual && (is_clear || certainty == MoveCertainty::Likely) {
                self.join(old, found.page, certainty, MoveReason::NearText);
            }
        }
    }

    /// Joins pages that share the end of the path and the title with no other page.
    fn by_marks(&mut self) {
        let marks = |it: &Candidate| {
            let PageSketch { title, tail, .. } = it.sketch;
            (title != 0 && tail != 0).then_some((title, tail))
        };
        for (old, new) in self.unique(marks) {
            let (one, other) = (&self.old[old].sketch, &self.new[new].sketch);
            let is_contradicted = one.words >= LIKENED_WORDS
                && other.words >= LIKENED_WORDS
                && one.likeness(other) < UNLIKE;
            let certainty = if is_contradicted {
                MoveCertainty::Likely
            } else {
                MoveCertainty::Sure
            };
            self.join(old, new, certainty, MoveReason::PathAndTitle);
        }
    }

    fn by_one_mark(&mut self, mark: impl Fn(&Candidate) -> u64, reason: MoveReason) {
        let found = self.unique(|it| Some(mark(it)).filter(|mark| *mark != 0));
        for (old, new) in found {
            self.join(old, new, MoveCertainty::Likely, reason);
        }
    }
}
