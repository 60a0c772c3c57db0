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
#![warn(missing_docs)]

mod clock;
pub mod config;
mod control;
mod crawl;
mod descriptors;
mod disk;
mod engine;
mod entry;
pub mod exchange;
pub mod extract;
pub mod fetch;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
pub mod inspect;
mod job;
mod leases;
pub mod log;
#[doc(hidden)]
pub mod measuring;
mod memory;
mod page;
mod partial;
mod previous;
pub mod rebuild;
mod robots_file;
mod running;
pub mod status;
mod store;
mod stored;
mod warc_metadata;
pub mod why;

/// Records of settled URLs, and what logs take with them.
pub mod record {
    pub use clewline_job::record::{EarlierTry, FORMAT, OutcomeKind, PhaseMillis, Record};

    pub use crate::entry::Entry;
}

pub use clewline_core::link::{Link, LinkKind};
pub use clewline_core::outcome::{FailureClass, SkipReason};
pub use clewline_core::url::{CrawlUrl, UrlError};
#[doc(hidden)]
pub use clewline_job::failpoint;
pub(crate) use clewline_job::{durable, witness};
pub use clewline_job::{escape, report};
pub use control::{Change, Control, ControlError, RobotsSaying};
pub use crawl::{CookieProblem, Crawl, CrawlError, GRACE};
pub use engine::{EngineError, Event, Progress};
pub use folder::{EmptyFolder, FolderError, Remedy};
pub use headers::Headers;
pub use page::Page;
pub use running::{Pages, Running, Summary};
pub use store::StoreError;
pub use stored::{JobError, JobStanding, StoredJob};
