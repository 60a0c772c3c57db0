//! Where the time of a crawl goes, by what the code is for.
//!
//! Owns the map from symbols to purposes. It looks at names only, so code that was inlined
//! counts for whoever took it in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::arena::nginx::{Door, Files, Nginx};
use super::ground::{CRAWLER_CORE, Ground};
use super::options::Options;
use super::race::contestant::{self, Blanks, ONE_SITE};
use crate::stage::say;
use crate::tools;

/// Samples per second.
const RATE: &str = "1999";

/// Symbols that are shown by name.
const SHOWN: usize = 25;

const IN_FLIGHT: usize = 64;

/// Pages for callgrind.
const COUNTED: &str = "500";

/// Parts of symbols of the kernel, and what they are for; the first that occurs counts.
const KERNEL: [(&str, &[&str]); 5] = [
    (
        "kernel: copying to the process",
        &["copy_to_iter", "copy_user", "copyout", "rep_movs"],
    ),
    (
        "kernel: memory",
        &[
            "page_fault",
            "clear_page",
            "mmap",
            "unmap",
            "alloc_pages",
            "memcg",
        ],
    ),
    (
        "kernel: waiting and waking",
        &["futex", "sched", "epoll", "ep_", "wake_up", "pick_next"],
    ),
    (
        "kernel: files",
        &["ext4", "xfs", "vfs_write", "fsync", "generic_perform_write"],
    ),
    ("kernel: network, system calls, the rest", &[""]),
];

/// Parts of symbols of the program, likewise.
const PROGRAM: [(&str, &[&str]); 11] = [
    (
        "allocator",
        &[
            "mi_",
            "mimalloc",
            "malloc",
            "__rdl_",
            "__rust_alloc",
            "_int_free",
        ],
    ),
    (
        "tokenizer",
        &["clewline_html", "memchr", "encoding_rs", "htmlize"],
    ),
    (
        "resolve",
        &[
            "url::",
            "idna",
            "percent_encoding",
            "form_urlencoded",
            "CrawlUrl",
        ],
    ),
    (
        "keys",
        &[
            "clewline_core::key",
            "xxh3",
            "xxhash",
            "psl::",
            "clewline_core::domain",
        ],
    ),
    ("extractor", &["clewline::extract"]),
    (
        "frontier",
        &[
            "clewline_core::frontier",
            "clewline_core::scope",
            "clewline_core::robots",
        ],
    ),
    (
        "logs, records and report",
        &[
            "clewline::log",
            "clewline::report",
            "serde",
            "clewline::record",
        ],
    ),
    ("engine", &["clewline::engine", "mpsc"]),
    (
        "HTTP",
        &[
            "clewline::fetch",
            "httparse",
            "clewline::headers",
            "bytes::",
        ],
    ),
    ("runtime and timers", &["tokio", "mio::", "futures_util"]),
    (
        "copying, comparing, searching",
        &["mem", "hashbrown", "SipHash", "core::hash", "str::"],
    ),
];

/// Crawls the documentation site, prints the shares, and keeps them if that was asked for.
pub(crate) fn run(ground: &Ground, options: &Options) -> Result<()> {
    let files = Files::find(&ground.workspace)?;
    ground.build(&["clewline-cli"])?;
    Ground::keep_to_own_core()?;
    let nginx = Nginx::start(&files, &ground.scratch)?;
    let crawl = contestant::in_memory(ground).with(&ONE_SITE);
    let command = crawl.command(&Blanks {
        url: &nginx.url(Door::Fast),
        out: &ground.memory,
        disk: &ground.memory,
        list: Path::new(""),
        in_flight: IN_FLIGHT,
    });
    let (means, lines) = match sampled(ground, options, &command) {
        Ok(lines) => ("samples of perf, kernel included", lines),
        Err(error) => {
            say(&format!("no perf: {error:#}"));
            let lines = counted(ground, &command)?;
            ("instructions counted by callgrind, kernel left out", lines)
        }
    };
    let text = format!("{means}; build {}\n\n{}", ground.profile(), shares(&lines));
    say(&text);
    if options.save {
        let file = ground.workspace.root.join("docs/benchmarks/profile.txt");
        fs::write(file, text)?;
        say("kept in docs/benchmarks/profile.txt");
    }
    Ok(())
}

/// Crawls under perf, as often as there are rounds.
fn sampled(ground: &Ground, options: &Options, command: &[String]) -> Result<Vec<Symbol>> {
    tools::installed(&["perf"], &["linux-perf"])?;
    let file = ground.scratch.join("perf.data");
    say(&format!("recording {} rounds", options.rounds));
    let mut lines = Vec::new();
    for _ in 0..options.rounds {
        record(&file, command)?;
        lines.extend(symbols(&report(&file)?));
    }
    ensure!(!lines.is_empty(), "perf took no samples");
    Ok(lines)
}

/// Crawls a part of the site under callgrind, which takes fifty times as long.
fn counted(ground: &Ground, command: &[String]) -> Result<Vec<Symbol>> {
    tools::installed(&["valgrind"], &["valgrind"])?;
    let file = ground.scratch.join("callgrind.out");
    say(&format!("counting over {COUNTED} pages"));
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .args(command)
        .args(["--max-pages", COUNTED])
        .stdout(Stdio::null())
        .status()
        .context("valgrind")?;
    ensure!(status.success(), "the crawl failed under valgrind");
    let output = Command::new("callgrind_annotate")
        .args(["--threshold=99", "--auto=no"])
        .arg(&file)
        .output()
        .context("callgrind_annotate")?;
    Ok(functions(&String::from_utf8_lossy(&output.stdout)))
}

