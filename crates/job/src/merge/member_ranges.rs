//! Which parts of a worker's WARC files stay.
//!
//! Owns the one pass over them. Each record has a member of its own, so what stays is a list of byte
//! ranges, and neighbours are one range. An exchange that belongs to no record (a robots.txt, a try
//! before the last) counts by its URL and its batch, as all others. A capture that does not count
//! stays if one that counts refers to it. It refuses to write. Invariant: what is held grows with
//! what is left out, not with what stays: lines of the index lie in an unnamed file.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clewline_core::url::CrawlUrl;
use clewline_warc::cdxj::Capture;
use clewline_warc::read::Header;
use clewline_warc::{Moment, RecordKind};
use xxhash_rust::xxh3::xxh3_128;

use super::worker_folder::{BatchLines, BatchSpan, WorkerFolder};
use super::{MergeError, Sources};
use crate::archive::{FOLDER, FileRecords, Position, WarcName, write_index_line};
use crate::log::appender::damage;

/// Bytes that stay, in order, none of them twice.
#[derive(Debug, Default)]
pub(super) struct MemberRanges(Vec<Range<u64>>);

impl MemberRanges {
    /// Adds a member behind all others.
    fn push(&mut self, member: Range<u64>) {
        match self.0.last_mut() {
            Some(last) if last.end == member.start => last.end = member.end,
            _ => self.0.push(member),
        }
    }

    /// Adds a member anywhere.
    fn insert(&mut self, member: Range<u64>) {
        let place = self.0.partition_point(|range| range.start < member.start);
        self.0.insert(place, member);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        self.0.iter()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where a member lies if all of them stand behind `start`, with nothing between.
    pub(super) fn place(&self, member: u64, start: u64) -> u64 {
        let before = self.0.partition_point(|range| range.end <= member);
        let whole: u64 = self.0[..before].iter().map(|it| it.end - it.start).sum();
        let within = self
            .0
            .get(before)
            .map_or(0, |it| member.saturating_sub(it.start));
        start + whole + within
    }
}

/// A file of a worker's archive.
#[derive(Debug)]
pub(super) struct WarcPlan {
    pub(super) path: PathBuf,
    pub(super) name: WarcName,
    length: u64,
    pub(super) ranges: MemberRanges,
    /// Captures among what counts; their lines are in the survey.
    pub(super) captures: u64,
    /// Captures that stay for others.
    pub(super) originals: Vec<Capture>,
}

/// What stays of a worker's archive.
#[derive(Debug)]
pub(super) struct ArchiveSurvey {
    pub(super) files: Vec<WarcPlan>,
    /// The index lines of what counts, file after file, with the places they had.
    pub(super) lines: BufReader<File>,
}

/// A capture that does not count, and may be referred to.
struct DroppedCapture {
    file: usize,
    capture: Capture,
}

/// The pass while it goes on.
struct Surveying<'a> {
    worker: &'a WorkerFolder,
    sources: &'a Sources,
    files: Vec<WarcPlan>,
    end: Position,
    cursor: BatchCursor,
    lines: BufWriter<File>,
    dropped: HashMap<u128, Vec<DroppedCapture>>,
    /// The last judgement: the records of an exchange follow each other.
    judged: Option<(u64, String, bool)>,
}

/// Looks at the archive of a worker.
pub(super) fn survey(
    worker: &WorkerFolder,
    sources: &Sources,
    scratch: &Path,
) -> Result<ArchiveSurvey, MergeError> {
    let folder = worker.path.join(FOLDER);
    let at = |error| MergeError::io(&folder, error);
    let lines = tempfile::tempfile_in(scratch).map_err(|error| MergeError::io(scratch, error))?;
    let mut survey = Surveying {
        files: files_in(&folder).map_err(at)?,
        end: worker
            .batches()
            .and_then(BatchLines::archive_end)
            .map_err(at)?,
        cursor: BatchCursor {
            batches: worker.batches().map_err(at)?,
            current: None,
        },
        lines: BufWriter::new(lines),
        dropped: HashMap::new(),
        judged: None,
        worker,
        sources,
    };
    survey.check_files(&folder)?;
    for file in 0..survey.files.len() {
        if survey.files[file].name.serial <= survey.end.serial {
            survey.read_file(file)?;
        }
    }
    let mut lines = survey
        .lines
        .into_inner()
        .map_err(|error| at(error.into_error()))?;
    lines.rewind().map_err(at)?;
    Ok(ArchiveSurvey {
        files: survey.files,
        lines: BufReader::new(lines),
    })
}

/// The files of an archive in their order; a folder that is not there has none.
fn files_in(folder: &Path) -> io::Result<Vec<WarcPlan>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().to_str().and_then(WarcName::parse));
    }
    names.sort_unstable();
    let plan = |name: WarcName| {
        let path = name.path(folder);
        Ok(WarcPlan {
            length: fs::metadata(&path)?.len(),
            path,
            name,
            ranges: MemberRanges::default(),
            captures: 0,
            originals: Vec::new(),
        })
    };
    names.into_iter().map(plan).collect()
}

