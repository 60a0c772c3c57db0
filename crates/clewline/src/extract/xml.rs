//! XML, leniently.
//!
//! Owns the walk over a document's elements and text, XHTML and SVG, and the plain rule for XML that
//! nobody knows: an `href` is a link. Refuses to expand entities beyond the five of XML itself
//! and numeric ones, and to read a DTD. Invariant: linear; a document that breaks off has told
//! what stands before the break.

use std::borrow::Cow;

use clewline_core::link::LinkKind;
use clewline_html::{Attribute as Wanted, Name, Namespace};
use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesPI, BytesStart, Event};

use super::collect::Collector;
use super::element::{Attributes, Findings};

/// How many namespaces can be entered before any is left.
const DEEPEST: usize = 4096;

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkEnd {
    /// At the end of the document.
    Whole,
    /// At the end of a document whose elements do not match up.
    Uneven,
    /// Where the document is no XML any more.
    Broken,
}

/// An element's start tag.
pub(super) struct XmlStartTag<'a, 'b>(&'a BytesStart<'b>);

impl XmlStartTag<'_, '_> {
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

impl Attributes for XmlStartTag<'_, '_> {
    /// Here the prefix of `xlink:href` is the author's choice.
    fn value(&self, attribute: Wanted) -> Option<Cow<'_, str>> {
        let value = match attribute {
            Wanted::XlinkHref => self.find(|found| {
                let name = found.rsplit_once(':').map(|(_, local)| local);
                name.is_some_and(|name| name.eq_ignore_ascii_case("href"))
            }),
            _ => self.attribute(attribute.text()),
        };
        value.map(Cow::Owned)
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
    fn open(&mut self, name: &str, tag: &XmlStartTag<'_, '_>);

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
pub(super) fn walk(text: &str, visitor: &mut impl Visitor) -> WalkEnd {
    let mut reader = reader(text);
    let mut depth = 0_i64;
    let mut is_uneven = false;
    loop {
        let Ok(event) = reader.read_event() else {
            return WalkEnd::Broken;
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
            Event::Eof if is_uneven || depth != 0 => return WalkEnd::Uneven,
            Event::Eof => return WalkEnd::Whole,
        }
    }
}

fn open(visitor: &mut impl Visitor, tag: &BytesStart<'_>) {
    visitor.open(
        &tag.local_name().as_ref().to_ascii_lowercase(),
        &XmlStartTag(tag),
    );
}

/// Reads XHTML or SVG. That is not left to the HTML tokenizer, for which `<script src="x"/>` would
/// begin a script that never ends.
pub(super) fn markup(text: &str, findings: &mut Findings) -> WalkEnd {
    let mut visitor = Markup {
        findings,
        inside: Inside::Markup,
        entered: Vec::new(),
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

struct Markup<'a> {
    findings: &'a mut Findings,
    inside: Inside,
    /// The elements that changed the namespace, and to which one. What the document declares is
    /// not looked at: many declare nothing, and the names tell.
    entered: Vec<(Name, Namespace)>,
}

impl Markup<'_> {
    /// Where an element of this name belongs, and where its content does, if that is elsewhere.
    fn place(&self, name: Name) -> (Namespace, Option<Namespace>) {
        let within = self.entered.last().map_or(Namespace::Html, |last| last.1);
        match (name, within) {
            (Name::SVG, _) => (Namespace::Svg, Some(Namespace::Svg)),
            (Name::MATH, _) => (Namespace::MathMl, Some(Namespace::MathMl)),
            (Name::FOREIGN_OBJECT | Name::DESC | Name::TITLE, Namespace::Svg) => {
                (within, Some(Namespace::Html))
            }
            (Name::TEMPLATE, Namespace::Html) => (within, Some(Namespace::Template)),
            _ => (within, None),
        }
    }
}

impl Visitor for Markup<'_> {
    fn open(&mut self, name: &str, tag: &XmlStartTag<'_, '_>) {
        let packed = Name::new(name.as_bytes());
        let (namespace, content) = self.place(packed);
        self.findings.element(packed, namespace, tag);
        if let Some(content) = content
            && self.entered.len() < DEEPEST
        {
            self.entered.push((packed, content));
        }
        match name {
            "title" if namespace == Namespace::Html => {
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
        let packed = Name::new(name.as_bytes());
        self.entered.pop_if(|(entered, _)| *entered == packed);
        match name {
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

    fn instruction(&mut self, instruction: &BytesPI<'_>) {
        add_style_sheet(instruction, &mut self.findings.collector);
    }
}

/// Reads XML of which nothing is known but that an `href` is a reference.
pub(super) fn hrefs(text: &str, collector: &mut Collector) -> WalkEnd {
    walk(text, &mut Hrefs(collector))
}

struct Hrefs<'a>(&'a mut Collector);

impl Visitor for Hrefs<'_> {
    fn open(&mut self, name: &str, tag: &XmlStartTag<'_, '_>) {
        // Drawings stand within other formats, too.
        let kind = match name {
            "image" | "use" | "feimage" => LinkKind::Image,
            "script" => LinkKind::Script,
            "font-face-uri" => LinkKind::Font,
            _ => LinkKind::Anchor,
        };
        if let Some(raw) = tag.attribute_of_any_namespace("href") {
            self.0.add(&raw, kind);
        }
    }

    fn text(&mut self, _text: &str) {}

    fn close(&mut self, _name: &str) {}

    fn instruction(&mut self, instruction: &BytesPI<'_>) {
        add_style_sheet(instruction, self.0);
    }
}

/// The style sheet that an instruction names.
fn add_style_sheet(instruction: &BytesPI<'_>, collector: &mut Collector) {
    if instruction.target() != "xml-stylesheet" {
        return;
    }
    let href = instruction
        .attributes()
        .flatten()
        .find(|found| found.key.as_ref() == "href");
    if let Some(href) = href {
        collector.add(&value(&href), LinkKind::Style);
    }
}
