//! The facts of a page: what rules need to know of it, and nothing else.
//!
//! Owns what is read of a head and of a body, once, and the file `check/facts` in the job folder in
//! which the rows are kept. It refuses to know rules: a fact is what stands in a page, not what is
//! wrong about it. What only a finding needs (lines, columns, words of links, URLs of the site's own
//! pages as they are written) is not kept: the few pages with findings are read again. Invariant:
//! every list and every text is bounded, whatever a page holds.

mod a11y;
mod bytes;
mod document;
mod element;
mod files;
mod folder;
mod fragment;
pub(crate) mod fuzzing;
mod gather;
mod head;
mod links;
mod locate;
mod page;
mod reading;
mod references;
mod row;
mod spelling;
#[cfg(test)]
mod tests;
mod words;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;

use crate::site::{RowFlags, SiteTable};

pub(crate) use files::SiteFiles;
pub use gather::{FILE, GatherOptions, GatherProgress, GatheredFacts, from_pages, gather};
pub use locate::locate;
pub use page::of_text;

/// References that are kept of a page.
pub const MOST_REFERENCES: usize = 100_000;
/// Ids that are kept of a page.
pub const MOST_IDS: usize = 1 << 20;
/// Marks that are kept of a page.
pub const MOST_MARKS: usize = 1_000;

/// The rules that read marks: what stands in a page and may be wrong by itself. Accessibility rules
/// have the ids of axe-core. New ones are appended, since files hold their numbers.
pub const MARKS: [&str; 29] = [
    "links/malformed",
    "mixed/active",
    "mixed/passive",
    "mixed/form",
    "data/json-ld",
    "a11y/image-alt",
    "a11y/input-image-alt",
    "a11y/area-alt",
    "a11y/link-name",
    "a11y/button-name",
    "a11y/label",
    "a11y/select-name",
    "a11y/html-has-lang",
    "a11y/html-lang-valid",
    "a11y/document-title",
    "a11y/frame-title",
    "a11y/meta-refresh",
    "a11y/meta-viewport",
    "a11y/duplicate-id-aria",
    "a11y/aria-roles",
    "a11y/aria-valid-attr",
    "a11y/list",
    "a11y/listitem",
    "a11y/dlitem",
    "a11y/td-headers-attr",
    "a11y/tabindex",
    "a11y/landmark-one-main",
    "a11y/heading-order",
    "a11y/empty-heading",
];

/// What the table of the site takes from the facts of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FactsSummary {
    /// What is true of it.
    pub flags: RowFlags,
    /// Hash of its first title; 0 where there is none.
    pub title: u64,
    /// Hash of its first description; 0 where there is none.
    pub description: u64,
    /// Equal where the words are the same; 0 where there are none.
    pub exact: u64,
    /// `SimHash` of the words; 0 where there are none.
    pub near: u64,
    /// Bytes of the body after decoding, as far as they were read.
    pub body_bytes: u64,
    /// Bytes of the body as it was sent.
    pub sent_bytes: u64,
}

/// What is known of a page beside its record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FactRow {
    /// The body was cut, or it has more than is kept: what is missing here may be there.
    pub is_cut: bool,
    /// There should be facts of a body, but the archive has none or the reader broke on it.
    pub is_unread: bool,
    /// Bytes of its body after decoding. The record of a page that did not change has those of the
    /// answer that says so, which has no body.
    pub body_bytes: u64,
    /// Bytes of its body as it was sent.
    pub sent_bytes: u64,
    /// What its head says.
    pub head: HeadFacts,
    /// What its body says, if it is HTML that could be read.
    pub html: Option<HtmlFacts>,
    /// What it refers to, in the order of the page: each target, fragment and kind once.
    pub references: Vec<PageReference>,
}

/// What the fields of a response say, as far as rules ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadFacts {
    /// The fields that rules read, by lower-case name, in their order; values are cut at 1,000 bytes,
    /// and of `set-cookie` the value of the cookie is left out.
    pub fields: Vec<(Box<str>, Box<str>)>,
}

impl FactRow {
    /// What the table takes of it. `url` is that of the page.
    pub fn summary(&self, url: &CrawlUrl) -> FactsSummary {
        let mut summary = FactsSummary {
            body_bytes: self.body_bytes,
            sent_bytes: self.sent_bytes,
            ..FactsSummary::default()
        };
        summary.flags.put(RowFlags::CUT, self.is_cut);
        summary.flags.put(RowFlags::UNREAD, self.is_unread);
        let tags = self.head.all("x-robots-tag");
        let says_noindex = tags.map(says_noindex).fold(false, |said, now| said | now);
        summary.flags.put(RowFlags::NOINDEX, says_noindex);
        if let Some(html) = &self.html {
            summary.flags.put(RowFlags::HTML, true);
            summary
                .flags
                .put(RowFlags::NOINDEX, says_noindex_in(&html.robots));
            let is_elsewhere = |canonical: &CanonicalFact| {
                canonical.place != CanonicalPlace::Body
                    && canonical.url.as_ref().is_ok_and(|named| named != url)
            };
            let is_elsewhere = html.canonicals.iter().any(is_elsewhere);
            summary
                .flags
                .put(RowFlags::CANONICAL_ELSEWHERE, is_elsewhere);
            summary.title = text_hash(&html.titles);
            summary.description = text_hash(&html.descriptions);
            summary.exact = html.exact;
            summary.near = html.near;
        }
        summary
    }

