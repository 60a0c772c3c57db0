//! What a search found.
//!
//! Owns the way from a query to hits. How pages are indexed and ranked is decided by `clewline-search`.

use std::path::Path;

use clewline_search::{Borrowed, Folding, Hit, Query, SearchError};
use pyo3::prelude::*;

use crate::explain::Trouble;

/// A page that was found.
#[pyclass(frozen, name = "Hit", module = "clewline", get_all)]
pub(crate) struct PythonHit {
    /// Its URL.
    url: String,
    /// Its title.
    title: String,
    /// The piece of it that shows why it was found.
    snippet: String,
    /// Its host.
    host: String,
    /// Its language; empty if it is not known.
    language: String,
    /// How well it fits; to be compared within one search.
    score: f32,
    /// How many pages it stands for beside itself.
    alike: usize,
}

impl From<Hit> for PythonHit {
    fn from(hit: Hit) -> Self {
        Self {
            url: hit.url,
            title: hit.title,
            snippet: hit.snippet.text,
            host: hit.host,
            language: hit.language,
            score: hit.score,
            alike: hit.alike,
        }
    }
}

#[pymethods]
impl PythonHit {
    fn __repr__(&self) -> String {
        format!("<Hit {} {:?}>", self.url, self.title)
    }
}

/// Searches a job folder, after its index caught up.
pub(crate) fn search(
    py: Python<'_>,
    folder: &Path,
    query: &str,
    (limit, fold): (usize, bool),
) -> PyResult<Vec<PythonHit>> {
    let folding = if fold { Folding::Alike } else { Folding::Off };
    let query = Query::parse(query)
        .map_err(|error| Trouble::Query.told(py, &error))?
        .folding(folding)
        .limit(limit);
    let hits = py.detach(|| found(folder, &query));
    let hits = hits.map_err(|error| Trouble::Job.told(py, &error))?;
    Ok(hits.into_iter().map(PythonHit::from).collect())
}

fn found(folder: &Path, query: &Query) -> Result<Vec<Hit>, SearchError> {
    let index = match clewline_search::open_updated(folder, &mut |_| {}) {
        Err(error) if error.is_read_only() => {
            let borrowed = Borrowed::make(folder, &mut |_| {})?;
            return Ok(borrowed.open()?.search(query)?.hits);
        }
        opened => opened?.0,
    };
    Ok(index.search(query)?.hits)
}
