//! A full-text index over what a crawl archived, and the search in it.
//!
//! Owns a *view* of a job folder in its folder `index/`: made from committed records of the
//! archive and the link log, brought up to date from where it stands, removed and made again at
//! will. It refuses to know how pages are fetched and how results are shown. Invariant: a commit
//! of the index names the place in the archive up to which everything is in it, so a crash at
//! any moment costs work, never correctness.
//!
//! ```no_run
//! use std::path::Path;
//! use clewline_search::{Index, Query};
//!
//! let job = Path::new("example.com.crawl");
//! clewline_search::update(job, &mut |_| {})?;
//! let index = Index::open(job)?;
//! for hit in index.search(&Query::parse("\"hash map\" -legacy host:example.com")?)?.hits {
//!     println!("{} {}", hit.url, hit.title);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

mod compile;
mod document;
mod error;
mod facets;
mod fold;
mod index;
mod page;
mod query;
mod rank;
mod schema;
mod snippet;
mod source;
mod update;
mod words;
mod writer;

pub use error::SearchError;
pub use index::{Facet, Facets, Hit, Index, Results};
pub use query::{Fault, Folding, LONGEST, MOST_RESULTS, Query, QueryError};
pub use snippet::Snippet;
pub use update::{
    Borrowed, Freshness, IndexProgress, Updated, feed, open_updated, rebuild, update,
};

/// The folder of the index in a job folder.
pub const FOLDER: &str = "index";
