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
mod events;
mod hosts;
mod jobs;
mod metrics;
mod openapi;
mod orders;
mod reply;
mod urls;

use std::path::PathBuf;
use std::sync::Arc;

use clewline::Change;

use self::access::{Access, Right};
use self::audit::AuditLog;
use self::events::Watches;
pub(crate) use self::jobs::JobPlaces;
use self::orders::SeenKeys;
use self::reply::Problem;
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
    access: Access,
    commands: Option<JobCommands>,
    audit: AuditLog,
    watches: Watches,
    keys: SeenKeys,
}

impl App {
    /// An app over the jobs of some paths. Without commands nothing can be changed.
    pub(crate) fn new(jobs: Arc<JobPlaces>, access: Access, commands: Option<JobCommands>) -> Self {
        Self {
            audit: AuditLog::for_places(&jobs),
            watches: Watches::new(Arc::clone(&jobs)),
            jobs,
            access,
            commands,
            keys: SeenKeys::default(),
        }
    }

    pub(crate) const fn access(&self) -> &Access {
        &self.access
    }

    /// Whether there is a job at all, or may be one.
    pub(crate) fn has_jobs(&self) -> bool {
        self.jobs.is_folder() || !self.jobs.all().is_empty()
    }

    /// Whether anybody may change something.
    pub(crate) const fn can_change(&self) -> bool {
        self.commands.is_some()
    }

    /// Whether a path is the app's, whatever is asked of it.
    pub(crate) fn owns(&self, path: &str) -> bool {
        path == "/metrics" || path == "/api/v1" || path.starts_with("/api/v1/")
    }

    /// Answers what is the app's to answer.
    pub(crate) fn answer(&self, request: &ServerRequest, right: Right) -> Option<ServerAnswer> {
        let path = request.path();
        let reply = match path {
            "/metrics" => metrics::scraped(&self.jobs).map_err(Problem::from),
            _ => match path.strip_prefix("/api/v1") {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    api::answer(self, request, rest, right)
                }
                _ => return None,
            },
        };
        Some(reply.map_or_else(|problem| problem.answer(), |reply| reply.answer(request)))
    }
}
