//! The tokenizer: from bytes to start tags and the few texts that matter.
//!
//! Owns the states between tags and the order in which the parts take over: `tag`, `raw` text,
//! `declaration`s, and `namespace`s, which say which of them may. Refuses to know what elements
//! mean, to build a tree, and to decode: it works on the bytes of any encoding in which markup
//! is ASCII. It follows HTML section 13.2.5; what would take a tree is approximated.
//! There are two faces to the same states: [`Tokenizer`] reads a page that streams by, for its
//! links; `tokens` reads a page that lies in memory, for all that it says.
//! `noscript` is text to whoever takes scripts for granted, and pages are made for such; but a
//! crawler runs no scripts, so that what the text holds goes through a tokenizer of its own.
//! Invariant: however the document is cut into pieces, the tokens are the same; each byte is
//! looked at a bounded number of times; what is kept between pieces is bounded by a tag's limit.

mod attribute;
mod declaration;
mod name;
mod namespace;
mod plain;
mod raw;
mod tag;
mod tag_attributes;
#[cfg(test)]
mod tests;
mod tokens;

pub use attribute::Attribute;
pub use name::Name;
pub use namespace::Namespace;
pub use tag_attributes::TagAttributes;
pub use tokens::{MarkupToken, Tokens};

use crate::find::find;
use declaration::{Declaration, Sections};
use namespace::{AfterStartTag, Namespaces};
pub use raw::raw_text_element;
use raw::{Raw, RawText};
use tag::{PlainTag, TagBuilder, TagKind};

/// The bytes in which an end tag of a usual name ends.
const END_TAG: usize = "</".len() + 8;

/// How much room for unfinished tags is kept for the next one.
const CARRY_KEPT: usize = 16 * 1024;

/// A text that is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOf {
    /// The title of the page.
    Title,
    /// A style sheet.
    Style,
    /// A script, or what stands in a script element.
    Script,
}

/// Takes what a [`Tokenizer`] finds.
pub trait TagSink {
    /// A start tag, and where its element belongs. A tag none of whose attributes has a name of
    /// [`Attribute`] may be left out.
    fn start(&mut self, tag: &StartTag<'_>, namespace: Namespace);

    /// A piece of a text.
    fn text(&mut self, of: TextOf, bytes: &[u8]);

    /// The text is complete.
    fn end_text(&mut self, of: TextOf);
}

/// A start tag with its attributes.
#[derive(Debug, Clone, Copy)]
pub struct StartTag<'a> {
    tag: &'a TagBuilder,
    bytes: &'a [u8],
}

impl<'a> StartTag<'a> {
    /// The name of its element.
    #[inline]
    pub const fn name(&self) -> Name {
        self.tag.name
    }

    /// The value of an attribute as it is written; empty, if it has none.
    #[inline]
    pub fn value(&self, attribute: Attribute) -> Option<&'a [u8]> {
        let span = self.tag.values.span(attribute)?;
        self.bytes.get(span)
    }

    /// The same of an attribute beside which there is none that is looked at.
    #[inline]
    pub fn only_value(&self, attribute: Attribute) -> Option<&'a [u8]> {
        let is_only = self.tag.values.is_only(attribute);
        self.value(attribute).filter(|_| is_only)
    }

    /// Whether none of the attributes that are looked at is there.
    #[inline]
    pub const fn is_bare(&self) -> bool {
        self.tag.values.is_empty()
    }

    /// Whether an attribute that is looked at lies too far from the beginning to be read.
    #[inline]
    pub const fn is_cut(&self) -> bool {
        self.tag.is_cut
    }

    const fn is_self_closing(&self) -> bool {
        self.tag.is_self_closing
    }
}

/// What `noscript` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noscript {
    /// Text, with a tokenizer of its own.
    Text,
    /// An element like others: within such a text.
    Element,
}

