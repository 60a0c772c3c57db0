//! Pages that another crate adds to the server, such as a search.
//!
//! Owns what a guest is told of a request and what it may answer. The server keeps what matters
//! to all: the listener, its bounds, who may ask, and the fields that every answer has. A guest
//! is asked first, except by pages of the archive: those mean a path of their own site.

use std::fmt;

use super::answer::{AnswerBody, ServerAnswer};

/// What a guest is asked: a request to read that passed the server's checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GuestRequest<'a> {
    /// The path, as it was sent.
    pub(crate) path: &'a str,
    /// What follows the question mark.
    pub(crate) query: &'a str,
}

/// What a guest answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuestResponse {
    /// The status of the answer.
    pub(crate) status: u16,
    /// The value of `Content-Type`.
    pub(crate) content_type: &'static str,
    /// The value of `Content-Security-Policy`.
    pub(crate) policy: String,
    /// The body.
    pub(crate) body: Vec<u8>,
}

type Answering = dyn Fn(GuestRequest<'_>) -> Option<GuestResponse> + Send + Sync;

/// Whoever answers paths beside the archive.
pub(crate) struct Guest {
    path: &'static str,
    name: &'static str,
    answering: Box<Answering>,
}

impl Guest {
    /// A guest whose first page is at a path and is linked by a name in the list of captures.
    /// Paths that it answers nothing to are the archive's.
    pub(crate) fn new(
        path: &'static str,
        name: &'static str,
        answering: impl Fn(GuestRequest<'_>) -> Option<GuestResponse> + Send + Sync + 'static,
    ) -> Self {
        Self {
            path,
            name,
            answering: Box::new(answering),
        }
    }

    /// Where its first page is, and what it is called.
    pub(super) const fn link(&self) -> (&'static str, &'static str) {
        (self.path, self.name)
    }

    pub(super) fn answer(&self, target: &str) -> Option<ServerAnswer> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let shown = (self.answering)(GuestRequest { path, query })?;
        let answer = ServerAnswer::new(shown.status, AnswerBody::Bytes(shown.body))
            .with("Content-Type", shown.content_type)
            .with("Content-Security-Policy", &shown.policy);
        Some(answer)
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Guest")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
