//! A crawl that nobody can speak to, for systems without Unix sockets.
//!
//! Owns the same names as `server`. Invariant: a crawl runs without them; `status` and `why` read the
//! stored state, and `ctl` says that it cannot be reached.

use std::io;
use std::path::Path;

use super::Control;
use super::protocol::{ControlAnswer, ControlRequest};
use crate::stored::{JobError, StoredJob};

/// Listens to nobody.
#[derive(Debug)]
pub(crate) struct DeafServer;

pub(crate) use DeafServer as Server;

impl DeafServer {
    /// Nothing is there to listen at; the crawl tells its user so and goes on.
    pub(crate) fn start(_: &Path, _: Control) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Nobody can be asked.
pub(crate) fn ask(job: &StoredJob, _: &ControlRequest) -> Result<ControlAnswer, JobError> {
    match job.owner()? {
        None => Err(JobError::NotRunning(job.path.clone())),
        Some(owner) => Err(JobError::Silent {
            path: job.path.clone(),
            owner,
            source: io::ErrorKind::Unsupported.into(),
        }),
    }
}
