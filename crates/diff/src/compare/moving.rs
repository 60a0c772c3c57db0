//! The step that finds pages under another URL.
//!
//! Owns which pages are candidates. How they find each other is the business of `moves`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::work::{WorkResult, WorkTask};
use super::{Comparing, WhichSide};
use crate::edit::KnownUrls;
use crate::moves::{Candidate, MoveCertainty, MoveReason, PageMove, matched};
use crate::options::{DiffError, DiffProgress, DiffStage};
use crate::pairs::{Pairs, RowPair};
use crate::side::{PageState, SideRow, key_of};

/// Pages that found each other.
#[derive(Default)]
pub(super) struct Moved {
    pub(super) pairs: Vec<(RowPair, MoveCertainty, MoveReason)>,
    /// New URLs by the keys of old ones, of sure moves.
    pub(super) targets: Arc<HashMap<u128, String>>,
    /// Keys of both sides that are in a sure move.
    pub(super) taken: HashSet<u128>,
}

impl Moved {
    /// Pairs of sure moves.
    pub(super) fn sure(&self) -> impl Iterator<Item = &(RowPair, MoveCertainty, MoveReason)> {
        let is_sure = |(_, certainty, _): &&(RowPair, _, _)| *certainty == MoveCertainty::Sure;
        self.pairs.iter().filter(is_sure)
    }
}

impl Comparing<'_> {
    /// Finds pages that are under another URL now.
    pub(super) fn find_moves(
        &mut self,
        pairs: &Pairs,
        tell: &mut dyn FnMut(DiffProgress),
    ) -> Result<Moved, DiffError> {
        let mut moved = Moved::default();
        self.follow_redirects(pairs, &mut moved)?;
        let candidates = |rows: &[SideRow]| -> Vec<SideRow> {
            let rows = rows.iter().filter(|row| row.state == PageState::There);
            rows.filter(|row| !moved.taken.contains(&row.key))
                .copied()
                .collect()
        };
        let (gone, new) = (candidates(&pairs.gone), candidates(&pairs.new));
        if !gone.is_empty() && !new.is_empty() {
            let old = self.sketches((WhichSide::Old, &gone), &moved, tell)?;
            let now = self.sketches((WhichSide::New, &new), &moved, tell)?;
            for (one, other, certainty, reason) in matched(&old, &now) {
                moved
                    .pairs
                    .push(((gone[one], new[other]), certainty, reason));
            }
        }
        self.keep_moves(&mut moved)?;
        Ok(moved)
    }

    fn keep_moves(&mut self, moved: &mut Moved) -> Result<(), DiffError> {
        let mut targets = HashMap::new();
        for ((old, new), certainty, reason) in &moved.pairs {
            let to = self.url(WhichSide::New, new)?;
            if *certainty == MoveCertainty::Sure {
                targets.insert(old.key, to.clone());
                moved.taken.extend([old.key, new.key]);
            }
            self.moves.push(PageMove {
                from: self.url(WhichSide::Old, old)?,
                to,
                certainty: *certainty,
                reason: *reason,
            });
        }
        moved.targets = Arc::new(targets);
        Ok(())
    }

    /// Pages whose old URL redirects to a new one.
    fn follow_redirects(&self, pairs: &Pairs, moved: &mut Moved) -> Result<(), DiffError> {
        let new: HashMap<u128, &SideRow> = pairs.new.iter().map(|row| (row.key, row)).collect();
        for (old, now) in &pairs.statuses {
            if old.state != PageState::There || now.state != PageState::Redirect {
                continue;
            }
            let record = self.record(WhichSide::New, now)?;
            let target = record.redirect_to.as_deref();
            let target = target.and_then(|to| new.get(&key_of(&self.options.mapped(to))));
            if let Some(target) = target
                && target.state == PageState::There
                && moved.taken.insert(target.key)
            {
                moved.taken.insert(old.key);
                let pair = (*old, **target);
                moved
                    .pairs
                    .push((pair, MoveCertainty::Sure, MoveReason::Redirect));
            }
        }
        Ok(())
    }

    fn sketches(
        &self,
        (side, rows): (WhichSide, &[SideRow]),
        moved: &Moved,
        tell: &mut dyn FnMut(DiffProgress),
    ) -> Result<Vec<Candidate>, DiffError> {
        let mut found = Vec::with_capacity(rows.len());
        let work = self.work(moved, KnownUrls::default())?;
        let task = |row: &SideRow| Ok(WorkTask::Sketch(side, Box::new(self.record(side, row)?)));
        self.on_threads((work, DiffStage::Moves, rows), task, tell, |row, result| {
            if let WorkResult::Sketch(sketch) = result {
                found.push(Candidate {
                    digest: row.digest,
                    sketch: *sketch,
                });
            }
            Ok(())
        })?;
        Ok(found)
    }
}
