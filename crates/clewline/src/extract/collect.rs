//! The references of one page, as written.
//!
//! Owns the bounds: how many distinct references are kept, how many bytes they may take, what is
//! dropped and counted instead. Resolves them once, at the end of the document, because a `base`
//! may come after the links. Refuses to know where a reference was found beyond its kind.
//! Invariant: memory is bounded by [`Bounds`], whatever the page holds.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use clewline_core::link::{Link, LinkKind};
use clewline_core::url::{CrawlUrl, HARD_LENGTH_LIMIT};
use encoding_rs::Encoding;
use url::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::charset;

/// Schemes that are so frequent and so long that they are counted and never stored.
const NEVER_FETCHED: [&str; 4] = ["data:", "javascript:", "mailto:", "tel:"];

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

    fn fingerprint(&self) -> u64 {
        let seed = self.kind as u64 | (self.against as u64) << 8;
        xxh3_64_with_seed(trim(&self.raw).as_bytes(), seed)
    }
}

/// References that were resolved, and the count of those that were not.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) links: Vec<Link>,
    pub(super) canonical: Option<CrawlUrl>,
    pub(super) dropped: u64,
    pub(super) other: u64,
}

/// Gathers distinct references up to its bounds.
#[derive(Debug)]
pub(super) struct Collector {
    bounds: Bounds,
    bytes: usize,
    known: HashMap<u64, usize>,
    references: Vec<Reference<'static>>,
    dropped: u64,
    other: u64,
}

impl Collector {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            bytes: 0,
            known: HashMap::new(),
            references: Vec::new(),
            dropped: 0,
            other: 0,
        }
    }

    /// Other bounds from here on, for content that may name more.
    pub(super) fn rebound(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// A plain reference.
    pub(super) fn add(&mut self, raw: &str, kind: LinkKind) {
        self.add_reference(Reference::new(raw, kind));
    }

    /// Takes a reference, unless it is known, points into its own page or exceeds the bounds.
    pub(super) fn add_reference(&mut self, reference: Reference<'_>) {
        let raw = trim(&reference.raw);
        if raw.is_empty() || raw.starts_with('#') {
            return;
        }
        if raw.len() > HARD_LENGTH_LIMIT || is_never_fetched(raw) {
            self.other += 1;
            return;
        }
        match self.known.entry(reference.fingerprint()) {
            Entry::Occupied(entry) => {
                let first = &mut self.references[*entry.get()];
                first.nofollow &= reference.nofollow;
                if first.lastmod.is_none() {
                    first.lastmod = reference.lastmod;
                }
            }
            Entry::Vacant(entry) => {
                let full = self.references.len() >= self.bounds.links
                    || self.bytes + raw.len() > self.bounds.bytes;
                if full {
                    self.dropped += 1;
                    return;
                }
                self.bytes += raw.len();
                entry.insert(self.references.len());
                let raw = Cow::Owned(raw.to_owned());
                self.references.push(Reference { raw, ..reference });
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
    pub(super) fn resolve(self, page: &Url, base: &Url, encoding: &'static Encoding) -> Resolved {
        let mut resolved = Resolved {
            dropped: self.dropped,
            other: self.other,
            ..Resolved::default()
        };
        let mut known: HashMap<u64, usize> = HashMap::with_capacity(self.references.len());
        let encode = query_encoder(encoding);
        let mut bytes = 0;
        for reference in self.references {
            // A long base makes much of little: 10,000 short references would take its length
            // each.
            if bytes > self.bounds.bytes {
                resolved.dropped += 1;
                continue;
            }
            let base = match reference.against {
                Against::Document => base,
                Against::Page => page,
            };
            let mut options = Url::options().base_url(Some(base));
            if reference.against == Against::Document && encoding != encoding_rs::UTF_8 {
                options = options.encoding_override(Some(&encode));
            }
            let url = options.parse(&reference.raw).ok();
            let Some(url) = url.and_then(|url| CrawlUrl::from_url(url).ok()) else {
                resolved.other += 1;
                continue;
            };
            if reference.kind == LinkKind::Canonical && resolved.canonical.is_none() {
                resolved.canonical = Some(url.clone());
            }
            let fingerprint = xxh3_64_with_seed(url.as_str().as_bytes(), reference.kind as u64);
            let link = Link {
                url,
                kind: reference.kind,
                nofollow: reference.nofollow,
                lastmod: reference.lastmod,
            };
            match known.entry(fingerprint) {
                Entry::Occupied(entry) => resolved.links[*entry.get()].nofollow &= link.nofollow,
                Entry::Vacant(entry) => {
                    bytes += link.url.as_str().len();
                    entry.insert(resolved.links.len());
                    resolved.links.push(link);
                }
            }
        }
        resolved
    }
}

/// Written as a function because the URL parser wants its answer to live as long as the query.
fn query_encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |query| Cow::Owned(charset::encode_query(encoding, query))
}

/// What the URL parser would strip from both ends anyway.
fn trim(raw: &str) -> &str {
    raw.trim_matches(|c: char| c <= ' ')
}

fn is_never_fetched(raw: &str) -> bool {
    NEVER_FETCHED.iter().any(|scheme| {
        raw.as_bytes()
            .get(..scheme.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes()))
    })
}
