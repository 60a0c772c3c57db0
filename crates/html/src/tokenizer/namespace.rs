//! Which namespace the tokenizer is in, without a tree.
//!
//! Owns the switches that a tree builder would make: raw text begins in HTML only, CDATA
//! sections exist in SVG and `MathML` only. There is no stack of open elements; what stands for
//! it is a stack of the namespaces that were entered, by `svg`, `math`, `template` and the
//! integration points (HTML section 13.2.6.5). Refuses to be exact where that would take a tree: a tag that
//! breaks out of foreign content leaves one `svg` or `math`, not all that are nested, and CDATA
//! directly in an integration point is a comment. Invariant: the stack is bounded.

use super::attribute::Attribute;
use super::name::Name;
use super::{StartTag, raw::RawText};

/// How many namespaces can be entered before any is left.
const DEEPEST: usize = 4096;

/// Where an element belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespace {
    /// HTML itself.
    Html,
    /// HTML within a `template`, which is no part of the document.
    Template,
    /// SVG within HTML.
    Svg,
    /// `MathML` within HTML.
    MathMl,
}

/// The bits of the names that ask something of the tokenizer in HTML.
const SWITCHES: u64 = Name::bits(&[
    Name::IFRAME,
    Name::MATH,
    Name::NOEMBED,
    Name::NOFRAMES,
    Name::NOSCRIPT,
    Name::PLAINTEXT,
    Name::SCRIPT,
    Name::STYLE,
    Name::SVG,
    Name::TEMPLATE,
    Name::TEXTAREA,
    Name::TITLE,
    Name::XMP,
]);

/// Whether a start tag of this name may ask something of the tokenizer in HTML.
#[inline]
pub(super) const fn may_switch(name: Name) -> bool {
    name.bit() & SWITCHES != 0
}

/// What a start tag asks of the tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterStartTag {
    /// Markup goes on.
    Data,
    /// What follows is text up to the element's end tag.
    Raw(RawText),
    /// What follows is text to the end of the document.
    PlainText,
}

/// The namespaces that were entered and not left; outside of all of them it is HTML.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    entered: Vec<Namespace>,
}

impl Namespaces {
    fn current(&self) -> Namespace {
        self.entered.last().copied().unwrap_or(Namespace::Html)
    }

    /// The namespace around the current one.
    fn around(&self) -> Option<Namespace> {
        let count = self.entered.len().checked_sub(1)?;
        let around = count.checked_sub(1).map(|at| self.entered[at]);
        Some(around.unwrap_or(Namespace::Html))
    }

    /// Whether this is SVG.
    pub(super) fn is_svg(&self) -> bool {
        self.current() == Namespace::Svg
    }

