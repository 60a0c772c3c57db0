//! WACZ packages: WARC files, their index and a list of pages in one ZIP file.
//!
//! Owns the layout of WACZ 1.1.1. Refuses to know records: they are copied as they are. Invariant:
//! the WARC files lie in the package uncompressed, so that a reader can seek in them; the same
//! archive makes the same package.

mod export;
mod zip;

use std::fs::File;
use std::io;
use std::path::Path;

pub use export::{PackageSummary, export};

use crate::open::WarcLocation;

/// The folder of WARC files in a package.
const ARCHIVE: &str = "archive/";

/// Why a package cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] io::Error),
    /// It is not as a package should be.
    #[error("{0}")]
    Damaged(&'static str),
    /// A WARC file in it is compressed once more.
    #[error("{name} is compressed within the package; unpack it first")]
    Compressed {
        /// Which.
        name: String,
    },
    /// There is no WARC file in it.
    #[error("there are no WARC files in it")]
    Empty,
}

/// Where the WARC files of a package lie.
pub(crate) fn warcs_in(path: &Path) -> Result<Vec<WarcLocation>, PackageError> {
    let mut file = File::open(path)?;
    let whole = file.metadata()?.len();
    let mut places = Vec::new();
    for member in zip::members(&mut file)? {
        let Some(name) = member
            .name
            .strip_prefix(ARCHIVE)
            .filter(|name| !name.is_empty())
        else {
            continue;
        };
        if !member.is_stored {
            let name = member.name;
            return Err(PackageError::Compressed { name });
        }
        let base = zip::contents(&mut file, &member)?;
        if base
            .checked_add(member.length)
            .is_none_or(|end| end > whole)
        {
            return Err(PackageError::Damaged("a member lies outside the file"));
        }
        places.push(WarcLocation {
            name: name.to_owned(),
            path: path.to_owned(),
            base,
            length: member.length,
        });
    }
    if places.is_empty() {
        return Err(PackageError::Empty);
    }
    Ok(places)
}
