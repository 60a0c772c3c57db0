//! What was measured, as text that is Markdown, too.

use std::fmt::Write as _;

use super::{Held, Results, Row};
use crate::bench::machine;
use crate::passage::{Passage, grouped};

/// Between these two lines of `docs/ladder.md` the table is kept.
pub(crate) const PASSAGE: Passage = Passage {
    begin: "<!-- cargo xtask ladder --save writes from here -->",
    end: "<!-- to here -->",
};

/// The figures of the chapter: seconds one after the other and all at once, bytes of a thread
/// and of a coroutine.
const THEIR_SECONDS: (f64, f64) = (29.9, 7.4);
const THEIR_THREAD: f64 = 50_000.0;
const THEIR_COROUTINE: f64 = 3000.0;

/// The whole text.
pub(crate) fn markdown(results: &Results) -> String {
    let Results {
        pages, tasks, hold, ..
    } = results;
    let mut text = format!(
        "| rung | {} pages | in flight | found | processor while {tasks} wait | memory per waiting \
         request | held of {} |\n|---|---:|---:|---|---:|---:|---|\n",
        grouped(*pages as f64),
        grouped(f64::from(*hold)),
    );
    for row in &results.rows {
        let found = match (row.missing, row.extra) {
            (0, 0) => "all".to_owned(),
            (missing, extra) => format!("{missing} missing, {extra} too many"),
        };
        let held = row.most.as_ref();
        let memory = held.map_or("–".to_owned(), memory);
        let most = held.map_or("1, by design".to_owned(), ending);
        let waiting = if row.is_alone {
            "–".to_owned()
        } else {
            format!("{:.1} %", 100.0 * row.processor)
        };
        writeln!(
            text,
            "| {} | {:.1} s | {} | {found} | {waiting} | {memory} | {most} |",
            row.name, row.seconds, row.concurrency,
        )
        .expect("a string takes any text");
    }
    text + &argument(results) + &ground(results)
}

fn memory(held: &Held) -> String {
    let bytes = held.bytes.map_or("unknown".to_owned(), kilobytes);
    match held.kernel_bytes {
        Some(kernel) if kernel >= 500.0 => format!("{bytes} + {} in the kernel", kilobytes(kernel)),
        _ => bytes,
    }
}

fn ending(held: &Held) -> String {
    let count = grouped(held.count as f64);
    match &held.trouble {
        None => count,
        // It is a cell of a table.
        Some(trouble) => format!("{count}; then: {}", trouble.replace('|', "/")),
    }
}

/// The chapter's figures, and ours beside them.
fn argument(results: &Results) -> String {
    let row = |name: &str| results.rows.iter().find(|row| row.name == name);
    let seconds = |name: &str| row(name).map_or(f64::NAN, |row: &Row| row.seconds);
    let bytes = |name: &str| row(name).and_then(|row| row.most.as_ref()?.bytes);
    let kernel = |name: &str| row(name).and_then(|row| row.most.as_ref()?.kernel_bytes);
    let (one, all) = (seconds("blocking, one by one"), seconds("coroutines"));
    let thread = bytes("blocking, threads").zip(kernel("blocking, threads"));
    let measured = |bytes: Option<f64>| bytes.map_or("unknown".to_owned(), kilobytes);
    format!(
        "\n| the argument | theirs | here |\n|---|---:|---:|\n\
         | one by one → all at once | {:.1} s → {:.1} s: {:.0} times | {one:.1} s → {all:.1} s: \
         {:.0} times |\n\
         | a thread that waits | {} | {} |\n\
         | a coroutine that waits | {} | {} by hand, {} in tokio |\n\n\
         ```\n{}```\n",
        THEIR_SECONDS.0,
        THEIR_SECONDS.1,
        THEIR_SECONDS.0 / THEIR_SECONDS.1,
        one / all,
        kilobytes(THEIR_THREAD),
        measured(thread.map(|(process, kernel)| process + kernel)),
        kilobytes(THEIR_COROUTINE),
        measured(bytes("coroutines")),
        measured(bytes("queue")),
        results.chess,
    )
}

/// What the figures hold for.
fn ground(results: &Results) -> String {
    let machine = machine::describe();
    let field = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
    format!(
        "\n{}, {} cores, {}, Linux {}, {}; {}. The server runs on the same machine.\n\n\
         Limits of this machine: {}.\n",
        field("processor"),
        field("cores"),
        field("memory"),
        field("kernel"),
        field("rustc"),
        field("date"),
        results.limits.join("; "),
    )
}

fn kilobytes(bytes: f64) -> String {
    format!("{:.1} KB", bytes / 1000.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn results() -> Results {
        let row = |name, is_alone, seconds| Row {
            name,
            is_alone,
            seconds,
            concurrency: 100,
            missing: 0,
            extra: 0,
            processor: 0.25,
            most: (!is_alone).then(|| Held {
                count: 9876,
                bytes: Some(2100.0),
                kernel_bytes: Some(20_000.0),
                trouble: (name == "busy").then(|| "a | b".to_owned()),
            }),
        };
        Results {
            pages: 2000,
            tasks: 100,
            hold: 10_000,
            rows: vec![
                row("blocking, one by one", true, 200.0),
                row("blocking, threads", false, 2.5),
                row("busy", false, 2.5),
                row("coroutines", false, 2.0),
            ],
            limits: vec!["open files per process: 7".to_owned()],
            chess: "played\n".to_owned(),
        }
    }

    #[test]
    fn the_table_has_a_line_per_rung_and_the_argument() {
        let text = markdown(&results());
        for line in [
            "| blocking, one by one | 200.0 s | 100 | all | – | – | 1, by design |",
            "| busy | 2.5 s | 100 | all | 25.0 % | 2.1 KB + 20.0 KB in the kernel | 9,876; then: a / b |",
            "| one by one → all at once | 29.9 s → 7.4 s: 4 times | 200.0 s → 2.0 s: 100 times |",
            "| a thread that waits | 50.0 KB | 22.1 KB |",
            "| a coroutine that waits | 3.0 KB | 2.1 KB by hand, unknown in tokio |",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line}\nin\n{text}"
            );
        }
        let mut wrong = results();
        wrong.rows[0].missing = 3;
        assert!(markdown(&wrong).contains("| 3 missing, 0 too many |"));
    }

    #[test]
    fn the_table_takes_its_place() {
        let Passage { begin, end } = PASSAGE;
        let inserted = |page: &str, table: &str| PASSAGE.replaced(page, &format!("\n{table}"));
        let page = format!("a\n{begin}\nold\n{end}\nb\n");
        let new = inserted(&page, "new\n").unwrap();
        assert_eq!(new, format!("a\n{begin}\n\nnew\n\n{end}\nb\n"));
        assert_eq!(inserted(&new, "new\n").unwrap(), new);
        assert!(inserted("nothing", "new").is_err());
    }
}
