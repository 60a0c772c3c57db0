//! The verb `warc`: archives listed, read, streamed, verified and made use of.
//!
//! Owns which files are meant, what is printed and the exit code. It refuses to know the format;
//! the crate `clewline-warc` does. Archives come from anywhere: what they hold is foreign text.

mod arguments;
mod find;
mod list;
mod quotes;
mod rebuild;
mod screen;

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clewline_archive::{archive_in, warcs_in};
use clewline_job::archive::FileRecords;
use clewline_job::report::figures::plural;
use clewline_warc::RecordKind;
use clewline_warc::http::{self, HttpHead};
use clewline_warc::read::{Header, WarcReader, Watched};
use clewline_warc::verify::Verifier;

use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};
use crate::progress::PassingLine;
use crate::progress::render::amount;
use crate::settings::problem::Problem;
use crate::{Failure, job};
pub(crate) use arguments::WarcArguments;
use arguments::{CapturePart, CatArguments, GetArguments, VerifyArguments, WarcVerb};
use find::{CaptureSources, Wanted};
use screen::Screen;

/// The most that one body may decode to: beyond any page, short of filling a disk.
const MOST_DECODED: u64 = 16 * 1024 * 1024 * 1024;

/// Does what was asked: 0 if all was sound, 1 if something is wrong with a file.
pub(crate) fn warc(arguments: &WarcArguments) -> Result<ExitStatus, Failure> {
    let done = match &arguments.verb {
        WarcVerb::Ls(arguments) => list::list(&files(&arguments.paths)?, arguments.form()),
        WarcVerb::Get(arguments) => return get(arguments),
        WarcVerb::Cat(arguments) => cat(arguments),
        WarcVerb::Verify(arguments) => match &arguments.quote {
            Some(file) => return quotes::verify(&arguments.paths, file),
            None => verify(arguments),
        },
        WarcVerb::Rebuild(arguments) => rebuild::rebuild(arguments),
    };
    Ok(done?)
}

/// The files that paths stand for: themselves, those in a folder, those in a crawl's archive.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            refuse_package(path)?;
            files.push(path.clone());
            continue;
        }
        let folder = archive_of(path)?;
        let mut found = warcs_in(&folder).with_context(|| unreadable(&folder))?;
        if found.is_empty() {
            bail!("there are no WARC files in {}", folder.display());
        }
        files.append(&mut found);
    }
    Ok(files)
}

/// A package holds WARC files, and is none.
fn refuse_package(path: &Path) -> anyhow::Result<()> {
    let ending = path.extension().unwrap_or_default();
    ensure!(
        !ending.eq_ignore_ascii_case("wacz"),
        "{} is a package: `clewline serve` shows it, and `unzip` takes its WARC files out",
        path.display()
    );
    Ok(())
}

/// The folder with the archive of a crawl, or the folder itself.
fn archive_of(folder: &Path) -> anyhow::Result<PathBuf> {
    archive_in(folder).with_context(|| unreadable(folder))
}

fn unreadable(path: &Path) -> String {
    let kind = if path.is_dir() { "the folder " } else { "" };
    format!("cannot read {kind}{}", path.display())
}

fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// A place in a file, for people.
fn place(path: &Path, offset: u64) -> String {
    format!("{}:{offset}", shown(&path.to_string_lossy()))
}

/// Tells of damage that reading goes on behind.
fn complain(path: &Path, error: &dyn std::fmt::Display) {
    let text = format!("{}: {error}", path.display());
    Speaker::new(Colour::Auto).note(&text);
}

fn get(arguments: &GetArguments) -> Result<ExitStatus, Failure> {
    let (paths, url) = arguments.paths_and_url();
    let is_path = |url: &&str| !url.contains("://") && Path::new(url).exists();
    if let Some(path) = url.filter(is_path) {
        let message = format!("is missing, and {} is a file or folder", shown(path));
        let hint = "clewline warc get PATH URL, or --offset with one file";
        return Err(Failure::Usage(vec![
            Problem::new("URL", message).with_hint(hint),
        ]));
    }
    let paths = match paths.as_slice() {
        [] => vec![job::folder(None)?],
        _ => paths,
    };
    Ok(print(
        &CaptureSources::new(&paths)?,
        &Wanted::from_arguments(arguments, url)?,
        arguments.part(),
    )?)
}

fn print(
    sources: &CaptureSources,
    wanted: &Wanted,
    part: CapturePart,
) -> anyhow::Result<ExitStatus> {
    let (path, offset) = sources.place(wanted, part)?;
    let mut reader = WarcReader::seek(open(&path)?, offset)?;
    let header = match reader.next_record() {
        Some(header) => header?,
        None => bail!("there is no record at {}", place(&path, offset)),
    };
    let mut out = Screen::new(stdout());
    write_part(&header, &mut reader, part, &mut out)?;
    out.finish()?;
    reader.end()?;
    Ok(ExitStatus::Done)
}

