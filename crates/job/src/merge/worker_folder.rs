//! What a worker of a fleet leaves: the folder of one process, from its start to its end.
//!
//! Owns the two files in it that no other job folder has: `fleet.json`, which says whose folder it
//! is and, when the job has ended, who held which shard; and `batches.jsonl`, which says where each
//! log ended after each batch. It refuses to know which batches count. Invariant: a line of
//! `batches.jsonl` is written behind what it speaks of, so all of that is there, and a line that is
//! torn speaks of nothing.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clewline_core::fleet::Tenure;
use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

use super::MergeError;
use crate::archive::{self, Position};
use crate::log::appender::damage;
use crate::log::{Offset, links, urls};

/// The version of what a worker leaves.
pub const FORMAT: u32 = 1;
/// Says whose folder it is.
pub const FLEET_FILE: &str = "fleet.json";
/// Says where the logs ended after each batch.
pub const BATCHES_FILE: &str = "batches.jsonl";
/// The folder of all workers of a machine.
pub const WORKERS: &str = "workers";

/// No line of `batches.jsonl` is longer.
const LONGEST_LINE: u64 = 4096;

/// What `fleet.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetFile {
    /// The name of the job.
    pub job: String,
    /// Whose folder it is.
    pub worker: u64,
    /// What the keys of the job are seeded with.
    pub seed: u64,
    /// The job is cut into 2^bits shards.
    pub bits: u32,
    /// The version of what the worker leaves.
    pub format: u32,
    /// Who held which shard, all workers together; only after the end of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenures: Option<Vec<Tenure>>,
    /// Hosts that joined the scope, as URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<Vec<CrawlUrl>>,
    /// Why the job ended early, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<String>,
}

/// A line of `batches.jsonl`: where the logs ended after a batch, as their offsets say it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchLine {
    /// Which batch.
    pub batch: u64,
    /// The end of `urls.jsonl`.
    #[serde(default)]
    pub urls: u64,
    /// The end of `links/`.
    #[serde(default)]
    pub links: u64,
    /// The end of `archive/`: a [`Position`] as an offset; 0 without an archive.
    #[serde(default)]
    pub archive: u64,
}

impl BatchLine {
    /// A batch after which the logs of these names end there.
    pub fn new(batch: u64, ends: &[(&str, u64)]) -> Self {
        let end = |name| {
            let found = ends.iter().find(|(log, _)| *log == name);
            found.map_or(0, |(_, end)| *end)
        };
        Self {
            batch,
            urls: end(urls::NAME),
            links: end(links::NAME),
            archive: end(archive::NAME),
        }
    }
}

impl BatchLine {
    /// The last whole line of a `batches.jsonl`; nothing was written if there is none.
    pub fn last_in(path: &Path) -> io::Result<Self> {
        let mut lines = BatchLines::open(path)?;
        while lines.next_span()?.is_some() {}
        Ok(lines.before)
    }
}

/// What one batch added to each log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchSpan {
    pub(super) batch: u64,
    pub(super) urls: Range<u64>,
    pub(super) links: Range<u64>,
    /// Where the archive ended after it.
    pub(super) archive_end: Position,
}

/// The folder of one process.
#[derive(Debug, Clone)]
pub(super) struct WorkerFolder {
    pub(super) path: PathBuf,
    pub(super) file: FleetFile,
}

impl WorkerFolder {
    /// The worker's name: that of its folder.
    pub(super) fn name(&self) -> String {
        name_of(self.file.worker)
    }

    /// The folder at a path, if it is one.
    fn read(path: &Path) -> Result<Option<Self>, MergeError> {
        let file = path.join(FLEET_FILE);
        let text = match fs::read(&file) {
            Err(error) if is_absent(&error) => return Ok(None),
            other => other.map_err(|error| MergeError::io(&file, error))?,
        };
        let read: FleetFile = serde_json::from_slice(&text)
            .map_err(|error| MergeError::damaged(&file, &error.to_string()))?;
        if read.format > FORMAT {
            let format = read.format;
            return Err(MergeError::damaged(
                &file,
                &format!("it has the newer format {format}; merge with a newer version"),
            ));
        }
        Ok(Some(Self {
            path: path.to_owned(),
            file: read,
        }))
    }

