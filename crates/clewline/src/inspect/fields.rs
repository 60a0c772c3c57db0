//! What the header fields of an answer tell, and how they are shown.
//!
//! Owns what is a secret in an answer. It refuses to know requests.

use clewline_warc::MediaType;
use encoding_rs::Encoding;

use crate::headers::Headers;
use clewline_job::inspection::CharsetSource;

/// What stands instead of a secret.
const SECRET: &str = "(secret)";

/// What decided about the encoding, as far as it can be told from outside the extractor.
pub(super) fn charset_source(charset: &str, headers: &Headers, body: &[u8]) -> CharsetSource {
    let names = |encoding: &'static Encoding| encoding.name() == charset;
    if Encoding::for_bom(body).is_some_and(|(encoding, _)| names(encoding)) {
        return CharsetSource::ByteOrderMark;
    }
    let value = headers.get("content-type").unwrap_or_default();
    let label = MediaType::parse(value).charset();
    let declared = label.and_then(Encoding::for_label);
    if declared.is_some_and(names) {
        CharsetSource::ContentType
    } else {
        CharsetSource::Document
    }
}

/// The fields of an answer as text, secrets left out.
pub(super) fn shown(headers: &Headers) -> Vec<(String, String)> {
    let text = |value: &[u8]| match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().copied().map(char::from).collect(),
    };
    let field = |(name, value): (&str, &[u8])| {
        let shown = match name.to_ascii_lowercase().as_str() {
            "set-cookie" => without_value(&text(value)),
            "cookie" | "authorization" | "proxy-authorization" => SECRET.to_owned(),
            _ => text(value),
        };
        (name.to_owned(), shown)
    };
    headers.iter().map(field).collect()
}

/// A cookie with its name and attributes only.
fn without_value(cookie: &str) -> String {
    let end = cookie.find(';').unwrap_or(cookie.len());
    let (pair, attributes) = cookie.split_at(end);
    match pair.split_once('=') {
        Some((name, _)) => format!("{name}={SECRET}{attributes}"),
        None => format!("{SECRET}{attributes}"),
    }
}
