//! What the workers of a fleet left, made one ordinary finished job folder.
//!
//! Owns which records count, the order in which they stand, and the checks that all of them are
//! there, once. A worker never cuts anything back: of what it wrote, a record counts exactly if its
//! batch lies in a tenure of its worker and of the shard of its key. It refuses to know the database,
//! how folders got here, and the state of a crawl, which the library adds before the folder gets its
//! name. Invariants: the same folders and tenures give the same bytes; the folder has its name only
//! when it is whole; memory does not grow with the number of URLs (a batch of lines and links, the
//! table of tenures, 48 MiB of keys, and of one worker's archive what is left out).

mod archive_copy;
mod counting;
mod key_sorter;
mod log_copy;
mod member_ranges;
mod survey;
mod views;
mod worker_folder;

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clewline_core::fleet::Tenure;
use clewline_core::key::{Key, Keyer};
use clewline_core::url::CrawlUrl;
use thiserror::Error as ThisError;

pub use counting::MissingWorker;
pub use survey::{LostUrls, MergeSurvey};
pub use worker_folder::{BATCHES_FILE, BatchLine, FLEET_FILE, FORMAT, FleetFile, WORKERS, name_of};

use crate::report::{Report, StoppedBy};
use crate::{JobFile, JobFileError, durable};
use archive_copy::ArchiveCopy;
use counting::Counting;
use log_copy::LogCopy;
use worker_folder::WorkerFolder;

/// Workers that an error names.
const MOST_NAMED: usize = 20;

/// What happens if pages that counted are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPages {
    /// Nothing is made, and they are named.
    Refused,
    /// The folder is made without them, and its report says so.
    Allowed,
}

/// What is merged, and where to.
#[derive(Debug, Clone)]
pub struct MergePlan {
    /// Folders of workers, or of machines with a `workers/` in them.
    pub folders: Vec<PathBuf>,
    /// Who held which shard, if that was asked for; otherwise the folders say it.
    pub tenures: Option<Vec<Tenure>>,
    /// Why the job ended early, if it did and that was asked for, too.
    pub early: Option<String>,
    /// The folder that is made; it must not be there yet.
    pub output: PathBuf,
    /// What happens if something is missing.
    pub missing: MissingPages,
}

/// What was merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeSummary {
    /// Folders of workers that were read.
    pub workers: usize,
    /// Records that count: one for each URL.
    pub records: u64,
    /// Pages among them.
    pub pages: u64,
    /// Records that did not count and were left out.
    pub dropped: u64,
    /// Files of the archive.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Captures that do not count and were kept because others refer to them.
    pub originals: u64,
    /// Workers whose pages are not all there, with the tenures that lack some.
    pub missing: Vec<MissingWorker>,
    /// How the job ended.
    pub stopped_by: StoppedBy,
}

/// What is made before the folder gets its name: the state, which the library knows.
pub struct MergeDraft<'a> {
    /// The folder so far, whole but for its state.
    pub folder: &'a Path,
    /// Its report.
    pub report: &'a Report,
    /// Hosts that joined the scope.
    pub joined: &'a [CrawlUrl],
}

/// Makes what only the library can make of a folder.
pub type FinishDraft<'a> =
    dyn FnMut(&MergeDraft<'_>) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// Why nothing was merged.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum MergeError {
    /// The folder is there already.
    #[error("{} is there already; name another folder, or move it away", .0.display())]
    Exists(PathBuf),
    /// No worker left anything at this place.
    #[error(
        "{} is no folder of a worker and has none in {WORKERS}/; name what was given to -o",
        .0.display()
    )]
    NoWorkers(PathBuf),
    /// Nobody says who held which shard.
    #[error(
        "no {FLEET_FILE} says who held which shard: the job has not ended, or no worker saw its end; \
         name the fleet's database"
    )]
    NoTenures,
    /// Two folders are not of one job.
    #[error("{} is of another job than {}: {what}", path.display(), other.display())]
    OtherJob {
        /// A folder.
        path: PathBuf,
        /// Another one.
        other: PathBuf,
        /// What differs.
        what: String,
    },
    /// Two folders claim to be of one process.
    #[error("{} and {} are both of worker {worker}; name one of them", one.display(), other.display())]
    Twice {
        /// Whose.
        worker: String,
        /// A folder.
        one: PathBuf,
        /// Another one.
        other: PathBuf,
    },
    /// Pages that counted are not there.
    #[error(
        "{} pages of {} are missing:\n  {}\nname their folders too, or say --requeue-missing to fetch \
         these pages again, or --allow-missing to go on without them",
        pages_of(.0), workers(.0.len()), named(.0)
    )]
    Missing(Vec<MissingWorker>),
    /// More pages count than the fleet counted: a defect.
    #[error(
        "worker {worker} has {found} pages of shard {} in epoch {}, but {} were counted: this is a \
         defect of clewline, please report it", tenure.shard.0, tenure.epoch, tenure.pages
    )]
    Surplus {
        /// Whose.
        worker: String,
        /// In which tenure.
        tenure: Tenure,
        /// How many there are.
        found: u64,
    },
    /// A URL counts twice: a defect.
    #[error(
        "the key {key} counts twice, in worker {one} and in worker {other}: this is a defect of \
         clewline, please report it"
    )]
    CountedTwice {
        /// Of the URL.
        key: Key,
        /// Who has it.
        one: String,
        /// Who has it, too.
        other: String,
    },
    /// What a worker left cannot be read; without its folder it counts as missing.
    #[error("{} is damaged: {what}; without this worker's folder, its pages count as missing", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The folder of a worker.
    #[error(transparent)]
    Job(#[from] JobFileError),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The state could not be made.
    #[error("the state of the merged crawl could not be made: {0}")]
    State(Box<dyn Error + Send + Sync>),
}

