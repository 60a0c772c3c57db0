//! The step that compares pages, and makes entries of what differs.
//!
//! Owns the two passes over the changes, which lie on disk between them: what is noise is known only
//! when all pages were seen.

use std::collections::HashMap;

use super::moving::Moved;
use super::work::{WorkResult, WorkTask};
use super::{Comparing, WhichSide};
use crate::edit::{Clustered, Clustering, KnownUrls, NoiseLearner, NoisePlace, PageChange};
use crate::entry::{DiffEdit, DiffEntry, DiffKind};
use crate::moves::{MoveCertainty, MoveReason};
use crate::options::{DiffError, DiffProgress, DiffStage};
use crate::pairs::{Pairs, RowPair};
use crate::side::{SpoolPlace, SpoolWriter, ValueSpool};

/// Changes that lie on disk.
struct SpooledChanges {
    spool: ValueSpool,
    places: Vec<SpoolPlace>,
}

/// A page to compare: its rows, and how it moved.
type ComparedRows = (RowPair, Option<MoveReason>);

impl Comparing<'_> {
    /// Compares pages with other bytes, and those that moved.
    pub(super) fn compare_pages(
        &mut self,
        pairs: &Pairs,
        moved: &Moved,
        tell: &mut dyn FnMut(DiffProgress),
    ) -> Result<Vec<NoisePlace>, DiffError> {
        let mut noise = NoiseLearner::default();
        pairs
            .same
            .iter()
            .for_each(|template| noise.compared(*template));
        let changes = self.spool_changes(pairs, moved, &mut noise, tell)?;
        let mut clustering = Clustering::default();
        for place in &changes.places {
            let change: PageChange = changes.spool.read(*place)?;
            clustering.count(&masked(change, &mut noise, Told::No));
        }
        clustering.settle(|template| noise.pages_of(template));
        let mut own_of_moved = HashMap::new();
        for place in &changes.places {
            let change: PageChange = changes.spool.read(*place)?;
            let change = masked(change, &mut noise, Told::Yes);
            if let Some(own) = self.place_change(&change, &mut clustering) {
                own_of_moved.insert(change.url, own);
            }
        }
        for entry in clustering.into_entries() {
            self.add(entry);
        }
        self.tell_moves(moved, &mut own_of_moved)?;
        Ok(noise.into_places())
    }

    fn spool_changes(
        &mut self,
        pairs: &Pairs,
        moved: &Moved,
        noise: &mut NoiseLearner,
        tell: &mut dyn FnMut(DiffProgress),
    ) -> Result<SpooledChanges, DiffError> {
        let is_known = |key: &u128| !moved.taken.contains(key);
        let known = KnownUrls {
            gone: pairs
                .gone
                .iter()
                .map(|row| row.key)
                .filter(is_known)
                .collect(),
            new: pairs
                .new
                .iter()
                .map(|row| row.key)
                .filter(is_known)
                .collect(),
            moved: moved.sure().map(|((_, new), ..)| new.key).collect(),
        };
        let differing = pairs.differing.iter().map(|pair| (*pair, None));
        let of_moved = moved
            .sure()
            .filter(|((old, new), ..)| old.digest != new.digest);
        let of_moved = of_moved.map(|(pair, _, reason)| (*pair, Some(*reason)));
        let list: Vec<ComparedRows> = differing.chain(of_moved).collect();
        let task = |((old, new), _): &ComparedRows| {
            let old = self.record(WhichSide::Old, old)?;
            let records = (old, self.record(WhichSide::New, new)?);
            Ok(WorkTask::Compare(Box::new(records)))
        };
        let (mut writer, mut places) = (SpoolWriter::new()?, Vec::new());
        let mut counts = self.counts;
        let work = self.work(moved, known)?;
        let staged = (work, DiffStage::Pages, &list[..]);
        self.on_threads(staged, task, tell, |((old, new), reason), result| {
            match result {
                WorkResult::Compared(hunks) if hunks.is_empty() => {
                    noise.compared(new.template);
                    counts.unseen += u64::from(reason.is_none());
                }
                WorkResult::Compared(hunks) => {
                    noise.compared(new.template);
                    noise.learn(new.template, &hunks);
                    let moved_from = reason.map(|_| self.url(WhichSide::Old, old)).transpose()?;
                    places.push(writer.push(&PageChange {
                        url: self.url(WhichSide::New, new)?,
                        moved_from,
                        template: new.template,
                        hunks,
                    })?);
                }
                WorkResult::Unreadable | WorkResult::Sketch(_) => {
                    counts.compared -= u64::from(reason.is_none());
                    counts.unreadable += 1;
                }
            }
            Ok(())
        })?;
        self.counts = counts;
        Ok(SpooledChanges {
            spool: writer.finish()?,
            places,
        })
    }

    /// Counts a page and tells what it shares with no other; of a page that moved that is answered,
    /// since it belongs to the entry of the move.
    fn place_change(
        &mut self,
        change: &PageChange,
        clustering: &mut Clustering,
    ) -> Option<Vec<DiffEdit>> {
        let counts = &mut self.counts;
        let is_moved = change.moved_from.is_some();
        if change.hunks.is_empty() {
            counts.noise += u64::from(!is_moved);
            return None;
        }
        let own = match clustering.take(change) {
            Clustered::Explained => {
                counts.linked += u64::from(!is_moved);
                return None;
            }
            Clustered::Own(own) => own,
        };
        counts.changed += u64::from(!is_moved);
        if is_moved {
            return Some(own);
        }
        if !own.is_empty() {
            let mut entry = DiffEntry::about(DiffKind::Changed, change.url.as_str());
            entry.show(own);
            self.add(entry);
        }
        None
    }

    fn tell_moves(
        &mut self,
        moved: &Moved,
        own: &mut HashMap<String, Vec<DiffEdit>>,
    ) -> Result<(), DiffError> {
        for ((old, new), _, reason) in moved.sure() {
            let url = self.url(WhichSide::New, new)?;
            let mut entry = DiffEntry::about(DiffKind::Moved, url.as_str());
            entry.from = Some(self.url(WhichSide::Old, old)?);
            entry.show(own.remove(&url).unwrap_or_default());
            entry.to = Some(url);
            entry.certainty = Some(MoveCertainty::Sure);
            entry.reason = Some(*reason);
            self.counts.moved += 1;
            self.add(entry);
        }
        Ok(())
    }
}

/// Whether the noise that is left out is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Yes,
    No,
}

/// The change of a page without noise.
fn masked(mut change: PageChange, noise: &mut NoiseLearner, told: Told) -> PageChange {
    let PageChange {
        url,
        template,
        hunks,
        ..
    } = &mut change;
    hunks.retain(|hunk| {
        let is_noise = noise.is_noise(*template, hunk);
        if is_noise && told == Told::Yes {
            noise.mask(url, hunk);
        }
        !is_noise
    });
    change
}
