//! References that are written wrong.
//!
//! Owns the misspellings that browsers repair in silence or follow to somewhere else. It refuses to
//! resolve. What does not resolve at all is said elsewhere.

/// What was meant to be a scheme, before its slashes.
const TYPOS: [&str; 12] = [
    "http", "https", "http;", "https;", "htp:", "htps:", "htttp:", "htttps:", "httpss:", "ttp:",
    "ttps:", "hhtp:",
];

/// Whether a reference is likely not what its author meant, though it can be resolved.
pub(super) fn is_misspelt(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    let has_blank = bytes
        .iter()
        .any(|byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r'));
    has_blank || has_odd_slashes(raw) || has_lost_colon(raw) || has_scheme_twice(raw)
}

/// `http:/x`, `https:x`, `http:///x`.
fn has_odd_slashes(raw: &str) -> bool {
    let Some((scheme, rest)) = raw.split_once(':') else {
        return false;
    };
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    is_web && (!rest.starts_with("//") || rest.starts_with("///"))
}

/// `http//x`, `https//x`, `htp://x`, `http;//x`.
fn has_lost_colon(raw: &str) -> bool {
    let Some((before, _)) = raw.split_once("//") else {
        return false;
    };
    let is = |typo: &&str| before.eq_ignore_ascii_case(typo);
    TYPOS.iter().any(is)
}

/// `http://https://x`, `https://http//x`.
fn has_scheme_twice(raw: &str) -> bool {
    let Some((_, rest)) = raw.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.trim_end_matches(':');
    host.eq_ignore_ascii_case("http") || host.eq_ignore_ascii_case("https")
}

/// Whether an address of mail names nobody: `mailto:` without address and without fields.
pub(super) fn is_empty_mail(raw: &str) -> bool {
    let scheme = raw.get(.."mailto:".len());
    if !scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:")) {
        return false;
    }
    let rest = raw["mailto:".len()..].trim();
    // One without an address may still say a subject: whoever clicks chooses to whom.
    rest.is_empty() || (!rest.contains(['@', '?']) && !rest.contains("%40"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_references_are_known() {
        for (raw, expected) in [
            ("http:/x.test", true),
            ("https:x.test", true),
            ("http:///x.test", true),
            ("http//x.test", true),
            ("htps://x.test", true),
            ("http;//x.test", true),
            ("http://https://x.test", true),
            ("https://http//x.test", true),
            ("a b.html", true),
            ("a\nb.html", true),
            ("http://x.test/a", false),
            ("//x.test/a", false),
            ("/a//b", false),
            ("a//b", false),
            ("http.html", false),
            ("https://x.test/http://y.test", false),
            ("mailto:a@b.test", false),
            ("?a=http:/b", false),
            ("a%20b.html", false),
        ] {
            assert_eq!(is_misspelt(raw), expected, "{raw}");
        }
    }

    #[test]
    fn mail_to_nobody_is_known() {
        for (raw, expected) in [
            ("mailto:", true),
            ("MAILTO: ", true),
            ("mailto:someone", true),
            ("mailto:a@b.test", false),
            ("mailto:a%40b.test", false),
            ("mailto:?subject=x", false),
            ("mail", false),
            ("é", false),
        ] {
            assert_eq!(is_empty_mail(raw), expected, "{raw}");
        }
    }
}
