//! A job on disk, opened: new, or where an earlier run left it.
//!
//! Owns recovery. The store's last commit is the truth: every log is cut back to the offset
//! that was committed with it, and what is cut off is kept aside; a log that is shorter than
//! the commit says is damage, and damage is named, never repaired in silence.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clewline_core::cookies::CookieJar;
use clewline_core::frontier::{Frontier, FrontierState, Rules};
use clewline_warc::Coding;
use serde::de::DeserializeOwned;

use crate::clock::timestamp;
use crate::config::{Compression, Config};
use crate::crawl::CrawlError;
use crate::engine::{COOKIES_NOTE, Earlier, FRONTIER_NOTE, SPENT_NOTE, STARTED_NOTE, TALLY_NOTE};
use crate::exchange::{Secrets, Spool};
use crate::folder::{Beginning, FolderError, JobFolder};
use crate::log::archive::{self, ArchiveLog, ArchivePlan, Position, Tails};
use crate::log::{LinksLog, Log, Offset, UrlsLog, links, urls};
use crate::store::{DiskStore, MemoryPlan};

/// A tail behind the committed offset is at most a few batches; more is not ours to cut.
const LONGEST_TAIL: u64 = 256 * 1024 * 1024;

/// Where bytes are kept that no commit knew.
const TAILS: &str = "state/tails";

/// The share of the crawl's memory that may hold exchanges on their way to the archive.
const SPOOL_SHARE: u64 = 4;

/// What a run takes up from a job folder.
pub(crate) struct OpenJob {
    pub(crate) frontier: Frontier<DiskStore>,
    pub(crate) logs: Vec<Box<dyn Log>>,
    pub(crate) cookies: Option<CookieJar>,
    pub(crate) earlier: Earlier,
}

/// Opens the state and the logs of a job folder.
pub(crate) fn open(
    folder: &JobFolder,
    config: &Config,
    mut rules: Rules,
) -> Result<OpenJob, CrawlError> {
    let plan = MemoryPlan::of(config.output.memory.0);
    let store = DiskStore::open(&folder.store_path(), rules.keyer.clone(), plan)?;
    if folder.beginning() == Beginning::Afresh {
        let frontier = Frontier::new(rules, store);
        let logs = open_logs(folder, config, Offset(0))?;
        return Ok(OpenJob {
            frontier,
            logs,
            cookies: None,
            earlier: Earlier::default(),
        });
    }
    for (name, file) in [(urls::NAME, urls::FILE), (links::NAME, links::FILE)] {
        let offset = store.offset(name)?.unwrap_or(0);
        cut_back(folder.path(), Path::new(file), offset)?;
    }
    let end = Offset(store.offset(archive::NAME)?.unwrap_or(0));
    let tails = folder.path().join(TAILS);
    archive::take_back(
        &folder.path().join(archive::FOLDER),
        Position::of(end),
        Tails::Kept(&tails),
    )
    .map_err(|source| FolderError::Io {
        path: folder.path().join(archive::FOLDER),
        source,
    })?;
    let logs = open_logs(folder, config, end)?;
    let note = |name| read_note(&store, folder.path(), name);
    let state: Option<FrontierState> = read_note(&store, folder.path(), FRONTIER_NOTE)?;
    let cookies = read_note(&store, folder.path(), COOKIES_NOTE)?;
    let earlier = earlier(folder.path(), &note)?;
    if let Some(time) = &mut rules.limits.time {
        *time = time.saturating_sub(earlier.spent);
    }
    let mut frontier = Frontier::new(rules, store);
    if let Some(state) = state {
        frontier.restore(state);
    }
    Ok(OpenJob {
        frontier,
        logs,
        cookies,
        earlier,
    })
}

