//! A build with every mutant that compiles.
//!
//! Owns the loop: write all files, ask the compiler, leave out the sites that it complains of and
//! give functions back their `const` that are called at compile time, until it is content. Refuses
//! to know what the tests say. Invariant: it ends, since each round leaves out something.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::rewrite::{Rewritten, rewrite};
use crate::site::{Sites, find};
use crate::tree::Part;

/// A mutant that is in the build.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    pub(crate) number: u32,
    pub(crate) part: &'static str,
    /// Below the tree.
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) mistake: String,
}

/// A file of a part.
pub(crate) struct Source {
    pub(crate) part: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) original: String,
}

/// A build: its mutants, and the programs with tests.
pub(crate) struct Build {
    pub(crate) mutants: Vec<Mutant>,
    pub(crate) programs: Vec<TestProgram>,
    /// How many places the compiler refused.
    pub(crate) refused: usize,
}

/// A program with tests, and the folder that it runs in.
#[derive(Debug, Clone)]
pub(crate) struct TestProgram {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
}

/// A site by where it begins in its file and what it does there.
type SiteKey = (usize, usize, String);

/// What is left out of the build.
#[derive(Default)]
struct LeftOut {
    sites: BTreeSet<SiteKey>,
    keep_const: BTreeSet<String>,
}

/// The most rounds.
const ROUNDS: usize = 60;

/// Builds the tests of these parts with all mutants.
pub(crate) fn build(tree: &Path, parts: &[&Part], sources: &[Source]) -> Result<Build> {
    let mut left_out = LeftOut::default();
    for round in 1..=ROUNDS {
        let (mutants, written) = write(tree, sources, &left_out)?;
        let messages = cargo(tree, parts)?;
        let errors: Vec<&Value> = messages
            .iter()
            .filter(|message| is_error(message))
            .collect();
        if errors.is_empty() {
            let programs: Vec<TestProgram> = messages.iter().filter_map(test_program).collect();
            ensure!(!programs.is_empty(), "there is no program with tests");
            let refused = left_out.sites.len();
            return Ok(Build {
                mutants,
                programs,
                refused,
            });
        }
        let before = (left_out.sites.len(), left_out.keep_const.len());
        for error in &errors {
            leave_out(tree, error, &written, &mut left_out);
        }
        let after = (left_out.sites.len(), left_out.keep_const.len());
        crate::say(&format!(
            "round {round}: {} errors; {} places are left out, {} functions stay const",
            errors.len(),
            after.0,
            after.1
        ));
        ensure!(
            before != after,
            "the compiler refuses the copy: {}",
            rendered(errors[0])
        );
    }
    bail!("after {ROUNDS} rounds the copy does not compile")
}

/// What was written, by path below the tree.
type Written = BTreeMap<String, (usize, Sites, Rewritten)>;

fn write(tree: &Path, sources: &[Source], left_out: &LeftOut) -> Result<(Vec<Mutant>, Written)> {
    let mut mutants = Vec::new();
    let mut written = Written::new();
    let mut next = 1;
    for (nth, source) in sources.iter().enumerate() {
        let found = find(&source.original, &left_out.keep_const)
            .with_context(|| format!("{} cannot be read", source.path.display()))?;
        let file = source
            .path
            .strip_prefix(tree)?
            .to_string_lossy()
            .into_owned();
        let mut numbers = Vec::new();
        for (index, site) in found.sites.iter().enumerate() {
            if left_out.sites.contains(&key(nth, &found, index)) {
                continue;
            }
            numbers.push((index, next));
            for mistake in &site.mistakes {
                mutants.push(Mutant {
                    number: next,
                    part: source.part,
                    file: file.clone(),
                    line: site.line,
                    mistake: mistake.clone(),
                });
                next += 1;
            }
        }
        let rewritten = rewrite(&source.original, &found, &numbers);
        if fs::read_to_string(&source.path)? != rewritten.text {
            fs::write(&source.path, &rewritten.text)?;
        }
        written.insert(file, (nth, found, rewritten));
    }
    Ok((mutants, written))
}

fn key(file: usize, found: &Sites, index: usize) -> SiteKey {
    let site = &found.sites[index];
    (file, site.edits[0].place.start, site.mistakes[0].clone())
}

/// What Cargo says of a build of the tests, message by message.
fn cargo(tree: &Path, parts: &[&Part]) -> Result<Vec<Value>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args([
        "build",
        "--profile",
        "ci",
        "--lib",
        "--tests",
        "--keep-going",
    ]);
    command.args(["--quiet", "--message-format=json"]);
    for part in parts {
        command.args(["--package", part.package]);
    }
    let output = command
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", tree.with_extension("target"))
        .output()
        .context("cargo does not start")?;
    let text = String::from_utf8(output.stdout)?;
    let messages = text.lines().map(|line| Ok(serde_json::from_str(line)?));
    let messages: Vec<Value> = messages.collect::<Result<_>>()?;
    ensure!(
        output.status.success() || messages.iter().any(is_error),
        "cargo fails: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(messages)
}

fn is_error(message: &Value) -> bool {
    message["reason"] == "compiler-message"
        && message["message"]["level"] == "error"
        && message["message"]["spans"]
            .as_array()
            .is_some_and(|spans| !spans.is_empty())
}

fn test_program(message: &Value) -> Option<TestProgram> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let path = message["executable"].as_str().filter(|_| is_test)?;
    Some(TestProgram {
        path: PathBuf::from(path),
        folder: manifest.parent()?.to_owned(),
    })
}

fn leave_out(tree: &Path, error: &Value, written: &Written, left_out: &mut LeftOut) {
    let message = &error["message"];
    if message["code"]["code"] == "E0015" {
        let text = message["message"].as_str().unwrap_or_default();
        let name = text.split('`').nth(1).unwrap_or_default();
        let name = name
            .rsplit("::")
            .find(|part| !part.starts_with('<'))
            .unwrap_or_default();
        if left_out.keep_const.insert(name.to_owned()) {
            return;
        }
    }
    let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
    let primary = spans.iter().filter(|span| span["is_primary"] == true);
    for span in primary.chain(spans) {
        let name = span["file_name"].as_str().unwrap_or_default();
        let name = Path::new(name)
            .strip_prefix(tree)
            .unwrap_or(Path::new(name));
        let Some((nth, found, rewritten)) = written.get(&*name.to_string_lossy()) else {
            continue;
        };
        let mut blamed = rewritten.blamed(&bytes(span));
        if blamed.is_empty() {
            // A type that the switch hides may be missed later on.
            let line = span["line_start"].as_u64().unwrap_or_default() as usize;
            blamed = rewritten.before(line, found);
        }
        left_out
            .sites
            .extend(blamed.iter().map(|index| key(*nth, found, *index)));
        if !blamed.is_empty() {
            return;
        }
    }
}

fn bytes(span: &Value) -> Range<usize> {
    let number = |name: &str| span[name].as_u64().unwrap_or_default() as usize;
    number("byte_start")..number("byte_end")
}

fn rendered(error: &Value) -> &str {
    error["message"]["rendered"]
        .as_str()
        .unwrap_or("an error without text")
}
