//! Known keys against a plain set, with moves between machines, and a kill at every step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clewline_core::key::Key;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::{
    KeyObserver, KeyRow, KeyStep, KeysError, KeysOptions, KnownKeys, SavedKeys, SealedKeys,
};

/// Hosts that keys are on; a range is that of some hosts.
const HOSTS: u64 = 6;

/// A key by its number; a host has a sixth of all.
fn key(number: u64) -> Key {
    let host = u128::from(number % HOSTS) << 120;
    let url = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Key::from_number(host | u128::from(url))
}

/// All keys of hosts from one to another.
fn hosts(from: u64, to: u64) -> RangeInclusive<Key> {
    let begin = |host: u64| u128::from(host) << 120;
    Key::from_number(begin(from))..=Key::from_number(begin(to + 1) - 1)
}

/// What a database would hold, and what is true of it.
#[derive(Default)]
struct Disk {
    folder: PathBuf,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The keys that the last commit knew.
    durable: BTreeSet<Key>,
    /// The steps at which the process was killed, so to speak.
    kills: BTreeMap<String, usize>,
}

impl Disk {
    fn write(&mut self, rows: &[KeyRow]) {
        for row in rows {
            match &row.value {
                Some(value) => self.rows.insert(row.name.clone(), value.clone()),
                None => self.rows.remove(&row.name),
            };
        }
    }

    /// The folder as it is at one moment: where a file goes away while others are copied, the copy
    /// would be of two moments, and is made again.
    fn copy(&self) -> tempfile::TempDir {
        loop {
            let copy = tempfile::tempdir().unwrap();
            let files = fs::read_dir(&self.folder).unwrap().map(Result::unwrap);
            let copied: Result<Vec<u64>, _> = files
                .map(|file| fs::copy(file.path(), copy.path().join(file.file_name())))
                .collect();
            match copied {
                Ok(_) => return copy,
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
            }
        }
    }

    /// What a start after a kill at this moment finds, in a copy of the folder.
    fn kill(&mut self, step: &str) {
        *self.kills.entry(step.to_owned()).or_default() += 1;
        let copy = self.copy();
        let mut keys = open(copy.path(), &self.rows, Arc::new(|_| ())).unwrap();
        assert_eq!(all(&keys), self.durable, "after a kill at {step}");
        for key in &self.durable {
            assert!(keys.contains(*key).unwrap(), "after a kill at {step}");
        }
        keys.check().unwrap();
    }
}

fn open(
    folder: &Path,
    rows: &BTreeMap<Vec<u8>, Vec<u8>>,
    observer: KeyObserver,
) -> Result<KnownKeys, KeysError> {
    let mut saved = SavedKeys::default();
    for (from, to) in SavedKeys::SPANS {
        for (name, value) in rows.range(from.to_vec()..to.to_vec()) {
            saved.read(name, value);
        }
    }
    let options = KeysOptions {
        hot: 0,
        indexes: 1 << 20,
        blocks: 1 << 20,
        gather: 7,
        together: 2,
        waits_for_merges: true,
        free_bytes: |_| None,
        observer,
    };
    KnownKeys::open(folder, saved, &options)
}

fn exported(keys: &KnownKeys, range: &RangeInclusive<Key>) -> Vec<Key> {
    keys.export(range).unwrap().map(Result::unwrap).collect()
}

fn all(keys: &KnownKeys) -> BTreeSet<Key> {
    let everything = Key::from_number(0)..=Key::from_number(u128::MAX);
    exported(keys, &everything).into_iter().collect()
}

