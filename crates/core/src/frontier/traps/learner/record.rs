//! The templates of a site that are remembered.
//!
//! Owns what is kept of a template, and which one is forgotten where there is no room. Refuses to
//! know what follows from it. Invariant: the records stand in the order in which they were last
//! touched, and there are no more than [`TEMPLATES`].

use super::{JUDGED, Learner};

/// Templates that are remembered, and how many of them may wait to be judged.
const TEMPLATES: usize = 16;
const YOUNG: usize = 4;

/// Points that keep a template from being forgotten before others.
const HELD_BY: u16 = 256;

/// What one page is worth to the template of the page that it was found on.
const CREDIT: u8 = 32;
/// Credits from which a template is useful: three pages to eight of its own.
const USEFUL: u8 = 96;

/// A template, for one of the two kinds of links to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TemplateRecord {
    pub(super) id: u32,
    pub(super) looks: u8,
    /// The last eight looks: a bit is set where one brought something.
    pub(super) recent: u8,
    pub(super) points: u16,
    pub(super) pages: u16,
    /// The text of its last page.
    pub(super) text: u32,
    /// Rises with pages of other templates that were found on its own and brought something, and
    /// falls with each of its own.
    pub(super) credits: u8,
    /// Links to its pages that their kin brought and that were not asked for yet.
    pub(super) waiting: u8,
}

impl TemplateRecord {
    /// Whether it was looked at often enough for a judgement.
    pub(super) const fn is_judged(&self) -> bool {
        self.looks >= JUDGED
    }

    /// How many of the last eight looks brought something.
    pub(super) const fn said_new(&self) -> u32 {
        self.recent.count_ones()
    }

    /// Whether its pages led to others lately that were worth it.
    pub(super) const fn is_useful(&self) -> bool {
        self.credits >= USEFUL
    }

    pub(super) const fn credit(&mut self) {
        self.credits = self.credits.saturating_add(CREDIT);
    }

    pub(super) fn look(&mut self, is_new: bool) {
        self.looks = self.looks.saturating_add(1);
        self.recent = self.recent << 1 | u8::from(is_new);
        if is_new {
            self.points = 0;
        }
    }
}

impl Learner {
    pub(super) fn record(&self, id: u32) -> Option<&TemplateRecord> {
        self.records.iter().find(|record| record.id == id)
    }

    /// The records of a template, whoever vouches for its pages.
    pub(super) fn both(&self, id: u32) -> impl Iterator<Item = &TemplateRecord> {
        let records = self.records.iter();
        records.filter(move |record| record.id | 1 == id | 1)
    }

    pub(super) fn both_mut(&mut self, id: u32) -> impl Iterator<Item = &mut TemplateRecord> {
        let records = self.records.iter_mut();
        records.filter(move |record| record.id | 1 == id | 1)
    }

    /// The record of a template, made where it is new.
    pub(super) fn record_mut(&mut self, id: u32) -> &mut TemplateRecord {
        let known = self.records.iter().position(|record| record.id == id);
        let record = match known {
            Some(at) => self.records.remove(at),
            None => TemplateRecord {
                id,
                ..TemplateRecord::default()
            },
        };
        if self.records.len() == TEMPLATES {
            self.forget_one();
        }
        self.records.push(record);
        let last = self.records.last_mut();
        last.expect("it was put there a moment ago")
    }

    /// Forgets what was touched longest ago. Some room is left to templates that are not judged
    /// yet: where it was taken by those that are, a site with many templates would never get to
    /// know another one.
    fn forget_one(&mut self) {
        let young = self.records.iter().filter(|it| !it.is_judged()).count();
        let may_go = |record: &TemplateRecord| young <= YOUNG || !record.is_judged();
        let places = (0..self.records.len()).filter(|at| may_go(&self.records[*at]));
        let first = places.min_by_key(|at| self.records[*at].points / HELD_BY);
        self.records.remove(first.unwrap_or(0));
    }

    /// One more page of a template was asked for.
    pub(super) fn count_asked(&mut self, id: u32) {
        for record in self.both_mut(id) {
            record.credits -= record.credits / 8;
            record.waiting = record.waiting.saturating_sub(1);
        }
    }
}
