//! The rows of both sides, joined by URL.
//!
//! Owns what a pair of states means. It refuses to read pages. Invariant: each URL is in one group,
//! and a page that could not be read is in none that says something changed.

use crate::entry::{DiffCounts, PayloadCounts};
use crate::side::{BodyForm, PageState, Side, SideRow};

/// A URL of both sides.
pub(crate) type RowPair = (SideRow, SideRow);

/// Pairs by what is to be done with them.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// Pages with other bytes, which must be read.
    pub(crate) differing: Vec<RowPair>,
    /// Other files with other bytes.
    pub(crate) files: Vec<RowPair>,
    /// Redirects both times, whose targets must be compared.
    pub(crate) redirects: Vec<RowPair>,
    /// Another status.
    pub(crate) statuses: Vec<RowPair>,
    pub(crate) gone: Vec<SideRow>,
    pub(crate) new: Vec<SideRow>,
    /// Templates of the pages that are the same.
    pub(crate) same: Vec<u32>,
    pub(crate) counts: DiffCounts,
    pub(crate) payload: PayloadCounts,
}

impl Pairs {
    /// Joins two sides.
    pub(crate) fn join(old: &Side, new: &Side) -> Self {
        let mut pairs = Self::default();
        let (mut before, mut after) = (old.rows.iter().peekable(), new.rows.iter().peekable());
        loop {
            match (before.peek(), after.peek()) {
                (None, None) => break,
                (Some(one), Some(other)) if one.key == other.key => {
                    pairs.both((**one, **other), new.is_whole);
                    before.next();
                    after.next();
                }
                (Some(one), other) if other.is_none_or(|other| one.key < other.key) => {
                    pairs.old_only(**one, new.is_whole);
                    before.next();
                }
                (_, Some(other)) => {
                    pairs.new_only(**other);
                    after.next();
                }
                (Some(_), None) => unreachable!("the arm above takes it"),
            }
        }
        // The order of the old crawl is that of its archive, which is read best from front to back.
        pairs.differing.sort_unstable_by_key(|(old, _)| old.place);
        pairs.gone.sort_unstable_by_key(|row| row.place);
        pairs.new.sort_unstable_by_key(|row| row.place);
        pairs
    }

    fn both(&mut self, (old, new): RowPair, is_whole: bool) {
        use PageState::{Missing, Redirect, Refused, There, Unasked, Unreadable};
        self.count_payload(old, Some(new), is_whole);
        match (old.state, new.state) {
            (Missing, Missing) | (Unasked, Unasked) => {}
            (Unasked, _) | (_, Unasked) => self.counts.unasked += 1,
            (Unreadable, _) | (_, Unreadable) => self.counts.unreadable += 1,
            (_, Missing) => self.gone.push(old),
            (Missing, _) => self.new.push(new),
            (There, There) => self.there((old, new)),
            (Redirect, Redirect) => self.redirects.push((old, new)),
            (Refused, Refused) if old.status == new.status => {}
            _ => self.statuses.push((old, new)),
        }
    }

    fn there(&mut self, (old, new): RowPair) {
        self.counts.compared += 1;
        let is_same = old.digest == new.digest && old.digest != 0;
        let is_rendered = old.is_rendered || new.is_rendered;
        // What was not sent again is what it was.
        if !is_rendered && (is_same || (new.status == 304 && new.digest == 0)) {
            self.counts.same += 1;
            self.same.push(new.template);
        } else if old.form == BodyForm::Other || new.form == BodyForm::Other {
            self.counts.files += 1;
            self.files.push((old, new));
        } else {
            self.differing.push((old, new));
        }
    }

    fn old_only(&mut self, old: SideRow, is_whole: bool) {
        self.count_payload(old, None, is_whole);
        match old.state {
            PageState::There | PageState::Redirect | PageState::Refused if is_whole => {
                self.gone.push(old);
            }
            PageState::There | PageState::Redirect | PageState::Refused => self.counts.unasked += 1,
            PageState::Unreadable => self.counts.unreadable += 1,
            PageState::Missing | PageState::Unasked => {}
        }
    }

    fn new_only(&mut self, new: SideRow) {
        self.payload.new += u64::from(new.state.is_there());
        match new.state {
            PageState::There | PageState::Redirect | PageState::Refused => self.new.push(new),
            PageState::Unreadable => self.counts.unreadable += 1,
            PageState::Missing | PageState::Unasked => {}
        }
    }

    /// As `previous::compare` of `clewline-job` judges two indexes, which hold what was answered.
    fn count_payload(&mut self, old: SideRow, new: Option<SideRow>, is_whole: bool) {
        let new = new.filter(|new| new.status != 0);
        let payload = &mut self.payload;
        let count = match (old.state.is_there(), new) {
            (true, Some(new)) if new.state.is_there() => {
                let is_same = new.status == 304 || new.digest == old.digest;
                if is_same {
                    &mut payload.unchanged
                } else {
                    &mut payload.changed
                }
            }
            (true, Some(new)) if new.state == PageState::Missing => &mut payload.gone,
            (true, None) if is_whole => &mut payload.gone,
            (false, Some(new)) if new.state.is_there() => &mut payload.new,
            _ => return,
        };
        *count += 1;
    }
}
