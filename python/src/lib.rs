//! Clewline for Python.
//!
//! Owns the classes that Python sees and how its threads, signals and event loops meet a crawl; what
//! they do is done by the library, the settings' names are those of the command's registry, and
//! `python/package/clewline/__init__.py` adds what is easier said in Python. Invariant: nobody waits for a page, for
//! the disk or for the network while holding the interpreter.

mod crawl;
mod explain;
mod feed;
mod options;
mod page;
mod search;
mod stored;
mod waiter;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The parts of `clewline` that are written in Rust.
#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<crawl::PythonCrawl>()?;
    module.add_class::<page::PythonPage>()?;
    module.add_class::<page::PythonElement>()?;
    module.add_class::<stored::PythonJob>()?;
    module.add_class::<stored::StoredPages>()?;
    module.add_class::<search::PythonHit>()?;
    module.add_function(wrap_pyfunction!(crawl::crawl, module)?)?;
    module.add_function(wrap_pyfunction!(stored::open, module)?)?;
    module.add_function(wrap_pyfunction!(options::settings, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}

/// Runs the command; the first argument is its name. Answers with its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| clewline_cli::run_command(arguments))
}
