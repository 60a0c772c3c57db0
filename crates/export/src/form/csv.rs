//! Tables as CSV.
//!
//! Owns how the kinds of cells are written. It refuses to know quoting, which is that of
//! [`CsvRow`].

pub(crate) use clewline_job::csv::CsvRow;

use crate::columns::{Cell, PAGES, PLAIN};
use crate::error::ExportError;
use crate::export::{ExportContext, Output, Rows, Sink};
use crate::pages::Need;

pub(super) fn write(work: &mut ExportContext<'_>, output: Output<'_>) -> Result<(), ExportError> {
    let columns = &PAGES[..PLAIN];
    let mut sink = Sink::open(output)?;
    let mut rows = Rows::new(work)?;
    let mut line = CsvRow::default();
    for column in columns {
        line.text(column.name);
    }
    sink.write(line.end().as_bytes())?;
    let mut pages = work.pages(Need::Record)?;
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        let row = rows.row(work, page)?;
        for column in columns {
            cell(&(column.value)(&row), &mut line);
        }
        sink.write(line.end().as_bytes())?;
    }
    sink.finish()
}

/// Adds a value to a row.
fn cell(cell: &Cell<'_>, row: &mut CsvRow) {
    match cell {
        Cell::Empty => row.begin(),
        Cell::Text(text) => row.text(text),
        Cell::Json(text) => row.text(text),
        Cell::Moment(text) => row.text(text),
        Cell::Integer(number) => row.shown(number),
        Cell::Long(number) => row.shown(number),
        Cell::Double(number) => row.shown(number),
        Cell::Flag(flag) => row.shown(flag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_written_by_their_kind() {
        let mut row = CsvRow::default();
        for value in [Cell::Empty, Cell::Long(-7), Cell::Flag(true)] {
            cell(&value, &mut row);
        }
        assert_eq!(row.end(), ",-7,true\r\n");
        cell(&Cell::Double(0.5), &mut row);
        assert_eq!(row.end(), "0.5\r\n");
    }
}
