//! A search page beside the replay of an archive.
//!
//! Owns the composition of the replay server and the search: the paths `/search` (HTML) and
//! `/api/search` (JSON), what they are asked with, and how results look. It refuses to know how
//! pages are indexed, found and replayed. Invariants: whatever comes from a page or a request is
//! escaped; the page loads nothing, and no script runs on it but its own; every size that a
//! request can ask for is bounded.
//!
//! ```no_run
//! use std::path::{Path, PathBuf};
//! use clewline_archive::Archive;
//! use clewline_archive::serve::{Mode, Scripts, ServeConfig, Server};
//!
//! let job = Path::new("example.com.crawl");
//! let config = ServeConfig {
//!     address: "127.0.0.1:8020".parse()?,
//!     mode: Mode::Pages,
//!     scripts: Scripts::Blocked,
//!     at: None,
//! };
//! let server = Server::bind(Archive::open(&[PathBuf::from(job)])?, config)?;
//! server.with_guest(clewline_serve::search_of(job)).run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

mod api;
mod page;
mod policy;
mod question;
mod shelf;

use std::path::Path;

use clewline_archive::serve::{Asked, Guest, Shown};
use clewline_search::Results;

use question::{Question, QuestionError};
use shelf::{Shelf, State};

/// Where the page is.
const PATH: &str = "/search";
/// Where its JSON is.
const API_PATH: &str = "/api/search";
/// What the list of captures calls it.
const NAME: &str = "Search the pages by their words";

/// A search in the pages of a job folder. The index is made or brought up to date from now on,
/// in a thread; as long as there is none, the page says how far it is.
pub fn search_of(job: &Path) -> Guest {
    let shelf = Shelf::of_job(job);
    Guest::new(PATH, NAME, move |asked| answer(asked, &shelf))
}

/// What a search came to.
enum Reply {
    Found(Question, Results),
    /// There is no index yet; so many pages are in the one that is being made.
    Making(Question, u64),
    /// The question is not understood.
    Refused(Question, QuestionError),
    /// There is no index, and why.
    Broken(Question, String),
}

impl Reply {
    const fn status(&self) -> u16 {
        match self {
            Self::Found(..) => 200,
            Self::Refused(..) => 400,
            Self::Making(..) => 503,
            Self::Broken(..) => 500,
        }
    }
}

fn answer(asked: Asked<'_>, shelf: &Shelf) -> Option<Shown> {
    let show = match asked.path {
        PATH => page::shown,
        API_PATH => api::shown,
        _ => return None,
    };
    Some(show(&reply(asked.query, shelf)))
}

fn reply(query: &str, shelf: &Shelf) -> Reply {
    let question = Question::read(query);
    let query = match question.query() {
        Ok(query) => query,
        Err(error) => return Reply::Refused(question, error),
    };
    let found = match shelf.state() {
        State::Making { pages } => return Reply::Making(question, pages),
        State::Failed { why } => return Reply::Broken(question, why),
        State::Ready(index) => index.search(&query),
    };
    match found {
        Ok(results) => Reply::Found(question, results),
        Err(error) => Reply::Broken(question, error.to_string()),
    }
}
