//! What the tests say of each mutant.
//!
//! Owns the tests: which there are, how long each takes and which mutants it comes past, and the
//! verdicts. A mutant is tried with the tests that come past it, the fastest first, until one
//! fails or does not end. Refuses to know what a mutant does. Invariant: a test that fails without
//! any mutant judges none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::compile::{Mutant, TestProgram};

/// A test that takes longer than this is tried alone, after the others.
const QUICK: Duration = Duration::from_millis(400);
/// A test that takes longer than this judges nothing.
const SLOWEST: Duration = Duration::from_secs(30);
/// What slow tests of one mutant may take together.
const PATIENCE: Duration = Duration::from_secs(12);
/// Quick tests that are tried first.
const FIRST: usize = 8;
/// The most tests that one process is asked for.
const AT_ONCE: usize = 500;

/// A test that passes without mutants.
pub(crate) struct Test {
    program: usize,
    name: String,
    takes: Duration,
    reaches: BTreeSet<u32>,
}

/// How a mutant ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// A test failed.
    Killed,
    /// A test did not end in time.
    TimedOut,
    /// All tests that come past it pass.
    Survived,
    /// No test comes past it.
    NotReached,
}

/// Runs every test alone, and notes which mutants it comes past.
pub(crate) fn tests(programs: &[TestProgram], scratch: &Path) -> Result<Vec<Test>> {
    let mut names = Vec::new();
    for (program, test) in programs.iter().enumerate() {
        let output = Command::new(&test.path)
            .args(["--list", "--format", "terse"])
            .current_dir(&test.folder)
            .stderr(Stdio::null())
            .output()
            .with_context(|| format!("{} does not start", test.path.display()))?;
        let listed = String::from_utf8_lossy(&output.stdout);
        let listed = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        names.extend(listed.map(|name| (program, name.to_owned())));
    }
    let found = Mutex::new(Vec::new());
    in_turn(names.len(), |nth, worker| {
        let (program, name) = &names[nth];
        let list = scratch.join(format!("reached.{worker}"));
        if let Some(test) = alone(programs, *program, name, &list) {
            found.lock().expect("no worker panics").push(test);
        }
    });
    let mut tests = found.into_inner().expect("no worker panics");
    tests.sort_by_key(|test| test.takes);
    let slow = tests.iter().filter(|test| test.takes > QUICK).count();
    crate::say(&format!(
        "{} of {} tests judge, {slow} of them slowly",
        tests.len(),
        names.len()
    ));
    Ok(tests)
}

fn alone(programs: &[TestProgram], program: usize, name: &str, list: &Path) -> Option<Test> {
    if list.exists() {
        fs::remove_file(list).ok()?;
    }
    let start = Instant::now();
    let mut command = command(&programs[program], &[name]);
    command.env("MUTANTS_REACHED", list);
    let passed = within(command.spawn().ok()?, SLOWEST) == Some(true);
    let takes = start.elapsed();
    let lines = fs::read_to_string(list).unwrap_or_default();
    let reaches = lines.lines().filter_map(|line| line.parse().ok()).collect();
    passed.then(|| Test {
        program,
        name: name.to_owned(),
        takes,
        reaches,
    })
}

fn command(program: &TestProgram, names: &[&str]) -> Command {
    let mut command = Command::new(&program.path);
    command
        .arg("--exact")
        .args(names)
        .current_dir(&program.folder)
        .env("PROPTEST_CASES", "64")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Whether a process ended well; nothing if it had to be ended.
fn within(mut child: Child, longest: Duration) -> Option<bool> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if start.elapsed() < longest => thread::sleep(Duration::from_millis(4)),
            _ => {
                // It may have ended just now.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// Judges every mutant.
pub(crate) fn judge(
    programs: &[TestProgram],
    tests: &[Test],
    mutants: &[Mutant],
) -> BTreeMap<u32, Verdict> {
    let verdicts = Mutex::new(BTreeMap::new());
    let done = AtomicUsize::new(0);
    in_turn(mutants.len(), |nth, _| {
        let number = mutants[nth].number;
        let verdict = verdict(programs, tests, number);
        verdicts
            .lock()
            .expect("no worker panics")
            .insert(number, verdict);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(250) {
            crate::say(&format!("{done} of {} mutants", mutants.len()));
        }
    });
    verdicts.into_inner().expect("no worker panics")
}

fn verdict(programs: &[TestProgram], tests: &[Test], mutant: u32) -> Verdict {
    let reaching: Vec<&Test> = tests
        .iter()
        .filter(|test| test.reaches.contains(&mutant))
        .collect();
    if reaching.is_empty() {
        return Verdict::NotReached;
    }
    let (quick, slow): (Vec<&Test>, Vec<&Test>) =
        reaching.iter().partition(|test| test.takes <= QUICK);
    let (first, rest) = quick.split_at(quick.len().min(FIRST));
    let mut batches: Vec<Vec<&Test>> = Vec::new();
    for part in [first, rest] {
        let mut by_program: BTreeMap<usize, Vec<&Test>> = BTreeMap::new();
        for test in part {
            by_program.entry(test.program).or_default().push(test);
        }
        let chunks = by_program.into_values();
        batches.extend(chunks.flat_map(|tests| {
            tests
                .chunks(AT_ONCE)
                .map(<[&Test]>::to_vec)
                .collect::<Vec<_>>()
        }));
    }
    let mut patience = PATIENCE;
    for test in slow {
        if let Some(left) = patience.checked_sub(test.takes) {
            patience = left;
            batches.push(vec![test]);
        }
    }
    let failed = batches
        .iter()
        .find_map(|batch| failed(programs, batch, mutant));
    failed.unwrap_or(Verdict::Survived)
}

/// How a mutant ended under these tests of one program, if it did.
fn failed(programs: &[TestProgram], tests: &[&Test], mutant: u32) -> Option<Verdict> {
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    let takes: Duration = tests.iter().map(|test| test.takes).sum();
    let mut command = command(&programs[tests[0].program], &names);
    command
        .arg("--test-threads=1")
        .env("MUTANT", mutant.to_string());
    match within(command.spawn().ok()?, takes * 5 + Duration::from_secs(5)) {
        Some(true) => None,
        Some(false) => Some(Verdict::Killed),
        None => Some(Verdict::TimedOut),
    }
}

/// Does the first, the second, … so many times, on all cores.
fn in_turn(count: usize, work: impl Fn(usize, usize) + Sync) {
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for worker in 0..workers {
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= count {
                        return;
                    }
                    work(nth, worker);
                }
            });
        }
    });
}
