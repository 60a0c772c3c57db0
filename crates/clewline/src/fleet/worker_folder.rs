//! What a member leaves beside its logs, for whoever merges them.
//!
//! Owns `fleet.json`, which says whose folder it is and in the end who held which shard, and
//! `batches.jsonl`, which says where in the logs each batch ends. It refuses to know which batches
//! count. Invariant: a batch has its line, synced, before anybody is asked to count it.

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
}

impl BatchesFile {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(BATCHES_FILE);
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        durable::sync_folder(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            file,
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
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()
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
