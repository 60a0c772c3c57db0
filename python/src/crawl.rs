//! A crawl as Python holds it: an iterator and an asynchronous iterator over its pages.
//!
//! Owns what happens between two pages: signals, fairness to an event loop, the end. It refuses to know
//! how a crawl works. Invariant: the interpreter is free while a page is waited for, and dropping the
//! object stops the crawl.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clewline_cli::keywords;
use pyo3::exceptions::{PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::explain::Trouble;
use crate::feed::{Feed, NextPage};
use crate::options;
use crate::page::PythonPage;
use crate::waiter::Waiter;

/// How often a waiting thread looks for signals such as Ctrl-C.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);
/// After so many pages that were there at once, an event loop gets its turn.
const PAGES_PER_TURN: u32 = 8;

/// Starts a crawl.
#[pyfunction]
#[pyo3(signature = (*urls, **settings))]
pub(crate) fn crawl(
    py: Python<'_>,
    urls: Vec<String>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<PythonCrawl> {
    let given = options::given(settings)?;
    let config =
        keywords::config(urls, given).map_err(|told| Trouble::Settings.explained(py, &told))?;
    let folder = config.output.folder.clone();
    let feed = py.detach(|| Feed::start(config)).map_err(|told| {
        let trouble = if folder.is_some() {
            Trouble::Job
        } else {
            Trouble::Settings
        };
        trouble.explained(py, &told)
    })?;
    Ok(PythonCrawl {
        feed: Arc::new(feed),
        waiter: Waiter::default(),
        at_once: AtomicU32::new(0),
    })
}

/// A crawl at work: an iterator over its pages, for `for` and for `async for`.
#[pyclass(frozen, name = "Crawl", module = "clewline")]
pub(crate) struct PythonCrawl {
    feed: Arc<Feed>,
    waiter: Waiter,
    at_once: AtomicU32,
}

/// What a reader gets.
pub(crate) enum Answered {
    Page(Py<PythonPage>),
    Exception(PyErr),
}

/// A page or an exception for a future.
pub(crate) fn answered(py: Python<'_>, feed: &Arc<Feed>, asked: NextPage) -> Answered {
    match asked {
        NextPage::Page(page, number) => {
            let page = PythonPage::fetched(*page, Arc::downgrade(feed), number);
            Py::new(py, page).map_or_else(Answered::Exception, Answered::Page)
        }
        NextPage::Trouble(told) => {
            let is_unreached = feed.report().is_some();
            let trouble = if is_unreached {
                Trouble::Unreached
            } else {
                Trouble::Other
            };
            Answered::Exception(trouble.explained(py, &told))
        }
        NextPage::End | NextPage::NotYet => Answered::Exception(PyStopAsyncIteration::new_err(())),
    }
}

#[pymethods]
impl PythonCrawl {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __aiter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PythonPage>> {
        loop {
            match py.detach(|| self.feed.next(SIGNALS_EVERY)) {
                NextPage::NotYet => py.check_signals().inspect_err(|_| self.feed.stop())?,
                NextPage::End => return Err(PyStopIteration::new_err(())),
                asked => {
                    return match answered(py, &self.feed, asked) {
                        Answered::Page(page) => Ok(page),
                        Answered::Exception(error) => Err(error),
                    };
                }
            }
        }
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
        let future = event_loop.call_method0("create_future")?;
        let asked = self.feed.next_at_once();
        if matches!(asked, NextPage::NotYet) {
            let wish = (event_loop.unbind(), future.clone().unbind());
            self.waiter.wait(&self.feed, wish)?;
            return Ok(future);
        }
        let (setter, result) = match answered(py, &self.feed, asked) {
            Answered::Page(page) => ("set_result", page.into_any()),
            Answered::Exception(error) => ("set_exception", error.into_value(py).into_any()),
        };
        // A future that is done does not give the loop a turn; other tasks need one now and then.
        let at_once = self.at_once.fetch_add(1, Ordering::Relaxed);
        if at_once.is_multiple_of(PAGES_PER_TURN) {
            let later = py.import("clewline._later")?.getattr("settle")?;
            event_loop.call_method1("call_soon", (later, &future, setter, result))?;
        } else {
            future.call_method1(setter, (result,))?;
        }
        Ok(future)
    }

    /// Crawls from one more URL; whether it was new. Its host belongs to the crawl from now on.
    fn add(&self, py: Python<'_>, url: &str) -> PyResult<bool> {
        py.detach(|| self.feed.add(url))
            .map_err(|error| Trouble::Settings.told(py, &error))
    }

    /// Stops the crawl and waits until it has ended; its job folder, if it has one, is free then.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.feed.close());
    }

    /// What happened, counted: the same as `--format json` prints; None while the crawl runs.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(text) = py.detach(|| self.feed.report()) else {
            return Ok(None);
        };
        py.import("json")?.call_method1("loads", (text,)).map(Some)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }
}

impl Drop for PythonCrawl {
    fn drop(&mut self) {
        // The thread that waits for an event loop may hold the feed a moment longer.
        self.feed.stop();
    }
}
