//! Orders to a crawl that runs in another process.
//!
//! Owns the public side of the socket: the same words that [`super::Control`] has inside of the
//! process, for a job folder.

use clewline_job::exclusion::ExclusionPreview;

use super::Change;
use super::protocol::{ControlAnswer, ControlRequest};
use super::server::ask;
use crate::stored::{JobError, StoredJob};

impl StoredJob {
    /// The running crawl hands out nothing more until [`StoredJob::go_on`].
    pub fn pause(&self) -> Result<(), JobError> {
        self.order(&ControlRequest::Pause)
    }

    /// The running crawl goes on after a pause.
    pub fn go_on(&self) -> Result<(), JobError> {
        self.order(&ControlRequest::Continue)
    }

    /// The running crawl ends as after a first Ctrl-C.
    pub fn stop(&self) -> Result<(), JobError> {
        self.order(&ControlRequest::Stop)
    }

    /// The running crawl goes on with another figure, which is also kept for later runs.
    pub fn change(&self, change: Change) -> Result<(), JobError> {
        self.order(&ControlRequest::Change(change))
    }

    /// The running crawl begins at one more URL, as people type it. One that it knows is no error.
    pub fn add(&self, root: &str) -> Result<(), JobError> {
        self.order(&ControlRequest::Add(root.to_owned()))
    }

    /// How many queued URLs of the running crawl a pattern would leave out.
    pub fn preview_exclusion(&self, pattern: &str) -> Result<ExclusionPreview, JobError> {
        match ask(self, &ControlRequest::Preview(pattern.to_owned()))? {
            ControlAnswer::Preview(preview) => Ok(*preview),
            _ => Err(self.nonsense()),
        }
    }

    /// The running crawl leaves out what matches a pattern, found or queued, now and in later runs.
    pub fn exclude(&self, pattern: &str) -> Result<(), JobError> {
        self.order(&ControlRequest::Exclude(pattern.to_owned()))
    }

    fn order(&self, request: &ControlRequest) -> Result<(), JobError> {
        match ask(self, request)? {
            ControlAnswer::Done => Ok(()),
            _ => Err(self.nonsense()),
        }
    }
}
