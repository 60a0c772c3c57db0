//! How a crawl stands, whether it runs or not.
//!
//! Owns the way to the answer for a crawl that does not run: its state is opened under the folder's
//! lock, read, and closed again without a commit. A running crawl
//! answers for itself, from memory.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline_core::frontier::{Frontier, FrontierState, FrontierSummary, Moment};
use clewline_core::url::host_ip;
use clewline_job::hosts::{HostPage, HostQuestion};
pub(crate) use clewline_job::status::{Figures, State, Status};

use crate::clock::unix_millis;
use crate::control::protocol::{ControlAnswer, ControlRequest};
use crate::control::server::ask;
use crate::engine::{FRONTIER_NOTE, SPENT_NOTE, TALLY_NOTE};
use crate::folder::{FolderError, Remedy, STATE, io_at, take_lock};
use crate::log::lines::Lines;
use crate::log::{Offset, urls};
use crate::memory::MemoryPlan;
use crate::record::Record;
use crate::report::Tally;
use crate::store::DiskStore;
use crate::stored::{JobError, JobStanding, StoredJob};

/// Hosts that a status names.
pub(crate) const MOST_HOSTS: usize = 50;

/// Hosts of a stopped crawl that are looked at for the time that is left.
const MOST_STOCK: usize = 10_000;

/// Records that are read for the addresses of roots.
const MOST_FIRST: usize = 10_000;

/// Before this a rate is chance.
const RATE_SETTLES: Duration = Duration::from_secs(2);

/// Memory for looking at a state.
const LOOKING_MEMORY: u64 = 32 * 1024 * 1024;

impl StoredJob {
    /// How the crawl stands. One that runs is asked; otherwise its state is looked at, during
    /// which no crawl can begin in the folder.
    pub fn status(&self) -> Result<Status, JobError> {
        match ask(self, &ControlRequest::Status) {
            Ok(ControlAnswer::Status(status)) => Ok(*status),
            Ok(_) => Err(self.nonsense()),
            Err(JobError::NotRunning(_)) => self.stopped(),
            Err(error) => Err(error),
        }
    }

    /// Some of the hosts. As [`StoredJob::status`], a crawl that runs is asked.
    pub fn hosts(&self, question: &HostQuestion) -> Result<HostPage, JobError> {
        match ask(self, &ControlRequest::Hosts(Box::new(question.clone()))) {
            Ok(ControlAnswer::Hosts(page)) => return Ok(*page),
            Ok(_) => return Err(self.nonsense()),
            Err(JobError::NotRunning(_)) => {}
            Err(error) => return Err(error),
        }
        let (tally, state) = self.stored_tally()?;
        let Some(state) = state else {
            return Ok(HostPage::from_parts(question, std::iter::empty(), &tally));
        };
        let restored: FrontierState = state.note(FRONTIER_NOTE)?.unwrap_or_default();
        let frontier = self.frontier(state.store, restored)?;
        let active = frontier.active_hosts(Moment::ZERO);
        Ok(HostPage::from_parts(question, active, &tally))
    }

    /// What is counted of all URLs, by host only if the crawl does not run.
    pub fn tally(&self) -> Result<Tally, JobError> {
        match ask(self, &ControlRequest::Tally) {
            Ok(ControlAnswer::Tally(tally)) => Ok(*tally),
            Ok(_) => Err(self.nonsense()),
            Err(JobError::NotRunning(_)) => Ok(self.stored_tally()?.0),
            Err(error) => Err(error),
        }
    }

    /// The tally of a crawl that does not run, and its state if that can be opened.
    fn stored_tally(&self) -> Result<(Tally, Option<OpenState>), JobError> {
        let state = match OpenState::open(self) {
            Err(error) if error.is_read_only() => None,
            opened => opened?,
        };
        let Some(state) = state else {
            return Ok((tally(&self.path, (Tally::default(), 0), None)?, None));
        };
        let kept = state.note(TALLY_NOTE)?.unwrap_or_default();
        let end = state.store.offset(urls::NAME)?.unwrap_or(0);
        Ok((tally(&self.path, kept, Some(end))?, Some(state)))
    }

    pub(crate) fn nonsense(&self) -> JobError {
        JobError::Silent {
            path: self.path.clone(),
            owner: "a process".into(),
            source: io::Error::new(io::ErrorKind::InvalidData, "it answers something else"),
        }
    }

