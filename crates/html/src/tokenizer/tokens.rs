//! A whole page as an iterator of texts and tags.
//!
//! Owns the order of the tokens of a page that lies in memory. All that it knows of HTML it has
//! from the states that the streaming [`Tokenizer`](super::Tokenizer) runs as well. As there, what is
//! in `noscript` is markup of its own: whatever is left open in it ends with it. It refuses to know what
//! elements mean and keeps no stack of them. Invariants: time is linear in the input, and nothing
//! is copied.

use super::declaration::{Declaration, Sections};
use super::name::Name;
use super::namespace::{AfterStartTag, Namespace, Namespaces};
use super::raw::{Raw, RawText};
use super::tag::{PlainTag, TagBuilder, TagKind, ends_name};
use super::tag_attributes::TagAttributes;
use super::{StartTag, plain};
use crate::find::find;

/// A piece of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkupToken<'a> {
    /// Text with its character references as written.
    Text(&'a str),
    /// The content of an element that holds text only, with the name of the element.
    Raw(Name, &'a str),
    /// A start tag.
    Start(Name, TagAttributes<'a>),
    /// An end tag.
    End(Name),
}

/// Reads a page from its beginning.
///
/// ```
/// use clewline_html::{MarkupToken, Name, Tokens};
/// let mut tokens = Tokens::new("<a href='?a&amp;b'>Go</a>");
/// let Some(MarkupToken::Start(Name::A, attributes)) = tokens.next() else {
///     panic!("no link");
/// };
/// assert_eq!(attributes.value("href").as_deref(), Some("?a&b"));
/// assert_eq!(tokens.next(), Some(MarkupToken::Text("Go")));
/// assert_eq!(tokens.next(), Some(MarkupToken::End(Name::A)));
/// ```
#[derive(Debug)]
pub struct Tokens<'a> {
    html: &'a str,
    at: usize,
    /// Where the markup ends that is read: that of the page, or that in `noscript`.
    end: usize,
    /// The namespaces around the `noscript` that is read.
    around: Option<Namespaces>,
    /// Where the last token began.
    begun: usize,
    /// Where the element of the last start tag belongs.
    namespace: Namespace,
    tag: TagBuilder,
    namespaces: Namespaces,
    following: Following,
}

/// What the last start tag says about what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Following {
    Markup,
    Raw(RawText),
    PlainText,
}

impl<'a> Tokens<'a> {
    /// The tokens of a page.
    pub fn new(html: &'a str) -> Self {
        Self {
            html,
            at: 0,
            end: html.len(),
            around: None,
            begun: 0,
            namespace: Namespace::Html,
            tag: TagBuilder::new(),
            namespaces: Namespaces::default(),
            following: Following::Markup,
        }
    }

    /// Where the next token begins, or what is passed over before it.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Where the last token began.
    pub const fn begun(&self) -> usize {
        self.begun
    }

    /// Where the element of the last start tag belongs.
    pub const fn namespace(&self) -> Namespace {
        self.namespace
    }