/// Opens the logs; the archive goes on after `end`, the others where they end.
pub(crate) fn open_logs(
    folder: &JobFolder,
    config: &Config,
    end: Offset,
) -> Result<Vec<Box<dyn Log>>, CrawlError> {
    let path = folder.path();
    let at = |source| FolderError::Io {
        path: path.to_path_buf(),
        source,
    };
    let mut logs: Vec<Box<dyn Log>> = vec![
        Box::new(UrlsLog::open(path).map_err(at)?),
        Box::new(LinksLog::open(path).map_err(at)?),
    ];
    if config.output.archive.write {
        let plan = archive_plan(folder, config);
        logs.push(Box::new(ArchiveLog::open(path, plan, end).map_err(at)?));
    }
    Ok(logs)
}

fn archive_plan(folder: &JobFolder, config: &Config) -> ArchivePlan {
    let name = folder.path().file_stem().unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let run = now.unwrap_or_default().as_nanos() as u64;
    let mut seed = [0; 16];
    seed[..8].copy_from_slice(&folder.seed().to_be_bytes());
    seed[8..].copy_from_slice(&run.to_be_bytes());
    ArchivePlan {
        name: name.to_string_lossy().into_owned(),
        coding: match config.output.archive.compression {
            Compression::Gzip => Coding::Gzip,
            Compression::Zstd => Coding::Zstd,
        },
        file_size: config.output.archive.file_size,
        info: archive::info(config),
        seed,
    }
}

/// The place for exchanges that wait to be archived, if they are.
pub(crate) fn spool(folder: &JobFolder, config: &Config) -> Option<Arc<Spool>> {
    let secrets = if config.output.archive.keep_secrets {
        Secrets::Kept
    } else {
        Secrets::Replaced
    };
    let budget = config.output.memory.0 / SPOOL_SHARE;
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
    };
    Ok(Some(serde_json::from_slice(&bytes).map_err(damaged)?))
}

/// The tally as it was kept, and what the log says since then.
fn earlier(
    folder: &Path,
    note: &dyn Fn(&'static str) -> Result<Option<serde_json::Value>, CrawlError>,
) -> Result<Earlier, CrawlError> {
    let read = |name, error: serde_json::Error| FolderError::Damaged {
        path: folder.join("state"),
        what: format!("{name}: {error}"),
    };
    let mut earlier = Earlier {
        resumed: true,
        ..Earlier::default()
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
    let at = |source| FolderError::Io {
        path: path.clone(),
        source,
    };
    for record in urls::records_from(&path, Offset(earlier.tally_offset)).map_err(at)? {
        earlier.tally.add(&record.map_err(at)?);
    }
    earlier.tally_offset = fs::metadata(&path).map_err(at)?.len();
    Ok(earlier)
}

/// Cuts a log back to its committed offset; the tail is kept under `state/tails`.
fn cut_back(folder: &Path, file: &Path, offset: u64) -> Result<(), FolderError> {
    let path = folder.join(file);
    let at = |source| FolderError::Io {
        path: path.clone(),
        source,
    };
    let length = match fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && offset == 0 => return Ok(()),
        Err(source) => return Err(at(source)),
    };
    let damaged = |what: String| FolderError::Damaged {
        path: path.clone(),
        what,
    };
    if length < offset {
        let what = format!("it has {length} bytes where the last commit saw {offset}");
        return Err(damaged(what));
    }
    if length - offset > LONGEST_TAIL {
        let what = format!(
            "{} bytes follow the last commit, too many to cut",
            length - offset
        );
        return Err(damaged(what));
    }
    if length > offset {
        let mut log = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(at)?;
        let mut tail = Vec::new();
        log.seek(SeekFrom::Start(offset)).map_err(at)?;
        log.read_to_end(&mut tail).map_err(at)?;
        let kept = tail_path(folder, file);
        let parent = kept.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(at)?;
        fs::write(&kept, &tail).map_err(at)?;
        log.set_len(offset).map_err(at)?;
        log.sync_all().map_err(at)?;
    }
    Ok(())
}

fn tail_path(folder: &Path, file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    folder
        .join(TAILS)
        .join(format!("{name}.{}", timestamp().replace(':', "-")))
}
