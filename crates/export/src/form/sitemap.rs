//! A sitemap (sitemaps.org 0.9), or an index of several.
//!
//! Owns which pages are listed: what answered with a page that may be indexed and is no
//! duplicate. Invariant: a file has at most [`MOST_URLS`] entries and [`MOST_BYTES`] bytes, as
//! the protocol wants it; with more, the output becomes an index and the files lie beside it.

use std::fmt::Write as _;
use std::path::Path;

use clewline::escape;
use clewline::record::Record;
use clewline_content::normalised_date;

use crate::Existing;
use crate::draft::Draft;
use crate::error::ExportError;
use crate::export::{Output, Sink, Work};
use crate::form::Form;
use crate::pages::Need;
use crate::words::Media;

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

pub(super) fn write(work: &mut Work<'_>, output: Output<'_>) -> Result<(), ExportError> {
    let mut part = Part::default();
    let mut beside = match output {
        Output::Path(path, existing) => Some(Beside::new(path, existing)),
        Output::Stream(_) => None,
    };
    let mut sink = Sink::open(output)?;
    let folded = work.left_out()?;
    let mut pages = work.pages(Need::Record)?;
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
        let entry = entry(&page.record);
        if !part.has_room(&entry) {
            let beside = beside.as_mut();
            let beside = beside.ok_or(ExportError::NotAStream(Form::Sitemap))?;
            beside.put(&part.take())?;
        }
        part.add(&entry, &page.record);
        work.done.rows += 1;
    }
    let text = match beside.filter(|beside| !beside.parts.is_empty()) {
        None => part.take(),
        Some(mut beside) => {
            beside.put(&part.take())?;
            beside.finish(&part.origin)?
        }
    };
    sink.write(text.as_bytes())?;
    sink.finish()
}

/// Pages with words that may be found, and documents that are read like pages.
fn is_listed(record: &Record) -> bool {
    let mut page = record.clone();
    if record.content_type.as_deref() == Some("application/pdf") {
        page.content_type = None;
    }
    !record.noindex && Media::of(&page).is_some()
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
    /// The origin of the first page of all, where the files are thought to be put.
    origin: String,
}

impl Part {
    fn has_room(&self, entry: &str) -> bool {
        let length = HEAD.len() + self.text.len() + entry.len() + FOOT.len();
        self.count < MOST_URLS && length <= MOST_BYTES
    }

    fn add(&mut self, entry: &str, record: &Record) {
        self.text.push_str(entry);
        self.count += 1;
        if self.origin.is_empty() {
            self.origin = record.url.to_url().origin().ascii_serialization();
        }
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
    existing: Existing,
    parts: Vec<(String, Draft)>,
}

impl<'a> Beside<'a> {
    const fn new(path: &'a Path, existing: Existing) -> Self {
        Self {
            path,
            existing,
            parts: Vec::new(),
        }
    }

    fn put(&mut self, text: &str) -> Result<(), ExportError> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let ending = self.path.extension().map(|end| end.to_string_lossy());
        let ending = ending.as_deref().unwrap_or("xml");
        let name = format!("{stem}-{}.{ending}", self.parts.len() + 1);
        let path = self.path.with_file_name(&name);
        let (draft, mut file) = Draft::file(&path, self.existing)?;
        file.put(text)?;
        file.close()?;
        self.parts.push((name, draft));
        Ok(())
    }

    /// Gives the files their names; answers the index of them.
    fn finish(self, origin: &str) -> Result<String, ExportError> {
        let mut index = String::from(INDEX_HEAD);
        for (name, draft) in self.parts {
            draft.finish()?;
            let url = format!("{origin}/{name}");
            let _ = writeln!(
                index,
                "<sitemap><loc>{}</loc></sitemap>",
                escape::html(&url)
            );
        }
        index.push_str(INDEX_FOOT);
        Ok(index)
    }
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
            part.add(&entry, &page);
        }
        assert!(!part.has_room(&entry));
        let text = part.take();
        assert!(text.starts_with(HEAD) && text.ends_with(FOOT));
        assert!(part.has_room(&entry));
        assert!(!part.has_room(&"x".repeat(MOST_BYTES)));
    }
}
