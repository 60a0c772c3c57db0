//! The fields of a response that rules read.
//!
//! Owns their list, the bounds, and what is left out: the values of cookies are nobody's affair. It
//! refuses to know what the fields mean. Invariant: what [`significant`] holds decides all that is
//! taken of a head.

use clewline_warc::http::HttpHead;

use super::HeadFacts;

/// Fields that are kept.
const KEPT: [&str; 33] = [
    "access-control-allow-origin",
    "alt-svc",
    "cache-control",
    "cf-mitigated",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-security-policy",
    "content-security-policy-report-only",
    "content-type",
    "cross-origin-embedder-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "permissions-policy",
    "pragma",
    "referrer-policy",
    "refresh",
    "server",
    "set-cookie",
    "strict-transport-security",
    "transfer-encoding",
    "vary",
    "x-aspnet-version",
    "x-content-type-options",
    "x-frame-options",
    "x-powered-by",
    "x-robots-tag",
];
/// One that browsers no longer heed, which rules tell.
const OUTDATED: &str = "x-xss-protection";
/// Fields of a head that are kept.
const MOST_FIELDS: usize = 200;
/// Bytes of a value that are kept.
const LONGEST_VALUE: usize = 1_000;

/// Reads a head as it was recorded.
pub(super) fn head_facts(head: &[u8]) -> HeadFacts {
    let mut fields = Vec::new();
    each_kept(head, |name, value| {
        let value = field_text(value);
        let value = match name {
            "set-cookie" => without_value(&value),
            _ => value,
        };
        let end = value.floor_char_boundary(LONGEST_VALUE);
        fields.push((Box::from(name), Box::from(&value[..end])));
    });
    HeadFacts { fields }
}

/// The bytes of a head by which it is told whether anything of it changed that is kept.
pub(super) fn significant(head: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    each_kept(head, |name, value| {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(b':');
        match name {
            "set-cookie" => bytes.extend_from_slice(without_value(&field_text(value)).as_bytes()),
            _ => bytes.extend_from_slice(value),
        }
        bytes.push(b'\n');
    });
    bytes
}

fn each_kept(head: &[u8], mut kept: impl FnMut(&'static str, &[u8])) {
    let fields = HttpHead::parse(head).fields().take(MOST_FIELDS);
    for (name, value) in fields {
        let is_it = |kept: &&str| name.eq_ignore_ascii_case(kept.as_bytes());
        if let Some(name) = KEPT.into_iter().chain([OUTDATED]).find(is_it) {
            kept(name, value);
        }
    }
}

/// A field's value as text; bytes that are not UTF-8 are taken for Latin-1.
pub(super) fn field_text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().copied().map(char::from).collect(),
    }
}

/// A cookie without its value: `name=; Secure`.
fn without_value(cookie: &str) -> String {
    let (pair, attributes) = cookie.split_at(cookie.find(';').unwrap_or(cookie.len()));
    let name = pair.split('=').next().unwrap_or_default();
    format!("{}={attributes}", name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_kept_without_secrets() {
        let head = b"HTTP/1.1 200 OK\r\nServer: a/1\r\nDate: x\r\nX-Other: y\r\n\
            Set-Cookie: sid=secret=1; Secure; Path=/\r\nSET-COOKIE: b\r\nX-XSS-Protection: 1\r\n\r\n";
        let facts = head_facts(head);
        assert_eq!(facts.field("server"), Some("a/1"));
        assert_eq!(facts.field("date"), None);
        assert_eq!(facts.field("x-xss-protection"), Some("1"));
        let cookies: Vec<_> = facts.all("set-cookie").collect();
        assert_eq!(cookies, ["sid=; Secure; Path=/", "b="]);
    }

    #[test]
    fn what_does_not_matter_changes_nothing() {
        let head = |fields: &str| format!("HTTP/1.1 200 OK\r\nServer: a\r\n{fields}\r\n");
        let significant = |fields: &str| significant(head(fields).as_bytes());
        let plain = significant("");
        assert_eq!(plain, significant("Date: now\r\nAge: 1\r\n"));
        assert_ne!(plain, significant("Link: </a>; rel=next\r\n"));
        let with_cookie = |value: &str| significant(&format!("Set-Cookie: a={value}; Secure\r\n"));
        assert_eq!(with_cookie("1"), with_cookie("2"));
        let long = format!("Server: {}\r\n", "é".repeat(2_000));
        let facts = head_facts(head(&long).as_bytes());
        assert!(
            facts
                .fields
                .iter()
                .all(|(_, value)| value.len() <= LONGEST_VALUE)
        );
    }
}
