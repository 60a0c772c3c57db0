//! A second opinion on HTML: the same findings by way of `lol_html`.
//!
//! Owns the comparison and the list of cases in which the opinion is known to be wrong
//! ([`Doubt`]). Exists for tests and fuzzing only. Invariant: whatever is not doubtful must be
//! equal to the last link.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use clewline_core::url::CrawlUrl;
use clewline_html::references::attribute_value;
use clewline_html::{Attribute, Name, Namespace};
use encoding_rs::{Encoding, UTF_8};
use lol_html::html_content::{Element, TextChunk, TextType};
use lol_html::{AsciiCompatibleEncoding, HtmlRewriter, Settings, doc_text, element, text};

use super::Extracted;
use super::collect::{Bounds, Collector};
use super::element::{Attributes, Findings};
use super::html::HtmlPass;
use super::page::conclude;

const BOUNDS: Bounds = Bounds {
    links: 100_000,
    bytes: 1 << 24,
};

const SVG: &str = "http://www.w3.org/2000/svg";
const MATHML: &str = "http://www.w3.org/1998/Math/MathML";

/// Why the second opinion does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// `<script x=>`: after an empty value that is not quoted it goes on with markup; HTML section
    /// 13.2.5.35 emits the tag like any other, and the tree builder switches to script data.
    EmptyValue,
    /// `<svg/>`: it enters SVG; by section 13.2.6.4.7 the element is popped at once.
    SelfClosing,
    /// A style element of SVG that holds tags or comments: it takes the text of what is nested for
    /// style, and what breaks out of SVG does not end it for it.
    ForeignStyle,
    /// `noscript` within the text of `noscript`: it has no way to be told that scripts are off.
    NestedNoscript,
    /// A `base` after the first `template`: it does not tell what is within a template.
    Template,
}

/// What both readers have to say of a document, if the second is to be trusted.
pub(crate) fn opinions(
    body: &[u8],
    encoding: &'static Encoding,
    cut: usize,
) -> Result<(Extracted, Extracted), Doubt> {
    let second = second(body, encoding)?;
    let mut findings = blank();
    let mut pass = HtmlPass::new(encoding);
    for piece in body.chunks(cut.max(1)) {
        pass.write(piece, &mut findings);
    }
    pass.finish(&mut findings);
    let charset = Some(encoding);
    let query = encoding.output_encoding();
    Ok((
        conclude(findings, charset, query),
        conclude(second, charset, query),
    ))
}

fn blank() -> Findings {
    let page = CrawlUrl::parse("http://h.test/d/p?q").expect("the URL is a constant that parses");
    Findings::new(Collector::new(BOUNDS), page, "clewline".into())
}

fn second(body: &[u8], encoding: &'static Encoding) -> Result<Findings, Doubt> {
    let witness = Witness {
        findings: blank(),
        last: String::new(),
        noscript: String::new(),
        has_template: false,
        doubt: None,
    };
    let witness = read(body, encoding, witness);
    match witness.doubt {
        Some(doubt) => Err(doubt),
        None => Ok(witness.findings),
    }
}

/// What was seen so far.
struct Witness {
    findings: Findings,
    /// The name of the last start tag: raw text is that of this element.
    last: String,
    noscript: String,
    has_template: bool,
    doubt: Option<Doubt>,
}

fn read(body: &[u8], encoding: &'static Encoding, witness: Witness) -> Witness {
    let shared = Rc::new(RefCell::new(witness));
    let (elements, styles, texts) = (shared.clone(), shared.clone(), shared.clone());
    let settings = Settings::new()
        .with_strict(false)
        .with_encoding(
            AsciiCompatibleEncoding::new(encoding).unwrap_or(AsciiCompatibleEncoding::utf_8()),
        )
        .append_element_content_handler(element!("*", move |element| {
            elements.borrow_mut().element(element, body);
            Ok(())
        }))
        .append_element_content_handler(text!("style", move |chunk| {
            let findings = &mut styles.borrow_mut().findings;
            findings.style_text(chunk.as_str());
            if chunk.last_in_text_node() {
                findings.end_style();
            }
            Ok(())
        }))
        .append_document_content_handler(doc_text!(move |chunk| {
            texts.borrow_mut().text(chunk);
            Ok(())
        }));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(body).expect("the memory is not limited");
    rewriter.end().expect("the memory is not limited");
    let mut witness = Rc::into_inner(shared)
        .expect("the handlers are gone")
        .into_inner();
    witness.findings.end_title();
    witness.findings.end_style();
    witness
}

