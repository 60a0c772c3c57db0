//! Rounds: every contestant in its turn, again and again, and the medians of what they took.
//!
//! Owns the order of runs and the statistics. A contestant that is quick runs twice in its
//! turn and only the second run counts: the first after another program costs up to a quarter
//! more, and the kernel's caches of the predecessor should not decide a race.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::super::arena::Coverage;
use super::super::measure::{Cost, Ended, Stopwatch};
use super::super::options::{Care, Options};
use super::contestant::{Blanks, Contestant, Party};
use crate::stage::say;

/// Runs shorter than this are worth a warm-up.
const WARM_UP: f64 = 5.0;

/// What wget and wget2 answer when a page was an error.
const BROKEN_LINKS: i32 = 8;

/// Faults of a run that are shown.
const EXAMPLES: usize = 5;

/// Runs longer than this are made once.
const ONCE: f64 = 20.0;

/// A server that contestants can be let loose on.
pub(crate) trait Arena {
    /// Opens it for one run.
    fn open<'a>(&'a self, blanks: &Blanks) -> Result<Box<dyn Session + 'a>>;
}

/// One run as the server sees it.
pub(crate) trait Session {
    /// The run is over.
    fn close(self: Box<Self>) -> Result<Account>;
}

/// What the server tells of a run.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) requests: u64,
    /// Seconds of the server's processor time.
    pub(crate) server: f64,
    /// What the oracle says, if it was asked.
    pub(crate) coverage: Option<Coverage>,
    /// What the referee says, if there is one.
    pub(crate) violations: Option<u64>,
    /// What is wrong, for people.
    pub(crate) examples: Vec<String>,
}

/// One measured run.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) cost: Cost,
    pub(crate) requests: u64,
    /// Processor time of the server, in seconds.
    pub(crate) server: f64,
    pub(crate) coverage: Option<Coverage>,
    pub(crate) violations: Option<u64>,
    pub(crate) left: Left,
}

/// What a run left on disk, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) all: u64,
    /// In WARC files.
    pub(crate) archive: u64,
}

impl Left {
    fn in_folder(folder: &Path) -> Result<Self> {
        let mut left = Self::default();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                left = left.and(Self::in_folder(&entry.path())?);
                continue;
            }
            let size = entry.metadata()?.len();
            left.all += size;
            if entry.file_name().to_string_lossy().contains(".warc") {
                left.archive += size;
            }
        }
        Ok(left)
    }

    const fn and(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            archive: self.archive + other.archive,
        }
    }

    const fn without(self, before: Self) -> Self {
        Self {
            all: self.all.saturating_sub(before.all),
            archive: self.archive.saturating_sub(before.archive),
        }
    }
}

/// All that is known of a contestant on a site.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) site: String,
    pub(crate) name: String,
    pub(crate) party: Party,
    pub(crate) stores: &'static str,
    pub(crate) in_flight: usize,
    /// Pages per second of the ideal schedule, where that is known.
    pub(crate) ideal: Option<f64>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) coverage: Option<Coverage>,
    /// Of all runs together.
    pub(crate) violations: Option<u64>,
    pub(crate) notes: Vec<String>,
}

/// A median with the least and the greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn from_values(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            f64::midpoint(*values.get(half.checked_sub(1)?)?, values[half])
        };
        Some(Self {
            median,
            least: *values.first()?,
            most: *values.last()?,
        })
    }
}

impl Row {
    pub(crate) fn new(site: &str, contestant: &Contestant, in_flight: usize) -> Self {
        Self {
            site: site.to_owned(),
            name: contestant.name.clone(),
            party: contestant.party,
            stores: contestant.stores,
            in_flight,
            ideal: None,
            samples: Vec::new(),
            coverage: None,
            violations: None,
            notes: Vec::new(),
        }
    }

    fn spread(&self, value: impl Fn(&Sample) -> f64) -> Option<Spread> {
        Spread::from_values(self.samples.iter().map(value))
    }

    pub(crate) fn pages_per_second(&self) -> Option<Spread> {
        self.spread(|sample| sample.requests as f64 / sample.cost.wall)
    }

    /// The part of the ideal schedule's rate that was reached.
    pub(crate) fn of_ideal(&self) -> Option<f64> {
        Some(self.pages_per_second()?.median / self.ideal?)
    }

    /// Processor time of the contestant, in microseconds.
    pub(crate) fn per_page(&self) -> Option<Spread> {
        self.spread(|sample| micros_per_page(sample.cost.user + sample.cost.system, sample))
    }

    pub(crate) fn user_per_page(&self) -> Option<Spread> {
        self.spread(|sample| micros_per_page(sample.cost.user, sample))
    }

    /// Processor time of the engine's thread alone, in microseconds.
    pub(crate) fn engine_per_page(&self) -> Option<Spread> {
        let timed = |sample: &Sample| Some(micros_per_page(sample.cost.engine?, sample));
        Spread::from_values(self.samples.iter().filter_map(timed))
    }

    pub(crate) fn server_per_page(&self) -> Option<Spread> {
        self.spread(|sample| micros_per_page(sample.server, sample))
    }

    /// Largest resident set, in MiB.
    pub(crate) fn peak(&self) -> Option<Spread> {
        self.spread(|sample| sample.cost.peak as f64 / 1024.0)
    }

    /// Bytes left on disk for each page, if anything was left.
    pub(crate) fn bytes_per_page(&self) -> Option<Spread> {
        self.bytes(|left| left.all)
    }

