//! Noise: what differs between any two captures of a page.
//!
//! Owns what is learnt of each place, by the shape of a page's path and for the whole site. It
//! refuses to know words: a hunk says whether it looks volatile. A place is noisy if what looks
//! volatile differs there on a good part of the pages, each time in another way; or if the blocks
//! there are drawn from one pool, such as quotes of the day. An edit that is the same on all pages is
//! never noise, and neither is prose that is new. Invariant: memory is bounded by
//! [`MOST_PLACES`], whatever the pages hold.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::PageHunk;

/// Places of which something is learnt.
const MOST_PLACES: usize = 100_000;
/// Different edits that are counted at a place.
const MOST_EDITS: usize = 64;
/// Blocks that are remembered of a place.
const MOST_BLOCKS: usize = 512;
/// Pages on which a place must differ before it is noise.
const FEWEST_PAGES: u32 = 3;
/// One page in this many must differ there.
const SHARE: u32 = 4;
/// Pages on which prose of one pool must differ.
const FEWEST_DRAWN: u32 = 5;

/// The template that stands for the whole site.
const SITE: u32 = 0;

/// A place that is masked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NoisePlace {
    /// Where in a page.
    pub place: String,
    /// Pages on which it differed.
    pub pages: u64,
    /// One of them.
    pub sample: String,
    /// What stood there then.
    pub removed: String,
    /// What stands there now.
    pub added: String,
}

/// What is known of a place.
#[derive(Debug, Default)]
struct PlaceStats {
    /// Pages with something that looks volatile.
    volatile: u32,
    /// Pages on which something is replaced.
    replaced: u32,
    /// How often each edit was seen, of those that look volatile.
    edits: HashMap<u64, u32>,
    /// On which sides a whole block was seen: 1 then, 2 now.
    blocks: HashMap<u64, u8>,
}

impl PlaceStats {
    /// Learns from what is replaced there on one page.
    fn learn(&mut self, hunks: &[&PageHunk]) {
        self.replaced += 1;
        for hunk in hunks {
            for (block, side) in hunk.blocks.into_iter().zip([1, 2]) {
                if self.blocks.len() < MOST_BLOCKS || self.blocks.contains_key(&block) {
                    *self.blocks.entry(block).or_default() |= side;
                }
            }
        }
        if let Some(hunk) = hunks.iter().find(|hunk| hunk.is_volatile) {
            self.volatile += 1;
            let edit = xxh3_64_with_seed(&hunk.before.to_le_bytes(), hunk.after);
            if self.edits.len() < MOST_EDITS || self.edits.contains_key(&edit) {
                *self.edits.entry(edit).or_default() += 1;
            }
        }
    }

    fn masks(&self, hunk: &PageHunk, compared: u32) -> bool {
        let is_common = |pages: u32, fewest: u32| pages >= fewest.max(compared / SHARE);
        let most_equal = self.edits.values().copied().max().unwrap_or(0);
        let varies = most_equal <= self.volatile.div_ceil(2);
        if hunk.is_volatile && is_common(self.volatile, FEWEST_PAGES) && varies {
            return true;
        }
        let drawn = self.blocks.values().filter(|sides| **sides == 3).count();
        let is_pool = drawn >= 2 && 2 * drawn >= self.blocks.len();
        is_pool
            && is_common(self.replaced, FEWEST_DRAWN)
            && hunk
                .blocks
                .iter()
                .any(|block| self.blocks.contains_key(block))
    }
}

/// Learns what is noise.
#[derive(Debug, Default)]
pub(crate) struct NoiseLearner {
    places: HashMap<(u32, u64), PlaceStats>,
    /// Pages of each template that were compared.
    compared: HashMap<u32, u32>,
    masked: BTreeMap<String, NoisePlace>,
}

impl NoiseLearner {
    /// A page was compared, whatever came of it.
    pub(crate) fn compared(&mut self, template: u32) {
        for template in [SITE, template] {
            if self.compared.len() < MOST_PLACES || self.compared.contains_key(&template) {
                *self.compared.entry(template).or_default() += 1;
            }
        }
    }

    /// Pages of a template that were compared.
    pub(crate) fn pages_of(&self, template: u32) -> u32 {
        self.compared.get(&template).copied().unwrap_or(0)
    }

    /// Learns from the hunks of a page.
    pub(crate) fn learn(&mut self, template: u32, hunks: &[PageHunk]) {
        let mut by_place: HashMap<u64, Vec<&PageHunk>> = HashMap::new();
        for hunk in hunks
            .iter()
            .filter(|hunk| hunk.before != 0 && hunk.after != 0)
        {
            // A page of noise is no reason to remember each of its places.
            let is_room = by_place.len() < MOST_EDITS || by_place.contains_key(&hunk.path);
            if is_room {
                by_place.entry(hunk.path).or_default().push(hunk);
            }
        }
        for (path, hunks) in by_place {
            for template in [SITE, template] {
                let key = (template, path);
                if self.places.len() < MOST_PLACES || self.places.contains_key(&key) {
                    self.places.entry(key).or_default().learn(&hunks);
                }
            }
        }
    }

    /// Whether a hunk is noise.
    pub(crate) fn is_noise(&self, template: u32, hunk: &PageHunk) -> bool {
        [template, SITE].into_iter().any(|template| {
            let stats = self.places.get(&(template, hunk.path));
            stats.is_some_and(|stats| stats.masks(hunk, self.pages_of(template)))
        })
    }

    /// Keeps in mind that a hunk was masked.
    pub(crate) fn mask(&mut self, url: &str, hunk: &PageHunk) {
        if let Some(place) = self.masked.get_mut(&hunk.region) {
            place.pages += 1;
            if url < place.sample.as_str() {
                url.clone_into(&mut place.sample);
                place.removed.clone_from(&hunk.removed);
                place.added.clone_from(&hunk.added);
            }
            return;
        }
        let place = NoisePlace {
            place: hunk.region.clone(),
            pages: 1,
            sample: url.to_owned(),
            removed: hunk.removed.clone(),
            added: hunk.added.clone(),
        };
        self.masked.insert(hunk.region.clone(), place);
    }

    /// The places that were masked, the noisiest first.
    pub(crate) fn into_places(self) -> Vec<NoisePlace> {
        let mut places: Vec<_> = self.masked.into_values().collect();
        places.sort_by(|one, other| other.pages.cmp(&one.pages).then(one.cmp(other)));
        places
    }
}
