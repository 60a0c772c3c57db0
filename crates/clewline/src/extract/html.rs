//! HTML, as it streams by.
//!
//! Owns the tokenizer and its bounds. Refuses to know what elements mean; that is `element`'s.
//! `noscript` is text to a tokenizer that takes scripts for granted, so that its content goes
//! through a second tokenizer as if it stood in the page: a crawler runs no scripts.
//! Invariant: however the body is cut into pieces, the findings are the same; a tag beyond
//! [`TOKEN_LIMIT`] or nesting beyond [`MEMORY_LIMIT`] ends the reading and is said.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use encoding_rs::{Decoder, Encoding};
use lol_html::errors::RewritingError;
use lol_html::html_content::{TextChunk, TextType};
use lol_html::send::{Element, ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{AsciiCompatibleEncoding, MemorySettings, Selector};

use super::element::{Findings, SELECTOR};

/// Memory of one tokenizer, mostly its stack of open elements: room for 200,000 of them.
const MEMORY_LIMIT: usize = 32 * 1024 * 1024;

/// What a tokenizer has from the start; more than the limit would be a panic.
const PREALLOCATED: usize = 4 * 1024;

/// The longest tag. The tokenizer spends far more on an attribute than its bytes, so that the
/// memory limit alone would not bound a tag of a million attributes.
const TOKEN_LIMIT: usize = 1024 * 1024;

/// The pieces in which bytes are handed to the tokenizer.
const PIECE: usize = 16 * 1024;

const NAMESPACE: &str = "http://www.w3.org/1999/xhtml";

const TOO_LONG: &str = "a tag is too long";
const TOO_MUCH: &str = "nesting or attributes exceed the memory limit";
const UNREADABLE: &str = "the HTML cannot be read";

/// The findings of a page, shared between the tokenizer's handlers. There is one thread at a
/// time; the lock is never waited for.
pub(super) type Shared = Arc<Mutex<Findings>>;

/// Opens the shared findings; a panic elsewhere leaves them as good as they were.
pub(super) fn open(shared: &Shared) -> MutexGuard<'_, Findings> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one HTML document.
pub(super) struct HtmlPass {
    tokenizer: Tokenizer,
    decoder: Option<Decoder>,
    shared: Shared,
}

impl HtmlPass {
    /// Encodings in which markup is not ASCII are decoded first; the others are left to the
    /// tokenizer, which decodes only the values that are looked at.
    pub(super) fn new(shared: &Shared, encoding: &'static Encoding) -> Self {
        let compatible = AsciiCompatibleEncoding::new(encoding);
        let decoder = match compatible {
            Some(_) => None,
            None => Some(encoding.new_decoder_with_bom_removal()),
        };
        let encoding = compatible.unwrap_or_else(AsciiCompatibleEncoding::utf_8);
        let tokenizer = Tokenizer::new(page_settings(shared).with_encoding(encoding));
        Self {
            tokenizer,
            decoder,
            shared: Arc::clone(shared),
        }
    }

    /// The next bytes of the document.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let written = match &mut self.decoder {
            None => self.tokenizer.write(bytes),
            Some(decoder) => decode(decoder, &mut self.tokenizer, bytes, false),
        };
        self.note(written);
    }

    /// The document has ended.
    pub(super) fn finish(mut self) {
        let flushed = match &mut self.decoder {
            None => Ok(()),
            Some(decoder) => decode(decoder, &mut self.tokenizer, &[], true),
        };
        let ended = flushed.and_then(|()| self.tokenizer.end());
        self.note(ended);
        let mut findings = open(&self.shared);
        findings.end_title();
        findings.end_style();
    }

    fn note(&self, result: Result<(), &'static str>) {
        if let Err(problem) = result {
            open(&self.shared).problem.get_or_insert(problem);
        }
    }
}

/// Decodes to UTF-8 in bounded pieces.
fn decode(
    decoder: &mut Decoder,
    tokenizer: &mut Tokenizer,
    mut bytes: &[u8],
    last: bool,
) -> Result<(), &'static str> {
    let mut text = vec![0; PIECE];
    loop {
        let (result, read, written, _) = decoder.decode_to_utf8(bytes, &mut text, last);
        tokenizer.write(&text[..written])?;
        bytes = &bytes[read..];
        if result == encoding_rs::CoderResult::InputEmpty {
            return Ok(());
        }
    }
}

/// Where the tokenizer's output goes: it is only counted.
type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// The tokenizer, which must not be touched again once it has failed.
struct Tokenizer {
    rewriter: Option<HtmlRewriter<'static, Sink>>,
    emitted: Arc<AtomicU64>,
    silent: usize,
}

