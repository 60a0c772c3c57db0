//! Copies of job folders, holes left out.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// Copies a folder with everything in it but sockets, which mean nothing in another place.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_folder(&entry.path(), &target);
        } else if kind.is_file() {
            copy_file(&entry.path(), &target);
        }
    }
}

/// Copies a file and leaves out what is zero: journals are mostly room for later.
pub(crate) fn copy_file(from: &Path, to: &Path) {
    let (mut from, mut to) = (File::open(from).unwrap(), File::create(to).unwrap());
    let mut block = vec![0; 1 << 16];
    let mut end = 0;
    loop {
        let read = from.read(&mut block).unwrap();
        if read == 0 {
            break;
        }
        if block[..read].iter().any(|byte| *byte != 0) {
            to.seek(SeekFrom::Start(end)).unwrap();
            to.write_all(&block[..read]).unwrap();
        }
        end += read as u64;
    }
    to.set_len(end).unwrap();
}
