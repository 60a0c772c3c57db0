//! From a job to the table of its site.
//!
//! Owns which rows of an earlier check are taken over, which pages are read, and where the rows are
//! kept: in `check/facts` of a job folder that can be written, else in a temporary file that goes
//! with the table. It refuses to know what facts are made of. Invariants: the rows do not depend on
//! whether an earlier file was there; a page that breaks the reader costs that page only; memory does
//! not grow with the pages, beyond a row in the table.

use std::fs;
use std::io;
use std::num::NonZero;
use std::path::Path;

use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_job::log::urls::write_line;
use clewline_job::pages::{JobSource, PageNeeds, PagesError, threads};
use clewline_job::rebuild::ReadAnswer;
use clewline_job::record::Record;
use clewline_job::{Job, log};

use super::FactRow;
use super::files::{RowWriter, SiteFiles};
use super::folder::FolderWork;
use super::reading::{MOST_BODY, MadeRow, make_row, read_row};
use crate::site::{SiteTable, TableDraft};

/// The file's place in a job folder.
pub const FILE: &str = "check/facts";

/// How facts are gathered.
#[derive(Clone, Copy, Default)]
pub struct GatherOptions<'a> {
    /// Threads that read pages; as many as there are cores if nothing is said.
    pub threads: Option<NonZero<usize>>,
    /// Reads answers in archives that others wrote; without it they have no pages.
    pub read_answer: Option<&'a ReadAnswer<'a>>,
}

impl std::fmt::Debug for GatherOptions<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("GatherOptions");
        shown
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// How far the gathering is, and in the end what was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GatherProgress {
    /// URLs that have their row.
    pub urls: u64,
    /// Of those, the ones whose row was made again.
    pub made: u64,
}

/// What was gathered.
#[derive(Debug)]
pub struct GatheredFacts {
    /// The table, with the facts behind it.
    pub site: SiteTable,
    /// What was done.
    pub progress: GatherProgress,
    /// What was wrong with the file of an earlier check, so that it was made again from there on.
    pub damage: Option<String>,
}

/// Gathers the facts of all pages of a job.
pub fn gather(
    job: &Job,
    options: &GatherOptions<'_>,
    progress: &mut dyn FnMut(GatherProgress),
) -> Result<GatheredFacts, PagesError> {
    match job.source() {
        JobSource::Folder => gather_folder(job, options, progress),
        JobSource::Warc | JobSource::Wacz => gather_archive(job, options, progress),
    }
}

/// The table of pages whose facts are at hand, kept in a temporary file.
pub fn from_pages(
    keyer: Keyer,
    pages: impl IntoIterator<Item = (Record, FactRow)>,
) -> io::Result<SiteTable> {
    let mut draft = TemporaryDraft::new(keyer)?;
    for (record, facts) in pages {
        let made = make_row(&record, (0, 0), &facts);
        draft.push(&record, &made)?;
    }
    draft.finish()
}

/// Records and rows in files that go with the table.
struct TemporaryDraft {
    folder: tempfile::TempDir,
    table: TableDraft,
    rows: RowWriter,
    records: Vec<u8>,
    written: io::BufWriter<fs::File>,
    at: u64,
}

impl TemporaryDraft {
    fn new(keyer: Keyer) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Self {
            table: TableDraft::new(keyer),
            rows: RowWriter::create(folder.path().join("facts"), 0)?,
            records: Vec::new(),
            written: io::BufWriter::new(fs::File::create(folder.path().join("records"))?),
            at: 0,
            folder,
        })
    }

    fn push(&mut self, record: &Record, made: &MadeRow) -> io::Result<()> {
        self.records.clear();
        write_line(record, &mut self.records)?;
        io::Write::write_all(&mut self.written, &self.records)?;
        let row_at = self.rows.push(&made.row)?;
        self.table.push(record, &made.summary, (self.at, row_at));
        self.at += self.records.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> io::Result<SiteTable> {
        io::Write::flush(&mut self.written)?;
        let facts = self.rows.finish()?;
        let records = self.folder.path().join("records");
        let files = SiteFiles::open(records, facts, Some(self.folder))?;
        self.table.finish(files, &[])
    }
}

/// An archive without records: every page is read, and nothing stays.
fn gather_archive(
    job: &Job,
    options: &GatherOptions<'_>,
    told: &mut dyn FnMut(GatherProgress),
) -> Result<GatheredFacts, PagesError> {
    let at_job = |error| at(job.path())(error);
    // The keys of records that are derived from answers are made so.
    let keyer = Keyer::new(0, &[]);
    let needs = PageNeeds {
        body: Some(MOST_BODY),
        rendered: true,
        ..PageNeeds::default()
    };
    let mut pages = job.pages(needs)?;
    if let Some(read_answer) = options.read_answer {
        pages = pages.reading_answers(read_answer);
    }
    let mut draft = TemporaryDraft::new(keyer.clone()).map_err(at_job)?;
    let mut progress = GatherProgress::default();
    let work = move |page| read_row(&keyer, page);
    for made in pages.on_threads(threads(options.threads), work)? {
        let (record, made) = made?;
        draft.push(&record, &made).map_err(at_job)?;
        progress.urls += 1;
        progress.made += 1;
        told(progress);
    }
    Ok(GatheredFacts {
        site: draft.finish().map_err(at_job)?,
        progress,
        damage: None,
    })
}

pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> PagesError {
    move |source| PagesError::Io {
        path: path.to_owned(),
        source,
    }
}

/// A job folder: rows of an earlier check are taken over as far as they hold.
fn gather_folder(
    job: &Job,
    options: &GatherOptions<'_>,
    told: &mut dyn FnMut(GatherProgress),
) -> Result<GatheredFacts, PagesError> {
    let mut work = FolderWork::start(job, options, told)?;
    work.take_over()?;
    work.make_rest(options)?;
    let listed = listed(job)?;
    work.finish(&listed)
}

/// The URLs that sitemaps list, as the link log has it.
fn listed(job: &Job) -> Result<Vec<Key>, PagesError> {
    let mut listed = Vec::new();
    if let Some(links) = job.links()? {
        let note = |_, target, kind| {
            if kind == LinkKind::Sitemap {
                listed.push(target);
            }
        };
        let path = job.path().join(log::links::FILE);
        links.each(note).map_err(at(&path))?;
    }
    Ok(listed)
}
