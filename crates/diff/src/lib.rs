//! What changed between two crawls of a site.
//!
//! Owns the pairing of pages, what counts as a change, the noise that is learnt, the entries that
//! equal edits become, and their forms. It reads job folders and archives through `clewline-job` and
//! fetches nothing. Invariants: a failure is not a change; one edit is one entry, on however many
//! pages it is; the same two crawls make the same bytes; memory grows by some dozens of bytes for
//! each URL, and texts lie on disk until they are shown.
//!
//! The way of a comparison: `side` reads the records of each crawl into compact rows, `pairs` joins
//! them by URL, `moves` finds pages that are under another URL now, `page` reads what is different
//! as tokens, `edit` compares tokens, learns noise and makes clusters, and `forms` write them.
#![warn(missing_docs)]

mod compare;
mod edit;
mod entry;
mod forms;
#[doc(hidden)]
pub mod fuzzing;
mod moves;
mod options;
mod page;
mod pairs;
mod redirects;
mod side;

pub use compare::{Difference, compare};
pub use edit::NoisePlace;
pub use entry::{DiffCounts, DiffEdit, DiffEntry, DiffKind, DiffLayer, PayloadCounts};
pub use forms::{CHANGES_STYLE, DiffForm, DiffHead, changes_html, verdict};
pub use moves::{MoveCertainty, MoveReason, PageMove};
pub use options::{DiffError, DiffOptions, DiffProgress, DiffStage, UrlMap, UrlMapError};
pub use redirects::RedirectForm;
