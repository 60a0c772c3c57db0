//! Answers for programs.
//!
//! Owns the form of JSON, entity tags (RFC 9110, section 8.8.3), problem details (RFC 9457), and
//! which status an error of a job has. Invariant: an answer that is the same has the same tag.

use std::io;

use clewline::JobError;
use clewline_warc::{Algorithm, Hasher};
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::server::{AnswerBody, ServerAnswer, ServerRequest};

/// The policy of data that no browser should show.
const SEALED: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// What a program is answered.
#[derive(Debug)]
pub(super) struct ApiReply {
    status: u16,
    content_type: &'static str,
    body: ReplyContent,
    location: Option<String>,
    /// In how many seconds to ask again.
    again: Option<u32>,
}

#[derive(Debug)]
enum ReplyContent {
    Bytes(Vec<u8>),
    Events(mpsc::Receiver<io::Result<bytes::Bytes>>),
}

impl ApiReply {
    /// A value as JSON.
    pub(super) fn json(value: &impl Serialize) -> Self {
        let mut body = serde_json::to_vec(value).expect("keys are strings, numbers are finite");
        body.push(b'\n');
        Self {
            status: 200,
            content_type: "application/json",
            body: ReplyContent::Bytes(body),
            location: None,
            again: None,
        }
    }

    /// A text.
    pub(super) fn text(content_type: &'static str, text: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            content_type,
            body: ReplyContent::Bytes(text.into()),
            location: None,
            again: None,
        }
    }

    /// What is asked for is being made.
    pub(super) fn making() -> Self {
        Self {
            again: Some(1),
            ..Self::json(&json!({ "making": true })).with_status(202)
        }
    }

    /// Events, as long as they come.
    pub(super) const fn events(events: mpsc::Receiver<io::Result<bytes::Bytes>>) -> Self {
        Self {
            status: 200,
            content_type: "text/event-stream",
            body: ReplyContent::Events(events),
            location: None,
            again: None,
        }
    }

    pub(super) const fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(super) fn at(mut self, location: String) -> Self {
        self.location = Some(location);
        self
    }

    /// The answer; an empty one if the client has it already.
    pub(super) fn answer(self, request: &ServerRequest) -> ServerAnswer {
        let (mut status, mut tag) = (self.status, None);
        let body = match self.body {
            ReplyContent::Events(events) => AnswerBody::Events(events),
            ReplyContent::Bytes(bytes) if status == 200 && request.is_reading() => {
                let known = tag.insert(entity_tag(&bytes));
                let asked = request.field("if-none-match").unwrap_or_default();
                let is_known = asked.split(',').any(|one| {
                    let one = one.trim();
                    one == "*" || one.trim_start_matches("W/") == known
                });
                if is_known {
                    status = 304;
                }
                AnswerBody::Bytes(if is_known { Vec::new() } else { bytes })
            }
            ReplyContent::Bytes(bytes) => AnswerBody::Bytes(bytes),
        };
        let mut answer = ServerAnswer::new(status, body)
            .with("Content-Type", self.content_type)
            .with("Content-Security-Policy", SEALED);
        if let Some(tag) = tag {
            answer = answer.with("ETag", &tag).with("Cache-Control", "no-cache");
        }
        if let Some(again) = self.again {
            answer = answer.with("Retry-After", &again.to_string());
        }
        match self.location {
            Some(location) => answer.with("Location", &location),
            None => answer,
        }
    }
}

fn entity_tag(bytes: &[u8]) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(bytes);
    let digest = clewline_job::escape::base64(&hasher.finish().as_bytes()[..15]);
    format!("\"{digest}\"")
}

/// Why a request is not answered as it wishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiProblem {
    status: u16,
    detail: String,
    allow: Option<&'static str>,
}

