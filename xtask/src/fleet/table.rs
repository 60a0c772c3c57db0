//! The figures of a fleet as people read them.

use serde_json::Value;

use crate::passage::grouped;

/// Under what circumstances; the build is always that of the tests.
fn caption(machine: &Value) -> String {
    let told = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
    format!(
        "{}, commit {}, build `ci`, {} cores for everything, {}.",
        told("date"),
        told("commit"),
        told("cores"),
        told("system"),
    )
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// What came of the kills.
pub(super) fn torture(machine: &Value, figures: &Value) -> String {
    let names = [
        "workers",
        "hosts",
        "pages",
        "delay",
        "kills",
        "database_kills",
        "pause",
        "seconds",
        "lost",
        "twice",
        "violations",
        "refetched",
    ];
    let cells = names.map(|name| grouped(number(&figures[name])));
    let share = 100.0 * number(&figures["refetched"]) / number(&figures["pages"]).max(1.0);
    format!(
        "{}\n\n| workers | hosts | pages | ms between requests to a host | workers killed | database killed | s between kills | s in all \
         | lost | counted twice | hosts, domains, addresses asked too much | fetched again |\n\
         |{}\n| {} ({share:.2} %) |\n",
        caption(machine),
        "--:|".repeat(names.len()),
        cells.join(" | "),
    )
}

/// Throughput and the cost of the database, by workers.
pub(super) fn scaling(machine: &Value, figures: &Value) -> String {
    let mut text = format!(
        "{}\n\n| workers | pages/s | of linear | machine busy | database, cores | µs a page \
         | commits/s | shard rows/s | letters/s | µs in its statement a commit | a shard row |\n|{}\n",
        caption(machine),
        "--:|".repeat(11),
    );
    let rows = figures.as_array().map_or(&[][..], Vec::as_slice);
    let rate = |row: &Value, name: &str| number(&row[name]) / number(&row["seconds"]).max(1e-9);
    let per = |row: &Value, name: &str, of: &str| number(&row[name]) / number(&row[of]).max(1.0);
    let each = |row: &Value| rate(row, "pages") / number(&row["workers"]).max(1.0);
    let alone = rows.first().map_or(1.0, each);
    text.extend(rows.iter().map(|row| {
        format!(
            "| {} | {} | {:.1} % | {:.0} % | {:.2} | {:.0} | {:.0} | {:.0} | {:.0} | {} | {:.0} |\n",
            number(&row["workers"]),
            grouped(rate(row, "pages")),
            100.0 * each(row) / alone,
            100.0 * number(&row["busy"]),
            rate(row, "database_us") / 1e6,
            per(row, "database_us", "pages"),
            rate(row, "commits"),
            rate(row, "rows"),
            rate(row, "letters"),
            grouped(per(row, "commit_us", "commits")),
            per(row, "commit_us", "rows"),
        )
    }));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_stand_under_their_heads() {
        let machine = json!({"date": "2026-01-01"});
        let row = |workers, pages| {
            json!({"workers": workers, "seconds": 10.0, "pages": pages, "rows": 100,
                "database_us": 20_000, "busy": 0.5, "letters": 30, "commits": 40, "commit_us": 8_000})
        };
        let text = scaling(&machine, &json!([row(1, 1_000), row(2, 1_800)]));
        assert!(
            text.contains("| 2 | 180 | 90.0 % | 50 % | 0.00 | 11 | 4 | 10 | 3 | 200 | 80 |"),
            "{text}"
        );
        let text = torture(&machine, &json!({"pages": 1_000, "refetched": 5}));
        assert!(text.contains("| 5 (0.50 %) |"), "{text}");
    }
}
