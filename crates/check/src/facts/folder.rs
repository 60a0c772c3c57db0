//! The rows of a job folder, made again where they no longer hold.
//!
//! Owns the comparison with the file of an earlier check and its replacement. As long as record and
//! row agree, nothing is written; from the first that differ on, a new file is made, which takes
//! rows of the old one wherever they hold. It refuses to know how a row is made. Invariant: the file
//! in the folder is replaced whole, or stays as it was.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::PathBuf;

use clewline_core::key::{Key, Keyer};
use clewline_job::durable::{make_folder, parent};
use clewline_job::log::Offset;
use clewline_job::log::urls;
use clewline_job::pages::{CommittedRecords, Ordered, PagesError, threads};
use clewline_job::record::Record;
use clewline_job::{Job, JobFile};

use super::files::{HEADER, RowReader, RowWriter, SiteFiles, records_hash};
use super::gather::{FILE, GatherOptions, GatherProgress, GatheredFacts, at};
use super::reading::{MadeRow, PageTask, RowAge, record_hash};
use super::row::RowParts;
use crate::site::TableDraft;

/// A folder's facts on their way.
pub(super) struct FolderWork<'a> {
    job: &'a Job,
    table: TableDraft,
    records: CommittedRecords,
    old: Option<RowReader>,
    /// The record for which there was no row.
    pending: Option<(Offset, Record)>,
    output: Option<FolderOutput>,
    progress: GatherProgress,
    told: &'a mut dyn FnMut(GatherProgress),
    damage: Option<String>,
}

/// A new file of facts.
struct FolderOutput {
    rows: RowWriter,
    /// Set where the folder cannot be written.
    temporary: Option<tempfile::TempDir>,
}

/// What is done for a record on some thread.
type RowTask = (Offset, PageTask);

impl<'a> FolderWork<'a> {
    pub(super) fn start(
        job: &'a Job,
        options: &GatherOptions<'_>,
        told: &'a mut dyn FnMut(GatherProgress),
    ) -> Result<Self, PagesError> {
        let _ = options;
        let keyer = job.keyer().cloned().unwrap_or_else(|| Keyer::new(0, &[]));
        let (old, damage) = match RowReader::open(&job.path().join(FILE)) {
            Ok(old) => (Some(old), None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, None),
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Self {
            job,
            table: TableDraft::new(keyer),
            records: job.records()?,
            old,
            pending: None,
            output: None,
            progress: GatherProgress::default(),
            told,
            damage,
        })
    }

    /// Takes rows over as long as they stand in the order of the records.
    pub(super) fn take_over(&mut self) -> Result<(), PagesError> {
        let mut row = Vec::new();
        while let Some(next) = self.records.next() {
            let (offset, record) = next?;
            let Some(row_at) = self.old_row(&mut row) else {
                self.pending = Some((offset, record));
                return Ok(());
            };
            let parts = RowParts::new(&row).filter(|parts| {
                let origin = parts.origin;
                origin.key == record.key && origin.record == record_hash(&record)
            });
            let Some(parts) = parts else {
                self.pending = Some((offset, record));
                self.rewind(row_at)?;
                return Ok(());
            };
            self.table.push(&record, &parts.summary, (offset.0, row_at));
            self.progress.urls += 1;
            (self.told)(self.progress);
        }
        Ok(())
    }

    /// The next row of the old file and where it begins; damage ends that file.
    fn old_row(&mut self, row: &mut Vec<u8>) -> Option<u64> {
        let old = self.old.as_mut()?;
        let begins = old.at();
        match old.next_row(row) {
            Ok(true) => Some(begins),
            Ok(false) => None,
            Err(error) => {
                self.damage.get_or_insert(error.to_string());
                None
            }
        }
    }

    /// Goes back in the old file, so that what was looked at is not taken for taken over.
    fn rewind(&mut self, row_at: u64) -> Result<(), PagesError> {
        let back = self.old.as_mut().map(|old| old.seek(row_at));
        back.unwrap_or(Ok(()))
            .map_err(at(&self.job.path().join(FILE)))
    }

    /// Whether the old file has exactly the rows that were taken over.
    fn is_whole(&mut self) -> Result<bool, PagesError> {
        let Some(end) = self.old.as_ref().map(RowReader::at) else {
            return Ok(false);
        };
        let has_more = self.old_row(&mut Vec::new()).is_some() || self.damage.is_some();
        self.rewind(end)?;
        Ok(self.pending.is_none() && !has_more)
    }

