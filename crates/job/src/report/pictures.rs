//! What pages of a crawl look like.
//!
//! Owns the choice of a few pages of which a browser took a picture. It refuses to know how pictures are
//! taken and shown. Invariant: they and the search for them are bounded, whatever the archive holds.

use std::io;
use std::path::{Path, PathBuf};

use crate::archive::Archive;

/// Pictures of a report.
const MOST: usize = 12;
/// Pages that are looked at for them.
const LOOKED_AT: usize = 200;

/// What a page looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePicture {
    /// The page.
    pub url: String,
    /// A small picture, as JPEG.
    pub jpeg: Vec<u8>,
}

/// A few pictures from the archive of a job; none where it cannot be read.
pub fn pictures(folder: &Path) -> Vec<PagePicture> {
    let mut found = Vec::new();
    if let Ok(archive) = Archive::open(&[PathBuf::from(folder)]) {
        // The end of the search is told as an error.
        search(&archive, &mut found).ok();
    }
    found
}

fn search(archive: &Archive, found: &mut Vec<PagePicture>) -> io::Result<()> {
    let mut looked_at = 0;
    archive.each(|_, held| {
        if !held.capture.mime.contains("html") {
            return Ok(());
        }
        looked_at += 1;
        if let Ok(Some(jpeg)) = archive.thumbnail(&held) {
            let url = held.capture.url.clone();
            found.push(PagePicture { url, jpeg });
        }
        if found.len() >= MOST || looked_at >= LOOKED_AT {
            return Err(io::Error::other("enough"));
        }
        Ok(())
    })
}
