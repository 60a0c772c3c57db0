//! Archives with the same bytes every time.
//!
//! Owns the members of a package and how they are written as `.tar.gz`. Invariant: members are
//! sorted, belong to root, have the time of the commit and one of two modes; the compressed stream
//! names neither file nor hour.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, Header};

use super::revision::Revision;

/// What a gzip header says where the system that wrote it would stand: nobody knows.
const UNKNOWN_SYSTEM: u8 = 255;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
}

/// The files of a package.
pub(super) type Members = Vec<Member>;

impl Member {
    pub(super) fn text(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            bytes: text.as_bytes().to_owned(),
            is_program: false,
        }
    }

    pub(super) fn program(path: &str, bytes: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            bytes: bytes.to_owned(),
            is_program: true,
        }
    }

    /// A file of the disk, under another name.
    pub(super) fn read(path: &str, file: &Path) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            bytes: fs::read(file).with_context(|| file.display().to_string())?,
            is_program: false,
        })
    }

    pub(super) fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }

    /// The member as gzip compresses it, which Debian wants of manual pages.
    pub(super) fn gzipped(&self) -> Result<Self> {
        Ok(Self {
            path: format!("{}.gz", self.path),
            bytes: gzip(&self.bytes)?,
            is_program: self.is_program,
        })
    }
}

/// The members in a folder.
pub(super) fn below(folder: &str, members: &[Member]) -> Members {
    let moved = |member: &Member| Member {
        path: format!("{folder}/{}", member.path),
        ..member.clone()
    };
    members.iter().map(moved).collect()
}

/// Writes an archive.
pub(super) fn write(path: &Path, members: &[Member], revision: &Revision) -> Result<()> {
    let bytes = gzip(&tar(members, revision)?)?;
    fs::write(path, bytes).with_context(|| path.display().to_string())
}

fn tar(members: &[Member], revision: &Revision) -> Result<Vec<u8>> {
    let mut sorted: Vec<&Member> = members.iter().collect();
    sorted.sort();
    let mut builder = Builder::new(Vec::new());
    for member in sorted {
        let mut header = Header::new_gnu();
        header.set_size(member.bytes.len() as u64);
        header.set_mode(member.mode());
        header.set_mtime(revision.seconds);
        header.set_uid(0);
        header.set_gid(0);
        builder.append_data(&mut header, &member.path, member.bytes.as_slice())?;
    }
    Ok(builder.into_inner()?)
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let builder = GzBuilder::new().operating_system(UNKNOWN_SYSTEM).mtime(0);
    let mut writer = builder.write(Vec::new(), Compression::best());
    writer.write_all(bytes)?;
    Ok(writer.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision() -> Revision {
        Revision {
            seconds: 1_000_000_000,
            iso: String::new(),
            mail: String::new(),
        }
    }

    #[test]
    fn order_does_not_matter_and_owner_and_time_are_fixed() {
        let one = Member::text("b/one", "1");
        let two = Member::program("a/two", b"2");
        let bytes = tar(&[one.clone(), two.clone()], &revision()).unwrap();
        assert_eq!(bytes, tar(&[two, one], &revision()).unwrap());
        let mut archive = tar::Archive::new(bytes.as_slice());
        let facts = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            let path = header.path().unwrap().display().to_string();
            let owner = (header.uid().unwrap(), header.gid().unwrap());
            (path, header.mode().unwrap(), header.mtime().unwrap(), owner)
        });
        let expected = [("a/two", 0o755), ("b/one", 0o644)]
            .map(|(path, mode)| (path.to_owned(), mode, 1_000_000_000, (0, 0)));
        assert_eq!(facts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_compressed_member_names_no_file_and_no_hour() {
        let member = Member::text("page.1", "text").gzipped().unwrap();
        assert_eq!(member.path, "page.1.gz");
        // RFC 1952: no flags, no time, the best compression, an unknown system.
        let expected = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, UNKNOWN_SYSTEM];
        assert_eq!(member.bytes[..10], expected);
    }
}
