//! Growth: what the frontier does in a second, and what a page costs the more is known.
//!
//! Owns the talk with the program `growth` and the judgement of its figures. It runs on the core
//! of whoever is measured, one question at a time. All questions are asked several times in turn,
//! and medians are judged, so that a neighbour's noisy minute does not decide. Whether more cores
//! help is asked of a crawl of small pages, where there are enough cores.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::arena::internet::{Internet, Plan};
use super::super::ground::CRAWLER_CORE;
use super::checks::{Bench, Check, Course};
use super::contestant::{self, WITH_KNOWN};
use super::round::{Row, Spread, empty};
use crate::stage::say;

/// How often everything is asked.
const TURNS: usize = 3;
/// Hosts among which the frontier decides.
const HOSTS: u32 = 100_000;
/// Hand-outs in a second of processor time.
const DECISIONS: f64 = 1e6;
/// What a page may cost more or less in memory, as a part of the first figure.
const FLAT: f64 = 0.15;
/// What it may cost more on disk, in microseconds.
const ON_DISK: f64 = 30.0;
/// Cores that are needed to see whether more of them help.
const CORES: usize = 4;

/// Pages of a round of the frontier alone, in memory: fewer would be over before a clock shows it.
const FRONTIER_PAGES: u32 = 20_000;
/// Pages of a round of a whole crawl, for a third of a second at the least.
const CRAWL_PAGES: u32 = 12_000;

/// Whose pages are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// A whole crawl's, its state in memory and its network made up.
    Crawl,
    /// The frontier's alone, in memory.
    Memory,
    /// The frontier's alone, on disk.
    Disk,
}

impl Whose {
    /// What the program is asked while so many URLs are known.
    fn question(self, known: u64) -> Vec<String> {
        let (verb, pages) = match self {
            Self::Crawl => ("crawl", Some(CRAWL_PAGES)),
            Self::Memory => ("pages", Some(FRONTIER_PAGES)),
            Self::Disk => ("pages", None),
        };
        let mut question = words(&[verb, "--known", &known.to_string()]);
        if let Some(pages) = pages {
            question.extend(words(&["--pages", &pages.to_string()]));
        }
        question
    }
}

/// What a page may cost a crawl whose store knows five million URLs, in microseconds.
const WITH_KNOWN_BAR: f64 = 100.0;

/// Judges the row of the crawl with many known URLs, if it was raced.
pub(super) fn of_rows(rows: &[Row]) -> Vec<Check> {
    let row = rows.iter().find(|row| row.name == WITH_KNOWN);
    let cost = row.and_then(Row::per_page);
    let check = cost.map(|cost| Check {
        name: "a durable store that knows 5 million URLs",
        seen: format!("{:.1} µs of processor time per page", cost.median),
        wanted: format!("at most {WITH_KNOWN_BAR}"),
        kept: (cost.median <= WITH_KNOWN_BAR).into(),
    });
    check.into_iter().collect()
}

/// Known URLs, and microseconds per page with them.
type Cost = (u64, f64);

/// What was said in one turn.
#[derive(Debug)]
struct Turn {
    /// Pages that the frontier handed out and settled in a second.
    handed_out: f64,
    settled: f64,
    crawl: Vec<Cost>,
    memory: Vec<Cost>,
    disk: Vec<Cost>,
}

impl Turn {
    fn ask(bench: &Bench) -> Result<Self> {
        let hosts = hosts(bench).to_string();
        let figures = ask(bench, &words(&["decisions", "--hosts", &hosts]))?;
        Ok(Self {
            handed_out: number(&figures, "decisions_per_second")?,
            settled: number(&figures, "settlements_per_second")?,
            crawl: costs(bench, Whose::Crawl)?,
            memory: costs(bench, Whose::Memory)?,
            disk: costs(bench, Whose::Disk)?,
        })
    }
}

/// Decisions, and the cost of pages in memory and on disk.
pub(super) fn checks(bench: &Bench) -> Result<Vec<Check>> {
    let turns = (0..TURNS).map(|_| Turn::ask(bench));
    let turns: Vec<Turn> = turns.collect::<Result<_>>()?;
    let crawl = medians(&turns, |turn| &turn.crawl);
    let memory = medians(&turns, |turn| &turn.memory);
    let disk = medians(&turns, |turn| &turn.disk);
    Ok(vec![
        decisions(hosts(bench), &turns),
        in_memory(&crawl, &memory),
        on_disk(&disk),
        scaling(bench)?,
    ])
}

