//! What a page says: metadata, plain text, main text, Markdown, passages, fingerprints, items by rules.
//!
//! Owns the way from the text of a page to its content. It refuses to know of fetching and of
//! files, and the crawler does not depend on it. Everything is bounded by
//! [`ContentLimits`]; a page beyond them gets a [`Refusal`] that says why.
#![warn(missing_docs)]

mod content;
mod date;
mod drawing;
mod fingerprint;
#[doc(hidden)]
pub mod fuzzing;
mod hidden;
mod json_ld;
mod language;
mod limits;
mod links;
mod markdown;
mod math;
mod metadata;
mod passages;
mod pieces;
mod pool;
mod quote;
mod raised;
mod read_page;
mod reading;
mod rules;
mod selection;
mod skim;
mod tag;
#[cfg(test)]
mod tests;
mod text;
mod token;
mod tree;

pub use content::{Content, MainContent, ReadingSpeed};
pub use date::normalised_date;
pub use fingerprint::{Fingerprint, LARGEST_DISTANCE, clusters};
pub use hidden::{HiddenText, seen};
pub use limits::{ContentLimits, Refusal};
pub use links::{LinkElement, PageLink, page_links};
pub use metadata::{Heading, Metadata};
pub use passages::{
    LEAST_PASSAGE, LONGEST_WHOLE, MOST_PASSAGE, OutlineEntry, PagePassage, outline, passages,
};
pub use pieces::{PageElement, PagePiece, each_piece};
pub use pool::{Answer, Readers};
pub use quote::{LONGEST_QUOTE, Quote, QuoteError, QuotedPage};
pub use read_page::{ReadPage, fenced};
pub use rules::{ItemRules, Items, RuleError, SelectError, SelectedElement, select, without};
pub use text::words;
pub use url::Url;
