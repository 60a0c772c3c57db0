//! What a browser may do on the search page.
//!
//! Owns the page's script and style sheet and the policy that lets exactly these two in, by their
//! digests: files of the same origin would be more than that, since the archive lies there, too.

use std::sync::LazyLock;

use clewline_job::escape::base64;
use clewline_warc::{Algorithm, Hasher};

/// The page's script.
pub(crate) const SCRIPT: &str = include_str!("search.js");
/// The page's style sheet.
pub(crate) const STYLE: &str = include_str!("search.css");

/// The policy of data that no browser should show.
pub(crate) const SEALED: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// The policy of the page.
pub(crate) fn policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; \
            form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            source(SCRIPT),
            source(STYLE)
        )
    });
    &POLICY
}

/// A text as a source of a policy (CSP level 3, section 2.3.1).
fn source(text: &str) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(text.as_bytes());
    format!("sha256-{}", base64(hasher.finish().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_named_by_its_digest() {
        // The example of CSP level 3, section 8.4.
        assert_eq!(
            source("alert('Hello, world.');"),
            "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng="
        );
    }

    #[test]
    fn script_and_style_cannot_end_their_elements() {
        for text in [SCRIPT, STYLE] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
    }
}