    fn stopped(&self) -> Result<Status, JobError> {
        let mut status = self.outline();
        let state = match OpenState::open(self) {
            Err(error) if error.is_read_only() => {
                let is_open = self.standing == JobStanding::Unfinished;
                let why = "the folder cannot be written, so its queue could not be looked at";
                status.held = is_open.then(|| why.to_owned());
                None
            }
            opened => opened?,
        };
        let Some(state) = state else {
            let tally = tally(&self.path, (Tally::default(), 0), None)?;
            status.count(&tally);
            status.bytes = tally.wire_bytes;
            return Ok(status);
        };
        let kept = state.note(TALLY_NOTE)?.unwrap_or_default();
        let end = state.store.offset(urls::NAME)?.unwrap_or(0);
        status.count(&tally(&self.path, kept, Some(end))?);
        let spent: Option<Duration> = state.note(SPENT_NOTE)?;
        status.seconds = spent.unwrap_or_default().as_secs_f64();
        let frontier: FrontierState = state.note(FRONTIER_NOTE)?.unwrap_or_default();
        let counts = frontier.counts;
        status.done = counts.settled;
        if self.config.scope.traps {
            status.withheld = counts.withheld;
        }
        status.queued = counts.todo().saturating_sub(status.withheld);
        (status.pages, status.bytes, status.hosts_met) = (counts.pages, counts.wire, counts.hosts);
        status.summary = self.summary(state.store, frontier)?;
        let least = status.summary.left;
        let is_long = status.queued > 0 && least.as_secs() > 0;
        status.time_left = is_long.then_some(least.as_secs_f64());
        Ok(status)
    }

    fn outline(&self) -> Status {
        Status {
            folder: Some(self.path.clone()),
            state: match self.standing {
                JobStanding::Unfinished => State::Unfinished,
                JobStanding::Finished => State::Finished,
                JobStanding::Unreached => State::Unreached,
            },
            ended: self.ended.clone(),
            held: None,
            done: 0,
            queued: 0,
            withheld: 0,
            in_flight: 0,
            pages: 0,
            bytes: 0,
            hosts_met: 0,
            failed: 0,
            broken: 0,
            seconds: 0.0,
            pages_per_second: 0.0,
            bytes_per_second: 0.0,
            time_left: None,
            figures: Figures::from_config(&self.config),
            machine: None,
            notes: Vec::new(),
            summary: FrontierSummary::default(),
        }
    }

    fn summary(&self, store: DiskStore, state: FrontierState) -> Result<FrontierSummary, JobError> {
        let frontier = self.frontier(store, state)?;
        Ok(frontier.summary(Moment::ZERO, MOST_HOSTS))
    }

    /// The frontier of a crawl that does not run, to be looked at.
    fn frontier(
        &self,
        store: DiskStore,
        state: FrontierState,
    ) -> Result<Frontier<DiskStore>, JobError> {
        let mut rules = self.rules()?;
        rules.epoch = unix_millis();
        let end = store.offset(urls::NAME)?;
        let found = self.root_addresses(end)?;
        let stock = store.survey(MOST_STOCK)?;
        let mut frontier = Frontier::new(rules, store);
        frontier.restore(state);
        let found_at = |host: &str| found.get(host).copied().flatten();
        frontier.take_stock(stock, &found_at, Moment::ZERO)?;
        Ok(frontier)
    }

    /// Where the hosts of the roots were found, which decides how fast they may be asked: roots
    /// are asked first, so the first records tell. An address that is a name tells itself.
    fn root_addresses(
        &self,
        end: Option<u64>,
    ) -> Result<HashMap<String, Option<IpAddr>>, JobError> {
        let hosts = self.config.roots.iter().map(|root| root.url.host());
        let mut found: HashMap<String, Option<IpAddr>> =
            hosts.map(|host| (host.to_owned(), host_ip(host))).collect();
        let path = self.path.join(urls::FILE);
        let at = |source| io_at(&path, source);
        let mut unknown = found.values().filter(|address| address.is_none()).count();
        if unknown == 0 || !path.exists() {
            return Ok(found);
        }
        let records = urls::records(&path).map_err(at)?;
        let end = Offset(end.unwrap_or(u64::MAX));
        for record in records.until(end).take(MOST_FIRST) {
            if unknown == 0 {
                break;
            }
            let record = record.map_err(at)?;
            let place = found.get_mut(record.url.host());
            if let Some(place) = place.filter(|place| place.is_none()) {
                *place = record.address;
                unknown -= usize::from(place.is_some());
            }
        }
        Ok(found)
    }

