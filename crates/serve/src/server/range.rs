//! Parts of a body, as players of media ask for them.
//!
//! Owns the field `Range` (RFC 9110 section 14): one range of bytes of a body that came whole.
//! Whatever else is asked for is answered with the whole body, as the RFC allows.

use std::io::{self, Read};

use super::answer::{AnswerBody, ServerAnswer};
use super::request::ServerRequest;

/// What is asked for of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Bytes {
        start: u64,
        length: u64,
    },
    /// Nothing of it is there.
    Beyond,
}

impl Part {
    fn new(range: &str, total: u64) -> Self {
        let Some((first, last)) = bounds(range) else {
            return Self::Whole;
        };
        let (start, end) = match (first, last) {
            (Some(first), Some(last)) if first > last => return Self::Whole,
            (Some(first), Some(last)) => (first, total.min(last.saturating_add(1))),
            (Some(first), None) => (first, total),
            (None, Some(count)) => (total.saturating_sub(count), total),
            (None, None) => return Self::Whole,
        };
        if start >= end {
            return Self::Beyond;
        }
        let length = end - start;
        Self::Bytes { start, length }
    }
}

/// The first and the last byte of a single range; a last one alone counts from the end.
fn bounds(range: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (unit, range) = range.split_once('=')?;
    let (first, last) = range.split_once('-')?;
    let number = |digits: &str| {
        let digits = digits.trim();
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits {
            "" => Some(None),
            _ if is_number => digits.parse().ok().map(Some),
            _ => None,
        }
    };
    let is_bytes = unit.trim().eq_ignore_ascii_case("bytes");
    Some((number(first)?, number(last)?)).filter(|_| is_bytes)
}

/// Answers with a stream, or with the part of it that is asked for. Its length is asked for only
/// then.
pub(super) fn answer(
    mut stream: Box<dyn Read>,
    request: &ServerRequest,
    length: impl FnOnce() -> io::Result<u64>,
) -> io::Result<ServerAnswer> {
    // Nothing here has a validator, so a condition never holds.
    let range = request.field("range");
    let range = range.filter(|_| request.method == "GET" && request.field("if-range").is_none());
    let whole = |stream: Box<dyn Read>| {
        ServerAnswer::new(200, AnswerBody::Stream(stream)).with("Accept-Ranges", "bytes")
    };
    let Some(range) = range else {
        return Ok(whole(stream));
    };
    let total = length()?;
    Ok(match Part::new(range, total) {
        Part::Whole => whole(stream),
        Part::Beyond => ServerAnswer::new(416, AnswerBody::Bytes(Vec::new()))
            .with("Content-Range", &format!("bytes */{total}")),
        Part::Bytes { start, length } => {
            io::copy(&mut stream.by_ref().take(start), &mut io::sink())?;
            let last = start + length - 1;
            ServerAnswer::new(206, AnswerBody::Part { stream, length })
                .with("Content-Range", &format!("bytes {start}-{last}/{total}"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_of_bytes_is_understood() {
        let bytes = |start, length| Part::Bytes { start, length };
        for (range, total, expected) in [
            ("bytes=0-", 10, bytes(0, 10)),
            ("Bytes = 2 - 3 ", 10, bytes(2, 2)),
            ("bytes=9-99", 10, bytes(9, 1)),
            ("bytes=0-18446744073709551615", 10, bytes(0, 10)),
            ("bytes=-3", 10, bytes(7, 3)),
            ("bytes=-99", 10, bytes(0, 10)),
            ("bytes=10-", 10, Part::Beyond),
            ("bytes=-0", 10, Part::Beyond),
            ("bytes=0-", 0, Part::Beyond),
            ("bytes=3-2", 10, Part::Whole),
            ("bytes=0-1,3-4", 10, Part::Whole),
            ("bytes=-", 10, Part::Whole),
            ("bytes=+1-2", 10, Part::Whole),
            ("bytes=99999999999999999999-", 10, Part::Whole),
            ("lines=0-1", 10, Part::Whole),
            ("", 10, Part::Whole),
        ] {
            assert_eq!(Part::new(range, total), expected, "{range}");
        }
    }
}
