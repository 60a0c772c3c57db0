//! A file for each page: Markdown with front matter, or plain text.
//!
//! Owns how a document looks. Invariant: front matter is YAML of
//! quoted strings and numbers, whatever a page says about itself.

use std::fmt::Write as _;

use clewline_content::ReadingSpeed;
use clewline_core::url::CrawlUrl;

use crate::draft::{Draft, DraftFile};
use crate::error::ExportError;
use crate::export::{ExportContext, Output, Sink};
use crate::form::duplicates::NearDuplicates;
use crate::names::Names;
use crate::pages::{ExportedPage, Need};
use crate::words::PageWords;

/// What stands between two texts in a stream.
const FORM_FEED: &str = "\u{c}\n";

/// What a document looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dress {
    Markdown,
    Text,
}

pub(super) fn write(
    work: &mut ExportContext<'_>,
    output: Output<'_>,
    dress: Dress,
) -> Result<(), ExportError> {
    match output {
        Output::Path(path, existing) => {
            let draft = Draft::folder(path, existing)?;
            let mut names = Names::new(dress.suffix());
            each(work, |page, words| {
                let name = names.name(&page.record.url.to_url());
                let mut file = DraftFile::create(&draft.place().join(name))?;
                file.put(&dress.document(page, words))?;
                file.close()
            })?;
            work.finish(draft)
        }
        stream @ Output::Stream(_) => {
            let mut sink = Sink::open(stream)?;
            each(work, |page, words| {
                sink.write(dress.in_stream(page, words).as_bytes())
            })?;
            sink.finish()
        }
    }
}

/// Calls with every page that has words and is not left out.
fn each(
    work: &mut ExportContext<'_>,
    mut take: impl FnMut(&ExportedPage, &PageWords) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let folded = work.left_out()?;
    let mut near = NearDuplicates::default();
    let mut pages = work.pages(Need::Words(ReadingSpeed::Main))?;
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        let Some(words) = page.words() else {
            continue;
        };
        if folded.original(page.place).is_some() {
            work.done.duplicates += 1;
            continue;
        }
        near.take(&page);
        take(&page, words)?;
        work.done.rows += 1;
    }
    work.done.near = Some(near.count());
    Ok(())
}

impl Dress {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Text => "txt",
        }
    }

    fn document(self, page: &ExportedPage, words: &PageWords) -> String {
        match self {
            Self::Markdown => format!("{}\n{}", front_matter(page, words), words.markdown),
            Self::Text if words.text.ends_with('\n') => words.text.clone(),
            Self::Text => format!("{}\n", words.text),
        }
    }

    /// A document among others: a text has its URL before it and a form feed behind it.
    fn in_stream(self, page: &ExportedPage, words: &PageWords) -> String {
        let document = self.document(page, words);
        match self {
            Self::Markdown => document + "\n",
            Self::Text => format!("{}\n\n{document}{FORM_FEED}", page.record.url.as_str()),
        }
    }
}

fn front_matter(page: &ExportedPage, words: &PageWords) -> String {
    let record = &page.record;
    let mut out = String::from("---\n");
    let title = words.title.as_deref().or(record.title.as_deref());
    for (name, value) in [
        ("url", Some(record.url.as_str())),
        ("title", title),
        ("description", words.description.as_deref()),
        ("author", words.author.as_deref()),
        ("language", words.language.as_deref()),
        ("published", words.published.as_deref()),
        ("modified", words.modified.as_deref()),
        ("canonical", record.canonical.as_ref().map(CrawlUrl::as_str)),
        ("fetched", Some(record.fetched_at.as_str())),
    ] {
        if let Some(value) = value {
            let _ = writeln!(out, "{name}: {}", quoted(value));
        }
    }
    let _ = writeln!(out, "depth: {}\nwords: {}\n---", record.depth, words.count);
    out
}

/// A double-quoted scalar (YAML 1.2, 7.3.1).
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            other if clewline_job::escape::is_steering(other) => {
                let _ = write!(out, "\\U{:08x}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_hold_any_text() {
        for (text, expected) in [
            ("plain: # text", "\"plain: # text\""),
            ("a \"b\" \\", "\"a \\\"b\\\" \\\\\""),
            ("a\n---\nb", "\"a\\n---\\nb\""),
            ("\u{1b}\u{202e}", "\"\\U0000001b\\U0000202e\""),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
