//! What was measured, as a picture: three bars per rung, for light and dark pages.

use std::fmt::Write as _;

use super::{Results, Row};
use crate::passage::grouped;

const WIDTH: f64 = 900.0;
/// Room for the names.
const LEFT: f64 = 160.0;
const TOP: f64 = 76.0;
const STEP: f64 = 30.0;
const BAR: f64 = 18.0;
/// Room for a column with its figures, and for the figures alone.
const COLUMN: f64 = (WIDTH - LEFT) / 3.0;
const FIGURES: f64 = 90.0;

const STYLE: &str = "text{font:14px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}\
.quiet{fill:#59636e}rect{fill:#0969da}@media(prefers-color-scheme:dark){text{fill:#f0f6fc}\
.quiet{fill:#9198a1}rect{fill:#4493f8}}";

/// A column: its heading, its value for a rung, and how that is written.
struct Column {
    heading: &'static str,
    value: fn(&Row) -> Option<f64>,
    written: fn(f64) -> String,
}

const COLUMNS: [Column; 3] = [
    Column {
        heading: "time",
        value: |row| Some(row.seconds),
        written: |seconds| format!("{seconds:.1} s"),
    },
    Column {
        heading: "processor while waiting",
        value: |row| (!row.is_alone).then_some(100.0 * row.processor),
        written: |share| format!("{share:.1} %"),
    },
    Column {
        heading: "memory per waiting request",
        value: |row| {
            let held = row.most.as_ref()?;
            Some((held.bytes? + held.kernel_bytes.unwrap_or(0.0)) / 1000.0)
        },
        written: |kilobytes| format!("{kilobytes:.1} KB"),
    },
];

/// The picture.
pub(crate) fn svg(results: &Results) -> String {
    let height = TOP + STEP * results.rows.len() as f64 + 8.0;
    let (pages, tasks) = (grouped(results.pages as f64), results.tasks);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"The ladder, measured\">\n\
         <style>{STYLE}</style>\n\
         <text class=\"title\" x=\"0\" y=\"18\">The same {pages} pages, each 100 ms away</text>\n\
         <text class=\"quiet\" x=\"0\" y=\"38\">{tasks} requests in flight, but for the first; \
         memory with up to {} of them</text>\n",
        grouped(f64::from(results.hold)),
    );
    for (number, row) in results.rows.iter().enumerate() {
        let base = TOP + STEP * number as f64 + BAR - 4.0;
        put(
            &mut text,
            LEFT - 10.0,
            base,
            "text-anchor=\"end\"",
            row.name,
        );
    }
    for (number, column) in COLUMNS.iter().enumerate() {
        let left = LEFT + COLUMN * number as f64;
        put(
            &mut text,
            left,
            TOP - 12.0,
            "class=\"quiet\"",
            column.heading,
        );
        draw(&mut text, left, column, &results.rows);
    }
    text + "</svg>\n"
}

fn draw(text: &mut String, left: f64, column: &Column, rows: &[Row]) {
    let values = rows.iter().filter_map(column.value);
    let most = values.fold(f64::MIN_POSITIVE, f64::max);
    for (number, row) in rows.iter().enumerate() {
        let top = TOP + STEP * number as f64;
        let base = top + BAR - 4.0;
        let Some(value) = (column.value)(row) else {
            put(text, left, base, "class=\"quiet\"", "–");
            continue;
        };
        // Even next to nothing is more than nothing.
        let length = ((COLUMN - FIGURES) * value / most).max(1.0);
        writeln!(
            text,
            "<rect x=\"{left:.1}\" y=\"{top}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"2\"/>"
        )
        .expect("a string takes any text");
        put(
            text,
            left + length + 6.0,
            base,
            "",
            &(column.written)(value),
        );
    }
}

fn put(text: &mut String, x: f64, y: f64, how: &str, what: &str) {
    let what = what.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(text, "<text x=\"{x:.1}\" y=\"{y}\" {how}>{what}</text>")
        .expect("a string takes any text");
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::results;
    use super::*;

    #[test]
    fn every_figure_has_a_bar() {
        let results = results();
        let picture = svg(&results);
        let alone = results.rows.iter().filter(|row| row.is_alone).count();
        let bars = 3 * results.rows.len() - 2 * alone;
        assert_eq!(picture.matches("<rect").count(), bars);
        assert!(
            picture.contains(">200.0 s<") && picture.contains(">22.1 KB<"),
            "{picture}"
        );
    }
}
