//! A crawl that is on disk, as Python reads it.
//!
//! Owns the iterator over stored pages and the way of tables to Arrow. It refuses to change a job folder,
//! but for the index that a search brings up to date. Invariant: reading runs ahead by a few pages, and ends
//! when nobody wants more.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use clewline::{Headers, Page};
use clewline_cli::keywords::Explanation;
use clewline_export::{ExistingOutput, Form, Options, Output, export};
use clewline_job::Job;
use clewline_job::pages::{JobPage, PageNeeds, PagesError};
use clewline_job::record::OutcomeKind;
use pyo3::exceptions::{PyImportError, PyStopIteration, PyValueError};
use pyo3::prelude::*;

use crate::explain::Trouble;
use crate::page::PythonPage;
use crate::search::{PythonHit, search};

/// Pages that are read ahead.
const AHEAD: usize = 16;
/// Bytes of a body that are read at the most.
const LARGEST_BODY: u64 = 64 * 1024 * 1024;
/// How often a waiting thread looks for signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);
/// The tables that `to_arrow` makes.
const TABLES: [&str; 2] = ["pages", "links"];

/// Opens a job folder, a WARC file or a WACZ package.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf) -> PyResult<PythonJob> {
    let opened = py.detach(|| Job::open(&path));
    opened.map_err(|error| refused(py, error))?;
    Ok(PythonJob { path })
}

fn refused(py: Python<'_>, error: PagesError) -> PyErr {
    match error {
        PagesError::Job(error) => Trouble::Job.explained(py, &Explanation::from_job(error.into())),
        error => Trouble::Job.told(py, &error),
    }
}

/// What a crawl left on disk.
#[pyclass(frozen, name = "Job", module = "clewline")]
pub(crate) struct PythonJob {
    path: PathBuf,
}

#[pymethods]
impl PythonJob {
    /// The folder or file.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// The pages that were fetched, in the order of the crawl, with their bodies and links.
    fn pages(&self, py: Python<'_>) -> PyResult<StoredPages> {
        let job = py.detach(|| Job::open(&self.path));
        let job = job.map_err(|error| refused(py, error))?;
        let (sender, receiver) = sync_channel(AHEAD);
        thread::Builder::new()
            .name("clewline-pages".to_owned())
            .spawn(move || read(&job, &sender))?;
        Ok(StoredPages(Mutex::new(receiver)))
    }

    /// Searches what the pages say, best first; `clewline search --help` has the language.
    #[pyo3(signature = (query, limit = 10, *, fold = true))]
    fn search(
        &self,
        py: Python<'_>,
        query: &str,
        limit: usize,
        fold: bool,
    ) -> PyResult<Vec<PythonHit>> {
        search(py, &self.path, query, (limit, fold))
    }

    /// A table of the crawl ("pages" or "links") as a `pyarrow.Table`. Needs pyarrow.
    #[pyo3(signature = (table = "pages"))]
    fn to_arrow<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyAny>> {
        if !TABLES.contains(&table) {
            let tables = TABLES.join(" and ");
            return Err(PyValueError::new_err(format!("the tables are {tables}")));
        }
        let reader = py.import("pyarrow.parquet").map_err(|error| {
            let told = PyImportError::new_err("to_arrow() needs pyarrow: pip install pyarrow");
            told.set_cause(py, Some(error));
            told
        })?;
        let place = tempfile::tempdir()?;
        let folder = place.path().join("tables");
        let written = py.detach(|| {
            let output = Output::Path(&folder, ExistingOutput::Keep);
            let options = Options::default();
            export(&self.path, Form::Parquet, output, &options, &mut |_| {})
        });
        written.map_err(|error| Trouble::Job.told(py, &error))?;
        let file = folder.join(format!("{table}.parquet"));
        reader.call_method1("read_table", (file,))
    }

    fn __repr__(&self) -> String {
        format!("<Job {}>", self.path.display())
    }
}

/// What a thread read, or why it could not go on.
type Read = Result<Box<Page>, PagesError>;

fn read(job: &Job, to: &SyncSender<Read>) {
    let needs = PageNeeds {
        body: Some(LARGEST_BODY),
        rendered: true,
        links: true,
    };
    let pages = match job.pages(needs) {
        Ok(pages) => pages.only(|record| {
            matches!(
                record.outcome,
                OutcomeKind::Fetched | OutcomeKind::Unmodified
            )
        }),
        Err(error) => {
            to.send(Err(error)).ok();
            return;
        }
    };
    for page in pages {
        // Whoever dropped the iterator has seen enough.
        if to.send(page.map(|page| Box::new(whole(page)))).is_err() {
            return;
        }
    }
}

/// A stored page in the form of a fetched one; a body that is not in the archive is empty.
fn whole(stored: JobPage) -> Page {
    let answer = stored.answer.and_then(Result::ok).unwrap_or_default();
    let mut headers = Headers::default();
    for line in answer.head.split(|byte| *byte == b'\n').skip(1) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        if let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            headers.push(&String::from_utf8_lossy(name), value.trim_ascii());
        }
    }
    Page {
        record: stored.record,
        headers,
        body: answer.body.into(),
        rendered: answer.rendered.map(Into::into),
        links: stored.links,
    }
}

/// An iterator over stored pages.
#[pyclass(frozen, name = "StoredPages", module = "clewline")]
pub(crate) struct StoredPages(Mutex<Receiver<Read>>);

#[pymethods]
impl StoredPages {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<PythonPage> {
        loop {
            let next = py.detach(|| {
                let receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                receiver.recv_timeout(SIGNALS_EVERY)
            });
            match next {
                Ok(Ok(read)) => {
                    return Ok(PythonPage::stored(*read));
                }
                Ok(Err(error)) => return Err(refused(py, error)),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Err(PyStopIteration::new_err(())),
            }
        }
    }
}
