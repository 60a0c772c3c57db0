//! Sitemaps (sitemaps.org 0.9), or indexes of several.
//!
//! Owns which pages are listed: what answered with a page that may be indexed, is no duplicate and
//! does not say that it is missing. Invariants, as the protocol wants them: a file lists pages of
//! one origin, the one with most pages under the name of the output, others beside it; a file has at most
//! [`MOST_URLS`] entries and [`MOST_BYTES`] bytes, and with more the output becomes an index and
//! the files lie beside it. 8 bytes are held for each page.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clewline_archive::mirror::short_hash;
use clewline_content::{Url, normalised_date};
use clewline_job::escape;
use clewline_job::log::Offset;
use clewline_job::record::Record;

use crate::ExistingOutput;
use crate::draft::Draft;
use crate::error::ExportError;
use crate::export::{ExportContext, Output, Sink};
use crate::form::Form;
use crate::names::host_name;
use crate::pages::Need;
use crate::soft_404::is_soft_404;
use crate::urls::Urls;
use crate::words::BodyKind;

/// Entries of a file.
const MOST_URLS: usize = 50_000;
/// Bytes of a file, a little below the 50 MiB of the protocol.
const MOST_BYTES: usize = 50_000_000;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
const FOOT: &str = "</urlset>\n";
const INDEX_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
const INDEX_FOOT: &str = "</sitemapindex>\n";

pub(super) fn write(work: &mut ExportContext<'_>, output: Output<'_>) -> Result<(), ExportError> {
    let groups = groups(work)?;
    let urls = Urls::open(work.job)?;
    let mut maps = Maps { work, urls };
    let (path, existing) = match output {
        Output::Path(path, existing) => (path, existing),
        stream @ Output::Stream(_) => return maps.stream(&groups, stream),
    };
    let mut taken = HashSet::new();
    let mut drafts = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let path = match number {
            0 => path.to_owned(),
            _ => path_for(path, group, &mut taken),
        };
        drafts.extend(maps.files(group, &path, existing)?);
    }
    drafts.into_iter().try_for_each(Draft::finish)
}

/// The pages of an origin, by the places of their records.
#[derive(Debug, Default)]
struct Group {
    origin: String,
    places: Vec<Offset>,
}

/// What is listed: the largest group first, since hosts settle in any order; others in the order
/// of the log. The first group is there even if nothing is listed.
fn groups(work: &mut ExportContext<'_>) -> Result<Vec<Group>, ExportError> {
    let folded = work.left_out()?;
    let mut pages = work.pages(Need::Record)?;
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        if !is_listed(&page.record) {
            continue;
        }
        if folded.original(page.place).is_some() {
            work.done.duplicates += 1;
            continue;
        }
        let origin = page.record.url.to_url().origin().ascii_serialization();
        let number = *numbers.entry(origin).or_insert_with_key(|origin| {
            groups.push(Group {
                origin: origin.clone(),
                places: Vec::new(),
            });
            groups.len() - 1
        });
        groups[number].places.push(page.place);
        work.done.rows += 1;
    }
    if groups.is_empty() {
        groups.push(Group::default());
    }
    let by_size = |group: &(usize, &Group)| (group.1.places.len(), Reverse(group.0));
    let largest = groups.iter().enumerate().max_by_key(by_size);
    let largest = largest.map_or(0, |(number, _)| number);
    groups[..=largest].rotate_right(1);
    Ok(groups)
}

/// Writes the groups.
struct Maps<'w, 'a> {
    work: &'w mut ExportContext<'a>,
    urls: Urls,
}

impl Maps<'_, '_> {
    /// A stream takes one file of one origin.
    fn stream(&mut self, groups: &[Group], output: Output<'_>) -> Result<(), ExportError> {
        if let [first, second, ..] = groups {
            return Err(ExportError::SeveralOrigins {
                first: first.origin.clone(),
                second: second.origin.clone(),
            });
        }
        let mut sink = Sink::open(output)?;
        for group in groups {
            let whole = |_: &str| Err(ExportError::NotAStream(Form::Sitemap));
            sink.write(self.fill(group, whole)?.as_bytes())?;
        }
        sink.finish()
    }

    /// The files of an origin: a sitemap, or several beside an index of them.
    fn files(
        &mut self,
        group: &Group,
        path: &Path,
        existing: ExistingOutput,
    ) -> Result<Vec<Draft>, ExportError> {
        let mut beside = Beside::new(path, existing);
        let rest = self.fill(group, |text| beside.put(text))?;
        let text = if beside.parts.is_empty() {
            rest
        } else {
            beside.put(&rest)?;
            beside.index(&group.origin)
        };
        let (draft, mut file) = Draft::file(path, existing)?;
        file.put(&text)?;
        file.close()?;
        let parts = beside.parts.into_iter().map(|(_, draft)| draft);
        Ok(parts.chain([draft]).collect())
    }

    /// Calls with the text of every full file; answers that of the last.
    fn fill(
        &mut self,
        group: &Group,
        mut put: impl FnMut(&str) -> Result<(), ExportError>,
    ) -> Result<String, ExportError> {
        let mut part = Part::default();
        for place in &group.places {
            let record = self.urls.record(*place);
            let record = record.map_err(ExportError::input(&self.work.job.urls_path()))?;
            let entry = entry(&record);
            if !part.has_room(&entry) {
                put(&part.take())?;
            }
            part.add(&entry);
        }
        Ok(part.take())
    }
}

