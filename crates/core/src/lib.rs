//! The pure heart of Clewline.
//!
//! Owns every decision of a crawl: what a URL is, whether it is in scope, whether robots.txt
//! allows it, when its host may be asked again, and which URL is next. It refuses to know how
//! bytes travel: there is no runtime, socket, file, clock or randomness in here; `now` and the
//! seed are arguments, and every answer carries its reason.
#![warn(missing_docs)]

pub mod address;
pub mod cookies;
pub mod domain;
pub mod fleet;
pub mod frontier;
#[doc(hidden)]
pub mod fuzzing;
pub mod key;
pub mod limits;
pub mod link;
pub mod outcome;
pub mod politeness;
pub mod rank;
pub mod retry_after;
pub mod robots;
pub mod scope;
pub mod url;