#[derive(Debug, Clone)]
enum Step {
    Add(u64),
    LookAhead,
    Seal,
    Commit,
    Crash,
    Export(u64, u64),
    Import { host: u64, count: u64 },
    Forget(u64, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let two = || (0..HOSTS, 0..HOSTS).prop_map(|(one, other)| (one.min(other), one.max(other)));
    let step = prop_oneof![
        16 => (0..400_u64).prop_map(Step::Add),
        2 => Just(Step::LookAhead),
        5 => Just(Step::Seal),
        6 => Just(Step::Commit),
        1 => Just(Step::Crash),
        2 => two().prop_map(|(from, to)| Step::Export(from, to)),
        2 => (0..HOSTS, 0..20_u64).prop_map(|(host, count)| Step::Import { host, count }),
        2 => two().prop_map(|(from, to)| Step::Forget(from, to)),
    ];
    proptest::collection::vec(step, 1..160)
}

/// Known keys, and a plain set that should be the same.
struct Model {
    _place: tempfile::TempDir,
    disk: Arc<Mutex<Disk>>,
    keys: Option<KnownKeys>,
    now: BTreeSet<Key>,
    sealed: VecDeque<(SealedKeys, Vec<KeyRow>, BTreeSet<Key>)>,
    batch: u64,
}

impl Model {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("keys");
        fs::create_dir(&folder).unwrap();
        let disk = Disk {
            folder,
            ..Disk::default()
        };
        let mut model = Self {
            _place: place,
            disk: Arc::new(Mutex::new(disk)),
            keys: None,
            now: BTreeSet::new(),
            sealed: VecDeque::new(),
            batch: 0,
        };
        model.crash();
        model
    }

    fn keys(&mut self) -> &mut KnownKeys {
        self.keys.as_mut().unwrap()
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Add(number) => {
                let is_known = self.now.contains(&key(number));
                assert_eq!(self.keys().contains(key(number)).unwrap(), is_known);
                self.now.insert(key(number));
                self.keys().add(key(number));
            }
            Step::LookAhead => {
                self.keys().look_ahead((0..420).map(key)).unwrap();
                self.check();
            }
            Step::Seal => {
                self.batch += 1;
                let batch = self.batch;
                let (sealed, rows) = self.keys().seal(batch);
                self.sealed.push_back((sealed, rows, self.now.clone()));
            }
            Step::Commit => self.commit(),
            Step::Crash => self.crash(),
            Step::Export(from, to) => {
                let range = hosts(from, to);
                let wanted: Vec<Key> = self.now.range(range.clone()).copied().collect();
                assert_eq!(exported(self.keys(), &range), wanted);
            }
            Step::Import { host, count } => self.import(host, count),
            Step::Forget(from, to) => {
                let range = hosts(from, to);
                match self.keys().forget(&range) {
                    Ok(()) => self.now.retain(|key| !range.contains(key)),
                    Err(error) => self.is_busy(&error),
                }
                self.check();
            }
        }
    }

    fn commit(&mut self) {
        let Some((mut sealed, mut rows, truth)) = self.sealed.pop_front() else {
            return;
        };
        rows.extend(sealed.prepare().unwrap());
        {
            let mut disk = self.disk.lock().unwrap();
            disk.write(&rows);
            disk.durable = truth;
        }
        sealed.committed();
        self.keys().committed();
        self.disk.lock().unwrap().kill("the end of a commit");
    }

    fn import(&mut self, host: u64, count: u64) {
        let numbers = (0..count).map(|number| 7 * number * HOSTS + host);
        let new: BTreeSet<Key> = numbers.map(key).collect();
        let sorted = new.iter().copied().map(Ok);
        match self.keys().import(sorted, count) {
            Ok(found) => {
                assert_eq!(found, count);
                self.now.extend(new);
            }
            Err(error) => self.is_busy(&error),
        }
        self.check();
    }

    fn is_busy(&self, error: &KeysError) {
        assert!(matches!(error, KeysError::Busy), "{error}");
        assert!(!self.sealed.is_empty());
    }

    /// Everything that was not committed is gone; everything else is found again.
    fn crash(&mut self) {
        self.sealed.clear();
        self.keys = None;
        let disk = Arc::clone(&self.disk);
        let observer = Arc::new(move |step: KeyStep| {
            disk.lock().unwrap().kill(&format!("{step:?}"));
        });
        let disk = self.disk.lock().unwrap();
        self.keys = Some(open(&disk.folder, &disk.rows, observer).unwrap());
        self.now.clone_from(&disk.durable);
    }

    fn check(&mut self) {
        for number in 0..420 {
            let is_known = self.now.contains(&key(number));
            assert_eq!(self.keys().contains(key(number)).unwrap(), is_known);
        }
    }
}

