//! The files while they are made: in a folder of their own beside those they will replace.
//!
//! Owns the one pass over the archive and the order of writing. Invariant: memory is bounded
//! by one record's line and links, whatever the archive holds.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline_core::key::Keyer;
use clewline_core::link::Link;
use clewline_core::url::CrawlUrl;
use clewline_warc::cdxj;
use clewline_warc::read::{Header, ReadError, Watched};
use clewline_warc::{Moment, RecordKind};
use tempfile::TempDir;

use super::{Existing, ReadAnswer, RebuildError, Rebuilt, at, is_ours};
use crate::archive::{FOLDER, FileRecords, KEY_SEED, SORTED, is_indexed, write_index_line};
use crate::job_file::KeptSettings;
use crate::log::{LinksLog, links, urls};
use crate::record::Record;
use crate::report::{Report, RunFacts, Tally, html};
use crate::{durable, escape, metadata};

/// The records of a file, by somebody who tells how far.
type WatchedRecords<'a> = FileRecords<Watched<'a, File>>;

/// The page for people.
const REPORT: &str = "report.html";
/// Roots that the report names.
const MOST_ROOTS: usize = 100;
/// Memory for sorting the index.
const SORTING: usize = 16 << 20;

/// What the beginning of a file says about the rest.
enum Origin {
    /// A crawl of ours, whose lines are in it.
    Ours,
    Foreign,
}

/// Everything that is being made.
pub(super) struct Making<'a> {
    folder: PathBuf,
    scratch: TempDir,
    urls: BufWriter<File>,
    links: LinksLog,
    index: BufWriter<File>,
    /// Reads answers without lines.
    read_answer: &'a ReadAnswer<'a>,
    /// The keys of the file that is read.
    keys: Keyer,
    seed: Option<u64>,
    tally: Tally,
    roots: BTreeSet<CrawlUrl>,
    /// The first and the last moment of a line.
    span: Option<(String, String)>,
    /// The file that is read has answers without lines.
    answers: bool,
    rebuilt: Rebuilt,
}

