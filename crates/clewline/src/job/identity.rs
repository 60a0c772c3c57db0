//! Whether state, logs and marker of a folder belong together.
//!
//! Owns that judgement. What ties them is the seed of the job's keys: it stands in `job.toml`, in
//! every commit of the state and in every file of the archive, and the keys in `urls.jsonl` are
//! made from it. It changes nothing; whoever cuts asks here first.

use std::path::{Path, PathBuf};

use clewline_core::key::Keyer;

use crate::crawl::CrawlError;
use crate::engine::JOB_NOTE;
use crate::folder::{FolderError, JobFolder, Remedy};
use crate::log::archive::{self, Position};
use crate::log::{Offset, urls};
use crate::store::DiskStore;

use super::{io_at, read_note};

/// The judge of a folder that goes on.
pub(super) struct Identity<'a> {
    pub(super) folder: &'a JobFolder,
    pub(super) store: &'a DiskStore,
    pub(super) keyer: &'a Keyer,
}

impl Identity<'_> {
    /// Refuses a state that belongs to another crawl.
    pub(super) fn check_owner(&self) -> Result<(), CrawlError> {
        let state = self.folder.state_path();
        let known: Option<String> = read_note(self.store, self.folder.path(), JOB_NOTE)?;
        let foreign = |path: PathBuf, what: &str| {
            CrawlError::Folder(FolderError::Damaged {
                path,
                what: what.to_owned(),
                remedy: Remedy::PutBack,
            })
        };
        if known.is_some_and(|seed| seed != self.folder.id()) {
            let what = "it belongs to another crawl than job.toml";
            return Err(foreign(state, what));
        }
        let path = self.folder.path().join(urls::FILE);
        if !self.keys_fit(&path) {
            return Err(foreign(path, "it belongs to another crawl than job.toml"));
        }
        Ok(())
    }

    /// Whether the first line has a key of this job; a line that can't be read says nothing. Only
    /// the host's part is compared: which parameters count may have changed since.
    fn keys_fit(&self, path: &Path) -> bool {
        let first = urls::records(path).ok().and_then(|mut lines| lines.next());
        match first {
            Some(Ok(record)) => self.keyer.key(&record.url).host() == record.key.host(),
            _ => true,
        }
    }

    /// Refuses a state that is older than the logs, which it would cut.
    pub(super) fn check_age(&self, remedy: Remedy) -> Result<(), CrawlError> {
        let known: Option<String> = read_note(self.store, self.folder.path(), JOB_NOTE)?;
        // Releases that noted no job closed files of the archive before the commit.
        if known.is_none() {
            return Ok(());
        }
        let older = |path: PathBuf| {
            CrawlError::Folder(FolderError::Damaged {
                path,
                what: "it holds more than the state knows of: the state is an older one".into(),
                remedy,
            })
        };
        let committed = self.store.offset(urls::NAME)?.unwrap_or(0);
        if committed < self.folder.reached() {
            return Err(older(self.folder.path().join(urls::FILE)));
        }
        let end = self.store.offset(archive::NAME)?.unwrap_or(0);
        let warcs = self.folder.path().join(archive::FOLDER);
        let beyond = archive::beyond(&warcs, Position::new(Offset(end)));
        match beyond.map_err(|source| io_at(&warcs, source))? {
            Some(path) => Err(older(path)),
            None => Ok(()),
        }
    }
}
