//! The index that is asked.
//!
//! Owns when it is made and which state of it answers. An index that is there answers at once,
//! and is replaced when it has caught up with the job; the replay shows the archive as it was at
//! the start, and so does the search. Invariant: whoever asks never waits for indexing.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use clewline_search::{Index, SearchError, update};

/// Time between two looks at an index that another process writes to.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// How an index stands.
#[derive(Debug, Clone)]
pub(crate) enum IndexState {
    /// There is none yet; this many pages are in the one that is being made.
    Making { pages: u64 },
    /// It can be asked.
    Ready(Arc<Index>),
    /// There is none, and there will be none.
    Failed { why: String },
}

/// An index and whoever makes it.
#[derive(Debug)]
pub(crate) struct Shelf {
    state: Arc<Mutex<IndexState>>,
}

impl Shelf {
    /// Opens the index of a job, and begins to bring it up to date.
    pub(crate) fn for_job(job: &Path) -> Self {
        let first = Index::open(job).map_or(IndexState::Making { pages: 0 }, |index| {
            IndexState::Ready(Arc::new(index))
        });
        let state = Arc::new(Mutex::new(first));
        let maker = Maker {
            job: job.to_owned(),
            state: Arc::clone(&state),
        };
        let begun = thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || maker.make());
        if let Err(error) = begun {
            fail(&state, &error);
        }
        Self { state }
    }

    /// How it stands.
    pub(crate) fn state(&self) -> IndexState {
        let state = self.state.lock();
        state.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An index that is there is better than none, whatever happens to the next one.
fn fail(state: &Mutex<IndexState>, error: &dyn Error) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if !matches!(*state, IndexState::Ready(_)) {
        *state = IndexState::Failed {
            why: error.to_string(),
        };
    }
}

struct Maker {
    job: PathBuf,
    state: Arc<Mutex<IndexState>>,
}

impl Maker {
    fn make(&self) {
        loop {
            let made = update(&self.job, &mut |progress| self.tell(progress.pages));
            match made {
                Err(SearchError::Busy(_)) => {
                    // Its commits can be asked already.
                    self.show_index().ok();
                    thread::sleep(BETWEEN_LOOKS);
                }
                Ok(_) => {
                    if let Err(error) = self.show_index() {
                        fail(&self.state, &error);
                    }
                    return;
                }
                Err(error) => return fail(&self.state, &error),
            }
        }
    }

    fn tell(&self, pages: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let IndexState::Making { pages: told } = &mut *state {
            *told = pages;
        }
    }

    fn show_index(&self) -> Result<(), SearchError> {
        let index = Arc::new(Index::open(&self.job)?);
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = IndexState::Ready(index);
        Ok(())
    }
}
