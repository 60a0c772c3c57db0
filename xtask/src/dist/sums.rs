//! `SHA256SUMS`: what somebody who downloads a package compares it with.
//!
//! Owns the file and its form, which is that of `sha256sum`. Invariant: every file of the folder
//! but this one has a line, sorted by name.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

/// The name of the file.
pub(super) const NAME: &str = "SHA256SUMS";

/// Writes the sums of all files of a folder.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut lines = String::new();
    for file in files(folder)? {
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(lines, "{}  {name}", hexadecimal(&bytes));
    }
    fs::write(folder.join(NAME), lines).with_context(|| folder.display().to_string())
}

/// The files of a folder, sorted, without the sums.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && !path.ends_with(NAME) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The digest of some bytes, in hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_line_in_the_form_of_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        fs::write(folder.path().join("a"), "abc").unwrap();
        write(folder.path()).unwrap();
        // FIPS 180-2, the digests of "abc" and of nothing.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
                        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n";
        let found = fs::read_to_string(folder.path().join(NAME)).unwrap();
        assert_eq!(found, expected);
    }
}
