//! What the header fields of an answer tell, and how they are shown.
//!
//! Owns what is a secret in an answer. It refuses to know requests.

use encoding_rs::Encoding;

use super::CharsetSource;
use crate::headers::Headers;

/// What stands instead of a secret.
const SECRET: &str = "(secret)";

/// The media type without its parameters, lower-case.
pub(super) fn content_type(headers: &Headers) -> Option<String> {
    let text = headers.text("content-type")?;
    let media = text.split(';').next().unwrap_or_default().trim();
    (!media.is_empty()).then(|| media.to_ascii_lowercase())
}

/// What decided about the encoding, as far as it can be told from outside the extractor.
pub(super) fn charset_source(charset: &str, headers: &Headers, body: &[u8]) -> CharsetSource {
    let names = |encoding: &'static Encoding| encoding.name() == charset;
    if Encoding::for_bom(body).is_some_and(|(encoding, _)| names(encoding)) {
        return CharsetSource::ByteOrderMark;
    }
    let text = headers.text("content-type").unwrap_or_default();
    let label = text.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    let declared = label.and_then(|label| Encoding::for_label(label.as_bytes()));
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
