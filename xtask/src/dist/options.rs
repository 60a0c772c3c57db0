//! The words after `cargo xtask dist`.
//!
//! Owns their reading. Invariant: an unknown word is refused.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

const USAGE: &str = "\
Usage: cargo xtask dist [OPTIONS]

  --binary FILE   package this binary instead of building one in the profile `dist`
  --target NAME   build for this target, which must run on this machine
  --out DIR       write there [default: target/dist/packages]";

/// What is packaged, and where to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DistOptions {
    /// A binary that exists, instead of a build.
    pub(crate) binary: Option<PathBuf>,
    /// The target to build for, instead of that of the machine.
    pub(crate) target: Option<String>,
    /// The folder for the packages, which is emptied.
    pub(crate) out: Option<PathBuf>,
}

impl DistOptions {
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                let value = words.next().cloned();
                value.with_context(|| format!("{word} lacks its value\n\n{USAGE}"))
            };
            match word.as_str() {
                "--binary" => options.binary = Some(value()?.into()),
                "--target" => options.target = Some(value()?),
                "--out" => options.out = Some(value()?.into()),
                _ => bail!("dist takes no {word:?}\n\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let parsed = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            DistOptions::parse(&words).ok()
        };
        assert_eq!(parsed(""), Some(DistOptions::default()));
        let expected = DistOptions {
            binary: Some("a/b".into()),
            target: Some("t".to_owned()),
            out: Some("o".into()),
        };
        let line = "--out o --binary a/b --target t";
        assert_eq!(parsed(line), Some(expected));
        assert_eq!(parsed("--binary"), None);
        assert_eq!(parsed("--release"), None);
    }
}
