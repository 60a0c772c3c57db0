//! The references of one page, as written.
//!
//! Owns the bounds: how many distinct references are kept, how many bytes they may take, what is
//! dropped and counted instead. Resolves them once, at the end of the document, because a `base`
//! may come after the links. Refuses to know where a reference was found beyond its kind.
//! Invariant: memory is bounded by [`Bounds`], whatever the page holds.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};

use clewline_core::link::{Link, LinkKind, Links};
use clewline_core::url::{CrawlUrl, HARD_LENGTH_LIMIT, with_two_slashes};
use clewline_html::css;
use clewline_html::find::find;
use clewline_job::charset::encode_query;
use encoding_rs::{Encoding, UTF_8};
use url::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Schemes that are so frequent and so long that they are counted and never stored.
const NEVER_FETCHED: [&str; 4] = ["data:", "javascript:", "mailto:", "tel:"];

/// Room that is made with the first reference of a page; most pages need no more.
const USUAL_REFERENCES: usize = 56;
const USUAL_BYTES: usize = 2048;

/// Room for a URL that is being resolved.
const USUAL_LENGTH: usize = 256;

/// What one page may cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Distinct references.
    pub(super) links: usize,
    /// Bytes of all references together, as written and again as resolved.
    pub(super) bytes: usize,
}

/// What a reference is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Against {
    /// The document's base.
    #[default]
    Document,
    /// The URL of the page itself: header fields know nothing of `base` (RFC 8288 section 3.2).
    Page,
}

/// How a text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TextEnding {
    /// By itself.
    #[default]
    Whole,
    /// Where it was cut off: what reaches up to there may be half of what was written.
    Cut,
}

/// One reference as it was written.
#[derive(Debug, Clone)]
pub(super) struct Reference<'a> {
    pub(super) raw: Cow<'a, str>,
    pub(super) kind: LinkKind,
    pub(super) against: Against,
    pub(super) nofollow: bool,
    pub(super) lastmod: Option<Box<str>>,
}

impl<'a> Reference<'a> {
    pub(super) fn new(raw: impl Into<Cow<'a, str>>, kind: LinkKind) -> Self {
        let against = Against::Document;
        Self {
            raw: raw.into(),
            kind,
            against,
            nofollow: false,
            lastmod: None,
        }
    }
}

/// References that were resolved, and the count of those that were not.
#[derive(Debug, Default)]
pub(super) struct ResolvedLinks {
    pub(super) links: Links,
    pub(super) canonical: Option<CrawlUrl>,
    pub(super) dropped: u64,
    pub(super) other: u64,
}

/// A reference that is kept; its text is among those of all.
#[derive(Debug)]
struct Kept {
    /// The bounds keep these below what a page may hold.
    start: u32,
    end: u32,
    kind: LinkKind,
    against: Against,
    nofollow: bool,
}

/// Places by fingerprint.
type Known = HashMap<u64, usize, BuildHasherDefault<Fingerprint>>;

/// A fingerprint is its own hash.
#[derive(Debug, Default)]
struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = fingerprint;
    }
}

/// Gathers distinct references up to its bounds.
#[derive(Debug)]
pub(super) struct Collector {
    bounds: Bounds,
    /// Differs from page to page, so that no page can be written whose fingerprints collide.
    seed: u64,
    known: Known,
    texts: String,
    references: Vec<Kept>,
    /// What only sitemaps say, by the place of the reference.
    lastmods: HashMap<usize, Box<str>>,
    dropped: u64,
    other: u64,
}

