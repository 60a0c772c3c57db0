//! Chance for tests, and a trial of code by its corpus and mutations of it.
//!
//! Owns what is random in tests without leaving them to chance: the same seed gives the same
//! numbers on every machine, so that a failure can be repeated. Refuses to know what is tried;
//! it depends on nothing, and only tests depend on it.
#![warn(missing_docs)]

use std::path::{Path, PathBuf};

/// Fewer seeds than this mean that the corpus was not found whole.
const FEWEST_SEEDS: usize = 6;
/// Changes in one mutation.
const MOST_CHANGES: u64 = 5;
/// Where the mutations of every trial begin.
const FIRST: u64 = 0x5eed_1234_5678_9abc;

/// Numbers that follow from a seed: a linear congruential generator with the constants of MMIX,
/// of which the upper bits are used.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number from 0 to below `sides`, which is at most 2^31; 0 if there are no sides.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides.max(1)
    }

    /// A place in something of this length, or 0 if it is empty.
    pub fn below(&mut self, length: usize) -> usize {
        self.roll(length as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }

    /// One of several.
    fn pick<'a, T>(&mut self, several: &'a [T]) -> Option<&'a T> {
        several.get(self.below(several.len()))
    }
}

/// How a body, which takes any bytes and asserts what holds for all of them, is tried.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The folder of the crate, which has the seeds in `fuzz-corpus`.
    pub home: &'a str,
    /// Pieces of syntax that random bytes would rarely form.
    pub tokens: &'a [&'a [u8]],
    /// Mutations of each seed.
    pub rounds: usize,
}

impl Trial<'_> {
    /// Runs the body over every seed of a corpus, and over mutations that are the same in every
    /// run.
    ///
    /// # Panics
    /// If the corpus is not there, or when the body panics; then the input is shown.
    pub fn run(&self, corpus: &str, body: fn(&[u8])) {
        let folder = Path::new(self.home).join("fuzz-corpus").join(corpus);
        let seeds = seeds(&folder);
        assert!(
            seeds.len() >= FEWEST_SEEDS,
            "{} is not whole",
            folder.display()
        );
        let mut dice = Dice(FIRST);
        for (file, seed) in &seeds {
            body(seed);
            for round in 0..self.rounds {
                let other = dice
                    .pick(&seeds)
                    .map_or(&[][..], |(_, other)| other.as_slice());
                let data = self.mutated(seed, other, &mut dice);
                let result = std::panic::catch_unwind(|| body(&data));
                let shown = data.escape_ascii();
                assert!(result.is_ok(), "{}, round {round}: {shown}", file.display());
            }
        }
    }

    fn mutated(&self, seed: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
        let mut data = seed.to_vec();
        for _ in 0..=dice.roll(MOST_CHANGES) {
            let at = dice.below(data.len() + 1);
            match dice.roll(6) {
                0 => data.truncate(at),
                1 => data.insert(at, dice.roll(256) as u8),
                2 => data.extend_from_slice(&other[dice.below(other.len() + 1)..]),
                3 => {
                    let token = dice.pick(self.tokens).copied().unwrap_or_default();
                    data.splice(at..at, token.iter().copied());
                }
                4 => drop(data.drain(at..(at + 1).min(data.len()))),
                _ => {
                    if let Some(byte) = data.get_mut(at) {
                        *byte ^= 1 << dice.roll(8);
                    }
                }
            }
        }
        data
    }
}

/// The files of a folder and what they hold, by name.
fn seeds(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("the corpus is a folder beside the code");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("the corpus can be listed").path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let seed = std::fs::read(&file).expect("a seed can be read");
            (file, seed)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const TRIAL: Trial<'_> = Trial {
        home: "",
        tokens: &[b"token"],
        rounds: 50,
    };

    #[test]
    fn chance_repeats_itself() {
        let rolls = |seed| {
            let mut dice = Dice(seed);
            (0..40).map(|_| dice.below(6)).collect::<Vec<_>>()
        };
        assert_eq!(rolls(7), rolls(7));
        assert_ne!(rolls(7), rolls(8));
        assert!((0..6).all(|side| rolls(7).contains(&side)));
        assert_eq!(Dice(7).below(0), 0);
    }

    #[test]
    fn every_kind_of_change_happens() {
        let (seed, other) = (b"0123456789".as_slice(), b"abcdef".as_slice());
        let mut dice = Dice(1);
        let all: Vec<_> = (0..500)
            .map(|_| TRIAL.mutated(seed, other, &mut dice))
            .collect();
        let happens = |what: &dyn Fn(&[u8]) -> bool| all.iter().any(|data| what(data));
        assert!(happens(&|data| seed.starts_with(data)), "cut");
        assert!(happens(&|data| data.ends_with(b"def")), "joined");
        assert!(happens(&|data| data
            .windows(5)
            .any(|part| part == b"token")));
        assert!(happens(&|data| data.len() == 9
            && data.starts_with(b"0123")
            && data.ends_with(b"9")));
        assert!(happens(&|data| data.len() == 11), "a byte more");
        assert!(
            happens(&|data| data.len() == 10 && data != seed),
            "a bit flipped"
        );
        assert!(!TRIAL.mutated(b"", b"", &mut dice).contains(&b'0'));
    }

    #[test]
    fn a_body_sees_the_seeds_and_their_mutations_and_may_not_panic() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let home = tempfile::tempdir().unwrap();
        let corpus = home.path().join("fuzz-corpus/some");
        std::fs::create_dir_all(&corpus).unwrap();
        let trial = Trial {
            home: home.path().to_str().unwrap(),
            ..TRIAL
        };
        let count = |_: &[u8]| {
            CALLS.fetch_add(1, Ordering::Relaxed);
        };
        assert!(std::panic::catch_unwind(|| trial.run("some", count)).is_err());
        for name in 0..FEWEST_SEEDS {
            std::fs::write(corpus.join(name.to_string()), b"seed").unwrap();
        }
        trial.run("some", count);
        assert_eq!(CALLS.load(Ordering::Relaxed), FEWEST_SEEDS * 51);
        let fails = |data: &[u8]| assert!(!data.ends_with(b"token"));
        assert!(std::panic::catch_unwind(|| trial.run("some", fails)).is_err());
    }
}
