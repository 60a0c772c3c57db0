//! Errors as exceptions.
//!
//! Owns which class of `clewline.errors` stands for which trouble. The words and hints are those of the
//! command. It refuses to know where an error comes from.

use std::fmt::Display;

use clewline_cli::keywords::Explanation;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The classes of `clewline.errors`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// An option or a URL makes no sense.
    Settings,
    /// No root could be fetched.
    Unreached,
    /// A job folder cannot be read or written.
    Job,
    /// A query or a selector makes no sense.
    Query,
    /// Anything else.
    Other,
}

impl Trouble {
    const fn class(self) -> &'static str {
        match self {
            Self::Settings => "SettingsError",
            Self::Unreached => "UnreachedError",
            Self::Job => "JobError",
            Self::Query => "QueryError",
            Self::Other => "ClewlineError",
        }
    }

    /// The exception with its hints.
    pub(crate) fn explained(self, py: Python<'_>, told: &Explanation) -> PyErr {
        let made = || {
            let hints = PyTuple::new(py, &told.hints)?;
            let class = py.import("clewline.errors")?.getattr(self.class())?;
            class.call1((&told.message, hints))
        };
        made().map_or_else(|error| error, PyErr::from_value)
    }

    /// The exception without hints.
    pub(crate) fn told(self, py: Python<'_>, error: &impl Display) -> PyErr {
        let told = Explanation {
            message: error.to_string(),
            hints: Vec::new(),
        };
        self.explained(py, &told)
    }
}
