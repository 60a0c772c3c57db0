//! The forms, one module each.
//!
//! Owns their names and which of them are folders.

mod chunks;
pub(crate) mod csv;
mod documents;
pub(crate) mod duplicates;
mod graph;
mod lines;
mod numbered;
mod parquet;
mod sitemap;

use std::fmt;
use std::path::Path;

use crate::ExistingOutput;
use crate::error::ExportError;
use crate::export::{ExportContext, Output};

/// What a crawl can be written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// A JSON object for each URL, with the text of pages.
    Jsonl,
    /// A row for each URL, without text.
    Csv,
    /// A folder with the tables `pages`, `links` and `items`; a name that ends in `.parquet`
    /// makes the first alone.
    Parquet,
    /// A folder with one Markdown file per page.
    Markdown,
    /// A folder with one text file per page.
    Text,
    /// A folder of `1.html`, `2.html` and so on: URL, depth, content.
    Numbered,
    /// A sitemap, or an index of sitemaps.
    Sitemap,
    /// A folder with the graph of links: two CSV files and `GraphML`, with `PageRank`.
    Graph,
    /// The pages that are the same or nearly the same, as CSV.
    Duplicates,
    /// The passages of pages, for indexes and models: JSON lines, or Parquet by the ending.
    Chunks,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Jsonl,
        Self::Csv,
        Self::Parquet,
        Self::Markdown,
        Self::Text,
        Self::Numbered,
        Self::Sitemap,
        Self::Graph,
        Self::Duplicates,
        Self::Chunks,
    ];

    /// The name that it is asked for with.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Numbered => "numbered",
            Self::Sitemap => "sitemap",
            Self::Graph => "graph",
            Self::Duplicates => "duplicates",
            Self::Chunks => "chunks",
        }
    }

    /// What it is, in a line of help.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Jsonl => "One object per URL, with the text of pages",
            Self::Csv => "One row per URL",
            Self::Parquet => "A folder with the tables pages, links and items",
            Self::Markdown => "A folder with one Markdown file per page",
            Self::Text => "A folder with one text file per page",
            Self::Numbered => "A folder of 1.html, 2.html …: URL, depth, content",
            Self::Sitemap => "A sitemap; an index of several above 50,000 URLs",
            Self::Graph => "A folder with the pages and links as tables and as a graph, with ranks",
            Self::Duplicates => "The pages that are the same or nearly the same, as CSV",
            Self::Chunks => "Passages of pages with their headings, for indexes and models",
        }
    }

    /// The form of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    pub(crate) fn write(
        self,
        work: &mut ExportContext<'_>,
        output: Output<'_>,
    ) -> Result<(), ExportError> {
        match self {
            Self::Jsonl => lines::write(work, output),
            Self::Csv => csv::write(work, output),
            Self::Parquet => {
                let (path, existing) = self.folder(&output)?;
                parquet::write(work, path, existing)
            }
            Self::Markdown => documents::write(work, output, documents::Dress::Markdown),
            Self::Text => documents::write(work, output, documents::Dress::Text),
            Self::Numbered => {
                let (path, existing) = self.folder(&output)?;
                numbered::write(work, path, existing)
            }
            Self::Sitemap => sitemap::write(work, output),
            Self::Graph => graph::write(work, output),
            Self::Duplicates => duplicates::write(work, output),
            Self::Chunks => chunks::write(work, output),
        }
    }
}

impl Form {
    /// The place of a form that cannot be a stream.
    fn folder<'a>(self, output: &Output<'a>) -> Result<(&'a Path, ExistingOutput), ExportError> {
        match output {
            Output::Path(path, existing) => Ok((path, *existing)),
            Output::Stream(_) => Err(ExportError::NotAStream(self)),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