    /// Whether this is SVG or `MathML`.
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self.current(), Namespace::Svg | Namespace::MathMl)
    }

    /// How many were entered and not left.
    pub(super) const fn depth(&self) -> usize {
        self.entered.len()
    }

    fn enter(&mut self, namespace: Namespace) -> Namespace {
        if self.entered.len() < DEEPEST {
            self.entered.push(namespace);
        }
        namespace
    }

    /// A start tag was read: where its element belongs, and what it asks.
    pub(super) fn start(&mut self, tag: &StartTag<'_>) -> (Namespace, AfterStartTag) {
        if self.entered.is_empty() && !may_switch(tag.name()) {
            return (Namespace::Html, AfterStartTag::Data);
        }
        let within = self.current();
        let namespace = match tag.name() {
            Name::SVG if tag.is_self_closing() => Namespace::Svg,
            Name::MATH if tag.is_self_closing() => Namespace::MathMl,
            Name::SVG => self.enter(Namespace::Svg),
            Name::MATH => self.enter(Namespace::MathMl),
            _ if self.is_foreign() => self.start_foreign(tag),
            Name::PLAINTEXT => return (within, AfterStartTag::PlainText),
            Name::TEMPLATE => {
                self.enter(Namespace::Template);
                within
            }
            name => {
                let next =
                    RawText::for_element(name).map_or(AfterStartTag::Data, AfterStartTag::Raw);
                return (within, next);
            }
        };
        (namespace, AfterStartTag::Data)
    }

    fn start_foreign(&mut self, tag: &StartTag<'_>) -> Namespace {
        let name = tag.name();
        if breaks_out(name) || name == Name::FONT && is_html_font(tag) {
            self.entered.pop();
            return self.current();
        }
        let within = self.current();
        let is_point = match within {
            Namespace::Svg => is_point_in_svg(name),
            Namespace::MathMl => is_point_in_mathml(name) || is_html_annotation(tag),
            Namespace::Html | Namespace::Template => false,
        };
        if is_point && !tag.is_self_closing() {
            self.enter(Namespace::Html);
        }
        within
    }

    /// An end tag was read.
    pub(super) fn end(&mut self, name: Name) {
        if name == Name::TEMPLATE {
            return self.end_template();
        }
        let leaves = match self.current() {
            Namespace::Svg => matches!(name, Name::SVG | Name::P | Name::BR),
            Namespace::MathMl => matches!(name, Name::MATH | Name::P | Name::BR),
            Namespace::Html => match self.around() {
                Some(Namespace::Svg) => is_point_in_svg(name),
                Some(Namespace::MathMl) => is_point_in_mathml(name) || name == Name::ANNOTATION_XML,
                Some(Namespace::Html | Namespace::Template) | None => false,
            },
            Namespace::Template => false,
        };
        if leaves {
            self.entered.pop();
        }
    }

    /// A template ends with all that was entered in it (HTML section 13.2.6.4.4).
    fn end_template(&mut self) {
        let is_template = |namespace: &Namespace| *namespace == Namespace::Template;
        if let Some(at) = self.entered.iter().rposition(is_template) {
            self.entered.truncate(at);
        }
    }
}

fn is_html_font(tag: &StartTag<'_>) -> bool {
    [Attribute::Color, Attribute::Face, Attribute::Size]
        .into_iter()
        .any(|attribute| tag.value(attribute).is_some())
}

fn is_html_annotation(tag: &StartTag<'_>) -> bool {
    let is_html = |encoding: &[u8]| {
        encoding.eq_ignore_ascii_case(b"text/html")
            || encoding.eq_ignore_ascii_case(b"application/xhtml+xml")
    };
    tag.name() == Name::ANNOTATION_XML && tag.value(Attribute::Encoding).is_some_and(is_html)
}

const fn is_point_in_svg(name: Name) -> bool {
    matches!(name, Name::DESC | Name::FOREIGN_OBJECT | Name::TITLE)
}

const fn is_point_in_mathml(name: Name) -> bool {
    matches!(
        name,
        Name::MI | Name::MN | Name::MO | Name::MS | Name::MTEXT
    )
}

/// Start tags that end foreign content (HTML section 13.2.6.5).
#[rustfmt::skip]
const fn breaks_out(name: Name) -> bool {
    matches!(
        name,
        Name::B | Name::BIG | Name::BLOCKQUOTE | Name::BODY | Name::BR | Name::CENTER | Name::CODE
            | Name::DD | Name::DIV | Name::DL | Name::DT | Name::EM | Name::EMBED | Name::H1
            | Name::H2 | Name::H3 | Name::H4 | Name::H5 | Name::H6 | Name::HEAD | Name::HR
            | Name::I | Name::IMG | Name::LI | Name::LISTING | Name::MENU | Name::META
            | Name::NOBR | Name::OL | Name::P | Name::PRE | Name::RUBY | Name::S | Name::SMALL
            | Name::SPAN | Name::STRIKE | Name::STRONG | Name::SUB | Name::SUP | Name::TABLE
            | Name::TT | Name::U | Name::UL | Name::VAR
    )
}
