//! The tool `crawl`: a job that begins here and is asked for by `status`.
//!
//! Owns the limits of such a job, its folder and its end. It refuses to know how a crawl works.
//! Invariants: a job never takes the place of another one, at most [`MOST_AT_ONCE`] run at a time, and
//! all of them have stopped when the door is closed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clewline::{Control, Crawl};
use serde_json::{Map, json};

use crate::answer::ToolAnswer;
use crate::arguments::CrawlCall;
use crate::door::AssistantDoor;
use crate::fetch::parsed_root;

/// Crawls that run at a time.
const MOST_AT_ONCE: usize = 2;
/// Pages of a crawl, unless the call says otherwise.
pub(crate) const USUAL_PAGES: u64 = 200;
/// Pages of a crawl at the most.
pub(crate) const MOST_PAGES: u64 = 10_000;
/// Bytes of a crawl at the most.
const MOST_BYTES: u64 = 2 << 30;
/// How long a crawl may take.
const LONGEST: Duration = Duration::from_hours(6);
/// Jobs of one host beside each other.
const MOST_OF_HOST: usize = 1000;
/// How the names of job folders end.
const ENDING: &str = ".crawl";
/// Ends that are remembered.
const MOST_ENDED: usize = 100;

/// How a crawl ended that could not go on.
type CrawlFaults = Arc<Mutex<Vec<(String, String)>>>;

/// The crawls that this door began.
#[derive(Debug, Default)]
pub(crate) struct RunningCrawls {
    running: Vec<RunningCrawl>,
    faults: CrawlFaults,
}

#[derive(Debug)]
struct RunningCrawl {
    control: Control,
    thread: JoinHandle<()>,
}

impl RunningCrawls {
    /// Forgets those that have ended.
    fn tidy(&mut self) {
        self.running.retain(|crawl| !crawl.thread.is_finished());
    }

    pub(crate) fn stop_all(&mut self) {
        for crawl in &self.running {
            crawl.control.stop(Crawl::GRACE);
        }
        for crawl in self.running.drain(..) {
            // A crawl that panicked has nothing to say any more.
            let _ = crawl.thread.join();
        }
    }

    #[cfg(test)]
    pub(crate) fn wait_for_all(&mut self) {
        for crawl in self.running.drain(..) {
            crawl.thread.join().expect("a crawl ends");
        }
    }

    /// Why a crawl of this door could not go on.
    pub(crate) fn fault(&self, job: &str) -> Option<String> {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let found = faults.iter().rev().find(|(name, _)| name == job);
        found.map(|(_, why)| why.clone())
    }
}

impl AssistantDoor {
    pub(crate) fn crawls(&self) -> MutexGuard<'_, RunningCrawls> {
        self.crawls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a crawl.
    pub(crate) fn crawl(&self, call: &CrawlCall) -> Result<ToolAnswer, ToolAnswer> {
        let Some(folder) = self.shelf.folder() else {
            let hint = "start `clewline mcp` with a folder of jobs to crawl from here";
            return Err(ToolAnswer::refused(
                "this door shows one job, and starts none",
                hint,
            ));
        };
        let root = parsed_root(&call.url)?;
        let pages = call.max_pages.unwrap_or(USUAL_PAGES).clamp(1, MOST_PAGES);
        let mut crawls = self.crawls();
        crawls.tidy();
        if crawls.running.len() >= MOST_AT_ONCE {
            let error = format!("{MOST_AT_ONCE} crawls are running");
            return Err(ToolAnswer::refused(
                error,
                "ask `status` until one has ended",
            ));
        }
        let (name, path) = free_folder(folder, root.url.host())?;
        let mut config = self.config.clone();
        config.roots = vec![root];
        config.limits.pages = Some(pages);
        config.limits.bytes = Some(config.limits.bytes.unwrap_or(MOST_BYTES));
        config.limits.time = Some(config.limits.time.unwrap_or(LONGEST));
        config.limits.depth = call.depth.or(config.limits.depth);
        config.output.folder = Some(path);
        let running = Crawl::from_config(config).run();
        let running = running
            .map_err(|error| ToolAnswer::refused(error.to_string(), "nothing was crawled"))?;
        let (control, faults) = (running.control(), Arc::clone(&crawls.faults));
        let job = name.clone();
        let wait = move || {
            let error = match running.wait() {
                Ok(summary) => summary.error.map(|error| error.to_string()),
                Err(error) => Some(error.to_string()),
            };
            let mut faults = faults.lock().unwrap_or_else(PoisonError::into_inner);
            if faults.len() < MOST_ENDED {
                faults.extend(error.map(|error| (job, error)));
            }
        };
        let thread = thread::Builder::new().name("crawl".to_owned()).spawn(wait);
        let thread = thread.map_err(|error| {
            ToolAnswer::refused(
                error.to_string(),
                "the machine has no room for another thread",
            )
        })?;
        crawls.running.push(RunningCrawl { control, thread });
        let mut fields = Map::new();
        fields.insert("job".to_owned(), json!(name));
        fields.insert("state".to_owned(), json!("running"));
        fields.insert("max_pages".to_owned(), json!(pages));
        let next =
            "ask `status` with this job until it has ended; `search` and `read` work meanwhile";
        fields.insert("next".to_owned(), json!(next));
        Ok(ToolAnswer::from_fields(&fields))
    }
}

/// The first name of a host that is free.
fn free_folder(folder: &Path, host: &str) -> Result<(String, PathBuf), ToolAnswer> {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') => c,
        _ => '_',
    };
    let host: String = host.chars().map(plain).collect();
    let host = host.trim_start_matches('.');
    fs::create_dir_all(folder).map_err(|error| {
        ToolAnswer::refused(
            format!("the folder of jobs: {error}"),
            "start with another folder",
        )
    })?;
    let mut names = (1..=MOST_OF_HOST).map(|number| match number {
        1 => format!("{host}{ENDING}"),
        number => format!("{host}-{number}{ENDING}"),
    });
    let found = names.find(|name| !folder.join(name).exists());
    let full = || ToolAnswer::refused("there are too many jobs of this host", "remove some");
    let name = found.ok_or_else(full)?;
    let path = folder.join(&name);
    Ok((name, path))
}
