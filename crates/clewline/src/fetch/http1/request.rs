//! The request head as bytes.
//!
//! Owns the request line and the field lines. Refuses to know which fields a request should
//! have, and what a URL is beyond its characters. Invariant: nothing it writes can end a line
//! before the writer does, so a URL or a value can't smuggle in a second request.

use percent_encoding::percent_encode_byte;

/// The methods a crawler uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Ask for the page.
    Get,
    /// Ask for the head of the page.
    Head,
    /// Ask a proxy for a tunnel.
    Connect,
}

impl Method {
    fn name(self) -> &'static [u8] {
        match self {
            Self::Get => b"GET",
            Self::Head => b"HEAD",
            Self::Connect => b"CONNECT",
        }
    }
}

/// What is asked for, in one of the forms of RFC 9112 section 3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// Path and query, for the server itself.
    Origin(&'a str),
    /// The whole URL, for a proxy.
    Absolute(&'a str),
    /// Host and port, for `CONNECT`.
    Authority(&'a str),
}

/// One request without a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestHead<'a> {
    /// The method.
    pub method: Method,
    /// The target.
    pub target: Target<'a>,
    /// All fields, `Host` among them, in the order in which they are sent.
    pub fields: &'a [(&'a str, &'a [u8])],
}

/// Why a request was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RequestError {
    /// The name is not a token (RFC 9110 section 5.6.2).
    #[error("a header name is empty or holds a character that is not allowed")]
    Name,
    /// The value holds CR, LF or NUL.
    #[error("a header value holds a line break or a NUL")]
    Value,
}

/// Appends the request to `out`, or leaves `out` as it was.
pub(crate) fn write_request(out: &mut Vec<u8>, head: &RequestHead<'_>) -> Result<(), RequestError> {
    for (name, value) in head.fields {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(RequestError::Name);
        }
        if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(RequestError::Value);
        }
    }
    out.extend_from_slice(head.method.name());
    out.push(b' ');
    write_target(out, head.target);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    for (name, value) in head.fields {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// A URL in WHATWG serialisation is visible ASCII already. Whatever else comes is encoded here
/// once more, because a space or a line break in the request line would change its meaning.
fn write_target(out: &mut Vec<u8>, target: Target<'_>) {
    let (Target::Origin(text) | Target::Absolute(text) | Target::Authority(text)) = target;
    // A fragment is for the user agent alone and is never sent (RFC 9110 section 7.1).
    let text = text.split('#').next().unwrap_or_default();
    if matches!(target, Target::Origin(_)) && !text.starts_with('/') {
        out.push(b'/');
    }
    for byte in text.bytes() {
        if byte.is_ascii_graphic() {
            out.push(byte);
        } else {
            out.extend_from_slice(percent_encode_byte(byte).as_bytes());
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
