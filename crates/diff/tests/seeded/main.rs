//! Sites that are made from a seed, with edits that are known: each is one entry, noise is none.

mod archive;
mod cases;
mod site;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use archive::compared;
use clewline_diff::{DiffEntry, DiffKind, DiffOptions, Difference, MoveCertainty};
use mutate::Dice;
use site::{HOST, Site};

/// Pages of a site in the suite; `examples/seeded.rs` compares larger ones.
const PAGES: usize = 300;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compares a site before and after.
    fn compared(&self, old: &Site, new: &Site) -> Difference {
        let (before, after) = (self.path("old.warc.gz"), self.path("new.warc.gz"));
        old.write(&before, 11);
        new.write(&after, 12);
        compared(&before, &after, &DiffOptions::default()).expect("it is compared")
    }
}

fn told(entries: &[DiffEntry]) -> String {
    let mut lines = Vec::new();
    for entry in entries {
        lines.push(format!(
            "{:?} {} {:?} {:?}",
            entry.kind,
            entry.pages,
            entry.urls.first(),
            entry.layers
        ));
        for edit in entry.edits.iter().take(4) {
            lines.push(format!(
                "   {}: {:?} -> {:?} {:?} {:?}",
                edit.place, edit.removed, edit.added, edit.links_removed, edit.links_added
            ));
        }
    }
    lines.join("\n")
}

#[test]
fn k_edits_are_k_entries() {
    let place = Place::new();
    for seed in 1..=10 {
        let mut dice = Dice(seed);
        let old = Site::new(PAGES, &mut dice);
        let edits = [0, 1, 3, 7, 12, 20, 28, 36, 44, 50][seed as usize % 10];
        let mut new = old.clone();
        new.edit(edits, &mut dice);
        let found = place.compared(&old, &new);
        assert_eq!(
            found.entries.len(),
            edits,
            "seed {seed}\n{}",
            told(&found.entries)
        );
        assert!(!found.noise.is_empty());
        assert_eq!(found.counts.unreadable, 0);
    }
}

#[test]
fn noise_alone_is_no_entry_and_is_shown() {
    let place = Place::new();
    let site = Site::new(60, &mut Dice(5));
    let found = place.compared(&site, &site);
    assert_eq!(found.entries, [], "{}", told(&found.entries));
    assert_eq!(found.counts.noise, found.counts.compared);
    let places: BTreeMap<_, _> = found
        .noise
        .iter()
        .map(|it| (it.place.as_str(), it))
        .collect();
    let names: Vec<_> = places.keys().copied().collect();
    assert_eq!(names, ["aside p", "footer p", "main p", "nav li"]);
    // What is masked is told as it stands in the pages.
    let quote = places["aside p"];
    assert!(quote.removed != quote.added && !quote.removed.is_empty());
}

#[test]
fn a_relaunch_is_mapped_and_what_is_sure_is_right() {
    let place = Place::new();
    let mut dice = Dice(77);
    let old = Site::new(600, &mut dice);
    let mut new = old.clone();
    let expected = new.relaunch(120, &mut dice);
    let found = place.compared(&old, &new);
    let (right, wrong) = judged(&found, &expected);
    assert_eq!(wrong, 0);
    assert!(
        right * 100 >= expected.len() * 97,
        "{right} of {}",
        expected.len()
    );
}

/// How many addresses are mapped right, and how many that are said to be sure are not.
fn judged(found: &Difference, expected: &[(String, String)]) -> (usize, usize) {
    let expected: HashMap<String, String> = expected
        .iter()
        .map(|(from, to)| (format!("{HOST}{from}"), format!("{HOST}{to}")))
        .collect();
    let is_right = |from: &str, to: &str| expected.get(from).is_some_and(|it| it == to);
    let right = found
        .moves
        .iter()
        .filter(|it| is_right(&it.from, &it.to))
        .count();
    let sure = found
        .moves
        .iter()
        .filter(|it| it.certainty == MoveCertainty::Sure);
    (right, sure.filter(|it| !is_right(&it.from, &it.to)).count())
}

#[test]
fn threads_and_the_order_of_the_archive_change_nothing() {
    let place = Place::new();
    let mut dice = Dice(3);
    let old = Site::new(90, &mut dice);
    let mut new = old.clone();
    new.edit(9, &mut dice);
    let first = place.compared(&old, &new);
    for threads in [1, 7] {
        let options = DiffOptions {
            threads: std::num::NonZero::new(threads),
            ..DiffOptions::default()
        };
        let (old, new) = (place.path("old.warc.gz"), place.path("new.warc.gz"));
        let again = compared(&old, &new, &options).unwrap();
        assert_eq!(again.entries, first.entries);
        assert_eq!(again.noise, first.noise);
        assert_eq!(again.counts, first.counts);
    }
    let gone = first
        .entries
        .iter()
        .filter(|it| it.kind == DiffKind::Gone)
        .count() as u64;
    assert_eq!(gone, first.counts.gone);
}
