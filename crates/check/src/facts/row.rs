//! One row of the file of facts.
//!
//! Owns how the facts of a page become bytes and bytes facts. A row begins with what is asked of it
//! most: what it was made of, what the table takes, the ids and the references; the rest is read only
//! for whoever wants all. It refuses to know the file. Invariant: what is read is what was written, or
//! nothing; bytes of anybody cost no more than their length.

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use clewline_job::log::links::push_varint;

use super::bytes::{RowCursor, folded, push_hash, push_text, unfolded};
use super::{
    CanonicalFact, CanonicalPlace, FactRow, FactsSummary, Fragment, HeadFacts, HtmlFacts, MARKS,
    PageMark, PageReference, ReferenceTarget,
};
use crate::site::RowFlags;

/// What a row was made of: as long as these are the same, it need not be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowOrigin {
    pub(crate) key: Key,
    /// Hash of the record: with the same record nothing need be read at all.
    pub(crate) record: u64,
    /// Hash of what the body is and how it is read: with the same body the head alone is read. 0
    /// where no answer was read.
    pub(crate) body: u64,
    /// Hash of what is kept of the head that came with it.
    pub(crate) head: u64,
}

/// Bytes of a key.
const KEY: usize = 16;
/// The half of a key that is its host.
const HOST: usize = 8;

const TARGET: u8 = 0b111;
const ITSELF: u8 = 0;
const OWN: u8 = 1;
const ELSEWHERE: u8 = 2;
const FOREIGN: u8 = 3;
const SCHEME: u8 = 4;
const MALFORMED: u8 = 5;
const FRAGMENT: u8 = 0b11 << 3;
const ONE_ID: u8 = 1 << 3;
const TWO_IDS: u8 = 2 << 3;
const OTHER: u8 = 3 << 3;
const IGNORED: u8 = 1 << 5;

/// Appends a row.
pub(crate) fn encode(origin: RowOrigin, url: &CrawlUrl, facts: &FactRow, out: &mut Vec<u8>) {
    out.extend_from_slice(origin.key.as_bytes());
    push_hash(origin.record, out);
    push_hash(origin.body, out);
    push_hash(origin.head, out);
    let summary = facts.summary(url);
    out.push(summary.flags.bits());
    for hash in [
        summary.title,
        summary.description,
        summary.exact,
        summary.near,
    ] {
        push_hash(hash, out);
    }
    push_varint(summary.body_bytes, out);
    push_varint(summary.sent_bytes, out);
    let ids = facts.html.as_ref().map_or(&[][..], |html| &html.ids);
    push_varint(ids.len() as u64, out);
    for id in ids {
        push_hash(*id, out);
    }
    let mut part = Vec::new();
    encode_references(origin.key, &facts.references, &mut part);
    push_part(&part, out);
    part.clear();
    encode_head(&facts.head, &mut part);
    push_part(&part, out);
    if let Some(html) = &facts.html {
        encode_html(html, out);
    }
}

fn push_part(part: &[u8], out: &mut Vec<u8>) {
    push_varint(part.len() as u64, out);
    out.extend_from_slice(part);
}

/// A row, its parts not read yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowParts<'a> {
    pub(crate) origin: RowOrigin,
    pub(crate) summary: FactsSummary,
    ids: &'a [u8],
    references: RowCursor<'a>,
    head: RowCursor<'a>,
    html: RowCursor<'a>,
}

