//! The door: a job, a form, a place.
//!
//! Owns what is asked for and what is told, and what the forms share while they work. It
//! refuses to know how a form looks.

use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clewline_content::ItemRules;
use clewline_job::Job;
use clewline_job::log::Offset;
use serde::Serialize;

use crate::ExistingOutput;
use crate::columns::{PageRow, SCHEMA_VERSION};
use crate::draft::{Draft, DraftFile, MARKER};
use crate::error::ExportError;
use crate::filter::Filter;
use crate::fold::{DuplicateMap, Fold};
use crate::form::Form;
use crate::form::duplicates::NearCount;
use crate::pages::{ExportPages, ExportedPage, Need, ReadContent};
use crate::urls::Urls;

/// Rows between two words about the progress.
const TELL_EVERY: u64 = 64;
/// Pages that could not be read and are named; others are counted.
const MOST_COMPLAINTS: usize = 100;
/// The version of the marker in folders.
const FORMAT: u32 = 1;

/// What is exported, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Conditions that all must hold.
    pub filters: Vec<Filter>,
    /// Whether documents and sitemaps leave duplicates out; tables name them in a column.
    pub fold: Fold,
    /// Rules that make items of pages, for `jsonl` and `parquet`.
    pub rules: Option<ItemRules>,
    /// For chunks: only what came and went since the crawl that this one updates.
    pub delta: bool,
    /// Threads that read pages; without it as many as there are cores. What is written is the same.
    pub threads: Option<NonZero<usize>>,
}

/// Where it is written.
pub enum Output<'a> {
    /// A file or a folder, as the form has it.
    Path(&'a Path, ExistingOutput),
    /// A stream, for forms of one file.
    Stream(&'a mut dyn Write),
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportProgress {
    /// Bytes of the log that were read.
    pub read: u64,
    /// Bytes of the log that there are.
    pub length: u64,
    /// Rows or documents that were written.
    pub rows: u64,
    /// Which log that is.
    pub part: Part,
}

/// What of a job is being exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Records of URLs, and their pages.
    Pages,
    /// Links.
    Links,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Rows, documents, URLs or nodes.
    pub rows: u64,
    /// Links or edges.
    pub links: u64,
    /// Items of rules.
    pub items: u64,
    /// Required fields of items that were missing.
    pub missing: u64,
    /// Pages that are another page under another URL; left out where duplicates are folded.
    pub duplicates: u64,
    /// Pages that could not be read.
    pub unreadable: u64,
    /// The first of them, with the reason.
    pub complaints: Vec<String>,
    /// Pages that say nearly the same, where the form reads them.
    pub near: Option<NearCount>,
}

/// Writes what a job folder holds in a form.
pub fn export(
    job: &Path,
    form: Form,
    output: Output<'_>,
    options: &Options,
    tell: &mut dyn FnMut(ExportProgress),
) -> Result<Exported, ExportError> {
    let job = Job::open(job)?;
    // There is no form without records.
    job.require_records()?;
    let mut work = ExportContext {
        job: &job,
        form,
        options,
        tell,
        done: Exported::default(),
    };
    form.write(&mut work, output)?;
    Ok(work.done)
}

/// What forms share while they work.
pub(crate) struct ExportContext<'a> {
    pub(crate) job: &'a Job,
    pub(crate) form: Form,
    pub(crate) options: &'a Options,
    pub(crate) tell: &'a mut dyn FnMut(ExportProgress),
    pub(crate) done: Exported,
}

/// What a folder says about itself.
#[derive(Serialize)]
struct Marker<'a> {
    v: u32,
    schema_version: i32,
    form: &'a str,
    rows: u64,
    links: u64,
    items: u64,
    duplicates: u64,
    unreadable: u64,
}

