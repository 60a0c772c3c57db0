//! HTML, as it streams by.
//!
//! Owns the way from the tokenizer's bytes to text: encodings in which markup is not ASCII are
//! decoded before, of the others only the values and texts that are looked at. Refuses to know
//! what elements mean; that is `element`'s. Invariant: however the body is cut into pieces, the
//! findings are the same; an attribute that lies too far from the beginning of its tag is not
//! read, and that is said.

use std::borrow::Cow;

use clewline_core::link::LinkKind;
use clewline_html::references::attribute_value;
use clewline_html::{Attribute, Name, Namespace, StartTag, TagSink, TextOf, Tokenizer};
use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};

use super::collect::{Reference, TextEnding};
use super::element::{Attributes, Findings, SCRIPT_BYTES, STYLE_BYTES, TITLE_BYTES};
use super::recent_links::RecentLinks;
use super::shell::Signs;

/// The pieces in which bytes are decoded.
const PIECE: usize = 16 * 1024;

const TOO_LONG: &str = "a tag is too long";

/// Reads one HTML document.
pub(super) struct HtmlPass {
    tokenizer: Tokenizer,
    decoder: Option<Decoder>,
    encoding: &'static Encoding,
    text: Vec<u8>,
    lately: RecentLinks,
    signs: Signs,
}

impl HtmlPass {
    pub(super) fn new(encoding: &'static Encoding) -> Self {
        let decoder =
            (!encoding.is_ascii_compatible()).then(|| encoding.new_decoder_with_bom_removal());
        let encoding = if decoder.is_some() { UTF_8 } else { encoding };
        Self {
            tokenizer: Tokenizer::new(),
            decoder,
            encoding,
            text: Vec::new(),
            lately: RecentLinks::default(),
            signs: Signs::default(),
        }
    }

    /// What was seen so far that tells whether the document is a shell.
    pub(super) const fn signs(&self) -> Signs {
        self.signs
    }

    /// The next bytes of the document.
    pub(super) fn write(&mut self, bytes: &[u8], findings: &mut Findings) {
        self.read(bytes, Rest::Follows, findings);
    }

    /// The document has ended.
    pub(super) fn finish(mut self, findings: &mut Findings) {
        self.read(&[], Rest::Nothing, findings);
        let mut reading = Reading {
            findings,
            encoding: self.encoding,
            text: &mut self.text,
            lately: &mut self.lately,
            signs: &mut self.signs,
        };
        self.tokenizer.finish(&mut reading);
    }

    fn read(&mut self, mut bytes: &[u8], rest: Rest, findings: &mut Findings) {
        let mut reading = Reading {
            findings,
            encoding: self.encoding,
            text: &mut self.text,
            lately: &mut self.lately,
            signs: &mut self.signs,
        };
        let Some(decoder) = &mut self.decoder else {
            self.tokenizer.feed(bytes, &mut reading);
            return;
        };
        let mut text = vec![0; PIECE];
        loop {
            let is_last = rest == Rest::Nothing;
            let (result, read, written, _) = decoder.decode_to_utf8(bytes, &mut text, is_last);
            self.tokenizer.feed(&text[..written], &mut reading);
            bytes = &bytes[read..];
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }
}

/// Whether there are more bytes to decode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Follows,
    Nothing,
}

/// What is found goes to the findings; texts are gathered until they are complete.
struct Reading<'a> {
    findings: &'a mut Findings,
    encoding: &'static Encoding,
    text: &'a mut Vec<u8>,
    lately: &'a mut RecentLinks,
    signs: &'a mut Signs,
}

impl Reading<'_> {
    fn element(&mut self, tag: &StartTag<'_>, namespace: Namespace) {
        let encoding = self.encoding;
        let values = Values { tag, encoding };
        self.findings.element(tag.name(), namespace, &values);
    }

    /// An anchor that has nothing but its reference: if it was met lately, it says nothing new.
    fn plain_anchor(&mut self, tag: &StartTag<'_>, reference: &[u8]) {
        self.signs.anchors += 1;
        let mark = RecentLinks::mark(reference, self.findings.collector.seed());
        if self.lately.holds(mark) {
            return;
        }
        let encoding = self.encoding;
        let values = Values { tag, encoding };
        let Some(raw) = values.value(Attribute::Href) else {
            return;
        };
        let refused = self.findings.collector.refused();
        let anchor = Reference::new(raw, LinkKind::Anchor);
        self.findings.collector.add_reference(anchor);
        // What is counted is counted as often as it is met.
        if self.findings.collector.refused() == refused {
            self.lately.note(mark);
        }
    }
}

impl TagSink for Reading<'_> {
    fn start(&mut self, tag: &StartTag<'_>, namespace: Namespace) {
        if tag.is_cut() {
            self.findings.problem.get_or_insert(TOO_LONG);
        }
        self.signs.has_script |= tag.name() == Name::SCRIPT;
        if tag.is_bare() {
            return;
        }
        match tag.only_value(Attribute::Href) {
            Some(reference) if tag.name() == Name::A => self.plain_anchor(tag, reference),
            _ => self.element(tag, namespace),
        }
    }

    fn text(&mut self, of: TextOf, bytes: &[u8]) {
        if of == TextOf::Script && !self.findings.reads_scripts() {
            return;
        }
        let room = limit(of).saturating_sub(self.text.len());
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_text(&mut self, of: TextOf) {
        if of == TextOf::Script && !self.findings.reads_scripts() {
            return;
        }
        let mut bytes = std::mem::take(self.text);
        let (text, ending) = if bytes.len() < limit(of) {
            let text = self.encoding.decode_without_bom_handling(&bytes).0;
            (text, self.findings.ending)
        } else {
            let text = decoded_beginning(self.encoding, &bytes);
            (Cow::Owned(text), TextEnding::Cut)
        };
        match of {
            TextOf::Title => self.findings.title(&text),
            TextOf::Style => self.findings.style(&text, ending),
            TextOf::Script => self.findings.collector.add_script(&text, ending),
        }
        drop(text);
        bytes.clear();
        *self.text = bytes;
    }
}

const fn limit(of: TextOf) -> usize {
    match of {
        TextOf::Title => TITLE_BYTES,
        TextOf::Style => STYLE_BYTES,
        TextOf::Script => SCRIPT_BYTES,
    }
}

/// Decodes what was cut off anywhere; half a character at the end is none.
fn decoded_beginning(encoding: &'static Encoding, bytes: &[u8]) -> String {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length(bytes.len());
    let mut text = String::with_capacity(room.unwrap_or(bytes.len()));
    let (_, _, _) = decoder.decode_to_string(bytes, &mut text, false);
    text
}

/// The attributes of a tag, decoded when they are asked for.
struct Values<'a> {
    tag: &'a StartTag<'a>,
    encoding: &'static Encoding,
}

impl Attributes for Values<'_> {
    fn value(&self, attribute: Attribute) -> Option<Cow<'_, str>> {
        let bytes = self.tag.value(attribute)?;
        let text = self.encoding.decode_without_bom_handling(bytes).0;
        Some(attribute_value(text))
    }
}
