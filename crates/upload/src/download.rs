//! What workers uploaded, as folders again.
//!
//! Owns the putting together of segments, and the check that nothing between them is missing. What lies
//! behind the last line of `batches.jsonl` may have holes, since it never counts. It refuses to know
//! which batches count; the merge does. Invariant: memory holds one object at a time, and the names.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clewline_job::archive::{FOLDER, Position, serial_of};
use clewline_job::log::{Offset, links, urls};
use clewline_job::merge::{BATCHES_FILE, BatchLine, FLEET_FILE, WORKERS};

use crate::UploadError;
use crate::place::StorePlace;
use crate::segment;
use crate::uploader::{ARCHIVE, BATCHES, LINKS, URLS, WHOLE};

/// What was fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Downloaded {
    /// The folders of workers, which the merge takes.
    pub folders: Vec<PathBuf>,
    /// Objects that were read.
    pub requests: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

/// Fetches everything below an address, which may be that of many jobs, of one, or of one worker, into
/// a folder.
pub fn download(address: &str, into: &Path) -> Result<Downloaded, UploadError> {
    let place = StorePlace::open(address)?;
    let names = place.list()?;
    let mut all = Downloaded::default();
    let suffix = format!("/{FLEET_FILE}");
    let workers: Vec<String> = names
        .iter()
        .filter_map(|(name, _)| match name.as_str() {
            FLEET_FILE => Some(String::new()),
            name => Some(format!("{}/", name.strip_suffix(&suffix)?)),
        })
        .collect();
    if workers.is_empty() {
        let what = format!("{address}: no worker uploaded anything there");
        return Err(UploadError::Unusable(what));
    }
    for (number, prefix) in workers.iter().enumerate() {
        let name = prefix
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let name = if name.is_empty() {
            format!("worker-{number}")
        } else {
            name.to_owned()
        };
        let of_worker = names
            .iter()
            .filter_map(|(name, _)| name.strip_prefix(prefix.as_str()));
        let mut fetching = Fetching {
            place: &place,
            prefix,
            folder: into.join(WORKERS).join(name),
            all: &mut all,
        };
        fetching.run(of_worker)?;
    }
    Ok(all)
}

/// The segments of one log, as their names say.
type Segments = Vec<Range<u64>>;

struct Fetching<'a> {
    place: &'a StorePlace,
    prefix: &'a str,
    folder: PathBuf,
    all: &'a mut Downloaded,
}

impl Fetching<'_> {
    fn run<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<(), UploadError> {
        let mut logs: BTreeMap<&str, Segments> = BTreeMap::new();
        for (log, bytes) in names.filter_map(segment::parse) {
            logs.entry(log).or_default().push(bytes);
        }
        make(&self.folder)?;
        for name in WHOLE {
            let bytes = self.get(name)?;
            let path = self.folder.join(name);
            fs::write(&path, bytes).map_err(|error| UploadError::io(&path, error))?;
        }
        let batches = logs.remove(BATCHES).unwrap_or_default();
        self.join(BATCHES, BATCHES_FILE, &batches, u64::MAX)?;
        let last = self.last_batch()?;
        let archived = Position::new(Offset(last.archive));
        for (log, segments) in &logs {
            match log.split_once('/') {
                None if *log == URLS => self.join(log, urls::FILE, segments, last.urls)?,
                None if *log == LINKS => self.join(log, links::FILE, segments, last.links)?,
                Some((ARCHIVE, file)) => {
                    let serial = serial_of(Path::new(file)).unwrap_or(u64::MAX);
                    let needed = match serial.cmp(&archived.serial) {
                        std::cmp::Ordering::Less => u64::MAX,
                        std::cmp::Ordering::Equal => archived.offset,
                        std::cmp::Ordering::Greater => continue,
                    };
                    // The name comes from a store that others may write to.
                    if Path::new(file).file_name() == Some(file.as_ref()) {
                        self.join(log, &format!("{FOLDER}/{file}"), segments, needed)?;
                    }
                }
                _ => {}
            }
        }
        self.all.folders.push(self.folder.clone());
        Ok(())
    }

    /// Writes segments one behind the other. A hole before `needed` is an error, one behind it ends the
    /// log; a log of which all is needed must have no hole at all.
    fn join(
        &mut self,
        log: &str,
        file: &str,
        segments: &Segments,
        needed: u64,
    ) -> Result<(), UploadError> {
        let path = self.folder.join(file);
        make(path.parent().unwrap_or(&self.folder))?;
        let at = |error| UploadError::io(&path, error);
        let mut out = File::create(&path).map_err(at)?;
        let name = format!("{}{log}", self.prefix);
        let torn = |what: String| UploadError::Torn {
            name: name.clone(),
            what,
        };
        let mut end = 0;
        for bytes in segments {
            if end >= needed {
                break;
            }
            if bytes.start > end {
                return Err(torn(format!(
                    "the bytes from {end} to {} are missing",
                    bytes.start
                )));
            }
            // An upload whose answer was lost was made again, and longer.
            if bytes.end <= end {
                continue;
            }
            let name = segment::name_of(log, bytes);
            let content = self.get(&name)?;
            if content.len() as u64 != bytes.end - bytes.start {
                let length = content.len();
                return Err(torn(format!("{name} holds {length} bytes")));
            }
            let known = usize::try_from(end - bytes.start).unwrap_or(usize::MAX);
            out.write_all(&content[known..]).map_err(at)?;
            end = bytes.end;
        }
        if needed != u64::MAX && end < needed {
            return Err(torn(format!(
                "the bytes from {end} to {needed} are missing"
            )));
        }
        out.sync_all().map_err(at)
    }

    /// The last whole line of the batches.
    fn last_batch(&self) -> Result<BatchLine, UploadError> {
        let path = self.folder.join(BATCHES_FILE);
        BatchLine::last_in(&path).map_err(|error| UploadError::io(&path, error))
    }

    fn get(&mut self, name: &str) -> Result<Vec<u8>, UploadError> {
        let bytes = self.place.get(&format!("{}{name}", self.prefix))?;
        self.all.requests += 1;
        self.all.bytes += bytes.len() as u64;
        Ok(bytes)
    }
}

fn make(folder: &Path) -> Result<(), UploadError> {
    fs::create_dir_all(folder).map_err(|error| UploadError::io(folder, error))
}
