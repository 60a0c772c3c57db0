//! `mutants [PART…]`: which mistakes in the code no test would notice.
//!
//! Owns the order of things and what is printed. All mutants are in one build of a copy of the
//! tree (mutant schemata, Untch 1993), and the variable `MUTANT` says which is switched on; so a
//! mutant costs the tests that come past it, not a build. Invariant: every mutant that was built
//! has a verdict in the table, and every one that no test notices has a line.

mod compile;
mod judge;
mod rewrite;
mod site;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::compile::{Build, Mutant, Source};
use crate::judge::Verdict;
use crate::tree::{PARTS, Part};

const USAGE: &str = "usage: mutants [PART…] [--every N]; parts are core, engine, export and search, and all of them \
     without PART; one mutant of N is tried";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("mutants: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Tells who waits how far things are; the table alone goes to the output.
#[expect(clippy::print_stderr, reason = "this is a command")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn run() -> Result<()> {
    let (parts, every) = chosen(std::env::args().skip(1))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let scratch = target(&root).join("mutants");
    let copy = scratch.join("tree");
    fs::create_dir_all(&scratch)?;
    tree::copy(&root, &copy, &parts)?;
    let mut build = compile::build(&copy, &parts, &sources(&copy, &parts)?)?;
    build.mutants.retain(|mutant| mutant.number % every == 0);
    say(&format!(
        "{} mutants; {} places were refused by the compiler",
        build.mutants.len(),
        build.refused
    ));
    let tests = judge::tests(&build.programs, &scratch)?;
    let verdicts = judge::judge(&build.programs, &tests, &build.mutants);
    print!("{}", table(&build, &parts, &verdicts));
    Ok(())
}

/// The parts that are named, and of how many mutants one is tried.
fn chosen(mut words: impl Iterator<Item = String>) -> Result<(Vec<&'static Part>, u32)> {
    let (mut parts, mut every) = (Vec::new(), 1);
    while let Some(word) = words.next() {
        if word == "--every" {
            let number = words.next().and_then(|number| number.parse().ok());
            every = number.filter(|number| *number > 0).context(USAGE)?;
        } else {
            let part = PARTS.iter().find(|part| part.name == word);
            parts.push(part.with_context(|| format!("there is no part {word:?}; {USAGE}"))?);
        }
    }
    if parts.is_empty() {
        parts.extend(&PARTS);
    }
    Ok((parts, every))
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn sources(tree: &Path, parts: &[&'static Part]) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for part in parts {
        for path in tree::sources(tree, part)? {
            let original = fs::read_to_string(&path)
                .with_context(|| format!("{} cannot be read", path.display()))?;
            sources.push(Source {
                part: part.name,
                path,
                original,
            });
        }
    }
    Ok(sources)
}

/// How many mutants of each part came to what, and each that no test notices.
fn table(build: &Build, parts: &[&Part], verdicts: &BTreeMap<u32, Verdict>) -> String {
    let mut lines = vec![
        "| part | mutants | killed | did not end | survived | no test comes past |".to_owned(),
        "|---|--:|--:|--:|--:|--:|".to_owned(),
    ];
    for part in parts {
        let of_part = || {
            let mutants = build.mutants.iter();
            mutants.filter(|mutant| mutant.part == part.name)
        };
        let count = |wanted| {
            of_part()
                .filter(|mutant| verdicts.get(&mutant.number) == Some(&wanted))
                .count()
        };
        lines.push(format!(
            "| {} | {} | {} | {} | {} | {} |",
            part.name,
            of_part().count(),
            count(Verdict::Killed),
            count(Verdict::TimedOut),
            count(Verdict::Survived),
            count(Verdict::NotReached),
        ));
    }
    for (title, wanted) in [
        ("Survived", Verdict::Survived),
        ("No test comes past", Verdict::NotReached),
    ] {
        lines.push(format!("\n## {title}\n"));
        let unnoticed = |mutant: &&Mutant| verdicts.get(&mutant.number) == Some(&wanted);
        let mut by_file: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for mutant in build.mutants.iter().filter(unnoticed) {
            let of_file = by_file.entry(&mutant.file).or_default();
            of_file.push(format!("{}: {}", mutant.line, mutant.mistake));
        }
        let files = by_file.into_iter();
        lines.extend(files.map(|(file, of_file)| format!("- `{file}` {}", of_file.join("; "))));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_is_counted_and_the_unnoticed_have_a_line() {
        let mutant = |number, line, mistake: &str| Mutant {
            number,
            part: "core",
            file: "crates/core/src/url.rs".to_owned(),
            line,
            mistake: mistake.to_owned(),
        };
        let build = Build {
            mutants: vec![
                mutant(1, 7, "`<` is `<=`"),
                mutant(2, 7, "`<` is `>=`"),
                mutant(3, 9, "`!` is left out"),
            ],
            programs: Vec::new(),
            refused: 0,
        };
        let verdicts = [Verdict::Survived, Verdict::Killed, Verdict::NotReached];
        let verdicts = (1..).zip(verdicts).collect();
        let text = table(&build, &[&PARTS[0]], &verdicts);
        for line in [
            "| core | 3 | 1 | 0 | 1 | 1 |",
            "- `crates/core/src/url.rs` 7: `<` is `<=`",
            "- `crates/core/src/url.rs` 9: `!` is left out",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn parts_are_chosen_by_name() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let (parts, every) = chosen(names.into_iter()).ok()?;
            Some((
                parts.iter().map(|part| part.name).collect::<Vec<_>>(),
                every,
            ))
        };
        assert_eq!(names(&["search"]), Some((vec!["search"], 1)));
        let all = names(&["--every", "7"]).unwrap();
        assert_eq!((all.0.len(), all.1), (PARTS.len(), 7));
        assert_eq!(names(&["cli"]), None);
        assert_eq!(names(&["core", "--every", "0"]), None);
    }
}
