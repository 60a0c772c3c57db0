//! `terrarium check`.
//!
//! Owns the reading of a crawl's `urls.jsonl`: of each line `url`, `outcome`, `status`, `reason`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;

use serde_json::{Value, json};
use terrarium::{Comparison, Internet, Seen};

use crate::flags::CheckArguments;

pub(crate) fn run(arguments: &CheckArguments) -> io::Result<ExitCode> {
    let mut oracle = BTreeMap::new();
    let internet = Internet::new(arguments.making.config());
    let (rules, ports) = (arguments.foretelling.rules(), arguments.making.ports());
    internet.foretell(&rules, ports, |url, expected| {
        oracle.insert(url, expected);
    });
    let file = File::open(&arguments.urls)
        .map_err(|error| io::Error::other(format!("{}: {error}", arguments.urls.display())))?;
    let mut seen = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let record = read(&line?).ok_or_else(|| {
            let (file, line) = (arguments.urls.display(), number + 1);
            io::Error::other(format!("{file}: line {line} has no url and outcome"))
        })?;
        seen.push(record);
    }
    let comparison = Comparison::new(&oracle, seen);
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", summary(&comparison))?;
    } else {
        writeln!(out, "{comparison}")?;
    }
    Ok(ExitCode::from(u8::from(!comparison.is_perfect())))
}

fn read(line: &str) -> Option<Seen> {
    let record: Value = serde_json::from_str(line).ok()?;
    let text = |field: &str| record[field].as_str().map(str::to_owned);
    Some(Seen {
        url: text("url")?,
        outcome: text("outcome")?,
        status: record["status"]
            .as_u64()
            .and_then(|status| status.try_into().ok()),
        reason: text("reason"),
    })
}

fn summary(comparison: &Comparison) -> Value {
    json!({
        "recall": comparison.recall(),
        "expected": comparison.expected,
        "met": comparison.met,
        "right": comparison.right,
        "extra": comparison.extra,
        "missing_examples": comparison.missing,
        "wrong_examples": comparison.wrong,
        "extra_examples": comparison.extras,
    })
}
