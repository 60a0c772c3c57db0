//! Bodies that an archive refers to and earlier crawls hold.
//!
//! Owns the way from a revisit to the capture with its payload through the index of an archive.
//! It refuses to look in an archive that still grows and has no index. Archives are opened when the first body is wanted.

use std::cell::OnceCell;
use std::io::Read as _;
use std::path::PathBuf;

use clewline_archive::{Archive, is_archive};
use clewline_warc::cdxj::Capture;
use clewline_warc::read::Header;
use clewline_warc::{Digest, Moment};

use super::MOST_DECODED;

/// The archives of earlier crawls.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    folders: Vec<PathBuf>,
    /// Nothing if there are none, or they cannot be opened.
    opened: OnceCell<Option<Archive>>,
}

/// The capture that a revisit names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Original {
    url: String,
    date: Option<Moment>,
    pub(super) digest: Option<Digest>,
}

impl Original {
    /// What a revisit says of it.
    pub(super) fn of(header: &Header) -> Option<Self> {
        let url = header.uri("WARC-Refers-To-Target-URI");
        let date = header.value("WARC-Refers-To-Date");
        Some(Self {
            url: url.or(header.target())?.to_owned(),
            date: date.and_then(Moment::parse),
            digest: header.payload_digest(),
        })
    }

    fn is_in(&self, capture: &Capture) -> bool {
        !capture.is_revisit() && Digest::parse(&capture.digest) == self.digest
    }
}

impl Earlier {
    /// Those in folders, as far as there are files in them.
    pub(super) fn of(folders: Vec<PathBuf>) -> Self {
        Self {
            folders,
            opened: OnceCell::new(),
        }
    }

    fn archive(&self) -> Option<&Archive> {
        let opened = self.opened.get_or_init(|| {
            let folders = self.folders.iter().filter(|folder| is_archive(folder));
            let folders: Vec<PathBuf> = folders.cloned().collect();
            // None at all is no archive, either.
            Archive::open(&folders).ok().filter(|_| !folders.is_empty())
        });
        opened.as_ref()
    }

    /// The decoded body of a capture, as far as it can be decoded; nothing if it is not there.
    pub(super) fn body(&self, original: &Original) -> Option<Vec<u8>> {
        let archive = self.archive()?;
        let fits = |capture: &Capture| original.is_in(capture);
        let held = archive.best(&original.url, original.date, fits).ok()??;
        let decoded = archive.read(&held).ok()?.decoded().ok()?;
        let mut body = Vec::new();
        // A body that breaks off has words before it does.
        let _ = decoded.take(MOST_DECODED).read_to_end(&mut body);
        Some(body)
    }
}
