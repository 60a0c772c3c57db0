//! A file that only grows at its end, and can be cut back to an earlier end.
//!
//! Owns the buffer, the end in bytes and the order of flush, sync and truncation that both
//! logs share. It refuses to know what the bytes mean. Invariant: the file's first `written`
//! bytes and the buffer, in this order, are what was appended, also after a write that failed
//! half-way: the next one begins at the same place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::Offset;
use crate::durable;

/// Large enough that a batch of records costs few system calls.
const BUFFER: usize = 256 * 1024;

/// A file that grows at its end.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    written: u64,
    buffer: Vec<u8>,
    lost: bool,
}

impl Appender {
    /// Opens or creates a file and its folder, to go on at its end. What is above must be there: a job
    /// that somebody renamed is not begun again under its old name.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let folder = durable::parent(&path);
        fs::metadata(durable::parent(folder))
            .and_then(|_| durable::make_folder(folder))
            .map_err(|error| named(folder, &error))?;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| named(&path, &error))?;
        durable::sync_folder(folder).map_err(|error| named(folder, &error))?;
        let written = file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            path,
            written,
            buffer: Vec::with_capacity(BUFFER),
            lost: false,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it ends, with what is only in the buffer.
    pub const fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < BUFFER {
            return Ok(());
        }
        self.flush()
    }

    /// Makes everything appended so far durable and says where the file ends.
    pub fn sync(&mut self) -> io::Result<Offset> {
        self.flush()?;
        // After a failed sync the system may have dropped the pages and call the next one a
        // success, so the bytes count as lost until they are cut away.
        if self.lost {
            return Err(damage(&self.path, "an earlier write was lost"));
        }
        self.file.sync_data().map_err(|error| {
            self.lost = true;
            named(&self.path, &error)
        })?;
        Ok(Offset(self.written))
    }

    /// Cuts the file back; a file that is already shorter has lost committed bytes, which no
    /// truncation can bring back.
    pub fn cut(&mut self, offset: Offset) -> io::Result<()> {
        let end = self.end();
        if offset.0 > end {
            let wanted = offset.0;
            let what = format!("it ends at byte {end}, but {wanted} bytes were committed");
            return Err(damage(&self.path, &what));
        }
        if offset.0 > self.written {
            self.flush()?;
        }
        // What is only in the buffer goes without being written: the disk may be full.
        self.buffer.clear();
        self.file
            .set_len(offset.0)
            .and_then(|()| self.file.sync_data())
            .map_err(|error| named(&self.path, &error))?;
        self.written = offset.0;
        self.lost = false;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file
            .seek(SeekFrom::Start(self.written))
            .and_then(|_| self.file.write_all(&self.buffer))
            .map_err(|error| named(&self.path, &error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// Adds the path to an error of the system, which does not name it.
pub fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A file whose content is not what was written.
pub fn damage(path: &Path, what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{}: {what}", path.display()),
    )
}

/// A file that ends in the middle: the tail of a crash that was never committed.
pub fn torn(path: &Path, what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("{}: {what}", path.display()),
    )
}
