//! The state of a job, made again from its archive.
//!
//! Owns the order of it: archive, logs, then a store of its own beside the damaged one, which
//! takes its place when it is whole. The archive holds every line and every link of a crawl, so
//! what was settled is known again and what was found waits again. Cookies, the time spent and
//! what hosts and traps had taught are lost. Whoever is interrupted begins anew. What a fleet did has
//! no state of its own either; its merged job gets one of its records alone, since all of it ended.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use clewline_core::frontier::{
    Frontier, Moment, Offers, Rules, Sealed as _, SettledUrl, Store as _,
};
use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, Outcome, SkipReason};
use clewline_core::url::{CrawlUrl, Scheme};

use crate::clock::timestamp;
use crate::config::Config;
use crate::crawl::CrawlError;
use crate::durable;
use crate::engine::{FRONTIER_NOTE, JOB_NOTE, SPENT_NOTE, STARTED_NOTE, TALLY_NOTE};
use crate::folder::{FolderError, JobFolder, STATE, TAILS, make_private};
use crate::log::archive::{self, Position, Tails};
use crate::log::{Offset, links, urls};
use crate::memory::MemoryPlan;
use crate::rebuild;
use crate::record::{OutcomeKind, Record};
use crate::store::DiskStore;
use crate::stored::{JobError, StoredJob};
use crate::warc_metadata::Noted;
use crate::witness::{Testimony, Witness};
use clewline_job::merge::MergeDraft;
use clewline_job::rebuild::RebuildError;

use super::io_at;
use super::repair::{counted, length_of};

/// The store while it is made.
const UNFINISHED: &str = "store.new";

/// URLs and links between two commits.
const BATCH: usize = 20_000;

/// Makes the state again; says in words what was done.
pub(super) fn make_again(
    folder: &JobFolder,
    config: &Config,
    rules: &Rules,
) -> Result<String, CrawlError> {
    let state = folder.state_path();
    let end = restore_archive(folder)?;
    rebuild::logs(folder.path(), folder.seed())?;
    let place = state.join(UNFINISHED);
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|source| io_at(&place, source))?;
    }
    let plan = MemoryPlan::new(config.output.memory.0);
    let store = DiskStore::open(&place, rules.keyer.clone(), plan)?;
    let mut replay = Replay {
        frontier: Frontier::new(rules.clone(), store),
        keyer: rules.keyer.clone(),
        job: folder.id(),
        root_hops: HashSet::new(),
        started_at: None,
        joined: Vec::new(),
        lines: 0,
    };
    replay.records(folder.path(), config)?;
    rebuild::each_line(folder.path(), |noted| replay.offer(noted))?;
    let (settled, waiting) = (replay.lines, replay.frontier.counts().todo());
    replay.commit(&offsets(folder.path(), end)?, Vec::new())?;
    drop(replay);
    swap_in(folder, &place).map_err(|source| io_at(&state, source))?;
    Ok(format!(
        "the state was made again from the archive: {}, {waiting} waiting",
        counted(settled, "URL"),
    ))
}

/// Makes the state of a merged job, of which there was none: everything it let in has a record.
pub(crate) fn make_of_records(draft: &MergeDraft<'_>) -> Result<(), CrawlError> {
    let unread = |error: JobError| match error {
        JobError::Folder(error) => CrawlError::Folder(error),
        other => io_at(draft.folder, io::Error::other(other.to_string())).into(),
    };
    let job = StoredJob::read(draft.folder).map_err(unread)?;
    let rules = job.rules().map_err(unread)?;
    let state = draft.folder.join(STATE);
    make_private(&state)?;
    let plan = MemoryPlan::new(job.config.output.memory.0);
    let store = DiskStore::open(&state.join("store"), rules.keyer.clone(), plan)?;
    let mut replay = Replay {
        keyer: rules.keyer.clone(),
        frontier: Frontier::new(rules, store),
        job: format!("{:016x}", job.seed),
        root_hops: HashSet::new(),
        started_at: Some(draft.report.facts.started_at.clone()),
        joined: draft.joined.to_vec(),
        lines: 0,
    };
    replay.records(draft.folder, &job.config)?;
    let warcs = draft.folder.join(archive::FOLDER);
    let end = archive::last_end(&warcs).map_err(|source| io_at(&warcs, source))?;
    let offsets = offsets(draft.folder, end)?;
    let spent = Duration::try_from_secs_f64(draft.report.facts.seconds).unwrap_or_default();
    let tally = (&draft.report.tally, offsets[0].1);
    let notes = vec![(SPENT_NOTE, as_json(&spent)), (TALLY_NOTE, as_json(&tally))];
    replay.commit(&offsets, notes)?;
    drop(replay);
    let witnessed = Witness::create(&state).and_then(|()| Witness::open(&state));
    let mut witness = witnessed.map_err(|source| io_at(&state, source))?;
    witness.record(&offsets);
    Ok(())
}

/// Cuts what no commit vouches for off the archive and records what is lost of it.
fn restore_archive(folder: &JobFolder) -> Result<Position, CrawlError> {
    let warcs = folder.path().join(archive::FOLDER);
    let state = folder.state_path();
    let tails = state.join(TAILS);
    let at = |source| FolderError::from_reading(&warcs, source);
    let testimony = Testimony::read(&state).map_err(|source| io_at(&state, source))?;
    let witnessed = testimony.map_or(0, |testimony| testimony.offset(archive::NAME));
    let end = match Position::new(Offset(witnessed)) {
        end if end == Position::default() => archive::last_end(&warcs).map_err(at)?,
        end => end,
    };
    let repaired = archive::repair(&warcs, end, Tails::Kept(&tails)).map_err(at)?;
    archive::take_back(&warcs, repaired.end, Tails::Kept(&tails)).map_err(at)?;
    Ok(repaired.end)
}

