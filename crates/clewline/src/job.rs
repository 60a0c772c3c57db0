//! A job on disk, opened: new, or where an earlier run left it.
//!
//! Owns recovery. The store's last commit is the truth: every log is cut back to the offset
//! that was committed with it, and what is cut off is kept aside. A log that is shorter than
//! the commit says, or a commit that is older than the witness says, is damage, and damage is
//! named, never repaired in silence.

mod identity;
mod repair;
mod state;
mod tail;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clewline_core::cookies::CookieJar;
use clewline_core::frontier::{Frontier, FrontierState, Rules};
use clewline_warc::{Level, WarcCompression};
use serde::de::DeserializeOwned;

use crate::config::{Compression, Config, ConfigProblem};
use crate::crawl::CrawlError;
use crate::durable;
use crate::engine::{
    COOKIES_NOTE, EarlierRuns, FRONTIER_NOTE, SPENT_NOTE, STARTED_NOTE, TALLY_NOTE,
};
use crate::exchange::{Secrets, Spool};
use crate::failpoint::{Point, pass};
use crate::folder::{Beginning, FolderError, JobFolder, Remedy, TAILS};
use crate::leases::LeaseBoard;
use crate::log::archive::{self, ArchiveLog, ArchivePlan, Position, Tails};
use crate::log::{LinksLog, Log, Offset, UrlsLog, links, urls};
use crate::memory::MemoryPlan;
use crate::previous::PreviousCrawl;
use crate::store::{DiskStore, StoreError};
use crate::witness::{Testimony, Witness};

use self::identity::Identity;
pub(crate) use self::state::make_of_records;
use self::tail::{LONGEST_TAIL, LogEnd};

/// What a run takes up from a job folder.
pub(crate) struct OpenJob {
    pub(crate) frontier: Frontier<DiskStore>,
    pub(crate) logs: Vec<Box<dyn Log>>,
    pub(crate) cookies: Option<CookieJar>,
    pub(crate) earlier: EarlierRuns,
    pub(crate) witness: Witness,
    pub(crate) leases: LeaseBoard,
}

/// How far the state of a job that goes on is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// As far as it and the logs agree.
    Checked,
    /// It was made from the archive a moment ago.
    Remade,
}

/// Opens the state and the logs of a job folder.
pub(crate) fn open(
    folder: &JobFolder,
    config: &Config,
    mut rules: Rules,
) -> Result<OpenJob, CrawlError> {
    let plan = MemoryPlan::new(config.output.memory.0);
    rules.active_lanes = plan.active_lanes();
    let resumed = resume(folder, config, rules.clone(), Trust::Checked);
    match resumed.map_err(|error| with_remedy(error, folder, config)) {
        Err(error) if config.output.repair && asks_for_new_state(&error) => {
            let told = state::make_again(folder, config, &rules)?;
            let mut job = resume(folder, config, rules, Trust::Remade)?;
            job.earlier.repaired.insert(0, told);
            Ok(job)
        }
        other => other,
    }
}

/// What helps against a damaged state: the archive holds what it is made of.
const fn lost_state(config: &Config, otherwise: Remedy) -> Remedy {
    if config.output.archive.write {
        Remedy::RemakeState
    } else {
        otherwise
    }
}

/// Damage of the state alone is no reason to start afresh where there is an archive.
fn with_remedy(error: CrawlError, folder: &JobFolder, config: &Config) -> CrawlError {
    let remedy = lost_state(config, Remedy::StartAfresh);
    match error {
        CrawlError::Store { source, .. }
            if source.downcast_ref().is_some_and(StoreError::is_damage) =>
        {
            CrawlError::Store { source, remedy }
        }
        CrawlError::Folder(FolderError::Damaged {
            path,
            what,
            remedy: Remedy::StartAfresh,
        }) if path == folder.state_path() => FolderError::Damaged { path, what, remedy }.into(),
        other => other,
    }
}

const fn asks_for_new_state(error: &CrawlError) -> bool {
    matches!(
        error,
        CrawlError::Store {
            remedy: Remedy::RemakeState,
            ..
        } | CrawlError::Folder(FolderError::Damaged {
            remedy: Remedy::RemakeState,
            ..
        })
    )
}

