//! Kill the crawl at random moments and go on: nothing is lost, nothing is recorded twice.
//!
//! The server outlives the crawler and keeps a log of everything it was asked. After the last
//! run three ledgers are compared: what the graph says must be found, what the server was
//! asked, and what stands in the job folder. `CLEWLINE_KILLS` and `CLEWLINE_TORTURE_PAGES`
//! make it larger; `cargo xtask torture` does so and keeps the result.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

mod archive;
mod browsers;
mod flips;
mod graph;
mod large;
mod ledger;
#[cfg(debug_assertions)]
mod points;
mod power;
mod replica;
mod rivals;
mod run;

use mutate::Dice;

use graph::Graph;
use ledger::compare;
use run::{Moment, finish, is_finished, kill_at, start};

#[test]
fn a_second_kill_right_after_the_restart_loses_nothing() {
    let graph = Graph::new(400);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let web = graph.serve();
    let mut kills = Vec::new();
    for requests in [60, 0, 1, 80, 0, 2, 0] {
        let moment = Moment::Requests(requests);
        kills.extend(kill_at(moment, start(&folder, &web), &web, &folder));
    }
    finish(start(&folder, &web));
    compare(graph, &web, &folder, &kills).assert_sound();
}

#[test]
fn kills_in_the_first_moments_leave_a_folder_that_can_be_used() {
    let graph = Graph::new(60);
    let place = tempfile::tempdir().unwrap();
    let mut dice = Dice(7);
    for round in 0..6 {
        let folder = place.path().join(format!("{round}.crawl"));
        let web = graph.serve();
        let mut kills = Vec::new();
        for _ in 0..3 {
            let time = std::time::Duration::from_millis(dice.below(60) as u64);
            if is_finished(&folder) {
                break;
            }
            kills.extend(kill_at(
                Moment::Time(time),
                start(&folder, &web),
                &web,
                &folder,
            ));
        }
        if !is_finished(&folder) {
            finish(start(&folder, &web));
        }
        compare(graph, &web, &folder, &kills).assert_sound();
    }
}

#[test]
fn one_interrupt_repeats_nothing() {
    let graph = Graph::new(600);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let web = graph.serve();
    for requests in [100, 200] {
        let mut child = start(&folder, &web);
        let target = web.log().len() + requests;
        let patience = std::time::Duration::from_mins(1);
        assert!(web.wait_for(|log| log.len() >= target, patience));
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
    finish(start(&folder, &web));
    compare(graph, &web, &folder, &[]).assert_sound();
}