    /// Makes the rows of the records that are left, or takes them from another place of the file.
    pub(super) fn make_rest(&mut self, options: &GatherOptions<'_>) -> Result<(), PagesError> {
        if self.is_whole()? {
            return Ok(());
        }
        let mut output = self.begin_output()?;
        let age = self.age_of_rows();
        let places = self.places_of_rest();
        let reader = self.job.reader().ok();
        let keyer = self.table.keyer().clone();
        let work = move |(offset, task): RowTask| (offset, task.run(reader.as_deref(), &keyer));
        let started = Ordered::start(threads(options.threads), work);
        let mut made = started.map_err(at(self.job.path()))?;
        loop {
            while made.has_room()
                && let Some((offset, record)) = self.next_record()?
            {
                let found = places.binary_search_by_key(&record.key, |(key, _)| *key);
                let old = found.ok().and_then(|found| self.row_at(places[found].1));
                made.push((offset, PageTask { record, old, age }));
            }
            let Some(done) = made.next() else { break };
            let (offset, (record, row)) = done.map_err(at(self.job.path()))?;
            self.keep(&mut output, offset, &record, &row)?;
        }
        self.output = Some(output);
        Ok(())
    }

    fn keep(
        &mut self,
        output: &mut FolderOutput,
        offset: Offset,
        record: &Record,
        made: &MadeRow,
    ) -> Result<(), PagesError> {
        let row_at = output.rows.push(&made.row).map_err(at(self.job.path()))?;
        self.table.push(record, &made.summary, (offset.0, row_at));
        self.progress.urls += 1;
        self.progress.made += u64::from(made.is_new);
        (self.told)(self.progress);
        Ok(())
    }

    fn next_record(&mut self) -> Result<Option<(Offset, Record)>, PagesError> {
        match self.pending.take() {
            Some(pending) => Ok(Some(pending)),
            None => self.records.next().transpose(),
        }
    }

    fn row_at(&self, place: u64) -> Option<Vec<u8>> {
        self.old.as_ref()?.row_at(place).ok()
    }

    /// Whether the old rows are those of the crawl that this one brings up to date. That is seen by
    /// its records: a check may have been left out between the two.
    fn age_of_rows(&self) -> RowAge {
        let Some(old) = &self.old else {
            return RowAge::Unknown;
        };
        let last = JobFile::read(self.job.path()).ok();
        let last = last.and_then(|job| job.updated_from());
        let hash = last.map(|last| records_hash(&last.join(urls::FILE), Offset(u64::MAX)));
        match hash {
            Some(Ok(hash)) if hash == old.records() => RowAge::Last,
            _ => RowAge::Unknown,
        }
    }

    /// Where in the old file the rows are that were not taken over, in the order of their keys.
    fn places_of_rest(&mut self) -> Vec<(Key, u64)> {
        let mut places = Vec::new();
        let mut row = Vec::new();
        while let Some(row_at) = self.old_row(&mut row) {
            if let Some(parts) = RowParts::new(&row) {
                places.push((parts.origin.key, row_at));
            }
        }
        places.sort_unstable();
        places
    }

    /// Begins a new file with the rows that were taken over.
    fn begin_output(&mut self) -> Result<FolderOutput, PagesError> {
        let path = self.job.path().join(FILE).with_extension("new");
        let records = records_hash(&self.job.urls_path(), self.job.urls_end());
        let records = records.map_err(at(&self.job.urls_path()))?;
        let in_folder = make_folder(parent(&path)).and_then(|()| RowWriter::create(path, records));
        let mut output = match in_folder {
            Ok(rows) => FolderOutput {
                rows,
                temporary: None,
            },
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                return Err(at(self.job.path())(error));
            }
            Err(_) => temporary_output(records).map_err(at(self.job.path()))?,
        };
        let end = self.old.as_ref().map_or(0, RowReader::at);
        let taken = end.saturating_sub(HEADER as u64);
        if self.progress.urls > 0 {
            let path = self.job.path().join(FILE);
            let copied = File::open(&path).and_then(|old| output.rows.copy(old.take(end), taken));
            copied.map_err(at(&path))?;
        }
        Ok(output)
    }

    /// Gives the new file its name, and makes the table.
    pub(super) fn finish(self, listed: &[Key]) -> Result<GatheredFacts, PagesError> {
        let place = self.job.path().join(FILE);
        let failed = at(&place);
        let (facts, temporary) = match self.output {
            None => (place.clone(), None),
            Some(output) => named(output, place.clone()).map_err(&failed)?,
        };
        let files = SiteFiles::open(self.job.urls_path(), facts, temporary).map_err(&failed)?;
        Ok(GatheredFacts {
            site: self.table.finish(files, listed).map_err(&failed)?,
            progress: self.progress,
            damage: self.damage,
        })
    }
}

fn temporary_output(records: u64) -> io::Result<FolderOutput> {
    let folder = tempfile::tempdir()?;
    let rows = RowWriter::create(folder.path().join("facts"), records)?;
    Ok(FolderOutput {
        rows,
        temporary: Some(folder),
    })
}

fn named(output: FolderOutput, place: PathBuf) -> io::Result<(PathBuf, Option<tempfile::TempDir>)> {
    let written = output.rows.finish()?;
    if output.temporary.is_some() {
        return Ok((written, output.temporary));
    }
    fs::rename(written, &place)?;
    clewline_job::durable::sync_folder(parent(&place))?;
    Ok((place, None))
}
