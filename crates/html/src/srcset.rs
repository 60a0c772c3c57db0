//! The candidates of a `srcset`.
//!
//! Owns the splitting (HTML section 4.8.4.3.10): a URL may hold commas, so that only white space
//! and a comma at its very end delimit it. Refuses to know sizes: descriptors are passed over.

use std::ops::Range;

/// Calls `found` with the place of each URL, in order. Linear: each byte is looked at once.
pub fn candidates(value: &str, mut found: impl FnMut(Range<usize>)) {
    let mut at = 0;
    loop {
        let rest = &value[at..];
        let start = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if start.is_empty() {
            return;
        }
        at += rest.len() - start.len();
        let end = start.find(|c: char| c.is_ascii_whitespace());
        let word = &start[..end.unwrap_or(start.len())];
        let url = word.trim_end_matches(',');
        found(at..at + url.len());
        at += word.len();
        if url.len() == word.len() {
            at += descriptors(&value[at..]);
        }
    }
}

/// How long the descriptors are; a comma in parentheses does not end them.
fn descriptors(text: &str) -> usize {
    let mut is_nested = false;
    let end = text.bytes().position(|byte| {
        match byte {
            b'(' => is_nested = true,
            b')' => is_nested = false,
            _ => {}
        }
        byte == b',' && !is_nested
    });
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_found_where_they_stand() {
        for (value, expected) in [
            ("a 1x, b 2x", "a b"),
            (" ,a,b c,, d", "a,b d"),
            ("a,, b", "a b"),
            ("a (1,2), b", "a b"),
            ("a (1, b", "a"),
            ("é 1x,ü", "é ü"),
            ("data:,x 1x", "data:,x"),
            (" , ", ""),
            ("a", "a"),
            ("a,b 1x,, c", "a,b c"),
            ("a,, b,", "a b"),
            ("a (1,2) 3x, b", "a b"),
            (
                "data:image/png;base64,AA== 1x,\nb\t2w",
                "data:image/png;base64,AA== b",
            ),
        ] {
            let mut found = Vec::new();
            candidates(value, |range| found.push(&value[range]));
            assert_eq!(found.join(" "), expected, "{value}");
        }
    }
}
