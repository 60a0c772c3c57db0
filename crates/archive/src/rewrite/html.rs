//! The references of a page.
//!
//! Owns which attributes are references, the base that they are relative to, and the encoding.
//! `noscript` is text to a tokenizer that takes scripts for granted, so that its content goes
//! through a tokenizer of its own. Invariant: a page that cannot be rewritten is an error, never
//! half a page; memory is bounded by the page and [`MEMORY_LIMIT`].

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use clewline_html::references::attribute_value;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use lol_html::html_content::{ContentType, DocumentEnd, Element, TextChunk, TextType};
use lol_html::{
    AsciiCompatibleEncoding, DocumentContentHandlers, ElementContentHandlers, HtmlRewriter,
    MemorySettings, Selector, Settings,
};
use url::Url;

use super::{Guide, Use, led, put};

/// Memory of one tokenizer beside its output.
const MEMORY_LIMIT: usize = 64 * 1024 * 1024;
/// What a tokenizer has from the start.
const PREALLOCATED: usize = 4 * 1024;
/// Documents within documents (`noscript`, `srcdoc`) are not followed further than this.
const DEEPEST: u32 = 2;

/// Attributes that hold one URL.
const PLAIN: [&str; 7] = [
    "href",
    "xlink:href",
    "src",
    "poster",
    "background",
    "action",
    "formaction",
];

/// Attributes that hold candidates.
const CANDIDATES: [&str; 2] = ["srcset", "imagesrcset"];

/// Attributes that would keep a rewritten page from working, or send something.
const DROPPED: [&str; 2] = ["integrity", "ping"];

/// Elements that are looked at.
const SELECTOR: &str = "[href],[xlink\\:href],[src],[poster],[background],[action],[formaction],\
    [srcset],[imagesrcset],[style],[srcdoc],object,meta,script,link,body";

/// A page cannot be rewritten.
#[derive(Debug, thiserror::Error)]
#[error("the page cannot be rewritten: {0}")]
pub(super) struct HtmlError(String);

/// A page, and what was said of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtmlDocument<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) url: &'a Url,
    /// The encoding that the header names, if it does.
    pub(super) encoding: Option<&'static Encoding>,
}

/// HTML in ASCII that is put at the beginning of the body; empty for none.
#[derive(Debug, Clone, Copy)]
pub struct Banner<'a>(pub &'a str);

/// The page with other references. Encodings in which markup is not ASCII become UTF-8: the
/// second value tells.
pub(super) fn rewrite(
    document: HtmlDocument<'_>,
    banner: Banner<'_>,
    guide: &dyn Guide,
) -> Result<(Vec<u8>, Option<&'static Encoding>), HtmlError> {
    let mark = Encoding::for_bom(document.bytes).map(|(encoding, _)| encoding);
    let told = mark.or(document.encoding);
    if let Some(wide) = told.filter(|told| *told == UTF_16LE || *told == UTF_16BE) {
        let (text, _) = wide.decode_with_bom_removal(document.bytes);
        let decoded = HtmlDocument {
            bytes: text.as_bytes(),
            encoding: Some(UTF_8),
            ..document
        };
        return Ok((run(decoded, banner, guide, 0)?, Some(UTF_8)));
    }
    let document = HtmlDocument {
        encoding: told,
        ..document
    };
    Ok((run(document, banner, guide, 0)?, None))
}

/// What is known while a page goes by.
struct State {
    page: Url,
    base: Option<Url>,
    encoding: &'static Encoding,
    is_encoding_told: bool,
    /// The text of the `style` or `noscript` that is being read.
    held: String,
    banner: Option<String>,
    /// How many documents lie around this one.
    depth: u32,
}

type Shared = Rc<RefCell<State>>;

