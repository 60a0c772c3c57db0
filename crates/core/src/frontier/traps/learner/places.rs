//! Places of URLs whose values do not matter, as those of sessions do not.
//!
//! Owns the votes of pages whose URLs differ in one place only. It refuses to know what a page that
//! repeats another one means for its template. Invariant: a bounded number of places is known.

use std::ops::Deref;

use super::super::super::job::Look;
use super::super::template::{places, reduced};
use super::Learner;
use crate::url::CrawlUrl;

/// Places that are remembered.
const PLACES: usize = 8;

/// Comparisons without an other page after which a place is not looked at any more.
const ALONE: u8 = 64;

/// A place of URLs and what pages showed that differ in it only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Votes {
    pub(super) place: u32,
    pub(super) same: u8,
    pub(super) other: u8,
    /// Pages for which there was no other.
    pub(super) alone: u8,
}

impl Votes {
    const fn is_irrelevant(self) -> bool {
        self.same >= 3 && self.same as u32 >= 4 * self.other as u32
    }

    const fn is_useless(self) -> bool {
        self.alone >= ALONE && 16 * (self.same as u32 + self.other as u32) < self.alone as u32
    }
}

impl Learner {
    /// Compares a page with another one whose URL differs in one place only.
    pub(super) fn compare(&mut self, url: &CrawlUrl, look: &Look) {
        for place in places(url) {
            let votes = self.votes.iter().find(|votes| votes.place == place.name);
            if votes.is_some_and(|votes| votes.is_useless()) {
                continue;
            }
            // Numbers and words mean something: pages that lead elsewhere are not the same.
            let links = if place.is_opaque { 0 } else { look.links };
            let text = (look.text as u32).wrapping_add(links as u32);
            let rest = (reduced(url, |name| name == place.name) >> 32) as u32 ^ place.name;
            match self.pairs.put(rest, text) {
                Some(Some(other)) if other == text => self.vote(place.name, |it| &mut it.same),
                Some(Some(_)) => self.vote(place.name, |it| &mut it.other),
                Some(None) => self.vote(place.name, |it| &mut it.alone),
                None => {}
            }
        }
    }

    fn vote(&mut self, place: u32, count: fn(&mut Votes) -> &mut u8) {
        let at = self.votes.iter().position(|votes| votes.place == place);
        let at = at.unwrap_or_else(|| {
            if self.votes.len() == PLACES {
                let least = (0..PLACES).min_by_key(|at| self.votes[*at].same);
                self.votes.swap_remove(least.unwrap_or(0));
            }
            self.votes.push(Votes {
                place,
                ..Votes::default()
            });
            self.votes.len() - 1
        });
        let votes = &mut self.votes[at];
        let count = count(votes);
        *count += 1;
        if *count == u8::MAX {
            votes.same /= 2;
            votes.other /= 2;
            votes.alone /= 2;
        }
    }

    /// A page that should have repeated another one did not.
    pub(super) fn doubt_places(&mut self, url: &CrawlUrl) {
        for place in places(url) {
            let votes = self
                .votes
                .iter_mut()
                .find(|votes| votes.place == place.name);
            if let Some(votes) = votes.filter(|votes| votes.is_irrelevant()) {
                votes.other = votes.other.saturating_add(1);
            }
        }
    }

    /// The URL without what does not matter, if anything is known not to.
    pub(in super::super) fn reduced<Text: Deref<Target = str>>(
        &self,
        url: &CrawlUrl<Text>,
    ) -> Option<u64> {
        let is_irrelevant = |name: u32| {
            let votes = self.votes.iter().find(|votes| votes.place == name);
            votes.is_some_and(|votes| votes.is_irrelevant())
        };
        let knows_any = self.votes.iter().any(|votes| votes.is_irrelevant());
        knows_any.then(|| reduced(url, is_irrelevant))
    }
}
