//! Header fields as they were received.
//!
//! Owns the fields of one message: their order, the case of their names, their duplicates and
//! the bytes of their values. Refuses to know what is a legal name, and
//! what a field means, but for Content-Type.
//! Invariant: `fields` are consecutive ranges that cover `buffer`, and the name part of each is
//! the bytes of a `str`.

use std::borrow::Cow;
use std::fmt;

use clewline_warc::MediaType;
use percent_encoding::percent_encode_byte;

/// Fields whose values are credentials, and must not reach a log by way of `Debug`.
const SECRET: [&str; 4] = [
    "set-cookie",
    "cookie",
    "authorization",
    "proxy-authorization",
];

/// The header fields of a response, in the order and the case in which they came.
///
/// ```
/// let mut headers = clewline::Headers::default();
/// headers.push("Content-Type", b"text/html");
/// assert_eq!(headers.get("content-type"), Some(&b"text/html"[..]));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    buffer: Vec<u8>,
    fields: Vec<Field>,
}

/// Where a field lies in the buffer: `start..value` is the name, `value..end` the value.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Field {
    start: usize,
    value: usize,
    end: usize,
}

impl Headers {
    /// Room for `fields` fields of `bytes` bytes in all, so that a parsed head allocates twice.
    pub(crate) fn with_capacity(fields: usize, bytes: usize) -> Self {
        Self {
            buffer: Vec::with_capacity(bytes),
            fields: Vec::with_capacity(fields),
        }
    }

    /// Appends a field; equal names do not replace each other.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(name.as_bytes());
        let middle = self.buffer.len();
        self.buffer.extend_from_slice(value);
        self.fields.push(Field {
            start,
            value: middle,
            end: self.buffer.len(),
        });
    }

    /// The value of the first field of this name, in any case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The value of the first field of this name as text: UTF-8 if it is that, else Latin-1,
    /// which is what the bytes above ASCII meant when HTTP still gave them a meaning
    /// (RFC 9110 section 5.5).
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.get(name)?;
        Some(match std::str::from_utf8(value) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(value.iter().copied().map(char::from).collect()),
        })
    }

    /// The value of the first field of this name as a URL reference: each byte outside ASCII is
    /// percent-encoded, whatever encoding it was meant in, as browsers do with `Location`.
    pub fn reference(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.get(name)?;
        Some(match std::str::from_utf8(value) {
            Ok(text) if text.is_ascii() => Cow::Borrowed(text),
            _ => Cow::Owned(value.iter().copied().fold(String::new(), push_escaped)),
        })
    }

    /// The media type that Content-Type names, without parameters and in lower case.
    pub(crate) fn media_type(&self) -> Option<String> {
        let value = self.text("content-type")?;
        MediaType::parse(value.as_bytes()).essence()
    }

    /// The values of all fields of this name, in order.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields.iter().filter_map(move |field| {
            let found = &self.buffer[field.start..field.value];
            found
                .eq_ignore_ascii_case(name.as_bytes())
                .then(|| &self.buffer[field.value..field.end])
        })
    }

    /// All fields: name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter().map(|field| {
            let name = std::str::from_utf8(&self.buffer[field.start..field.value])
                .expect("a name is pushed as a str and never changed");
            (name, &self.buffer[field.value..field.end])
        })
    }

    /// How many fields there are, duplicates counted.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field at all.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

fn push_escaped(mut text: String, byte: u8) -> String {
    if byte.is_ascii() {
        text.push(char::from(byte));
    } else {
        text.push_str(percent_encode_byte(byte));
    }
    text
}

/// Control characters are escaped, because a server's bytes must not steer a terminal, and the
/// values of cookies and credentials are left out.
impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = formatter.debug_map();
        for (name, value) in self.iter() {
            let secret = SECRET
                .iter()
                .any(|secret| name.eq_ignore_ascii_case(secret));
            if secret {
                map.entry(&name, &format_args!("<redacted>"));
            } else {
                map.entry(&name, &format_args!("\"{}\"", value.escape_ascii()));
            }
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Headers {
        let mut headers = Headers::default();
        for (name, value) in [
            ("Content-Type", &b"text/html"[..]),
            ("X-Odd", b"caf\xe9 \x1b[2J"),
            ("SET-cookie", b"id=hidden"),
            ("set-Cookie", b"b=2"),
            ("Authorization", b"Basic hidden"),
            ("X-Empty", b""),
        ] {
            headers.push(name, value);
        }
        headers
    }

    #[test]
    fn references_keep_the_bytes_that_were_sent() {
        for (value, expected) in [
            (&b"/plain?x=%E9#f"[..], "/plain?x=%E9#f"),
            (b"/caf\xe9", "/caf%E9"),
            (b"/caf\xc3\xa9?\xe9=\xff", "/caf%C3%A9?%E9=%FF"),
            (b"", ""),
        ] {
            let mut headers = Headers::default();
            headers.push("Location", value);
            assert_eq!(headers.reference("location").unwrap(), expected);
            assert_eq!(headers.reference("refresh"), None);
        }
    }

    #[test]
    fn finds_fields_in_any_case_and_keeps_duplicates() {
        let headers = sample();
        assert_eq!(headers.len(), 6);
        assert_eq!(headers.get("CONTENT-TYPE"), Some(&b"text/html"[..]));
        assert_eq!(headers.get("x-empty"), Some(&b""[..]));
        assert_eq!(headers.get("x-absent"), None);
        let cookies: Vec<_> = headers.all("set-cookie").collect();
        assert_eq!(cookies, [&b"id=hidden"[..], b"b=2"]);
        let names: Vec<_> = headers.iter().map(|(name, _)| name).collect();
        assert_eq!(names[2..4], ["SET-cookie", "set-Cookie"]);
    }

    #[test]
    fn text_is_latin_1_where_it_is_not_utf_8() {
        let mut headers = sample();
        headers.push("X-Utf8", "żółw".as_bytes());
        assert_eq!(headers.text("x-odd").unwrap(), "caf\u{e9} \u{1b}[2J");
        assert_eq!(headers.text("x-utf8").unwrap(), "żółw");
    }

    #[test]
    fn debug_escapes_controls_and_hides_secrets() {
        let shown = format!("{:?} {:#?}", sample(), sample());
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(!shown.contains("hidden"), "{shown}");
        assert!(shown.contains("caf\\xe9 \\x1b[2J"), "{shown}");
        assert!(shown.contains("text/html"), "{shown}");
    }
}
