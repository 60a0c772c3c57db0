//! A file that only grows at its end, and can be cut back to an earlier end.
//!
//! Owns the buffer, the end in bytes and the order of flush, sync and truncation that both
//! logs share. It refuses to know what the bytes mean. Invariant: `end` is the file's length
//! once the buffer is flushed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::Offset;

/// Large enough that a batch of records costs few system calls.
const BUFFER: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Appender {
    file: BufWriter<File>,
    path: PathBuf,
    end: u64,
}

impl Appender {
    /// Opens or creates a file and its folder, positioned at its end.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| named(folder, &error))?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| named(&path, &error))?;
        // The name of a new file is only durable once its folder is.
        File::open(folder)?.sync_all()?;
        let end = file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER, file),
            path,
            end,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file
            .write_all(bytes)
            .map_err(|error| named(&self.path, &error))?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn sync(&mut self) -> io::Result<Offset> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_data())
            .map_err(|error| named(&self.path, &error))?;
        Ok(Offset(self.end))
    }

    /// Cuts the file back; a file that is already shorter has lost committed bytes, which no
    /// truncation can bring back.
    pub(super) fn cut(&mut self, offset: Offset) -> io::Result<()> {
        self.file.flush()?;
        if offset.0 > self.end {
            let (end, wanted) = (self.end, offset.0);
            return Err(damage(
                &self.path,
                &format!("it ends at byte {end}, but {wanted} bytes were committed"),
            ));
        }
        let file = self.file.get_mut();
        file.set_len(offset.0)?;
        file.seek(SeekFrom::Start(offset.0))?;
        file.sync_data()?;
        self.end = offset.0;
        Ok(())
    }
}

/// Adds the path to an error of the system, which does not name it.
pub(super) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A file whose content is not what was written.
pub(super) fn damage(path: &Path, what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{}: {what}", path.display()),
    )
}

/// A file that ends in the middle: the tail of a crash that was never committed.
pub(super) fn torn(path: &Path, what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("{}: {what}", path.display()),
    )
}