fn run(
    document: HtmlDocument<'_>,
    banner: Banner<'_>,
    guide: &dyn Guide,
    depth: u32,
) -> Result<Vec<u8>, HtmlError> {
    let encoding = document.encoding.unwrap_or_else(|| {
        if std::str::from_utf8(document.bytes).is_ok() {
            UTF_8
        } else {
            WINDOWS_1252
        }
    });
    let compatible = AsciiCompatibleEncoding::new(encoding);
    let state = Rc::new(RefCell::new(State {
        page: document.url.clone(),
        base: None,
        encoding,
        is_encoding_told: document.encoding.is_some(),
        held: String::new(),
        banner: Some(banner.0.to_owned()).filter(|banner| !banner.is_empty()),
        depth,
    }));
    let memory = MemorySettings::new()
        .with_preallocated_parsing_buffer_size(PREALLOCATED)
        .with_max_allowed_memory_usage(MEMORY_LIMIT);
    let settings = settings(&state, guide, depth)
        .with_encoding(compatible.unwrap_or_else(AsciiCompatibleEncoding::utf_8))
        .with_adjust_charset_on_meta_tag(document.encoding.is_none())
        .with_strict(false)
        .with_memory_settings(memory);
    let mut out = Vec::with_capacity(document.bytes.len() + document.bytes.len() / 4);
    let failed = |error: lol_html::errors::RewritingError| HtmlError(error.to_string());
    let mut rewriter = HtmlRewriter::new(settings, |piece: &[u8]| out.extend_from_slice(piece));
    rewriter.write(document.bytes).map_err(failed)?;
    rewriter.end().map_err(failed)?;
    Ok(out)
}

fn settings<'a>(state: &Shared, guide: &'a dyn Guide, depth: u32) -> Settings<'a, 'a> {
    let (elements, styles, noscripts, ends) = (
        Rc::clone(state),
        Rc::clone(state),
        Rc::clone(state),
        Rc::clone(state),
    );
    let element =
        ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
            visit(element, &mut elements.borrow_mut(), guide);
            Ok(())
        });
    let style = ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
        gathered(chunk, &styles, |text, state| {
            put::sheet(text, |raw| state.lead(raw, Use::Requisite, guide))
        });
        Ok(())
    });
    let noscript = ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
        if chunk.text_type() == TextType::RawText && depth < DEEPEST {
            gathered(chunk, &noscripts, |text, state| state.inner(text, guide));
        }
        Ok(())
    });
    let end = DocumentContentHandlers::default().end(move |end: &mut DocumentEnd<'_>| {
        if let Some(banner) = ends.borrow_mut().banner.take() {
            end.append(&banner, ContentType::Html);
        }
        Ok(())
    });
    Settings::new()
        .append_element_content_handler((selector(SELECTOR), element))
        .append_element_content_handler((selector("style"), style))
        .append_element_content_handler((selector("noscript"), noscript))
        .append_document_content_handler(end)
}

fn selector(text: &str) -> Cow<'static, Selector> {
    let parsed = text.parse();
    Cow::Owned(parsed.expect("the selectors are constants that parse"))
}

/// Gathers the pieces of a text and puts another text in its place at its end.
fn gathered(
    chunk: &mut TextChunk<'_>,
    shared: &Shared,
    replacement: impl FnOnce(&str, &State) -> String,
) {
    let mut state = shared.borrow_mut();
    state.held.push_str(chunk.as_str());
    if !chunk.last_in_text_node() {
        chunk.remove();
        return;
    }
    let text = std::mem::take(&mut state.held);
    chunk.replace(&replacement(&text, &state), ContentType::Html);
}

impl State {
    /// A document within this one; nothing is left of one that cannot be rewritten.
    fn inner(&self, text: &str, guide: &dyn Guide) -> String {
        let inner = HtmlDocument {
            bytes: text.as_bytes(),
            url: self.base.as_ref().unwrap_or(&self.page),
            encoding: Some(UTF_8),
        };
        let rewritten = run(inner, Banner(""), guide, self.depth + 1).ok();
        let rewritten = rewritten.and_then(|bytes| String::from_utf8(bytes).ok());
        rewritten.unwrap_or_default()
    }

    fn lead(&self, raw: &str, purpose: Use, guide: &dyn Guide) -> Option<String> {
        let base = self.base.as_ref().unwrap_or(&self.page);
        // The query of a link is in the page's encoding (URL section 4.4, query state).
        if self.encoding != UTF_8 && !raw.is_ascii() {
            let url = Url::options()
                .base_url(Some(base))
                .encoding_override(Some(&|text: &str| self.encoding.encode(text).0))
                .parse(raw.trim_matches(|c: char| c <= ' '))
                .ok()?;
            return matches!(url.scheme(), "http" | "https").then(|| guide.lead(&url, purpose));
        }
        led(raw, base, purpose, guide)
    }
}