    /// The folders that a path stands for: itself, or those in its `workers/`.
    pub(super) fn find(path: &Path) -> Result<Vec<Self>, MergeError> {
        if let Some(one) = Self::read(path)? {
            return Ok(vec![one]);
        }
        let workers = path.join(WORKERS);
        let entries = match fs::read_dir(&workers) {
            Err(error) if is_absent(&error) => return Err(MergeError::NoWorkers(path.into())),
            other => other.map_err(|error| MergeError::io(&workers, error))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| MergeError::io(&workers, error))?;
            found.extend(Self::read(&entry.path())?);
        }
        Ok(found)
    }

    /// What each batch added, in the order of the batches.
    pub(super) fn batches(&self) -> io::Result<BatchLines> {
        BatchLines::open(&self.path.join(BATCHES_FILE))
    }
}

/// How a worker is called: 16 hexadecimal digits.
pub fn name_of(worker: u64) -> String {
    format!("{worker:016x}")
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Reads `batches.jsonl` line by line; ends at a torn line.
#[derive(Debug)]
pub(super) struct BatchLines {
    lines: Option<BufReader<File>>,
    path: PathBuf,
    before: BatchLine,
}

impl BatchLines {
    /// A file that is not there has no lines.
    fn open(path: &Path) -> io::Result<Self> {
        let lines = match File::open(path) {
            Err(error) if is_absent(&error) => None,
            other => Some(BufReader::new(other?)),
        };
        Ok(Self {
            lines,
            path: path.to_owned(),
            before: BatchLine::default(),
        })
    }

    pub(super) fn next_span(&mut self) -> io::Result<Option<BatchSpan>> {
        let Some(lines) = &mut self.lines else {
            return Ok(None);
        };
        let mut text = Vec::new();
        lines.take(LONGEST_LINE).read_until(b'\n', &mut text)?;
        if text.last() != Some(&b'\n') {
            self.lines = None;
            return Ok(None);
        }
        let line: BatchLine = serde_json::from_slice(&text)
            .map_err(|error| damage(&self.path, &format!("a line is none: {error}")))?;
        let before = std::mem::replace(&mut self.before, line);
        let is_in_order = before.batch <= line.batch
            && before.urls <= line.urls
            && before.links <= line.links
            && before.archive <= line.archive;
        if !is_in_order {
            let what = format!(
                "batch {} does not follow batch {}",
                line.batch, before.batch
            );
            return Err(damage(&self.path, &what));
        }
        Ok(Some(BatchSpan {
            batch: line.batch,
            urls: before.urls..line.urls,
            links: before.links..line.links,
            archive_end: Position::new(Offset(line.archive)),
        }))
    }

    /// Where the archive ends behind the last line.
    pub(super) fn archive_end(mut self) -> io::Result<Position> {
        while self.next_span()?.is_some() {}
        Ok(Position::new(Offset(self.before.archive)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(batches: &str) -> (tempfile::TempDir, WorkerFolder) {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(BATCHES_FILE), batches).unwrap();
        let file = FleetFile {
            job: "j".into(),
            worker: 7,
            seed: 1,
            bits: 6,
            format: FORMAT,
            tenures: None,
            joined: None,
            early: None,
        };
        let path = place.path().to_owned();
        (place, WorkerFolder { path, file })
    }

    fn ends(batches: &str) -> io::Result<Vec<(u64, u64)>> {
        let (_place, folder) = folder(batches);
        let mut lines = folder.batches()?;
        let mut found = Vec::new();
        while let Some(span) = lines.next_span()? {
            found.push((span.batch, span.urls.end));
        }
        Ok(found)
    }

    #[test]
    fn a_torn_line_ends_the_batches_and_one_out_of_order_is_damage() {
        let whole = "{\"batch\":1,\"urls\":10}\n{\"batch\":2,\"urls\":30,\"links\":8}\n";
        assert_eq!(ends(whole).unwrap(), [(1, 10), (2, 30)]);
        for cut in 23..whole.len() {
            assert_eq!(ends(&whole[..cut]).unwrap(), [(1, 10)], "{cut}");
        }
        assert_eq!(ends("").unwrap(), []);
        let back = format!("{whole}{{\"batch\":3,\"urls\":29,\"links\":8}}\n");
        assert!(ends(&back).unwrap_err().to_string().contains("batch 3"));
        assert!(ends("nonsense\n").is_err());
    }
}
