//! What a page refers to: from the references as written to targets.
//!
//! Owns the resolving and the bounds. A `base` may come after the references, so all are resolved at
//! the end. What the crawler's extractor takes for a link of some kind is one here, too. It refuses to
//! know elements. Invariant: each target with its fragment and kind is told once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::url::{CrawlUrl, HARD_LENGTH_LIMIT, Scheme, with_two_slashes};
use clewline_job::charset::encode_query;
use encoding_rs::{Encoding, UTF_8};
use url::Url;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::fragment::fragment;
use super::spelling::{is_empty_mail, is_misspelt};
use super::{Fragment, MOST_REFERENCES, PageMark, PageReference, ReferenceTarget, cut};

/// Characters of a reference as written that are kept.
pub(super) const LONGEST_WRITTEN: usize = 200;

/// What a browser does with a reference of an `https` page that leads to an `http` URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mixed {
    /// Nothing is wrong with it: it is no part of the page.
    Fine,
    /// It is blocked.
    Active,
    /// It is loaded with a warning, or over https.
    Passive,
    /// What people type goes there in the clear.
    Form,
}

/// What a reference is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceBase {
    Document,
    /// The URL of the page itself, as of header fields.
    Page,
}

/// A reference as written.
#[derive(Debug, Clone)]
pub(super) struct WrittenReference<'a> {
    pub(super) raw: Cow<'a, str>,
    /// Nothing for the action of a form, which is no link.
    pub(super) kind: Option<LinkKind>,
    pub(super) mixed: Mixed,
    pub(super) against: ReferenceBase,
    pub(super) byte: u32,
    pub(super) ignored: bool,
}

/// Gathers references up to the bound.
#[derive(Debug, Default)]
pub(super) struct ReferenceDraft<'a> {
    written: Vec<WrittenReference<'a>>,
    known: HashMap<u64, usize>,
    pub(super) is_cut: bool,
    /// How many documents are around this one.
    pub(super) depth: u8,
}

impl<'a> ReferenceDraft<'a> {
    /// A draft for a document within this one.
    pub(super) fn within(&self) -> ReferenceDraft<'static> {
        ReferenceDraft {
            depth: self.depth + 1,
            ..ReferenceDraft::default()
        }
    }

    /// Takes what a document within the document names. Its canonical URL is not that of the page, and
    /// mere fragments are of its own elements.
    pub(super) fn adopt(&mut self, inner: ReferenceDraft<'_>) {
        self.is_cut |= inner.is_cut;
        for written in inner.written {
            let is_its_own =
                written.kind == Some(LinkKind::Canonical) || trim(&written.raw).starts_with('#');
            if !is_its_own {
                self.add(WrittenReference {
                    raw: Cow::Owned(written.raw.into_owned()),
                    ..written
                });
            }
        }
    }

    /// Takes a reference, unless the same was written before.
    pub(super) fn add(&mut self, reference: WrittenReference<'a>) {
        let raw = trim(&reference.raw);
        if raw.is_empty() || raw == "#" {
            return;
        }
        let kind = reference.kind.map_or(u64::MAX, |kind| kind as u64);
        let seed = kind << 8 | (reference.mixed as u64) << 4 | reference.against as u64;
        match self.known.entry(xxh3_64_with_seed(raw.as_bytes(), seed)) {
            Entry::Occupied(known) => self.written[*known.get()].ignored &= reference.ignored,
            Entry::Vacant(_) if self.written.len() >= MOST_REFERENCES => self.is_cut = true,
            Entry::Vacant(place) => {
                place.insert(self.written.len());
                self.written.push(reference);
            }
        }
    }

    /// Resolves everything.
    pub(super) fn resolve(
        self,
        resolver: &Resolver<'_>,
        marks: &mut Vec<PageMark>,
    ) -> Vec<PageReference> {
        let mut references: Vec<PageReference> = Vec::with_capacity(self.written.len());
        let mut known: HashMap<u64, usize> = HashMap::with_capacity(self.written.len());
        let mut room = String::with_capacity(256);
        for written in &self.written {
            let raw = trim(&written.raw);
            let (target, is_http) = resolver.target(raw, written.against, &mut room);
            if !written.ignored {
                marks.extend(resolver.marks(written, &target, is_http.then_some(room.as_str())));
            }
            let Some(kind) = written.kind else { continue };
            let fragment = raw.split_once('#').and_then(|(_, raw)| fragment(raw));
            match known.entry(identity(kind, &target, fragment.as_ref())) {
                Entry::Occupied(known) => references[*known.get()].ignored &= written.ignored,
                Entry::Vacant(place) => {
                    place.insert(references.len());
                    references.push(PageReference {
                        kind,
                        target,
                        fragment,
                        byte: written.byte,
                        ignored: written.ignored,
                    });
                }
            }
        }
        references
    }
}