impl<'a> ExportContext<'a> {
    /// The pages that are exported.
    pub(crate) fn pages(&self, need: Need) -> Result<ExportPages<'a>, ExportError> {
        ExportPages::new(self, need)
    }

    /// Which pages are duplicates.
    pub(crate) fn folded(&self) -> Result<DuplicateMap, ExportError> {
        DuplicateMap::for_job(self.job, &self.options.filters)
    }

    /// Which pages are left out; none if nothing is to be folded.
    pub(crate) fn left_out(&self) -> Result<DuplicateMap, ExportError> {
        match self.options.fold {
            Fold::Together => self.folded(),
            Fold::Apart => Ok(DuplicateMap::default()),
        }
    }

    /// Takes note of a page that was looked at, `read` bytes into the records.
    pub(crate) fn take(&mut self, page: &ExportedPage, read: Offset) {
        if let ReadContent::Unreadable(why) = &page.found {
            self.done.unreadable += 1;
            if self.done.complaints.len() < MOST_COMPLAINTS {
                let url = page.record.url.as_str();
                self.done.complaints.push(format!("{url}: {why}"));
            }
        }
        self.tell_of(read);
    }

    /// Tells how far it is, now and then.
    pub(crate) fn tell_of(&mut self, read: Offset) {
        if self.done.rows.is_multiple_of(TELL_EVERY) {
            (self.tell)(ExportProgress {
                read: read.0,
                length: self.job.urls_end().0,
                rows: self.done.rows,
                part: Part::Pages,
            });
        }
    }

    /// The same for links, by the place in their log.
    pub(crate) fn tell_of_links(&mut self, place: u64) {
        (self.tell)(ExportProgress {
            read: place,
            length: self.job.links_end().0,
            rows: self.done.rows,
            part: Part::Links,
        });
    }

    /// Marks a folder as an export, and gives it its name.
    pub(crate) fn finish(&self, draft: Draft) -> Result<(), ExportError> {
        let done = &self.done;
        let marker = Marker {
            v: FORMAT,
            schema_version: SCHEMA_VERSION,
            form: self.form.name(),
            rows: done.rows,
            links: done.links,
            items: done.items,
            duplicates: done.duplicates,
            unreadable: done.unreadable,
        };
        let path = draft.place().join(MARKER);
        let mut file = DraftFile::create(&path)?;
        let failed = ExportError::output(&path);
        serde_json::to_writer(&mut file, &marker).map_err(|error| failed(error.into()))?;
        file.write_all(b"\n").map_err(failed)?;
        file.close()?;
        draft.finish()
    }
}

/// Makes rows of pages.
pub(crate) struct Rows {
    folded: DuplicateMap,
    urls: Urls,
    path: PathBuf,
}

impl Rows {
    pub(crate) fn new(work: &ExportContext<'_>) -> Result<Self, ExportError> {
        Ok(Self {
            folded: work.folded()?,
            urls: Urls::open(work.job)?,
            path: work.job.urls_path(),
        })
    }

    /// The row of a page, with the URL that it is a duplicate of.
    pub(crate) fn row(
        &mut self,
        work: &mut ExportContext<'_>,
        page: ExportedPage,
    ) -> Result<PageRow, ExportError> {
        let original = self.folded.original(page.place);
        let original = original.map(|place| self.urls.at(place)).transpose();
        let original = original.map_err(ExportError::input(&self.path))?;
        work.done.rows += 1;
        work.done.duplicates += u64::from(original.is_some());
        if let Some(items) = &page.items {
            work.done.missing += items.missing.values().sum::<u64>();
        }
        Ok(PageRow {
            page,
            duplicate_of: original.map(|url| url.as_ref().to_owned()),
        })
    }
}

/// One file, or a stream.
pub(crate) struct Sink<'a> {
    path: PathBuf,
    out: Out<'a>,
}

enum Out<'a> {
    File(Draft, DraftFile),
    Stream(&'a mut dyn Write),
}

impl<'a> Sink<'a> {
    pub(crate) fn open(output: Output<'a>) -> Result<Self, ExportError> {
        Ok(match output {
            Output::Path(path, existing) => {
                let (draft, file) = Draft::file(path, existing)?;
                Self {
                    path: path.to_owned(),
                    out: Out::File(draft, file),
                }
            }
            Output::Stream(stream) => Self {
                path: PathBuf::from("-"),
                out: Out::Stream(stream),
            },
        })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), ExportError> {
        let written = match &mut self.out {
            Out::File(_, file) => file.write_all(bytes),
            Out::Stream(stream) => stream.write_all(bytes),
        };
        written.map_err(ExportError::output(&self.path))
    }

    pub(crate) fn finish(self) -> Result<(), ExportError> {
        match self.out {
            Out::File(draft, file) => {
                file.close()?;
                draft.finish()
            }
            Out::Stream(stream) => stream.flush().map_err(ExportError::output(&self.path)),
        }
    }
}
