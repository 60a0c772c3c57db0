//! A page as a stream of tags and texts.
//!
//! Owns where a tag, a comment, an attribute and a raw text end, as HTML's tokenizer has it. It
//! refuses to know what an element means and keeps no stack. Invariant: time is linear in the
//! input, because every search goes on from where the last ended, and nothing is copied.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use crate::tag::Tag;

/// A piece of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Text with its character references as written.
    Text(&'a str),
    /// The content of a raw element, with what it is the content of.
    Raw(Tag, &'a str),
    /// A start tag.
    Open(Tag, Attributes<'a>),
    /// An end tag.
    Close(Tag),
}

/// The attributes of a tag, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Attributes<'a> {
    text: &'a str,
    /// Whether the tag ends in a slash, which ends elements of SVG and `MathML`.
    pub(crate) closes: bool,
}

impl<'a> Attributes<'a> {
    /// The value of an attribute, its character references decoded; the first of a name counts.
    pub(crate) fn value(self, name: &str) -> Option<Cow<'a, str>> {
        self.iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| htmlize::unescape_attribute(value))
    }

    /// Whether there is nothing to look for.
    pub(crate) const fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Names and values as written.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let part = Part::at(self.text.as_bytes(), at)?;
            at = part.next;
            let name = self.text.get(part.name.0..part.name.1)?;
            Some((name, self.text.get(part.value.0..part.value.1)?))
        })
    }
}

/// Where an attribute lies.
struct Part {
    name: (usize, usize),
    value: (usize, usize),
    next: usize,
}

impl Part {
    /// The attribute that begins at or after `at`; none where the tag or the input ends.
    fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let is_gap = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'/';
        let start = at + bytes.get(at..)?.iter().position(|byte| !is_gap(byte))?;
        if bytes[start] == b'>' {
            return None;
        }
        let ends_name = |byte: &u8| is_gap(byte) || matches!(byte, b'=' | b'>');
        // A name may begin with an equals sign.
        let rest = &bytes[start + 1..];
        let end = start + 1 + rest.iter().position(ends_name).unwrap_or(rest.len());
        let after = skip_space(bytes, end);
        if bytes.get(after) != Some(&b'=') {
            let (name, value) = ((start, end), (end, end));
            return Some(Self {
                name,
                value,
                next: end,
            });
        }
        let (value, next) = value_at(bytes, skip_space(bytes, after + 1));
        Some(Self {
            name: (start, end),
            value,
            next,
        })
    }
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let space = rest.iter().position(|byte| !byte.is_ascii_whitespace());
    at + space.unwrap_or(rest.len())
}

/// The value that begins here, and where to go on.
fn value_at(bytes: &[u8], start: usize) -> ((usize, usize), usize) {
    if let Some(&quote @ (b'"' | b'\'')) = bytes.get(start) {
        let rest = &bytes[start + 1..];
        let end = start + 1 + memchr(quote, rest).unwrap_or(rest.len());
        return ((start + 1, end), (end + 1).min(bytes.len()));
    }
    let rest = bytes.get(start..).unwrap_or_default();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'>';
    let end = start + rest.iter().position(ends).unwrap_or(rest.len());
    ((start, end), end)
}

/// Reads a page from its beginning.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    html: &'a str,
    at: usize,
    /// The raw element whose content comes next.
    raw: Option<Tag>,
}

impl<'a> Scanner<'a> {
    pub(crate) const fn new(html: &'a str) -> Self {
        Self {
            html,
            at: 0,
            raw: None,
        }
    }

