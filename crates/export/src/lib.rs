//! What a crawl read, as data.
//!
//! Owns the forms that a job folder can be written in beside those for viewers: tables (JSON
//! lines, CSV, Parquet), documents (Markdown, text, numbered files), a sitemap, the graph of
//! links, and the list of duplicates. Records come from `urls.jsonl`, bodies from the archive,
//! links from the link log; it refuses to know how they got there. Invariants: only what is
//! committed is read; the same job makes the same bytes; an output is whole or not there;
//! memory does not grow with the size of pages, and by a few bytes for each URL.
//!
//! ```no_run
//! use std::path::Path;
//! use clewline_export::{ExistingOutput, Filter, Form, Options, Output, export};
//!
//! let options = Options {
//!     filters: vec![Filter::parse("status=200")?],
//!     ..Options::default()
//! };
//! let output = Output::Path(Path::new("pages"), ExistingOutput::Keep);
//! let done = export(Path::new("example.com.crawl"), Form::Parquet, output, &options, &mut |_| {})?;
//! println!("{} pages", done.rows);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

mod anchors;
mod columns;
mod draft;
mod error;
mod export;
mod filter;
mod fold;
mod form;
mod link_rows;
mod names;
mod outlinks;
mod pages;
mod soft_404;
mod urls;
mod view;
mod words;

pub use clewline_archive::ExistingOutput;
pub use error::ExportError;
pub use export::{ExportProgress, Exported, Options, Output, Part, export};
pub use filter::{Filter, FilterError};
pub use fold::Fold;
pub use form::Form;
pub use form::duplicates::NearCount;
pub use view::{FOLDER, ViewRules, update, view_path};
