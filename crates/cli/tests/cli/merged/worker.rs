//! Folders of workers, made by real crawls: each crawls the whole web under the same seed, and what
//! of it counts is decided by the tenures that a test makes up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline::Crawl;
use clewline::log::{Entry, Log, Offset};
use clewline_core::fleet::{ShardId, Shards, Tenure};
use clewline_job::archive::{Position, serial_of};
use clewline_job::config::{Compression, Config, Root, Speed};
use clewline_job::log::{links as link_log, records, urls};
use clewline_job::merge::{BATCHES_FILE, BatchLine, FLEET_FILE, FORMAT, FleetFile, name_of};
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::report::Tally;
use clewline_job::witness::Witness;
use terrarium::{LiveWeb, Page, Site, Web, links, numbered_links};

pub(super) const BITS: u32 = 6;
pub(super) const HOSTS: usize = 6;
const PAGES: usize = 60;

/// A web of several domains, whose pages are alike in part.
pub(super) fn web() -> LiveWeb {
    let mut web = Web::new();
    for host in 0..HOSTS {
        let same = (0..8).map(|number| format!("/same/{number}"));
        let home = numbered_links("/p/", PAGES) + &links(same) + &links(["/moved", "/gone"]);
        let site = Site::new()
            .delay(Duration::from_millis(8))
            .robots("User-agent: *\nDisallow: /p/7\n")
            .page("/", Page::html(home))
            .page("/moved", Page::redirect(301, "/p/1"))
            .under("/same/", |request| {
                // The same on all hosts, so that later ones refer to the first.
                let body = format!("<title>same</title>{}", request.path().repeat(300));
                Page::html(body).into()
            })
            .under("/p/", move |request| {
                let text = format!("page {} of host {host} ", request.target());
                let body = format!("<title>{text}</title>{}", text.repeat(30));
                Page::html(body + &links(["/", "/p/3", "/gone"])).into()
            });
        web = web.site(&format!("h{host}.test"), site);
    }
    web.start()
}

/// Notes where the logs ended after each batch, as a worker does.
struct BatchNotes {
    folder: PathBuf,
    batch: u64,
    appended: bool,
}

impl BatchNotes {
    fn line(&self) -> io::Result<BatchLine> {
        let length = |name: &str| fs::metadata(self.folder.join(name)).map(|file| file.len());
        let mut archive = Position::default();
        for entry in fs::read_dir(self.folder.join("archive"))
            .into_iter()
            .flatten()
        {
            let path = entry?.path();
            let offset = fs::metadata(&path)?.len();
            if let Some(serial) = serial_of(&path).filter(|_| offset > 0) {
                archive = archive.max(Position { serial, offset });
            }
        }
        Ok(BatchLine {
            batch: self.batch,
            urls: length(urls::FILE)?,
            links: length(link_log::FILE)?,
            archive: archive.offset().0,
        })
    }
}

impl Log for BatchNotes {
    fn name(&self) -> &'static str {
        "batches"
    }

    fn append(&mut self, batch: &[Entry]) -> io::Result<()> {
        self.appended |= !batch.is_empty();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<Offset> {
        if std::mem::take(&mut self.appended) {
            self.batch += 1;
            let line = serde_json::to_string(&self.line()?)?;
            let path = self.folder.join(BATCHES_FILE);
            let mut file = File::options().create(true).append(true).open(path)?;
            writeln!(file, "{line}")?;
        }
        Ok(Offset(self.batch))
    }

    fn cut(&mut self, _: Offset) -> io::Result<()> {
        Ok(())
    }
}

/// How the archives of a test are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Archiving {
    Not,
    In(Compression),
}

pub(super) fn config(web: &LiveWeb, archiving: Archiving) -> Config {
    let root = |host: usize| Root::parse(&web.url(&format!("h{host}.test"), "/")).unwrap();
    let mut config = Config {
        roots: (0..HOSTS).map(root).collect(),
        ..Config::default()
    };
    config.fetch.resolve = web.resolve_args();
    config.politeness.speed = Some(Speed::Max);
    // Slow enough for many batches, whatever the machine.
    config.limits.concurrency = 4;
    config.output.archive.write = archiving != Archiving::Not;
    if let Archiving::In(compression) = archiving {
        config.output.archive.compression = compression;
        config.output.archive.file_size = 192 * 1024;
    }
    config
}

/// What one worker left.
pub(super) struct Worker {
    pub(super) id: u64,
    pub(super) path: PathBuf,
    pub(super) seed: u64,
    /// Its records, with their batches.
    pub(super) records: Vec<(u64, Record)>,
}

