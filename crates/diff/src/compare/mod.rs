//! The comparison from beginning to end.
//!
//! Owns the order of the steps and what is counted in each. It refuses to know how pages are read
//! and compared. Invariant: the result does not depend on the number of threads, nor on the order in
//! which a crawl found its pages.

mod changes;
mod moving;
mod rest;
mod work;

use std::sync::Arc;

use clewline_job::Job;
use clewline_job::pages::{Ordered, PagesError, threads};
use clewline_job::rebuild::ReadAnswer;
use clewline_job::record::Record;

use crate::edit::{KnownUrls, NoisePlace};
use crate::entry::{DiffCounts, DiffEdit, DiffEntry, PayloadCounts};
use crate::moves::PageMove;
use crate::options::{DiffError, DiffOptions, DiffProgress, DiffStage};
use crate::pairs::Pairs;
use crate::side::{Side, SideRow};
use moving::Moved;
use work::{PageWork, WorkResult, WorkTask};

/// Entries that are kept; further ones are counted.
const MOST_ENTRIES: usize = 100_000;
/// Bytes of what entries show; further ones name their layers and pages only.
const MOST_SHOWN: usize = 64 << 20;

/// What changed between two crawls.
#[derive(Debug)]
pub struct Difference {
    /// How much there is of each kind.
    pub counts: DiffCounts,
    /// The counts as `--update-from` makes them.
    pub payload: PayloadCounts,
    /// What changed: by kind, and by the number of pages.
    pub entries: Vec<DiffEntry>,
    /// What was masked.
    pub noise: Vec<NoisePlace>,
    /// From old addresses to new ones.
    pub moves: Vec<PageMove>,
    /// The new crawl did not come to its end, so that what is missing may be there.
    pub is_part: bool,
}

/// Compares two crawls, the old one first. `read_answer` reads what others archived.
pub fn compare(
    jobs: [&Job; 2],
    read_answer: &ReadAnswer<'_>,
    options: &DiffOptions,
    tell: &mut dyn FnMut(DiffProgress),
) -> Result<Difference, DiffError> {
    options.validate()?;
    let mut read = |job| {
        let mut told = |done| {
            tell(DiffProgress {
                stage: DiffStage::Records,
                done,
                of: None,
            });
        };
        Side::read(job, read_answer, options, &mut told)
    };
    let sides = [read(jobs[0])?, read(jobs[1])?];
    let pairs = Pairs::join(&sides[0], &sides[1]);
    let mut comparing = Comparing {
        jobs,
        sides: &sides,
        options: Arc::new(options.clone()),
        counts: pairs.counts,
        entries: Vec::new(),
        moves: Vec::new(),
        room: MOST_SHOWN,
    };
    let moved = comparing.find_moves(&pairs, tell)?;
    let noise = comparing.compare_pages(&pairs, &moved, tell)?;
    comparing.tell_rest(&pairs, &moved)?;
    comparing.sort();
    Ok(Difference {
        counts: comparing.counts,
        payload: pairs.payload,
        entries: comparing.entries,
        noise,
        moves: comparing.moves,
        is_part: !sides[1].is_whole,
    })
}

/// One of the two crawls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhichSide {
    Old,
    New,
}

struct Comparing<'a> {
    jobs: [&'a Job; 2],
    sides: &'a [Side; 2],
    options: Arc<DiffOptions>,
    counts: DiffCounts,
    entries: Vec<DiffEntry>,
    moves: Vec<PageMove>,
    /// Bytes that entries may still show.
    room: usize,
}

impl Comparing<'_> {
    fn record(&self, side: WhichSide, row: &SideRow) -> Result<Record, DiffError> {
        self.sides[side as usize].record(row)
    }

    /// The URL of a row, as it is known on both sides.
    fn url(&self, side: WhichSide, row: &SideRow) -> Result<String, DiffError> {
        let record = self.record(side, row)?;
        Ok(self.options.mapped(record.url.as_str()))
    }

    fn work(&self, moved: &Moved, known: KnownUrls) -> Result<PageWork, DiffError> {
        Ok(PageWork {
            readers: [self.jobs[0].reader()?, self.jobs[1].reader()?],
            options: Arc::clone(&self.options),
            moved: Arc::clone(&moved.targets),
            known,
        })
    }

    /// Does work for each of a list, on all cores, and hands over the results in order.
    fn on_threads<T>(
        &self,
        (work, stage, list): (PageWork, DiffStage, &[T]),
        task: impl Fn(&T) -> Result<WorkTask, DiffError>,
        tell: &mut dyn FnMut(DiffProgress),
        mut take: impl FnMut(&T, WorkResult) -> Result<(), DiffError>,
    ) -> Result<(), DiffError> {
        let failed = |source| {
            DiffError::Pages(PagesError::Io {
                path: self.jobs[0].path().to_owned(),
                source,
            })
        };
        let number = threads(self.options.threads);
        let mut ordered = Ordered::start(number, move |task| work.run(task)).map_err(failed)?;
        let (mut tasks, mut waiting) = (list.iter(), list.iter());
        loop {
            while ordered.has_room()
                && let Some(next) = tasks.next()
            {
                ordered.push(task(next)?);
            }
            let (Some(result), Some(of)) = (ordered.next(), waiting.next()) else {
                return Ok(());
            };
            take(of, result.map_err(failed)?)?;
            tell(DiffProgress {
                stage,
                done: (list.len() - waiting.len()) as u64,
                of: Some(list.len() as u64),
            });
        }
    }

    /// Keeps an entry, within the bounds.
    fn add(&mut self, mut entry: DiffEntry) {
        if self.entries.len() >= MOST_ENTRIES {
            self.counts.left_out += 1;
            return;
        }
        let length = entry.edits.iter().map(DiffEdit::length).sum();
        match self.room.checked_sub(length) {
            Some(room) => self.room = room,
            None => entry.edits.clear(),
        }
        self.entries.push(entry);
    }

    /// By kind, then by the number of pages, then by URL.
    fn sort(&mut self) {
        self.entries.sort_by(|one, other| {
            let order = one.kind.cmp(&other.kind).then(other.pages.cmp(&one.pages));
            let order = order.then_with(|| one.urls.cmp(&other.urls));
            order.then_with(|| shown(one).cmp(&shown(other)))
        });
        self.moves.sort();
    }
}

/// What tells entries on the same pages apart.
fn shown(entry: &DiffEntry) -> Vec<(&str, &str, &str)> {
    let edits = entry.edits.iter();
    edits
        .map(|edit| (&*edit.place, &*edit.removed, &*edit.added))
        .collect()
}