fn write_part(
    header: &Header,
    reader: &mut WarcReader<File>,
    part: CapturePart,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if !header.is_http() {
        if part == CapturePart::Head {
            out.write_all(header.as_bytes())?;
        } else {
            io::copy(&mut reader.block(), out)?;
        }
        return Ok(());
    }
    let (head, body) = http::split(reader.block())?;
    let message = HttpHead::parse(&head);
    match part {
        CapturePart::Head => out.write_all(&head)?,
        CapturePart::Payload => {
            io::copy(&mut http::payload(message, body), out)?;
        }
        CapturePart::Body => {
            let payload = http::payload(message, body);
            let codings = message.content_codings();
            let mut decoded = http::decoded(&codings, payload, MOST_DECODED)?;
            io::copy(&mut decoded, out)
                .context("the body does not decode; --raw shows it as it came")?;
        }
    }
    Ok(())
}

fn cat(arguments: &CatArguments) -> anyhow::Result<ExitStatus> {
    let mut out = Screen::new(stdout());
    let mut status = ExitStatus::Done;
    let wanted = arguments.kind.as_deref().map(RecordKind::from_name);
    for path in files(&arguments.paths)? {
        let mut records = FileRecords::whole(open(&path)?);
        loop {
            let next = records.next_record().with_context(|| unreadable(&path))?;
            let copied = match next {
                Ok(None) => break,
                Ok(Some(header)) if wanted.is_none_or(|kind| kind == header.kind()) => {
                    copy_record(&header, &mut records, &mut out)?;
                    let ended = records.end().with_context(|| unreadable(&path))?;
                    ended.map(|_| ())
                }
                next => next.map(|_| ()),
            };
            if let Err(error) = copied {
                complain(&path, &error);
                status = ExitStatus::Threshold;
            }
        }
    }
    out.finish()?;
    Ok(status)
}

/// Copies what can be read of a record; why the rest can't is told by the record's end.
fn copy_record(
    header: &Header,
    records: &mut FileRecords<impl Read>,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(header.as_bytes())?;
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = records.block().read(&mut buffer) {
        out.write_all(&buffer[..count])?;
    }
    out.write_all(b"\r\n\r\n")
}

/// How much of some files was read.
struct FileProgress {
    line: PassingLine,
    read: u64,
    length: u64,
}

impl FileProgress {
    fn new(doing: &str, files: &[PathBuf]) -> Self {
        let length = |file: &PathBuf| file.metadata().map_or(0, |facts| facts.len());
        Self {
            line: PassingLine::on_stderr(doing),
            read: 0,
            length: files.iter().map(length).sum(),
        }
    }

    fn add(&mut self, count: u64) {
        self.read += count;
        let read = self.read;
        self.line
            .show(read, Some(self.length), || amount(read as f64));
    }
}

fn verify(arguments: &VerifyArguments) -> anyhow::Result<ExitStatus> {
    let mut verifier = Verifier::default();
    let mut out = Screen::new(stdout());
    let (mut findings, mut refused) = (0_u64, None);
    let files = files(&arguments.paths)?;
    let progress = RefCell::new(FileProgress::new("verifying", &files));
    for path in &files {
        let mut tell = |finding: clewline_warc::verify::Finding| {
            findings += 1;
            progress.borrow_mut().line.clear();
            let place = place(path, finding.offset);
            let line = writeln!(out, "{place}: {}", finding.fault);
            refused = refused.take().or(line.err());
        };
        verifier
            .verify(
                Watched::new(open(path)?, &mut |count| progress.borrow_mut().add(count)),
                &mut tell,
            )
            .with_context(|| unreadable(path))?;
    }
    drop(progress);
    if let Some(error) = refused {
        return Err(error.into());
    }
    out.finish()?;
    let tally = verifier.tally();
    let mut text = format!(
        "{}, {}, {} compared, {}",
        plural(files.len() as u64, "file"),
        plural(tally.records, "record"),
        plural(tally.digests, "digest"),
        plural(findings, "finding"),
    );
    for (count, what) in [
        (
            tally.shared,
            "records share a member and cannot be read alone",
        ),
        (tally.framed, "payload digests include the chunks' framing"),
        (tally.uncompared, "identifiers were not compared"),
    ] {
        if count > 0 {
            text = format!("{text}; {count} {what}");
        }
    }
    Speaker::new(Colour::Auto).note(&text);
    Ok(if findings == 0 {
        ExitStatus::Done
    } else {
        ExitStatus::Threshold
    })
}
