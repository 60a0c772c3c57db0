//! Rules of the house that no compiler checks.
//!
//! Owns the tidy rules: who may depend on whom, how long files are, what they begin with, what
//! types are called, how many names the library shows, where colours stand, and what must not be left over. It reads text, not syntax: it is meant to catch mistakes, not
//! malice. Tests may do what the code beside them may not.

mod colours;
mod imports;
mod public_names;
mod source;
mod type_names;

use anyhow::{Context as _, Result};

use crate::Workspace;
use crate::stage::{Counts, Ending, say};
use source::Source;

/// The longest file, in lines without its tests.
const MOST_LINES: usize = 600;

/// Ways into the world that are closed to the core: time, chance and bytes come as arguments.
const IMPURE: [&str; 11] = [
    "tokio::",
    "std::fs",
    "std::env",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "Instant::now",
    "SystemTime::now",
    "thread::",
    "println!",
];

/// What must not land. Written in two halves, so that this file does not hold it.
const LEFTOVERS: [&str; 6] = [
    concat!("#[", "allow("),
    concat!("#![", "allow("),
    concat!("#[", "ignore"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
];

/// Names of files that say nothing.
const EMPTY_NAMES: [&str; 6] = ["utils", "common", "helpers", "types", "manager", "prelude"];

/// Crates, and what their manifests must not name in a section.
const DEPENDENCIES: [(&str, &str, &[&str]); 22] = [
    (
        "core",
        "dependencies",
        &[
            "tokio",
            "socket2",
            "rustix",
            "rustls",
            "hickory-resolver",
            "tempfile",
            "mio",
            "rand",
        ],
    ),
    (
        "core",
        "",
        &["clewline", "clewline-postgres", "clewline-cli", "terrarium"],
    ),
    (
        "warc",
        "",
        &["clewline", "clewline-core", "clewline-cli", "terrarium"],
    ),
    (
        "html",
        "",
        &[
            "clewline",
            "clewline-core",
            "clewline-warc",
            "clewline-archive",
            "clewline-cli",
            "terrarium",
            "url",
        ],
    ),
    (
        "job",
        "",
        &[
            "clewline",
            "clewline-archive",
            "clewline-export",
            "clewline-postgres",
            "clewline-search",
            "clewline-serve",
            "clewline-cli",
            "terrarium",
        ],
    ),
    (
        "job",
        "dependencies",
        &[
            "tokio",
            "rustls",
            "fjall",
            "hickory-resolver",
            "clap",
            "object_store",
        ],
    ),
    (
        "keyset",
        "",
        &[
            "clewline",
            "clewline-html",
            "clewline-warc",
            "clewline-cli",
            "terrarium",
            "fjall",
            "tokio",
        ],
    ),
    (
        "archive",
        "",
        &[
            "clewline",
            "clewline-core",
            "clewline-cli",
            "clewline-search",
            "clewline-serve",
            "httparse",
            "terrarium",
        ],
    ),
    (
        "content",
        "",
        &["clewline", "clewline-core", "clewline-cli", "terrarium"],
    ),
    (
        "export",
        "dependencies",
        &[
            "clewline",
            "clewline-search",
            "clewline-serve",
            "clewline-cli",
        ],
    ),
    (
        "check",
        "dependencies",
        &[
            "clewline",
            "clewline-postgres",
            "clewline-search",
            "clewline-serve",
            "clewline-cli",
            "tokio",
            "clap",
        ],
    ),
    (
        "diff",
        "dependencies",
        &[
            "clewline",
            "clewline-check",
            "clewline-postgres",
            "clewline-search",
            "clewline-serve",
            "clewline-cli",
            "tokio",
            "clap",
        ],
    ),
    (
        "search",
        "dependencies",
        &["clewline-archive", "clewline-serve", "clewline-cli"],
    ),
    ("serve", "", &["clewline-core", "clewline-cli", "tantivy"]),
    (
        "mcp",
        "",
        &["clewline-cli", "clewline-export", "clewline-serve", "clap"],
    ),
    (
        "upload",
        "",
        &[
            "clewline",
            "clewline-core",
            "clewline-archive",
            "clewline-search",
            "clewline-serve",
            "clewline-cli",
            "terrarium",
        ],
    ),
    (
        "render",
        "",
        &[
            "clewline",
            "clewline-core",
            "clewline-job",
            "clewline-cli",
            "terrarium",
        ],
    ),
    (
        "postgres",
        "dependencies",
        &[
            "clewline",
            "clewline-job",
            "clewline-keyset",
            "clewline-warc",
            "clewline-cli",
        ],
    ),
    (
        "clewline",
        "dependencies",
        &[
            "terrarium",
            "clewline-cli",
            "clewline-archive",
            "clewline-export",
            "clewline-postgres",
            "clewline-search",
            "clewline-serve",
        ],
    ),
    (
        "terrarium",
        "",
        &["clewline", "clewline-core", "clewline-cli"],
    ),
    ("ladder", "", &["clewline-core", "clewline-cli"]),
    (
        "mutate",
        "",
        &["clewline", "clewline-core", "clewline-cli", "terrarium"],
    ),
];

/// Crates below `lab` and `learn`.
const LABORATORY: [&str; 6] = [
    "bench-client",
    "fieldwork",
    "ladder",
    "mutants",
    "mutate",
    "terrarium",
];

/// Modules of the library, and what they must not import from beside them.
const MODULES: [(&str, &[&str]); 3] = [
    ("fetch", &["extract", "log", "engine", "crawl"]),
    ("extract", &["fetch", "log", "engine", "crawl"]),
    ("log", &["fetch", "extract", "engine", "crawl"]),
];

/// A rule: its name, and what breaks it.
type Rule = (&'static str, fn(&[Source]) -> Vec<String>);

const RULES: [Rule; 11] = [
    ("the core is pure", impure_core),
    ("crates depend downwards", upward_dependencies),
    ("the product needs no laboratory", laboratory_in_product),
    ("modules keep apart", entangled_modules),
    ("files are short", long_files),
    ("modules say what they own", silent_modules),
    ("names say something", empty_names),
    ("type names are unique", type_names::repeated),
    ("the library shows few names", public_names::too_many),
    ("nothing is left over", leftovers),
    ("colours stand in the tokens", colours::elsewhere),
];

/// Checks every rule.
pub(crate) fn tidy(workspace: &Workspace) -> Result<Ending> {
    let sources = source::read(&workspace.root).context("reading the sources")?;
    let mut counts = Counts::default();
    for (name, rule) in RULES {
        let broken = rule(&sources);
        counts += if broken.is_empty() {
            Counts::PASSED
        } else {
            Counts::FAILED
        };
        for row in broken {
            say(&format!("tidy: {name}: {row}"));
        }
    }
    let lines: usize = sources
        .iter()
        .map(|source| source.text.lines().count())
        .sum();
    say(&format!("{} files, {lines} lines", sources.len()));
    Ok(Ending::Ran(counts))
}

fn impure_core(sources: &[Source]) -> Vec<String> {
    let code = sources
        .iter()
        .filter(|source| source.is_code_of("crates/core/src/"));
    code.flat_map(|source| source.lines_with(&IMPURE)).collect()
}

fn upward_dependencies(sources: &[Source]) -> Vec<String> {
    let mut broken = Vec::new();
    for (name, section, forbidden) in DEPENDENCIES {
        let end = format!("/{name}/Cargo.toml");
        let Some(manifest) = sources.iter().find(|source| source.path.ends_with(&end)) else {
            broken.push(format!("{name} has no manifest"));
            continue;
        };
        for (found_in, dependency) in imports::dependencies(&manifest.text) {
            let counts = section.is_empty() || section == found_in;
            if counts && forbidden.contains(&dependency.as_str()) {
                let path = &manifest.path;
                broken.push(format!("{path}: [{found_in}] names {dependency}"));
            }
        }
    }
    broken
}

/// What people run must not need what only tests and benchmarks need.
fn laboratory_in_product(sources: &[Source]) -> Vec<String> {
    let is_manifest = |path: &str| path.starts_with("crates/") && path.ends_with("/Cargo.toml");
    let mut broken = Vec::new();
    for manifest in sources.iter().filter(|source| is_manifest(&source.path)) {
        let needed = imports::dependencies(&manifest.text)
            .into_iter()
            .filter(|(section, _)| *section != "dev-dependencies");
        for (section, dependency) in needed {
            if LABORATORY.contains(&dependency.as_str()) {
                let path = &manifest.path;
                broken.push(format!("{path}: [{section}] names {dependency}"));
            }
        }
    }
    broken
}

fn entangled_modules(sources: &[Source]) -> Vec<String> {
    let mut broken = Vec::new();
    for (module, forbidden) in MODULES {
        let folder = format!("crates/clewline/src/{module}/");
        let file = format!("crates/clewline/src/{module}.rs");
        let code = sources
            .iter()
            .filter(|source| source.is_code_of(&folder) || source.path == file);
        for source in code {
            for name in imports::of_crate(&source.code()) {
                if forbidden.contains(&name.as_str()) {
                    broken.push(format!("{}: imports {name}", source.path));
                }
            }
        }
    }
    broken
}

fn long_files(sources: &[Source]) -> Vec<String> {
    let long = |source: &&Source| source.lines_without_tests() > MOST_LINES;
    let code = sources
        .iter()
        .filter(|source| source.is_code_of(""))
        .filter(long);
    code.map(|source| {
        let lines = source.lines_without_tests();
        format!("{}: {lines} lines, at most {MOST_LINES}", source.path)
    })
    .collect()
}

fn silent_modules(sources: &[Source]) -> Vec<String> {
    let code = sources.iter().filter(|source| source.is_code_of(""));
    code.filter(|source| !source.text.starts_with("//! "))
        .map(|source| format!("{}: does not begin with //!", source.path))
        .collect()
}

fn empty_names(sources: &[Source]) -> Vec<String> {
    let says_nothing = |source: &&Source| {
        let mut parts = source.path.split(['/', '.']);
        parts.any(|part| EMPTY_NAMES.contains(&part))
    };
    let named = sources.iter().filter(says_nothing);
    named.map(|source| source.path.clone()).collect()
}

fn leftovers(sources: &[Source]) -> Vec<String> {
    let rust = sources.iter().filter(|source| source.is_rust());
    rust.flat_map(|source| source.all_lines_with(&LEFTOVERS))
        .collect()
}

#[cfg(test)]
mod tests;