impl MergeError {
    fn io(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                let text = source.to_string();
                let known = format!("{}: ", path.display());
                Self::damaged(path, text.strip_prefix(&known).unwrap_or(&text))
            }
            _ => Self::Io {
                path: path.into(),
                source,
            },
        }
    }

    fn damaged(path: &Path, what: &str) -> Self {
        Self::Damaged {
            path: path.into(),
            what: what.to_owned(),
        }
    }
}

fn pages_of(missing: &[MissingWorker]) -> u64 {
    missing.iter().map(|worker| worker.pages).sum()
}

fn workers(count: usize) -> String {
    format!("{count} worker{}", if count == 1 { "" } else { "s" })
}

fn named(missing: &[MissingWorker]) -> String {
    let mut text = String::new();
    for (number, worker) in missing.iter().take(MOST_NAMED).enumerate() {
        let before = if number == 0 { "" } else { "\n  " };
        write!(text, "{before}{worker}").expect("text takes text");
    }
    if missing.len() > MOST_NAMED {
        write!(text, "\n  and {} more", missing.len() - MOST_NAMED).expect("text takes text");
    }
    text
}

/// The folders of all workers, in the order in which they are merged, and what they have in common.
struct Sources {
    workers: Vec<WorkerFolder>,
    counting: Counting,
    stopped_by: StoppedBy,
    joined: Vec<CrawlUrl>,
    keyer: Keyer,
    seed: u64,
    job: String,
}

impl Sources {
    fn open(plan: &MergePlan) -> Result<Self, MergeError> {
        let workers = in_order(found(plan)?)?;
        let Some(first) = workers.first() else {
            let none = plan.folders.first().cloned().unwrap_or_default();
            return Err(MergeError::NoWorkers(none));
        };
        for other in &workers[1..] {
            check_same_job(first, other)?;
        }
        let (tenures, early) = match &plan.tenures {
            Some(tenures) => (tenures.clone(), plan.early.clone()),
            None => last_table(&workers).ok_or(MergeError::NoTenures)?,
        };
        let file = first.file.clone();
        let settings = JobFile::read(&first.path)?.settings;
        Ok(Self {
            keyer: settings.keyer(file.seed),
            counting: Counting::new(file.bits, tenures),
            stopped_by: StoppedBy::in_fleet(early.as_deref()),
            joined: joined(&workers),
            seed: file.seed,
            job: file.job,
            workers,
        })
    }

    /// Workers that are not there at all.
    fn absent(&self) -> Vec<MissingWorker> {
        let there: HashSet<u64> = self.workers.iter().map(|it| it.file.worker).collect();
        self.counting.absent(&there)
    }
}

/// The folders that the plan names, each once.
fn found(plan: &MergePlan) -> Result<Vec<WorkerFolder>, MergeError> {
    let mut workers: BTreeMap<u64, WorkerFolder> = BTreeMap::new();
    for path in &plan.folders {
        for folder in WorkerFolder::find(path)? {
            let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
            match workers.get(&folder.file.worker) {
                Some(known) if whole(&known.path) != whole(&folder.path) => {
                    return Err(MergeError::Twice {
                        worker: folder.name(),
                        one: known.path.clone(),
                        other: folder.path,
                    });
                }
                _ => workers.insert(folder.file.worker, folder),
            };
        }
    }
    Ok(workers.into_values().collect())
}

/// By the moment of their first line, so that roots stand near the beginning, as in any crawl.
fn in_order(workers: Vec<WorkerFolder>) -> Result<Vec<WorkerFolder>, MergeError> {
    let mut dated = Vec::new();
    for worker in workers {
        let first = log_copy::first_moment(&worker)?;
        dated.push((first.is_none(), first, worker.file.worker, worker));
    }
    dated.sort_by(|left, right| (left.0, &left.1, left.2).cmp(&(right.0, &right.1, right.2)));
    Ok(dated.into_iter().map(|(.., worker)| worker).collect())
}