/// `sitemap-b.test.xml` beside `sitemap.xml`.
fn path_for(path: &Path, group: &Group, taken: &mut HashSet<String>) -> PathBuf {
    let url = Url::parse(&group.origin).ok();
    let mut name = url.as_ref().map(host_name).unwrap_or_default();
    if !taken.insert(name.clone()) {
        // The other scheme of a host.
        name = format!("{name}~{}", short_hash(&group.origin));
    }
    beside(path, &name)
}

/// Pages with words that may be found, and documents that are read like pages.
fn is_listed(record: &Record) -> bool {
    let mut page = record.clone();
    if record.content_type.as_deref() == Some("application/pdf") {
        page.content_type = None;
    }
    let is_missing = record.title.as_deref().is_some_and(is_soft_404);
    !record.noindex && !is_missing && BodyKind::from_record(&page).is_some()
}

fn entry(record: &Record) -> String {
    let mut entry = format!("<url><loc>{}</loc>", escape::html(record.url.as_str()));
    let changed = record.lastmod.as_deref().and_then(normalised_date);
    if let Some(changed) = changed.as_deref().map(with_zone_or_day) {
        let _ = write!(entry, "<lastmod>{}</lastmod>", escape::html(changed));
    }
    entry.push_str("</url>\n");
    entry
}

/// A time of day needs a zone in the profile of ISO 8601 that sitemaps use; without one the day
/// is left.
fn with_zone_or_day(date: &str) -> &str {
    let (day, time) = date.split_once('T').unwrap_or((date, "Z"));
    if time.contains(['Z', '+', '-']) {
        date
    } else {
        day
    }
}

/// A file that is being filled.
#[derive(Debug, Default)]
struct Part {
    text: String,
    count: usize,
}

impl Part {
    fn has_room(&self, entry: &str) -> bool {
        let length = HEAD.len() + self.text.len() + entry.len() + FOOT.len();
        self.count < MOST_URLS && length <= MOST_BYTES
    }

    fn add(&mut self, entry: &str) {
        self.text.push_str(entry);
        self.count += 1;
    }

    /// The text of the file; the next one begins.
    fn take(&mut self) -> String {
        self.count = 0;
        format!("{HEAD}{}{FOOT}", std::mem::take(&mut self.text))
    }
}

/// Files beside the output: `sitemap-1.xml` beside `sitemap.xml`.
struct Beside<'a> {
    path: &'a Path,
    existing: ExistingOutput,
    parts: Vec<(String, Draft)>,
}

impl<'a> Beside<'a> {
    const fn new(path: &'a Path, existing: ExistingOutput) -> Self {
        Self {
            path,
            existing,
            parts: Vec::new(),
        }
    }

    fn put(&mut self, text: &str) -> Result<(), ExportError> {
        let path = beside(self.path, &(self.parts.len() + 1).to_string());
        let (draft, mut file) = Draft::file(&path, self.existing)?;
        file.put(text)?;
        file.close()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.parts.push((name.into_owned(), draft));
        Ok(())
    }

    /// The index of the files, which are thought to be put at the root of their origin.
    fn index(&self, origin: &str) -> String {
        let mut index = String::from(INDEX_HEAD);
        for (name, _) in &self.parts {
            let url = format!("{origin}/{name}");
            let _ = writeln!(
                index,
                "<sitemap><loc>{}</loc></sitemap>",
                escape::html(&url)
            );
        }
        index.push_str(INDEX_FOOT);
        index
    }
}

/// `sitemap-NAME.xml` beside `sitemap.xml`.
fn beside(path: &Path, name: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|end| end.to_string_lossy());
    let ending = ending.as_deref().unwrap_or("xml");
    path.with_file_name(format!("{stem}-{name}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::urls::samples::record;

    #[test]
    fn entries_are_sound_xml_and_dates_are_whole() {
        for (url, lastmod, expected) in [
            (
                "https://a.test/?a=1&b='2'",
                None,
                "<url><loc>https://a.test/?a=1&amp;b=%272%27</loc></url>\n",
            ),
            (
                "https://a.test/",
                Some("Tue, 15 Nov 1994 08:12:31 GMT"),
                "<url><loc>https://a.test/</loc><lastmod>1994-11-15T08:12:31Z</lastmod></url>\n",
            ),
            (
                "https://a.test/",
                Some("2021-05-04T08:12"),
                "<url><loc>https://a.test/</loc><lastmod>2021-05-04</lastmod></url>\n",
            ),
            (
                "https://a.test/",
                Some("<b>soon"),
                "<url><loc>https://a.test/</loc></url>\n",
            ),
        ] {
            let mut page = record(url);
            page.lastmod = lastmod.map(ToOwned::to_owned);
            assert_eq!(entry(&page), expected);
        }
    }

    #[test]
    fn a_full_file_begins_another() {
        let page = record("https://a.test/x");
        let entry = entry(&page);
        let mut part = Part::default();
        for _ in 0..MOST_URLS {
            assert!(part.has_room(&entry));
            part.add(&entry);
        }
        assert!(!part.has_room(&entry));
        let text = part.take();
        assert!(text.starts_with(HEAD) && text.ends_with(FOOT));
        assert!(part.has_room(&entry));
        assert!(!part.has_room(&"x".repeat(MOST_BYTES)));
    }
}
