//! Files at a position, and files that somebody removed.
//!
//! Owns reading and writing that several threads can do to one file, and whether an open file still
//! has a name. It refuses to know what is in the file. Invariant: nobody relies on the position of the file itself, because on Windows these
//! functions move it.

use std::fs::File;
use std::io;
use std::path::Path;

/// Fills a buffer with what is at a position.
pub fn read_exact_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
    }
    #[cfg(windows)]
    {
        let (mut buffer, mut at) = (buffer, at);
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(file, buffer, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    buffer = &mut buffer[count..];
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Writes all bytes at a position.
pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
    }
    #[cfg(windows)]
    {
        let (mut bytes, mut at) = (bytes, at);
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_write(file, bytes, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether an open file was removed, so that what is written to it is lost. Elsewhere than on Unix
/// only its path is looked at: a file that took its place is not noticed.
pub fn was_removed(file: &File, path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        let _ = path;
        Ok(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.try_exists().map(|is_there| !is_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_without_a_name_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = File::create(&path).unwrap();
        assert!(!was_removed(&file, &path).unwrap());
        std::fs::remove_file(&path).unwrap();
        // Another file of that name is another file.
        File::create(&path).unwrap();
        assert!(was_removed(&file, &path).unwrap());
    }

    #[test]
    fn bytes_are_written_and_read_where_they_belong() {
        let file = tempfile::tempfile().unwrap();
        write_all_at(&file, b"world", 6).unwrap();
        write_all_at(&file, b"hello ", 0).unwrap();
        let mut found = [0; 11];
        read_exact_at(&file, &mut found, 0).unwrap();
        assert_eq!(&found, b"hello world");
        read_exact_at(&file, &mut found[..2], 7).unwrap();
        assert_eq!(&found[..2], b"or");
        let behind = read_exact_at(&file, &mut found, 1).unwrap_err();
        assert_eq!(behind.kind(), io::ErrorKind::UnexpectedEof);
    }
}
