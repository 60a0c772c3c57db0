//! `archive/` of all workers, without what does not count.
//!
//! Owns the files that are made: one for each file of a worker of which something stays, so that a
//! dictionary goes on to serve the records it was learnt for and each file opens alone. Records are
//! copied as bytes; only the warcinfo record is written anew, because it names its file. It refuses to
//! know which records stay (`member_ranges`). Invariant: the files are numbered from one without a
//! gap, and the index holds every capture in them, where it lies now.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{
    self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _,
};
use std::path::{Path, PathBuf};

use clewline_warc::cdxj::{self, Capture};
use clewline_warc::{
    Block, Dictionary, Effort, Encoder, Moment, RecordDraft, RecordId, RecordKind, WarcCompression,
};

use super::member_ranges::{ArchiveSurvey, WarcPlan, survey};
use super::worker_folder::WorkerFolder;
use super::{MergeError, Sources};
use crate::archive::{FOLDER, FileRecords, Position, SORTED, write_index_line};
use crate::durable;

/// The sizes of all files, by which a loss is noticed.
const SIZES: &str = "sizes.txt";
/// Letters of a name that the job decides.
const LONGEST_NAME: usize = 100;
/// Memory for sorting the index.
const SORTING: usize = 16 << 20;

/// What was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CopiedArchive {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) originals: u64,
}

/// The archive while it is made.
pub(super) struct ArchiveCopy<'a> {
    folder: PathBuf,
    scratch: PathBuf,
    sources: &'a Sources,
    index: BufWriter<File>,
    sizes: String,
    copied: CopiedArchive,
}

impl<'a> ArchiveCopy<'a> {
    pub(super) fn begin(
        draft: &Path,
        scratch: &Path,
        sources: &'a Sources,
    ) -> Result<Self, MergeError> {
        let index = tempfile::tempfile_in(scratch);
        Ok(Self {
            folder: draft.join(FOLDER),
            scratch: scratch.to_owned(),
            sources,
            index: BufWriter::new(index.map_err(|error| MergeError::io(scratch, error))?),
            sizes: String::new(),
            copied: CopiedArchive::default(),
        })
    }

    /// Copies the archives of all workers; nothing is made if none has one.
    pub(super) fn run(mut self) -> Result<CopiedArchive, MergeError> {
        let has_one = |worker: &WorkerFolder| worker.path.join(FOLDER).is_dir();
        if !self.sources.workers.iter().any(has_one) {
            return Ok(self.copied);
        }
        let folder = self.folder.clone();
        let at = |error| MergeError::io(&folder, error);
        durable::make_folder(&folder).map_err(at)?;
        for worker in &self.sources.workers {
            let mut found = survey(worker, self.sources, &self.scratch)?;
            for file in std::mem::take(&mut found.files) {
                if !file.ranges.is_empty() {
                    self.copy_file(worker, &file, &mut found)?;
                }
            }
        }
        self.finish().map_err(at)
    }

