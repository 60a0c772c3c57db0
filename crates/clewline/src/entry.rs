//! A settled URL on its way into the logs.
//!
//! Owns what the logs of a crawl need beside the record. The record itself is a format of the job
//! folder and belongs to `clewline-job`.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_job::record::Record;

use crate::exchange::Exchange;

/// A record with what the logs need beside it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The line.
    pub record: Record,
    /// Where the page points, each link once.
    pub links: Vec<(Key, LinkKind)>,
    /// The last request and its answer, if there is an archive and an answer came.
    pub exchange: Option<Arc<Exchange>>,
    /// Where the page points, as the archive says it; empty without one.
    pub outlinks: Vec<u8>,
    /// What a browser made of the page, for the archive; empty without one.
    pub(crate) views: Vec<ArchivedView>,
    /// The line as it was written, for whoever writes it again.
    pub(crate) line: OnceLock<Box<[u8]>>,
}

/// Something that a browser made of a page, as the archive keeps it.
#[derive(Debug, Clone)]
pub(crate) struct ArchivedView {
    /// What it is called, before the URL of the page: `urn:rendered:` or `urn:view:`.
    pub(crate) prefix: &'static str,
    /// Its media type.
    pub(crate) media_type: &'static str,
    /// Its bytes.
    pub(crate) bytes: Bytes,
}

impl Entry {
    /// Lets go of everything that only logs need.
    pub(crate) fn forget_bytes(&mut self) {
        self.exchange = None;
        self.outlinks = Vec::new();
        self.views = Vec::new();
        self.line = OnceLock::new();
    }
}
