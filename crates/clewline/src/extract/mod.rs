//! Extracting: from the bytes of an answer to links and a few facts.
//!
//! Owns the seam [`Extractor`] and the implementation for HTML, XML, CSS, sitemaps and feeds.
//! Pure: bytes in, links out. It refuses to know how the bytes came and what becomes of the
//! links; nothing here judges scope.

mod body;
mod charset;
mod collect;
mod directives;
mod element;
mod feed;
mod header_links;
mod html;
mod media;
#[cfg(any(test, feature = "oracle"))]
pub(crate) mod oracle;
mod page;
mod recent_links;
mod script;
pub(crate) mod shell;
mod sitemap;
mod xml;

use clewline_core::link::Links;
use clewline_core::url::CrawlUrl;

use crate::headers::Headers;

pub use page::PageExtractor;

/// What is known of a page before its body.
#[derive(Debug, Clone)]
pub struct PageHead<'a> {
    /// The URL that was fetched.
    pub url: &'a CrawlUrl,
    /// HTTP status.
    pub status: u16,
    /// Header fields as received.
    pub headers: &'a Headers,
    /// It was announced as a sitemap, whatever its type says.
    pub sitemap: bool,
}

/// Makes one [`Extraction`] per page.
pub trait Extractor: Send + Sync + 'static {
    /// Begins to read a page.
    fn begin(&self, head: PageHead<'_>) -> Box<dyn Extraction>;

    /// A number for all that decides what is taken from a page: another version has another one, and
    /// so have other settings. An update believes what was noted of an unchanged page under the same
    /// number; without one it reads the page again.
    fn fingerprint(&self) -> Option<u64> {
        None
    }
}

/// Reads one page, piece by piece.
pub trait Extraction: Send {
    /// The next piece of the decoded body.
    fn feed(&mut self, chunk: &[u8]);

    /// About how many bytes it holds; counted against the bound on memory.
    fn held(&self) -> usize {
        0
    }

    /// Whether the page may still turn out to look [empty without JavaScript](Extracted::is_shell). Where
    /// pages are rendered, one that may is held until it is read.
    fn may_be_shell(&self) -> bool {
        true
    }

    /// The body was cut off, at the size limit or by the server: [`finish`](Self::finish) follows,
    /// and what reaches up to the end may be half of what was written.
    fn cut(&mut self) {}

    /// The body has ended; a body cut at the size limit ends here too.
    fn finish(self: Box<Self>) -> Extracted;
}

/// What a page told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Distinct links, in order of appearance, resolved and canonical; from headers too.
    pub links: Links,
    /// Links that were dropped because the page had more than the limit.
    pub dropped_links: u64,
    /// References that are not http(s) or do not parse.
    pub other_references: u64,
    /// The title, white space folded, at most 1,000 characters.
    pub title: Option<String>,
    /// The canonical URL that the page names.
    pub canonical: Option<CrawlUrl>,
    /// The encoding by its WHATWG name, for text.
    pub charset: Option<&'static str>,
    /// The page asks that its links are not followed (meta robots or X-Robots-Tag).
    pub nofollow: bool,
    /// The page asks not to be indexed.
    pub noindex: bool,
    /// The page looks empty without JavaScript.
    pub is_shell: bool,
    /// Why the content could not be read as what it claims to be.
    pub problem: Option<&'static str>,
}

#[cfg(test)]
mod tests;