    fn copy_file(
        &mut self,
        worker: &WorkerFolder,
        file: &WarcPlan,
        found: &mut ArchiveSurvey,
    ) -> Result<(), MergeError> {
        let from = |error| MergeError::io(&file.path, error);
        let serial = self.copied.files + 1;
        if serial >= Position::MOST_FILES {
            let what = "the merged archive would have more files than one can have";
            return Err(MergeError::damaged(&file.path, what));
        }
        let (date, info) = warcinfo(file).map_err(from)?;
        let coding = coding_of(&file.name.name);
        let name = self.file_name(date, serial, coding);
        let path = self.folder.join(&name);
        let to = |error| MergeError::io(&path, error);
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&self.sources.seed.to_be_bytes());
        seed[8..].copy_from_slice(&worker.file.worker.to_be_bytes());
        let draft = RecordDraft::warcinfo(
            RecordId::numbered(seed, serial),
            date,
            &name,
            Block::plain(info.as_bytes()),
        );
        let head = beginning(file, coding, &draft).map_err(from)?;
        let mut out = BufWriter::new(File::create(&path).map_err(to)?);
        out.write_all(&head).map_err(to)?;
        copy_ranges(file, &mut out).map_err(to)?;
        let out = out.into_inner().map_err(|error| to(error.into_error()))?;
        out.sync_all().map_err(to)?;
        let size = out.metadata().map_err(to)?.len();
        self.index_file(file, found, &name, head.len() as u64)
            .map_err(to)?;
        writeln!(self.sizes, "{size} {name}").map_err(|error| to(io::Error::other(error)))?;
        self.copied.files = serial;
        self.copied.bytes += size;
        self.copied.originals += file.originals.len() as u64;
        Ok(())
    }

    /// Notes where the captures of a file lie now.
    fn index_file(
        &mut self,
        file: &WarcPlan,
        found: &mut ArchiveSurvey,
        name: &str,
        start: u64,
    ) -> io::Result<()> {
        let mut note = |mut capture: Capture| {
            capture.offset = file.ranges.place(capture.offset, start);
            name.clone_into(&mut capture.filename);
            let mut line = Vec::new();
            write_index_line(&capture, &mut line);
            self.index.write_all(&line)
        };
        let mut line = String::new();
        for _ in 0..file.captures {
            line.clear();
            found.lines.read_line(&mut line)?;
            note(Capture::parse(&line).ok_or(io::ErrorKind::InvalidData)?)?;
        }
        file.originals.iter().cloned().try_for_each(note)
    }

    /// As the files of any crawl are called, after the job.
    fn file_name(&self, date: Moment, serial: u64, coding: WarcCompression) -> String {
        let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || ".-_".contains(*letter);
        let letters = self.sources.job.chars().filter(is_plain);
        let name: String = letters.take(LONGEST_NAME).collect();
        let name = if name.is_empty() { "crawl" } else { &name };
        format!("{name}-{}-{serial:05}{}", date.timestamp(), coding.suffix())
    }

    fn finish(self) -> io::Result<CopiedArchive> {
        let mut lines = self
            .index
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        lines.rewind()?;
        let mut sorted = BufWriter::new(File::create(self.folder.join(SORTED))?);
        cdxj::sort(BufReader::new(lines), &mut sorted, SORTING, &self.scratch)?;
        let sorted = sorted
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        sorted.sync_all()?;
        fs::write(self.folder.join(SIZES), self.sizes)?;
        durable::sync_folder(&self.folder)?;
        Ok(self.copied)
    }
}

fn coding_of(name: &str) -> WarcCompression {
    let all = [WarcCompression::Zstd, WarcCompression::default()];
    let fits = |coding: &WarcCompression| name.ends_with(coding.suffix());
    all.into_iter().find(fits).unwrap_or(WarcCompression::Plain)
}

/// When a file was begun, and what it says of itself.
fn warcinfo(file: &WarcPlan) -> io::Result<(Moment, String)> {
    let mut records = FileRecords::whole(File::open(&file.path)?);
    let damaged = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "it does not begin with a warcinfo record",
        )
    };
    let header = records.next_record()?.ok().flatten();
    let header = header.filter(|header| header.kind() == RecordKind::WarcInfo);
    let date = header
        .and_then(|header| header.date())
        .ok_or_else(damaged)?;
    Ok((date, records.info()))
}

/// The dictionary that the file had, and the record that names it.
fn beginning(
    file: &WarcPlan,
    coding: WarcCompression,
    draft: &RecordDraft<'_>,
) -> io::Result<Vec<u8>> {
    let dictionary = match coding {
        WarcCompression::Zstd => Dictionary::from_file(File::open(&file.path)?),
        _ => Ok(None),
    };
    let dictionary = dictionary.map_err(io::Error::other)?;
    let (mut encoder, mut bytes) = match dictionary {
        Some(found) => (Encoder::with_dictionary(found.clone()), found.frame()),
        None => (Encoder::new(coding), Vec::new()),
    };
    let written = encoder.encode(draft, Effort::Usual, &mut bytes);
    written.map_err(io::Error::other)?;
    Ok(bytes)
}

fn copy_ranges(file: &WarcPlan, out: &mut BufWriter<File>) -> io::Result<()> {
    let mut input = File::open(&file.path)?;
    for range in file.ranges.iter() {
        input.seek(SeekFrom::Start(range.start))?;
        let length = range.end - range.start;
        let copied = io::copy(&mut (&mut input).take(length), out)?;
        if copied < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}