impl Witness {
    fn element(&mut self, element: &Element<'_, '_>, body: &[u8]) {
        let name = element.tag_name();
        let place = element.source_location().bytes();
        let namespace = match (name.as_str(), element.namespace_uri()) {
            ("svg", _) | (_, SVG) => Namespace::Svg,
            ("math", _) | (_, MATHML) => Namespace::MathMl,
            _ => Namespace::Html,
        };
        let is_html = namespace == Namespace::Html;
        self.has_template |= name == "template";
        let doubt = match name.as_str() {
            "svg" | "math" if element.is_self_closing() => Some(Doubt::SelfClosing),
            "style" if !is_html && !is_simple_style(&body[place.end..]) => {
                Some(Doubt::ForeignStyle)
            }
            "base" if self.has_template => Some(Doubt::Template),
            _ if ends_with_empty_value(&body[place]) => Some(Doubt::EmptyValue),
            _ => None,
        };
        self.doubt = self.doubt.or(doubt);
        self.findings
            .element(Name::new(name.as_bytes()), namespace, &Values(element));
        if name == "title" {
            self.findings.begin_title();
        }
        self.last = name;
    }

    fn text(&mut self, chunk: &TextChunk<'_>) {
        match (chunk.text_type(), self.last.as_str()) {
            (TextType::RCData, "title") => {
                self.findings.title_text(chunk.as_str());
                if chunk.last_in_text_node() {
                    self.findings.end_title();
                }
            }
            (TextType::RawText, "noscript") => {
                self.noscript.push_str(chunk.as_str());
                if chunk.last_in_text_node() {
                    self.read_noscript();
                }
            }
            _ => {}
        }
    }

    /// What the text holds is read as a document of its own, whose title is not the page's.
    fn read_noscript(&mut self) {
        let text = std::mem::take(&mut self.noscript);
        if text.to_ascii_lowercase().contains("<noscript") {
            self.doubt = self.doubt.or(Some(Doubt::NestedNoscript));
        }
        let inner = Self {
            findings: std::mem::replace(&mut self.findings, blank()),
            last: String::new(),
            noscript: String::new(),
            has_template: self.has_template,
            doubt: self.doubt,
        };
        let title = inner.findings.title.clone();
        let inner = read(text.as_bytes(), UTF_8, inner);
        self.doubt = inner.doubt;
        self.findings = inner.findings;
        self.findings.title = title;
    }
}

struct Values<'a, 'b, 'c>(&'a Element<'b, 'c>);

impl Attributes for Values<'_, '_, '_> {
    fn value(&self, attribute: Attribute) -> Option<Cow<'_, str>> {
        let raw = self.0.get_attribute(attribute.text())?;
        Some(attribute_value(raw))
    }
}

/// Nothing but text, or one CDATA section, up to the end tag.
fn is_simple_style(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    let is_end = |rest: &[u8]| {
        rest.get(..8).is_some_and(|tag| {
            tag[..7].eq_ignore_ascii_case(b"</style") && (tag[7] == b'>' || tag[7] == b' ')
        })
    };
    if let Some(section) = rest.strip_prefix(b"<![CDATA[") {
        let end = section.windows(3).position(|bytes| bytes == b"]]>");
        return end.is_some_and(|end| is_end(section[end + 3..].trim_ascii_start()));
    }
    let end = memchr::memchr(b'<', rest);
    end.is_some_and(|end| is_end(&rest[end..]))
}

fn ends_with_empty_value(tag: &[u8]) -> bool {
    let inside = tag.strip_suffix(b">").unwrap_or(tag);
    inside.trim_ascii_end().ends_with(b"=")
}
