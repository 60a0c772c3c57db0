//! The words after `cargo xtask ladder`.

use anyhow::{Context as _, Result, bail, ensure};

pub(crate) const HELP: &str = "\
cargo xtask ladder [OPTIONS]     measure every rung and print the table: about six minutes

  --quick          few pages, few requests: to try the harness, not to quote
  --save           keep the table and the picture in docs
  --pages N        pages of the site [default: 2000]
  --tasks N        requests in flight while it is crawled [default: 100]
  --hold N         requests that are to wait at once [default: 10000]
  --build PROFILE  Cargo profile of what is measured [default: dist]
";

/// Everything that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) help: bool,
    pub(crate) save: bool,
    pub(crate) pages: u32,
    pub(crate) tasks: u32,
    pub(crate) hold: u32,
    pub(crate) build: String,
}

impl Options {
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let mut options = Self {
            help: false,
            save: false,
            pages: 2000,
            tasks: 100,
            hold: 10_000,
            build: "dist".to_owned(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .with_context(|| format!("{word} needs a value"))
            };
            match word.as_str() {
                "--help" => options.help = true,
                "--save" => options.save = true,
                "--quick" => (options.pages, options.tasks, options.hold) = (50, 10, 200),
                "--pages" => options.pages = value()?.parse().context("--pages")?,
                "--tasks" => options.tasks = value()?.parse().context("--tasks")?,
                "--hold" => options.hold = value()?.parse().context("--hold")?,
                "--build" => value()?.clone_into(&mut options.build),
                _ => bail!("ladder takes no {word:?}; see --help"),
            }
        }
        let sensible = options.pages > 0 && options.tasks > 0 && options.hold > options.tasks;
        ensure!(sensible, "--hold must be more than --tasks, and nothing 0");
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let parse = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            Options::parse(&words).ok()
        };
        let default = parse("").unwrap();
        assert_eq!(
            (default.pages, default.tasks, default.hold),
            (2000, 100, 10_000)
        );
        let other = parse("--quick --hold 300 --build ci --save").unwrap();
        assert_eq!(
            (other.pages, other.hold, other.build.as_str()),
            (50, 300, "ci")
        );
        assert!(other.save && !default.save);
        for wrong in [
            "--pages",
            "--pages x",
            "--hold 5",
            "--tasks 0",
            "--unheard-of",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