impl<'a> RowParts<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = RowCursor(bytes);
        let origin = RowOrigin {
            key: key(&mut cursor)?,
            record: cursor.hash()?,
            body: cursor.hash()?,
            head: cursor.hash()?,
        };
        let summary = FactsSummary {
            flags: RowFlags::from_bits(cursor.byte()?),
            title: cursor.hash()?,
            description: cursor.hash()?,
            exact: cursor.hash()?,
            near: cursor.hash()?,
            body_bytes: cursor.number()?,
            sent_bytes: cursor.number()?,
        };
        let count = cursor.count()?;
        Some(Self {
            origin,
            summary,
            ids: cursor.take(count.checked_mul(8)?)?,
            references: cursor.part()?,
            head: cursor.part()?,
            html: cursor,
        })
    }

    /// The sorted hashes of ids.
    pub(crate) fn ids(&self) -> Vec<u64> {
        let chunks = self.ids.as_chunks::<8>().0.iter();
        chunks.map(|bytes| u64::from_le_bytes(*bytes)).collect()
    }

    /// Hands on what the references lead to: by key, and by URL where it is of another host.
    pub(crate) fn targets(
        &self,
        mut own: impl FnMut(Key, LinkKind),
        mut foreign: impl FnMut(&str, LinkKind),
    ) -> Option<()> {
        let mut cursor = self.references;
        let mut byte = 0;
        while !cursor.0.is_empty() {
            let (kind, tags) = (cursor.byte()?, cursor.byte()?);
            let _ = offset(&mut cursor, &mut byte)?;
            let kind = LinkKind::from_number(kind)?;
            match tags & TARGET {
                OWN => own(beside(self.origin.key, &mut cursor)?, kind),
                ELSEWHERE => own(key(&mut cursor)?, kind),
                FOREIGN => foreign(cursor.text()?, kind),
                ITSELF => {}
                _ => drop(cursor.part()?),
            }
            pass_fragment(tags, &mut cursor)?;
        }
        Some(())
    }

    /// Hands on the references to other hosts that nobody asked to leave out.
    pub(crate) fn foreign(&self, mut each: impl FnMut(&str, Option<Fragment>)) -> Option<()> {
        let mut cursor = self.references;
        let mut byte = 0;
        while !cursor.0.is_empty() {
            let (_, tags) = (cursor.byte()?, cursor.byte()?);
            let _ = offset(&mut cursor, &mut byte)?;
            let foreign = match tags & TARGET {
                OWN => cursor.take(KEY - HOST).map(|_| None)?,
                ELSEWHERE => cursor.take(KEY).map(|_| None)?,
                FOREIGN => Some(cursor.text()?),
                ITSELF => None,
                _ => cursor.part().map(|_| None)?,
            };
            match foreign.filter(|_| tags & IGNORED == 0) {
                Some(url) => each(url, fragment(tags, &mut cursor)?),
                None => pass_fragment(tags, &mut cursor)?,
            }
        }
        Some(())
    }

    /// All facts.
    pub(crate) fn facts(&self) -> Option<FactRow> {
        let flags = self.summary.flags;
        let html = flags
            .has(RowFlags::HTML)
            .then(|| self.html_facts())
            .map_or(Some(None), |html| html.map(Some))?;
        Some(FactRow {
            is_cut: flags.has(RowFlags::CUT),
            is_unread: flags.has(RowFlags::UNREAD),
            body_bytes: self.summary.body_bytes,
            sent_bytes: self.summary.sent_bytes,
            head: decode_head(self.head)?,
            html,
            references: self.references()?,
        })
    }

    fn html_facts(&self) -> Option<HtmlFacts> {
        let mut html = decode_html(self.html)?;
        html.ids = self.ids();
        html.exact = self.summary.exact;
        html.near = self.summary.near;
        Some(html)
    }

    fn references(&self) -> Option<Vec<PageReference>> {
        let mut cursor = self.references;
        let mut references = Vec::new();
        let mut byte = 0;
        while !cursor.0.is_empty() {
            let (kind, tags) = (cursor.byte()?, cursor.byte()?);
            let byte = offset(&mut cursor, &mut byte)?;
            let target = match tags & TARGET {
                ITSELF => ReferenceTarget::Itself,
                OWN => ReferenceTarget::Own(beside(self.origin.key, &mut cursor)?),
                ELSEWHERE => ReferenceTarget::Own(key(&mut cursor)?),
                FOREIGN => ReferenceTarget::Foreign(CrawlUrl::parse(cursor.text()?).ok()?),
                SCHEME => ReferenceTarget::Scheme(cursor.owned()?),
                MALFORMED => ReferenceTarget::Malformed(cursor.owned()?),
                _ => return None,
            };
            references.push(PageReference {
                kind: LinkKind::from_number(kind)?,
                target,
                fragment: fragment(tags, &mut cursor)?,
                byte,
                ignored: tags & IGNORED != 0,
            });
        }
        Some(references)
    }
}

