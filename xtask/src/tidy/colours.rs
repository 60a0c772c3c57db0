//! One place for colours.
//!
//! Owns the rule that a colour value stands in the tokens alone, so that every page follows the
//! same light and dark. It reads style sheets, scripts, pages, and styles within Rust code; tests
//! may write what they like. Invariant: `crates/job/src/look/tokens.css` is the only exception.

use super::source::{Source, is_look};

/// The file that holds the colours.
const TOKENS: &str = "crates/job/src/look/tokens.css";
/// Functions of CSS that make colours.
const FUNCTIONS: [&str; 6] = ["rgb(", "rgba(", "hsl(", "hsla(", "oklch(", "hwb("];

/// Places that write a colour.
pub(super) fn elsewhere(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| is_shown(source)) {
        let is_sheet = is_look(&source.path);
        let text = if is_sheet {
            source.text.clone()
        } else {
            source.code()
        };
        for (number, line) in (1..).zip(text.lines()) {
            if has_colour(line, is_sheet) {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    found
}

fn is_shown(source: &Source) -> bool {
    let path = source.path.as_str();
    let is_ours =
        path.starts_with("website/") || path.starts_with("crates/") && path.contains("/src/");
    let is_product = is_look(path) || source.is_code_of("crates/");
    is_ours && is_product && path != TOKENS && !path.contains("/fuzzing")
}

/// Whether a line writes a colour. In Rust it must stand as the value of a property, since a hash
/// means more there.
fn has_colour(line: &str, is_sheet: bool) -> bool {
    let is_value = |before: &str| {
        let before = before.trim_end_matches(' ');
        is_sheet || before.ends_with([':', '(', ',']) && !before.ends_with("::")
    };
    let hexadecimal = line.match_indices('#').any(|(at, _)| {
        let rest = &line[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
        let word = &rest[..end.unwrap_or(rest.len())];
        let is_colour = matches!(word.len(), 3 | 4 | 6 | 8)
            && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_colour && is_value(&line[..at])
    });
    let made = FUNCTIONS.iter().any(|name| {
        let mut places = line.match_indices(name);
        places.any(|(at, _)| {
            let before = &line[..at];
            is_value(before) && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    });
    hexadecimal || made
}
