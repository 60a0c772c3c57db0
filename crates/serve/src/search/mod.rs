//! The search page and its JSON.
//!
//! Owns the paths `/search` (HTML) and `/api/search` (JSON), what they are asked with, and how
//! results look. It refuses to know how pages are indexed and found, and how requests arrive.
//! Invariants: the page loads nothing, and no script runs on it but its own; every size that a
//! request can ask for is bounded.

mod api;
mod page;
mod policy;
mod question;
mod shelf;

use std::path::Path;

use clewline_search::Results;

use crate::server::{AnswerBody, Guest, GuestRequest, GuestResponse, ServerAnswer, ServerRequest};
use question::{Question, QuestionError};
use shelf::IndexState;
pub(crate) use shelf::Shelf;

/// Where the page is.
const PATH: &str = "/search";
/// Where its JSON is.
const API_PATH: &str = "/api/search";
/// What the list of captures calls it.
const NAME: &str = "Search the pages by their words";

/// A search in the pages of a job folder. The index is made or brought up to date from now on,
/// in a thread; as long as there is none, the page says how far it is.
pub(crate) fn search_of(job: &Path) -> Guest {
    let shelf = Shelf::for_job(job);
    Guest::new(PATH, NAME, move |asked| reply_to(asked, &shelf))
}

/// Answers a request for the search of a job whose pages begin with `base`.
pub(crate) fn answer(request: &ServerRequest, shelf: &Shelf, base: &str) -> ServerAnswer {
    let reply = reply(request.query(), base, shelf);
    let shown = if request.path().ends_with(API_PATH) {
        api::shown(&reply)
    } else {
        page::shown(&reply)
    };
    ServerAnswer::new(shown.status, AnswerBody::Bytes(shown.body))
        .with("Content-Type", shown.content_type)
        .with("Content-Security-Policy", &shown.policy)
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

fn reply_to(asked: GuestRequest<'_>, shelf: &Shelf) -> Option<GuestResponse> {
    let show = match asked.path {
        PATH => page::shown,
        API_PATH => api::shown,
        _ => return None,
    };
    Some(show(&reply(asked.query, "", shelf)))
}

fn reply(query: &str, base: &str, shelf: &Shelf) -> Reply {
    let question = Question::read(query).below(base);
    let query = match question.query() {
        Ok(query) => query,
        Err(error) => return Reply::Refused(question, error),
    };
    let found = match shelf.state() {
        IndexState::Making { pages } => return Reply::Making(question, pages),
        IndexState::Failed { why } => return Reply::Broken(question, why),
        IndexState::Ready(index) => index.search(&query),
    };
    match found {
        Ok(results) => Reply::Found(question, results),
        Err(error) => Reply::Broken(question, error.to_string()),
    }
}
