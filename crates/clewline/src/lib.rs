//! Clewline, the crawler that never loses its place.
//!
//! Give it a URL and it finds and fetches every page it may, politely and as fast as the
//! server is happy to answer.
//!
//! ```no_run
//! # async fn example() -> Result<(), clewline::CrawlError> {
//! let mut pages = clewline::Crawl::new("https://example.com").max_pages(100).start()?;
//! while let Some(page) = pages.next().await {
//!     println!("{} {} {}", page.status(), page.url(), page.title().unwrap_or("-"));
//! }
//! let summary = pages.finish().await?;
//! println!("{} URLs", summary.report.tally.done);
//! # Ok(())
//! # }
//! ```
//!
//! [`Pages`] is a stream, too, for those who have `StreamExt` at hand. With the feature `content`
//! a [`Page`] gives its main text as Markdown and its elements by CSS selectors.
//!
//! A slow reader slows the crawl down, nothing is written to disk unless a
//! [folder](Crawl::folder) is named, and dropping the pages stops the crawl. Own ways to
//! [fetch](fetch::Fetcher), to [extract](extract::Extractor) and to [log](log::Log) can be
//! passed in.
//!
//! What a crawl is told and what it leaves behind are values of `clewline_job`: the whole
//! [configuration](clewline_job::config::Config), [records](clewline_job::record::Record) and
//! [reports](clewline_job::report::Report), and the readers of a job folder.
#![warn(missing_docs)]

mod clock;
mod connections;
mod control;
mod crawl;
mod descriptors;
mod engine;
mod entry;
mod exchange;
pub mod extract;
pub mod fetch;
mod fleet;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod inspect;
mod job;
mod leases;
pub mod log;
#[doc(hidden)]
pub mod measuring;
mod memory;
mod merge;
mod page;
mod partial;
mod previous;
mod rebuild;
mod render;
mod robots_file;
mod running;
mod status;
mod store;
mod stored;
mod trusted;
mod warc_metadata;
mod why;

pub use clewline_core::link::{Link, LinkKind};
pub use clewline_core::outcome::FailureClass;
pub use clewline_core::url::CrawlUrl;
pub(crate) use clewline_job::{config, durable, escape, failpoint, record, report, witness};
pub use control::{Change, Control, ControlError};
pub use crawl::{Crawl, CrawlError};
pub use engine::{EngineError, Event, Progress};
pub use headers::Headers;
pub use page::Page;
pub use rebuild::AnswerReader;
pub use running::{Pages, Running, Summary};
pub use stored::{JobError, StoredJob};
