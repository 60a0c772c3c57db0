//! HTML and the small languages within it, as text.
//!
//! Owns the one tokenizer of the product, with a face for pages that stream by ([`Tokenizer`]) and
//! one for pages that lie in memory ([`Tokens`]); the decoding of character references; and where
//! references stand in style sheets, `srcset` and refreshes, for whoever follows them and whoever
//! puts others in their place. Refuses to know what elements mean, trees, URLs and encodings.
//! Invariant: linear time, whatever the input.
#![warn(missing_docs)]

pub mod css;
pub mod find;
#[doc(hidden)]
pub mod fuzzing;
pub mod references;
pub mod refresh;
pub mod srcset;
mod tokenizer;

pub use tokenizer::{
    Attribute, MarkupToken, Name, Namespace, StartTag, TagAttributes, TagSink, TextOf, Tokenizer,
    Tokens, raw_text_element,
};
