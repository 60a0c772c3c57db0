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
         | commits/s | shard rows/s | rows of mail/s | µs in its statement a commit | a shard row |\n|{}\n",
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
            rate(row, "mail"),
            grouped(per(row, "commit_us", "commits")),
            per(row, "commit_us", "rows"),
        )
    }));
    text.extend(split(rows).map(|(row, mail)| {
        let sampled = |name| rows.iter().map(|row| number(&row[name])).sum::<f64>();
        let links = sampled("sampled_links") / sampled("sampled_mail").max(1.0);
        let link = if links > 0.0 {
            format!(
                "{:.1} µs a link, of which {links:.1} are in a row",
                mail / links
            )
        } else {
            "links were not counted".to_owned()
        };
        format!(
            "\nOf the statement's time, {row:.0} µs go with each row of a shard and {mail:.0} µs with \
             each row of mail ({link}): the line that fits all measurements best.\n"
        )
    }));
    text
}

/// The time of the statement of a commit, split among rows of shards and of mail by least squares
/// over all measurements, in µs of each; nothing where they do not tell the two apart.
fn split(rows: &[Value]) -> Option<(f64, f64)> {
    let of_commit = |row: &Value, name: &str| number(&row[name]) / number(&row["commits"]).max(1.0);
    let mut sums = [0.0; 5];
    for row in rows {
        let (shards, mail) = (of_commit(row, "rows"), of_commit(row, "mail"));
        let time = of_commit(row, "commit_us");
        let terms = [
            shards * shards,
            shards * mail,
            mail * mail,
            shards * time,
            mail * time,
        ];
        sums = std::array::from_fn(|nth| sums[nth] + terms[nth]);
    }
    let [ss, sl, ll, st, lt] = sums;
    let divisor = ss * ll - sl * sl;
    let is_told = divisor > 1e-6 * ss * ll;
    is_told.then(|| ((st * ll - lt * sl) / divisor, (lt * ss - st * sl) / divisor))
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
                "database_us": 20_000, "busy": 0.5, "mail": 30, "commits": 40, "commit_us": 8_000})
        };
        let text = scaling(&machine, &json!([row(1, 1_000), row(2, 1_800)]));
        assert!(
            text.contains("| 2 | 180 | 90.0 % | 50 % | 0.00 | 11 | 4 | 10 | 3 | 200 | 80 |"),
            "{text}"
        );
        assert!(!text.contains("the line that fits"), "{text}");
        let text = torture(&machine, &json!({"pages": 1_000, "refetched": 5}));
        assert!(text.contains("| 5 (0.50 %) |"), "{text}");
    }

    #[test]
    fn rows_and_mail_get_their_parts_of_the_time() {
        let row = |rows: u64, mail: u64| {
            json!({"commits": 10, "rows": rows, "mail": mail, "commit_us": 50 * rows + 20 * mail,
                "workers": 1, "seconds": 1, "pages": 9, "sampled_mail": 2, "sampled_links": 8})
        };
        let rows = [row(240, 0), row(100, 60), row(40, 160)];
        let (shard, mail) = split(&rows).unwrap();
        assert!((shard - 50.0).abs() < 0.01 && (mail - 20.0).abs() < 0.01);
        let text = scaling(&json!({}), &json!(rows));
        let told =
            "50 µs go with each row of a shard and 20 µs with each row of mail (5.0 µs a link";
        assert!(text.contains(told), "{text}");
        assert_eq!(
            split(&rows[..1]),
            None,
            "one measurement tells nothing apart"
        );
    }
}
