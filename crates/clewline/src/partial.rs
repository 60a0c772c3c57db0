//! Whether an answer is only a part of what was asked for.
//!
//! Owns the meaning of status 206 to a crawler that never asks for a part. Refuses to know how the
//! bytes came. Invariant: what may be a part is never called whole.

use crate::headers::Headers;

/// Part of the content follows (RFC 9110 section 15.3.7).
const PARTIAL_CONTENT: u16 = 206;

/// Whether the body of this answer is a part of the content. Nobody asked for one, but some caches
/// send what they have; a part that reaches from the first byte to the last is the whole.
pub(crate) fn is_partial(status: u16, headers: &Headers) -> bool {
    status == PARTIAL_CONTENT && !headers.get("content-range").is_some_and(is_whole_range)
}

/// Whether a Content-Range such as `bytes 0-9/10` covers everything (RFC 9110 section 14.4).
fn is_whole_range(value: &[u8]) -> bool {
    let range = || -> Option<bool> {
        let text = std::str::from_utf8(value).ok()?.trim();
        let (unit, range) = text.split_once(' ')?;
        let (places, length) = range.trim().split_once('/')?;
        let (first, last) = places.split_once('-')?;
        let [first, last, length] = [first, last, length].map(|part| part.trim().parse::<u64>());
        let covers = first.ok()? == 0 && last.ok()?.checked_add(1)? == length.ok()?;
        Some(unit.eq_ignore_ascii_case("bytes") && covers)
    };
    range().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_no_whole() {
        for (status, range, expected) in [
            (200, Some("bytes 0-4/10"), false),
            (206, None, true),
            (206, Some(""), true),
            (206, Some("bytes 0-9/10"), false),
            (206, Some("Bytes 0-9/10"), false),
            (206, Some("bytes 0-8/10"), true),
            (206, Some("bytes 1-9/10"), true),
            (206, Some("bytes 0-9/*"), true),
            (206, Some("items 0-9/10"), true),
            (206, Some("bytes 0-18446744073709551615/0"), true),
            (206, Some("bytes */10"), true),
        ] {
            let mut headers = Headers::default();
            if let Some(range) = range {
                headers.push("Content-Range", range.as_bytes());
            }
            assert_eq!(is_partial(status, &headers), expected, "{status} {range:?}");
        }
    }
}
