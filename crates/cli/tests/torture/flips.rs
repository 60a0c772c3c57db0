//! Flipped bits and lost ends in the files of a job folder: each is refused by name, or the
//! crawl comes to the right end; never a wrong one, and no log is cut by more than a batch.
//!
//! `CLEWLINE_FLIPS` makes it more cases, `CLEWLINE_SEED` others.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use mutate::Dice;
use tempfile::TempDir;
use terrarium::LiveWeb;

use crate::archive;
use crate::graph::Graph;
use crate::ledger::{Kill, outputs, witnessed};
use crate::replica::copy_folder;
use crate::run::{Moment, command, ended, kill_at, number, run_of, runs};
use fieldwork::files;

/// A crawl that was killed half-way, to be damaged again and again.
struct Patient {
    graph: Graph,
    web: LiveWeb,
    place: TempDir,
}

/// What is done to a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Flip { byte: u64, bit: u32 },
    Cut { length: u64 },
}

impl Damage {
    fn apply(self, file: &Path) {
        let handle = OpenOptions::new()
            .read(true)
            .write(true)
            .open(file)
            .unwrap();
        match self {
            Self::Flip { byte, bit } => {
                let mut value = [0];
                handle.read_exact_at(&mut value, byte).unwrap();
                handle.write_all_at(&[value[0] ^ (1 << bit)], byte).unwrap();
            }
            Self::Cut { length } => handle.set_len(length).unwrap(),
        }
    }
}

/// How a crawl took its damage.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Refused,
    Finished,
}

impl Patient {
    fn new() -> Self {
        let graph = Graph::new(700);
        let place = tempfile::tempdir().unwrap();
        let patient = Self {
            graph,
            web: graph.serve(),
            place,
        };
        let folder = patient.folder("whole");
        // On a busy machine little of what was asked for is committed yet.
        let mut rounds = 0;
        while rounds < 2 || Kill::of(&folder).committed.len() <= 100 {
            rounds += 1;
            let crawl = patient.crawl(&folder, &[]).spawn().unwrap();
            let moment = Moment::Requests(220);
            kill_at(moment, crawl, &patient.web, &folder).unwrap();
        }
        patient
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn crawl(&self, folder: &Path, flags: &[&str]) -> std::process::Command {
        let mut command = command(folder, &self.web);
        command.env("CLEWLINE_SMALL_TABLES", "1").args(flags);
        command
    }

    /// The files that can be damaged.
    fn organs(&self) -> Vec<PathBuf> {
        let whole = self.folder("whole");
        let is_organ = |path: &PathBuf| {
            let empty = fs::metadata(whole.join(path)).unwrap().len() == 0;
            !empty && !path.ends_with("lock") && !path.starts_with("state/tails")
        };
        let inside = |path: PathBuf| path.strip_prefix(&whole).unwrap().to_path_buf();
        files(&whole)
            .into_iter()
            .map(inside)
            .filter(is_organ)
            .collect()
    }

    /// Goes on with a damaged folder and judges what comes of it.
    fn go_on(&self, folder: &Path, file: &Path, damage: Damage) -> Taken {
        let case = format!("{}: {damage:?}", file.display());
        let (before, committed) = log(&self.folder("whole"));
        let (output, talk) = ended(self.crawl(folder, &[]).spawn().unwrap());
        let case = format!("{case}\n{talk}");
        let (after, _) = log(folder);
        let is_results = file.ends_with("urls.jsonl");
        if !is_results {
            assert!(
                after.starts_with(&before[..committed]),
                "{case}: a log was cut"
            );
        }
        match output.status.code() {
            Some(0) => {
                let figures = outputs(self.graph, folder);
                // A line of the results that was changed is one wrong line, and no more.
                let tolerated = usize::from(is_results);
                let wrong = [figures.lost, figures.false_done, figures.torn];
                let bound = wrong.iter().all(|count| *count <= tolerated);
                assert!(bound && figures.twice == 0, "{case}: {figures:?}");
                Taken::Finished
            }
            Some(3) => {
                let named = talk.contains(&*folder.to_string_lossy()) && talk.contains("hint:");
                assert!(named, "{case}: refused without a name or help");
                if talk.contains("--repair") {
                    self.repair(folder, &case);
                }
                Taken::Refused
            }
            code => panic!("{case}: ended with {code:?}"),
        }
    }

    fn repair(&self, folder: &Path, case: &str) {
        let (output, talk) = ended(self.crawl(folder, &["--repair"]).spawn().unwrap());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{case}: not repaired: {talk}"
        );
        let figures = outputs(self.graph, folder);
        let wrong = [
            figures.lost,
            figures.twice,
            figures.torn,
            figures.false_done,
        ];
        assert_eq!(wrong, [0; 4], "{case}: {figures:?}");
    }
}

/// The log of URLs, and how much of it was committed.
fn log(folder: &Path) -> (Vec<u8>, usize) {
    let log = fs::read(folder.join("urls.jsonl")).unwrap_or_default();
    (log, witnessed(folder))
}

