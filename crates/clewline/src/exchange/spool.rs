//! Where the bytes of exchanges wait until they are written.
//!
//! Owns the one decision between memory and disk, and the count of both. Refuses to know what
//! the bytes are. Invariant: what is held is counted until the last owner lets go of it, so the
//! crawl can stop handing out before memory or descriptors run short.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clewline_warc::Digest;

use super::buffers::{self, SpoolBuffers};
use crate::descriptors::Seats;

/// An answer of this size stays in memory, and a larger one while no descriptor is free.
const IN_MEMORY: usize = buffers::MOST;
/// An answer of this size stays in memory while memory is short.
const IN_SHORT_MEMORY: usize = 64 * 1024;
/// Room that is made before any byte of a body came; a promise of more is only a promise until
/// so many bytes of it were kept.
const PROMISED: usize = 32 * 1024;
/// Files that wait to be written to the archive before nothing new is handed out.
const MOST_FILES: u64 = 64;

/// What becomes of secrets in requests that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// Their values are replaced.
    Replaced,
    /// They are kept.
    Kept,
}

/// The place for exchanges of one crawl.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    budget: u64,
    secrets: Secrets,
    held: AtomicU64,
    files: AtomicU64,
    buffers: SpoolBuffers,
    nothing: Digest,
}

impl Spool {
    /// Answers in files that may wait at once: the last ones begin when there is still room.
    pub(crate) const MOST_WAITING: u64 = 2 * MOST_FILES;

    /// Keeps about `budget` bytes in memory and nameless files in `folder`, which must exist.
    pub fn new(folder: PathBuf, budget: u64, secrets: Secrets) -> Self {
        Self {
            folder,
            budget,
            secrets,
            held: AtomicU64::new(0),
            files: AtomicU64::new(0),
            buffers: SpoolBuffers::new(),
            nothing: Digest::sha1(b""),
        }
    }

    /// Bytes in memory that wait.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether another exchange may begin.
    pub fn has_room(&self) -> bool {
        self.held() < self.budget && self.files.load(Ordering::Relaxed) < MOST_FILES
    }

    /// Whether so much waits that it should be written soon.
    pub fn is_filling(&self) -> bool {
        self.held() > self.budget / 4 || self.files.load(Ordering::Relaxed) > MOST_FILES / 4
    }

    /// The digest of no bytes, which every exchange begins with.
    pub(super) const fn nothing(&self) -> Digest {
        self.nothing
    }

    /// What becomes of secrets.
    pub const fn secrets(&self) -> Secrets {
        self.secrets
    }

    /// An empty buffer. What lies idle shares the budget with what waits, so that neither is
    /// given back to the system while the other needs as much.
    fn take(&self, room: usize) -> Vec<u8> {
        self.buffers.take(room, self.spare())
    }

    fn give_back(&self, buffer: Vec<u8>) {
        self.buffers.give_back(buffer, self.spare());
    }

    /// Bytes that may lie idle.
    fn spare(&self) -> u64 {
        self.budget.saturating_sub(self.held())
    }

    /// How many bytes of one answer stay in memory.
    fn most_in_memory(&self) -> usize {
        if self.held() < self.budget {
            IN_MEMORY
        } else {
            IN_SHORT_MEMORY
        }
    }
}

/// A share of the spool that is given back when it is dropped.
#[derive(Debug)]
struct Share {
    spool: Arc<Spool>,
    bytes: u64,
    /// The seat of the file, if there is one.
    file: Option<Seats>,
}

impl Share {
    fn resize(&mut self, bytes: u64) {
        self.spool.held.fetch_add(bytes, Ordering::Relaxed);
        self.spool.held.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }

    fn add_file(&mut self, seat: Seats) {
        self.spool.files.fetch_add(1, Ordering::Relaxed);
        self.file = Some(seat);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.spool.held.fetch_sub(self.bytes, Ordering::Relaxed);
        let files = u64::from(self.file.is_some());
        self.spool.files.fetch_sub(files, Ordering::Relaxed);
    }
}

/// Bytes in memory or in a nameless file.
#[derive(Debug)]
pub struct Stored {
    memory: Vec<u8>,
    file: Option<File>,
    length: u64,
    /// What is expected in all; less may come, and more.
    announced: usize,
    share: Share,
}

/// Where stored bytes are.
#[derive(Debug, Clone, Copy)]
pub enum BytesLocation<'a> {
    /// All of them.
    Memory(&'a [u8]),
    /// In a file, from its beginning.
    File(&'a File),
}

impl Stored {
    pub(super) const fn new(spool: Arc<Spool>) -> Self {
        Self {
            memory: Vec::new(),
            file: None,
            length: 0,
            announced: 0,
            share: Share {
                spool,
                bytes: 0,
                file: None,
            },
        }
    }

    /// How many bytes there are.
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where they are.
    pub fn place(&self) -> BytesLocation<'_> {
        match &self.file {
            Some(file) => BytesLocation::File(file),
            None => BytesLocation::Memory(&self.memory),
        }
    }

    /// The first bytes, as many as are asked for and there.
    pub fn first(&self, count: usize) -> io::Result<Vec<u8>> {
        let count = count.min(usize::try_from(self.length).unwrap_or(usize::MAX));
        match &self.file {
            None => Ok(self.memory[..count].to_vec()),
            Some(file) => {
                let mut bytes = vec![0; count];
                clewline_platform::file::read_exact_at(file, &mut bytes, 0)?;
                Ok(bytes)
            }
        }
    }

    /// Makes room for what is announced.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.announced = bytes.min(IN_MEMORY);
        self.make_room(bytes.min(PROMISED));
    }

    /// Sees to it that so many bytes have room in memory.
    fn make_room(&mut self, bytes: usize) {
        if bytes > self.memory.capacity() {
            // Who sent so much is believed the rest, and it is not moved again and again.
            let believed = if bytes > PROMISED { self.announced } else { 0 };
            let spool = &self.share.spool;
            let mut larger = spool.take(bytes.max(believed));
            larger.extend_from_slice(&self.memory);
            spool.give_back(std::mem::replace(&mut self.memory, larger));
        }
    }

    /// Appends. After an error nothing more may be appended; what was there before still is.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let together = self.memory.len() + bytes.len();
        if self.file.is_none()
            && together > self.share.spool.most_in_memory()
            && let Some(seat) = Seats::take(1)
        {
            let mut file = tempfile::tempfile_in(&self.share.spool.folder)?;
            self.share.add_file(seat);
            file.write_all(&self.memory)?;
            self.file = Some(file);
            self.share.spool.give_back(std::mem::take(&mut self.memory));
            self.share.resize(0);
        }
        if let Some(file) = &mut self.file {
            // The pages go to the system's cache; a disk that is slow slows this task alone.
            file.write_all(bytes)?;
        } else {
            self.make_room(together);
            self.memory.extend_from_slice(bytes);
            self.share.resize(together as u64);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        // What it held lies idle from now on, and is counted as such.
        self.share.resize(0);
        self.share.spool.give_back(memory);
    }
}