#[expect(
    clippy::option_option,
    reason = "the outer says whether the bytes can be read"
)]
fn fragment(tags: u8, cursor: &mut RowCursor<'_>) -> Option<Option<Fragment>> {
    Some(match tags & FRAGMENT {
        ONE_ID => {
            let id = cursor.hash()?;
            Some(Fragment::Id(id, id))
        }
        TWO_IDS => Some(Fragment::Id(cursor.hash()?, cursor.hash()?)),
        OTHER => Some(Fragment::Other),
        _ => None,
    })
}

fn pass_fragment(tags: u8, cursor: &mut RowCursor<'_>) -> Option<()> {
    let bytes = match tags & FRAGMENT {
        ONE_ID => 8,
        TWO_IDS => 16,
        _ => 0,
    };
    cursor.take(bytes).map(drop)
}

fn key(cursor: &mut RowCursor<'_>) -> Option<Key> {
    let bytes = cursor.take(KEY)?.try_into().ok()?;
    Some(Key::from_bytes(bytes))
}

/// A key on the host of another.
fn beside(other: Key, cursor: &mut RowCursor<'_>) -> Option<Key> {
    let mut bytes = *other.as_bytes();
    bytes[HOST..].copy_from_slice(cursor.take(KEY - HOST)?);
    Some(Key::from_bytes(bytes))
}

fn offset(cursor: &mut RowCursor<'_>, before: &mut u32) -> Option<u32> {
    let moved = i64::from(*before).checked_add(unfolded(cursor.number()?))?;
    *before = u32::try_from(moved).ok()?;
    Some(*before)
}

fn push_offset(byte: u32, before: &mut u32, out: &mut Vec<u8>) {
    push_varint(folded(i64::from(byte) - i64::from(*before)), out);
    *before = byte;
}

fn encode_references(page: Key, references: &[PageReference], out: &mut Vec<u8>) {
    let mut before = 0;
    for reference in references {
        let is_here = |key: &Key| key.host() == page.host();
        let target = match &reference.target {
            ReferenceTarget::Itself => ITSELF,
            ReferenceTarget::Own(key) if is_here(key) => OWN,
            ReferenceTarget::Own(_) => ELSEWHERE,
            ReferenceTarget::Foreign(_) => FOREIGN,
            ReferenceTarget::Scheme(_) => SCHEME,
            ReferenceTarget::Malformed(_) => MALFORMED,
        };
        let fragment = match reference.fragment {
            None => 0,
            Some(Fragment::Id(raw, decoded)) if raw == decoded => ONE_ID,
            Some(Fragment::Id(..)) => TWO_IDS,
            Some(Fragment::Other) => OTHER,
        };
        out.push(reference.kind as u8);
        out.push(target | fragment | if reference.ignored { IGNORED } else { 0 });
        push_offset(reference.byte, &mut before, out);
        match &reference.target {
            ReferenceTarget::Itself => {}
            ReferenceTarget::Own(key) if is_here(key) => {
                out.extend_from_slice(&key.as_bytes()[HOST..]);
            }
            ReferenceTarget::Own(key) => out.extend_from_slice(key.as_bytes()),
            ReferenceTarget::Foreign(url) => push_text(url.as_str(), out),
            ReferenceTarget::Scheme(text) | ReferenceTarget::Malformed(text) => {
                push_text(text, out);
            }
        }
        if let Some(Fragment::Id(raw, decoded)) = reference.fragment {
            push_hash(raw, out);
            if raw != decoded {
                push_hash(decoded, out);
            }
        }
    }
}

fn encode_head(head: &HeadFacts, out: &mut Vec<u8>) {
    for (name, value) in &head.fields {
        push_text(name, out);
        push_text(value, out);
    }
}

fn decode_head(mut cursor: RowCursor<'_>) -> Option<HeadFacts> {
    let mut fields = Vec::new();
    while !cursor.0.is_empty() {
        fields.push((cursor.owned()?, cursor.owned()?));
    }
    Some(HeadFacts { fields })
}

