//! One pass over a page.
//!
//! Owns the order of reading: the head of the answer, then each token of the body once, handed to
//! whoever gathers something. It refuses to know what they gather. Invariant: time is linear in the
//! page, whatever stands in it.

use clewline_core::key::Keyer;
use clewline_core::link::field::{HeaderLink, each_link};
use clewline_core::link::{LinkKind, relation};
use clewline_core::url::CrawlUrl;
use clewline_html::references::decoded_text;
use clewline_html::{MarkupToken, Name, Tokens, refresh};
use clewline_job::charset::{named, text_of};
use clewline_job::pages::PageAnswer;
use clewline_job::record::Record;
use clewline_warc::http::HttpHead;

use super::a11y::AccessibilityDraft;
use super::document::DocumentDraft;
use super::element::{self, Element};
use super::head::{field_text, head_facts};
use super::reading::{BodyUse, MOST_BODY};
use super::references::{Mixed, ReferenceBase, ReferenceDraft, Resolver, WrittenReference};
use super::words::WordDraft;
use super::{FactRow, MOST_MARKS, links};

/// Links of the fields of a response that are read.
const MOST_FIELD_LINKS: usize = 1_000;

/// A page to be read.
#[derive(Debug)]
pub(super) struct PageInput<'a> {
    keyer: &'a Keyer,
    record: &'a Record,
    answer: &'a PageAnswer,
    wanted: BodyUse,
}

impl<'a> PageInput<'a> {
    pub(super) const fn new(
        keyer: &'a Keyer,
        record: &'a Record,
        answer: &'a PageAnswer,
        wanted: BodyUse,
    ) -> Self {
        Self {
            keyer,
            record,
            answer,
            wanted,
        }
    }
}

/// Reads a page.
pub(super) fn read_page(input: &PageInput<'_>) -> FactRow {
    let record = input.record;
    // What a browser made of a page is what its visitors see.
    let (body, charset) = match &input.answer.rendered {
        Some(dom) => (dom, Some("utf-8")),
        None => (&input.answer.body, record.charset.as_deref()),
    };
    let text = match input.wanted {
        BodyUse::Html | BodyUse::Sheet => text_of(body, charset),
        BodyUse::Head | BodyUse::Nothing => "".into(),
    };
    let mut pass = PagePass::default();
    pass.fields(&input.answer.head);
    let is_html = input.wanted == BodyUse::Html && looks_like_html(record, &text);
    if is_html {
        pass.html(&text);
    } else if input.wanted == BodyUse::Sheet {
        links::add_sheet(&text, 0, false, &mut pass.references);
    }
    let resolver = Resolver::new(input.keyer, &record.url, record.key);
    let resolver = resolver.with_encoding(named(charset));
    let mut facts = pass.finish(resolver, is_html);
    facts.is_cut |= record.truncated || body.len() as u64 >= MOST_BODY;
    facts.head = head_facts(&input.answer.head);
    (facts.body_bytes, facts.sent_bytes) = sizes(input.answer);
    facts
}

/// Bytes of a body after decoding and as it was sent. A body that was not read has what its head says.
fn sizes(answer: &PageAnswer) -> (u64, u64) {
    let head = HttpHead::parse(&answer.head);
    let length = head.all("content-length").next().map(field_text);
    let said: Option<u64> = length.and_then(|text| text.trim().parse().ok());
    let read = answer.body.len() as u64;
    if read == 0 {
        return (said.unwrap_or(0), said.unwrap_or(0));
    }
    (read, said.unwrap_or(read))
}

/// The facts of an HTML text that came without an answer, such as a file; its keys are made with this
/// keyer.
pub fn of_text(keyer: &Keyer, url: &CrawlUrl, text: &str) -> FactRow {
    let mut pass = PagePass::default();
    pass.html(text);
    pass.finish(Resolver::new(keyer, url, keyer.key(url)), true)
}

/// Whether a body without a type is HTML.
fn looks_like_html(record: &Record, text: &str) -> bool {
    record.content_type.is_some() || text.trim_start().starts_with('<')
}

