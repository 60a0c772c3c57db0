//! Patterns of rules: how they are normalised, compiled and matched against a path.
//!
//! Owns percent-encoding, `*` and `$`; refuses to know which rule a pattern belongs to.
//! Invariant: a match costs at most the length of the path plus that of the pattern, because the
//! leftmost place of each literal segment leaves the most room for those after it.

use std::borrow::Cow;

use percent_encoding::percent_encode_byte;
use serde::{Deserialize, Serialize};

use super::MAX_VERDICT_STEPS;

/// Whether a pattern must reach the end of the path (`$`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Tail {
    Open,
    Anchored,
}

/// The pattern of a rule as Google weighs it: octets outside ASCII escaped.
///
/// Escaped unreserved characters stay escaped, although RFC 9309 section 2.2.2 would decode them:
/// sites test their files with Google's parser, so its answer is the one they meant.
pub(super) fn written(value: &[u8]) -> Cow<'_, str> {
    escape(value, |byte| !byte.is_ascii())
}

/// A text with the characters escaped that URLs escape, and with its escapes in upper case.
///
/// Paths and queries escape different characters, and a star may reach from one into the other.
/// So both sides of a comparison escape what either does: a rule matches what it was written for
/// wherever that stands, and all that it matched as it was written. Doing it twice changes nothing.
pub(super) fn canonical(text: Cow<'_, str>) -> Cow<'_, str> {
    let escaped = match escape(text.as_bytes(), is_escaped_in_urls) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => Cow::Owned(escaped),
    };
    match upper_case_escapes(&escaped) {
        Cow::Borrowed(_) => escaped,
        Cow::Owned(raised) => Cow::Owned(raised),
    }
}

/// The union of the path and the query percent-encode sets (URL section 1.3) without `#` and `?`,
/// which end a path, and without what is no ASCII: patterns have lost that, serialised URLs too.
const fn is_escaped_in_urls(byte: u8) -> bool {
    matches!(
        byte,
        0..=b' ' | b'"' | b'\'' | b'<' | b'>' | b'^' | b'`' | b'{' | b'}' | 0x7f
    )
}

fn escape(bytes: &[u8], is_escaped: impl Fn(u8) -> bool) -> Cow<'_, str> {
    if !bytes.iter().any(|byte| is_escaped(*byte))
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Cow::Borrowed(text);
    }
    let mut escaped = Vec::with_capacity(bytes.len() * 2);
    for &byte in bytes {
        if is_escaped(byte) {
            escaped.extend_from_slice(percent_encode_byte(byte).as_bytes());
        } else {
            escaped.push(byte);
        }
    }
    let escaped = String::from_utf8(escaped);
    Cow::Owned(escaped.expect("what is no ASCII is escaped, or was a text before"))
}

/// The path that is matched: it begins with a slash, and is escaped as patterns are.
pub(super) fn request_path(path_and_query: &str) -> Cow<'_, str> {
    if path_and_query.starts_with('/') {
        return canonical(Cow::Borrowed(path_and_query));
    }
    canonical(Cow::Owned(format!("/{path_and_query}")))
}

fn upper_case_escapes(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_escape = |at: usize| {
        bytes[at] == b'%'
            && bytes
                .get(at + 1..at + 3)
                .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    };
    let has_lower = |at: usize| bytes[at + 1..at + 3].iter().any(u8::is_ascii_lowercase);
    if !(0..bytes.len()).any(|at| is_escape(at) && has_lower(at)) {
        return Cow::Borrowed(text);
    }
    let mut raised = String::with_capacity(text.len());
    let mut raised_to = 0;
    for (at, character) in text.char_indices() {
        if at >= raised_to && is_escape(at) {
            raised_to = at + 3;
        }
        raised.push(if at < raised_to {
            character.to_ascii_uppercase()
        } else {
            character
        });
    }
    Cow::Owned(raised)
}

/// Drops what does not change a match: the final `$`, final stars, and all but one of a run.
pub(super) fn compile(pattern: Cow<'_, str>) -> (Cow<'_, str>, Tail) {
    let (kept, tail) = trim(&pattern);
    if kept.contains("**") {
        return (Cow::Owned(collapse(kept)), tail);
    }
    let len = kept.len();
    let trimmed = match pattern {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..len]),
        Cow::Owned(mut text) => {
            text.truncate(len);
            Cow::Owned(text)
        }
    };
    (trimmed, tail)
}

