//! References in small languages of the web: style sheets, `srcset` and refreshes.
//!
//! Owns where a reference stands in a text and what it says, for whoever follows references and
//! whoever puts others in their place. Refuses to know documents, URLs, encodings and where a
//! reference leads. Invariant: linear time; nothing is kept but the value being read.
#![warn(missing_docs)]

pub mod css;
pub mod refresh;
pub mod srcset;
