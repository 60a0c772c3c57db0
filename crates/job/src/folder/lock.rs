//! The lock of a job folder: one process works in it at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use super::{FolderError, STATE, io_at};

/// How often a lock that is held is tried again …
const LOOKS: u32 = 20;
/// … and after which time.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Takes the lock of a folder. The lock ends with its owner, however that ends.
pub fn take_lock(path: &Path) -> Result<File, FolderError> {
    let file = path.join(STATE).join("lock");
    let open = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&file);
    let mut lock = open.map_err(|source| io_at(&file, source))?;
    match lock_patiently(&lock) {
        Ok(()) => {
            let owner = format!("process {}", std::process::id());
            let written = lock
                .set_len(0)
                .and_then(|()| lock.write_all(owner.as_bytes()));
            written.map_err(|source| io_at(&file, source))?;
            Ok(lock)
        }
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            lock.read_to_string(&mut owner).ok();
            Err(FolderError::InUse {
                path: path.into(),
                owner,
            })
        }
        Err(TryLockError::Error(source)) => Err(io_at(&file, source)),
    }
}

/// Whether a process works in a folder. Where that cannot be told, somebody might.
pub fn is_in_use(path: &Path) -> bool {
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path.join(STATE).join("lock"));
    lock.map_or(true, |lock| lock.try_lock().is_err())
}

/// Whoever only looks into a folder holds its lock for a moment, and is not in the way.
fn lock_patiently(lock: &File) -> Result<(), TryLockError> {
    let mut tried = lock.try_lock();
    for _ in 0..LOOKS {
        if !matches!(tried, Err(TryLockError::WouldBlock)) {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        tried = lock.try_lock();
    }
    tried
}
