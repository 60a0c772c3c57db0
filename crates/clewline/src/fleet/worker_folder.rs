//! What a member leaves beside its logs, for whoever merges them.
//!
//! Owns `fleet.json`, which says whose folder it is and in the end who held which shard, and
//! `batches.jsonl`, which says where in the logs each batch ends. It refuses to know which batches
//! count. Invariant: a batch has its line, synced, in a file that is still there, before anybody is asked
//! to count it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clewline_core::fleet::{FleetJob, Tenure};
use clewline_core::url::CrawlUrl;
use clewline_job::merge::{BATCHES_FILE, BatchLine, FLEET_FILE, FORMAT, FleetFile};

use crate::durable;

/// The file with the ends of batches.
#[derive(Debug)]
pub(crate) struct BatchesFile {
    folder: PathBuf,
    file: File,
    /// How long it is, whole lines only.
    length: u64,
}

impl BatchesFile {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(BATCHES_FILE);
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        durable::sync_folder(folder)?;
        let length = file.metadata()?.len();
        Ok(Self {
            folder: folder.to_owned(),
            file,
            length,
        })
    }

    /// The folder of the member.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes where the logs end after a batch. A batch that is written again has a second line,
    /// which counts.
    pub(crate) fn append(&mut self, batch: u64, offsets: &[(&'static str, u64)]) -> io::Result<()> {
        let mut line = serde_json::to_string(&BatchLine::new(batch, offsets))?;
        line.push('\n');
        // A full disk may have left a part of a line.
        self.file.set_len(self.length)?;
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()?;
        self.length += line.len() as u64;
        self.check_is_there()
    }

    /// A file can be written to after somebody removed it. What only such files hold must not count:
    /// nobody would ever merge it.
    fn check_is_there(&self) -> io::Result<()> {
        let path = self.folder.join(BATCHES_FILE);
        if !clewline_platform::file::was_removed(&self.file, &path)? {
            return Ok(());
        }
        let what = format!("{} was removed", path.display());
        Err(io::Error::new(io::ErrorKind::NotFound, what))
    }
}

/// How a job ended.
#[derive(Debug)]
pub(crate) struct FleetEnd {
    pub(crate) tenures: Vec<Tenure>,
    pub(crate) joined: Vec<CrawlUrl>,
    /// Why it ended early, if it did.
    pub(crate) early: Option<String>,
}

/// Says whose folder it is, and how the job ended once it has.
pub(crate) fn write_fleet_file(
    folder: &Path,
    job: &FleetJob,
    worker: u64,
    end: Option<FleetEnd>,
) -> io::Result<()> {
    let early = end.as_ref().and_then(|end| end.early.clone());
    let (tenures, joined) = end.map(|end| (end.tenures, end.joined)).unzip();
    let file = FleetFile {
        job: job.name.clone(),
        worker,
        seed: job.seed,
        bits: job.bits,
        format: FORMAT,
        tenures,
        joined,
        early,
    };
    durable::write(&folder.join(FLEET_FILE), &serde_json::to_vec_pretty(&file)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_follows_whole_lines_only() {
        let place = tempfile::tempdir().unwrap();
        let mut batches = BatchesFile::create(place.path()).unwrap();
        batches.append(1, &[("urls", 10)]).unwrap();
        // What a full disk leaves of a line.
        batches.file.write_all(b"{\"batch\":2,\"ur").unwrap();
        batches.append(2, &[("urls", 30)]).unwrap();
        let text = std::fs::read_to_string(place.path().join(BATCHES_FILE)).unwrap();
        let lines: Vec<BatchLine> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let seen: Vec<(u64, u64)> = lines.iter().map(|line| (line.batch, line.urls)).collect();
        assert_eq!(seen, [(1, 10), (2, 30)]);
    }

    #[test]
    fn a_line_in_a_file_that_was_removed_does_not_count() {
        let place = tempfile::tempdir().unwrap();
        let mut batches = BatchesFile::create(place.path()).unwrap();
        batches.append(1, &[]).unwrap();
        std::fs::remove_dir_all(place.path()).unwrap();
        let error = batches.append(2, &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("was removed"), "{error}");
    }
}