impl Collector {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            seed: RandomState::new().hash_one(0),
            known: Known::default(),
            texts: String::new(),
            references: Vec::new(),
            lastmods: HashMap::new(),
            dropped: 0,
            other: 0,
        }
    }

    /// Other bounds from here on, for content that may name more.
    pub(super) fn rebound(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// About how many bytes the references take.
    pub(super) fn held(&self) -> usize {
        self.texts.len()
            + self.references.len() * size_of::<(u64, usize, Kept)>()
            + self.lastmods.len() * size_of::<(usize, Box<str>)>()
    }

    /// A number of this page, for fingerprints that no page can foresee.
    pub(super) const fn seed(&self) -> u64 {
        self.seed
    }

    /// How many references were counted instead of kept.
    pub(super) const fn refused(&self) -> u64 {
        self.dropped + self.other
    }

    /// A plain reference.
    pub(super) fn add(&mut self, raw: &str, kind: LinkKind) {
        self.add_reference(Reference::new(raw, kind));
    }

    /// A collector with the same bounds, for a document within the document.
    pub(super) fn inner(&self) -> Self {
        Self::new(self.bounds)
    }

    /// Takes what a document within the document named, relative to that one's base, if it has one
    /// of its own. Its canonical URL is not that of the page.
    pub(super) fn adopt(&mut self, inner: &Self, base: Option<&Url>) {
        self.dropped += inner.dropped;
        self.other += inner.other;
        for reference in &inner.references {
            let raw = &inner.texts[reference.start as usize..reference.end as usize];
            let resolved = match base {
                Some(base) => base.join(&with_two_slashes(raw)).map(String::from),
                None => Ok(raw.to_owned()),
            };
            match resolved {
                Ok(_) if reference.kind == LinkKind::Canonical => {}
                Ok(raw) => self.add_reference(Reference {
                    nofollow: reference.nofollow,
                    ..Reference::new(raw, reference.kind)
                }),
                Err(_) => self.other += 1,
            }
        }
    }

    /// The references of a style sheet.
    pub(super) fn add_sheet(&mut self, sheet: &str, ending: TextEnding) {
        css::references(sheet, |reference| {
            if ending == TextEnding::Cut && reference.range.end == sheet.len() {
                return;
            }
            let kind = match reference.kind {
                css::ReferenceKind::Url => LinkKind::CssUrl,
                css::ReferenceKind::Import => LinkKind::CssImport,
            };
            self.add(&reference.value, kind);
        });
    }

    /// Takes a reference, unless it is known, points into its own page or exceeds the bounds.
    pub(super) fn add_reference(&mut self, reference: Reference<'_>) {
        let raw = without_fragment(trim(&reference.raw));
        if raw.is_empty() || raw.starts_with('#') {
            return;
        }
        if raw.len() > HARD_LENGTH_LIMIT || is_never_fetched(raw) {
            self.other += 1;
            return;
        }
        if self.references.is_empty() {
            self.known.reserve(USUAL_REFERENCES);
            self.texts.reserve(USUAL_BYTES);
            self.references.reserve(USUAL_REFERENCES);
        }
        let seed = self.seed ^ (reference.kind as u64 | (reference.against as u64) << 8);
        match self.known.entry(xxh3_64_with_seed(raw.as_bytes(), seed)) {
            Entry::Occupied(entry) => {
                let first = *entry.get();
                self.references[first].nofollow &= reference.nofollow;
                if let Some(lastmod) = reference.lastmod {
                    self.lastmods.entry(first).or_insert(lastmod);
                }
            }
            Entry::Vacant(entry) => {
                let start = self.texts.len();
                let is_full = self.references.len() >= self.bounds.links
                    || start + raw.len() > self.bounds.bytes;
                if is_full {
                    self.dropped += 1;
                    return;
                }
                entry.insert(self.references.len());
                if let Some(lastmod) = reference.lastmod {
                    self.lastmods.insert(self.references.len(), lastmod);
                }
                self.texts.push_str(raw);
                self.references.push(Kept {
                    start: start as u32,
                    end: self.texts.len() as u32,
                    kind: reference.kind,
                    against: reference.against,
                    nofollow: reference.nofollow,
                });
            }
        }
    }

    /// Counts a reference that leads nowhere.
    pub(super) fn count_other(&mut self) {
        self.other += 1;
    }

    /// Counts a reference that is beyond a limit of its own format.
    pub(super) fn count_dropped(&mut self) {
        self.dropped += 1;
    }

    /// How many distinct references there are.
    pub(super) fn len(&self) -> usize {
        self.references.len()
    }

    /// Resolves everything; links that come out equal are one link.
    pub(super) fn resolve(
        self,
        page: &CrawlUrl,
        base: Option<Url>,
        encoding: &'static Encoding,
    ) -> ResolvedLinks {
        let mut resolved = ResolvedLinks {
            links: Links::with_capacity(self.references.len(), USUAL_BYTES),
            dropped: self.dropped,
            other: self.other,
            ..ResolvedLinks::default()
        };
        let mut known = self.known;
        known.clear();
        let page = Base::page(page);
        let base = base.map(Base::document);
        let mut room = String::with_capacity(USUAL_LENGTH);
        for (place, reference) in self.references.iter().enumerate() {
            // A long base makes much of little: 10,000 short references would take its length
            // each.
            if resolved.links.text_bytes() > self.bounds.bytes {
                resolved.dropped += 1;
                continue;
            }
            let raw = &self.texts[reference.start as usize..reference.end as usize];
            let (base, encoding) = match reference.against {
                Against::Document => (base.as_ref().unwrap_or(&page), encoding),
                Against::Page => (&page, UTF_8),
            };
            let Some(url) = base.resolve(raw, encoding, &mut room) else {
                resolved.other += 1;
                continue;
            };
            if reference.kind == LinkKind::Canonical && resolved.canonical.is_none() {
                resolved.canonical = Some(url.to_owned());
            }
            let seed = self.seed ^ reference.kind as u64;
            match known.entry(xxh3_64_with_seed(url.as_str().as_bytes(), seed)) {
                Entry::Occupied(entry) => {
                    resolved.links.named_again(*entry.get(), reference.nofollow);
                }
                Entry::Vacant(entry) => {
                    entry.insert(resolved.links.len());
                    resolved.links.push(Link {
                        url,
                        kind: reference.kind,
                        nofollow: reference.nofollow,
                        lastmod: self.lastmods.get(&place).map(|lastmod| &**lastmod),
                    });
                }
            }
        }
        resolved
    }
}