/// What the URL parser would strip from both ends anyway.
fn trim(raw: &str) -> &str {
    raw.trim_matches(|c: char| c <= ' ')
}

/// A number that two references share only if they are the same.
fn identity(kind: LinkKind, target: &ReferenceTarget, fragment: Option<&Fragment>) -> u64 {
    let target = match target {
        ReferenceTarget::Itself => 1,
        ReferenceTarget::Own(key) => xxh3_64(key.as_bytes()),
        ReferenceTarget::Foreign(url) => xxh3_64_with_seed(url.as_str().as_bytes(), 1),
        ReferenceTarget::Scheme(text) => xxh3_64_with_seed(text.as_bytes(), 2),
        ReferenceTarget::Malformed(text) => xxh3_64_with_seed(text.as_bytes(), 3),
    };
    let fragment = match fragment {
        None => 0,
        Some(Fragment::Other) => 1,
        Some(Fragment::Id(raw, _)) => *raw,
    };
    xxh3_64_with_seed(&fragment.to_le_bytes(), target ^ kind as u64)
}

/// What references are resolved against.
#[derive(Debug)]
pub(super) struct Resolver<'p> {
    keyer: &'p Keyer,
    page: &'p CrawlUrl,
    key: Key,
    /// The base that the document names.
    base: Option<DocumentBase>,
    encoding: &'static Encoding,
}

/// A base that a document names, which may be of any scheme.
#[derive(Debug)]
struct DocumentBase {
    canonical: Option<CrawlUrl>,
    parsed: Url,
}

impl<'p> Resolver<'p> {
    pub(super) fn new(keyer: &'p Keyer, page: &'p CrawlUrl, key: Key) -> Self {
        Self {
            keyer,
            page,
            key,
            base: None,
            encoding: UTF_8,
        }
    }

    /// The same in a document with another encoding, which queries are written in.
    pub(super) fn with_encoding(mut self, encoding: &'static Encoding) -> Self {
        self.encoding = encoding.output_encoding();
        self
    }

    /// The first `base` with a reference counts, usable or not (HTML section 4.2.3).
    pub(super) fn set_base(&mut self, raw: &str) {
        let base = self.page.to_url().join(&with_two_slashes(trim(raw))).ok();
        let base = base.filter(|base| {
            !matches!(base.scheme(), "data" | "javascript")
                && !base.cannot_be_a_base()
                && base.as_str().len() <= HARD_LENGTH_LIMIT
        });
        self.base = base.map(|parsed| DocumentBase {
            canonical: CrawlUrl::from_url(parsed.clone()).ok(),
            parsed,
        });
    }

    /// Resolves a whole reference; as written where it is no http URL.
    pub(super) fn url(&self, raw: &str, against: ReferenceBase) -> Result<CrawlUrl, Box<str>> {
        let raw = trim(raw);
        let mut room = String::new();
        let joined = self.join(without_fragment(raw), against, &mut room);
        joined
            .map(|url| url.to_owned())
            .map_err(|_| cut(raw, LONGEST_WRITTEN).into())
    }

    /// What a reference leads to, and whether that is over http. The URL stands in the room.
    fn target(
        &self,
        raw: &str,
        against: ReferenceBase,
        room: &mut String,
    ) -> (ReferenceTarget, bool) {
        let written = || Box::from(cut(raw, LONGEST_WRITTEN));
        if raw.starts_with('#') {
            // Of a document with a base even a mere fragment is of that (HTML section 2.4.3).
            let base = self.base.as_ref().and_then(|base| base.canonical.as_ref());
            let base = base.filter(|base| *base != self.page);
            return match base {
                Some(base) => (self.place(base), false),
                None => (ReferenceTarget::Itself, false),
            };
        }
        if raw.len() > HARD_LENGTH_LIMIT {
            return (ReferenceTarget::Malformed(written()), false);
        }
        match self.join(without_fragment(raw), against, room) {
            Ok(url) => {
                let is_http = url.scheme() == Scheme::Http;
                (self.place(&url), is_http)
            }
            Err(Unfetched::Scheme(_)) if is_empty_mail(raw) => {
                (ReferenceTarget::Malformed(written()), false)
            }
            Err(Unfetched::Scheme(scheme)) => (ReferenceTarget::Scheme(scheme), false),
            Err(Unfetched::Invalid) => (ReferenceTarget::Malformed(written()), false),
        }
    }

