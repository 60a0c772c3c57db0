//! XML, leniently.
//!
//! Owns the walk over a document's elements and text, XHTML, and the plain rule for XML that
//! nobody knows: an `href` is a link. Refuses to expand entities beyond the five of XML itself
//! and numeric ones, and to read a DTD. Invariant: linear; a document that breaks off has told
//! what stands before the break.

use std::borrow::Cow;

use clewline_core::link::LinkKind;
use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesPI, BytesStart, Event};

use super::collect::Collector;
use super::element::{Attributes, Findings};
use super::tokenizer::{Attribute as Wanted, Name};

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// At the end of the document.
    Whole,
    /// At the end of a document whose elements do not match up.
    Uneven,
    /// Where the document is no XML any more.
    Broken,
}

/// An element's start tag.
pub(super) struct StartTag<'a, 'b>(&'a BytesStart<'b>);

impl StartTag<'_, '_> {
    /// The value of the attribute of this name, prefix and all, in any case.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        self.find(|found| found.eq_ignore_ascii_case(name))
    }

    /// The value of the first attribute of this name, whatever its prefix.
    fn attribute_of_any_namespace(&self, name: &str) -> Option<String> {
        self.find(|found| local(found).eq_ignore_ascii_case(name))
    }

    /// Duplicates are not checked for, which would cost the square of their number.
    fn find(&self, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        let mut attributes = self.0.html_attributes();
        attributes.with_checks(false);
        attributes
            .flatten()
            .find(|found| is_wanted(found.key.as_ref()))
            .map(|found| value(&found))
    }
}

impl Attributes for StartTag<'_, '_> {
    fn value(&self, attribute: Wanted) -> Option<Cow<'_, str>> {
        self.attribute(attribute.text()).map(Cow::Owned)
    }
}

fn value(attribute: &Attribute<'_>) -> String {
    unescape(&attribute.value).map_or_else(|_| attribute.value.to_string(), Into::into)
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// What is told of a document. Names are local and in lower case: namespaces are ignored.
pub(super) trait Visitor {
    fn open(&mut self, name: &str, tag: &StartTag<'_, '_>);

    fn text(&mut self, text: &str);

    fn close(&mut self, name: &str);

    /// An entity or character reference, by its name; unknown ones stay as they are.
    fn reference(&mut self, name: &str) {
        match resolve(name) {
            Some(text) => self.text(&text),
            None => self.text(&format!("&{name};")),
        }
    }

    fn instruction(&mut self, _instruction: &BytesPI<'_>) {}
}

fn resolve(name: &str) -> Option<String> {
    if name.starts_with('#') {
        return unescape(&format!("&{name};")).ok().map(Into::into);
    }
    resolve_predefined_entity(name).map(str::to_owned)
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']));
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}

/// The local name of a document's root element, in lower case.
pub(super) fn root(text: &str) -> Option<String> {
    let mut reader = reader(text);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                return Some(tag.local_name().as_ref().to_ascii_lowercase());
            }
            Ok(Event::Eof) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// Walks over a document.
pub(super) fn walk(text: &str, visitor: &mut impl Visitor) -> End {
    let mut reader = reader(text);
    let mut depth = 0_i64;
    let mut is_uneven = false;
    loop {
        let Ok(event) = reader.read_event() else {
            return End::Broken;
        };
        match event {
            Event::Start(tag) => {
                depth += 1;
                open(visitor, &tag);
            }
            Event::Empty(tag) => {
                open(visitor, &tag);
                visitor.close(&tag.local_name().as_ref().to_ascii_lowercase());
            }
            Event::End(tag) => {
                depth -= 1;
                is_uneven |= depth < 0;
                visitor.close(&tag.local_name().as_ref().to_ascii_lowercase());
            }
            Event::Text(text) => visitor.text(&text),
            Event::CData(text) => visitor.text(&text),
            Event::GeneralRef(reference) => visitor.reference(&reference),
            Event::PI(instruction) => visitor.instruction(&instruction),
            Event::Comment(_) | Event::Decl(_) | Event::DocType(_) => {}
            Event::Eof if is_uneven || depth != 0 => return End::Uneven,
            Event::Eof => return End::Whole,
        }
    }
}

fn open(visitor: &mut impl Visitor, tag: &BytesStart<'_>) {
    visitor.open(
        &tag.local_name().as_ref().to_ascii_lowercase(),
        &StartTag(tag),
    );
}

/// Reads XHTML. That is not left to the HTML tokenizer, for which `<script src="x"/>` would
/// begin a script that never ends.
pub(super) fn xhtml(text: &str, findings: &mut Findings) -> End {
    let mut visitor = Xhtml {
        findings,
        inside: Inside::Markup,
        svg_depth: 0,
    };
    let end = walk(text, &mut visitor);
    findings.end_title();
    findings.end_style();
    end
}

#[derive(PartialEq, Eq)]
enum Inside {
    Markup,
    Title,
    Style,
}

struct Xhtml<'a> {
    findings: &'a mut Findings,
    inside: Inside,
    svg_depth: usize,
}

impl Visitor for Xhtml<'_> {
    fn open(&mut self, name: &str, tag: &StartTag<'_, '_>) {
        self.findings.element(Name::new(name.as_bytes()), tag);
        match name {
            "svg" => self.svg_depth += 1,
            "title" if self.svg_depth == 0 => {
                self.inside = Inside::Title;
                self.findings.begin_title();
            }
            "style" => self.inside = Inside::Style,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.inside {
            Inside::Markup => {}
            // A title is decoded when it is complete.
            Inside::Title => self.findings.title_text(&text.replace('&', "&amp;")),
            Inside::Style => self.findings.style_text(text),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "svg" => self.svg_depth = self.svg_depth.saturating_sub(1),
            "title" if self.inside == Inside::Title => self.findings.end_title(),
            "style" if self.inside == Inside::Style => self.findings.end_style(),
            _ => return,
        }
        self.inside = Inside::Markup;
    }

    fn reference(&mut self, name: &str) {
        if self.inside == Inside::Title {
            self.findings.title_text(&format!("&{name};"));
        }
    }
}

/// Reads XML of which nothing is known but that an `href` is a reference.
pub(super) fn hrefs(text: &str, collector: &mut Collector) -> End {
    walk(text, &mut Hrefs(collector))
}

struct Hrefs<'a>(&'a mut Collector);

impl Visitor for Hrefs<'_> {
    fn open(&mut self, name: &str, tag: &StartTag<'_, '_>) {
        let kind = match name {
            "image" | "use" => LinkKind::Image,
            _ => LinkKind::Anchor,
        };
        if let Some(raw) = tag.attribute_of_any_namespace("href") {
            self.0.add(&raw, kind);
        }
    }

    fn text(&mut self, _text: &str) {}

    fn close(&mut self, _name: &str) {}

    fn instruction(&mut self, instruction: &BytesPI<'_>) {
        if instruction.target() != "xml-stylesheet" {
            return;
        }
        let href = instruction
            .attributes()
            .flatten()
            .find(|found| found.key.as_ref() == "href");
        if let Some(href) = href {
            self.0.add(&value(&href), LinkKind::Style);
        }
    }
}
