//! The words after `cargo xtask bench`.

use std::time::Duration;

use anyhow::{Context, Result, bail};

pub(crate) const HELP: &str = "\
cargo xtask bench [OPTIONS]            race on every site and print the table
cargo xtask bench --instructions       compare the instruction counts of the hot paths
cargo xtask bench --profile            where the time of a crawl goes
cargo xtask bench --install-rivals     install the crawlers to race against

  --quick             one round, short limits: to try the harness, not to quote
  --save              keep the results in docs/benchmarks
  --rounds N          measured rounds [default: 5]
  --only SITE         only the sites whose name begins so; may be repeated
  --no-rivals         only the bare client and Clewline
  --rival NAME=COMMAND
                      one more rival; {url}, {out} and {in_flight} are filled in
  --build PROFILE     Cargo profile of what is measured [default: dist, instructions: ci]
  --bless             with --instructions: store the new counts
";

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mode {
    Help,
    Race,
    Instructions(Purpose),
    Profile,
    InstallRivals,
}

/// What the instruction counts are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To fail if one of them has grown.
    Check,
    /// To be compared with from now on.
    Bless,
}

/// Whether crawlers of others take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rivals {
    Race,
    StayAway,
}

/// How much trouble is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Figures to be quoted.
    Full,
    /// A try of the harness.
    Quick,
}

/// Everything that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    pub(crate) care: Care,
    pub(crate) save: bool,
    pub(crate) rounds: usize,
    pub(crate) only: Vec<String>,
    pub(crate) rivals: Rivals,
    pub(crate) more_rivals: Vec<(String, String)>,
    build: Option<String>,
}

impl Options {
    /// The same with another number of rounds.
    pub(crate) fn with_rounds(&self, rounds: usize) -> Self {
        Self {
            rounds,
            ..self.clone()
        }
    }

    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let mut options = Self {
            mode: Mode::Race,
            care: Care::Full,
            save: false,
            rounds: 0,
            only: Vec::new(),
            rivals: Rivals::Race,
            more_rivals: Vec::new(),
            build: None,
        };
        let mut purpose = Purpose::Check;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                let value = words.next().cloned();
                value.with_context(|| format!("{word} needs a value"))
            };
            match word.as_str() {
                "--help" | "-h" => options.mode = Mode::Help,
                "--instructions" => options.mode = Mode::Instructions(purpose),
                "--bless" => purpose = Purpose::Bless,
                "--profile" => options.mode = Mode::Profile,
                "--install-rivals" => options.mode = Mode::InstallRivals,
                "--quick" => options.care = Care::Quick,
                "--save" => options.save = true,
                "--no-rivals" => options.rivals = Rivals::StayAway,
                "--rounds" => options.rounds = value()?.parse().context("--rounds")?,
                "--only" => options.only.push(value()?),
                "--build" => options.build = Some(value()?),
                "--rival" => {
                    let (name, command) = split_rival(&value()?)?;
                    options.more_rivals.push((name, command));
                }
                _ => bail!("{word} is not known to bench\n\n{HELP}"),
            }
        }
        options.settle(purpose)
    }

    /// What depends on more than one word.
    fn settle(mut self, purpose: Purpose) -> Result<Self> {
        match (&mut self.mode, purpose) {
            (Mode::Instructions(wanted), purpose) => *wanted = purpose,
            (_, Purpose::Bless) => bail!("--bless goes with --instructions"),
            _ => {}
        }
        if self.save && self.care == Care::Quick {
            bail!("a quick run is not worth keeping: leave out --save or --quick");
        }
        if self.rounds == 0 {
            self.rounds = if self.care == Care::Quick { 1 } else { 5 };
        }
        Ok(self)
    }

    /// The Cargo profile of what is measured.
    pub(crate) fn build(&self) -> &str {
        let usual = if matches!(self.mode, Mode::Instructions(_)) {
            "ci"
        } else {
            "dist"
        };
        self.build.as_deref().unwrap_or(usual)
    }

    /// How long one run may take.
    pub(crate) fn limit(&self) -> Duration {
        match self.care {
            Care::Full => Duration::from_mins(15),
            Care::Quick => Duration::from_secs(40),
        }
    }

    /// Whether a site takes part.
    pub(crate) fn wants(&self, site: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| site.starts_with(name.as_str()))
    }
}

fn split_rival(text: &str) -> Result<(String, String)> {
    let (name, command) = text
        .split_once('=')
        .context("--rival is written NAME=COMMAND")?;
    Ok((name.to_owned(), command.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn modes_and_what_they_are_built_with() {
        let check = |line: &str, mode: Mode, build: &str| {
            let options = parsed(line).unwrap();
            assert_eq!((&options.mode, options.build()), (&mode, build), "{line}");
        };
        check("", Mode::Race, "dist");
        check("--quick --build dev", Mode::Race, "dev");
        check(
            "--bless --instructions",
            Mode::Instructions(Purpose::Bless),
            "ci",
        );
        check("--instructions", Mode::Instructions(Purpose::Check), "ci");
        check("--profile", Mode::Profile, "dist");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "--bless",
            "--quick --save",
            "--rounds",
            "--rounds x",
            "--rival x",
            "fast",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn sites_are_named_by_their_beginning() {
        let options = parsed("--only docs").unwrap();
        assert!(options.wants("docs") && options.wants("docs +100 ms"));
        assert!(!options.wants("micro"));
        assert!(parsed("").unwrap().wants("micro"));
    }
}