/// A base in the two forms that are needed: most references can be resolved without the
/// parser's own, which is made when the first needs it.
struct Base<'p> {
    canonical: Option<Cow<'p, CrawlUrl>>,
    parsed: OnceCell<Url>,
}

impl<'p> Base<'p> {
    fn page(page: &'p CrawlUrl) -> Self {
        Self {
            canonical: Some(Cow::Borrowed(page)),
            parsed: OnceCell::new(),
        }
    }

    /// What a document names may be of any scheme.
    fn document(base: Url) -> Self {
        Self {
            canonical: CrawlUrl::from_url(base.clone()).ok().map(Cow::Owned),
            parsed: OnceCell::from(base),
        }
    }

    /// Resolves a reference; its text stands in the room that is given.
    fn resolve<'a>(
        &self,
        raw: &str,
        encoding: &'static Encoding,
        room: &'a mut String,
    ) -> Option<CrawlUrl<&'a str>> {
        let canonical = self.canonical.as_deref();
        let room = match canonical {
            Some(base) => match base.join_plain_in(raw, room) {
                Ok(url) => return Some(url),
                Err(room) => room,
            },
            None => room,
        };
        let base = self.parsed.get_or_init(|| {
            canonical
                .expect("a base that was not parsed is canonical")
                .to_url()
        });
        let encode = query_encoder(encoding);
        let mut options = Url::options().base_url(Some(base));
        if encoding != UTF_8 {
            options = options.encoding_override(Some(&encode));
        }
        let url = options.parse(&with_two_slashes(raw)).ok()?;
        CrawlUrl::from_url(url).ok().map(|url| url.moved(room))
    }
}

/// Written as a function because the URL parser wants its answer to live as long as the query.
fn query_encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |query| Cow::Owned(encode_query(encoding, query))
}

/// What the URL parser would strip from both ends anyway.
fn trim(raw: &str) -> &str {
    raw.trim_matches(|c: char| c <= ' ')
}

/// What is before the fragment, by which no two links differ. White space before it stays: at
/// the end it would be stripped, but before a fragment it is part of the URL.
fn without_fragment(raw: &str) -> &str {
    match find(b'#', raw.as_bytes()) {
        Some(at) if at > 0 && raw.as_bytes()[at - 1] > b' ' => &raw[..at],
        _ => raw,
    }
}

fn is_never_fetched(raw: &str) -> bool {
    // Nearly all references are told by the absence of a colon where these have theirs.
    let longest = "javascript:".len();
    let head = &raw.as_bytes()[..raw.len().min(longest)];
    head.contains(&b':')
        && NEVER_FETCHED.iter().any(|scheme| {
            raw.as_bytes()
                .get(..scheme.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes()))
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[rustfmt::skip]
    const PIECES: [&str; 18] = [
        "a", "b/", "..", "#", "#", "?", " ", "\t", "\n", "\\", "/", ":", "http://x.test", "@", "é",
        "%", "data:", "c d",
    ];

    /// The page's URL, and one that has a query and credentials to lose.
    const BASES: [&str; 2] = ["http://h.test/d/p", "http://u:p@h.test/d/p?q#f"];

    fn without(url: Url) -> Option<CrawlUrl> {
        CrawlUrl::from_url(url).ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn a_fragment_changes_nothing(
            base in proptest::sample::select(&BASES[..]),
            pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 1..7),
        ) {
            let base = Url::parse(base).unwrap();
            let raw = pieces.concat();
            let raw = trim(&raw);
            let whole = base.join(&with_two_slashes(raw)).ok().and_then(without);
            let short = without_fragment(raw);
            prop_assert_eq!(&base.join(&with_two_slashes(short)).ok().and_then(without), &whole);
            let mut room = String::new();
            let resolved = Base::document(base).resolve(short, UTF_8, &mut room);
            prop_assert_eq!(resolved.map(|url| url.to_owned()), whole);
        }
    }
}
