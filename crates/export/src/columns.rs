//! The columns of tables.
//!
//! Owns names, types and values, once for every form of table; docs/formats.md lists them. It
//! refuses to know how a form writes a value. Invariant: a column that is never empty is marked
//! so, and a value has the type of its column.

use std::borrow::Cow;

use clewline_content::PagePassage;
use clewline_core::url::CrawlUrl;
use clewline_job::pages::Provenance;

use crate::anchors::Said;
use crate::filter::outcome_name;
use crate::pages::{ExportedPage, ReadContent};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Text,
    /// 32 bits with a sign.
    Integer,
    /// 64 bits with a sign.
    Long,
    Double,
    Flag,
    /// A moment in UTC, to the millisecond.
    Moment,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    Empty,
    Text(Cow<'a, str>),
    Integer(i32),
    Long(i64),
    Double(f64),
    Flag(bool),
    /// As a record writes it.
    Moment(&'a str),
    /// A value that is JSON already.
    Json(String),
}

/// Whether every row has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Always,
    Maybe,
}

/// A column of a table with rows of a type.
pub(crate) struct Column<R> {
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnType,
    pub(crate) presence: Presence,
    pub(crate) value: for<'r> fn(&'r R) -> Cell<'r>,
}

/// A row of the table of pages.
pub(crate) struct PageRow {
    pub(crate) page: ExportedPage,
    pub(crate) duplicate_of: Option<String>,
}

/// How many columns of [`PAGES`], from the first on, do without words.
pub(crate) const PLAIN: usize = 32;

/// The version of the tables, which every row names. It is raised when a column goes, or changes
/// its name, its type or its meaning; docs/formats.md lists the versions.
pub(crate) const SCHEMA_VERSION: i32 = 2;

use ColumnType::{Double, Flag, Integer, Long, Moment as Time, Text};
use Presence::{Always, Maybe};

macro_rules! column {
    ($name:literal, $kind:expr, $presence:expr, $value:expr) => {
        Column {
            name: $name,
            kind: $kind,
            presence: $presence,
            value: $value,
        }
    };
}

