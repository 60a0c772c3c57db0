//! The race on the documentation site, as fast as it can answer and a tenth of a second late.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::arena::Coverage;
use super::super::arena::nginx::{Door, Files, Nginx};
use super::super::arena::truth::{self, Survey};
use super::super::ground::{Ground, said};
use super::super::measure::Stopwatch;
use super::super::options::{Care, Options, Rivals};
use super::super::rivals;
use super::contestant::{self, Blanks, Coding, Contestant, ONE_SITE, Party};
use super::round::{Account, Arena, Race, Row, Session, empty};
use super::schedule;
use crate::stage::say;

/// URLs of other sites that a store may know before it meets this one.
const KNOWN: &str = "5000000";

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
    survey: Survey,
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
    let survey = truth::walk(&files.pages)?;
    let known = survey.known.values();
    let broken = known.filter(|status| **status == 404).count();
    let version = files.version()?;
    say(&format!(
        "{version}: {} URLs, {broken} of them broken",
        survey.known.len()
    ));
    let site = Site {
        nginx: Nginx::start(&files, &ground.scratch)?,
        stopwatch: Stopwatch::new(&ground.scratch, options.limit()),
        out: ground.memory.join("out"),
        disk: ground.scratch.join("crawl"),
        ground,
        options,
        survey,
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
        let mut contestants = self.contestants(variant);
        if variant.door == Door::Fast && self.options.care == Care::Full {
            let after_clewline = 3;
            contestants.insert(after_clewline, self.with_known(variant)?);
        }
        let mut rows: Vec<Row> = contestants
            .iter()
            .map(|contestant| Row::new(variant.name, contestant, variant.in_flight))
            .collect();
        for (contestant, row) in contestants.iter().zip(&mut rows) {
            let known = before.iter().find(|known| known.name == row.name);
            row.coverage = match known {
                Some(known) => known.coverage,
                // It goes on at the door where it began.
                None if contestant.begun.is_some() => None,
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
        if variant.door == Door::Late {
            let ideal = self.ideal(variant)?;
            let crawlers = rows.iter_mut().filter(|row| row.party != Party::Limit);
            crawlers.for_each(|row| row.ideal = Some(ideal));
        }
        Ok(rows)
    }

    /// Pages per second of a crawl that loses no time, where answers are late and it is theirs
    /// that counts.
    fn ideal(&self, variant: &Variant) -> Result<f64> {
        let links = &self.survey.links;
        let answer = self.nginx.answer_time()?;
        let time = schedule::ideal(links, variant.in_flight, answer);
        say(&format!(
            "  an answer takes {:.1} ms; the ideal schedule {:.3} s",
            answer.as_secs_f64() * 1e3,
            time.as_secs_f64()
        ));
        Ok(links.len() as f64 / time.as_secs_f64())
    }

    fn contestants(&self, variant: &Variant) -> Vec<Contestant> {
        let mut all = vec![
            contestant::bare(self.ground),
            contestant::in_memory(self.ground).with(&ONE_SITE),
            contestant::state_in_memory(self.ground).with(&ONE_SITE),
            contestant::with_folder(self.ground).with(&ONE_SITE),
        ];
        // What detection or an archive costs does not depend on how late answers come.
        if variant.door == Door::Fast {
            all.push(contestant::without_detection(self.ground).with(&ONE_SITE));
            let archive = |coding| contestant::with_archive(self.ground, coding).with(&ONE_SITE);
            all.push(contestant::packing(self.ground));
            all.extend(Coding::RACED.map(archive));
        }
        if self.options.rivals == Rivals::Race {
            // One connection that waits a tenth of a second each time says nothing new.
            let late = variant.door == Door::Late;
            all.extend(rivals::present(self.ground, self.options, late));
        }
        all
    }

    /// A crawl that has fetched one page and knows millions of URLs of other sites.
    fn with_known(&self, variant: &Variant) -> Result<Contestant> {
        say("  preparing a store that knows 5 million URLs");
        let folder = self.ground.scratch.join("known");
        empty(&folder)?;
        let url = self.nginx.url(variant.door);
        let first = contestant::with_folder(self.ground)
            .with(&ONE_SITE)
            .with(&["--max-pages", "1"]);
        let blanks = Blanks {
            disk: &folder,
            ..self.blanks(&url, Path::new(""), variant.in_flight)
        };
        self.stopwatch.run(&first.command(&blanks))?;
        let store = folder.join("state/store").display().to_string();
        let growth = self.ground.program("growth");
        let seed = ["seed", "--known", KNOWN, "--folder", &store];
        said(&growth, &seed)
            .filter(|words| !words.is_empty())
            .with_context(|| format!("growth cannot fill {store}"))?;
        Ok(contestant::with_known(self.ground, &folder).with(&ONE_SITE))
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
        let coverage = Coverage::new(log.lines(), &self.survey.known);
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
        let lines = self
            .survey
            .known
            .keys()
            .map(|path| format!("{root}{path}\n"));
        fs::write(&file, lines.collect::<String>())?;
        Ok(file)
    }
}
