//! Uploads what each batch added, before it is committed.
//!
//! Owns how far each log is in the store. The logs come first and the lines of `batches.jsonl` last, so
//! that no line speaks of what is not there. After an error the same call may be made again and goes on
//! where it stopped. Invariant: the logs only grow between two calls; whoever cut one back after a part
//! of it was uploaded is refused.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use clewline_job::archive::{FOLDER, Position, WarcName};
use clewline_job::log::{Offset, links, urls};
use clewline_job::merge::{BATCHES_FILE, BatchLine, FLEET_FILE, name_of as worker_name};

use crate::UploadError;
use crate::place::StorePlace;
use crate::segment;

/// An object is no longer than this, which bounds memory; more becomes several.
const LARGEST: u64 = 32 << 20;

/// The names under which logs are stored.
pub(crate) const URLS: &str = "urls";
pub(crate) const LINKS: &str = "links";
pub(crate) const BATCHES: &str = "batches";
pub(crate) const ARCHIVE: &str = "archive";
/// Files that are stored as they are.
pub(crate) const WHOLE: [&str; 2] = [FLEET_FILE, "job.toml"];

/// What a call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UploadedBatch {
    /// Objects that were put.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Uploads the logs of one worker.
#[derive(Debug)]
pub struct Uploader {
    place: StorePlace,
    /// What all names begin with: job and worker.
    prefix: String,
    urls: u64,
    links: u64,
    batches: u64,
    archive: Position,
    cost: UploadedBatch,
}

impl Uploader {
    /// Opens the store at an address, for a worker of a job.
    pub fn open(address: &str, job: &str, worker: u64) -> Result<Self, UploadError> {
        // A slash in the name of a job would make another level.
        let job = job.replace(['/', '\\'], "_");
        Ok(Self {
            place: StorePlace::open(address)?,
            prefix: format!("{job}/{}", worker_name(worker)),
            urls: 0,
            links: 0,
            batches: 0,
            archive: Position::default(),
            cost: UploadedBatch::default(),
        })
    }

    /// Uploads `fleet.json` and `job.toml`: when a worker begins, and again when the job has ended.
    pub fn describe(&mut self, folder: &Path) -> Result<UploadedBatch, UploadError> {
        self.cost = UploadedBatch::default();
        for name in WHOLE {
            let path = folder.join(name);
            let bytes = fs::read(&path).map_err(|error| UploadError::io(&path, error))?;
            self.put(name, bytes)?;
        }
        Ok(self.cost)
    }

    /// Uploads what the logs of a folder hold up to a line of `batches.jsonl`, and the lines so far.
    /// All of it must be on the disk.
    pub fn upload(
        &mut self,
        folder: &Path,
        line: &BatchLine,
    ) -> Result<UploadedBatch, UploadError> {
        self.cost = UploadedBatch::default();
        self.urls = self.log(&folder.join(urls::FILE), URLS, self.urls..line.urls)?;
        self.links = self.log(&folder.join(links::FILE), LINKS, self.links..line.links)?;
        self.files(&folder.join(FOLDER), Position::new(Offset(line.archive)))?;
        let path = folder.join(BATCHES_FILE);
        let length = fs::metadata(&path)
            .map_err(|error| UploadError::io(&path, error))?
            .len();
        self.batches = self.log(&path, BATCHES, self.batches..length)?;
        Ok(self.cost)
    }

    /// The files of the archive from where the last call ended.
    fn files(&mut self, folder: &Path, end: Position) -> Result<(), UploadError> {
        if end == self.archive {
            return Ok(());
        }
        if end < self.archive {
            return Err(cut_back(folder));
        }
        let at = |error| UploadError::io(folder, error);
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).map_err(at)? {
            let name = entry.map_err(at)?.file_name();
            files.extend(name.to_str().and_then(WarcName::parse));
        }
        files.retain(|file| (self.archive.serial..=end.serial).contains(&file.serial));
        files.sort_unstable();
        for file in files {
            let path = file.path(folder);
            let start = match self.archive {
                known if known.serial == file.serial => known.offset,
                _ => 0,
            };
            let length = if file.serial == end.serial {
                end.offset
            } else {
                fs::metadata(&path).map_err(at)?.len()
            };
            let offset = self.log(&path, &format!("{ARCHIVE}/{}", file.name), start..length)?;
            let serial = file.serial;
            self.archive = Position { serial, offset };
        }
        Ok(())
    }

    /// A part of a file, in as many objects as it takes; answers where it ends.
    fn log(&mut self, path: &Path, log: &str, part: Range<u64>) -> Result<u64, UploadError> {
        if part.start > part.end {
            return Err(cut_back(path));
        }
        let mut start = part.start;
        while start < part.end {
            let end = part.end.min(start + LARGEST);
            let bytes = read(path, start..end).map_err(|error| UploadError::io(path, error))?;
            self.put(&segment::name_of(log, &(start..end)), bytes)?;
            start = end;
        }
        Ok(part.end)
    }

    fn put(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), UploadError> {
        self.cost.bytes += bytes.len() as u64;
        self.cost.requests += 1;
        self.place.put(&format!("{}/{name}", self.prefix), bytes)
    }
}

fn cut_back(path: &Path) -> UploadError {
    let path = path.display();
    UploadError::Unusable(format!("{path} is shorter than what was uploaded of it"))
}

fn read(path: &Path, part: Range<u64>) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(part.start))?;
    let mut bytes = vec![0; usize::try_from(part.end - part.start).unwrap_or(usize::MAX)];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
