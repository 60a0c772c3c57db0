//! The race on the documentation site, as fast as it can answer and a tenth of a second late.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::arena::nginx::{Door, Files, Nginx};
use super::super::arena::{Coverage, truth};
use super::super::ground::Ground;
use super::super::measure::Stopwatch;
use super::super::options::{Options, Rivals};
use super::super::rivals;
use super::contestant::{self, Blanks, Coding, Contestant, ONE_SITE, Party};
use super::round::{Account, Arena, Race, Row, Session};
use crate::stage::say;

/// A variant of the site.
struct Variant {
    name: &'static str,
    door: Door,
    in_flight: usize,
}

const VARIANTS: [Variant; 2] = [
    Variant {
        name: "docs",
        door: Door::Fast,
        in_flight: 64,
    },
    Variant {
        name: "docs +100 ms",
        door: Door::Late,
        in_flight: 256,
    },
];

impl Arena for Nginx {
    fn open<'a>(&'a self, _: &Blanks) -> Result<Box<dyn Session + 'a>> {
        Ok(Box::new(Since {
            nginx: self,
            answered: self.answered()?,
            processor: self.processor_seconds()?,
        }))
    }
}

/// What had been answered before a run.
struct Since<'a> {
    nginx: &'a Nginx,
    answered: u64,
    processor: f64,
}

impl Session for Since<'_> {
    fn close(self: Box<Self>) -> Result<Account> {
        Ok(Account {
            requests: self.nginx.answered()? - self.answered,
            server: self.nginx.processor_seconds()? - self.processor,
            coverage: None,
            violations: None,
            examples: Vec::new(),
        })
    }
}

/// Everything the races on this site share.
struct Site<'a> {
    ground: &'a Ground,
    options: &'a Options,
    nginx: Nginx,
    expected: BTreeMap<String, u16>,
    stopwatch: Stopwatch,
    out: PathBuf,
    disk: PathBuf,
}

/// Races on the variants that are wanted.
pub(crate) fn race(ground: &Ground, options: &Options) -> Result<Vec<Row>> {
    if !VARIANTS.iter().any(|variant| options.wants(variant.name)) {
        return Ok(Vec::new());
    }
    let files = Files::find(&ground.workspace)?;
    say("reading the documentation to know what must be found");
    let expected = truth::walk(&files.pages)?;
    let broken = expected.values().filter(|status| **status == 404).count();
    let version = files.version()?;
    say(&format!(
        "{version}: {} URLs, {broken} of them broken",
        expected.len()
    ));
    let site = Site {
        nginx: Nginx::start(&files, &ground.scratch)?,
        stopwatch: Stopwatch::new(&ground.scratch, options.limit()),
        out: ground.memory.join("out"),
        disk: ground.scratch.join("crawl"),
        ground,
        options,
        expected,
    };
    let mut rows: Vec<Row> = Vec::new();
    for variant in VARIANTS
        .iter()
        .filter(|variant| options.wants(variant.name))
    {
        let raced = site.race(variant, &rows)?;
        rows.extend(raced);
    }
    Ok(rows)
}

impl Site<'_> {
    fn race(&self, variant: &Variant, before: &[Row]) -> Result<Vec<Row>> {
        say(&format!(
            "\n{}: {} in flight",
            variant.name, variant.in_flight
        ));
        let contestants = self.contestants(variant);
        let mut rows: Vec<Row> = contestants
            .iter()
            .map(|contestant| Row::new(variant.name, contestant, variant.in_flight))
            .collect();
        for (contestant, row) in contestants.iter().zip(&mut rows) {
            let known = before.iter().find(|known| known.name == row.name);
            row.coverage = match known {
                Some(known) => known.coverage,
                None => Some(self.coverage(contestant, variant.in_flight)?),
            };
        }
        let url = self.nginx.url(variant.door);
        let list = self.list(&url)?;
        let race = Race {
            arena: &self.nginx,
            stopwatch: &self.stopwatch,
            options: self.options,
            blanks: self.blanks(&url, &list, variant.in_flight),
        };
        race.run(&contestants, &mut rows)?;
        Ok(rows)
    }

    fn contestants(&self, variant: &Variant) -> Vec<Contestant> {
        let mut all = vec![
            contestant::bare(self.ground),
            contestant::in_memory(self.ground).with(&ONE_SITE),
            contestant::state_in_memory(self.ground).with(&ONE_SITE),
            contestant::with_folder(self.ground).with(&ONE_SITE),
        ];
        // What an archive costs does not depend on how late answers come.
        if variant.door == Door::Fast {
            let archive = |coding| contestant::with_archive(self.ground, coding).with(&ONE_SITE);
            all.push(contestant::packing(self.ground));
            all.extend([Coding::Gzip, Coding::Zstd].map(archive));
        }
        if self.options.rivals == Rivals::Race {
            // One connection that waits a tenth of a second each time says nothing new.
            let late = variant.door == Door::Late;
            all.extend(rivals::present(self.ground, self.options, late));
        }
        all
    }

    /// A run that is not timed, at the door with a log: what was asked for, and how often.
    fn coverage(&self, contestant: &Contestant, in_flight: usize) -> Result<Coverage> {
        say(&format!("  coverage: {}", contestant.name));
        self.nginx.clear_log()?;
        let url = self.nginx.url(Door::Logged);
        let list = self.list(&url)?;
        let race = Race {
            arena: &self.nginx,
            stopwatch: &self.stopwatch,
            options: self.options,
            blanks: self.blanks(&url, &list, in_flight),
        };
        race.sample(contestant)?;
        let log = self.nginx.log_text()?;
        let coverage = Coverage::of(log.lines(), &self.expected);
        if coverage.found < coverage.expected && contestant.party != Party::Rival {
            say(&format!("    found only {coverage:?}"));
        }
        Ok(coverage)
    }

    fn blanks<'a>(&'a self, url: &'a str, list: &'a Path, in_flight: usize) -> Blanks<'a> {
        Blanks {
            url,
            out: &self.out,
            disk: &self.disk,
            list,
            in_flight,
        }
    }

    /// All URLs of the site at a door, for the bare client.
    fn list(&self, url: &str) -> Result<PathBuf> {
        let file = self.ground.scratch.join("list");
        let root = url.trim_end_matches('/');
        let lines = self.expected.keys().map(|path| format!("{root}{path}\n"));
        fs::write(&file, lines.collect::<String>())?;
        Ok(file)
    }
}
