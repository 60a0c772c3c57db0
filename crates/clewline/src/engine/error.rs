//! What stops a crawl.
//!
//! Owns the error of the engine and whose fault it is. What happens to a URL is no error.

use std::io;

use thiserror::Error;

use crate::fleet::CommitFailure;
use crate::store::StoreError;

/// What stops a crawl.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The results could not be written.
    #[error("the results cannot be written: {0}")]
    Write(Box<dyn std::error::Error + Send + Sync>),
    /// The state could not be read or written.
    #[error(transparent)]
    State(Box<dyn std::error::Error + Send + Sync>),
    /// Threads or the runtime could not be started.
    #[error("the crawl cannot be started: {0}")]
    Start(#[source] io::Error),
    /// This process is no member of its fleet any more.
    #[error("this worker left the fleet: {0}")]
    Fleet(String),
}

impl EngineError {
    /// What the log writer failed with. A member whose part in its fleet has ended hears of it by its
    /// driver or here, whichever comes first.
    pub(super) fn from_log_writer(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match error.downcast::<CommitFailure>().map(|failure| *failure) {
            Ok(CommitFailure::Ended(why)) => Self::Fleet(why),
            Ok(other) => Self::Write(other.into()),
            Err(error) => Self::Write(error),
        }
    }

    /// Whether the state of the crawl is the trouble, and not the room for its results.
    pub fn is_about_state(&self) -> bool {
        match self {
            Self::State(_) => true,
            Self::Write(cause) => cause
                .downcast_ref::<StoreError>()
                .is_some_and(|error| std::error::Error::source(error).is_none_or(is_no_io)),
            Self::Start(_) | Self::Fleet(_) => false,
        }
    }
}

fn is_no_io(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    !causes.any(|cause| cause.downcast_ref::<io::Error>().is_some())
}

pub(crate) fn state<E: std::error::Error + Send + Sync + 'static>(error: E) -> EngineError {
    EngineError::State(Box::new(error))
}
