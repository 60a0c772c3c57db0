//! Runs a fuzz body over its corpus and over mutations that are the same in every run.

use std::path::{Path, PathBuf};

/// Fewer seeds than this mean that the corpus was not found whole.
const FEWEST_SEEDS: usize = 6;

/// A small generator (xorshift), so that a failure can be repeated.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// How a body is tried.
pub(super) struct Trial {
    /// The folder of its seeds.
    pub(super) corpus: &'static str,
    /// Pieces of syntax that random bytes would rarely form.
    pub(super) tokens: &'static [&'static [u8]],
    /// Mutations of each seed.
    pub(super) rounds: usize,
}

impl Trial {
    pub(super) fn run(&self, body: fn(&[u8])) {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for file in self.seeds() {
            let seed = std::fs::read(&file).unwrap();
            body(&seed);
            for round in 0..self.rounds {
                let data = self.mutate(&seed, &mut dice);
                let result = std::panic::catch_unwind(|| body(&data));
                let shown = data.escape_ascii();
                assert!(result.is_ok(), "{}, round {round}: {shown}", file.display());
            }
        }
    }

    fn seeds(&self) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz-corpus");
        let folder = folder.join(self.corpus);
        let entries = std::fs::read_dir(&folder).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(files.len() >= FEWEST_SEEDS, "{}", folder.display());
        files
    }

    fn mutate(&self, seed: &[u8], dice: &mut Dice) -> Vec<u8> {
        let mut data = seed.to_vec();
        for _ in 0..=dice.below(4) {
            let at = dice.below(data.len() + 1);
            match dice.below(5) {
                0 => data.truncate(at),
                1 => data.insert(at, dice.below(256) as u8),
                2 => {
                    let token = self.tokens[dice.below(self.tokens.len())];
                    data.splice(at..at, token.iter().copied());
                }
                3 if at < data.len() => {
                    data.remove(at);
                }
                _ if at < data.len() => data[at] ^= 1 << dice.below(8),
                _ => {}
            }
        }
        data
    }
}