fn visit(element: &mut Element<'_, '_>, state: &mut State, guide: &dyn Guide) {
    let name = element.tag_name();
    for dropped in DROPPED {
        element.remove_attribute(dropped);
    }
    if guide.is_for_files() {
        element.remove_attribute("crossorigin");
    }
    match name.as_str() {
        "base" => return base(element, state, guide),
        "meta" => return meta(element, state, guide),
        "link" if is_connection(element) => return element.remove(),
        "body" => {
            if let Some(banner) = state.banner.take() {
                element.prepend(&banner, ContentType::Html);
            }
        }
        "iframe" if state.depth < DEEPEST => {
            replace(element, "srcdoc", |raw| Some(state.inner(raw, guide)));
        }
        "object" => replace(element, "data", |raw| {
            state.lead(raw, Use::Requisite, guide)
        }),
        _ => {}
    }
    let purpose = purpose(&name, element);
    for plain in PLAIN {
        replace(element, plain, |raw| state.lead(raw, purpose, guide));
    }
    for candidates in CANDIDATES {
        replace(element, candidates, |raw| {
            Some(put::candidates(raw, |url| {
                state.lead(url, Use::Requisite, guide)
            }))
        });
    }
    replace(element, "style", |raw| {
        Some(put::sheet(raw, |url| {
            state.lead(url, Use::Requisite, guide)
        }))
    });
}

/// Puts another value into an attribute that is there.
fn replace(element: &mut Element<'_, '_>, name: &str, other: impl FnOnce(&str) -> Option<String>) {
    let Some(raw) = element.get_attribute(name) else {
        return;
    };
    let value = attribute_value(raw);
    if let Some(other) = other(&value).filter(|other| *other != value) {
        let escaped = other.replace('&', "&amp;");
        element
            .set_attribute(name, &escaped)
            .expect("the names are those of attributes");
    }
}

fn purpose(name: &str, element: &Element<'_, '_>) -> Use {
    match name {
        "a" | "area" | "form" | "button" => Use::Navigation,
        "input" if element.has_attribute("formaction") => Use::Navigation,
        "link" if !relation(element, &["stylesheet", "icon", "preload", "modulepreload"]) => {
            Use::Navigation
        }
        _ => Use::Requisite,
    }
}

fn relation(element: &Element<'_, '_>, wanted: &[&str]) -> bool {
    let relation = element.get_attribute("rel").unwrap_or_default();
    let relation = relation.to_ascii_lowercase();
    relation
        .split_ascii_whitespace()
        .any(|word| wanted.contains(&word) || (word.ends_with("-icon") && wanted.contains(&"icon")))
}

/// Hints that make a browser talk to a host before anything is loaded from it; no policy
/// covers them.
fn is_connection(element: &Element<'_, '_>) -> bool {
    relation(element, &["dns-prefetch", "preconnect"])
}

/// The first base counts.
fn base(element: &mut Element<'_, '_>, state: &mut State, guide: &dyn Guide) {
    let Some(raw) = element.get_attribute("href") else {
        return;
    };
    let raw = attribute_value(raw);
    if state.base.is_none() {
        state.base = state.page.join(raw.trim()).ok();
    }
    if guide.is_for_files() {
        return element.remove();
    }
    replace(element, "href", |raw| {
        led(raw, &state.page, Use::Navigation, guide)
    });
}

fn meta(element: &mut Element<'_, '_>, state: &mut State, guide: &dyn Guide) {
    if let Some(label) = element.get_attribute("charset") {
        state.note_encoding(&label);
    }
    let kind = element.get_attribute("http-equiv").unwrap_or_default();
    match kind.trim().to_ascii_lowercase().as_str() {
        // The policy of the page knows nothing of the place that it is shown at.
        "content-security-policy" | "x-frame-options" => element.remove(),
        "content-type" => {
            let content = element.get_attribute("content").unwrap_or_default();
            if let Some((_, label)) = content.to_ascii_lowercase().split_once("charset=") {
                state.note_encoding(label.trim_matches(['"', '\'', ' ']));
            }
        }
        "refresh" => replace(element, "content", |content| {
            put::refreshed(content, |raw| state.lead(raw, Use::Navigation, guide))
        }),
        _ => {}
    }
}

impl State {
    fn note_encoding(&mut self, label: &str) {
        let found = Encoding::for_label(label.as_bytes());
        // Whoever reads the label as ASCII reads no UTF-16.
        let found = found.filter(|found| *found != UTF_16LE && *found != UTF_16BE);
        if let (false, Some(found)) = (self.is_encoding_told, found) {
            self.encoding = found;
            self.is_encoding_told = true;
        }
    }
}
