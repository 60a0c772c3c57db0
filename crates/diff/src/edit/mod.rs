//! From two rows of tokens to edits, and from the edits of many pages to entries.
//!
//! Owns hunks, the noise that is learnt and the clusters. It refuses to know where pages come from.

mod align;
mod clusters;
mod hunks;
mod noise;
#[cfg(test)]
mod tests;

use clewline_content::Url;
use serde::{Deserialize, Serialize};

use crate::entry::DiffLayer;

pub(crate) use clusters::{Clustered, Clustering};
pub(crate) use hunks::{KnownUrls, page_hunks};
pub(crate) use noise::NoiseLearner;
pub use noise::NoisePlace;

/// A run of tokens that is replaced, added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PageHunk {
    /// Hashes of the tokens then and now; 0 where there are none.
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// Hashes of the blocks around it then and now.
    pub(crate) blocks: [u64; 2],
    /// Hash of the kinds and elements of the tokens, without words.
    pub(crate) shape: u64,
    /// Hash of the names of the elements around it.
    pub(crate) path: u64,
    /// Where it stands, as equal edits share it.
    pub(crate) region: String,
    /// Hunks with the same number are one edit.
    pub(crate) edit: u32,
    /// Numbers of the layers that it touches.
    pub(crate) layers: u16,
    /// Its words look like a time, a counter or a token.
    pub(crate) is_volatile: bool,
    /// It follows from a page that is gone or new: a link to it went or came.
    pub(crate) is_explained: bool,
    /// It is made of links and their words.
    pub(crate) is_anchor: bool,
    pub(crate) removed: String,
    pub(crate) added: String,
    pub(crate) links_removed: Vec<String>,
    pub(crate) links_added: Vec<String>,
}

impl PageHunk {
    pub(crate) fn layers(&self) -> impl Iterator<Item = DiffLayer> + '_ {
        let is_touched = |layer: &DiffLayer| self.layers & layer.bit() != 0;
        DiffLayer::ALL.into_iter().filter(is_touched)
    }
}

/// A page on which something differs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PageChange {
    /// Its URL now, as it is known on both sides.
    pub(crate) url: String,
    /// Its URL then, if it moved.
    pub(crate) moved_from: Option<String>,
    pub(crate) template: u32,
    pub(crate) hunks: Vec<PageHunk>,
}

/// The URL of a link without its fragment.
pub(crate) fn without_fragment(target: &str) -> &str {
    target.split('#').next().unwrap_or(target)
}

/// A URL for reading a page; what is none does not occur, since a crawl asked for it.
pub(crate) fn page_url(url: &str) -> Url {
    Url::parse(url).unwrap_or_else(|_| Url::parse("http://invalid/").expect("it is a URL"))
}