impl<'a> Making<'a> {
    pub(super) fn begin(
        folder: &Path,
        existing: Existing,
        seed: Option<u64>,
        read_answer: &'a ReadAnswer<'a>,
    ) -> Result<Self, RebuildError> {
        durable::make_folder(folder).map_err(at(folder))?;
        if existing == Existing::Kept {
            let names = [
                urls::FILE.into(),
                links::FILE.into(),
                REPORT.into(),
                index(folder),
            ];
            let there = names.iter().map(|name: &PathBuf| folder.join(name));
            if let Some(path) = there.into_iter().find(|path| path.exists()) {
                return Err(RebuildError::Exists(path));
            }
        }
        let scratch = tempfile::Builder::new()
            .prefix(".rebuild-")
            .tempdir_in(folder)
            .map_err(at(folder))?;
        let place = scratch.path();
        let urls = File::create(place.join(urls::FILE)).map_err(at(place))?;
        let index = tempfile::tempfile_in(place).map_err(at(place))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            links: LinksLog::open(place).map_err(at(place))?,
            urls: BufWriter::new(urls),
            index: BufWriter::new(index),
            scratch,
            read_answer,
            keys: Keyer::new(seed.unwrap_or_default(), &[]),
            seed,
            tally: Tally::default(),
            roots: BTreeSet::new(),
            span: None,
            answers: false,
            rebuilt: Rebuilt::default(),
        })
    }

    /// Reads a file of the archive. What is damaged in it is passed over, and told.
    pub(super) fn read(
        &mut self,
        path: &Path,
        tell: &mut dyn FnMut(u64),
    ) -> Result<(), RebuildError> {
        let failed = at(path);
        let input = File::open(path).map_err(&failed)?;
        let mut records = FileRecords::whole(Watched::new(input, tell));
        let mut origin = Origin::Foreign;
        self.answers = false;
        loop {
            let read = match records.next_record().map_err(&failed)? {
                Ok(None) => break,
                Ok(Some(header)) => self.record(path, &header, &mut records, &mut origin)?,
                Err(error) => Err(error),
            };
            if let Err(error) = read {
                self.rebuilt.fault(path, &error);
            }
        }
        if self.answers {
            self.derive(path)
        } else {
            Ok(())
        }
    }

    /// Reads a file once more, for the answers that no line of ours speaks of. What is damaged
    /// was told before.
    fn derive(&mut self, path: &Path) -> Result<(), RebuildError> {
        let failed = at(path);
        let input = File::open(path).map_err(&failed)?;
        let mut untold = |_| {};
        let mut records = FileRecords::whole(Watched::new(input, &mut untold));
        let mut origin = Origin::Foreign;
        loop {
            let header = match records.next_record().map_err(&failed)? {
                Ok(None) => return Ok(()),
                Ok(Some(header)) => header,
                Err(_) => continue,
            };
            match (header.kind(), &origin) {
                (RecordKind::WarcInfo, _) => origin = self.begin_file(&mut records),
                (RecordKind::Response, Origin::Foreign) if header.is_http() => {
                    self.derive_one(path, &header, &mut records)?;
                }
                _ => {}
            }
        }
    }

    fn derive_one(
        &mut self,
        path: &Path,
        header: &Header,
        records: &mut WatchedRecords<'_>,
    ) -> Result<(), RebuildError> {
        let Some(derived) = (self.read_answer)(&self.keys, header, &mut records.block()) else {
            return Ok(());
        };
        let record = &derived.record;
        let line = serde_json::to_string(record).map_err(|error| at(path)(error.into()))?;
        self.rebuilt.derived += 1;
        self.line(&line, record, &derived.links)
    }

    /// Takes what a record tells; the inner error is of the archive, the outer of what is made.
    fn record(
        &mut self,
        path: &Path,
        header: &Header,
        records: &mut WatchedRecords<'_>,
        origin: &mut Origin,
    ) -> Result<Result<(), ReadError>, RebuildError> {
        match (header.kind(), &origin) {
            (RecordKind::WarcInfo, _) => *origin = self.begin_file(records),
            (RecordKind::Metadata, Origin::Ours) => {
                // A block that cannot be read is told by the end of its record.
                if let Ok(Some(noted)) = metadata::metadata(records.block()) {
                    self.rebuilt.lines += 1;
                    self.line(&noted.line, &noted.record, &noted.links)?;
                }
            }
            (RecordKind::Response, Origin::Foreign) if header.is_http() => self.answers = true,
            _ => {}
        }
        self.capture(path, header, records)
    }

    /// The keys of what follows a warcinfo record, and whose it is.
    fn begin_file(&mut self, records: &mut WatchedRecords<'_>) -> Origin {
        let text = records.info();
        let value = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.trim()))
        };
        if !is_ours(&text) {
            return Origin::Foreign;
        }
        let told = value(KEY_SEED).and_then(|seed| u64::from_str_radix(seed, 16).ok());
        let settings = value("settings").and_then(|text| serde_json::from_str(text).ok());
        let settings: KeptSettings = settings.unwrap_or_default();
        let seed = told.or(self.seed).unwrap_or_default();
        self.keys = settings.keyer(seed);
        let room = MOST_ROOTS - self.roots.len().min(MOST_ROOTS);
        self.roots.extend(settings.roots().take(room).cloned());
        Origin::Ours
    }

    /// Adds a line. One that was written by a crawl passes through the escape unchanged.
    fn line(&mut self, line: &str, record: &Record, links: &[Link]) -> Result<(), RebuildError> {
        let mut text = Vec::with_capacity(line.len() + 1);
        escape::json_text(line, &mut text);
        text.push(b'\n');
        let place = self.scratch.path();
        self.urls.write_all(&text).map_err(at(place))?;
        self.tally.add(record);
        let moment = &record.fetched_at;
        match &mut self.span {
            None => self.span = Some((moment.clone(), moment.clone())),
            Some((first, _)) if moment < first => first.clone_from(moment),
            Some((_, last)) if moment > last => last.clone_from(moment),
            Some(_) => {}
        }
        let keys = links.iter();
        let keys: Vec<_> = keys
            .map(|link| (self.keys.key(&link.url), link.kind))
            .collect();
        self.links.add(record.key, &keys).map_err(at(place))
    }

    /// Adds a capture to the index, and reads the record to its end.
    fn capture(
        &mut self,
        path: &Path,
        header: &Header,
        records: &mut WatchedRecords<'_>,
    ) -> Result<Result<(), ReadError>, RebuildError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".open").unwrap_or(&name);
        let capture = match records.capture(header, name).map_err(at(path))? {
            Ok(capture) => capture,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(capture) = capture.filter(|_| is_indexed(header)) {
            let mut line = Vec::new();
            write_index_line(&capture, &mut line);
            let place = self.scratch.path();
            self.index.write_all(&line).map_err(at(place))?;
            self.rebuilt.captures += 1;
        }
        Ok(Ok(()))
    }

    /// Gives the logs their names, and nothing else; answers how many lines there are.
    pub(super) fn finish_logs(mut self) -> Result<usize, RebuildError> {
        let place = self.scratch.path().to_path_buf();
        let to_place = at(&place);
        self.links.sync().map_err(&to_place)?;
        self.urls
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|urls| urls.sync_all())
            .map_err(&to_place)?;
        for name in [urls::FILE, links::FILE] {
            rename(&place.join(name), &self.folder.join(name))?;
        }
        Ok(usize::try_from(self.rebuilt.lines).unwrap_or(usize::MAX))
    }

    /// Gives everything its name.
    pub(super) fn finish(mut self) -> Result<Rebuilt, RebuildError> {
        let place = self.scratch.path().to_path_buf();
        let to_place = at(&place);
        self.links.sync().map_err(&to_place)?;
        let into = |out: BufWriter<File>| out.into_inner().map_err(io::IntoInnerError::into_error);
        let urls = into(self.urls).and_then(|urls| urls.sync_all());
        urls.map_err(&to_place)?;
        let sorted = File::create(place.join(SORTED)).map_err(&to_place)?;
        let mut sorted = BufWriter::new(sorted);
        into(self.index)
            .and_then(|mut index| {
                index.rewind()?;
                cdxj::sort(BufReader::new(index), &mut sorted, SORTING, &place)
            })
            .and_then(|()| into(sorted)?.sync_all())
            .map_err(&to_place)?;
        let facts = facts(&self.folder, self.roots, self.span, self.tally.done);
        let report = Report::build(Some(&place), self.tally, facts).map_err(&to_place)?;
        fs::write(place.join(REPORT), html(&report)).map_err(&to_place)?;
        for (name, target) in [
            (urls::FILE, urls::FILE.into()),
            (links::FILE, links::FILE.into()),
            (SORTED, index(&self.folder)),
            (REPORT, REPORT.into()),
        ] {
            rename(&place.join(name), &self.folder.join(target))?;
        }
        Ok(self.rebuilt)
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), RebuildError> {
    let above = durable::parent(to);
    durable::make_folder(above)
        .and_then(|()| fs::rename(from, to))
        .and_then(|()| durable::sync_folder(above))
        .map_err(at(to))
}

/// The index lies beside the files that it names.
fn index(folder: &Path) -> PathBuf {
    if folder.join(FOLDER).is_dir() {
        Path::new(FOLDER).join(SORTED)
    } else {
        SORTED.into()
    }
}

/// What an archive knows of its run. What was left to do is not in it.
fn facts(
    folder: &Path,
    roots: BTreeSet<CrawlUrl>,
    span: Option<(String, String)>,
    done: u64,
) -> RunFacts {
    let (started_at, finished_at) = span.unwrap_or_default();
    let seconds = |text: &str| Moment::parse(text).map_or(0, Moment::seconds);
    let spent = seconds(&finished_at).saturating_sub(seconds(&started_at));
    let spent = Duration::from_secs(u64::try_from(spent).unwrap_or(0));
    RunFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seconds: spent.as_secs_f64(),
        folder: Some(folder.into()),
        roots: roots.into_iter().collect(),
        admitted: done,
        notes: vec![
            "made from the archive alone: times and requests in flight are not in it".to_owned(),
        ],
        started_at,
        finished_at,
        ..RunFacts::default()
    }
}
