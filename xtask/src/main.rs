//! The project's own commands: `cargo xtask check | test | bench | flat | torture | ladder` and
//! more.
//!
//! Owns which stages there are and which verb runs which. A stage is a program that is run or a
//! rule that is checked; each is timed, and the summary at the end says what became of all of
//! them. Invariant: a stage that could not run is never silent, and in CI it is a failure.

mod api;
mod app_costs;
mod app_page;
mod assistants;
mod bench;
mod browser;
mod build_cost;
mod cargo;
mod check_flat;
mod check_forms;
mod check_race;
mod dist;
mod driver;
mod flat;
mod fleet;
mod foreign;
mod http2;
mod known_items;
mod ladder;
mod mutants;
mod packages;
mod pages;
mod passage;
mod python;
mod python_race;
mod quality;
mod real_site;
mod rendering;
mod replayweb;
mod screens;
mod search_page;
mod sink;
mod stage;
mod tidy;
mod tools;
mod torture;
mod traps;
mod views;
mod website;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::stage::{Ending, Stage};

const USAGE: &str = "\
Usage: cargo xtask VERB

  check            format, lints, documentation and tidy rules
  test [STAGE…]    all tests, or some stages; installs what they need
  lint             format and lints
  doc              documentation, warnings are errors
  bench [--help]   how fast it is, against what, and where the time goes
  fleet            a large fleet on PostgreSQL, killed again and again
  torture [--help] hundreds of kills, and what came of them
  traps [NAME]     how much a crawl finds beside traps, and of sites that look like one
  check-flat       what a check of a million pages takes; --help
  app-costs        what the app costs a crawl and its machine; --save keeps the table
  check-race       link checkers over a web whose truth is known; --save keeps the table
  check-forms      findings of a check, read by others' tools
  rendering        kill browsers, watch a rendered web, tell what a page costs; --help
  http2 [--help]   what HTTP/2 costs beside HTTP/1.1, against nginx
  flat [--help]    whether memory stays flat while a crawl grows
  screens [PART]   every page at three widths, light and dark, judged by axe-core; --save renews the
                   pictures of the documentation
  website          the documentation as a website, in target/website/book
  dist [--help]    packages for people: archive, deb, licences, SBOM, sums
  python-race      Python beside the Rust library and Scrapy, its memory, a thousand starts; --save
  build-cost       what a clean build takes, crate by crate
  ladder [--help]  why asynchronous: every rung measured on this machine
  mutants [PART…]  which mistakes in the code no test would notice; --save keeps the list
  quality [--save] main text and Markdown against the pages' own sources
";

/// Where things are.
#[derive(Clone)]
pub(crate) struct Workspace {
    /// The folder of the workspace's manifest.
    pub(crate) root: PathBuf,
    /// Cargo's target folder, where everything that is made goes.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Where cases of public suites are.
    pub(crate) fn conformance(&self) -> PathBuf {
        std::env::var_os("CLEWLINE_CONFORMANCE")
            .map_or_else(|| self.root.join("../shared/conformance"), PathBuf::from)
    }
}

const LINT: [Stage; 2] = [
    Stage::new("format", "cargo fmt --check", |workspace| {
        cargo::run(workspace, &["fmt", "--all", "--check"])
    }),
    Stage::new("lints", "cargo clippy, warnings are errors", cargo::clippy),
];
const DOC: Stage = Stage::new(
    "documentation",
    "cargo doc, warnings are errors",
    cargo::doc,
);
const DEPENDENCIES: Stage = Stage::new(
    "dependencies",
    "where crates of others come from, and their terms",
    dist::check_dependencies,
);
const CHECK_FORMS: Stage = Stage::new(
    "check-forms",
    "findings, read by others' tools",
    check_forms::check,
);
const TIDY: Stage = Stage::new("tidy", "what the compiler cannot see", tidy::tidy);

