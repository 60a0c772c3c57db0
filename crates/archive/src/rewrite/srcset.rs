//! The candidates of a `srcset`.
//!
//! Owns the splitting (HTML section 4.8.4.3.10): a URL may hold commas, so only white space and a
//! comma at its very end delimit it. Descriptors stay.

/// The value with each URL replaced by what `lead` answers, if it does. Linear.
pub(super) fn rewrite(value: &str, mut lead: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    loop {
        let start = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        out.push_str(&rest[..rest.len() - start.len()]);
        if start.is_empty() {
            return out;
        }
        let end = start
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(start.len());
        let (word, after) = start.split_at(end);
        let url = word.trim_end_matches(',');
        out.push_str(lead(url).as_deref().unwrap_or(url));
        out.push_str(&word[url.len()..]);
        let descriptors = if url.len() < word.len() {
            0
        } else {
            descriptors_end(after)
        };
        out.push_str(&after[..descriptors]);
        rest = &after[descriptors..];
    }
}

/// Where the descriptors end; a comma in parentheses does not end them.
fn descriptors_end(text: &str) -> usize {
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