fn trim(pattern: &str) -> (&str, Tail) {
    let (body, tail) = match pattern.strip_suffix('$') {
        Some(body) => (body, Tail::Anchored),
        None => (pattern, Tail::Open),
    };
    let kept = body.trim_end_matches('*');
    // A star before the end takes all that is left, so the anchor holds by itself.
    if kept.len() < body.len() {
        (kept, Tail::Open)
    } else {
        (kept, tail)
    }
}

fn collapse(pattern: &str) -> String {
    let mut collapsed = String::with_capacity(pattern.len());
    for character in pattern.chars() {
        if character != '*' || !collapsed.ends_with('*') {
            collapsed.push(character);
        }
    }
    collapsed
}

/// A path under judgement, with the work that may still be spent on it.
pub(super) struct Subject<'a> {
    path: &'a str,
    trigrams: Option<Trigrams>,
    steps: usize,
}

/// The allowance of a verdict is spent.
pub(super) struct Exhausted;

impl<'a> Subject<'a> {
    pub(super) fn new(path: &'a str) -> Self {
        Self {
            path,
            trigrams: None,
            steps: MAX_VERDICT_STEPS,
        }
    }

    /// What follows `prefix`, if the path begins with it.
    pub(super) fn after(&self, prefix: &str) -> Option<&'a str> {
        self.path.strip_prefix(prefix)
    }

    /// Whether the three bytes behind `probe` may stand somewhere in the path.
    pub(super) fn may_contain(&mut self, probe: u16) -> bool {
        let path = self.path;
        self.trigrams
            .get_or_insert_with(|| Trigrams::from_path(path))
            .contains(probe)
    }

    /// Whether `wildcards`, which begins with a star, matches `rest`.
    pub(super) fn wildcards_match(
        &mut self,
        mut rest: &str,
        wildcards: &str,
        tail: Tail,
    ) -> Result<bool, Exhausted> {
        let (middle, last) = wildcards.rsplit_once('*').unwrap_or(("", wildcards));
        for segment in middle.split('*').filter(|segment| !segment.is_empty()) {
            match self.behind(rest, segment)? {
                Some(behind) => rest = behind,
                None => return Ok(false),
            }
        }
        match tail {
            Tail::Anchored => Ok(rest.ends_with(last)),
            Tail::Open => Ok(self.behind(rest, last)?.is_some()),
        }
    }

    /// What follows the first `segment` in `rest`. The standard library's search is linear even
    /// for needles made to be slow, and its search for one byte is faster still.
    fn behind<'r>(&mut self, rest: &'r str, segment: &str) -> Result<Option<&'r str>, Exhausted> {
        if self.steps == 0 {
            return Err(Exhausted);
        }
        let found = match segment.as_bytes() {
            [byte] => rest.find(char::from(*byte)),
            _ => rest.find(segment),
        };
        let cost = found.unwrap_or(rest.len()) + segment.len();
        self.steps = self.steps.saturating_sub(cost);
        Ok(found.map(|at| &rest[at + segment.len()..]))
    }
}

/// A set of the three-byte sequences of a path, with false positives: most patterns with
/// wildcards are turned away by one look at it.
struct Trigrams([u64; Trigrams::WORDS]);

impl Trigrams {
    const WORDS: usize = 64;

    fn from_path(path: &str) -> Self {
        let mut words = [0; Self::WORDS];
        for window in path.as_bytes().windows(3) {
            let bucket = bucket(window);
            words[usize::from(bucket >> 6)] |= 1 << (bucket & 63);
        }
        Self(words)
    }

    fn contains(&self, probe: u16) -> bool {
        self.0[usize::from(probe >> 6) % Self::WORDS] & (1 << (probe & 63)) != 0
    }
}

/// The bucket of the end of the longest literal segment, if it has three bytes.
pub(super) fn probe(wildcards: &str) -> Option<u16> {
    let longest = wildcards
        .split('*')
        .max_by_key(|segment| segment.len())?
        .as_bytes();
    longest.last_chunk::<3>().map(|end| bucket(end))
}

/// A bucket below 64 × [`Trigrams::WORDS`], by multiplicative hashing.
fn bucket(three: &[u8]) -> u16 {
    let packed = three
        .iter()
        .fold(0_u32, |packed, &byte| packed << 8 | u32::from(byte));
    (packed.wrapping_mul(0x9E37_79B1) >> 20) as u16
}