impl Tokenizer {
    fn new(settings: Settings<'static, 'static>) -> Self {
        let memory = MemorySettings::new()
            .with_preallocated_parsing_buffer_size(PREALLOCATED)
            .with_max_allowed_memory_usage(MEMORY_LIMIT);
        let settings = settings.with_strict(false).with_memory_settings(memory);
        let emitted = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&emitted);
        let sink = Box::new(move |output: &[u8]| {
            counter.fetch_add(output.len() as u64, Ordering::Relaxed);
        });
        let rewriter = HtmlRewriter::new(settings, sink as Sink);
        Self {
            rewriter: Some(rewriter),
            emitted,
            silent: 0,
        }
    }

    /// What goes in comes out again as soon as it is tokenized; bytes in a row that bring
    /// nothing out are an unfinished token, and are counted.
    fn write(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        for piece in bytes.chunks(PIECE) {
            let Some(rewriter) = &mut self.rewriter else {
                return Ok(());
            };
            let before = self.emitted.load(Ordering::Relaxed);
            if let Err(error) = rewriter.write(piece) {
                self.rewriter = None;
                return Err(explain(&error));
            }
            let is_silent = self.emitted.load(Ordering::Relaxed) == before;
            self.silent = if is_silent {
                self.silent + piece.len()
            } else {
                0
            };
            if self.silent > TOKEN_LIMIT {
                self.rewriter = None;
                return Err(TOO_LONG);
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), &'static str> {
        let ended = self.rewriter.take().map_or(Ok(()), HtmlRewriter::end);
        ended.map_err(|error| explain(&error))
    }
}

fn explain(error: &RewritingError) -> &'static str {
    match error {
        RewritingError::MemoryLimitExceeded(_) => TOO_MUCH,
        _ => UNREADABLE,
    }
}

fn page_settings(shared: &Shared) -> Settings<'static, 'static> {
    static TITLE: LazyLock<Selector> = LazyLock::new(|| selector("title"));
    static NOSCRIPT: LazyLock<Selector> = LazyLock::new(|| selector("noscript"));
    let titles = Arc::clone(shared);
    let title_texts = Arc::clone(shared);
    let title = ElementContentHandlers::default()
        .element(move |element: &mut Element<'_, '_>| {
            if element.namespace_uri() == NAMESPACE {
                open(&titles).begin_title();
            }
            Ok(())
        })
        .text(move |chunk: &mut TextChunk<'_>| {
            if chunk.text_type() == TextType::RCData {
                let mut findings = open(&title_texts);
                findings.title_text(chunk.as_str());
                if chunk.last_in_text_node() {
                    findings.end_title();
                }
            }
            Ok(())
        });
    let inner_findings = Arc::clone(shared);
    let mut inner: Option<Tokenizer> = None;
    let noscript = ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
        if chunk.text_type() == TextType::RawText {
            let inner = inner.get_or_insert_with(|| Tokenizer::new(settings(&inner_findings)));
            if let Err(problem) = inner.write(chunk.as_str().as_bytes()) {
                open(&inner_findings).problem.get_or_insert(problem);
            }
        }
        Ok(())
    });
    settings(shared)
        .append_element_content_handler((Cow::Borrowed(&*TITLE), title))
        .append_element_content_handler((Cow::Borrowed(&*NOSCRIPT), noscript))
}

/// What is looked for everywhere, in `noscript` too.
fn settings(shared: &Shared) -> Settings<'static, 'static> {
    static ELEMENTS: LazyLock<Selector> = LazyLock::new(|| selector(SELECTOR));
    static STYLE: LazyLock<Selector> = LazyLock::new(|| selector("style"));
    let elements = Arc::clone(shared);
    let styles = Arc::clone(shared);
    let element =
        ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
            let attribute = |name: &str| {
                let raw = element.get_attribute(name)?;
                // The tokenizer leaves out what HTML section 13.2.5.36 does to NUL.
                let raw = raw.replace('\0', "\u{fffd}");
                Some(htmlize::unescape_attribute(raw).into_owned())
            };
            open(&elements).element(&element.tag_name(), &attribute);
            Ok(())
        });
    let style = ElementContentHandlers::default().text(move |chunk: &mut TextChunk<'_>| {
        let mut findings = open(&styles);
        findings.style_text(chunk.as_str());
        if chunk.last_in_text_node() {
            findings.end_style();
        }
        Ok(())
    });
    Settings::new_send()
        .append_element_content_handler((Cow::Borrowed(&*ELEMENTS), element))
        .append_element_content_handler((Cow::Borrowed(&*STYLE), style))
}

fn selector(text: &str) -> Selector {
    text.parse()
        .expect("the selectors are constants that parse")
}
