//! The HTTP message in a block.
//!
//! Owns the lenient reading of a recorded head, and the way from the recorded body to what the
//! server meant. Refuses to judge: a head that makes no sense is bytes without fields.

mod body;

pub use body::{PayloadReader, decoded, payload, split};

use crate::media_type::MediaType;

/// Whether a head says that its body is chunked: the last transfer coding counts.
pub(crate) fn is_chunked(head: &[u8]) -> bool {
    HttpHead::parse(head).is_chunked()
}

/// The longest head that is looked into; what lies beyond is body.
pub const LONGEST_HEAD: usize = 1024 * 1024;

/// The longest list of codings that is compared with others.
const LONGEST_CODINGS: usize = 64;

/// The content codings that exist (the registry of RFC 9110 section 16.6.1, and old names).
const CONTENT_CODINGS: [&str; 11] = [
    "gzip",
    "x-gzip",
    "deflate",
    "br",
    "zstd",
    "compress",
    "x-compress",
    "aes128gcm",
    "exi",
    "dcb",
    "dcz",
];

/// Whether a word of Content-Encoding names a coding, in any case. Servers also write encodings
/// (`utf-8`) and mail's words (`8bit`) there; such words change nothing, as in browsers.
pub fn is_content_coding(word: &[u8]) -> bool {
    CONTENT_CODINGS
        .iter()
        .any(|coding| word.eq_ignore_ascii_case(coding.as_bytes()))
}

/// The word of a member of Content-Encoding: without white space and parameters.
pub fn coding_word(member: &[u8]) -> &[u8] {
    let end = memchr::memchr(b';', member).unwrap_or(member.len());
    member[..end].trim_ascii()
}

/// A head as it was recorded, and what it says.
#[derive(Debug, Clone, Copy)]
pub struct HttpHead<'a> {
    bytes: &'a [u8],
    first_line: &'a [u8],
    rest: &'a [u8],
}

impl<'a> HttpHead<'a> {
    /// Reads the bytes of a head, without or with what follows it.
    pub fn parse(bytes: &'a [u8]) -> Self {
        let bytes = &bytes[..length(bytes).unwrap_or(bytes.len())];
        let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        let (first, rest) = bytes.split_at(end);
        Self {
            bytes,
            first_line: first.trim_ascii_end(),
            rest,
        }
    }

    /// The bytes, with the empty line.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The request line or the status line, without its end.
    pub fn first_line(&self) -> &'a [u8] {
        self.first_line
    }

    /// The status, if this is the head of an answer.
    pub fn status(&self) -> Option<u16> {
        let mut words = self.first_line.split(|&byte| byte == b' ');
        let version = words.next()?;
        let is_answer = version.get(..5)?.eq_ignore_ascii_case(b"HTTP/");
        let code = words.find(|word| !word.is_empty())?;
        let code = std::str::from_utf8(code).ok()?;
        code.parse()
            .ok()
            .filter(|code| is_answer && (100..1000).contains(code))
    }

    /// The fields in their order, as they stand: white space around a value taken off, folded
    /// lines left as they are.
    pub fn fields(&self) -> HeadFields<'a> {
        HeadFields { rest: self.rest }
    }

    /// The values of all fields of a name, in order.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// The first field of a name, as text.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.all(name).next()?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// Whether the body is chunked: the last transfer coding that changes anything says so.
    pub fn is_chunked(&self) -> bool {
        let codings = self.all("transfer-encoding");
        let codings = codings.flat_map(|value| value.split(|&byte| byte == b','));
        codings
            .map(<[u8]>::trim_ascii)
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
            .last()
            .is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"))
    }

    /// The content codings in the order in which they were applied; words that name none are
    /// left out.
    pub fn content_codings(&self) -> Vec<String> {
        let values = self.all("content-encoding");
        let codings = values.flat_map(|value| value.split(|&byte| byte == b','));
        codings
            .map(coding_word)
            .filter(|word| is_content_coding(word))
            .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
            .collect()
    }

    /// Content and transfer codings as a key to compare by: `gzip/chunked`, with `-` where there
    /// are none. Empty if they are not plain words.
    pub fn codings(&self) -> String {
        let words = |name| {
            let values = self.all(name);
            let words = values.flat_map(|value| value.split(|&byte| byte == b','));
            let words = words.map(|word| word.trim_ascii().to_ascii_lowercase());
            let told = words.filter(|word| !word.is_empty() && word != b"identity");
            match told.collect::<Vec<_>>().join(&b'+') {
                none if none.is_empty() => b"-".to_vec(),
                joined => joined,
            }
        };
        let codings = [words("content-encoding"), words("transfer-encoding")].join(&b'/');
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-+/_.".contains(byte);
        match String::from_utf8(codings) {
            Ok(codings)
                if codings.len() <= LONGEST_CODINGS && codings.bytes().all(|b| is_plain(&b)) =>
            {
                codings
            }
            _ => String::new(),
        }
    }

    /// The media type without its parameters, in lower case.
    pub fn media_type(&self) -> Option<String> {
        let text = self.text("content-type")?;
        MediaType::parse(text.as_bytes()).essence()
    }
}

