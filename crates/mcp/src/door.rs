//! The door: which tool does what, with what was allowed at the start.
//!
//! Owns the way from the name of a tool to its answer, and what all calls share. It refuses to know the
//! protocol. Invariant: what a call changes is a new job in the folder and nothing else, and no
//! failure of a tool ends the door.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;

use clewline_job::config::Config;
use serde_json::{Map, Value};

use crate::answer::ToolAnswer;
use crate::arguments::read;
use crate::crawls::RunningCrawls;
use crate::fetch::FetchedPages;
use crate::jobs::JobShelf;

/// What the one who starts the door decides.
#[derive(Debug, Clone)]
pub struct DoorSettings {
    /// A job, or a folder of jobs.
    pub place: PathBuf,
    /// How crawls go; roots, folder and limits are set by each call.
    pub config: Config,
}

/// A crawler and its archives, as tools.
#[derive(Debug)]
pub struct AssistantDoor {
    pub(crate) config: Config,
    pub(crate) shelf: JobShelf,
    pub(crate) fetched: Mutex<FetchedPages>,
    pub(crate) crawls: Mutex<RunningCrawls>,
}

impl AssistantDoor {
    /// Opens the door; nothing is read or written yet.
    pub fn new(settings: DoorSettings) -> Self {
        Self {
            config: settings.config,
            shelf: JobShelf::new(settings.place),
            fetched: Mutex::default(),
            crawls: Mutex::default(),
        }
    }

    /// Does what a call asks for.
    pub fn call(&self, tool: &str, arguments: &Map<String, Value>) -> ToolAnswer {
        // A bug that one page finds must not close the door. What calls share is a cache, the turns of
        // hosts and the list of crawls, each of which is sound after every step.
        let called = catch_unwind(AssertUnwindSafe(|| self.answer(tool, arguments)));
        if let Ok(Ok(answer) | Err(answer)) = called {
            return answer;
        }
        let hint = "try another page; please report this one";
        ToolAnswer::refused(format!("{tool} broke on this call, which is a bug"), hint)
    }

    fn answer(&self, tool: &str, given: &Map<String, Value>) -> Result<ToolAnswer, ToolAnswer> {
        match tool {
            "fetch" => self.fetch(read(given)?),
            "search" => self.search(&read(given)?),
            "read" => self.read(read(given)?),
            "crawl" => self.crawl(&read(given)?),
            "status" => self.status(&read(given)?),
            "check" => self.check(&read(given)?),
            other => {
                let hint = "there are fetch, search, read, crawl, status and check";
                Err(ToolAnswer::refused(
                    format!("there is no tool {other:?}"),
                    hint,
                ))
            }
        }
    }

    /// Stops the crawls that calls began, each at a place from which it can be resumed.
    pub fn close(&self) {
        self.crawls().stop_all();
    }
}