fn resume(
    folder: &JobFolder,
    config: &Config,
    mut rules: Rules,
    trust: Trust,
) -> Result<OpenJob, CrawlError> {
    let plan = MemoryPlan::new(config.output.memory.0);
    let state = folder.state_path();
    let testimony = Testimony::read(&state).map_err(|source| io_at(&state, source))?;
    prepare(folder, config, testimony.as_ref())?;
    let store = DiskStore::open(&folder.store_path(), rules.keyer.clone(), plan)?;
    durable::sync_folder(&state).map_err(|source| io_at(&state, source))?;
    let leases = LeaseBoard::open(&state).map_err(|source| io_at(&state, source))?;
    if folder.beginning() == Beginning::Afresh {
        return Ok(OpenJob {
            frontier: Frontier::new(rules, store),
            logs: open_logs(folder, config, Offset(0))?,
            cookies: None,
            earlier: EarlierRuns {
                job: folder.id(),
                ..EarlierRuns::default()
            },
            witness: Witness::open(&state).map_err(|source| io_at(&state, source))?,
            leases,
        });
    }
    pass(Point::RecoveryOpened);
    let identity = Identity {
        folder,
        store: &store,
        keyer: &rules.keyer,
    };
    identity.check_owner()?;
    if trust == Trust::Checked {
        check_state(&identity, config, testimony.as_ref())?;
    }
    let (witness, repaired) = recover_logs(folder, &store, config, testimony.is_some())?;
    pass(Point::RecoveryEnds);
    let end = Offset(store.offset(archive::NAME)?.unwrap_or(0));
    let logs = open_logs(folder, config, end)?;
    let note = |name| read_note(&store, folder.path(), name);
    let state: Option<FrontierState> = read_note(&store, folder.path(), FRONTIER_NOTE)?;
    let cookies = read_note(&store, folder.path(), COOKIES_NOTE)?;
    let mut earlier = earlier(folder.path(), &note, lost_log(config))?;
    earlier.job = folder.id();
    earlier.repaired = repaired;
    if let Some(time) = &mut rules.limits.time {
        *time = time.saturating_sub(earlier.spent);
    }
    let mut frontier = Frontier::new(rules, store);
    if let Some(state) = state {
        frontier.restore(state);
    }
    for (key, suspicion) in leases.suspicions() {
        frontier.suspect(key, suspicion);
    }
    Ok(OpenJob {
        frontier,
        logs,
        cookies,
        earlier,
        witness,
        leases,
    })
}

/// Refuses a state that is damaged or older than its folder, as far as that matters to this run.
fn check_state(
    identity: &Identity<'_>,
    config: &Config,
    testimony: Option<&Testimony>,
) -> Result<(), CrawlError> {
    let goes_back = config.output.repair && !config.output.archive.write;
    if config.output.repair {
        identity.store.check()?;
    }
    if goes_back {
        return Ok(());
    }
    identity.check_age(lost_state(config, Remedy::GoBack))?;
    match testimony {
        Some(testimony) => check_commits(identity.folder, identity.store, config, testimony),
        None => Ok(()),
    }
}

/// Cuts the logs back to where the state ends, or repairs them; what is to be told of that.
fn recover_logs(
    folder: &JobFolder,
    store: &DiskStore,
    config: &Config,
    is_witnessed: bool,
) -> Result<(Witness, Vec<String>), CrawlError> {
    if !config.output.repair {
        let witness = cut_back(folder, store, config, is_witnessed)?;
        return Ok((witness, Vec::new()));
    }
    let told = repair::logs(folder, store, config)?;
    let state = folder.state_path();
    // What was repaired is not refused again, whatever comes between now and the next commit.
    Witness::create(&state).map_err(|source| io_at(&state, source))?;
    let witness = Witness::open(&state).map_err(|source| io_at(&state, source))?;
    Ok((witness, told))
}

/// A kill while the store was made leaves a part of it that cannot be opened. As long as no log
/// has begun, nothing was committed to it and it is made again; after that it must be there.
fn prepare(
    folder: &JobFolder,
    config: &Config,
    testimony: Option<&Testimony>,
) -> Result<(), FolderError> {
    let store = folder.store_path();
    let logged = fs::metadata(folder.path().join(urls::FILE)).is_ok_and(|file| file.len() > 0);
    let has_begun = logged || testimony.is_none_or(|testimony| !testimony.is_empty());
    if !has_begun && store.exists() {
        fs::remove_dir_all(&store).map_err(|source| io_at(&store, source))?;
    }
    if has_begun && !DiskStore::is_there(&store) {
        return Err(FolderError::Damaged {
            path: store,
            what: "the state is missing".into(),
            remedy: lost_state(config, Remedy::StartAfresh),
        });
    }
    Ok(())
}