fn check_same_job(one: &WorkerFolder, other: &WorkerFolder) -> Result<(), MergeError> {
    let (left, right) = (&one.file, &other.file);
    let what = if left.job != right.job {
        format!("{} and {}", left.job, right.job)
    } else if left.seed != right.seed {
        "the seeds of their keys differ".to_owned()
    } else if left.bits != right.bits {
        "their keys are cut into shards in two ways".to_owned()
    } else {
        return Ok(());
    };
    Err(MergeError::OtherJob {
        path: other.path.clone(),
        other: one.path.clone(),
        what,
    })
}

/// The table that knows most, and why the job ended early, if it did. All were written after the end
/// of the job, so they only differ if some of it was done again after that.
fn last_table(workers: &[WorkerFolder]) -> Option<(Vec<Tenure>, Option<String>)> {
    let tables = workers.iter().filter_map(|it| {
        let table = it.file.tenures.as_ref()?;
        Some((table, &it.file.early))
    });
    let reach = |(table, _): &(&Vec<Tenure>, &Option<String>)| {
        let batches = table.iter().filter_map(|it| it.batches);
        let counted: u64 = batches.map(|(first, last)| last - first + 1).sum();
        (table.iter().map(|it| it.epoch).sum::<u64>(), counted)
    };
    let (table, early) = tables.max_by_key(reach)?;
    Some((table.clone(), early.clone()))
}

/// Hosts that joined the scope; who wrote more of them down heard of more.
fn joined(workers: &[WorkerFolder]) -> Vec<CrawlUrl> {
    let lists = workers.iter().filter_map(|it| it.file.joined.as_ref());
    lists
        .max_by_key(|list| list.len())
        .cloned()
        .unwrap_or_default()
}

/// Merges; `finish` makes the state.
pub fn merge(plan: &MergePlan, finish: &mut FinishDraft<'_>) -> Result<MergeSummary, MergeError> {
    if plan.output.symlink_metadata().is_ok() {
        return Err(MergeError::Exists(plan.output.clone()));
    }
    let mut sources = Sources::open(plan)?;
    let mut summary = MergeSummary {
        workers: sources.workers.len(),
        missing: sources.absent(),
        stopped_by: sources.stopped_by.clone(),
        ..MergeSummary::default()
    };
    refuse_missing(plan, &summary.missing)?;
    let above = durable::parent(&plan.output);
    durable::make_folder(above).map_err(|error| MergeError::io(above, error))?;
    let scratch = tempfile::Builder::new()
        .prefix(".merge-")
        .tempdir_in(above)
        .map_err(|error| MergeError::io(above, error))?;
    let draft = scratch.path().join("job");
    fs::create_dir(&draft).map_err(|error| MergeError::io(&draft, error))?;

    let copied = LogCopy::begin(&draft, scratch.path())?.run(&mut sources)?;
    (summary.records, summary.pages) = (copied.tally.done, copied.tally.pages);
    summary.dropped = copied.dropped;
    check_pages(plan, &sources.counting, &mut summary)?;
    let archived = ArchiveCopy::begin(&draft, scratch.path(), &sources)?.run()?;
    (summary.files, summary.bytes) = (archived.files, archived.bytes);
    summary.originals = archived.originals;
    let report = views::write(&draft, plan, &sources, copied, &summary)?;
    finish(&MergeDraft {
        folder: &draft,
        report: &report,
        joined: &sources.joined,
    })
    .map_err(MergeError::State)?;
    durable::sync_folder(&draft)
        .and_then(|()| fs::rename(&draft, &plan.output))
        .and_then(|()| durable::sync_folder(above))
        .map_err(|error| MergeError::io(&plan.output, error))?;
    Ok(summary)
}

fn refuse_missing(plan: &MergePlan, missing: &[MissingWorker]) -> Result<(), MergeError> {
    if missing.is_empty() || plan.missing == MissingPages::Allowed {
        return Ok(());
    }
    Err(MergeError::Missing(missing.to_vec()))
}

/// Compares what was found of each tenure with what was counted.
fn check_pages(
    plan: &MergePlan,
    counting: &Counting,
    summary: &mut MergeSummary,
) -> Result<(), MergeError> {
    if let Some(surplus) = counting.surplus() {
        return Err(MergeError::Surplus {
            worker: name_of(surplus.tenure.worker),
            tenure: surplus.tenure,
            found: surplus.found,
        });
    }
    let absent: HashSet<u64> = summary.missing.iter().map(|it| it.worker).collect();
    let short = counting.short().into_iter();
    let short: Vec<_> = short.filter(|it| !absent.contains(&it.worker)).collect();
    refuse_missing(plan, &short)?;
    summary.missing.extend(short);
    Ok(())
}