/// Lines of the form `number ( share%)  file:function [object]`.
fn functions(annotated: &str) -> Vec<Symbol> {
    let line = |line: &str| {
        let (_, rest) = line.split_once('(')?;
        let (share, place) = rest.split_once("%)")?;
        let (_, name) = place.split_once(':')?;
        Some(Symbol {
            share: share.trim().parse().ok()?,
            in_kernel: false,
            name: name.split(" [").next().unwrap_or_default().to_owned(),
        })
    };
    annotated.lines().filter_map(line).collect()
}

fn record(file: &Path, command: &[String]) -> Result<()> {
    let status = Command::new("perf")
        .args(["record", "--quiet", "--freq", RATE, "--output"])
        .arg(file)
        .args(["--", "taskset", "--cpu-list", &CRAWLER_CORE.to_string()])
        .args(command)
        .stdout(Stdio::null())
        .status()
        .context("perf")?;
    ensure!(status.success(), "the crawl failed under perf");
    Ok(())
}

fn report(file: &Path) -> Result<String> {
    let output = Command::new("perf")
        .args(["report", "--stdio", "--no-children", "--sort", "dso,symbol"])
        .args(["--field-separator", "\t", "--input"])
        .arg(file)
        .stderr(Stdio::null())
        .output()
        .context("perf")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A symbol and its share, in percent.
#[derive(Debug, Clone, PartialEq)]
struct Symbol {
    share: f64,
    in_kernel: bool,
    name: String,
}

/// Lines of the form `share TAB object TAB [.] name`; `[k]` marks the kernel.
fn symbols(report: &str) -> Vec<Symbol> {
    let line = |line: &str| {
        let mut fields = line.split('\t').map(str::trim);
        let share = fields.next()?.trim_end_matches('%').parse().ok()?;
        let symbol = fields.nth(1)?;
        Some(Symbol {
            share,
            in_kernel: symbol.starts_with("[k]"),
            name: symbol.get(3..)?.trim().to_owned(),
        })
    };
    report.lines().filter_map(line).collect()
}

fn purpose(symbol: &Symbol) -> &'static str {
    let table: &[(&'static str, &[&str])] = if symbol.in_kernel { &KERNEL } else { &PROGRAM };
    table
        .iter()
        .find(|(_, parts)| parts.iter().any(|part| symbol.name.contains(part)))
        .map_or("other", |(purpose, _)| purpose)
}

fn shares(symbols: &[Symbol]) -> String {
    let whole: f64 = symbols.iter().map(|symbol| symbol.share).sum();
    let mut purposes: BTreeMap<&str, f64> = BTreeMap::new();
    let mut names: BTreeMap<&str, f64> = BTreeMap::new();
    for symbol in symbols {
        *purposes.entry(purpose(symbol)).or_default() += symbol.share;
        *names.entry(&symbol.name).or_default() += symbol.share;
    }
    let list = |shares: BTreeMap<&str, f64>, most: usize| {
        let mut shares: Vec<_> = shares.into_iter().collect();
        shares.sort_by(|left, right| right.1.total_cmp(&left.1));
        let lines = shares.into_iter().take(most);
        let lines = lines.map(|(name, share)| format!("{:5.1} %  {name}\n", share / whole * 100.0));
        lines.collect::<String>()
    };
    format!(
        "where the time goes\n{}\nthe {SHOWN} greatest symbols\n{}",
        list(purposes, usize::MAX),
        list(names, SHOWN)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_sorted_by_purpose() {
        let check = |line: &str, expected: &str| {
            let symbols = symbols(line);
            assert_eq!(symbols.len(), 1, "{line}");
            assert_eq!(purpose(&symbols[0]), expected, "{line}");
        };
        check(
            "12.50%\tclewline\t[.] clewline_html::tokenizer::tag::Tag::scan",
            "tokenizer",
        );
        check(
            "0.01%\tclewline\t[.] <url::parser::Parser>::parse",
            "resolve",
        );
        check(
            "3.10%\t[kernel.kallsyms]\t[k] _copy_to_iter",
            "kernel: copying to the process",
        );
        check(
            "3.10%\t[kernel.kallsyms]\t[k] tcp_recvmsg",
            "kernel: network, system calls, the rest",
        );
        check(
            "1.00%\tlibc.so.6\t[.] __memmove_avx",
            "copying, comparing, searching",
        );
        check("1.00%\tclewline\t[.] main", "other");
    }

    #[test]
    fn functions_are_named_without_their_places() {
        let line = "1,007 ( 6.04%)  /src/a.rs:url::parser::Parser::parse [/bin/clewline]";
        let expected = Symbol {
            share: 6.04,
            in_kernel: false,
            name: "url::parser::Parser::parse".to_owned(),
        };
        assert_eq!(functions(line), [expected]);
        assert_eq!(
            functions("1,007 (100.0%)  PROGRAM TOTALS\nIr  file:function\n"),
            []
        );
    }

    #[test]
    fn headings_are_no_symbols() {
        assert_eq!(symbols("# Overhead\tShared Object\tSymbol\n\n"), []);
    }
}
