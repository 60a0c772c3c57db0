//! The archive of a job, with those of earlier crawls that it refers to.
//!
//! Owns when they are opened: once, and not before a body or a link is wanted.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

use clewline_archive::{Archive, is_archive};
use clewline_job::Job;

use crate::error::ExportError;

/// Archives that are opened when they are wanted.
#[derive(Debug)]
pub(crate) struct Archives {
    paths: Vec<PathBuf>,
    opened: OnceCell<Arc<Archive>>,
}

impl Archives {
    /// Those of a job.
    pub(crate) fn new(job: &Job) -> Self {
        let earlier = job.earlier().iter();
        let earlier = earlier.filter(|folder| is_archive(folder)).cloned();
        Self {
            paths: [job.path().to_owned()].into_iter().chain(earlier).collect(),
            opened: OnceCell::new(),
        }
    }

    /// Opens them.
    pub(crate) fn open(&self) -> Result<Arc<Archive>, ExportError> {
        if let Some(opened) = self.opened.get() {
            return Ok(Arc::clone(opened));
        }
        let opened = Arc::new(Archive::open(&self.paths)?);
        Ok(Arc::clone(self.opened.get_or_init(|| opened)))
    }
}
