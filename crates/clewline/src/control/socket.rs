//! Where a running crawl listens: a socket in the private `state/` of its job folder.
//!
//! Owns the way to that socket from both sides. A socket's path may have 107 bytes, a folder's
//! many more: a longer one is reached through an open descriptor of the folder
//! (`/proc/self/fd/N`), so that nobody changes the current folder. A socket that a killed crawl
//! left is replaced by the next one, which holds the folder's lock.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::folder::STATE;

const NAME: &str = "control";

/// The longest path that fits an address, with its closing zero, on every Unix.
const LONGEST_PATH: usize = 100;

/// A path to the socket that fits an address, and what must stay open as long as it is used.
struct Way {
    path: PathBuf,
    _folder: Option<File>,
}

fn way(job: &Path) -> io::Result<Way> {
    let path = place(job);
    if path.as_os_str().as_bytes().len() <= LONGEST_PATH {
        return Ok(Way {
            path,
            _folder: None,
        });
    }
    let folder = File::open(job.join(STATE))?;
    let short = format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd());
    Ok(Way {
        path: short.into(),
        _folder: Some(folder),
    })
}

fn place(job: &Path) -> PathBuf {
    job.join(STATE).join(NAME)
}

/// Listens; whoever calls holds the folder's lock, so that a socket that is there is dead.
pub(super) fn listen(job: &Path) -> io::Result<UnixListener> {
    remove(job)?;
    UnixListener::bind(way(job)?.path)
}

/// Takes the socket away.
pub(super) fn remove(job: &Path) -> io::Result<()> {
    match fs::remove_file(place(job)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Speaks to whoever listens.
pub(super) fn connect(job: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(way(job)?.path)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn long_paths_and_dead_sockets_are_no_trouble() {
        let root = tempfile::tempdir().unwrap();
        for name in ["short", &"long".repeat(50)] {
            let job = root.path().join(name);
            fs::create_dir_all(job.join(STATE)).unwrap();
            drop(listen(&job).unwrap());
            assert!(place(&job).exists(), "it is left behind, as by a kill");
            assert!(connect(&job).is_err());
            let listener = listen(&job).unwrap();
            let mut near = connect(&job).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            far.write_all(b"x").unwrap();
            let mut byte = [0];
            near.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"x");
            remove(&job).unwrap();
            assert!(!place(&job).exists());
        }
    }
}
