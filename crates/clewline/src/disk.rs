//! How much room a disk has.
//!
//! Owns the one question to the system. It refuses to know how much is enough.

use std::path::Path;

/// Bytes that are free where a folder is, if the system says so.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let facts = rustix::fs::statvfs(folder).ok()?;
    facts.f_bavail.checked_mul(facts.f_frsize)
}
