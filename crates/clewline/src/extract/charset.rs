//! In which encoding a text is.
//!
//! Owns what a document says of its own encoding in its first bytes (HTML section 13.2.3.2, the
//! XML declaration, `@charset`) and the guess for documents that say nothing. Refuses to know
//! the order of these sources against header fields; that is the page's. Invariant: linear in
//! the bytes given, and it never answers an encoding that a later byte could contradict.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

/// How much of a document is looked at for a declaration (HTML section 13.2.3.2).
pub(super) const PRESCAN: usize = 1024;

/// How much of an undeclared document the guess is based on.
pub(super) const GUESS: usize = 64 * 1024;

/// The text of an HTML document that came without a header, such as a file; broken bytes become
/// U+FFFD.
pub(super) fn decoded_html(bytes: &[u8]) -> Cow<'_, str> {
    let start = &bytes[..bytes.len().min(PRESCAN)];
    let sample = &bytes[..bytes.len().min(GUESS)];
    let declared = byte_order_mark(bytes).or_else(|| declared_in_html(start));
    let encoding = declared.unwrap_or_else(|| guess(sample, ""));
    encoding.decode(bytes).0
}

/// The encoding that a byte order mark names.
pub(super) fn byte_order_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_bom(bytes).map(|(encoding, _)| encoding)
}

/// The encoding that an HTML document declares: `meta`, else an XML declaration.
pub(super) fn declared_in_html(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    Scan { bytes, at: 0 }
        .run()
        .or_else(|| declared_in_xml(bytes))
}

/// The encoding that an XML document declares. A text in which the declaration can be read
/// byte by byte is not UTF-16, whatever it says.
pub(super) fn declared_in_xml(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.starts_with(b"<\0") {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(b"\0<") {
        return Some(UTF_16BE);
    }
    let bytes = &bytes[..bytes.len().min(PRESCAN)];
    let declaration = bytes.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let after = &declaration[memmem::find(declaration, b"encoding")? + b"encoding".len()..];
    let value = after
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let quote = *value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let value = &value[1..];
    readable(&value[..memchr::memchr(quote, value)?])
}

/// The encoding that a style sheet declares (CSS Syntax section 3.2).
pub(super) fn declared_in_css(bytes: &[u8]) -> Option<&'static Encoding> {
    let rest = bytes.strip_prefix(b"@charset \"")?;
    let rest = &rest[..rest.len().min(PRESCAN)];
    let end = memmem::find(rest, b"\";")?;
    readable(&rest[..end])
}

/// A guess for a document that declares nothing; unlike a browser we may guess UTF-8, because
/// no author tests a page against us.
pub(super) fn guess(bytes: &[u8], host: &str) -> &'static Encoding {
    if bytes.is_ascii() {
        return UTF_8;
    }
    let top = host.rsplit('.').next().filter(|label| {
        // The detector wants a lower-case label without dots, and panics on anything else.
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    });
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(top.map(str::as_bytes), chardetng::Utf8Detection::Allow)
}

/// The encoding of a label found inside a text whose bytes were just read as ASCII.
fn readable(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label)?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

/// What a `meta` says of the encoding.
#[derive(Default)]
struct Declared<'a> {
    is_content_type: Option<bool>,
    content: Option<&'a [u8]>,
    charset: Option<&'a [u8]>,
}

impl Declared<'_> {
    fn encoding(self) -> Option<&'static Encoding> {
        let encoding = match (self.charset, self.content) {
            (Some(label), _) => Encoding::for_label(label)?,
            (None, Some(content)) if self.is_content_type == Some(true) => {
                charset_in_content(&content.to_ascii_lowercase())?
            }
            _ => return None,
        };
        readable(encoding.name().as_bytes())
    }
}

/// One step through a tag.
#[derive(PartialEq, Eq)]
enum Step<'a> {
    Attribute(&'a [u8], &'a [u8]),
    TagEnd,
}