    /// What may be read; a token ends in it.
    fn bytes(&self) -> &'a [u8] {
        &self.html.as_bytes()[..self.end]
    }

    /// The content of `noscript` begins here, and ends where text would.
    fn enter_noscript(&mut self) {
        let end = self.raw_end(RawText::Noscript);
        self.end = end;
        self.around = Some(std::mem::take(&mut self.namespaces));
    }

    /// All of a `noscript` was read; answers whether there was one.
    fn leave_noscript(&mut self) -> bool {
        let Some(around) = self.around.take() else {
            return false;
        };
        self.namespaces = around;
        self.at = self.end;
        self.end = self.html.len();
        self.following = Following::Markup;
        true
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.html.get(start..end).unwrap_or_default()
    }

    /// Text up to the next thing that can begin a tag or a comment.
    fn text(&mut self) -> MarkupToken<'a> {
        let bytes = self.bytes();
        let start = self.at;
        // The first byte is text even if it is a `<`, since no tag begins here.
        let mut look = start + 1;
        let end = loop {
            let Some(found) = bytes.get(look..).and_then(|rest| find(b'<', rest)) else {
                break bytes.len();
            };
            let next = bytes.get(look + found + 1).copied().unwrap_or_default();
            if next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?') {
                break look + found;
            }
            look += found + 1;
        };
        self.at = end;
        MarkupToken::Text(self.slice(start, end))
    }

    fn end_tag(&mut self, start: usize) -> Option<MarkupToken<'a>> {
        self.at = self.scan(TagKind::End, start)?;
        self.namespaces.end(self.tag.name);
        Some(MarkupToken::End(self.tag.name))
    }

    fn start_tag(&mut self, start: usize) -> Option<MarkupToken<'a>> {
        let bytes = self.bytes();
        self.tag.begin(TagKind::Start, start);
        let end = match self.tag.scan_plain(&bytes[start..]) {
            Some(PlainTag::Attributes { length }) => start + length,
            Some(PlainTag::Name) | None => self.scan(TagKind::Start, start)?,
        };
        self.at = end;
        let name = self.tag.name;
        let tag = StartTag {
            tag: &self.tag,
            bytes: &bytes[start..end],
        };
        let (namespace, next) = self.namespaces.start(&tag);
        self.namespace = namespace;
        if next == AfterStartTag::Raw(RawText::Noscript) && self.around.is_none() {
            self.enter_noscript();
        }
        self.following = match next {
            AfterStartTag::Data | AfterStartTag::Raw(RawText::Noscript) => Following::Markup,
            AfterStartTag::Raw(text) => Following::Raw(text),
            AfterStartTag::PlainText => Following::PlainText,
        };
        let begins_raw_text = matches!(self.following, Following::Raw(_));
        let text = self.slice(start + name_length(&bytes[start..end]), end - 1);
        let attributes = TagAttributes::new(text, self.tag.is_self_closing, begins_raw_text);
        Some(MarkupToken::Start(name, attributes))
    }

    /// Reads the tag whose name begins here; answers the place behind it. A tag that the page cuts
    /// off is none, and nothing follows it.
    fn scan(&mut self, way: TagKind, start: usize) -> Option<usize> {
        self.tag.begin(way, start);
        let end = self.tag.scan(self.bytes(), start);
        self.at = self.end;
        end
    }

    /// Passes a comment, a declaration or what looks like one.
    fn pass(&mut self, mut declaration: Declaration) {
        let bytes = self.bytes();
        let start = (self.at + "<!".len()).min(bytes.len());
        let end = declaration.scan(bytes, start, |_| {});
        self.at = end.unwrap_or(bytes.len());
    }

    /// The content of a raw element; its end tag comes next.
    fn raw(&mut self, text: RawText) -> MarkupToken<'a> {
        let start = self.at;
        self.at = self.raw_end(text);
        MarkupToken::Raw(Name::new(Raw::new(text).name()), self.slice(start, self.at))
    }

    /// Where the text ends that begins here.
    fn raw_end(&self, text: RawText) -> usize {
        let mut length = 0;
        let mut raw = Raw::new(text);
        let end = raw.scan(self.bytes(), self.at, |piece| length += piece.len());
        end.map_or(self.end, |_| self.at + length)
    }

    /// All that is left, of which nothing is markup.
    fn plain_text(&mut self) -> Option<MarkupToken<'a>> {
        let start = std::mem::replace(&mut self.at, self.end);
        (start < self.at).then(|| MarkupToken::Text(self.slice(start, self.at)))
    }

    /// The next token up to the end of what is read.
    fn next_of_markup(&mut self) -> Option<MarkupToken<'a>> {
        self.begun = self.at;
        match self.following {
            Following::Markup => {}
            Following::PlainText => return self.plain_text(),
            Following::Raw(text) => {
                self.following = Following::Markup;
                return Some(self.raw(text));
            }
        }
        let bytes = self.bytes();
        loop {
            self.begun = self.at;
            match bytes.get(self.at..)? {
                [] => return None,
                [b'<', b'/', next, ..] if next.is_ascii_alphabetic() => {
                    return self.end_tag(self.at + 2);
                }
                [b'<', b'!', ..] => {
                    let sections = Sections::within(&self.namespaces);
                    self.pass(Declaration::Open(sections));
                }
                [b'<', b'?' | b'/', ..] => self.pass(Declaration::Bogus),
                [b'<', next, ..] if next.is_ascii_alphabetic() => {
                    return self.start_tag(self.at + 1);
                }
                _ => return Some(self.text()),
            }
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = MarkupToken<'a>;

    fn next(&mut self) -> Option<MarkupToken<'a>> {
        loop {
            let token = self.next_of_markup();
            if token.is_some() || !self.leave_noscript() {
                return token;
            }
        }
    }
}

/// How long the name is with which the text of a tag begins.
fn name_length(tag: &[u8]) -> usize {
    match plain::name(tag) {
        Some((_, length)) if ends_name(tag[length]) => length,
        _ => {
            let end = tag.iter().position(|byte| ends_name(*byte));
            end.unwrap_or(tag.len())
        }
    }
}