/// Where the tokenizer stands between two bytes.
#[derive(Debug)]
enum State {
    Data,
    /// After `<`.
    TagOpen,
    /// After `</`.
    EndTagOpen,
    Tag,
    Declaration(Declaration),
    Raw(Raw),
    PlainText,
}

/// Reads one document in pieces, of whatever length.
///
/// ```
/// use clewline_html::{Attribute, Namespace, StartTag, TagSink, TextOf, Tokenizer};
/// struct Links(Vec<Vec<u8>>);
/// impl TagSink for Links {
///     fn start(&mut self, tag: &StartTag<'_>, _: Namespace) {
///         self.0.extend(tag.value(Attribute::Href).map(<[u8]>::to_vec));
///     }
///     fn text(&mut self, _: TextOf, _: &[u8]) {}
///     fn end_text(&mut self, _: TextOf) {}
/// }
/// let mut links = Links(Vec::new());
/// let mut tokenizer = Tokenizer::new();
/// tokenizer.feed(b"<a hre", &mut links);
/// tokenizer.feed(b"f='x'>", &mut links);
/// tokenizer.finish(&mut links);
/// assert_eq!(links.0, [b"x"]);
/// ```
#[derive(Debug)]
pub struct Tokenizer {
    state: State,
    tag: TagBuilder,
    /// The beginning of a start tag that an earlier piece did not end.
    carried: Vec<u8>,
    namespaces: Namespaces,
    /// How many namespaces were entered around the style element of SVG that is open: its text
    /// is markup to a tokenizer.
    foreign_style: Option<usize>,
    noscript: Noscript,
    inner: Option<Box<Tokenizer>>,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Tokenizer {
    /// Before the first byte of a document.
    pub fn new() -> Self {
        Self::with(Noscript::Text)
    }

    pub(crate) fn with(noscript: Noscript) -> Self {
        Self {
            state: State::Data,
            tag: TagBuilder::new(),
            carried: Vec::new(),
            namespaces: Namespaces::default(),
            foreign_style: None,
            noscript,
            inner: None,
        }
    }

    /// The next bytes of the document.
    pub fn feed(&mut self, piece: &[u8], sink: &mut impl TagSink) {
        let mut at = 0;
        while at < piece.len() {
            at = match &self.state {
                State::Data => self.data(piece, at, sink),
                State::TagOpen => self.tag_open(piece, at, sink),
                State::EndTagOpen => self.end_tag_open(piece, at, sink),
                State::Tag => self.tag(piece, at, sink),
                State::Declaration(_) => self.declaration(piece, at, sink),
                State::Raw(_) => self.raw(piece, at, sink),
                State::PlainText => return,
            };
        }
    }

    /// The document has ended; a tag that it cuts off is none.
    pub fn finish(mut self, sink: &mut impl TagSink) {
        if let State::Raw(raw) = &mut self.state {
            let mut reader = Reader::for_text(raw.text, self.noscript, &mut self.inner);
            raw.finish(|bytes| reader.take(bytes, sink));
            reader.end(sink);
        } else if self.foreign_style.is_some() {
            sink.end_text(TextOf::Style);
        }
    }

    fn data(&mut self, piece: &[u8], mut at: usize, sink: &mut impl TagSink) -> usize {
        if self.namespaces.depth() == 0 && self.foreign_style.is_none() {
            at = self.run(piece, at, sink);
        }
        let found = find(b'<', &piece[at..]);
        let end = found.map_or(piece.len(), |found| at + found);
        self.text(&piece[at..end], sink);
        if end == piece.len() {
            return end;
        }
        self.state = State::TagOpen;
        end + 1
    }

    /// Reads on while there is nothing but text, and tags of the usual form that ask nothing of
    /// the tokenizer. That is most of every page, so it needs no state. Answers the place of
    /// what is something else, outside of SVG and `MathML`, where this may not be called.
    #[inline]
    fn run(&mut self, piece: &[u8], mut at: usize, sink: &mut impl TagSink) -> usize {
        while let Some(found) = find(b'<', &piece[at..]) {
            let open = at + found;
            let next = match piece[open..].first_chunk::<END_TAG>() {
                // Here an end tag changes nothing. In its name there is no bracket: the search for
                // the next one begins with it, and need not wait until its end is known.
                Some([_, b'/', name @ ..]) => plain::is_end_tag(*name).then_some(open + 2),
                Some([_, first, ..]) if first.is_ascii_alphabetic() => {
                    self.plain_tag(piece, open + 1, sink)
                }
                _ => None,
            };
            let Some(next) = next else {
                return open;
            };
            at = next;
        }
        piece.len()
    }

    /// A start tag, if it has the usual form; answers from where to look for the next tag.
    #[inline]
    fn plain_tag(&mut self, piece: &[u8], at: usize, sink: &mut impl TagSink) -> Option<usize> {
        let end = match self.tag.scan_plain(&piece[at..])? {
            // As above.
            PlainTag::Name => return Some(at),
            PlainTag::Attributes { length } => at + length,
        };
        let tag = StartTag {
            tag: &self.tag,
            bytes: &piece[at..end],
        };
        if !tag.is_bare() || tag.is_cut() {
            sink.start(&tag, Namespace::Html);
        }
        Some(end)
    }

    fn text(&self, bytes: &[u8], sink: &mut impl TagSink) {
        if self.foreign_style.is_some() {
            sink.text(TextOf::Style, bytes);
        }
    }

    fn tag_open(&mut self, piece: &[u8], at: usize, sink: &mut impl TagSink) -> usize {
        match piece[at] {
            byte if byte.is_ascii_alphabetic() => {
                return self.begin(TagKind::Start, piece, at, sink);
            }
            b'/' => self.state = State::EndTagOpen,
            b'!' => {
                let sections = Sections::within(&self.namespaces);
                self.state = State::Declaration(Declaration::Open(sections));
            }
            b'?' => self.state = State::Declaration(Declaration::Bogus),
            _ => {
                self.text(b"<", sink);
                self.state = State::Data;
                return at;
            }
        }
        at + 1
    }

    fn end_tag_open(&mut self, piece: &[u8], at: usize, sink: &mut impl TagSink) -> usize {
        match piece[at] {
            byte if byte.is_ascii_alphabetic() => self.begin(TagKind::End, piece, at, sink),
            b'>' => {
                self.state = State::Data;
                at + 1
            }
            _ => {
                self.state = State::Declaration(Declaration::Bogus);
                at
            }
        }
    }

    fn begin(&mut self, way: TagKind, piece: &[u8], at: usize, sink: &mut impl TagSink) -> usize {
        self.tag.begin(way, at);
        self.state = State::Tag;
        self.tag(piece, at, sink)
    }

    fn tag(&mut self, piece: &[u8], at: usize, sink: &mut impl TagSink) -> usize {
        let start = self.tag.start;
        let Some(end) = self.tag.scan(piece, at) else {
            self.carry(&piece[start..]);
            self.tag.interrupt(piece.len());
            return piece.len();
        };
        self.complete(&piece[start..end], sink);
        end
    }

    /// A tag is complete, of which these bytes are the last or all.
    fn complete(&mut self, bytes: &[u8], sink: &mut impl TagSink) {
        self.state = State::Data;
        if self.foreign_style.is_some() {
            sink.end_text(TextOf::Style);
        }
        match self.tag.way {
            TagKind::End => self.namespaces.end(self.tag.name),
            TagKind::Start => self.start(bytes, sink),
        }
        self.note_foreign_style();
    }

    /// Keeps what is there of a tag, as far as its attributes are read.
    fn carry(&mut self, bytes: &[u8]) {
        if self.tag.way == TagKind::Start {
            let room = tag::LIMIT.saturating_sub(self.carried.len());
            self.carried
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// A start tag is complete, of which these bytes are the last or all.
    fn start(&mut self, bytes: &[u8], sink: &mut impl TagSink) {
        let is_carried = !self.carried.is_empty();
        if is_carried {
            self.carry(bytes);
        }
        let bytes = if is_carried { &self.carried } else { bytes };
        let tag = StartTag {
            tag: &self.tag,
            bytes,
        };
        let (namespace, next) = self.namespaces.start(&tag);
        sink.start(&tag, namespace);
        if is_carried {
            self.carried.clear();
            self.carried.shrink_to(CARRY_KEPT);
        }
        self.state = match next {
            AfterStartTag::Raw(RawText::Noscript) if self.noscript == Noscript::Element => {
                State::Data
            }
            AfterStartTag::Raw(text) => State::Raw(Raw::new(text)),
            AfterStartTag::PlainText => State::PlainText,
            AfterStartTag::Data => State::Data,
        };
    }

    /// The style element of SVG ends with its end tag, and at the latest with what is around it.
    fn note_foreign_style(&mut self) {
        let depth = self.namespaces.depth();
        if depth == 0 && self.foreign_style.is_none() {
            return;
        }
        if self.tag.name == Name::STYLE && self.namespaces.is_svg() {
            let is_open = self.tag.way == TagKind::Start && !self.tag.is_self_closing;
            self.foreign_style = is_open.then_some(depth);
        } else if self.foreign_style.is_some_and(|around| around != depth) {
            self.foreign_style = None;
        }
    }

    fn declaration(&mut self, piece: &[u8], at: usize, sink: &mut impl TagSink) -> usize {
        let State::Declaration(declaration) = &mut self.state else {
            return at;
        };
        let is_style = self.foreign_style.is_some();
        let end = declaration.scan(piece, at, |bytes| {
            if is_style {
                sink.text(TextOf::Style, bytes);
            }
        });
        let Some(end) = end else {
            return piece.len();
        };
        self.state = State::Data;
        end
    }

    fn raw(&mut self, piece: &[u8], at: usize, sink: &mut impl TagSink) -> usize {
        let State::Raw(raw) = &mut self.state else {
            return at;
        };
        let mut reader = Reader::for_text(raw.text, self.noscript, &mut self.inner);
        let Some(end) = raw.scan(piece, at, |bytes| reader.take(bytes, sink)) else {
            return piece.len();
        };
        reader.end(sink);
        self.tag.begin_after_name(raw.name(), end);
        self.state = State::Tag;
        end
    }
}

/// Who reads a raw text.
enum Reader<'a> {
    Nobody,
    Sink(TextOf),
    Inner(&'a mut Option<Box<Tokenizer>>),
}

impl<'a> Reader<'a> {
    fn for_text(text: RawText, noscript: Noscript, inner: &'a mut Option<Box<Tokenizer>>) -> Self {
        match text {
            RawText::Noscript => Self::Inner(inner),
            RawText::Style => Self::Sink(TextOf::Style),
            RawText::Script => Self::Sink(TextOf::Script),
            // A title within `noscript` is not the page's.
            RawText::Title if noscript == Noscript::Text => Self::Sink(TextOf::Title),
            _ => Self::Nobody,
        }
    }

    fn take(&mut self, bytes: &[u8], sink: &mut impl TagSink) {
        match self {
            Self::Nobody => {}
            Self::Sink(of) => sink.text(*of, bytes),
            Self::Inner(inner) => inner
                .get_or_insert_with(|| Box::new(Tokenizer::with(Noscript::Element)))
                .feed(bytes, sink),
        }
    }

    fn end(self, sink: &mut impl TagSink) {
        match self {
            Self::Nobody => {}
            Self::Sink(of) => sink.end_text(of),
            Self::Inner(inner) => {
                if let Some(inner) = inner.take() {
                    inner.finish(sink);
                }
            }
        }
    }
}
