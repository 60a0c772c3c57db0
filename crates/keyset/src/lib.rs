//! The keys that a crawl knows: "was this link seen before?", asked a hundred million times.
//!
//! Owns everything between "a link was found" and "this key is known" for a crawl with its state
//! on disk, behind one type, [`KnownKeys`]. A question goes down this ladder until one step
//! answers; each step is cheaper than the next and was added because it was measured to pay:
//!
//! ```text
//!  a link was found
//!    │   outside of this crate
//!    │     links of the page before it   extract   a repeated link of a site's menu
//!    │     VerdictCache                  engine    tasks share the frontier's last answers
//!    ▼
//!  KnownKeys::contains                                        holds            memory
//!    1  hot lines        64 bits of a key, in lines of eight  any known keys   options.hot
//!    2  open batch       a hash set                           not sealed       one batch
//!    3  sealed batches   a hash set each                      not durable      up to two batches
//!    4  fresh keys       a hash set; rows of the database     durable          options.gather
//!    5  absent keys      "no": looked up ahead, not there     unknown keys     one look ahead
//!    ──────────────────  from here on for each run, the longest first  ────────────────────
//!    6  filter           "no" for 99 of 100 other keys        all of a run     options.indexes
//!    7  kept blocks      blocks of 2 KB that are read often   parts of a run   options.blocks
//!    8  the run's file   one block is read and its sum checked
//!
//!  the way of a new key, and what makes it durable
//!    add ─▶ open batch ─▶ seal ─▶ sealed batch ─▶ commit ─▶ fresh key ─▶ run ─▶ merged run
//!                                                  │                     │        │
//!                                                  rows of the batch     a file that the `runs`
//!                                                                        row of a commit names
//! ```
//!
//! Beside it, `SeenKeys` of the core does the same for a crawl with its state in memory.
//! [`KnownKeys::look_ahead`] takes a few hundred keys down the ladder at once, step by step, so
//! that reads don't wait for each other.
//!
//! The crate refuses to know the database. [`KnownKeys::seal`] answers the rows that belong into
//! the commit of the batch, [`SealedKeys::prepare`] the row that names the runs, and
//! [`SavedKeys`] takes the rows back on start. So there is one crash story: a key is known if the
//! last commit says so. The format is frozen: `rows.rs` and `run.rs` describe it, and a version
//! is in it.
//!
//! A range of keys moves between machines with [`KnownKeys::export`], [`KnownKeys::import`] and
//! [`KnownKeys::forget`]. The last two become durable with the next commit, together with
//! whatever else is in it.
#![warn(missing_docs)]

mod block;
mod error;
mod filter;
mod fresh;
mod hot;
mod index;
mod kept;
mod known;
mod options;
mod rows;
mod run;
mod run_folder;
mod runs;
mod sorted;
#[cfg(test)]
mod tests;

pub use error::KeysError;
pub use known::{KnownKeys, SealedKeys};
pub use options::{KeyObserver, KeyStep, KeysOptions};
pub use rows::{KeyRow, SavedKeys};
pub use sorted::ExportedKeys;