/// Where a head ends: after the first empty line, whose line ends may be sloppy. Nothing if there
/// is no empty line within [`LONGEST_HEAD`].
pub fn length(bytes: &[u8]) -> Option<usize> {
    let bytes = &bytes[..bytes.len().min(LONGEST_HEAD)];
    for at in memchr::memchr_iter(b'\n', bytes) {
        match &bytes[at + 1..] {
            [b'\n', ..] => return Some(at + 2),
            [b'\r', b'\n', ..] => return Some(at + 3),
            _ => {}
        }
    }
    None
}

/// Fields of a head.
#[derive(Debug, Clone)]
pub struct HeadFields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for HeadFields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = &self.rest[..self.folded_line()];
            if line.is_empty() {
                return None;
            }
            self.rest = &self.rest[line.len()..];
            if let Some(colon) = memchr::memchr(b':', line) {
                let (name, value) = (&line[..colon], &line[colon + 1..]);
                return Some((name.trim_ascii(), value.trim_ascii()));
            }
        }
    }
}

impl HeadFields<'_> {
    /// The length of the next line with those that continue it.
    fn folded_line(&self) -> usize {
        for at in memchr::memchr_iter(b'\n', self.rest) {
            if !matches!(self.rest.get(at + 1), Some(b' ' | b'\t')) {
                return at + 1;
            }
        }
        self.rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_leniently() {
        let head = HttpHead::parse(
            b"HTTP/1.1  404 Not found\r\nA : 1\nB:2\r\n folded\r\nnonsense\r\na:\xff\r\n\r\nbody: x",
        );
        assert_eq!(head.status(), Some(404));
        let fields: Vec<_> = head.fields().collect();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"A", b"1"), (b"B", b"2\r\n folded"), (b"a", b"\xff")];
        assert_eq!(fields, expected);
        assert_eq!(head.all("A").count(), 2);
        assert!(head.as_bytes().ends_with(b"\r\n\r\n"));
    }

    #[test]
    fn codings_are_compared_by_their_names() {
        let long = format!("Content-Encoding: {}\n", "gzip,".repeat(20));
        for (fields, expected) in [
            ("", "-/-"),
            ("Content-Length: 7\n", "-/-"),
            ("transfer-encoding: Chunked\n", "-/chunked"),
            ("Content-Encoding: GZIP\n", "gzip/-"),
            (
                "Content-Encoding: br\nTransfer-Encoding: gzip, chunked\nContent-Encoding: identity,,x\n",
                "br+x/gzip+chunked",
            ),
            ("Content-Encoding: gzip;q=1\n", ""),
            ("Content-Encoding: \"x y\"\n", ""),
            (long.as_str(), ""),
        ] {
            let head = format!("HTTP/1.1 200 OK\n{fields}\n");
            assert_eq!(
                HttpHead::parse(head.as_bytes()).codings(),
                expected,
                "{fields}"
            );
        }
    }

    #[test]
    fn what_matters_is_told() {
        for (head, status, is_chunked, codings, media_type) in [
            ("HTTP/1.0 200\r\n\r\n", Some(200), false, "", None),
            ("GET / HTTP/1.1\r\n\r\n", None, false, "", None),
            ("HTTP/1.1 2000 x\r\n", None, false, "", None),
            ("", None, false, "", None),
            (
                "HTTP/1.1 200 OK\nTransfer-Encoding: gzip\nTransfer-Encoding: x, Chunked \n\n",
                Some(200),
                true,
                "",
                None,
            ),
            (
                "HTTP/1.1 200 OK\nTransfer-Encoding: chunked, gzip\n\n",
                Some(200),
                false,
                "",
                None,
            ),
            (
                "HTTP/1.1 200 OK\nTransfer-Encoding: chunked, identity\nTransfer-Encoding:\n\n",
                Some(200),
                true,
                "",
                None,
            ),
            (
                "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n",
                Some(200),
                true,
                "",
                None,
            ),
            (
                "HTTP/1.1 200 OK\nContent-Encoding: utf-8, none\nContent-Encoding: 8bit,\u{e9}\n\n",
                Some(200),
                false,
                "",
                None,
            ),
            (
                "HTTP/1.1 200 OK\nContent-Encoding: utf-8, compress, gzip;q=1\n\n",
                Some(200),
                false,
                "compress gzip",
                None,
            ),
            (
                "HTTP/1.1 200 OK\nContent-Encoding: GZIP, identity,,br\nContent-Type: Text/HTML; c=d\n\n",
                Some(200),
                false,
                "gzip br",
                Some("text/html"),
            ),
        ] {
            let read = HttpHead::parse(head.as_bytes());
            assert_eq!(read.status(), status, "{head}");
            assert_eq!(read.is_chunked(), is_chunked, "{head}");
            assert_eq!(read.content_codings().join(" "), codings, "{head}");
            assert_eq!(read.media_type().as_deref(), media_type, "{head}");
        }
    }
}