fn encode_html(html: &HtmlFacts, out: &mut Vec<u8>) {
    push_optional(html.language.as_deref(), out);
    push_optional(html.charset.as_deref(), out);
    for texts in [&html.titles, &html.descriptions] {
        push_varint(texts.len() as u64, out);
        for text in texts {
            push_text(text, out);
        }
    }
    push_varint(html.h1.0.into(), out);
    push_text(&html.h1.1, out);
    push_text(&html.robots, out);
    push_varint(html.canonicals.len() as u64, out);
    for canonical in &html.canonicals {
        out.push(canonical.place as u8);
        push_varint(canonical.byte.into(), out);
        push_url(&canonical.url, out);
    }
    push_varint(html.translations.len() as u64, out);
    for (language, url) in &html.translations {
        push_text(language, out);
        push_url(url, out);
    }
    for number in [html.words, html.script_bytes, html.garbled] {
        push_varint(number.into(), out);
    }
    out.push(html.upgrades_insecure.into());
    push_varint(html.marks.len() as u64, out);
    let mut before = 0;
    for mark in &html.marks {
        let rule = MARKS.iter().position(|rule| *rule == mark.rule);
        out.push(rule.expect("marks are made for the rules of the list") as u8);
        push_offset(mark.byte, &mut before, out);
        push_text(&mark.subject, out);
    }
}

fn decode_html(mut cursor: RowCursor<'_>) -> Option<HtmlFacts> {
    let mut html = HtmlFacts {
        language: optional(&mut cursor)?,
        charset: optional(&mut cursor)?,
        titles: texts(&mut cursor)?,
        descriptions: texts(&mut cursor)?,
        h1: (cursor.small()?, cursor.owned()?),
        robots: cursor.owned()?,
        ..HtmlFacts::default()
    };
    for _ in 0..cursor.count()? {
        let place = match cursor.byte()? {
            0 => CanonicalPlace::Field,
            1 => CanonicalPlace::Head,
            2 => CanonicalPlace::Body,
            _ => return None,
        };
        let byte = cursor.small()?;
        let url = url(&mut cursor)?;
        html.canonicals.push(CanonicalFact { url, place, byte });
    }
    for _ in 0..cursor.count()? {
        let language = cursor.owned()?;
        html.translations.push((language, url(&mut cursor)?));
    }
    html.words = cursor.small()?;
    html.script_bytes = cursor.small()?;
    html.garbled = cursor.small()?;
    html.upgrades_insecure = cursor.byte()? != 0;
    let mut before = 0;
    for _ in 0..cursor.count()? {
        let rule = MARKS.get(usize::from(cursor.byte()?))?;
        let byte = offset(&mut cursor, &mut before)?;
        let subject = cursor.owned()?;
        html.marks.push(PageMark {
            rule,
            byte,
            subject,
        });
    }
    Some(html)
}

fn push_optional(text: Option<&str>, out: &mut Vec<u8>) {
    out.push(text.is_some().into());
    if let Some(text) = text {
        push_text(text, out);
    }
}

#[expect(
    clippy::option_option,
    reason = "the outer says whether the bytes can be read"
)]
fn optional(cursor: &mut RowCursor<'_>) -> Option<Option<Box<str>>> {
    match cursor.byte()? {
        0 => Some(None),
        _ => cursor.owned().map(Some),
    }
}

fn texts(cursor: &mut RowCursor<'_>) -> Option<Vec<Box<str>>> {
    (0..cursor.count()?).map(|_| cursor.owned()).collect()
}

fn push_url(url: &Result<CrawlUrl, Box<str>>, out: &mut Vec<u8>) {
    out.push(url.is_ok().into());
    match url {
        Ok(url) => push_text(url.as_str(), out),
        Err(raw) => push_text(raw, out),
    }
}

fn url(cursor: &mut RowCursor<'_>) -> Option<Result<CrawlUrl, Box<str>>> {
    match cursor.byte()? {
        0 => cursor.owned().map(Err),
        _ => CrawlUrl::parse(cursor.text()?).ok().map(Ok),
    }
}
