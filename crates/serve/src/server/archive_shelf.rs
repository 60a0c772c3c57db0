//! The archive that is shown.
//!
//! Owns when it is opened: once, or again when a job of the place has grown. Refuses to know what is
//! in it. Invariant: whoever reads keeps the archive that was open when the reading began.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clewline_archive::{Archive, OpenError, archive_in};

use crate::app::JobPlaces;

/// Time between two looks at jobs that may have grown.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// An archive, opened when somebody asks.
#[derive(Debug)]
pub(crate) struct ArchiveShelf {
    /// Whose archives are looked at again.
    jobs: Option<Arc<JobPlaces>>,
    held: Mutex<Option<HeldArchive>>,
}

#[derive(Debug)]
struct HeldArchive {
    archive: Arc<Archive>,
    looked_at: Instant,
    /// Jobs and the bytes of their archives.
    sizes: Vec<(PathBuf, u64)>,
}

impl ArchiveShelf {
    /// An archive that stays as it is.
    pub(crate) fn fixed(archive: Archive) -> Self {
        let held = HeldArchive {
            archive: Arc::new(archive),
            looked_at: Instant::now(),
            sizes: Vec::new(),
        };
        Self {
            jobs: None,
            held: Mutex::new(Some(held)),
        }
    }

    /// The archives of jobs that come, grow and go.
    pub(crate) const fn live(jobs: Arc<JobPlaces>) -> Self {
        Self {
            jobs: Some(jobs),
            held: Mutex::new(None),
        }
    }

    /// The archive as it is now, or was a few seconds ago.
    pub(crate) fn archive(&self) -> Result<Arc<Archive>, OpenError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(jobs) = &self.jobs else {
            let fixed = held.as_ref().expect("a fixed archive is never given away");
            return Ok(Arc::clone(&fixed.archive));
        };
        if let Some(held) = held.as_ref()
            && held.looked_at.elapsed() < BETWEEN_LOOKS
        {
            return Ok(Arc::clone(&held.archive));
        }
        let sizes: Vec<(PathBuf, u64)> = jobs
            .all()
            .into_iter()
            .filter_map(|(_, path)| Some((path.clone(), size(&path)?)))
            .collect();
        let known = held.as_ref().filter(|held| held.sizes == sizes);
        let archive = if let Some(known) = known {
            Arc::clone(&known.archive)
        } else {
            let paths: Vec<PathBuf> = sizes.iter().map(|(path, _)| path.clone()).collect();
            Arc::new(Archive::open(&paths)?)
        };
        *held = Some(HeldArchive {
            archive: Arc::clone(&archive),
            looked_at: Instant::now(),
            sizes,
        });
        Ok(archive)
    }
}

/// The bytes of a job's archive; nothing if it has none.
fn size(job: &Path) -> Option<u64> {
    let folder = archive_in(job).ok()?;
    let entries = fs::read_dir(folder).ok()?.flatten();
    let sizes = entries.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    Some(sizes.sum()).filter(|size| *size > 0)
}
