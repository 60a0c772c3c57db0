//! JSON lines: an object for each URL.
//!
//! Owns how a row becomes an object. A value that a row does not have is left out. Invariant: a
//! line holds no character that steers a terminal, as in `urls.jsonl`.

use std::io;

use clewline_content::ReadingSpeed;
use clewline_job::escape;

use crate::columns::{Cell, Column, PAGES};
use crate::error::ExportError;
use crate::export::{ExportContext, Output, Rows, Sink};
use crate::form::duplicates::NearDuplicates;
use crate::pages::Need;

pub(super) fn write(work: &mut ExportContext<'_>, output: Output<'_>) -> Result<(), ExportError> {
    let mut sink = Sink::open(output)?;
    let mut rows = Rows::new(work)?;
    let mut near = NearDuplicates::default();
    let mut pages = work.pages(Need::Words(ReadingSpeed::Main))?;
    let mut line = Vec::new();
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        let row = rows.row(work, page)?;
        if row.duplicate_of.is_none() {
            near.take(&row.page);
        }
        line.clear();
        object(&PAGES, &row, &mut line).map_err(ExportError::output(work.job.path()))?;
        sink.write(&line)?;
    }
    work.done.near = Some(near.count());
    sink.finish()
}

/// Appends a row as an object.
pub(super) fn object<R>(columns: &[Column<R>], row: &R, line: &mut Vec<u8>) -> io::Result<()> {
    let mut json = String::from("{");
    for column in columns {
        let value = match (column.value)(row) {
            Cell::Empty => continue,
            Cell::Text(text) => serde_json::to_string(&text)?,
            Cell::Moment(text) => serde_json::to_string(text)?,
            Cell::Json(value) => value,
            Cell::Integer(number) => number.to_string(),
            Cell::Long(number) => number.to_string(),
            Cell::Double(number) => serde_json::to_string(&number)?,
            Cell::Flag(flag) => flag.to_string(),
        };
        if json.len() > 1 {
            json.push(',');
        }
        json.push('"');
        json.push_str(column.name);
        json.push_str("\":");
        json.push_str(&value);
    }
    json.push_str("}\n");
    // The line's end is the only control character in it.
    escape::json_text(&json, line);
    Ok(())
}
