//! Instruction counts of the hot paths, which no neighbour on the machine can disturb.
//!
//! Owns the counting and the comparison with docs/benchmarks/instructions.json. Each path runs
//! twice under callgrind, the second time with twice the rounds; the difference is what the
//! rounds took. Counts of different compilers or build profiles are not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::ground::Ground;
use super::machine;
use super::options::Purpose;
use crate::stage::say;
use crate::tools;

/// Growth beyond this fails the check, in percent.
const TOLERANCE: u64 = 10;

/// Rounds of the first run.
const ROUNDS: u64 = 100;

/// A count with what it is compared with.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// There is nothing to compare with.
    New,
    /// Within the tolerance, by this part.
    Fine(f64),
    /// Grown too much, by this part.
    Grown(f64),
}

/// Counts, compares, and stores if that is the purpose.
pub(crate) fn run(ground: &Ground, purpose: Purpose) -> Result<()> {
    tools()?;
    // With the rest of the workspace, as the tests build it: fewer packages at once would mean
    // other features of shared crates, hence all of them once more.
    ground.build_all()?;
    let file = ground
        .workspace
        .root
        .join("docs/benchmarks/instructions.json");
    let counts = count_all(ground)?;
    let conditions = json!({"rustc": machine::rustc(), "profile": ground.profile()});
    let grown = compare(&counts, &stored(&file)?, &conditions);
    if purpose == Purpose::Bless {
        return store(&file, &counts, &conditions);
    }
    ensure!(
        grown.is_empty(),
        "more instructions than before: {}; if that is meant, cargo xtask bench --instructions \
         --bless",
        grown.join(", ")
    );
    Ok(())
}

/// Installs what counts.
pub(crate) fn tools() -> Result<()> {
    tools::installed(&["valgrind"], &["valgrind"]).map(drop)
}

/// Instructions of one round of each path, by name.
fn count_all(ground: &Ground) -> Result<BTreeMap<String, u64>> {
    let program = ground.program("hotpaths");
    let list = Command::new(&program).output().context("hotpaths")?;
    let list = String::from_utf8(list.stdout)?;
    let mut counts = BTreeMap::new();
    for line in list.lines() {
        let (name, what) = line.split_once('\t').context("the list of hot paths")?;
        let count = |rounds| callgrind(ground, &program, name, rounds);
        let round = count(2 * ROUNDS)?.saturating_sub(count(ROUNDS)?) / ROUNDS;
        say(&format!("{name:<8} {round:>10} instructions: {what}"));
        counts.insert(name.to_owned(), round);
    }
    Ok(counts)
}

fn callgrind(ground: &Ground, program: &str, path: &str, rounds: u64) -> Result<u64> {
    let out: PathBuf = ground.scratch.join("callgrind.out");
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .args([program, path, &rounds.to_string()])
        .stderr(Stdio::null())
        .status()
        .context("valgrind")?;
    ensure!(
        status.success(),
        "hotpaths {path} {rounds} failed under valgrind"
    );
    let text = fs::read_to_string(&out)?;
    total(&text).context("the form of callgrind's output")
}

fn total(callgrind: &str) -> Option<u64> {
    let line = callgrind
        .lines()
        .find_map(|line| line.strip_prefix("totals: "))?;
    line.split_whitespace().next()?.parse().ok()
}

fn stored(file: &Path) -> Result<Value> {
    match fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text).context("docs/benchmarks/instructions.json"),
        Err(_) => Ok(Value::Null),
    }
}

fn store(file: &Path, counts: &BTreeMap<String, u64>, conditions: &Value) -> Result<()> {
    let record = json!({
        "rustc": conditions["rustc"],
        "profile": conditions["profile"],
        "instructions": counts,
    });
    fs::create_dir_all(file.parent().context("the file has a folder")?)?;
    fs::write(file, serde_json::to_string_pretty(&record)? + "\n")?;
    say("stored in docs/benchmarks/instructions.json");
    Ok(())
}

/// Says how each count compares; answers those that have grown too much.
fn compare(counts: &BTreeMap<String, u64>, stored: &Value, now: &Value) -> Vec<String> {
    for condition in ["rustc", "profile"] {
        if stored[condition] != now[condition] {
            say(&format!(
                "not compared: {condition} is {}, the stored counts are of {}",
                now[condition], stored[condition]
            ));
            return Vec::new();
        }
    }
    let mut grown = Vec::new();
    for (name, count) in counts {
        match judge(*count, stored["instructions"][name].as_u64()) {
            Verdict::New => say(&format!("{name:<8} is new")),
            Verdict::Fine(part) => say(&format!("{name:<8} {:+.1} %", part * 100.0)),
            Verdict::Grown(part) => {
                say(&format!("{name:<8} {:+.1} %: too much", part * 100.0));
                grown.push(name.clone());
            }
        }
    }
    grown
}

fn judge(count: u64, before: Option<u64>) -> Verdict {
    let Some(before) = before.filter(|before| *before > 0) else {
        return Verdict::New;
    };
    let part = count as f64 / before as f64 - 1.0;
    if count * 100 > before * (100 + TOLERANCE) {
        Verdict::Grown(part)
    } else {
        Verdict::Fine(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_a_tenth_fails() {
        let check = |count, before, grown: bool| {
            let verdict = judge(count, before);
            assert_eq!(matches!(verdict, Verdict::Grown(_)), grown, "{verdict:?}");
        };
        check(110, Some(100), false);
        check(111, Some(100), true);
        check(50, Some(100), false);
        check(50, None, false);
        check(50, Some(0), false);
    }

    #[test]
    fn only_like_is_compared_with_like() {
        let counts = BTreeMap::from([("link".to_owned(), 200)]);
        let stored = json!({"rustc": "1", "profile": "ci", "instructions": {"link": 100}});
        let check = |rustc: &str, expected: usize| {
            let now = json!({"rustc": rustc, "profile": "ci"});
            assert_eq!(compare(&counts, &stored, &now).len(), expected, "{rustc}");
        };
        check("1", 1);
        check("2", 0);
    }

    #[test]
    fn callgrinds_total() {
        assert_eq!(total("events: Ir\nfn=main\n\ntotals: 1652\n"), Some(1652));
        assert_eq!(total(""), None);
    }
}
