//! What a browser may do on the search page.
//!
//! Owns the page's script and style sheet and the policy that lets exactly these two in, by their
//! digests: files of the same origin would be more than that, since the archive lies there, too.

use std::sync::LazyLock;

use clewline_warc::{Algorithm, Hasher};

/// The page's script.
pub(crate) const SCRIPT: &str = include_str!("search.js");
/// The page's style sheet.
pub(crate) const STYLE: &str = include_str!("search.css");

/// The policy of data that no browser should show.
pub(crate) const SEALED: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            let sextet = bits >> (18 - 6 * place) & 63;
            let is_filled = place <= chunk.len();
            out.push(if is_filled {
                char::from(ALPHABET[sextet as usize])
            } else {
                '='
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_base_64() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{ff}\u{ff}", "w7/Dvw=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), expected);
        }
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
