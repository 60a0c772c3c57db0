//! Many crawls, many kills: small in every test run, large by `cargo xtask torture`.

use std::time::{Duration, Instant};

use mutate::Dice;
use serde_json::json;

use crate::graph::Graph;
use crate::ledger::{Figures, Kill, compare};
use crate::run::{CONCURRENCY, Moment, finish, is_finished, kill_at, number, start};

/// How much torture.
#[derive(Debug, Clone, Copy)]
struct Plan {
    pages: u64,
    /// Kills, at the least.
    kills: usize,
    /// Crawls, at the least.
    crawls: usize,
    seed: u64,
}

/// Crawls and kills until there was enough of both.
fn torture(plan: &Plan) -> Figures {
    let graph = Graph::new(plan.pages);
    let place = tempfile::tempdir().unwrap();
    let mut dice = Dice(plan.seed);
    let mut figures = Figures::default();
    // Each crawl gets its share, so that the last one has something left to be killed in.
    let share = plan.kills.div_ceil(plan.crawls);
    while figures.kills < plan.kills || figures.crawls < plan.crawls {
        let folder = place.path().join(format!("{}.crawl", figures.crawls));
        let web = graph.serve();
        let mut kills: Vec<Kill> = Vec::new();
        while kills.len() < share && !is_finished(&folder) {
            let second = !kills.is_empty() && dice.below(4) == 0;
            let moment = moment(&mut dice, graph, share, second);
            let kill = kill_at(moment, start(&folder, &web), &web, &folder);
            figures.second += usize::from(second && kill.is_some());
            kills.extend(kill);
        }
        if !is_finished(&folder) {
            finish(start(&folder, &web));
        }
        let here = compare(graph, &web, &folder, &kills);
        figures += here;
        eprintln!("crawl {}: {here:?}", figures.crawls);
        std::fs::remove_dir_all(&folder).unwrap();
    }
    figures
}

/// When the next kill comes: somewhere in the run's share of the crawl, or, as a second one,
/// within a second of the restart.
fn moment(dice: &mut Dice, graph: Graph, share: usize, second: bool) -> Moment {
    let part = graph.pages() as usize * 3 / 2 / share.max(8);
    if second {
        Moment::Time(Duration::from_millis(dice.below(1_000) as u64))
    } else if dice.below(2) == 0 {
        Moment::Time(Duration::from_millis(dice.below(part) as u64))
    } else {
        Moment::Requests(dice.below(part))
    }
}

/// As much torture as the environment wants; `cargo xtask torture` wants a lot and reads the
/// figures where `CLEWLINE_REPORT` says.
#[test]
fn kills_at_random_moments_lose_nothing() {
    let plan = Plan {
        pages: number("CLEWLINE_TORTURE_PAGES", 1_500),
        kills: number("CLEWLINE_KILLS", 20) as usize,
        crawls: number("CLEWLINE_CRAWLS", 2) as usize,
        seed: number("CLEWLINE_SEED", 0x5eed),
    };
    let began = Instant::now();
    let figures = torture(&plan);
    let mut report = figures.to_json();
    report["seconds"] = json!(began.elapsed().as_secs());
    report["in_flight"] = json!(CONCURRENCY);
    if let Some(path) = std::env::var_os("CLEWLINE_REPORT") {
        std::fs::write(path, report.to_string()).unwrap();
    }
    figures.assert_sound();
}
