//! The table, in Markdown that also reads well as it stands.

use super::super::race::checks::{Check, Kept};
use super::super::race::contestant::Party;
use super::super::race::round::{Row, Spread};

const HEADINGS: [&str; 14] = [
    "site",
    "who",
    "stores",
    "in flight",
    "runs",
    "requests",
    "pages/s",
    "CPU µs/page [min–max]",
    "user",
    "bytes/page (WARC)",
    "× bare",
    "server µs",
    "peak MiB",
    "recall, repeats, strays; notes",
];

/// Columns that hold words.
const WORDS: [usize; 4] = [0, 1, 2, 13];

/// One line per contestant and site.
pub(crate) fn markdown(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut lines: Vec<Vec<String>> = vec![HEADINGS.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| cells(row, rows)));
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let padded = line.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if WORDS.contains(&column) {
                format!(" {cell:<width$} |")
            } else {
                format!(" {cell:>width$} |")
            }
        });
        text.push('|');
        text.extend(padded);
        text.push('\n');
        if number == 0 {
            text.push_str(&rule(&widths));
        }
    }
    text
}

/// One line per promise.
pub(crate) fn checks(checks: &[Check]) -> String {
    if checks.is_empty() {
        return String::new();
    }
    let mut text = "\n| promise | seen | wanted | kept |\n|---|---|---|---|\n".to_owned();
    for check in checks {
        let kept = match check.kept {
            Kept::Yes => "yes",
            Kept::No => "**no**",
            Kept::NotMeasured => "–",
        };
        let cells = [check.name, &check.seen, &check.wanted, kept];
        text.extend(["| ", &cells.join(" | "), " |\n"]);
    }
    text
}

fn rule(widths: &[usize]) -> String {
    let dashes = widths.iter().enumerate().map(|(column, width)| {
        let end = if WORDS.contains(&column) { "-" } else { ":" };
        format!(" {}{end} |", "-".repeat(width.saturating_sub(1)))
    });
    format!("|{}\n", dashes.collect::<String>())
}

fn cells(row: &Row, rows: &[Row]) -> Vec<String> {
    let median = |spread: Option<Spread>, digits: usize| match spread {
        Some(spread) => format!("{:.digits$}", spread.median),
        None => "–".to_owned(),
    };
    vec![
        row.site.clone(),
        row.name.clone(),
        row.stores.to_owned(),
        row.in_flight.to_string(),
        row.samples.len().to_string(),
        median(row.requests(), 0),
        median(row.pages_per_second(), 0),
        range(row.per_page()),
        median(row.user_per_page(), 1),
        bytes(row),
        times_bare(row, rows),
        median(row.server_per_page(), 0),
        median(row.peak(), 0),
        remarks(row),
    ]
}

fn range(spread: Option<Spread>) -> String {
    spread.map_or_else(
        || "–".to_owned(),
        |spread| {
            format!(
                "{:.1} [{:.1}–{:.1}]",
                spread.median, spread.least, spread.most
            )
        },
    )
}

/// What is left on disk, and how much of it is the archive.
fn bytes(row: &Row) -> String {
    let Some(all) = row.bytes_per_page() else {
        return "–".to_owned();
    };
    let archive = row.archive_per_page();
    let archive = archive.map(|archive| format!(" ({:.0})", archive.median));
    format!("{:.0}{}", all.median, archive.unwrap_or_default())
}

/// How many times the processor time of the bare client on the same site.
fn times_bare(row: &Row, rows: &[Row]) -> String {
    ratio(row, rows).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1}"))
}

pub(crate) fn ratio(row: &Row, rows: &[Row]) -> Option<f64> {
    let bare = rows
        .iter()
        .find(|bare| bare.party == Party::Limit && bare.site == row.site)?;
    Some(row.per_page()?.median / bare.per_page()?.median)
}

fn remarks(row: &Row) -> String {
    let mut remarks = Vec::new();
    if let Some(coverage) = row.coverage {
        remarks.push(format!("{:.2} %", coverage.recall() * 100.0));
        for (count, what) in [(coverage.repeats, "repeats"), (coverage.strays, "strays")] {
            if count > 0 {
                remarks.push(format!("{count} {what}"));
            }
        }
    }
    match row.violations {
        Some(0) => remarks.push("no violation".to_owned()),
        Some(count) => remarks.push(format!("VOID: {count} violations")),
        None => {}
    }
    if let Some(engine) = row.engine_per_page() {
        let (micros, most) = (engine.median, 1e6 / engine.median);
        remarks.push(format!(
            "engine {micros:.1} µs: enough for {most:.0} pages/s"
        ));
    }
    if let Some(part) = row.of_ideal() {
        remarks.push(format!("{:.1} % of the ideal schedule", part * 100.0));
    }
    if server_dominates(row) {
        remarks.push("the server costs more than the crawler: a figure of the server".to_owned());
    }
    remarks.extend(row.notes.iter().cloned());
    remarks.join(", ")
}

/// On one core each, the costlier of the two decides pages/s.
fn server_dominates(row: &Row) -> bool {
    match (row.server_per_page(), row.per_page()) {
        (Some(server), Some(crawler)) => server.median > crawler.median,
        _ => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bench::arena::Coverage;
    use crate::bench::measure::{Cost, Ended};
    use crate::bench::race::contestant::Contestant;
    use crate::bench::race::round::{Left, Sample};

    /// A row with one run of 1,000 requests in a second.
    pub(crate) fn row(name: &str, party: Party, cpu: f64) -> Row {
        let contestant = Contestant::new(name, party, "nothing", &[]);
        let mut row = Row::new("docs", &contestant, 64);
        row.coverage = Some(Coverage {
            expected: 4,
            found: 3,
            strays: 0,
            repeats: 2,
        });
        row.samples.push(Sample {
            cost: Cost {
                wall: 1.0,
                user: cpu / 2.0,
                system: cpu / 2.0,
                peak: 2048,
                engine: (party == Party::Clewline).then_some(0.008),
                ended: Ended::Well,
            },
            requests: 1000,
            server: 0.03,
            coverage: None,
            violations: None,
            left: Left {
                all: 7000,
                archive: 5000,
            },
        });
        row
    }

    #[test]
    fn a_row_says_what_it_cost() {
        let rows = [
            row("bare client", Party::Limit, 0.02),
            row("clewline", Party::Clewline, 0.06),
        ];
        let text = markdown(&rows);
        let line = text.lines().last().unwrap();
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let expected = [
            "",
            "docs",
            "clewline",
            "nothing",
            "64",
            "1",
            "1000",
            "1000",
            "60.0 [60.0–60.0]",
            "30.0",
            "7 (5)",
            "3.0",
            "30",
            "2",
            "75.00 %, 2 repeats, engine 8.0 µs: enough for 125000 pages/s",
            "",
        ];
        assert_eq!(cells, expected);
        assert!(
            text.contains("a figure of the server"),
            "the server cost more than the client"
        );
    }
}
