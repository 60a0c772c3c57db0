//! In which encoding a body is.
//!
//! Owns the way from the bytes of a body to text, by the encoding that its record names, and the way
//! back for queries. It refuses to guess: that was done when the page was fetched.

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding, UTF_8};

/// The encoding that a record names.
pub fn named(charset: Option<&str>) -> &'static Encoding {
    let named = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    named.unwrap_or(UTF_8)
}

/// The text of a body, in the encoding that the crawl found.
pub fn text_of<'a>(body: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    named(charset).decode(body).0
}

/// A query in the document's encoding (URL section 4.4, query state). What the encoding lacks
/// becomes a numeric character reference, already percent-encoded, as the standard says.
pub fn encode_query(encoding: &'static Encoding, query: &str) -> Vec<u8> {
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query;
    loop {
        let room = encoder
            .max_buffer_length_from_utf8_without_replacement(rest.len())
            .unwrap_or(rest.len().saturating_mul(4));
        bytes.reserve(room);
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return bytes,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(missing) => {
                let reference = format!("%26%23{}%3B", u32::from(missing));
                bytes.extend_from_slice(reference.as_bytes());
            }
        }
    }
}
