//! A page that a command ends with, shown in the browser.
//!
//! Owns where such a page lies while the browser reads it: in the file that the command wrote in any
//! case, or in one of the system's folder for temporary files, which is told. It refuses to know what the
//! page shows. Invariant: nothing is written where the command wrote the page already.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::message::{Speaker, shown};
use crate::serve::dashboard::open_browser;

/// Opens the page of this file, or one that is made now.
pub(crate) fn open_page(
    written: Option<&Path>,
    make: impl FnOnce() -> anyhow::Result<Vec<u8>>,
    speaker: &Speaker,
) -> anyhow::Result<()> {
    let page = match written {
        Some(page) => page.to_owned(),
        None => kept(&make()?)?,
    };
    if written.is_none() {
        speaker.note(&shown(&format!("the report is {}", page.display())));
    }
    // A browser may start in another folder.
    let page = std::path::absolute(&page).unwrap_or(page);
    open_browser(&page.to_string_lossy(), speaker);
    Ok(())
}

/// The browser may read a page after the command has ended, so that the file stays.
fn kept(page: &[u8]) -> anyhow::Result<PathBuf> {
    let mut named = tempfile::Builder::new();
    let mut file = named
        .prefix("clewline-")
        .suffix(".html")
        .tempfile()
        .context("cannot make a file for the report")?;
    file.write_all(page)
        .context("the report cannot be written")?;
    let (_, path) = file.keep().context("the report cannot be kept")?;
    Ok(path)
}