impl Surveying<'_> {
    /// Refuses an archive that is shorter than the batches say, before anything is read.
    fn check_files(&self, folder: &Path) -> Result<(), MergeError> {
        let at = |error| MergeError::io(folder, error);
        let lengths: HashMap<u64, &WarcPlan> = self
            .files
            .iter()
            .map(|file| (file.name.serial, file))
            .collect();
        let mut batches = self.worker.batches().map_err(at)?;
        while let Some(span) = batches.next_span().map_err(at)? {
            let Position { serial, offset } = span.archive_end;
            let file = lengths.get(&serial);
            if offset > 0 && file.is_none() {
                let what = format!("the file with the number {serial:05} is gone");
                return Err(at(damage(folder, &what)));
            }
            if let Some(file) = file.filter(|file| file.length < offset) {
                let found = file.length;
                let what = format!("it has {found} bytes, and a batch ended at {offset}");
                return Err(MergeError::damaged(&file.path, &what));
            }
        }
        Ok(())
    }

    fn read_file(&mut self, number: usize) -> Result<(), MergeError> {
        let file = &self.files[number];
        let (path, serial) = (file.path.clone(), file.name.serial);
        let limit = match self.end {
            end if end.serial == serial => end.offset,
            _ => u64::MAX,
        };
        let at = |error| MergeError::io(&path, error);
        let damaged = |what: &dyn std::fmt::Display| MergeError::damaged(&path, &what.to_string());
        let input = File::open(&path).map_err(at)?;
        let mut records = FileRecords::between(input, 0, limit).map_err(at)?;
        loop {
            let header = records.next_record().map_err(at)?;
            let Some(header) = header.map_err(|error| damaged(&error))? else {
                return Ok(());
            };
            let offset = records.offset();
            let Some(batch) = self
                .cursor
                .batch_at(Position { serial, offset })
                .map_err(at)?
            else {
                return Ok(());
            };
            let alone = || damaged(&format!("the record at {offset} has no member of its own"));
            if is_capture(header.kind()) {
                let capture = records.capture(&header, &self.files[number].name.name);
                let capture = capture.map_err(at)?.map_err(|error| damaged(&error))?;
                let capture = capture.ok_or_else(alone)?;
                self.take_capture(number, batch, &header, capture)
                    .map_err(at)?;
            } else {
                let extent = records
                    .end()
                    .map_err(at)?
                    .map_err(|error| damaged(&error))?;
                if !extent.is_alone {
                    return Err(alone());
                }
                if self.counts(batch, &header) {
                    let member = offset..offset + extent.length;
                    self.files[number].ranges.push(member);
                }
            }
        }
    }

    fn take_capture(
        &mut self,
        number: usize,
        batch: u64,
        header: &Header,
        capture: Capture,
    ) -> io::Result<()> {
        let member = capture.offset..capture.offset + capture.length;
        if self.counts(batch, header) {
            self.files[number].ranges.push(member);
            self.files[number].captures += 1;
            self.keep_original(header);
            let mut line = Vec::new();
            write_index_line(&capture, &mut line);
            return self.lines.write_all(&line);
        }
        let of_itself = header.target().zip(header.date());
        if header.kind() != RecordKind::Revisit
            && let Some((target, date)) = of_itself
        {
            let file = number;
            let same = self.dropped.entry(identity(target, date)).or_default();
            same.push(DroppedCapture { file, capture });
        }
        Ok(())
    }

    /// What a capture refers to stays, too. It was written before.
    fn keep_original(&mut self, header: &Header) {
        let target = header.uri("WARC-Refers-To-Target-URI");
        let date = header.value("WARC-Refers-To-Date").and_then(Moment::parse);
        let Some((target, date)) = target.zip(date) else {
            return;
        };
        let kept = self.dropped.remove(&identity(target, date));
        for original in kept.into_iter().flatten() {
            let file = &mut self.files[original.file];
            let capture = original.capture;
            file.ranges
                .insert(capture.offset..capture.offset + capture.length);
            file.originals.push(capture);
        }
    }

    /// Whether a record counts. One without a URL is that of a file, which gets another.
    fn counts(&mut self, batch: u64, header: &Header) -> bool {
        let Some(target) = header.target() else {
            return false;
        };
        if let Some((of, known, counts)) = &self.judged
            && *of == batch
            && known == target
        {
            return *counts;
        }
        let counts = CrawlUrl::parse(target).is_ok_and(|url| {
            let key = self.sources.keyer.key(&url);
            let worker = self.worker.file.worker;
            self.sources.counting.tenure(worker, batch, key).is_some()
        });
        self.judged = Some((batch, target.to_owned(), counts));
        counts
    }
}

const fn is_capture(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Response | RecordKind::Revisit | RecordKind::Resource
    )
}

/// Stands for a capture: those that refer to it name its URL and its moment.
fn identity(target: &str, date: Moment) -> u128 {
    xxh3_128(format!("{} {target}", date.timestamp()).as_bytes())
}

/// Goes through the batches beside the records.
struct BatchCursor {
    batches: BatchLines,
    current: Option<BatchSpan>,
}

impl BatchCursor {
    /// The batch of what begins at a place; places only grow. Nothing behind the last batch.
    fn batch_at(&mut self, place: Position) -> io::Result<Option<u64>> {
        loop {
            match &self.current {
                Some(span) if place < span.archive_end => return Ok(Some(span.batch)),
                _ => self.current = self.batches.next_span()?,
            }
            if self.current.is_none() {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_stay_move_together() {
        let mut ranges = MemberRanges::default();
        for member in [10..20, 20..25, 40..50, 60..61] {
            ranges.push(member);
        }
        ranges.insert(30..33);
        assert_eq!(ranges.0, [10..25, 30..33, 40..50, 60..61]);
        let places = [10, 20, 30, 40, 60].map(|member| ranges.place(member, 100));
        assert_eq!(places, [100, 110, 115, 118, 128]);
    }
}
