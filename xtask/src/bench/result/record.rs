//! The results as JSON, with the machine and the versions they hold for.

use serde_json::{Value, json};

use super::super::ground::Ground;
use super::super::measure::Ended;
use super::super::race::Results;
use super::super::race::checks::{Check, Kept};
use super::super::race::round::{Row, Spread};
use super::super::{machine, rivals};
use super::table::ratio;

/// Everything about a race.
pub(crate) fn of(ground: &Ground, results: &Results) -> Value {
    let rows = &results.rows;
    let versions: serde_json::Map<String, Value> = rivals::versions(ground)
        .into_iter()
        .map(|(name, version)| (name.to_owned(), version.into()))
        .collect();
    json!({
        "machine": machine::describe(),
        "build": ground.profile(),
        "versions": versions,
        "checks": results.checks.iter().map(check).collect::<Vec<_>>(),
        "rows": rows.iter().map(|row| line(row, rows)).collect::<Vec<_>>(),
    })
}

/// One sentence on the machine.
pub(crate) fn caption(record: &Value) -> String {
    let machine = &record["machine"];
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!(
        "{}: {} ({} cores, {}), {}, kernel {}, {}, build {}, commit {}. Server and crawler on one \
         core each; medians.",
        word(&machine["date"]),
        word(&machine["processor"]),
        word(&machine["cores"]),
        word(&machine["memory"]),
        word(&machine["system"]),
        word(&machine["kernel"]),
        word(&machine["rustc"]),
        word(&record["build"]),
        word(&machine["commit"]),
    )
}

fn check(check: &Check) -> Value {
    let kept = match check.kept {
        Kept::Yes => Some(true),
        Kept::No => Some(false),
        Kept::NotMeasured => None,
    };
    json!({"name": check.name, "seen": check.seen, "wanted": check.wanted, "kept": kept})
}

fn line(row: &Row, rows: &[Row]) -> Value {
    let samples = row.samples.iter().map(|sample| {
        json!({
            "wall_seconds": sample.cost.wall,
            "user_seconds": sample.cost.user,
            "system_seconds": sample.cost.system,
            "server_seconds": sample.server,
            "peak_kib": sample.cost.peak,
            "requests": sample.requests,
            "bytes_left": sample.left.all,
            "archive_bytes": sample.left.archive,
            "complete": sample.cost.ended == Ended::Well,
        })
    });
    json!({
        "site": row.site,
        "who": row.name,
        "stores": row.stores,
        "in_flight": row.in_flight,
        "pages_per_second": spread(row.pages_per_second()),
        "ideal_pages_per_second": row.ideal,
        "cpu_micros_per_page": spread(row.per_page()),
        "user_micros_per_page": spread(row.user_per_page()),
        "bytes_per_page": spread(row.bytes_per_page()),
        "archive_bytes_per_page": spread(row.archive_per_page()),
        "server_micros_per_page": spread(row.server_per_page()),
        "engine_micros_per_page": spread(row.engine_per_page()),
        "times_bare_client": ratio(row, rows),
        "peak_mib": spread(row.peak()),
        "coverage": row.coverage.map(|coverage| json!({
            "expected": coverage.expected,
            "found": coverage.found,
            "strays": coverage.strays,
            "repeats": coverage.repeats,
        })),
        "violations": row.violations,
        "notes": row.notes,
        "samples": samples.collect::<Vec<_>>(),
    })
}

fn spread(spread: Option<Spread>) -> Value {
    spread.map_or(
        Value::Null,
        |spread| json!({"median": spread.median, "min": spread.least, "max": spread.most}),
    )
}