fn offsets(path: &Path, end: Position) -> Result<[(&'static str, u64); 3], FolderError> {
    Ok([
        (urls::NAME, length_of(&path.join(urls::FILE))?),
        (links::NAME, length_of(&path.join(links::FILE))?),
        (archive::NAME, end.offset().0),
    ])
}

/// Puts the new store in the place of the damaged one, which is kept until the crawl ends.
fn swap_in(folder: &JobFolder, place: &Path) -> io::Result<()> {
    let (state, store) = (folder.state_path(), folder.store_path());
    if store.exists() {
        let tails = state.join(TAILS);
        durable::make_folder(&tails)?;
        let kept = format!("store.{}", timestamp().replace(':', "-"));
        fs::rename(&store, tails.join(kept))?;
    }
    fs::rename(place, &store)?;
    durable::sync_folder(&state)?;
    Witness::create(&state)
}

/// A frontier that hears again what the crawl found.
struct Replay {
    frontier: Frontier<DiskStore>,
    keyer: Keyer,
    /// The identity of the job.
    job: String,
    /// Roots and hops of their redirects that led on.
    root_hops: HashSet<Key>,
    started_at: Option<String>,
    /// Hosts that joined the scope, where the records alone do not say it.
    joined: Vec<CrawlUrl>,
    lines: usize,
}

impl Replay {
    /// Takes every URL with a record for settled.
    fn records(&mut self, folder: &Path, config: &Config) -> Result<(), CrawlError> {
        for root in &config.roots {
            self.frontier.know_root(&root.url);
        }
        let path = folder.join(urls::FILE);
        let at = |source| FolderError::from_reading(&path, source);
        for record in urls::records(&path).map_err(at)? {
            let settled = self.settled(record.map_err(at)?);
            self.frontier.replay(&settled, Moment::ZERO)?;
            self.lines += 1;
            self.commit_some()?;
        }
        self.know_fallen_back(config)?;
        self.root_hops.clear();
        Ok(())
    }

    /// A root that was typed without a scheme and settled over http is not tried over https.
    fn know_fallen_back(&mut self, config: &Config) -> Result<(), CrawlError> {
        for root in &config.roots {
            let is_guess = root.guessed_scheme && root.url.scheme() == Scheme::Https;
            let over_http = self.keyer.key(&root.url.over_http());
            let store = self.frontier.store();
            if is_guess && store.contains(over_http)? {
                store.add(self.keyer.key(&root.url))?;
            }
        }
        Ok(())
    }

    fn offer(&mut self, noted: Noted) -> Result<(), CrawlError> {
        let mut offers = Offers::default();
        for link in &noted.links {
            offers.push(link.by_ref(), self.keyer.key(&link.url));
        }
        let settled = self.settled(noted.record);
        self.frontier.replay_links(&settled, offers, Moment::ZERO)?;
        self.commit_some()
    }

    fn settled(&mut self, record: Record) -> SettledUrl {
        self.started_at
            .get_or_insert_with(|| record.fetched_at.clone());
        let is_hop = || {
            let found_on = record.found_on.as_ref();
            record.kind == LinkKind::Redirect
                && found_on.is_some_and(|url| self.root_hops.contains(&self.keyer.key(url)))
        };
        let root = record.kind == LinkKind::Root || is_hop();
        let outcome = outcome(&record);
        if root && matches!(outcome, Outcome::Redirected(_)) {
            self.root_hops.insert(record.key);
        }
        SettledUrl {
            url: record.url,
            key: record.key,
            kind: record.kind,
            depth: record.depth,
            root,
            outcome,
            wire: record.wire_bytes,
        }
    }

    fn commit_some(&mut self) -> Result<(), CrawlError> {
        if self.frontier.open_size() < BATCH {
            return Ok(());
        }
        self.commit(&[], Vec::new())
    }

    fn commit(
        &mut self,
        offsets: &[(&'static str, u64)],
        more: Vec<(&'static str, Vec<u8>)>,
    ) -> Result<(), CrawlError> {
        let mut state = self.frontier.state();
        if !self.joined.is_empty() {
            state.joined.clone_from(&self.joined);
        }
        let started_at = self.started_at.clone().unwrap_or_else(timestamp);
        let mut notes = vec![
            (FRONTIER_NOTE, as_json(&state)),
            (STARTED_NOTE, as_json(&started_at)),
            (JOB_NOTE, as_json(&self.job)),
        ];
        notes.extend(more);
        self.frontier.seal(notes)?.commit(offsets)?;
        self.frontier.committed();
        Ok(())
    }
}

fn as_json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("it is plain data")
}

/// What a record says happened. A redirect whose target is no URL leads nowhere.
fn outcome(record: &Record) -> Outcome {
    match record.outcome {
        OutcomeKind::Fetched => Outcome::Fetched,
        OutcomeKind::Unmodified => Outcome::Unmodified,
        OutcomeKind::Skipped => Outcome::Skipped(record.reason.unwrap_or(SkipReason::OutOfScope)),
        OutcomeKind::Failed => Outcome::Failed(record.failure.unwrap_or(FailureClass::Internal)),
        OutcomeKind::Redirected => {
            let target = record.redirect_to.as_deref();
            target
                .and_then(|target| CrawlUrl::parse(target).ok())
                .map_or(Outcome::Fetched, Outcome::Redirected)
        }
    }
}

impl From<RebuildError> for CrawlError {
    fn from(error: RebuildError) -> Self {
        match error {
            RebuildError::Io { path, source } => io_at(&path, source).into(),
            other => io_at(
                Path::new(archive::FOLDER),
                io::Error::other(other.to_string()),
            )
            .into(),
        }
    }
}
