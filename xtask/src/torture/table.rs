//! The figures of the torture as people read them.

use serde_json::Value;

use crate::passage::grouped;

/// Our own result, and under what circumstances.
pub(super) fn own(machine: &Value, seed: u64, own: &Value) -> String {
    let told = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
    let caption = format!(
        "{}, commit {}, {}, {} cores, {}, Linux {}; seed {seed}, {} requests in flight, {} s.",
        told("date"),
        told("commit"),
        told("rustc"),
        told("cores"),
        told("system"),
        told("kernel"),
        own["in_flight"],
        own["seconds"],
    );
    let columns = [
        ("crawls", "crawls"),
        ("URLs", "urls"),
        ("kills", "kills"),
        ("of them within 1 s of a restart", "second"),
        ("requests", "requests"),
        ("lost", "lost"),
        ("recorded twice", "twice"),
        ("torn", "torn"),
        ("false done", "false_done"),
        ("asked again though committed", "asked_again"),
        ("repeats", "repeats"),
        ("open at the kills", "open"),
    ];
    let heads = columns.map(|(head, _)| head).join(" | ");
    let rules = columns.map(|_| "--:").join("|");
    let cells = columns.map(|(_, key)| count(&own[key])).join(" | ");
    format!("{caption}\n\n| {heads} |\n|{rules}|\n| {cells} |\n")
}

/// The result of others, if there were any.
pub(super) fn others(machine: &Value, others: &Value) -> Option<String> {
    let date = machine["date"].as_str().unwrap_or("unknown");
    let mut text = format!(
        "{date}. Others on the same graph, resumed by the command that they document:\n\n\
         | crawler | pages | kills | lost | repeats |\n|---|--:|--:|--:|--:|\n"
    );
    let row = |row: &Value| {
        let figures = ["pages", "kills", "lost", "repeats"].map(|key| count(&row[key]));
        let name = row["name"].as_str().unwrap_or("unknown");
        format!("| {name} | {} |\n", figures.join(" | "))
    };
    text.extend(others.as_array()?.iter().map(row));
    Some(text)
}

/// A count as it stands in a table.
fn count(value: &Value) -> String {
    grouped(value.as_f64().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_stand_under_their_heads() {
        let own = json!({"crawls": 20, "urls": 400_800, "lost": 0, "in_flight": 24, "seconds": 9});
        let others = json!([{"name": "x", "pages": 10, "kills": 1, "lost": 1_234, "repeats": 2}]);
        let machine = json!({"date": "2026-01-01"});
        let text = super::own(&machine, 7, &own);
        assert!(text.starts_with("2026-01-01, commit unknown"), "{text}");
        assert!(text.contains("| 20 | 400,800 |"), "{text}");
        assert!(!text.contains("Others"), "{text}");
        let beside = super::others(&machine, &others).unwrap();
        assert!(beside.starts_with("2026-01-01. Others"), "{beside}");
        assert!(beside.contains("| x | 10 | 1 | 1,234 | 2 |"), "{beside}");
        assert_eq!(super::others(&machine, &Value::Null), None);
    }
}