#[test]
fn keys_are_those_of_a_plain_set_whenever_the_process_is_killed() {
    let config = ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..Default::default()
    };
    let killed = Mutex::new(BTreeSet::new());
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
        .run(&steps(), |steps| {
            let mut model = Model::new();
            for step in steps {
                model.step(&step);
            }
            model.check();
            model.crash();
            model.check();
            let disk = model.disk.lock().unwrap();
            killed.lock().unwrap().extend(disk.kills.keys().cloned());
            Ok(())
        })
        .unwrap();
    let killed = killed.into_inner().unwrap();
    let steps = ["Forgetting", "Merging", "Replaced", "RunWritten"];
    for step in steps {
        assert!(killed.contains(step), "nothing was killed at {step}");
    }
}

/// Adds numbers and commits them.
fn committed(model: &mut Model, numbers: impl Iterator<Item = u64>) {
    numbers.for_each(|number| model.step(&Step::Add(number)));
    model.step(&Step::Seal);
    model.step(&Step::Commit);
}

#[test]
fn a_range_moves_from_one_machine_to_another() {
    let (mut here, mut there) = (Model::new(), Model::new());
    committed(&mut here, 0..300);
    committed(&mut here, 300..310);
    committed(&mut there, (100..110).map(|number| number * HOSTS));
    let range = hosts(2, 3);
    let moving = here.keys().export(&range).unwrap();
    let wanted = here.now.range(range.clone()).count();
    let moved = there.keys().import(moving, wanted as u64).unwrap();
    assert_eq!(moved, wanted as u64);
    let moved: Vec<Key> = exported(there.keys(), &range);
    assert!(moved.iter().all(|key| here.now.contains(key)));
    there.crash();
    assert_eq!(all(there.keys()), there.now, "no commit named the import");
    let moving = moved.iter().copied().map(Ok);
    there.keys().import(moving, wanted as u64).unwrap();
    there.now.extend(moved);
    committed(&mut there, 0..0);
    there.crash();
    assert_eq!(all(there.keys()), there.now);
    here.step(&Step::Forget(2, 3));
    let before = here.keys().bytes();
    committed(&mut here, 0..0);
    assert!(here.keys().bytes() < before, "the old runs are gone");
    here.crash();
    assert_eq!(exported(here.keys(), &range), []);
    here.check();
}

#[test]
fn an_import_that_fails_leaves_nothing() {
    let mut model = Model::new();
    committed(&mut model, 0..20);
    let files = |model: &Model| {
        let disk = model.disk.lock().unwrap();
        fs::read_dir(&disk.folder).unwrap().count()
    };
    let before = files(&model);
    for wrong in [[key(101), key(101)], [key(1), key(0)]] {
        let refused = model.keys().import(wrong.into_iter().map(Ok), 2);
        assert!(matches!(refused, Err(KeysError::Unsorted)), "{refused:?}");
    }
    let torn = [Ok(key(102)), Err(KeysError::Busy)].into_iter();
    assert!(matches!(model.keys().import(torn, 2), Err(KeysError::Busy)));
    assert_eq!(files(&model), before);
    model.check();
}

#[test]
fn the_first_format_is_migrated_and_a_later_one_is_refused() {
    let mut model = Model::new();
    committed(&mut model, 0..40);
    let format = b"keys.format".to_vec();
    let written = model.disk.lock().unwrap().rows.remove(&format);
    model.crash();
    model.check();
    committed(&mut model, 40..50);
    assert_eq!(
        model.disk.lock().unwrap().rows.get(&format).cloned(),
        written
    );
    for (wrong, is_later) in [(&[0, 0, 0, 3][..], true), (&[2], false)] {
        let mut disk = model.disk.lock().unwrap();
        disk.rows.insert(format.clone(), wrong.to_vec());
        let refused = open(&disk.folder, &disk.rows, Arc::new(|_| ())).map(|_| ());
        assert_eq!(matches!(refused, Err(KeysError::Later(_))), is_later);
        assert!(refused.is_err());
    }
}
