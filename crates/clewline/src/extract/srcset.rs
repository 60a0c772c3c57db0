//! The candidates of a `srcset`.
//!
//! Owns the splitting (HTML section 4.8.4.3.10): a URL may hold commas, so that only white space
//! and a comma at its very end delimit it. Refuses to know sizes: every candidate is a link.

/// Calls `found` with each URL. Linear: each byte is looked at once.
pub(super) fn candidates(value: &str, mut found: impl FnMut(&str)) {
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return;
        }
        let end = rest
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let url = &rest[..end];
        rest = &rest[end..];
        if url.ends_with(',') {
            found(url.trim_end_matches(','));
        } else {
            found(url);
            rest = after_descriptors(rest);
        }
    }
}

/// What follows the comma that ends the descriptors; a comma in parentheses does not.
fn after_descriptors(rest: &str) -> &str {
    let mut is_nested = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' => is_nested = true,
            b')' => is_nested = false,
            b',' if !is_nested => return &rest[at + 1..],
            _ => {}
        }
    }
    ""
}
