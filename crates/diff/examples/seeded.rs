//! Ten sites of many pages with edits that are known, and a relaunch: how many entries, how many
//! addresses, how long. `cargo run --profile ci -p clewline-diff --example seeded -- 10000 10`

#[path = "../tests/seeded/archive.rs"]
mod archive;
#[path = "../tests/seeded/site.rs"]
mod site;

use std::collections::HashMap;
use std::time::Instant;

use archive::compared;
use clewline_diff::{DiffOptions, Difference, MoveCertainty};
use mutate::Dice;
use site::{HOST, Site};

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|it| it.parse().ok());
    let pages: usize = arguments.next().unwrap_or(10_000);
    let seeds: usize = arguments.next().unwrap_or(10);
    let place = tempfile::tempdir().expect("a folder");
    let run = |old: &Site, new: &Site| -> (Difference, f64) {
        let (before, after) = (
            place.path().join("old.warc.gz"),
            place.path().join("new.warc.gz"),
        );
        old.write(&before, 11);
        new.write(&after, 12);
        let began = Instant::now();
        let found = compared(&before, &after, &DiffOptions::default()).expect("it is compared");
        (found, began.elapsed().as_secs_f64())
    };
    for seed in 1..=seeds {
        let mut dice = Dice(seed as u64 * 1_000_003);
        let old = Site::new(pages, &mut dice);
        let edits = 5 * seed;
        let mut new = old.clone();
        new.edit(edits, &mut dice);
        let (found, seconds) = run(&old, &new);
        let (entries, compared) = (found.entries.len(), found.counts.compared);
        eprintln!(
            "seed {seed}: {edits} edits, {entries} entries, {compared} pages, {seconds:.1} s"
        );
    }
    let mut dice = Dice(99);
    let old = Site::new(pages, &mut dice);
    let mut new = old.clone();
    let expected = new.relaunch(pages / 10, &mut dice);
    let (found, seconds) = run(&old, &new);
    let expected: HashMap<String, String> = expected
        .into_iter()
        .map(|(from, to)| (format!("{HOST}{from}"), format!("{HOST}{to}")))
        .collect();
    let is_right = |from: &str, to: &str| expected.get(from).is_some_and(|it| it == to);
    let right = found
        .moves
        .iter()
        .filter(|it| is_right(&it.from, &it.to))
        .count();
    let sure: Vec<_> = found
        .moves
        .iter()
        .filter(|it| it.certainty == MoveCertainty::Sure)
        .collect();
    let wrong = sure.iter().filter(|it| !is_right(&it.from, &it.to)).count();
    let all = expected.len();
    let sure = sure.len();
    eprintln!(
        "relaunch: {right} of {all} right, {sure} sure, {wrong} of these wrong, {seconds:.1} s"
    );
}
