//! Power that fails: what was not synced is gone, and what was committed is not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mutate::Dice;

use crate::graph::Graph;
use crate::ledger::compare;
use crate::replica::copy_file;
use crate::run::{Moment, command, finish, is_finished, kill_at, number, start};

/// Builds the library that keeps only what was synced, if there is a compiler.
fn library(place: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torture/shadow.c");
    let library = place.join("shadow.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-pthread", "-o"])
        .args([&library, &source])
        .status();
    match built {
        Ok(status) => {
            assert!(status.success(), "shadow.c does not compile");
            Some(library)
        }
        Err(error) => {
            eprintln!("SKIPPED, NOTHING WAS SHOWN: there is no C compiler ({error})");
            None
        }
    }
}

/// Puts together what is left of the disk. A run that was killed before it could change
/// anything has left everything.
fn lose_power(shadow: &Path, disk: &Path) {
    let Ok(root) = fs::read_to_string(shadow.join("root")) else {
        return;
    };
    fs::remove_dir_all(disk).unwrap();
    restore(shadow, &root, disk);
}

fn restore(shadow: &Path, name: &str, folder: &Path) {
    fs::create_dir(folder).unwrap();
    // A folder that was never synced is empty.
    let entries = fs::read_to_string(shadow.join("folders").join(name)).unwrap_or_default();
    for entry in entries.lines() {
        let mut words = entry.splitn(3, ' ');
        let mut word = || words.next().unwrap();
        let (kind, name, path) = (word(), word(), folder.join(word()));
        let content = shadow.join("files").join(name);
        if kind == "d" {
            restore(shadow, name, &path);
        } else if content.exists() {
            copy_file(&content, &path);
        } else {
            fs::write(&path, "").unwrap();
        }
    }
}

/// One crawl whose power fails again and again.
fn fail(library: &Path, dice: &mut Dice, failures: usize, tables: Option<&str>) {
    let graph = Graph::new(500);
    let place = tempfile::tempdir().unwrap();
    let (disk, shadow) = (place.path().join("disk"), place.path().join("shadow"));
    fs::create_dir(&disk).unwrap();
    let folder = disk.join("a.crawl");
    let web = graph.serve();
    let mut kills = Vec::new();
    for _ in 0..failures {
        if is_finished(&folder) {
            break;
        }
        if shadow.exists() {
            fs::remove_dir_all(&shadow).unwrap();
        }
        fs::create_dir(&shadow).unwrap();
        let mut crawl = command(&folder, &web);
        crawl
            .env("LD_PRELOAD", library)
            .env("CLEWLINE_SHADOW", &shadow)
            .env("CLEWLINE_SHADOW_ROOT", &disk);
        if let Some(tables) = tables {
            crawl.env("CLEWLINE_SMALL_TABLES", tables);
        }
        let moment = Moment::Requests(dice.below(160));
        kills.extend(kill_at(moment, crawl.spawn().unwrap(), &web, &folder));
        lose_power(&shadow, &disk);
    }
    if !is_finished(&folder) {
        finish(start(&folder, &web));
    }
    let figures = compare(graph, &web, &folder, &kills);
    figures.assert_sound();
    eprintln!("{figures:?}");
}

#[test]
fn what_was_committed_outlives_a_loss_of_power() {
    let place = tempfile::tempdir().unwrap();
    let Some(library) = library(place.path()) else {
        return;
    };
    let mut dice = Dice(number("CLEWLINE_SEED", 0x5eed));
    for round in 0..number("CLEWLINE_POWER_ROUNDS", 3) {
        let tables = (round % 2 == 1).then_some("1");
        fail(&library, &mut dice, 5, tables);
    }
}
