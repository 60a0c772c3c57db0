//! The three ledgers and their comparison: what must be found, what the server was asked, what
//! stands in the job folder.
//!
//! Owns the figures. It refuses to know how a crawl was disturbed; of each kill it knows what
//! had been committed by then.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::path::Path;

use clewline_job::log::{LinksReader, records, urls};
use clewline_job::record::Record;
use serde_json::{Value, json};
use terrarium::{Hit, LiveWeb};

use crate::archive;
use crate::graph::{Fate, Graph};
use crate::run::{run_of, runs};

/// What stood when a run was killed.
#[derive(Debug)]
pub(crate) struct Kill {
    /// The number of the next run: requests of those before were on their way or answered.
    next_run: usize,
    /// Paths whose records were committed.
    pub(crate) committed: BTreeSet<String>,
    /// Files of the archive that were closed, with their digests.
    closed: BTreeMap<String, String>,
}

impl Kill {
    /// Looks at a job folder whose crawl was just killed.
    pub(crate) fn of(folder: &Path) -> Self {
        archive::keep(folder);
        let log = std::fs::read(folder.join(urls::FILE)).unwrap_or_default();
        let end = witnessed(folder).min(log.len());
        let lines = log[..end].split(|byte| *byte == b'\n');
        let path = |line: &[u8]| {
            let record: Value = serde_json::from_slice(line).ok()?;
            let url = record["url"].as_str()?.splitn(4, '/').nth(3)?.to_owned();
            Some(format!("/{url}"))
        };
        Self {
            next_run: runs(),
            committed: lines.filter_map(path).collect(),
            closed: archive::closed(folder),
        }
    }
}

/// Up to where the log of URLs was committed, at the least.
pub(crate) fn witnessed(folder: &Path) -> usize {
    let text = std::fs::read_to_string(folder.join("state/witness")).unwrap_or_default();
    // Two statements, written in turn, with zeros between them.
    let lines = text.split(['\n', '\0']);
    let urls = lines.filter_map(|line| line.strip_prefix("urls "));
    let offsets = urls.filter_map(|offset| offset.parse().ok());
    offsets.max().unwrap_or(0)
}

/// What a comparison came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) crawls: usize,
    pub(crate) urls: usize,
    pub(crate) kills: usize,
    /// Of the kills, those within a second of a restart.
    pub(crate) second: usize,
    pub(crate) requests: usize,
    /// Asked once more than an undisturbed crawl would have.
    pub(crate) repeats: usize,
    /// Asked, and not committed when a run was killed: so much may be repeated.
    pub(crate) open: usize,
    /// Must be found and was not.
    pub(crate) lost: usize,
    /// Recorded more than once.
    pub(crate) twice: usize,
    /// Refused by a reader.
    pub(crate) torn: usize,
    /// Recorded as answered, and never asked; or recorded otherwise than it is.
    pub(crate) false_done: usize,
    /// Asked again although its record had been committed.
    pub(crate) asked_again: usize,
    /// Asked although robots.txt denies it.
    pub(crate) denied: usize,
}

impl Figures {
    /// Nothing that must not happen has happened.
    pub(crate) fn assert_sound(&self) {
        let faults = [
            self.lost,
            self.twice,
            self.torn,
            self.false_done,
            self.asked_again,
            self.denied,
        ];
        assert!(faults == [0; 6] && self.repeats <= self.open, "{self:?}");
    }

    pub(crate) fn to_json(self) -> Value {
        json!({
            "crawls": self.crawls, "urls": self.urls, "kills": self.kills,
            "second": self.second, "requests": self.requests, "repeats": self.repeats, "open": self.open,
            "lost": self.lost, "twice": self.twice, "torn": self.torn,
            "false_done": self.false_done, "asked_again": self.asked_again,
            "denied": self.denied,
        })
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.crawls += other.crawls;
        self.urls += other.urls;
        self.kills += other.kills;
        self.second += other.second;
        self.requests += other.requests;
        self.repeats += other.repeats;
        self.open += other.open;
        self.lost += other.lost;
        self.twice += other.twice;
        self.torn += other.torn;
        self.false_done += other.false_done;
        self.asked_again += other.asked_again;
        self.denied += other.denied;
    }
}

/// Compares the ledgers after the last run.
pub(crate) fn compare(graph: Graph, web: &LiveWeb, folder: &Path, kills: &[Kill]) -> Figures {
    let mut figures = outputs(graph, folder);
    archive::check(folder);
    let closed = archive::closed(folder);
    for (name, digest) in kills.iter().flat_map(|kill| &kill.closed) {
        let now = closed.get(name);
        assert_eq!(now, Some(digest), "{name} was closed, and changed");
    }
    figures.crawls = 1;
    figures.kills = kills.len();
    let expected = graph.expected();
    let log = web.log();
    let asked: BTreeSet<&str> = log.iter().map(|hit| hit.target.as_str()).collect();
    let answered = |fate: &Fate| fate.1.is_some();
    figures.false_done += expected
        .iter()
        .filter(|(path, fate)| answered(fate) && !asked.contains(path.as_str()))
        .count();
    figures.denied = log
        .iter()
        .filter(|hit| hit.target.starts_with("/denied"))
        .count();
    // A page that answered 500 is asked again for its own sake.
    let counts = |hit: &&Hit| hit.target != "/robots.txt" && hit.status != Some(500);
    figures.requests = log.iter().filter(counts).count();
    let once = expected.values().filter(|fate| answered(fate)).count();
    figures.repeats = figures.requests.saturating_sub(once);
    for kill in kills {
        let (before, after): (Vec<&Hit>, Vec<&Hit>) =
            log.iter().partition(|hit| run_of(hit) < kill.next_run);
        let asked: BTreeSet<&str> = before.iter().map(|hit| hit.target.as_str()).collect();
        let is_open = |path: &&&str| !kill.committed.contains(**path);
        figures.open += asked.iter().filter(is_open).count();
        figures.asked_again += after
            .iter()
            .filter(|hit| kill.committed.contains(&hit.target))
            .count();
    }
    figures
}

/// Compares what must be found with what stands in the job folder.
pub(crate) fn outputs(graph: Graph, folder: &Path) -> Figures {
    let mut figures = Figures::default();
    let mut found: BTreeMap<String, (usize, Fate)> = BTreeMap::new();
    let mut with_links = 0;
    for record in records(&folder.join(urls::FILE)).unwrap() {
        match record {
            Ok(record) => {
                with_links += usize::from(record.links > 0);
                let fate = (record.outcome, record.status);
                found.entry(path_of(&record)).or_insert((0, fate)).0 += 1;
            }
            Err(_) => figures.torn += 1,
        }
    }
    figures.urls = found.len();
    figures.twice = found.values().filter(|(count, _)| *count > 1).count();
    let expected = graph.expected();
    figures.lost = expected
        .keys()
        .filter(|path| !found.contains_key(*path))
        .count();
    let is_false =
        |(path, (_, fate)): &(&String, &(usize, Fate))| expected.get(*path) != Some(fate);
    figures.false_done = found.iter().filter(is_false).count();
    let mut sources = BTreeSet::new();
    match LinksReader::open(folder) {
        Ok(links) => {
            for link in links {
                match link {
                    Ok((source, ..)) => drop(sources.insert(source)),
                    Err(_) => figures.torn += 1,
                }
            }
        }
        Err(_) => figures.torn += 1,
    }
    // Every page's links are there, and those of no other.
    figures.torn += sources.len().abs_diff(with_links);
    figures
}

fn path_of(record: &Record) -> String {
    record.url.path_and_query().to_owned()
}
