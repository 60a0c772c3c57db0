//! The passages of pages: JSON lines or Parquet, all of them or what changed.
//!
//! Owns which passages are written and what came and went since an earlier crawl. Where a page is cut
//! is the business of `clewline-content`. Invariants: no id is written twice; of a delta, what is
//! removed and added makes the passages of the earlier crawl those of this one. A delta holds 40
//! bytes for each passage of the earlier crawl, up to [`MOST_EARLIER_PASSAGES`].

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use clewline_content::{ReadingSpeed, passages};
use clewline_job::log::Offset;
use clewline_job::{Job, JobFile};

use super::lines::object;
use super::parquet::{ENDING, Table};
use crate::columns::{CHUNKS, ChunkRow, ChunkWords};
use crate::draft::Draft;
use crate::error::ExportError;
use crate::export::{ExportContext, Exported, Output, Sink};
use crate::pages::{ExportedPage, Need};
use crate::urls::Urls;

/// Passages of an earlier crawl that are remembered; later ones count as added again.
const MOST_EARLIER_PASSAGES: usize = 20_000_000;

pub(super) fn write(work: &mut ExportContext<'_>, output: Output<'_>) -> Result<(), ExportError> {
    let earlier = if work.options.delta {
        Some(EarlierPassages::read(work)?)
    } else {
        None
    };
    match output {
        Output::Path(path, existing) if path.extension().is_some_and(|it| it == ENDING) => {
            let (draft, file) = Draft::file(path, existing)?;
            let mut table = Table::new(file, path, &CHUNKS)?;
            write_rows(work, earlier, &mut |row| table.push(row))?;
            table.close()?;
            draft.finish()
        }
        output => {
            let mut sink = Sink::open(output)?;
            let failed = ExportError::output(work.job.path());
            let mut line = Vec::new();
            write_rows(work, earlier, &mut |row| {
                line.clear();
                object(&CHUNKS, row, &mut line).map_err(&failed)?;
                sink.write(&line)
            })?;
            sink.finish()
        }
    }
}

/// Takes a row.
type PutRow<'p> = &'p mut dyn FnMut(&ChunkRow) -> Result<(), ExportError>;

fn write_rows(
    work: &mut ExportContext<'_>,
    mut earlier: Option<EarlierPassages>,
    put: PutRow<'_>,
) -> Result<(), ExportError> {
    let change = earlier.is_some().then_some("added");
    let mut rows = 0;
    each_passage(work, &mut |page, chunk| {
        if let Some(earlier) = &mut earlier
            && earlier.met(chunk.id)
        {
            return Ok(());
        }
        rows += 1;
        put(&ChunkRow {
            url: page.record.url.as_str().to_owned(),
            id: format!("{:032x}", chunk.id),
            change,
            words: Some(chunk.words),
        })
    })?;
    if let Some(earlier) = earlier {
        rows += earlier.write_removed(put)?;
    }
    work.done.rows = rows;
    Ok(())
}

/// A passage on its way to a row.
struct Chunk {
    id: u128,
    words: ChunkWords,
}

/// Calls with every passage of the pages that are not left out; with equal ones of a page once.
fn each_passage(
    work: &mut ExportContext<'_>,
    take: &mut dyn FnMut(&ExportedPage, Chunk) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let folded = work.left_out()?;
    let mut pages = work.pages(Need::Words(ReadingSpeed::Main))?;
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        let Some(words) = page.words() else {
            continue;
        };
        if folded.original(page.place).is_some() {
            work.done.duplicates += 1;
            continue;
        }
        let url = page.record.url.as_str();
        let mut met = HashSet::new();
        let title = words.title.as_ref().or(page.record.title.as_ref());
        for (number, passage) in passages(&words.markdown).into_iter().enumerate() {
            let id = passage.number(url);
            if !met.insert(id) {
                continue;
            }
            let words = ChunkWords {
                title: title.cloned(),
                number: i32::try_from(number).unwrap_or(i32::MAX),
                provenance: page.provenance.clone(),
                passage,
            };
            take(&page, Chunk { id, words })?;
        }
    }
    Ok(())
}

/// The passages of the crawl that this one updates.
struct EarlierPassages {
    /// By id: the place of the page's record, and whether the passage is there still.
    known: HashMap<u128, (Offset, bool)>,
    urls: Urls,
    path: PathBuf,
}

impl EarlierPassages {
    fn read(work: &ExportContext<'_>) -> Result<Self, ExportError> {
        let path = work.job.path();
        let folder = JobFile::read(path)?.updated_from();
        let folder = folder.ok_or_else(|| ExportError::NoEarlier(path.to_owned()))?;
        let job = Job::open(&folder)?;
        job.require_records()?;
        let mut known = HashMap::new();
        let mut before = ExportContext {
            job: &job,
            form: work.form,
            options: work.options,
            tell: &mut |_| {},
            done: Exported::default(),
        };
        each_passage(&mut before, &mut |page, chunk| {
            if known.len() < MOST_EARLIER_PASSAGES {
                known.insert(chunk.id, (page.place, false));
            }
            Ok(())
        })?;
        Ok(Self {
            known,
            urls: Urls::open(&job)?,
            path: job.urls_path(),
        })
    }

    /// Whether a passage was there, which is remembered.
    fn met(&mut self, id: u128) -> bool {
        let found = self.known.get_mut(&id);
        found.map(|(_, is_there)| *is_there = true).is_some()
    }

    /// Writes those that are gone, in the order of their pages.
    fn write_removed(mut self, put: PutRow<'_>) -> Result<u64, ExportError> {
        let gone = self.known.iter().filter(|(_, (_, is_there))| !is_there);
        let mut gone: Vec<_> = gone.map(|(id, (place, _))| (*place, *id)).collect();
        gone.sort_unstable();
        for (place, id) in &gone {
            let url = self
                .urls
                .at(*place)
                .map_err(ExportError::input(&self.path))?;
            put(&ChunkRow {
                url: url.as_ref().to_owned(),
                id: format!("{id:032x}"),
                change: Some("removed"),
                words: None,
            })?;
        }
        Ok(gone.len() as u64)
    }
}
