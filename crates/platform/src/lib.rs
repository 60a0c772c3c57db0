//! What differs between operating systems.
//!
//! Owns the questions that each system answers in its own way: files at a position, free disk space,
//! processor time, memory, descriptors, and which errors mean that the machine lacks something. It
//! refuses to know the crawler. Invariant: every function compiles on every system; where a system
//! has no answer, the fallback is the careful one, and the function says which.

#![warn(missing_docs)]

pub mod descriptors;
pub mod file;
pub mod process;

use std::io;
use std::path::Path;

/// Bytes that are free where a folder is; none where the system is not asked.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let facts = rustix::fs::statvfs(folder).ok()?;
        facts.f_bavail.checked_mul(facts.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Whether an error means that the machine lacks memory or buffers, which others will give back.
pub fn lacks_memory(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let lacking = Errno::from_io_error(error);
        matches!(lacking, Some(Errno::NOBUFS | Errno::NOMEM))
    }
    #[cfg(not(unix))]
    {
        /// `WSAENOBUFS` of Windows.
        const NO_BUFFERS: i32 = 10_055;
        let is_memory = error.kind() == io::ErrorKind::OutOfMemory;
        is_memory || error.raw_os_error() == Some(NO_BUFFERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_room_and_a_missing_folder_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(free_bytes(folder.path()).is_some(), cfg!(unix));
        assert_eq!(free_bytes(&folder.path().join("missing")), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_lack_of_memory_is_told_from_other_errors() {
        use rustix::io::Errno;
        let lacks = |errno: Errno| lacks_memory(&io::Error::from(errno));
        assert!(lacks(Errno::NOMEM) && lacks(Errno::NOBUFS));
        assert!(!lacks(Errno::CONNREFUSED) && !lacks(Errno::MFILE));
    }
}
