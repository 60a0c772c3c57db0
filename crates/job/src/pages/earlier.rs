//! Bodies that an archive refers to and that lie elsewhere.
//!
//! Owns the way from a revisit to the capture with its payload through the indexes of the archives
//! that may hold it. It refuses to look in an archive that still grows and has no index.

use std::io::BufRead;
use std::path::PathBuf;

use clewline_warc::Digest;
use clewline_warc::read::Header;

use crate::previous::IndexedArchive;

/// The archives that may hold payloads: those of earlier crawls, and one's own when it is complete.
#[derive(Debug, Default)]
pub(super) struct EarlierArchives(Vec<IndexedArchive>);

/// The capture that a revisit names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Referred {
    url: String,
    pub(super) digest: Option<Digest>,
}

impl Referred {
    /// What a revisit says of it.
    pub(super) fn new(revisit: &Header) -> Option<Self> {
        let url = revisit.uri("WARC-Refers-To-Target-URI");
        Some(Self {
            url: url.or(revisit.target())?.to_owned(),
            digest: revisit.payload_digest(),
        })
    }
}

impl EarlierArchives {
    /// Those of crawls, or of WARC files, in these folders.
    pub(super) fn new(folders: &[PathBuf]) -> Self {
        let archives = folders.iter().map(|folder| IndexedArchive::within(folder));
        Self(archives.collect())
    }

    /// Reads the capture that a revisit names; nothing if it is not there.
    pub(super) fn read<T>(
        &self,
        referred: &Referred,
        read: impl Fn(&mut dyn BufRead) -> Option<T>,
    ) -> Option<T> {
        let digest = referred.digest?;
        let mut archives = self.0.iter();
        archives.find_map(|archive| archive.read_payload(&referred.url, digest, &read))
    }
}
