//! What a Content-Type says: the media type and its charset.
//!
//! Owns the reading of the field as servers write it (MIME Sniffing section 4.4, with what is met
//! beside it). Refuses to know what a type means and which encodings there are. Invariant: nothing
//! is refused; of a value that says nothing there is nothing to tell.

/// The value of a Content-Type.
#[derive(Debug, Clone, Copy)]
pub struct MediaType<'a> {
    essence: &'a [u8],
    parameters: &'a [u8],
}

impl<'a> MediaType<'a> {
    /// Reads a value. A comma joins repeated fields, which are mostly equal: the first counts.
    pub fn parse(value: &'a [u8]) -> Self {
        let end = memchr::memchr2(b';', b',', value).unwrap_or(value.len());
        let (essence, parameters) = value.split_at(end);
        Self {
            essence: essence.trim_ascii(),
            parameters,
        }
    }

    /// The type without its parameters, in lower case; nothing if it is empty.
    ///
    /// ```
    /// use clewline_warc::MediaType;
    /// let media = MediaType::parse(b" Text/HTML ; charset=\"utf-8\"");
    /// assert_eq!(media.essence().as_deref(), Some("text/html"));
    /// assert_eq!(media.charset(), Some(&b"utf-8"[..]));
    /// ```
    pub fn essence(&self) -> Option<String> {
        let essence = String::from_utf8_lossy(self.essence).to_ascii_lowercase();
        Some(essence).filter(|essence| !essence.is_empty())
    }

    /// The value of the first charset parameter, as written.
    pub fn charset(&self) -> Option<&'a [u8]> {
        let mut rest = self.parameters;
        while let Some(parameter) = rest.strip_prefix(b";") {
            let name_end = memchr::memchr2(b';', b'=', parameter)?;
            let name = parameter[..name_end].trim_ascii();
            rest = &parameter[name_end..];
            if let Some(raw) = rest.strip_prefix(b"=") {
                let (value, after) = parameter_value(raw);
                if name.eq_ignore_ascii_case(b"charset") {
                    return Some(value);
                }
                rest = after;
            }
        }
        None
    }
}

/// A parameter's value and what follows it. White space before a value is no part of HTTP's
/// grammar and single quotes quote nothing, but both are met.
fn parameter_value(raw: &[u8]) -> (&[u8], &[u8]) {
    let raw = raw.trim_ascii_start();
    let quote = raw.first().filter(|byte| matches!(byte, b'"' | b'\''));
    let (value, after) = match quote {
        Some(quote) => {
            let inner = &raw[1..];
            inner.split_at(memchr::memchr(*quote, inner).unwrap_or(inner.len()))
        }
        None => raw.split_at(memchr::memchr(b';', raw).unwrap_or(raw.len())),
    };
    let end = memchr::memchr(b';', after).unwrap_or(after.len());
    (value, &after[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_servers_write_them() {
        for (value, essence, charset) in [
            ("text/html", Some("text/html"), None),
            ("Text/HTML ;Charset=UTF-8", Some("text/html"), Some("UTF-8")),
            (
                "text/html; a=\";\"; charset='x'",
                Some("text/html"),
                Some("x"),
            ),
            (
                "text/html;charset=\"x;y\" z",
                Some("text/html"),
                Some("x;y"),
            ),
            ("text/html; charset", Some("text/html"), None),
            ("text/html;CHARSET = \"x\"", Some("text/html"), Some("x")),
            (
                "text/html;charset=a;charset=b",
                Some("text/html"),
                Some("a"),
            ),
            ("text/html, text/plain; charset=x", Some("text/html"), None),
            (" ; charset=x", None, Some("x")),
            ("", None, None),
        ] {
            let media = MediaType::parse(value.as_bytes());
            assert_eq!(media.essence().as_deref(), essence, "{value}");
            assert_eq!(media.charset(), charset.map(str::as_bytes), "{value}");
        }
    }
}