/// A flip or a cut somewhere in a file; where there is room for later at its end, before that.
fn damage(dice: &mut Dice, file: &Path, kind: usize) -> Damage {
    let content = fs::read(file).unwrap();
    let used = content.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
    if kind == 0 {
        let (byte, bit) = (dice.below(used) as u64, dice.below(8) as u32);
        Damage::Flip { byte, bit }
    } else {
        let lost = 1 + dice.below(used.min(4096));
        let length = (used - lost) as u64;
        Damage::Cut { length }
    }
}

#[test]
fn damage_is_refused_by_name_or_recovered_from() {
    let patient = Patient::new();
    let organs = patient.organs();
    let mut dice = Dice(number("CLEWLINE_SEED", 0x5eed));
    let (mut refused, mut finished) = (0, 0);
    for case in 0..number("CLEWLINE_FLIPS", 30) as usize {
        // The few files of our own come first, then a sample of the store's.
        let own = organs
            .iter()
            .filter(|path| !path.starts_with("state/store"));
        let own: Vec<_> = own.collect();
        let file = match own.get(case / 2) {
            Some(file) => *file,
            None => &organs[dice.below(organs.len())],
        };
        let folder = patient.folder("damaged");
        copy_folder(&patient.folder("whole"), &folder);
        let damage = damage(&mut dice, &folder.join(file), case % 2);
        damage.apply(&folder.join(file));
        let taken = patient.go_on(&folder, file, damage);
        eprintln!("{}: {damage:?} → {taken:?}", file.display());
        match taken {
            Taken::Refused => refused += 1,
            Taken::Finished => finished += 1,
        }
        fs::remove_dir_all(&folder).unwrap();
    }
    eprintln!("{refused} refused, {finished} finished");
    assert!(refused > 0, "no damage was noticed at all");
}

/// What is done to the state of a crawl, so that only its archive is left to go on from.
fn lose_state(folder: &Path, what: &str) {
    let state = folder.join("state");
    match what {
        "store" => fs::remove_dir_all(state.join("store")).unwrap(),
        "store and witness" => {
            fs::remove_dir_all(state.join("store")).unwrap();
            fs::remove_file(state.join("witness")).unwrap();
        }
        "store and logs" => {
            fs::remove_dir_all(state.join("store")).unwrap();
            Damage::Cut { length: 100 }.apply(&folder.join("urls.jsonl"));
            fs::remove_file(folder.join("links/00000.links")).unwrap();
        }
        _ => {
            // A run that the kill caught unwritten counts for nothing and may still be empty.
            let written = |file: &PathBuf| fs::metadata(file).unwrap().len() > 9;
            for file in files(&state.join("store/keys")).into_iter().filter(written) {
                Damage::Flip { byte: 9, bit: 3 }.apply(&file);
            }
        }
    }
}

#[test]
fn a_lost_state_is_made_again_from_the_archive() {
    let patient = Patient::new();
    let whole = patient.folder("whole");
    for what in ["store", "store and witness", "store and logs", "keys"] {
        let folder = patient.folder("lost");
        copy_folder(&whole, &folder);
        let committed = Kill::of(&folder).committed;
        lose_state(&folder, what);
        let (output, talk) = ended(patient.crawl(&folder, &[]).spawn().unwrap());
        assert_eq!(output.status.code(), Some(3), "{what}: {talk}");
        assert!(talk.contains("makes the state again"), "{what}: {talk}");
        let first_run = runs();
        patient.repair(&folder, what);
        let log = patient.web.log();
        let after = log.iter().filter(|hit| run_of(hit) >= first_run);
        let again: Vec<&str> = after
            .map(|hit| hit.target.as_str())
            .filter(|path| committed.contains(*path))
            .collect();
        assert!(committed.len() > 100, "{what}: {}", committed.len());
        assert_eq!(again, [""; 0], "{what}: asked again");
        archive::check(&folder);
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn a_state_at_an_older_commit_is_refused_and_can_be_repaired() {
    let patient = Patient::new();
    let (whole, folder) = (patient.folder("whole"), patient.folder("older"));
    // On a busy disk a run may be killed before its first commit, and it is one that is wanted.
    // Each begins anew: pages that were in hand at one kill after the other would be suspects.
    let witness = |folder: &Path| fs::read(folder.join("state/witness")).unwrap();
    loop {
        copy_folder(&whole, &folder);
        let crawl = patient.crawl(&folder, &[]).spawn().unwrap();
        let killed = kill_at(Moment::Requests(150), crawl, &patient.web, &folder);
        if killed.is_some() && witness(&folder) != witness(&whole) {
            break;
        }
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::remove_dir_all(folder.join("state/store")).unwrap();
    copy_folder(&whole.join("state/store"), &folder.join("state/store"));
    let (before, _) = log(&folder);
    let (output, talk) = ended(patient.crawl(&folder, &[]).spawn().unwrap());
    assert_eq!(output.status.code(), Some(3), "{talk}");
    assert!(talk.contains(" is damaged: "), "{talk}");
    assert!(talk.contains("the same command with --repair"), "{talk}");
    assert_eq!(log(&folder).0, before, "nothing is cut unasked");
    patient.repair(&folder, "an older commit");
    let tails = folder.join("state/tails");
    assert!(!tails.exists(), "what was cut has been fetched again");
}