    fn place<Text: std::ops::Deref<Target = str>>(&self, url: &CrawlUrl<Text>) -> ReferenceTarget {
        if url.host() == self.page.host() {
            return ReferenceTarget::Own(self.keyer.key_beside(url, self.key));
        }
        ReferenceTarget::Foreign(url.to_owned())
    }

    fn join<'r>(
        &self,
        raw: &str,
        against: ReferenceBase,
        room: &'r mut String,
    ) -> Result<CrawlUrl<&'r str>, Unfetched> {
        let base = self
            .base
            .as_ref()
            .filter(|_| against == ReferenceBase::Document);
        let canonical = match base {
            Some(base) => base.canonical.as_ref(),
            None => Some(self.page),
        };
        let room = match canonical {
            Some(base) => match base.join_plain_in(raw, room) {
                Ok(url) => return Ok(url),
                Err(room) => room,
            },
            None => room,
        };
        if let Some(scheme) = unfetched_scheme(raw) {
            return Err(Unfetched::Scheme(scheme.into()));
        }
        let parsed = match base {
            Some(base) => base.parsed.clone(),
            None => self.page.to_url(),
        };
        let encoding = match against {
            ReferenceBase::Document => self.encoding,
            ReferenceBase::Page => UTF_8,
        };
        let encode = query_encoder(encoding);
        let mut options = Url::options().base_url(Some(&parsed));
        if encoding != UTF_8 {
            options = options.encoding_override(Some(&encode));
        }
        let url = options.parse(&with_two_slashes(raw));
        let url = url.map_err(|_| Unfetched::Invalid)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unfetched::Scheme(cut(url.scheme(), 32).into()));
        }
        let url = CrawlUrl::from_url(url).map_err(|_| Unfetched::Invalid)?;
        Ok(url.moved(room))
    }

    /// What is wrong with a reference by itself. `over_http` is its URL where that is no https.
    fn marks(
        &self,
        written: &WrittenReference<'_>,
        target: &ReferenceTarget,
        over_http: Option<&str>,
    ) -> Vec<PageMark> {
        let raw = trim(&written.raw);
        let mut marks = Vec::new();
        let mut mark = |rule, subject: &str| {
            marks.push(PageMark {
                rule,
                byte: written.byte,
                subject: cut(subject, LONGEST_WRITTEN).into(),
            });
        };
        let is_fetched = matches!(
            target,
            ReferenceTarget::Own(_) | ReferenceTarget::Foreign(_)
        );
        let is_of_sheet = matches!(
            written.kind,
            Some(LinkKind::CssUrl | LinkKind::CssImport) | None
        );
        if is_fetched && !is_of_sheet && is_misspelt(raw) {
            mark("links/malformed", raw);
        }
        if let Some(url) = over_http
            && self.page.scheme() == Scheme::Https
        {
            match written.mixed {
                Mixed::Fine => {}
                Mixed::Active => mark("mixed/active", url),
                Mixed::Passive => mark("mixed/passive", url),
                Mixed::Form => mark("mixed/form", url),
            }
        }
        marks
    }
}

/// Why a reference is no URL that is fetched.
#[derive(Debug)]
enum Unfetched {
    Scheme(Box<str>),
    Invalid,
}

/// The scheme of what is written too often and too long to be parsed.
fn unfetched_scheme(raw: &str) -> Option<&'static str> {
    ["data", "javascript", "mailto", "tel"]
        .into_iter()
        .find(|scheme| {
            let head = raw.get(..scheme.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(scheme))
                && raw.as_bytes().get(scheme.len()) == Some(&b':')
        })
}

/// What is before the fragment. White space before it stays, as it is part of the URL there.
fn without_fragment(raw: &str) -> &str {
    match raw.find('#') {
        Some(at) if at > 0 && raw.as_bytes()[at - 1] > b' ' => &raw[..at],
        _ => raw,
    }
}

/// Written as a function because the URL parser wants its answer to live as long as the query.
fn query_encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |query| Cow::Owned(encode_query(encoding, query))
}