    /// The same of WARC files alone.
    pub(crate) fn archive_per_page(&self) -> Option<Spread> {
        self.bytes(|left| left.archive)
    }

    fn bytes(&self, part: impl Fn(Left) -> u64) -> Option<Spread> {
        self.spread(|sample| part(sample.left) as f64 / sample.requests.max(1) as f64)
            .filter(|spread| spread.most > 0.0)
    }

    pub(crate) fn requests(&self) -> Option<Spread> {
        self.spread(|sample| sample.requests as f64)
    }

    fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }

    fn add(&mut self, sample: Sample) {
        match sample.cost.ended {
            Ended::Well => {}
            // That links are broken is no fault of the crawler.
            Ended::Badly(BROKEN_LINKS) if self.party == Party::Rival => {}
            Ended::OutOfTime => self.note("stopped at the time limit"),
            Ended::Badly(code) => self.note(&format!("exit code {code}")),
        }
        self.coverage = sample.coverage.or(self.coverage);
        if let Some(violations) = sample.violations {
            *self.violations.get_or_insert(0) += violations;
        }
        self.samples.push(sample);
    }
}

fn micros_per_page(seconds: f64, sample: &Sample) -> f64 {
    seconds * 1e6 / sample.requests.max(1) as f64
}

/// A race on one arena.
pub(crate) struct Race<'a> {
    pub(crate) arena: &'a dyn Arena,
    pub(crate) stopwatch: &'a Stopwatch,
    pub(crate) options: &'a Options,
    pub(crate) blanks: Blanks<'a>,
}

impl Race<'_> {
    /// Runs all contestants, interleaved, and fills in their rows.
    pub(crate) fn run(&self, contestants: &[Contestant], rows: &mut [Row]) -> Result<()> {
        for round in 1..=self.options.rounds {
            for (contestant, row) in contestants.iter().zip(rows.iter_mut()) {
                let last = row.samples.last().map_or(0.0, |sample| sample.cost.wall);
                if last > ONCE {
                    continue;
                }
                say(&format!("  round {round}: {}", contestant.name));
                let mut sample = self.sample(contestant)?;
                if self.options.care == Care::Full && sample.cost.wall < WARM_UP {
                    sample = self.sample(contestant)?;
                }
                row.add(sample);
            }
        }
        Ok(())
    }

    /// One run, with a clean place to write to.
    pub(crate) fn sample(&self, contestant: &Contestant) -> Result<Sample> {
        empty(self.blanks.out)?;
        empty(self.blanks.disk)?;
        if let Some(begun) = &contestant.begun {
            copy(begun, self.blanks.disk)?;
        }
        let before = self.left()?;
        let session = self.arena.open(&self.blanks)?;
        let cost = self.stopwatch.run(&contestant.command(&self.blanks))?;
        let account = session.close()?;
        if account.requests == 0 {
            let complaints = self.stopwatch.complaints()?;
            bail!("{} asked for nothing: {complaints}", contestant.name);
        }
        for example in account.examples.iter().take(EXAMPLES) {
            say(&format!("    {example}"));
        }
        let sample = Sample {
            cost,
            requests: account.requests,
            server: account.server,
            coverage: account.coverage,
            violations: account.violations,
            left: self.left()?.without(before),
        };
        if contestant.party == Party::Limit {
            self.without_failures()?;
        }
        Ok(sample)
    }

    fn left(&self) -> Result<Left> {
        Ok(Left::in_folder(self.blanks.out)?.and(Left::in_folder(self.blanks.disk)?))
    }

    /// A limit that was reached by failing is none.
    fn without_failures(&self) -> Result<()> {
        let words = self.stopwatch.words()?;
        let figures: Value = serde_json::from_str(&words)
            .with_context(|| format!("the bare client said {words:?}"))?;
        ensure!(
            figures["failed"] == 0,
            "requests of the bare client failed: {words}"
        );
        Ok(())
    }
}

/// Copies what is in a folder into another.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp")
        .args(["--archive", "--no-target-directory"])
        .args([from, to])
        .status()?;
    ensure!(copied.success(), "{} cannot be copied", from.display());
    Ok(())
}

/// An empty folder, whatever was there.
pub(super) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_counted_in_all_folders() {
        let place = tempfile::tempdir().unwrap();
        let below = place.path().join("archive");
        fs::create_dir(&below).unwrap();
        fs::write(below.join("a-00001.warc.gz"), [0; 30]).unwrap();
        fs::write(place.path().join("urls.jsonl"), [0; 12]).unwrap();
        let (all, archive) = (42, 30);
        let left = Left::in_folder(place.path()).unwrap();
        assert_eq!(left, Left { all, archive });
        assert_eq!(left.without(left), Left::default());
    }

    #[test]
    fn medians() {
        let check = |values: &[f64], expected: Option<(f64, f64, f64)>| {
            let spread = Spread::from_values(values.iter().copied());
            let found = spread.map(|spread| (spread.median, spread.least, spread.most));
            assert_eq!(found, expected, "{values:?}");
        };
        check(&[], None);
        check(&[4.0], Some((4.0, 4.0, 4.0)));
        check(&[4.0, 1.0], Some((2.5, 1.0, 4.0)));
        check(&[9.0, 1.0, 2.0], Some((2.0, 1.0, 9.0)));
    }
}
