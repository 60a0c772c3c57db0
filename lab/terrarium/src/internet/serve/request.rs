//! The reading of a request, as little of it as matters.
//!
//! Owns the request line and the handful of fields that change an answer. Refuses to copy.
//! Invariant: one look at each byte; a head longer than [`MAX_HEAD`] is refused.

/// The longest head that is read.
pub(super) const MAX_HEAD: usize = 80 << 10;

/// What came so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read<'a> {
    /// More must follow.
    Part,
    /// This is no request.
    Bad,
    Whole(Head<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Connect,
    Other,
}

/// A request.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the request that is there or not"
)]
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) method: Method,
    /// Path and query; for CONNECT host and port.
    pub(super) target: &'a [u8],
    /// Host without port.
    pub(super) host: &'a [u8],
    pub(super) is_absolute: bool,
    pub(super) closes: bool,
    pub(super) accepts_gzip: bool,
    pub(super) accepts_brotli: bool,
    pub(super) has_cookie: bool,
    /// Bytes up to the end of the head.
    pub(super) length: usize,
}

/// Reads the head at the beginning of a buffer.
pub(super) fn read(buffer: &[u8]) -> Read<'_> {
    let mut lines = Lines { buffer, at: 0 };
    let Some(line) = lines.next() else {
        return unfinished(buffer);
    };
    let Some(mut head) = request_line(line) else {
        return Read::Bad;
    };
    loop {
        let Some(line) = lines.next() else {
            return unfinished(buffer);
        };
        if line.is_empty() {
            head.length = lines.at;
            return Read::Whole(head);
        }
        field(line, &mut head);
    }
}

fn unfinished(buffer: &[u8]) -> Read<'_> {
    if buffer.len() > MAX_HEAD {
        Read::Bad
    } else {
        Read::Part
    }
}

struct Lines<'a> {
    buffer: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = &self.buffer[self.at..];
        let end = memchr::memchr(b'\n', rest)?;
        self.at += end + 1;
        let line = &rest[..end];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn request_line(line: &[u8]) -> Option<Head<'_>> {
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let method = match method {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"CONNECT" => Method::Connect,
        _ => Method::Other,
    };
    if !version.starts_with(b"HTTP/1.") || target.is_empty() {
        return None;
    }
    let mut head = Head {
        method,
        target,
        host: b"",
        is_absolute: false,
        closes: version == b"HTTP/1.0",
        accepts_gzip: false,
        accepts_brotli: false,
        has_cookie: false,
        length: 0,
    };
    if method == Method::Connect {
        head.host = without_port(target);
    } else if let Some(rest) = target.strip_prefix(b"http://") {
        let slash = rest.iter().position(|byte| *byte == b'/');
        let (host, path) = rest.split_at(slash.unwrap_or(rest.len()));
        head.host = without_port(host);
        head.target = if path.is_empty() { b"/" } else { path };
        head.is_absolute = true;
    }
    Some(head)
}

fn field<'a>(line: &'a [u8], head: &mut Head<'a>) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return;
    };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    let contains = |part: &[u8]| value.windows(part.len()).any(|window| window == part);
    match name.first().map(u8::to_ascii_lowercase) {
        // The host of an absolute target counts more (RFC 9112 section 3.2.2).
        Some(b'h') if head.host.is_empty() && name.eq_ignore_ascii_case(b"host") => {
            head.host = without_port(value);
        }
        Some(b'a') if name.eq_ignore_ascii_case(b"accept-encoding") => {
            head.accepts_gzip = contains(b"gzip");
            head.accepts_brotli = contains(b"br");
        }
        Some(b'c') if name.eq_ignore_ascii_case(b"cookie") => {
            head.has_cookie |= contains(b"member=");
        }
        Some(b'c') if name.eq_ignore_ascii_case(b"connection") => {
            head.closes |= value.eq_ignore_ascii_case(b"close");
        }
        _ => {}
    }
}

fn without_port(host: &[u8]) -> &[u8] {
    let colon = host.iter().position(|byte| *byte == b':');
    &host[..colon.unwrap_or(host.len())]
}

/// The port that a CONNECT names.
pub(super) fn port(target: &[u8]) -> Option<u16> {
    let colon = target.iter().rposition(|byte| *byte == b':')?;
    std::str::from_utf8(&target[colon + 1..]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        let text = b"GET /a?b HTTP/1.1\r\nhost: www.site0.test:80\r\nAccept-Encoding: gzip, br\r\n\
            Cookie: x=1; member=1\r\nConnection: close\r\n\r\nrest";
        let Read::Whole(head) = read(text) else {
            panic!("a whole head");
        };
        assert_eq!((head.method, head.target), (Method::Get, &b"/a?b"[..]));
        assert_eq!(
            (head.host, head.length),
            (&b"www.site0.test"[..], text.len() - 4)
        );
        assert!(head.closes && head.accepts_gzip && head.accepts_brotli && head.has_cookie);
        for cut in 0..text.len() - 4 {
            assert_eq!(read(&text[..cut]), Read::Part, "{cut}");
        }
    }

    #[test]
    fn proxies_are_asked_in_other_forms() {
        let check = |line: &str, host: &str, target: &str| {
            let text = format!("{line} HTTP/1.1\r\nHost: other.test\r\n\r\n");
            match read(text.as_bytes()) {
                Read::Whole(head) => {
                    assert_eq!(head.host, host.as_bytes(), "{line}");
                    assert_eq!(head.target, target.as_bytes(), "{line}");
                }
                other => panic!("{line}: {other:?}"),
            }
        };
        check("GET http://a.test:81/x?y", "a.test", "/x?y");
        check("GET http://a.test", "a.test", "/");
        check("CONNECT a.test:443", "a.test", "a.test:443");
        assert_eq!(port(b"a.test:443"), Some(443));
        assert_eq!(read(b"SSH-2.0\r\n"), Read::Bad);
        assert_eq!(read(b"GET / HTTP/2\r\n\r\n"), Read::Bad);
        assert_eq!(read(&vec![b'x'; MAX_HEAD + 1]), Read::Bad);
    }
}