/// The prescan; `None` from its steps means that the bytes ran out.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn run(mut self) -> Option<&'static Encoding> {
        loop {
            self.at += memchr::memchr(b'<', self.bytes.get(self.at..)?)?;
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"<!--") {
                // The dashes of the opening may be those of the closing.
                self.at += 2 + memmem::find(&rest[2..], b"-->")? + 3;
            } else if is_meta(rest) {
                self.at += b"<meta".len();
                let mut declared = Declared::default();
                self.meta(&mut declared)?;
                if let Some(encoding) = declared.encoding() {
                    return Some(encoding);
                }
            } else if is_tag(rest) {
                let name = rest
                    .iter()
                    .position(|byte| is_space(*byte) || *byte == b'>')?;
                let text = raw_text(&rest[1..name]);
                self.at += name;
                while self.attribute()? != Step::TagEnd {}
                if let Some(name) = text {
                    self.skip_text(name)?;
                }
            } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
                self.at += memchr::memchr(b'>', rest)? + 1;
            } else {
                self.at += 1;
            }
        }
    }

    /// Skips the text of an element, up to its end tag. The prescan of the standard does not, but
    /// browsers do: what looks like markup in a title or a script is none.
    fn skip_text(&mut self, name: &str) -> Option<()> {
        loop {
            self.at += memmem::find(self.bytes.get(self.at..)?, b"</")?;
            let end = self.bytes.get(self.at + 2..self.at + 2 + name.len())?;
            let after = *self.bytes.get(self.at + 2 + name.len())?;
            if end.eq_ignore_ascii_case(name.as_bytes())
                && (is_space(after) || matches!(after, b'/' | b'>'))
            {
                return Some(());
            }
            self.at += 2;
        }
    }

    /// The attributes of one `meta`; of several with the same name the first counts.
    fn meta(&mut self, declared: &mut Declared<'a>) -> Option<()> {
        while let Step::Attribute(name, value) = self.attribute()? {
            if name.eq_ignore_ascii_case(b"http-equiv") {
                let is_type = value.eq_ignore_ascii_case(b"content-type");
                declared.is_content_type.get_or_insert(is_type);
            } else if name.eq_ignore_ascii_case(b"content") {
                declared.content.get_or_insert(value);
            } else if name.eq_ignore_ascii_case(b"charset") {
                declared.charset.get_or_insert(value);
            }
        }
        Some(())
    }

    /// "Get an attribute", as written.
    fn attribute(&mut self) -> Option<Step<'a>> {
        self.skip(|byte| is_space(byte) || byte == b'/')?;
        if self.peek()? == b'>' {
            self.at += 1;
            return Some(Step::TagEnd);
        }
        let start = self.at;
        // An equals sign may be the first character of a name.
        self.at += 1;
        self.skip(|byte| !is_space(byte) && !matches!(byte, b'=' | b'/' | b'>'))?;
        let name = &self.bytes[start..self.at];
        self.skip(is_space)?;
        if self.peek()? != b'=' {
            return Some(Step::Attribute(name, b""));
        }
        self.at += 1;
        self.skip(is_space)?;
        let value = self.value()?;
        Some(Step::Attribute(name, value))
    }

    fn value(&mut self) -> Option<&'a [u8]> {
        let first = self.peek()?;
        let rest = &self.bytes[self.at..];
        if matches!(first, b'"' | b'\'') {
            let end = memchr::memchr(first, &rest[1..])?;
            self.at += end + 2;
            return Some(&rest[1..=end]);
        }
        let end = rest
            .iter()
            .position(|byte| is_space(*byte) || *byte == b'>')?;
        self.at += end;
        Some(&rest[..end])
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, while_true: impl Fn(u8) -> bool) -> Option<()> {
        let rest = self.bytes.get(self.at..)?;
        self.at += rest.iter().position(|byte| !while_true(*byte))?;
        Some(())
    }
}

/// "Extracting a character encoding from a meta element" (HTML section 2.5).
fn charset_in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        rest = &rest[memmem::find(rest, b"charset")? + b"charset".len()..];
        let after = rest.trim_ascii_start();
        if let Some(value) = after.strip_prefix(b"=") {
            rest = value.trim_ascii_start();
            break;
        }
    }
    let first = *rest.first()?;
    let label = if matches!(first, b'"' | b'\'') {
        &rest[1..=memchr::memchr(first, &rest[1..])?]
    } else {
        let end = rest
            .iter()
            .position(|byte| is_space(*byte) || *byte == b';');
        &rest[..end.unwrap_or(rest.len())]
    };
    Encoding::for_label(label)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn is_meta(rest: &[u8]) -> bool {
    rest.get(..5)
        .is_some_and(|head| head.eq_ignore_ascii_case(b"<meta"))
        && rest
            .get(5)
            .is_some_and(|byte| is_space(*byte) || *byte == b'/')
}

/// The name of an element whose content is text, if this is one. `noscript` is not: we run none.
fn raw_text(name: &[u8]) -> Option<&'static str> {
    const NAMES: [&str; 8] = [
        "iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp",
    ];
    let name = name.split(|byte| *byte == b'/').next().unwrap_or_default();
    NAMES
        .into_iter()
        .find(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

fn is_tag(rest: &[u8]) -> bool {
    let name = rest.get(1..).unwrap_or_default();
    let name = name.strip_prefix(b"/").unwrap_or(name);
    name.first().is_some_and(u8::is_ascii_alphabetic)
}
