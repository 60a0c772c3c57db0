//! Keyword arguments as settings.
//!
//! Owns which Python values a setting takes: texts, numbers, paths, switches, lists of texts. Names,
//! ranges and what is wrong with a value are decided by the command's registry.

use std::path::PathBuf;

use clewline_cli::keywords::{self, KeywordValue};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

/// The settings of a crawl: name, meaning, kind of value ("switch", "number", "text", "texts").
#[pyfunction]
pub(crate) fn settings() -> Vec<(String, &'static str, &'static str)> {
    keywords::keywords().collect()
}

/// The keywords that were given; one that is None counts as not given.
pub(crate) fn given(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, KeywordValue)>> {
    let mut given = Vec::new();
    for (name, value) in keywords.into_iter().flatten() {
        let name: String = name.extract()?;
        if !value.is_none() {
            let value = taken(&name, &value)?;
            given.push((name, value));
        }
    }
    Ok(given)
}

fn taken(name: &str, value: &Bound<'_, PyAny>) -> PyResult<KeywordValue> {
    if value.is_instance_of::<PyBool>() {
        return Ok(KeywordValue::Switch(value.extract()?));
    }
    if let Some(text) = text(value)? {
        return Ok(KeywordValue::Text(text));
    }
    let mut texts = Vec::new();
    for item in value.try_iter().map_err(|_| wrong(name, value))? {
        let item = item?;
        texts.push(text(&item)?.ok_or_else(|| wrong(name, &item))?);
    }
    Ok(KeywordValue::Texts(texts))
}

fn text(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let is_number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>();
    if is_number || value.is_instance_of::<PyString>() {
        return Ok(Some(value.str()?.to_string_lossy().into_owned()));
    }
    // Whatever has a path.
    let path = value.extract::<PathBuf>().ok();
    Ok(path.map(|path| path.to_string_lossy().into_owned()))
}

fn wrong(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type();
    PyTypeError::new_err(format!(
        "{name} takes a text, a number, True or False, or a list of texts, not {kind}"
    ))
}