/// The table of pages: one row for each URL.
pub(crate) const PAGES: [Column<PageRow>; 47] = [
    column!("url", Text, Always, |row| text(
        row.page.record.url.as_str()
    )),
    column!("key", Text, Always, |row| owned(&row.page.record.key)),
    column!("host", Text, Always, |row| text(row.page.record.url.host())),
    column!("outcome", Text, Always, |row| text(outcome_name(
        row.page.record.outcome
    ))),
    column!("status", Integer, Maybe, |row| {
        integer(row.page.record.status.map(u32::from))
    }),
    column!("content_type", Text, Maybe, |row| {
        maybe(row.page.record.content_type.as_deref())
    }),
    column!("charset", Text, Maybe, |row| {
        maybe(row.page.record.charset.as_deref())
    }),
    column!("depth", Integer, Always, |row| {
        integer(Some(row.page.record.depth))
    }),
    column!("kind", Text, Always, |row| text(
        row.page.record.kind.name()
    )),
    column!("found_on", Text, Maybe, |row| {
        maybe(row.page.record.found_on.as_ref().map(CrawlUrl::as_str))
    }),
    column!("redirect_to", Text, Maybe, |row| {
        maybe(row.page.record.redirect_to.as_deref())
    }),
    column!("reason", Text, Maybe, |row| {
        serialized(row.page.record.reason.as_ref())
    }),
    column!("failure", Text, Maybe, |row| {
        serialized(row.page.record.failure.as_ref())
    }),
    column!("error", Text, Maybe, |row| {
        maybe(row.page.record.error.as_deref())
    }),
    column!("wire_bytes", Long, Always, |row| long(
        row.page.record.wire_bytes
    )),
    column!("body_bytes", Long, Always, |row| long(
        row.page.record.body_bytes
    )),
    column!("truncated", Flag, Always, |row| Cell::Flag(
        row.page.record.truncated
    )),
    column!("links", Integer, Always, |row| {
        integer(Some(row.page.record.links))
    }),
    column!("new_links", Integer, Always, |row| {
        integer(Some(row.page.record.new_links))
    }),
    column!("tries", Integer, Always, |row| {
        integer(Some(row.page.record.tries))
    }),
    column!("milliseconds", Double, Maybe, |row| {
        let total = row.page.record.timings.total;
        total.map_or(Cell::Empty, Cell::Double)
    }),
    column!("address", Text, Maybe, |row| {
        row.page.record.address.as_ref().map_or(Cell::Empty, owned)
    }),
    column!("digest", Text, Maybe, |row| {
        maybe(row.page.record.digest.as_deref())
    }),
    column!("lastmod", Text, Maybe, |row| {
        maybe(row.page.record.lastmod.as_deref())
    }),
    column!("noindex", Flag, Always, |row| Cell::Flag(
        row.page.record.noindex
    )),
    column!("fetched_at", Time, Maybe, |row| Cell::Moment(
        &row.page.record.fetched_at
    )),
    column!("canonical", Text, Maybe, |row| {
        maybe(row.page.record.canonical.as_ref().map(CrawlUrl::as_str))
    }),
    column!("duplicate_of", Text, Maybe, |row| {
        maybe(row.duplicate_of.as_deref())
    }),
    column!("rendered", Flag, Always, |row| Cell::Flag(
        row.page.record.is_rendered()
    )),
    column!("html_title", Text, Maybe, |row| maybe(html_title(row))),
    column!("title", Text, Maybe, |row| maybe(title(row))),
    column!("schema_version", Integer, Always, |_| SCHEMA),
    column!("h1", Text, Maybe, |row| {
        maybe(row.page.words().and_then(|words| words.h1.as_deref()))
    }),
    column!("html_lang", Text, Maybe, |row| {
        let words = row.page.words();
        maybe(words.and_then(|words| words.html_lang.as_deref()))
    }),
    column!("language", Text, Maybe, |row| {
        maybe(row.page.words().and_then(|words| words.language.as_deref()))
    }),
    column!("description", Text, Maybe, |row| {
        let words = row.page.words();
        maybe(words.and_then(|words| words.description.as_deref()))
    }),
    column!("author", Text, Maybe, |row| {
        maybe(row.page.words().and_then(|words| words.author.as_deref()))
    }),
    column!("published", Text, Maybe, |row| {
        let words = row.page.words();
        maybe(words.and_then(|words| words.published.as_deref()))
    }),
    column!("modified", Text, Maybe, |row| {
        maybe(row.page.words().and_then(|words| words.modified.as_deref()))
    }),
    column!("headings", Text, Maybe, |row| {
        maybe(row.page.words().map(|words| words.headings.as_str()))
    }),
    column!("words", Integer, Maybe, |row| {
        integer(row.page.words().map(|words| words.count as u32))
    }),
    column!("text_hash", Text, Maybe, |row| {
        let words = row.page.words();
        words.map_or(Cell::Empty, |words| hexadecimal(words.exact))
    }),
    column!("simhash", Text, Maybe, |row| {
        let words = row.page.words();
        words.map_or(Cell::Empty, |words| hexadecimal(words.near))
    }),
    column!("text", Text, Maybe, |row| {
        maybe(row.page.words().map(|words| words.text.as_str()))
    }),
    column!("markdown", Text, Maybe, |row| {
        maybe(row.page.words().map(|words| words.markdown.as_str()))
    }),
    column!("unreadable", Text, Maybe, |row| match &row.page.found {
        ReadContent::Unreadable(why) => text(why),
        _ => Cell::Empty,
    }),
    column!("items", Text, Maybe, |row| {
        let items = row.page.items.as_ref();
        let items = items.filter(|items| !items.items.is_empty());
        items
            .and_then(|items| serde_json::to_string(&items.items).ok())
            .map_or(Cell::Empty, Cell::Json)
    }),
];

/// A row of the table of links.
pub(crate) struct LinkRow {
    pub(crate) source: String,
    pub(crate) target: Option<String>,
    pub(crate) source_key: String,
    pub(crate) target_key: String,
    pub(crate) kind: &'static str,
    /// What the page says about it, where the archive has the page.
    pub(crate) said: Said,
}

/// The table of links: one row for each distinct link of a page.
pub(crate) const LINKS: [Column<LinkRow>; 9] = [
    column!("source_url", Text, Always, |row| text(&row.source)),
    column!("target_url", Text, Maybe, |row| maybe(
        row.target.as_deref()
    )),
    column!("source_key", Text, Always, |row| text(&row.source_key)),
    column!("target_key", Text, Always, |row| text(&row.target_key)),
    column!("kind", Text, Always, |row| text(row.kind)),
    column!("text", Text, Maybe, |row| maybe(row.said.text.as_deref())),
    column!("rel", Text, Maybe, |row| maybe(row.said.rel.as_deref())),
    column!("fragment", Text, Maybe, |row| {
        maybe(row.said.fragment.as_deref())
    }),
    column!("schema_version", Integer, Always, |_| SCHEMA),
];

/// A row of the table of items.
pub(crate) struct ItemRow {
    pub(crate) url: String,
    pub(crate) rule: String,
    pub(crate) number: i32,
    pub(crate) item: String,
}

/// The table of items: one row for each item that a rule found.
pub(crate) const ITEMS: [Column<ItemRow>; 5] = [
    column!("url", Text, Always, |row| text(&row.url)),
    column!("rule", Text, Always, |row| text(&row.rule)),
    column!("number", Integer, Always, |row| Cell::Integer(row.number)),
    column!("item", Text, Always, |row| text(&row.item)),
    column!("schema_version", Integer, Always, |_| SCHEMA),
];

/// A row of the table of chunks.
pub(crate) struct ChunkRow {
    pub(crate) url: String,
    pub(crate) id: String,
    /// What happened to it since the earlier crawl, if that is asked for.
    pub(crate) change: Option<&'static str>,
    /// What it says; nothing of one that is gone.
    pub(crate) words: Option<ChunkWords>,
}