/// Cuts every log back to the last commit, or none if one of them is damaged.
fn cut_back(
    folder: &JobFolder,
    store: &DiskStore,
    config: &Config,
    is_witnessed: bool,
) -> Result<Witness, CrawlError> {
    let state = folder.state_path();
    if !is_witnessed {
        return Err(CrawlError::Folder(FolderError::Damaged {
            path: Witness::path(&state),
            what: "it does not say up to where the crawl was durable".into(),
            remedy: Remedy::GoBack,
        }));
    }
    let mut ends = Vec::new();
    for (name, file) in [(urls::NAME, urls::FILE), (links::NAME, links::FILE)] {
        let end = LogEnd {
            path: folder.path().join(file),
            committed: store.offset(name)?.unwrap_or(0),
        };
        let tail = end.tail().map_err(|error| error.with(lost_log(config)))?;
        end.may_be_cut(tail)?;
        ends.push((end, tail));
    }
    let archived = archive_end(folder, store, config)?;
    for (end, tail) in ends.iter().filter(|(_, tail)| *tail > 0) {
        end.cut(*tail, &state)?;
    }
    let warcs = folder.path().join(archive::FOLDER);
    archive::take_back(&warcs, archived, Tails::Kept(&state.join(TAILS)))
        .map_err(|source| FolderError::from_reading(&warcs, source))?;
    Ok(Witness::open(&state).map_err(|source| io_at(&state, source))?)
}

/// Where the last commit saw the archive end.
fn archive_end(
    folder: &JobFolder,
    store: &DiskStore,
    config: &Config,
) -> Result<Position, CrawlError> {
    let committed = store.offset(archive::NAME)?.unwrap_or(0);
    let end = Position::new(Offset(committed));
    let path = folder.path().join(archive::FOLDER);
    if let Some(fault) = archive::fault(&path, end).map_err(|source| io_at(&path, source))? {
        return Err(CrawlError::Folder(FolderError::Damaged {
            path: fault.path,
            what: fault.what,
            remedy: Remedy::GoWithout,
        }));
    }
    let tail = archive::tail_after(&path, end).map_err(|source| io_at(&path, source))?;
    if tail > longest_tail(config) {
        return Err(CrawlError::Folder(FolderError::Damaged {
            path,
            what: format!("{tail} bytes follow the last commit, too many to cut"),
            remedy: Remedy::GoBack,
        }));
    }
    Ok(end)
}

/// Refuses a state that stands at an older commit than the last one that was witnessed.
fn check_commits(
    folder: &JobFolder,
    store: &DiskStore,
    config: &Config,
    testimony: &Testimony,
) -> Result<(), CrawlError> {
    let logs = [
        (urls::NAME, urls::FILE),
        (links::NAME, links::FILE),
        (archive::NAME, archive::FOLDER),
    ];
    for (name, file) in logs {
        let committed = store.offset(name)?.unwrap_or(0);
        if committed < testimony.offset(name) {
            return Err(CrawlError::Folder(FolderError::Damaged {
                path: folder.path().join(file),
                what: "more of it was committed than the state knows of: the state is damaged \
                       and stands at an older commit"
                    .into(),
                remedy: lost_state(config, Remedy::GoBack),
            }));
        }
    }
    Ok(())
}

/// What helps against the loss of a log: the archive holds its lines.
const fn lost_log(config: &Config) -> Remedy {
    if config.output.archive.write {
        Remedy::MakeAgain
    } else {
        Remedy::StartAfresh
    }
}

/// What may stand behind the last commit in the archive: as much as in any other log, and the
/// bodies that waited in files, which the other logs do not hold.
const fn longest_tail(config: &Config) -> u64 {
    let bodies = config.fetch.max_body.saturating_mul(Spool::MOST_WAITING);
    LONGEST_TAIL.saturating_add(bodies)
}

fn io_at(path: &Path, source: std::io::Error) -> FolderError {
    FolderError::Io {
        path: path.into(),
        source,
    }
}