/// Crawls everything as one worker, under the seed of another if there is one.
pub(super) fn crawl(place: &Path, id: u64, config: &Config, like: Option<&Worker>) -> Worker {
    let path = place.join("workers").join(name_of(id));
    if let Some(other) = like {
        begin_like(other, &path);
    }
    let notes = BatchNotes {
        folder: path.clone(),
        batch: 0,
        appended: false,
    };
    let running = Crawl::from_config(config.clone())
        .folder(&path)
        .log(notes)
        .run();
    let summary = running.and_then(clewline::Running::wait).unwrap();
    assert!(summary.error.is_none(), "{:?}", summary.error);
    let seed = clewline_job::JobFile::read(&path).unwrap().seed;
    let mut worker = Worker {
        id,
        path,
        seed,
        records: Vec::new(),
    };
    worker.records = worker.read();
    assert!(
        worker.batches().len() > 3,
        "too few batches to leave one out"
    );
    worker.tell(None);
    worker
}

/// A folder whose crawl was killed in its first moment, with the seed of another one.
fn begin_like(other: &Worker, path: &Path) {
    let text = fs::read_to_string(other.path.join("job.toml")).unwrap();
    let mut table: toml::Table = toml::from_str(&text).unwrap();
    table.insert("finished".into(), false.into());
    table.insert("reached".into(), 0.into());
    table.remove("ended");
    fs::create_dir_all(path.join("state")).unwrap();
    fs::write(path.join("job.toml"), toml::to_string(&table).unwrap()).unwrap();
    Witness::create(&path.join("state")).unwrap();
}

impl Worker {
    /// The lines of `batches.jsonl`.
    pub(super) fn batches(&self) -> Vec<BatchLine> {
        let text = fs::read_to_string(self.path.join(BATCHES_FILE)).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn read(&self) -> Vec<(u64, Record)> {
        let mut all = records(&self.path.join(urls::FILE)).unwrap();
        let mut found = Vec::new();
        for line in self.batches() {
            while all.offset().0 < line.urls {
                found.push((line.batch, all.next().unwrap().unwrap()));
            }
        }
        assert!(all.next().is_none());
        found
    }

    /// Writes `fleet.json`.
    pub(super) fn tell(&self, tenures: Option<Vec<Tenure>>) {
        let file = FleetFile {
            job: "fleet of tests".into(),
            worker: self.id,
            seed: self.seed,
            bits: BITS,
            format: FORMAT,
            tenures,
            joined: None,
            early: None,
        };
        let text = serde_json::to_vec(&file).unwrap();
        fs::write(self.path.join(FLEET_FILE), text).unwrap();
    }

    pub(super) fn last_batch(&self) -> u64 {
        self.batches().last().unwrap().batch
    }

    /// The shards of some hosts.
    pub(super) fn shards(&self, hosts: std::ops::Range<usize>) -> BTreeSet<ShardId> {
        let names: Vec<String> = hosts.map(|host| format!("h{host}.test")).collect();
        let records = self.records.iter();
        let of_hosts = records.filter(|(_, it)| names.iter().any(|name| name == it.url.host()));
        of_hosts.map(|(_, record)| shard_of(record)).collect()
    }

    /// The tenure of a shard from one batch to another, with the pages that it truly brought.
    pub(super) fn tenure(&self, shard: ShardId, epoch: u64, batches: (u64, u64)) -> Tenure {
        let within = |(batch, record): &&(u64, Record)| {
            (batches.0..=batches.1).contains(batch) && shard_of(record) == shard && is_page(record)
        };
        Tenure {
            shard,
            epoch,
            worker: self.id,
            batches: Some(batches),
            pages: self.records.iter().filter(within).count() as u64,
        }
    }

    /// Tenures of all these shards, over all batches.
    pub(super) fn whole(&self, shards: &BTreeSet<ShardId>) -> Vec<Tenure> {
        let all = (1, self.last_batch());
        shards
            .iter()
            .map(|shard| self.tenure(*shard, 1, all))
            .collect()
    }
}

pub(super) fn shard_of(record: &Record) -> ShardId {
    Shards::new(BITS).of(record.key.host())
}

pub(super) fn is_page(record: &Record) -> bool {
    let is_brought = matches!(
        record.outcome,
        OutcomeKind::Fetched | OutcomeKind::Unmodified
    );
    is_brought && Tally::counts_as_page(record.kind)
}

/// What a crawl found, without what differs from run to run.
pub(super) fn found<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeMap<String, String> {
    let entry = |it: &Record| {
        let what = format!("{:?} {:?} {:?}", it.outcome, it.status, it.digest);
        (it.url.to_string(), what)
    };
    records.into_iter().map(entry).collect()
}