/// Everything that is gathered.
#[derive(Default)]
struct PagePass<'a> {
    references: ReferenceDraft<'a>,
    document: DocumentDraft,
    words: WordDraft,
    accessibility: AccessibilityDraft,
}

impl<'a> PagePass<'a> {
    /// The links of the fields of a response.
    fn fields(&mut self, head: &[u8]) {
        let head = HttpHead::parse(head);
        let mut left = MOST_FIELD_LINKS;
        for value in head.all("link") {
            each_link(&field_text(value), |link| {
                if left > 0 {
                    left -= 1;
                    self.field_link(&link);
                }
            });
        }
        let value = head.all("refresh").next().map(field_text);
        let value = value.unwrap_or_default();
        if let Some(place) = refresh::target(&value) {
            self.field_reference(&value[place], LinkKind::Refresh, Mixed::Fine);
        }
    }

    fn field_link(&mut self, link: &HeaderLink<'_>) {
        // An anchor makes another resource the one that links (RFC 8288 section 3.2).
        let Some(relations) = link.relations.as_deref().filter(|_| !link.has_anchor) else {
            return;
        };
        let Some(kind) = relation::kind(relations, link.destination.as_deref()) else {
            return;
        };
        if kind == LinkKind::Canonical {
            self.document.canonical_field(link.target);
        } else if kind == LinkKind::Alternate
            && let Some(language) = &link.language
        {
            self.document.translation_field(language, link.target);
        }
        self.field_reference(link.target, kind, links::mixed_of(kind));
    }

    fn field_reference(&mut self, raw: &str, kind: LinkKind, mixed: Mixed) {
        self.references.add(WrittenReference {
            raw: raw.to_owned().into(),
            kind: Some(kind),
            mixed,
            against: ReferenceBase::Page,
            byte: 0,
            ignored: false,
        });
    }

    fn html(&mut self, text: &'a str) {
        let mut tokens = Tokens::new(text);
        let mut room = Vec::new();
        let mut style = (0, false);
        while let Some(token) = tokens.next() {
            match token {
                MarkupToken::Start(name, attributes) => {
                    element::list(attributes, &mut room);
                    let element = Element {
                        name,
                        namespace: tokens.namespace(),
                        byte: u32::try_from(tokens.begun()).unwrap_or(u32::MAX),
                        is_self_closing: attributes.is_self_closing(),
                        attributes: &room,
                    };
                    if name == Name::STYLE {
                        style = (element.byte, element.is_ignored());
                    }
                    links::add(&element, &mut self.references);
                    self.document.start(&element);
                    self.words.start(&element);
                    self.accessibility.start(&element);
                }
                MarkupToken::End(name) => {
                    self.document.end(name);
                    self.words.end(name);
                    self.accessibility.end(name);
                }
                MarkupToken::Text(text) => {
                    let text = decoded_text(text);
                    self.document.text(&text);
                    self.words.text(&text);
                    self.accessibility.text(&text);
                }
                MarkupToken::Raw(name, text) => {
                    if name == Name::STYLE {
                        links::add_sheet(text, style.0, style.1, &mut self.references);
                    }
                    self.document.raw(name, text);
                    self.accessibility.raw(name, text);
                }
            }
        }
    }

    /// Resolves what was gathered.
    fn finish(self, mut resolver: Resolver<'_>, is_html: bool) -> FactRow {
        if let Some(base) = &self.document.base {
            resolver.set_base(base);
        }
        let is_cut = self.references.is_cut || self.document.is_cut;
        let mut marks = if is_html {
            self.accessibility.finish()
        } else {
            Vec::new()
        };
        let references = self.references.resolve(&resolver, &mut marks);
        let mut html = self.document.finish(&resolver);
        self.words.finish(&mut html);
        html.marks.append(&mut marks);
        html.marks.sort_by_key(|mark| mark.byte);
        html.marks.truncate(MOST_MARKS);
        FactRow {
            is_cut,
            html: is_html.then_some(html),
            references,
            ..FactRow::default()
        }
    }
}
