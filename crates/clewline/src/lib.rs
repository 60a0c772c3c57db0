//! Clewline, the crawler that never loses its place.
#![warn(missing_docs)]

pub mod config;
pub mod escape;
pub mod extract;
pub mod fetch;
mod headers;
pub mod log;
pub mod record;
pub mod report;

pub use clewline_core as core;
pub use headers::Headers;