    /// The rules that the configuration stands for.
    pub(crate) fn rules(&self) -> Result<clewline_core::frontier::Rules, JobError> {
        let rules = self.config.rules(self.seed);
        Ok(rules.map_err(|error| FolderError::Damaged {
            path: self.path.join(crate::folder::MARKER),
            what: error.to_string(),
            remedy: Remedy::StartAfresh,
        })?)
    }
}

/// How long the queue of a crawl takes that has run for this long, at the pace of its last
/// seconds, which needs a while to mean something, and not in less time than politeness allows;
/// more may be found. The last second needs no announcement.
pub(crate) fn time_left(
    queued: u64,
    pages_per_second: f64,
    least: Duration,
    elapsed: Duration,
) -> Option<Duration> {
    if queued == 0 {
        return None;
    }
    let by_rate = Duration::try_from_secs_f64(queued as f64 / pages_per_second);
    let by_rate = by_rate.ok().filter(|_| elapsed >= RATE_SETTLES);
    let left = by_rate.map_or(least, |by_rate| by_rate.max(least));
    Some(left).filter(|left| left.as_secs() > 0)
}

/// The state of a crawl that does not run, and its lock.
pub(crate) struct OpenState {
    pub(crate) store: DiskStore,
    folder: PathBuf,
    _lock: std::fs::File,
}

impl OpenState {
    /// Opens the state; none if the crawl kept it in memory.
    pub(crate) fn open(job: &StoredJob) -> Result<Option<Self>, JobError> {
        let path = job.path.join(STATE).join("store");
        if !job.durable || !path.exists() {
            return Ok(None);
        }
        let lock = take_lock(&job.path)?;
        let keyer = job.rules()?.keyer;
        let store = DiskStore::open(&path, keyer, MemoryPlan::new(LOOKING_MEMORY))?;
        Ok(Some(Self {
            store,
            folder: job.path.clone(),
            _lock: lock,
        }))
    }

    pub(crate) fn note<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, JobError> {
        let Some(bytes) = self.store.note(name)? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&bytes);
        let damaged = |error: serde_json::Error| FolderError::Damaged {
            path: self.folder.join(STATE),
            what: format!("{name}: {error}"),
            remedy: Remedy::StartAfresh,
        };
        Ok(Some(read.map_err(damaged)?))
    }
}

/// The tally as it was kept, and what the log says since then.
fn tally(folder: &Path, kept: (Tally, u64), end: Option<u64>) -> Result<Tally, JobError> {
    let (mut tally, from) = kept;
    let path = folder.join(urls::FILE);
    let at = |source| io_at(&path, source);
    if !path.exists() {
        return Ok(tally);
    }
    let mut lines = Lines::open(&path, from, end).map_err(at)?;
    while let Some(line) = lines.next_line().map_err(at)? {
        let record: Record = serde_json::from_slice(line).map_err(|error| at(error.into()))?;
        tally.add(&record);
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_once_it_means_something() {
        let check = |elapsed, queued, pages_per_second, least, expected: Option<u64>| {
            let seconds = Duration::from_secs;
            let left = time_left(queued, pages_per_second, seconds(least), seconds(elapsed));
            assert_eq!(
                left,
                expected.map(seconds),
                "{queued} at {pages_per_second}"
            );
        };
        check(10, 100, 5.0, 0, Some(20));
        check(10, 100, 5.0, 264, Some(264));
        check(10, 100, 5.0, 7, Some(20));
        check(1, 100, 5.0, 0, None);
        check(1, 100, 5.0, 264, Some(264));
        check(10, 0, 5.0, 0, None);
        check(10, 3, 5.0, 0, None);
        check(10, 100, 0.0, 0, None);
        check(10, 100, 0.0, 60, Some(60));
        check(10, u64::MAX, 1e-9, 0, None);
    }
}