impl ApiProblem {
    pub(super) fn new(status: u16, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            allow: None,
        }
    }

    pub(super) fn not_found() -> Self {
        Self::new(
            404,
            "there is nothing at this path; /api/v1/openapi.json lists all",
        )
    }

    /// A cursor leads nowhere, or not any more.
    pub(super) fn cursor() -> Self {
        Self::new(404, "the cursor is none of this list; begin without one")
    }

    pub(super) const fn status(&self) -> u16 {
        self.status
    }

    /// What is wrong, in words.
    pub(super) fn detail(&self) -> &str {
        &self.detail
    }

    /// The path knows other methods.
    pub(super) fn method(allow: &'static str) -> Self {
        Self {
            allow: Some(allow),
            ..Self::new(405, format!("this path takes {allow}"))
        }
    }

    pub(super) fn answer(&self) -> ServerAnswer {
        let title = hyper::StatusCode::from_u16(self.status).ok();
        let title = title.and_then(|status| status.canonical_reason());
        let body = json!({
            "type": "about:blank",
            "title": title.unwrap_or("Error"),
            "status": self.status,
            "detail": clewline_job::escape::visible(&self.detail),
        });
        let body = AnswerBody::Bytes(body.to_string().into_bytes());
        let mut answer = ServerAnswer::new(self.status, body)
            .with("Content-Type", "application/problem+json")
            .with("Content-Security-Policy", SEALED);
        if let Some(allow) = self.allow {
            answer = answer.with("Allow", allow);
        }
        match self.status {
            401 => answer.with("WWW-Authenticate", "Bearer realm=\"clewline\""),
            429 | 503 => answer.with("Retry-After", "60"),
            _ => answer,
        }
    }
}

impl From<JobError> for ApiProblem {
    fn from(error: JobError) -> Self {
        let status = match &error {
            JobError::NoJob(_) => 404,
            JobError::NotRunning(_) | JobError::Ending(_) => 409,
            JobError::Refused(_) => 422,
            JobError::Silent { .. } => 503,
            _ => 500,
        };
        // What a job is called stands in the path; where it lies is nobody's business.
        let detail = match &error {
            JobError::NoJob(_) => "there is no such job".to_owned(),
            JobError::NotRunning(_) => "no crawl runs in this job; start it first".to_owned(),
            JobError::Ending(_) => "the crawl is about to end; ask again in a moment".to_owned(),
            JobError::Refused(why) => why.clone(),
            JobError::Silent { .. } => "the crawl does not answer; ask again".to_owned(),
            _ => "the folder of the job cannot be read; `clewline status` says why".to_owned(),
        };
        Self::new(status, detail)
    }
}

impl From<io::Error> for ApiProblem {
    fn from(error: io::Error) -> Self {
        Self::new(
            500,
            format!("a file of the job cannot be read: {}", error.kind()),
        )
    }
}

/// The word that JSON has for a value.
pub(super) fn word(value: &impl Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    let word = word.as_ref().and_then(serde_json::Value::as_str);
    word.unwrap_or_default().to_owned()
}

/// The parameters of a query, the last of each name.
pub(super) fn parameter(request: &ServerRequest, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(request.query().as_bytes());
    let values = pairs.filter(|(found, _)| found == name);
    values.last().map(|(_, value)| value.into_owned())
}

/// Cursors into lists that are made once: the edition of the list, and a place in it.
pub(super) struct Numbered;

impl Numbered {
    /// Where a request goes on in a list of this edition.
    pub(super) fn read(request: &ServerRequest, edition: &str) -> Result<usize, ApiProblem> {
        let Some(text) = parameter(request, "cursor") else {
            return Ok(0);
        };
        Self::place(&text, edition).ok_or_else(ApiProblem::cursor)
    }

    /// The place that a cursor means in a list of this edition.
    pub(super) fn place(cursor: &str, edition: &str) -> Option<usize> {
        let rest = cursor.strip_prefix(edition)?;
        rest.strip_prefix('-')?.parse().ok()
    }

    /// The cursor that leads on; nothing at the end.
    pub(super) fn written(edition: &str, next: usize, total: usize) -> Option<String> {
        (next < total).then(|| format!("{edition}-{next}"))
    }
}

/// How many rows are wanted.
pub(super) fn wanted(
    request: &ServerRequest,
    usual: usize,
    most: usize,
) -> Result<usize, ApiProblem> {
    match parameter(request, "limit") {
        None => Ok(usual),
        Some(text) => {
            let number = text
                .parse()
                .ok()
                .filter(|number| (1..=most).contains(number));
            number
                .ok_or_else(|| ApiProblem::new(400, format!("limit is a number from 1 to {most}")))
        }
    }
}