fn hosts(bench: &Bench) -> u32 {
    bench.size(HOSTS, 2000)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Spread::from_values(values).map_or(f64::NAN, |spread| spread.median)
}

/// The median of each size.
fn medians(turns: &[Turn], costs: impl Fn(&Turn) -> &[Cost]) -> Vec<Cost> {
    let sizes = turns.first().map_or(&[][..], &costs);
    let of_size = |at: usize| median(turns.iter().map(|turn| costs(turn)[at].1));
    let sizes = sizes.iter().enumerate();
    sizes
        .map(|(at, (known, _))| (*known, of_size(at)))
        .collect()
}

/// Asks the program, on the core of whoever is measured.
fn ask(bench: &Bench, words: &[String]) -> Result<Value> {
    say(&format!("  growth {}", words.join(" ")));
    let output = Command::new("taskset")
        .args(["--cpu-list", &CRAWLER_CORE.to_string()])
        .arg(bench.ground.program("growth"))
        .args(words)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("growth does not start")?;
    ensure!(output.status.success(), "growth {words:?} failed");
    serde_json::from_slice(&output.stdout).context("what growth says")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn number(figures: &Value, name: &str) -> Result<f64> {
    let number = figures[name].as_f64();
    number.with_context(|| format!("growth says no {name}"))
}

fn decisions(hosts: u32, turns: &[Turn]) -> Check {
    let rate = median(turns.iter().map(|turn| turn.handed_out));
    let settled = median(turns.iter().map(|turn| turn.settled));
    Check {
        name: "decisions of the frontier alone, in memory",
        seen: format!(
            "{:.2} M pages handed out in a second of one core, {:.2} M settled, with {hosts} hosts \
             (medians of {TURNS})",
            rate / 1e6,
            settled / 1e6
        ),
        wanted: format!("at least {:.0} M", DECISIONS / 1e6),
        kept: (rate >= DECISIONS).into(),
    }
}

fn costs(bench: &Bench, whose: Whose) -> Result<Vec<Cost>> {
    let most = u64::from(bench.size(10_000_000, 100_000));
    let sizes = [10_000, 100_000, 1_000_000, 10_000_000];
    let mut costs = Vec::new();
    for known in sizes.into_iter().filter(|known| *known <= most) {
        let mut question = whose.question(known);
        let folder = bench.ground.scratch.join("growth");
        if whose == Whose::Disk {
            empty(&folder)?;
            let store = folder.join("store").display().to_string();
            question.extend(words(&["--folder", &store]));
        }
        let figures = ask(bench, &question)?;
        costs.push((known, number(&figures, "micros_per_page")?));
        if whose == Whose::Disk {
            std::fs::remove_dir_all(&folder)?;
        }
    }
    Ok(costs)
}

/// All figures in one line.
fn told(costs: &[Cost]) -> String {
    let told = costs.iter().map(|(known, micros)| {
        let known = if *known >= 1_000_000 {
            format!("{} M", known / 1_000_000)
        } else {
            format!("{} k", known / 1000)
        };
        format!("{micros:.1} at {known}")
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The furthest that a figure is from the first, as a part of it.
fn furthest(costs: &[Cost]) -> f64 {
    let first = costs.first().map_or(f64::NAN, |cost| cost.1);
    let parts = costs.iter().map(|cost| (cost.1 / first - 1.0).abs());
    parts.fold(0.0, f64::max)
}

/// What a page costs more with the most URLs than with the least.
fn more(costs: &[Cost]) -> f64 {
    let ends = costs.first().zip(costs.last());
    ends.map_or(f64::NAN, |(first, last)| last.1 - first.1)
}

/// Judged is what a page costs the crawl; the frontier's part of it is told.
fn in_memory(crawl: &[Cost], frontier: &[Cost]) -> Check {
    Check {
        name: "a page costs the same the more is known, in memory",
        seen: format!(
            "µs per page, medians of {TURNS}, all but the network: {}; the frontier alone: {}",
            told(crawl),
            told(frontier)
        ),
        wanted: format!("± {:.0} % of the first", FLAT * 100.0),
        kept: (furthest(crawl) <= FLAT).into(),
    }
}

fn on_disk(costs: &[Cost]) -> Check {
    Check {
        name: "a page costs little more the more is known, on disk",
        seen: format!("µs per page, medians of {TURNS}: {}", told(costs)),
        wanted: format!("at most {ON_DISK} µs more"),
        kept: (more(costs) <= ON_DISK).into(),
    }
}

/// One core against four, on small pages; the server has the first to itself, or shares it.
fn scaling(bench: &Bench) -> Result<Check> {
    let name = "pages/s with four cores against one";
    let wanted = "more".to_owned();
    if bench.ground.cores < CORES {
        let why = format!("there are {} cores, {CORES} are needed", bench.ground.cores);
        return Ok(Check::not_measured(name, &why, wanted));
    }
    let plan = Plan {
        profile: "micro",
        hosts: bench.size(400, 20),
        pages: 50,
        seed: 7,
        latency: 1.0,
        delay: None,
        secure: None,
        promises: Vec::new(),
    };
    let internet = Internet::prepare(bench.ground, &plan)?;
    let rate = |cores: Option<&str>| -> Result<f64> {
        let course = Course {
            roots: &internet.roots(),
            in_flight: 256,
            words: &["--speed", "max"],
            cores,
        };
        let crawled = bench.crawl(&internet, contestant::in_memory(bench.ground), &course)?;
        Ok(crawled.account.requests as f64 / crawled.cost.wall)
    };
    let (one, four) = (rate(None)?, rate(Some("0-3"))?);
    Ok(Check {
        name,
        seen: format!("{four:.0} against {one:.0}, {:.2} ×", four / one),
        wanted,
        kept: (four > one).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::race::checks::Kept;

    #[test]
    fn growth_is_judged_by_the_first_figure() {
        let check = |costs: &[Cost], memory: Kept, disk: Kept| {
            // The frontier's own figures are not judged.
            let frontier = [(10_000, 3.0), (1_000_000, 9.0)];
            let kept = (in_memory(costs, &frontier).kept, on_disk(costs).kept);
            assert_eq!(kept, (memory, disk), "{costs:?}");
        };
        check(&[(10_000, 100.0), (1_000_000, 114.0)], Kept::Yes, Kept::Yes);
        check(&[(10_000, 100.0), (1_000_000, 129.0)], Kept::No, Kept::Yes);
        check(&[(10_000, 10.0), (1_000_000, 41.0)], Kept::No, Kept::No);
        // Much cheaper is not flat either: then the first figure is wrong.
        check(&[(10_000, 100.0), (1_000_000, 70.0)], Kept::No, Kept::Yes);
    }

    #[test]
    fn all_figures_are_told() {
        let crawl = [(10_000, 61.25), (10_000_000, 64.0)];
        let frontier = [(10_000, 3.0), (10_000_000, 4.5)];
        assert_eq!(
            in_memory(&crawl, &frontier).seen,
            "µs per page, medians of 3, all but the network: 61.2 at 10 k, 64.0 at 10 M; \
             the frontier alone: 3.0 at 10 k, 4.5 at 10 M"
        );
        assert_eq!(
            on_disk(&frontier).seen,
            "µs per page, medians of 3: 3.0 at 10 k, 4.5 at 10 M"
        );
    }

    #[test]
    fn one_noisy_turn_does_not_decide() {
        let turn = |rate: f64, least: f64, most: f64| Turn {
            handed_out: rate,
            settled: rate / 2.0,
            crawl: Vec::new(),
            memory: Vec::new(),
            disk: vec![(10_000, least), (10_000_000, most)],
        };
        let turns = [
            turn(1.5e6, 7.0, 25.0),
            turn(0.4e6, 6.0, 80.0),
            turn(1.2e6, 30.0, 27.0),
        ];
        let disk = medians(&turns, |turn| &turn.disk);
        assert_eq!(disk, [(10_000, 7.0), (10_000_000, 27.0)]);
        let decisions = decisions(100, &turns);
        assert_eq!(decisions.kept, Kept::Yes);
        assert!(
            decisions.seen.starts_with("1.20 M pages"),
            "{}",
            decisions.seen
        );
        assert!(medians(&[], |turn| &turn.crawl).is_empty());
    }
}
