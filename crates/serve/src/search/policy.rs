//! What a browser may do on the search page.
//!
//! Owns the page's script and style sheet and the policy that lets exactly these two in, by their
//! digests: files of the same origin would be more than that, since the archive lies there, too.

use std::sync::LazyLock;

use clewline_job::look::{FRAME_STYLE, THEME_SCRIPT, TOKENS, policy_source};

/// The page's script.
pub(crate) fn script() -> String {
    format!("{THEME_SCRIPT}{}", include_str!("search.js"))
}

/// The page's style sheet.
pub(crate) fn style() -> String {
    format!("{TOKENS}{FRAME_STYLE}{}", include_str!("search.css"))
}

/// The policy of data that no browser should show.
pub(crate) const SEALED: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// The policy of the page.
pub(crate) fn policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; \
            form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            policy_source(&script()),
            policy_source(&style())
        )
    });
    &POLICY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_and_style_cannot_end_their_elements() {
        for text in [script(), style()] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
    }
}
