//! Bodies that an archive refers to and earlier crawls hold.
//!
//! Owns the way from a revisit to the capture with its payload through the index of an archive.
//! It refuses to look in an archive that still grows and has no index. Everything is looked up
//! where it lies; nothing is held in memory.

use std::fs::File;
use std::path::{Path, PathBuf};

use clewline::log::archive::FOLDER;
use clewline_warc::cdxj::{Capture, INDEX, Index};
use clewline_warc::read::{Header, Reader};
use clewline_warc::{Digest, Kind};

/// The archives of earlier crawls.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// Where their files and indexes are.
    folders: Vec<PathBuf>,
}

/// The capture that a revisit names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Original {
    url: String,
    pub(super) digest: Option<Digest>,
}

impl Original {
    /// What a revisit says of it.
    pub(super) fn of(header: &Header) -> Option<Self> {
        let url = header.uri("WARC-Refers-To-Target-URI");
        Some(Self {
            url: url.or(header.target())?.to_owned(),
            digest: header.payload_digest(),
        })
    }
}

impl Earlier {
    /// Those of crawls, or of WARC files, in these folders.
    pub(super) fn of(folders: Vec<PathBuf>) -> Self {
        let place = |folder: PathBuf| {
            let inner = folder.join(FOLDER);
            if inner.is_dir() { inner } else { folder }
        };
        Self {
            folders: folders.into_iter().map(place).collect(),
        }
    }

    /// The decoded body of a capture, as far as it can be decoded; nothing if it is not there.
    pub(super) fn body(&self, original: &Original) -> Option<Vec<u8>> {
        let digest = original.digest?;
        let mut folders = self.folders.iter();
        folders.find_map(|folder| body_in(folder, &original.url, digest))
    }
}

/// The body of a URL's capture with this digest. All that have it are the same.
fn body_in(folder: &Path, url: &str, digest: Digest) -> Option<Vec<u8>> {
    let mut found: Option<Capture> = None;
    let fits = |capture: &Capture| {
        capture.url == url
            && !capture.is_revisit()
            && Digest::parse(&capture.digest) == Some(digest)
    };
    let looked = Index::open(&folder.join(INDEX)).ok()?.each(url, |capture| {
        found = Some(capture).filter(fits);
        found.is_none()
    });
    let capture = looked.ok().and(found)?;
    let file = File::open(capture.file_in(folder)?).ok()?;
    let mut reader = Reader::seek(file, capture.offset).ok()?;
    let header = reader.next_record()?.ok()?;
    let is_it = header.kind() == Kind::Response && header.target() == Some(url);
    is_it.then(|| super::body(reader.block()))?
}
