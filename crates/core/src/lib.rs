//! The pure heart of the crawler.
#![warn(missing_docs)]
pub mod cookies;
#[doc(hidden)]
pub mod fuzzing;
pub mod retry_after;
pub mod robots;
