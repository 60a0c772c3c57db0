//! Findings as a table.
//!
//! Owns its columns. It refuses to know quoting, which is that of every table of ours.

use std::io::{self, Write};

use clewline_job::csv::CsvRow;

use crate::baseline::fingerprint;
use crate::report::CheckReport;

const COLUMNS: [&str; 14] = [
    "severity",
    "rule",
    "page",
    "target",
    "subject",
    "evidence",
    "mend",
    "file",
    "line",
    "column",
    "text",
    "count",
    "known",
    "fingerprint",
];

pub(super) fn write(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let mut row = CsvRow::default();
    for column in COLUMNS {
        row.text(column);
    }
    out.write_all(row.end().as_bytes())?;
    for one in &report.findings {
        let finding = &one.finding;
        for text in [one.severity.name(), finding.rule.id, finding.page.as_str()] {
            row.text(text);
        }
        row.text(finding.target.as_deref().unwrap_or_default());
        row.text(finding.subject.as_deref().unwrap_or_default());
        row.text(&finding.evidence);
        row.text(finding.mend.as_deref().unwrap_or_default());
        row.text(one.file.as_deref().unwrap_or_default());
        match finding.place.as_ref().filter(|place| place.line > 0) {
            Some(place) => {
                row.shown(place.line);
                row.shown(place.column);
                row.text(&place.text);
            }
            None => (0..3).for_each(|_| row.begin()),
        }
        row.shown(finding.count);
        row.shown(one.known);
        row.text(&fingerprint(finding));
        out.write_all(row.end().as_bytes())?;
    }
    Ok(())
}
