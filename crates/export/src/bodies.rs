//! The bodies of records, out of the archive.
//!
//! Owns which capture is that of a record, and how much of it is read.

use std::io::Read as _;

use clewline_archive::Archive;
use clewline_job::record::Record;

/// Bytes of a body that are read; the content of a longer one is refused anyway.
const MOST_BODY: u64 = 16 * 1024 * 1024;

/// The decoded body of what a record tells of; else why there is none.
pub(crate) fn body_of(archive: &Archive, record: &Record) -> Result<Vec<u8>, String> {
    let url = record.url.as_str();
    let status = record.status.map(|status| status.to_string());
    let held = archive.best(url, None, |capture| {
        capture.url == url
            && status
                .as_ref()
                .is_none_or(|status| *status == capture.status)
    });
    let held = held.map_err(|error| error.to_string())?;
    let held = held.ok_or("the archive has no capture of it")?;
    let content = archive.read(&held).map_err(|error| error.to_string())?;
    let decoded = content.decoded().map_err(|error| error.to_string())?;
    let mut body = Vec::new();
    match decoded.take(MOST_BODY + 1).read_to_end(&mut body) {
        // A body that breaks off has words before it does.
        Err(error) if body.is_empty() => Err(error.to_string()),
        _ => Ok(body),
    }
}
