//! A request as the server read it.
//!
//! Owns the lenient reading of a head: whatever a client sends can be logged and answered.
//! Refuses to know connections. Invariant: `raw` is what came, byte for byte.

use std::time::Instant;

/// A request, given to handlers.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    authority: Option<String>,
    host: Option<String>,
    headers: Vec<(String, String)>,
    raw: Vec<u8>,
    sound: bool,
    at: Instant,
}

/// Where the head ends that begins the buffer, looking from `from` on.
pub(super) fn head_end(buffer: &[u8], from: usize) -> Option<usize> {
    let rest = buffer.get(from..)?;
    rest.windows(4)
        .position(|window| window == b"\r\n\r\n")
        .map(|found| from + found + 4)
}

impl Request {
    pub(crate) fn parse(raw: Vec<u8>) -> Self {
        let text = String::from_utf8_lossy(&raw).into_owned();
        let mut lines = text.split("\r\n");
        let line = lines.next().unwrap_or_default();
        let parts = split_line(line);
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        let (method, target) = parts.unwrap_or(("", line));
        let (authority, target) = split_absolute(method, target);
        let mut request = Self {
            method: method.to_owned(),
            target,
            authority,
            host: None,
            headers,
            raw,
            sound: parts.is_some(),
            at: Instant::now(),
        };
        let named = request
            .authority
            .as_deref()
            .or_else(|| request.header("host"));
        request.host = named.map(host_name);
        request
    }

    /// The same request, whose first byte was read at this moment.
    pub(super) fn arrived(self, at: Instant) -> Self {
        Self { at, ..self }
    }

    /// When its first byte was read, as the log has it.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Path and query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// What follows the question mark.
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    /// The host asked for, in lower case and without port.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }

    /// Whether a cookie of this name came along.
    pub fn has_cookie(&self, name: &str) -> bool {
        let cookies = self.header("cookie").unwrap_or_default().split(';');
        cookies
            .filter_map(|pair| pair.split_once('='))
            .any(|(key, _)| key.trim() == name)
    }

    /// The head as it came.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Host and port of an absolute-form or `CONNECT` target (RFC 9112 section 3.2).
    pub(crate) fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    pub(crate) fn is_absolute(&self) -> bool {
        self.authority.is_some()
    }

    /// Whether the request line could be read.
    pub(crate) fn is_sound(&self) -> bool {
        self.sound
    }

    pub(super) fn body_length(&self) -> usize {
        self.header("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(0)
    }

    /// Whether the client may send another request on this connection (RFC 9112 section 9.3).
    pub(super) fn keeps_open(&self) -> bool {
        let line = self
            .raw
            .split(|&byte| byte == b'\r')
            .next()
            .unwrap_or_default();
        let connection = self
            .header("connection")
            .unwrap_or_default()
            .to_ascii_lowercase();
        line.ends_with(b"HTTP/1.1") && !connection.contains("close")
    }
}

/// Method and target: what stands before the first and the last blank of the line.
fn split_line(line: &str) -> Option<(&str, &str)> {
    let (rest, version) = line.rsplit_once(' ')?;
    let (method, target) = rest.split_once(' ')?;
    (version.starts_with("HTTP/") && !target.is_empty()).then_some((method, target))
}

fn split_absolute(method: &str, target: &str) -> (Option<String>, String) {
    if method == "CONNECT" {
        return (Some(target.to_owned()), target.to_owned());
    }
    let rest = target
        .strip_prefix("http://")
        .or_else(|| target.strip_prefix("https://"));
    let Some(rest) = rest else {
        return (None, target.to_owned());
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let slash = if path.starts_with('/') { "" } else { "/" };
    (Some(authority.to_owned()), format!("{slash}{path}"))
}

/// The name in `name`, `name:80`, `[::1]:80`; in lower case.
pub(crate) fn host_name(authority: &str) -> String {
    let without_port = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    without_port.unwrap_or_default().to_ascii_lowercase()
}