/// Opens the logs; the archive goes on after `end`, the others where they end.
pub(crate) fn open_logs(
    folder: &JobFolder,
    config: &Config,
    end: Offset,
) -> Result<Vec<Box<dyn Log>>, CrawlError> {
    let path = folder.path();
    let at = |source| FolderError::from_reading(path, source);
    let mut logs: Vec<Box<dyn Log>> = vec![
        Box::new(UrlsLog::open(path).map_err(at)?),
        Box::new(LinksLog::open(path).map_err(at)?),
    ];
    if config.output.archive.write {
        let plan = archive_plan(folder, config)?;
        let warcs = path.join(archive::FOLDER);
        let at = |source| FolderError::from_reading(&warcs, source).with(Remedy::GoWithout);
        logs.push(Box::new(ArchiveLog::open(path, plan, end).map_err(at)?));
    }
    Ok(logs)
}

fn archive_plan(folder: &JobFolder, config: &Config) -> Result<ArchivePlan, CrawlError> {
    let earlier = config.output.archive.dedup_from.iter();
    let earlier: Result<_, ConfigProblem> = earlier
        .map(|folder| PreviousCrawl::open(folder, "dedup-from").map(|past| past.index()))
        .collect();
    let earlier = earlier.map_err(|problem| CrawlError::Config(vec![problem]))?;
    let name = folder.path().file_stem().unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let run = now.unwrap_or_default().as_nanos() as u64;
    let mut seed = [0; 16];
    seed[..8].copy_from_slice(&folder.seed().to_be_bytes());
    seed[8..].copy_from_slice(&run.to_be_bytes());
    Ok(ArchivePlan {
        name: name.to_string_lossy().into_owned(),
        coding: match config.output.archive.compression {
            Compression::Fast => WarcCompression::Gzip(Level::Fast),
            Compression::Balanced => WarcCompression::Gzip(Level::Balanced),
            Compression::Small => WarcCompression::Gzip(Level::Small),
            Compression::Zstd => WarcCompression::Zstd,
        },
        file_size: config.output.archive.file_size,
        info: archive::info(config, folder.seed()),
        seed,
        earlier,
    })
}

/// The place for exchanges that wait to be archived, if they are.
pub(crate) fn spool(folder: &JobFolder, config: &Config) -> Option<Arc<Spool>> {
    let secrets = if config.output.archive.keep_secrets {
        Secrets::Kept
    } else {
        Secrets::Replaced
    };
    let budget = MemoryPlan::new(config.output.memory.0).spool();
    let spool = Spool::new(folder.state_path(), budget, secrets);
    config.output.archive.write.then(|| Arc::new(spool))
}

fn read_note<T: DeserializeOwned>(
    store: &DiskStore,
    folder: &Path,
    name: &'static str,
) -> Result<Option<T>, CrawlError> {
    let Some(bytes) = store.note(name)? else {
        return Ok(None);
    };
    let damaged = |error: serde_json::Error| FolderError::Damaged {
        path: folder.join("state"),
        what: format!("{name}: {error}"),
        remedy: Remedy::StartAfresh,
    };
    Ok(Some(serde_json::from_slice(&bytes).map_err(damaged)?))
}

/// The tally as it was kept, and what the log says since then.
fn earlier(
    folder: &Path,
    note: &dyn Fn(&'static str) -> Result<Option<serde_json::Value>, CrawlError>,
    lost_log: Remedy,
) -> Result<EarlierRuns, CrawlError> {
    let read = |name, error: serde_json::Error| FolderError::Damaged {
        path: folder.join("state"),
        what: format!("{name}: {error}"),
        remedy: Remedy::StartAfresh,
    };
    let mut earlier = EarlierRuns {
        resumed: true,
        ..EarlierRuns::default()
    };
    if let Some(value) = note(TALLY_NOTE)? {
        (earlier.tally, earlier.tally_offset) =
            serde_json::from_value(value).map_err(|error| read(TALLY_NOTE, error))?;
    }
    if let Some(value) = note(SPENT_NOTE)? {
        earlier.spent = serde_json::from_value(value).map_err(|error| read(SPENT_NOTE, error))?;
    }
    if let Some(value) = note(STARTED_NOTE)? {
        earlier.started_at =
            serde_json::from_value(value).map_err(|error| read(STARTED_NOTE, error))?;
    }
    let path = folder.join(urls::FILE);
    let at = |source| FolderError::from_reading(&path, source).with(lost_log);
    for record in urls::records_from(&path, Offset(earlier.tally_offset)).map_err(at)? {
        earlier.tally.add(&record.map_err(at)?);
    }
    earlier.tally_offset = fs::metadata(&path).map_err(at)?.len();
    Ok(earlier)
}