/// What a chunk says, and where that stands.
pub(crate) struct ChunkWords {
    pub(crate) title: Option<String>,
    pub(crate) number: i32,
    pub(crate) provenance: Option<Provenance>,
    pub(crate) passage: PagePassage,
}

impl ChunkRow {
    fn provenance(&self) -> Option<&Provenance> {
        self.words.as_ref()?.provenance.as_ref()
    }
}

/// The table of chunks: one row for each passage of a page. Its rows are quotes as well.
pub(crate) const CHUNKS: [Column<ChunkRow>; 13] = [
    column!("id", Text, Always, |row| text(&row.id)),
    column!("url", Text, Always, |row| text(&row.url)),
    column!("change", Text, Maybe, |row| maybe(row.change)),
    column!("title", Text, Maybe, |row| {
        maybe(row.words.as_ref().and_then(|words| words.title.as_deref()))
    }),
    column!("number", Integer, Maybe, |row| {
        let words = row.words.as_ref();
        words.map_or(Cell::Empty, |words| Cell::Integer(words.number))
    }),
    column!("headings", Text, Maybe, |row| {
        let headings = row.words.as_ref().map(|words| &words.passage.headings);
        let json = headings.and_then(|headings| serde_json::to_string(headings).ok());
        json.map_or(Cell::Empty, Cell::Json)
    }),
    column!("text", Text, Maybe, |row| {
        let text = row.words.as_ref().map(|words| words.passage.text());
        text.map_or(Cell::Empty, |text| Cell::Text(Cow::Owned(text)))
    }),
    column!("characters", Integer, Maybe, |row| {
        let text = row.words.as_ref().map(|words| words.passage.text());
        integer(text.map(|text| text.chars().count() as u32))
    }),
    column!("captured", Text, Maybe, |row| {
        maybe(row.provenance().map(|found| found.captured.as_str()))
    }),
    column!("digest", Text, Maybe, |row| {
        maybe(row.provenance().map(|found| found.digest.as_str()))
    }),
    column!("file", Text, Maybe, |row| {
        maybe(row.provenance().map(|found| found.file.as_str()))
    }),
    column!("offset", Long, Maybe, |row| {
        let offset = row.provenance().map(|found| found.offset);
        offset.map_or(Cell::Empty, long)
    }),
    column!("schema_version", Integer, Always, |_| SCHEMA),
];

const SCHEMA: Cell<'static> = Cell::Integer(SCHEMA_VERSION);

/// The title that the page says, or the one that the crawl saw.
fn title(row: &PageRow) -> Option<&str> {
    let said = row.page.words().and_then(|words| words.title.as_deref());
    said.or(row.page.record.title.as_deref())
}

/// What stands in the page's title element; the crawl saw the same.
fn html_title(row: &PageRow) -> Option<&str> {
    match row.page.words() {
        Some(words) => words.html_title.as_deref(),
        None => row.page.record.title.as_deref(),
    }
}

/// Bits that are no number, as text of sixteen digits: readers of tables turn whole numbers that
/// may be missing into fractions, which do not hold them.
fn hexadecimal(bits: u64) -> Cell<'static> {
    Cell::Text(Cow::Owned(format!("{bits:016x}")))
}

fn text(value: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(value))
}

fn owned(value: &impl ToString) -> Cell<'static> {
    Cell::Text(Cow::Owned(value.to_string()))
}

fn maybe(value: Option<&str>) -> Cell<'_> {
    value.map_or(Cell::Empty, text)
}

fn integer(value: Option<u32>) -> Cell<'static> {
    let value = value.map(|value| i32::try_from(value).unwrap_or(i32::MAX));
    value.map_or(Cell::Empty, Cell::Integer)
}

fn long(value: u64) -> Cell<'static> {
    Cell::Long(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The name of a value whose type has one.
fn serialized(value: Option<&impl serde::Serialize>) -> Cell<'static> {
    match value.map(serde_json::to_value) {
        Some(Ok(serde_json::Value::String(name))) => Cell::Text(name.into()),
        _ => Cell::Empty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: &str = include_str!("../../../docs/formats.md");

    fn check<R>(columns: &[Column<R>]) {
        for column in columns {
            let kind = match column.kind {
                Text => "string",
                Integer => "int32",
                Long => "int64",
                Double => "double",
                Flag => "bool",
                Time => "timestamp (ms, UTC)",
            };
            let presence = match column.presence {
                Always => "always",
                Maybe => "",
            };
            let row = format!("| `{}` | {kind} | {presence} | ", column.name);
            assert!(FORMATS.contains(&row), "docs/formats.md has no row {row}");
        }
    }

    #[test]
    fn every_column_is_documented() {
        check(&PAGES);
        check(&LINKS);
        check(&ITEMS);
        check(&CHUNKS);
        assert_eq!(PAGES[PLAIN - 1].name, "schema_version");
    }
}