    /// Gives the references to other hosts of the site their keys: which hosts those are is known
    /// only when all pages were read.
    pub(crate) fn settle_hosts(&mut self, site: &SiteTable) {
        for reference in &mut self.references {
            if let ReferenceTarget::Foreign(url) = &reference.target
                && site.is_own(url)
            {
                reference.target = ReferenceTarget::Own(site.keyer().key(url));
            }
        }
    }
}

/// Whether the words of `meta name=robots` say `noindex`.
fn says_noindex_in(words: &str) -> bool {
    words
        .split(',')
        .any(|word| matches!(word.trim(), "noindex" | "none"))
}

/// Whether a value of X-Robots-Tag says `noindex` to all crawlers.
fn says_noindex(value: &str) -> bool {
    says_noindex_in(&value.to_ascii_lowercase())
}

/// Hash of the first text; 0 where there is none.
fn text_hash(texts: &[Box<str>]) -> u64 {
    let first = texts.first();
    first.map_or(0, |text| xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}

impl HeadFacts {
    /// The first value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(field, _)| &**field == name);
        found.map(|(_, value)| &**value)
    }

    /// All values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self
            .fields
            .iter()
            .filter(move |(field, _)| &**field == name);
        fields.map(|(_, value)| &**value)
    }
}

/// What an HTML page says about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HtmlFacts {
    /// The `lang` of its root element.
    pub language: Option<Box<str>>,
    /// Its title elements outside of drawings, at most three, white space folded.
    pub titles: Vec<Box<str>>,
    /// Its descriptions, at most three.
    pub descriptions: Vec<Box<str>>,
    /// Its first-level headings: how many, and the words of the first.
    pub h1: (u32, Box<str>),
    /// The words of all its `meta name=robots`, lower-case.
    pub robots: Box<str>,
    /// The canonical URLs that it names.
    pub canonicals: Vec<CanonicalFact>,
    /// Its translations: `hreflang` and the URL, or the reference as written where it is none.
    pub translations: Vec<(Box<str>, NamedUrl)>,
    /// The encoding that it declares in its first 1,024 bytes.
    pub charset: Option<Box<str>>,
    /// Hashes of its ids and of the names of its anchors, sorted: see [`fragment_hash`].
    pub ids: Vec<u64>,
    /// Words that people can read.
    pub words: u32,
    /// Equal where the words are the same; 0 where there are none.
    pub exact: u64,
    /// `SimHash` of the words; 0 where there are none.
    pub near: u64,
    /// Bytes of inline scripts, those that are data left out.
    pub script_bytes: u32,
    /// Characters that stand for bytes that were none, and pairs that look encoded twice.
    pub garbled: u32,
    /// The page says `upgrade-insecure-requests` in a meta element.
    pub upgrades_insecure: bool,
    /// What stands in the page and may be wrong by itself, in the order of the page.
    pub marks: Vec<PageMark>,
}

/// A URL that a page names, or the reference as written where it is none.
pub type NamedUrl = Result<CrawlUrl, Box<str>>;

/// A canonical URL that a page names.
#[derive(Debug, Clone, PartialEq)]
pub struct CanonicalFact {
    /// The URL, or the reference as written where it is none.
    pub url: NamedUrl,
    /// Where it stands.
    pub place: CanonicalPlace,
    /// The byte of its element; 0 for one of the head of the response.
    pub byte: u32,
}

/// Where a canonical URL stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CanonicalPlace {
    /// In a Link field.
    Field,
    /// In `<head>`.
    Head,
    /// Elsewhere, where search engines pass over it.
    Body,
}

/// What a page refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct PageReference {
    /// How.
    pub kind: LinkKind,
    /// To what.
    pub target: ReferenceTarget,
    /// The fragment, if it is not empty.
    pub fragment: Option<Fragment>,
    /// The byte at which its element begins.
    pub byte: u32,
    /// The element says that findings about it are not wanted.
    pub ignored: bool,
}

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum ReferenceTarget {
    /// The page itself: a fragment alone.
    Itself,
    /// A URL of a host of the site, by its key in the job.
    Own(Key),
    /// A URL of another host.
    Foreign(CrawlUrl),
    /// A scheme that is not fetched, by its name.
    Scheme(Box<str>),
    /// No URL at all, as written, cut at 200 characters.
    Malformed(Box<str>),
}

/// A fragment that a reference names.
#[derive(Debug, Clone, PartialEq)]
pub enum Fragment {
    /// What an element should have as its id: [`fragment_hash`] of it as written, and decoded.
    Id(u64, u64),
    /// One that names no element: `top`, a text fragment, a route of a script, lines of a source.
    Other,
}

/// Something in a page that may be wrong by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMark {
    /// The id of the rule that reads it, one of [`MARKS`].
    pub rule: &'static str,
    /// The byte at which its element begins.
    pub byte: u32,
    /// What tells it apart from others of its kind: an id, a name, a value; cut at 200 characters.
    pub subject: Box<str>,
}

/// The hash of an id, by which fragments are compared. Case counts.
pub fn fragment_hash(id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(id.as_bytes())
}

/// The front of a text, so many characters at the most.
pub(crate) fn cut(text: &str, characters: usize) -> &str {
    // Most texts are short enough in any case.
    if text.len() <= characters {
        return text;
    }
    let end = text.char_indices().nth(characters);
    end.map_or(text, |(end, _)| &text[..end])
}

/// The facts of an answer that is at hand, for tests of rules.
#[cfg(test)]
pub(crate) fn facts_of_answer(
    keyer: &clewline_core::key::Keyer,
    record: &clewline_job::record::Record,
    answer: &clewline_job::pages::PageAnswer,
) -> FactRow {
    let wanted = reading::BodyUse::from_record(record);
    page::read_page(&page::PageInput::new(keyer, record, answer, wanted))
}
