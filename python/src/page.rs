//! A page as Python sees it.
//!
//! Owns the names of its attributes and what is made of a page once, when it is first asked for. It
//! refuses to know where the page comes from: from the network or from a job folder.

use std::sync::{OnceLock, Weak};

use clewline::Page;
use clewline_content::{Content, SelectedElement};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::explain::Trouble;
use crate::feed::Feed;

/// A page that was fetched.
#[pyclass(frozen, name = "Page", module = "clewline")]
pub(crate) struct PythonPage {
    page: Page,
    /// The crawl that waits for the end of its turn, if one does.
    turn: Option<(Weak<Feed>, u64)>,
    content: OnceLock<Result<Content, String>>,
}

impl PythonPage {
    /// A page that a crawl brought.
    pub(crate) const fn fetched(page: Page, feed: Weak<Feed>, number: u64) -> Self {
        Self {
            page,
            turn: Some((feed, number)),
            content: OnceLock::new(),
        }
    }

    /// A page of a job folder.
    pub(crate) const fn stored(page: Page) -> Self {
        Self {
            page,
            turn: None,
            content: OnceLock::new(),
        }
    }

    /// Whether its body is a text with tags.
    fn is_markup(&self) -> bool {
        let kind = self.page.record.content_type.as_deref();
        kind.is_none_or(|kind| kind.contains("html") || kind.contains("xml"))
    }

    fn content(&self, py: Python<'_>) -> PyResult<&Content> {
        let read = || self.page.content().map_err(|refusal| refusal.to_string());
        let content = py.detach(|| self.content.get_or_init(read));
        content
            .as_ref()
            .map_err(|refusal| Trouble::Other.told(py, &format!("{}: {refusal}", self.page.url())))
    }
}

#[pymethods]
impl PythonPage {
    /// The URL that was fetched.
    #[getter]
    fn url(&self) -> &str {
        self.page.url().as_str()
    }

    /// The HTTP status.
    #[getter]
    fn status(&self) -> u16 {
        self.page.status()
    }

    /// The title, if the page has one.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.page.title()
    }

    /// The body as text, in the page's own encoding.
    #[getter]
    fn html(&self) -> std::borrow::Cow<'_, str> {
        self.page.text()
    }

    /// The body as bytes, without transfer and content codings.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.page.body)
    }

    /// Header fields as received; names in lower case, the last of a name counts.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let headers = PyDict::new(py);
        for (name, value) in self.page.headers.iter() {
            headers.set_item(name.to_ascii_lowercase(), String::from_utf8_lossy(value))?;
        }
        Ok(headers)
    }

    /// The main text as Markdown with absolute links; empty if the page is no HTML.
    #[getter]
    fn markdown(&self, py: Python<'_>) -> PyResult<&str> {
        if !self.is_markup() {
            return Ok("");
        }
        let main = self.content(py)?.main.as_ref();
        Ok(main.map_or("", |main| main.markdown.as_str()))
    }

    /// The main text as plain text, without menus and footers; of a page that is no HTML, all of it.
    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        if !self.is_markup() {
            return Ok(self.page.shown().into_owned());
        }
        let main = self.content(py)?.main.as_ref();
        Ok(main.map_or_else(String::new, |main| main.text.clone()))
    }

    /// The URLs of the pages that this one links to, each once, in their order.
    #[getter]
    fn links(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let links = self.page.links.iter().filter(|link| link.kind.is_page());
        let urls = links.map(|link| link.url.as_str());
        urls.filter(|url| seen.insert(*url)).collect()
    }

    /// The line of `urls.jsonl`, as a dictionary.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let line = serde_json::to_string(&self.page.record)
            .map_err(|error| Trouble::Other.told(py, &error))?;
        py.import("json")?.call_method1("loads", (line,))
    }

    /// The elements that a CSS selector matches, in the order of the page.
    fn select(&self, py: Python<'_>, selector: &str) -> PyResult<Vec<PythonElement>> {
        let found = py
            .detach(|| self.page.select(selector))
            .map_err(|error| Trouble::Query.told(py, &error))?;
        Ok(found.into_iter().map(PythonElement).collect())
    }

    /// Does not follow the links of this page. It is possible until the next page is asked for.
    fn skip_links(&self, py: Python<'_>) -> PyResult<()> {
        let is_skipped = self.turn.as_ref().is_some_and(|(feed, number)| {
            let feed = feed.upgrade();
            feed.is_some_and(|feed| py.detach(|| feed.skip_links(*number)))
        });
        if is_skipped || !matches!(self.page.status(), 200..=299) {
            return Ok(());
        }
        Err(PyValueError::new_err(
            "the links of this page are followed already: call skip_links() before asking for the \
             next page",
        ))
    }

    fn __repr__(&self) -> String {
        format!("<Page {} {}>", self.page.status(), self.page.url())
    }
}

/// An element that a selector matched.
#[pyclass(frozen, name = "Element", module = "clewline")]
pub(crate) struct PythonElement(SelectedElement);

#[pymethods]
impl PythonElement {
    /// Its name in lower case.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Its text, with runs of white space as one space.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// Its markup, with itself.
    #[getter]
    fn html(&self) -> &str {
        &self.0.html
    }

    /// Its attributes.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let attributes = PyDict::new(py);
        for (name, value) in &self.0.attributes {
            attributes.set_item(name, value)?;
        }
        Ok(attributes)
    }

    fn __repr__(&self) -> String {
        format!("<Element {} {:?}>", self.0.name, self.0.text)
    }
}
