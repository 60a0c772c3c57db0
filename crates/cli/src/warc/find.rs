//! Finding one capture.
//!
//! Owns how a URL and a time become a place in a file: by the index of a crawl where there is one,
//! else by reading everything. A revisit leads to the capture with its payload.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clewline_job::archive::FileRecords;
use clewline_warc::cdxj::{Capture, CdxjIndex};
use clewline_warc::read::Header;
use clewline_warc::{Moment, surt};

use super::arguments::{CapturePart, GetArguments};
use super::{archive_of, complain, files, open, unreadable};
use crate::message::shown;

/// The index of a crawl's archive.
const INDEX: &str = "index.cdxj";

/// What is looked for.
pub(super) enum Wanted {
    Capture { url: String, at: Option<Moment> },
    Offset(u64),
}

impl Wanted {
    pub(super) fn from_arguments(
        arguments: &GetArguments,
        url: Option<&str>,
    ) -> anyhow::Result<Self> {
        if let Some(offset) = arguments.offset {
            return Ok(Self::Offset(offset));
        }
        let url = url.context("a URL or --offset is needed")?;
        // Captures are found whatever their scheme is, but only by a whole URL.
        let url = if url.contains("://") {
            url.to_owned()
        } else {
            format!("https://{url}")
        };
        let at = match &arguments.at {
            None => None,
            Some(text) => {
                let moment = Moment::from_timestamp(text).or_else(|| Moment::parse(text));
                Some(moment.with_context(|| {
                    format!(
                        "--at {} is no time; try 20261115 or 2026-11-15",
                        shown(text)
                    )
                })?)
            }
        };
        Ok(Self::Capture { url, at })
    }
}

/// Where captures are looked for.
pub(super) struct CaptureSources {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl CaptureSources {
    pub(super) fn new(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let folders = paths.iter().filter(|path| path.is_dir());
        Ok(Self {
            folders: folders
                .map(|path| archive_of(path))
                .collect::<anyhow::Result<_>>()?,
            files: files(paths)?,
        })
    }

    /// The file and the offset of what is wanted.
    pub(super) fn place(
        &self,
        wanted: &Wanted,
        part: CapturePart,
    ) -> anyhow::Result<(PathBuf, u64)> {
        let (url, at) = match (wanted, &self.files[..]) {
            (Wanted::Offset(offset), [file]) => return Ok((file.clone(), *offset)),
            (Wanted::Offset(_), _) => bail!("--offset needs one file, not {}", self.files.len()),
            (Wanted::Capture { url, at }, _) => (url, *at),
        };
        let found = self.nearest(url, at, |_| true)?;
        let (path, capture) =
            found.with_context(|| format!("there is no capture of {}", shown(url)))?;
        if !capture.is_revisit() || part == CapturePart::Head {
            return Ok((path, capture.offset));
        }
        let original = match capture.refers_to_url.as_str() {
            "" => url,
            original => original,
        };
        let date = Moment::from_timestamp(&capture.refers_to_date).or(at);
        let found = self.nearest(original, date, |other| {
            !other.is_revisit() && other.digest == capture.digest
        })?;
        let (path, original) = found.with_context(|| {
            let (url, original) = (shown(url), shown(original));
            format!("the capture of {url} repeats one of {original}, which is not in these files")
        })?;
        Ok((path, original.offset))
    }

    /// The capture of a URL closest to a time, the latest without one.
    fn nearest(
        &self,
        url: &str,
        at: Option<Moment>,
        fits: impl Fn(&Capture) -> bool,
    ) -> anyhow::Result<Option<(PathBuf, Capture)>> {
        let mut best = Best { at, found: None };
        for folder in &self.folders {
            let index = folder.join(INDEX);
            if index.is_file() {
                search_index(&index, folder, url, |path, capture| {
                    if fits(&capture) {
                        best.offer(path, capture);
                    }
                })?;
            }
        }
        if best.found.is_none() {
            for path in &self.files {
                search_file(path, url, |capture| {
                    if fits(&capture) {
                        best.offer(path.clone(), capture);
                    }
                })?;
            }
        }
        Ok(best.found)
    }
}

struct Best {
    at: Option<Moment>,
    found: Option<(PathBuf, Capture)>,
}

impl Best {
    fn offer(&mut self, path: PathBuf, capture: Capture) {
        let is_better = match &self.found {
            None => true,
            Some((_, best)) => self.distance(&capture) < self.distance(best),
        };
        if is_better {
            self.found = Some((path, capture));
        }
    }

    fn distance(&self, capture: &Capture) -> u64 {
        let time = Moment::from_timestamp(&capture.timestamp).map_or(0, Moment::seconds);
        time.abs_diff(self.at.map_or(i64::MAX, Moment::seconds))
    }
}

/// An index may be older than the files: what it names and is not there is passed over.
fn search_index(
    index: &Path,
    folder: &Path,
    url: &str,
    mut take: impl FnMut(PathBuf, Capture),
) -> anyhow::Result<()> {
    let mut opened = CdxjIndex::open(index)?;
    let read = opened.each(url, |capture| {
        let path = capture.file_in(folder).filter(|path| path.is_file());
        if let Some(path) = path {
            take(path, capture);
        }
        true
    });
    read.with_context(|| format!("cannot read the index {}", index.display()))
}

fn search_file(path: &Path, url: &str, mut take: impl FnMut(Capture)) -> anyhow::Result<()> {
    let key = surt(url);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_wanted = |header: &Header| header.target().is_some_and(|target| surt(target) == key);
    let mut records = FileRecords::whole(open(path)?);
    while let Some(found) = records
        .next_capture(&name, is_wanted)
        .with_context(|| unreadable(path))?
    {
        match found {
            Ok(capture) => capture.into_iter().for_each(&mut take),
            Err(error) => complain(path, &error),
        }
    }
    Ok(())
}