/// What `test` runs, in this order. Everything is built first, in one go and with the features
/// of the whole workspace, so that no heavy crate is built twice.
const TEST: [Stage; 19] = [
    TIDY,
    Stage::vital("build", "everything, tests included", |workspace| {
        cargo::run(
            workspace,
            &["test", "--profile", "ci", "--workspace", "--no-run"],
        )
    }),
    Stage::new(
        "unit",
        "beside the code, simulation included",
        |workspace| cargo::test(workspace, &["--lib", "--bins"]),
    ),
    Stage::new("end-to-end", "against a synthetic internet", |workspace| {
        // One row of the fault matrix needs a clock that lies; without it that row says so.
        if let Err(error) = tools::unpacked(workspace, "libfaketime") {
            stage::say(&format!("SKIPPED: clock a day forward and back: {error:#}"));
        }
        // Uploads are tried against a server that speaks S3; without it that test says so.
        if let Err(error) = tools::from_pypi(workspace, "moto", "moto[server]") {
            stage::say(&format!("SKIPPED: uploads to S3: {error:#}"));
        }
        if let Err(error) = rendering::prepare(workspace) {
            stage::say(&format!("SKIPPED: rendering in a browser: {error:#}"));
        }
        if let Err(error) = tools::database() {
            stage::say(&format!("SKIPPED: fleets on PostgreSQL: {error:#}"));
        }
        cargo::test(workspace, &["--test", "*"])
    }),
    Stage::new(
        "doc-tests",
        "the examples of the documentation",
        |workspace| cargo::test(workspace, &["--doc"]),
    ),
    Stage::new("flat", "a million URLs in little memory", flat::check),
    Stage::new(
        "real-site",
        "a site that others wrote, and a second opinion",
        real_site::check,
    ),
    Stage::new(
        "known-items",
        "pages, found by their own words",
        known_items::check,
    ),
    Stage::new(
        "assistants",
        "the tools for assistants, called by the official client",
        assistants::check,
    ),
    Stage::new("api", "the app for programs, judged by others", api::check),
    Stage::new(
        "foreign-tools",
        "archives, read by others' tools and ours",
        foreign::check,
    ),
    Stage::new(
        "pages",
        "three documentation sites, read twice",
        pages::check,
    ),
    Stage::new(
        "browser",
        "report, replay, mirror, search and the app as a browser sees them",
        browser::check,
    ),
    Stage::new(
        "screens",
        "every page, narrow and wide, judged by axe-core",
        screens::check,
    ),
    CHECK_FORMS,
    Stage::new(
        "website",
        "the documentation as a site, crawled for dead links",
        website::check,
    ),
    Stage::new(
        "python",
        "the wheel in a fresh environment, its tests, types and recipes",
        python::check,
    ),
    Stage::new(
        "packages",
        "archive, deb and install.sh, made twice and installed",
        packages::check,
    ),
    Stage::new(
        "instructions",
        "what the hot paths cost, counted",
        bench::check_instructions,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Whether all went well.
fn run(arguments: &[String]) -> Result<bool> {
    let workspace = workspace()?;
    let (verb, rest) = arguments.split_first().context("a verb is missing")?;
    let [format, lints] = LINT;
    let stages = match verb.as_str() {
        "test" => {
            return Ok(stage::run_all(
                &workspace,
                &chosen(rest)?,
                &notes(&workspace),
            ));
        }
        "bench" => return Ok(told(bench::run(&workspace, rest))),
        "torture" => return Ok(told(torture::run(&workspace, rest))),
        "rendering" => return Ok(told(rendering::run(&workspace, rest))),
        "http2" => return Ok(told(http2::run(&workspace, rest))),
        "app-costs" => return Ok(told(app_costs::run(&workspace, rest))),
        "traps" => return Ok(told(traps::run(&workspace, rest))),
        "check-flat" => return Ok(told(check_flat::run(&workspace, rest))),
        "check-race" => return Ok(told(check_race::run(&workspace, rest))),
        "flat" => return Ok(told(flat::run(&workspace, rest))),
        "fleet" => return Ok(told(fleet::run(&workspace, rest))),
        "mutants" => return Ok(told(mutants::run(&workspace, rest))),
        "quality" => return Ok(told(quality::run(&workspace, rest))),
        "screens" => return Ok(told(screens::run(&workspace, rest))),
        "website" => return Ok(told(website::run(&workspace, rest))),
        "dist" => return Ok(told(dist::run(&workspace, rest))),
        "python-race" => return Ok(told(python_race::run(&workspace, rest))),
        "build-cost" => return Ok(told(build_cost::run(&workspace, rest))),
        "ladder" => return Ok(told(ladder::run(&workspace, rest))),
        "check" => vec![format, lints, DOC, TIDY, DEPENDENCIES],
        "lint" => vec![format, lints],
        "doc" => vec![DOC],
        "check-forms" => vec![CHECK_FORMS],
        _ => bail!("there is no verb {verb:?}"),
    };
    if let Some(extra) = rest.first() {
        bail!("{verb} takes no {extra:?}");
    }
    Ok(stage::run_all(&workspace, &stages, &[]))
}

/// Whether a verb went well; why not is said. Its words were right, or it says itself what would
/// be, so the usage is not shown.
fn told(ended: Result<()>) -> bool {
    match ended {
        Ok(()) => true,
        Err(error) => {
            eprintln!("error: {error:#}");
            false
        }
    }
}

/// The named stages in their order, all if none is named. What drives the binary needs it built.
fn chosen(names: &[String]) -> Result<Vec<Stage>> {
    let known = |name: &String| TEST.iter().any(|stage| stage.name == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = TEST.iter().map(|stage| stage.name).collect();
        bail!("there is no stage {unknown:?}, only {}", all.join(", "));
    }
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let needs_binary = [
        "real-site",
        "known-items",
        "assistants",
        "api",
        "foreign-tools",
        "browser",
        "website",
        "packages",
    ]
    .into_iter()
    .any(has);
    let is_chosen = |stage: &Stage| {
        names.is_empty() || has(stage.name) || (stage.name == "build" && needs_binary)
    };
    Ok(TEST.into_iter().filter(is_chosen).collect())
}

/// What the reader of a summary must know beside the figures.
fn notes(workspace: &Workspace) -> Vec<String> {
    let folder = workspace.conformance();
    if folder.is_dir() {
        return Vec::new();
    }
    vec![format!(
        "CONFORMANCE DATA ABSENT: no folder {}; those tests checked nothing",
        folder.display()
    )]
}

fn workspace() -> Result<Workspace> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in the workspace")?
        .to_owned();
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    Ok(Workspace { root, target })
}

/// A stage that wants a tool which is not there and cannot be fetched does not run.
pub(crate) fn skipped(error: &anyhow::Error) -> Ending {
    Ending::Skipped(format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_chosen_by_name() {
        let check = |names: &[&str], expected: Option<&[&str]>| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let stages = chosen(&names).ok();
            let found: Option<Vec<&str>> =
                stages.map(|stages| stages.iter().map(|stage| stage.name).collect());
            assert_eq!(found.as_deref(), expected, "{names:?}");
        };
        let all: Vec<&str> = TEST.iter().map(|stage| stage.name).collect();
        check(&[], Some(&all));
        check(&["unit", "tidy"], Some(&["tidy", "unit"]));
        check(&["browser"], Some(&["build", "browser"]));
        check(&["website"], Some(&["build", "website"]));
        check(&["units"], None);
    }
}