    /// Where the next token begins.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// Text up to the next thing that can begin a tag or a comment.
    fn text(&mut self) -> Option<Token<'a>> {
        let bytes = self.html.as_bytes();
        let start = self.at;
        // The first byte is text even if it is a `<`, since no tag begins here.
        let mut look = start + 1;
        let end = loop {
            let Some(found) = bytes.get(look..).and_then(|rest| memchr(b'<', rest)) else {
                break bytes.len();
            };
            let next = bytes.get(look + found + 1).copied().unwrap_or_default();
            if next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?') {
                break look + found;
            }
            look += found + 1;
        };
        self.at = end;
        self.html.get(start..end).map(Token::Text)
    }

    fn tag(&mut self, start: usize) -> Option<Token<'a>> {
        let bytes = self.html.as_bytes();
        let is_close = bytes[start] == b'/';
        let name_start = start + usize::from(is_close);
        let rest = &bytes[name_start..];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let name_end = name_start + rest.iter().position(ends).unwrap_or(rest.len());
        let mut end = name_end;
        while let Some(part) = Part::at(bytes, end) {
            end = part.next;
        }
        let Some(close) = bytes.get(end..).and_then(|rest| memchr(b'>', rest)) else {
            // A tag that the input cuts off is no tag.
            self.at = bytes.len();
            return None;
        };
        self.at = end + close + 1;
        let tag = Tag::of(&bytes[name_start..name_end]);
        if is_close {
            return Some(Token::Close(tag));
        }
        self.raw = tag.is_raw().then_some(tag);
        let attributes = Attributes {
            text: self.html.get(name_end..end).unwrap_or_default(),
            closes: bytes[end..end + close].contains(&b'/'),
        };
        Some(Token::Open(tag, attributes))
    }

    /// Passes a comment, a declaration or what looks like one.
    fn pass_comment(&mut self) {
        let bytes = self.html.as_bytes();
        let rest = &bytes[self.at..];
        let (from, end): (usize, &[u8]) = match rest {
            [b'<', b'!', b'-', b'-', b'>', ..] => (4, b">"),
            [b'<', b'!', b'-', b'-', b'-', b'>', ..] => (5, b">"),
            [b'<', b'!', b'-', b'-', ..] => (4, b"-->"),
            _ => (2, b">"),
        };
        let found = rest.get(from..).and_then(|rest| memmem::find(rest, end));
        self.at += found.map_or(rest.len(), |found| from + found + end.len());
    }

    /// The content of a raw element; its end tag comes next.
    fn raw(&mut self, tag: Tag) -> Token<'a> {
        let bytes = self.html.as_bytes();
        let start = self.at;
        let mut look = start;
        let end = loop {
            let Some(found) = memmem::find(&bytes[look..], b"</") else {
                break bytes.len();
            };
            let name = &bytes[look + found + 2..];
            let ends = |byte: &u8| !byte.is_ascii_alphanumeric();
            // No raw element has a name longer than this; a long word is not read to its end
            // again and again.
            let name = &name[..name.len().min(16)];
            let length = name.iter().position(ends).unwrap_or(name.len());
            if Tag::of(&name[..length]) == tag {
                break look + found;
            }
            look += found + 2;
        };
        self.at = end;
        Token::Raw(tag, self.html.get(start..end).unwrap_or_default())
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if let Some(tag) = self.raw.take() {
            return Some(self.raw(tag));
        }
        let bytes = self.html.as_bytes();
        loop {
            match bytes.get(self.at..)? {
                [] => return None,
                [b'<', b'/', next, ..] if next.is_ascii_alphabetic() => {
                    return self.tag(self.at + 1);
                }
                [b'<', b'!' | b'?' | b'/', ..] => self.pass_comment(),
                [b'<', next, ..] if next.is_ascii_alphabetic() => return self.tag(self.at + 1),
                _ => return self.text(),
            }
        }
    }
}

/// Whether a class or another list of words holds a word for which `is_it` is true.
pub(crate) fn any_word(list: &str, is_it: impl Fn(&str) -> bool) -> bool {
    list.split_ascii_whitespace().any(is_it)
}

/// Decodes character references, where there are any.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    htmlize::unescape(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(html: &str) -> Vec<String> {
        let show = |token| match token {
            Token::Text(text) => format!("{text:?}"),
            Token::Raw(tag, text) => format!("{tag:?}{text:?}"),
            Token::Open(tag, attributes) => {
                let pairs: Vec<_> = attributes
                    .iter()
                    .map(|(n, v)| format!(" {n}={v}"))
                    .collect();
                format!("<{tag:?}{}>", pairs.concat())
            }
            Token::Close(tag) => format!("</{tag:?}>"),
        };
        Scanner::new(html).map(show).collect()
    }

    #[test]
    fn pages_fall_into_tokens() {
        for (html, expected) in [
            ("a<b>c</b>", &["\"a\"", "<B>", "\"c\"", "</B>"][..]),
            ("a < b <3", &["\"a < b <3\""]),
            (
                "<p class='a b' hidden id=x/y>",
                &["<P class=a b hidden= id=x/y>"],
            ),
            (
                "<a title=it's href=\"a>b\">x",
                &["<A title=it's href=a>b>", "\"x\""],
            ),
            ("<a =x=1>", &["<A =x=1>"]),
            ("<br/>x", &["<Br>", "\"x\""]),
            ("<!-- <b> -->x<!-->y<!--->z", &["\"x\"", "\"y\"", "\"z\""]),
            ("<!doctype html><?php x?>a</3>b", &["\"a\"", "\"b\""]),
            (
                "<SCRIPT>if (a</b) '</scripts>'</Script >x",
                &[
                    "<Script>",
                    "Script\"if (a</b) '</scripts>'\"",
                    "</Script>",
                    "\"x\"",
                ],
            ),
            (
                "<title>a &amp; <b></title>",
                &["<Title>", "Title\"a &amp; <b>\"", "</Title>"],
            ),
            ("a<b", &["\"a\""]),
            ("a<b x='", &["\"a\""]),
            ("a<!-- b", &["\"a\""]),
            ("<style>x", &["<Style>", "Style\"x\""]),
            ("<", &["\"<\""]),
            ("", &[]),
        ] {
            assert_eq!(words(html), expected, "{html}");
        }
    }

    #[test]
    fn a_slash_ends_a_tag_unless_it_is_of_a_value() {
        for (html, expected) in [
            ("<path d='M0/'/>", true),
            ("<path/>", true),
            ("<path d=1 / >", true),
            ("<path d=1/>", false),
            ("<path d='/'>", false),
        ] {
            let Some(Token::Open(_, attributes)) = Scanner::new(html).next() else {
                panic!("no tag");
            };
            assert_eq!(attributes.closes, expected, "{html}");
        }
    }

    #[test]
    fn the_first_attribute_of_a_name_counts_and_is_decoded() {
        let mut scanner = Scanner::new("<a HREF='?a&amp;b' href=2>");
        let Some(Token::Open(_, attributes)) = scanner.next() else {
            panic!("no tag");
        };
        assert_eq!(attributes.value("href").as_deref(), Some("?a&b"));
        assert_eq!(attributes.value("title"), None);
    }
}
