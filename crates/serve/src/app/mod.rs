//! The app: every job of a place, for people, for programs and for a scraper of metrics.
//!
//! Owns what the server knows beside archives: the jobs, who may do what, and the paths that lead to
//! them. It refuses to know how a crawl works (the library is asked), how pages look, and how a
//! command is started (whoever starts the server lends that). Invariants: nothing in a request names
//! a path; whatever changes something needs the right to operate, comes from the app's own origin, and
//! leaves a line in the audit log; every list is bounded, and has a cursor.

pub(crate) mod access;
mod api;
mod audit;
mod background;
mod changes;
mod events;
mod findings;
mod fleet;
mod hosts;
mod jobs;
mod metrics;
mod openapi;
mod orders;
mod reply;
mod show;
mod sorted;
mod urls;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clewline::Change;

use self::access::{Access, Right};
use self::audit::AuditLog;
use self::changes::ChangesCache;
use self::events::Watches;
use self::findings::FindingsShelf;
use self::fleet::FleetShelf;
pub use self::fleet::{FleetCounts, FleetStanding, FleetSteer, ServedFleet};
pub(crate) use self::jobs::JobPlaces;
use self::metrics::RequestTimes;
use self::orders::RequestKeys;
pub(crate) use self::show::ArchiveNow;
use self::sorted::SortCache;
use crate::search::{self, Shelf};
use crate::server::{ServerAnswer, ServerRequest};

/// A crawl that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Where it begins; each is a URL of the schemes http and https.
    pub urls: Vec<String>,
    /// Settings by the names of their flags, each among [`STARTABLE`].
    pub settings: Vec<(String, String)>,
    /// The folder, which does not exist yet.
    pub folder: PathBuf,
}

/// The settings that a request may name. None of them is a path, a command, a proxy, a resolver, a
/// header or an address range.
pub const STARTABLE: [&str; 16] = [
    "concurrency",
    "delay",
    "depth",
    "exclude",
    "host-concurrency",
    "include",
    "max-bytes",
    "max-pages",
    "max-pages-per-host",
    "max-time",
    "no-parent",
    "no-sitemaps",
    "page-requisites",
    "rate",
    "scope",
    "speed",
];

/// Indexes that are open at once.
const MOST_SEARCHES: usize = 32;
/// What paths for programs begin with.
const PROGRAMS: [&str; 2] = ["/api", "/metrics"];
/// What paths of pages begin with; `/jobs/NAME` stands before them where there are several jobs.
const PAGES: [&str; 14] = [
    "/actions",
    "/changes",
    "/exclude",
    "/roots",
    "/captures",
    "/delete",
    "/hosts",
    "/issues",
    "/jobs",
    "/pages",
    "/search",
    "/settings",
    "/start",
    "/why",
];

type Starting = dyn Fn(&NewJob) -> Result<(), String> + Send + Sync;
type Resuming = dyn Fn(&std::path::Path) -> Result<(), String> + Send + Sync;
type Figuring = dyn Fn(&str, &str) -> Result<Change, String> + Send + Sync;

/// What the server may do with jobs, lent by whoever has the commands for it.
pub struct JobCommands {
    /// Starts a crawl as a process of its own, or says why that is not possible.
    pub start: Box<Starting>,
    /// Goes on with the crawl in a folder, likewise.
    pub resume: Box<Resuming>,
    /// Reads a figure by the name and in the form of its flag.
    pub figure: Box<Figuring>,
}

impl std::fmt::Debug for JobCommands {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("JobCommands").finish_non_exhaustive()
    }
}

/// All that answers beside the archive.
#[derive(Debug)]
pub(crate) struct App {
    jobs: Arc<JobPlaces>,
    /// Instead of jobs.
    fleet: Option<Arc<FleetShelf>>,
    access: Access,
    commands: Option<JobCommands>,
    audit: AuditLog,
    watches: Watches,
    keys: RequestKeys,
    searches: Mutex<HashMap<PathBuf, Arc<Shelf>>>,
    findings: FindingsShelf,
    changes: ChangesCache,
    sorted: SortCache,
    requests: RequestTimes,
}

impl App {
    /// An app over the jobs of some paths. Without commands nothing can be changed.
    pub(crate) fn new(jobs: Arc<JobPlaces>, access: Access, commands: Option<JobCommands>) -> Self {
        Self {
            audit: AuditLog::for_places(&jobs),
            watches: Watches::new(Arc::clone(&jobs)),
            jobs,
            fleet: None,
            access,
            commands,
            keys: RequestKeys::default(),
            searches: Mutex::default(),
            findings: FindingsShelf::default(),
            changes: ChangesCache::new("compare"),
            sorted: SortCache::new("sort"),
            requests: RequestTimes::new(),
        }
    }

    /// An app that shows a fleet, and no job folder.
    pub(crate) fn of_fleet(
        fleet: ServedFleet,
        access: Access,
        commands: Option<JobCommands>,
    ) -> Self {
        let none = Arc::new(JobPlaces::from_paths(&[]));
        let fleet = Arc::new(FleetShelf::new(fleet));
        Self {
            watches: Watches::of_fleet(Arc::clone(&none), Arc::clone(&fleet)),
            fleet: Some(fleet),
            ..Self::new(none, access, commands)
        }
    }

    pub(crate) const fn access(&self) -> &Access {
        &self.access
    }

    pub(crate) const fn requests(&self) -> &RequestTimes {
        &self.requests
    }

    /// Whether there is a job at all, or may be one.
    pub(crate) fn has_jobs(&self) -> bool {
        self.fleet.is_some() || self.jobs.is_folder() || !self.jobs.all().is_empty()
    }

    /// Whether anybody may change something.
    pub(crate) const fn can_change(&self) -> bool {
        self.commands.is_some()
    }

    /// Whether a path is the app's, whatever is asked of it.
    pub(crate) fn owns(&self, path: &str) -> bool {
        let is_first = |first: &str| {
            let rest = path.strip_prefix(first);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_page = self.has_jobs() && (path == "/" || PAGES.iter().any(|first| is_first(first)));
        is_page || PROGRAMS.iter().any(|first| is_first(first))
    }

    /// The only job, whose pages lie at the root.
    fn only(&self) -> Option<(String, PathBuf)> {
        let mut jobs = if self.jobs.is_folder() {
            Vec::new()
        } else {
            self.jobs.all()
        };
        match jobs.len() {
            1 => jobs.pop(),
            _ => None,
        }
    }

    /// Answers with the search in a job, whose index is made when somebody searches first.
    fn searched(&self, job: &Path, base: &str, request: &ServerRequest) -> ServerAnswer {
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        if searches.len() >= MOST_SEARCHES && !searches.contains_key(job) {
            searches.clear();
        }
        let index = searches
            .entry(job.to_owned())
            .or_insert_with(|| Arc::new(Shelf::for_job(job)));
        let index = Arc::clone(index);
        drop(searches);
        search::answer(request, &index, base)
    }

    /// Answers what is the app's to answer.
    pub(crate) fn answer(
        &self,
        request: &ServerRequest,
        right: Right,
        archive: &ArchiveNow<'_>,
    ) -> Option<ServerAnswer> {
        let path = request.path();
        let reply = match path {
            "/metrics" => Ok(metrics::scraped(self)),
            _ => match path.strip_prefix("/api/v1") {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    api::answer(self, request, rest, right)
                }
                _ => return show::answer(self, request, right, archive),
            },
        };
        Some(reply.map_or_else(|problem| problem.answer(), |reply| reply.answer(request)))
    }
}
