//! The links of a page.
//!
//! Owns the one regular expression that finds them. It takes `href` with quotes or without, in
//! whatever element, and knows no HTML beyond that: the last rung does it properly.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use url::Url;

/// More links of one page are not followed.
const MOST_LINKS: usize = 10_000;
/// Longer links are left alone.
const LONGEST_URL: usize = 8192;

static HREF: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))"#)
        .expect("the pattern is a constant")
});

/// The distinct links of a page, absolute and without fragments, as far as they are http(s).
pub(crate) fn links(base: &Url, text: &str) -> BTreeSet<Url> {
    let written = HREF.captures_iter(text).filter_map(|found| {
        let quoted = found.get(1).or_else(|| found.get(2));
        quoted.or_else(|| found.get(3)).map(|part| part.as_str())
    });
    written
        .take(MOST_LINKS)
        .filter_map(|link| absolute(base, link))
        .collect()
}

/// A link as a page or a redirect writes it, seen from where it stands.
pub(crate) fn absolute(base: &Url, link: &str) -> Option<Url> {
    let mut url = base.join(&link.trim().replace("&amp;", "&")).ok()?;
    url.set_fragment(None);
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    (is_web && url.as_str().len() <= LONGEST_URL).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_however_they_are_written() {
        let check = |text: &str, expected: &[&str]| {
            let base = Url::parse("http://a.test/b/c").unwrap();
            let found = links(&base, text);
            let found: Vec<&str> = found.iter().map(Url::as_str).collect();
            assert_eq!(found, expected, "{text}");
        };
        check(r#"<a href="d">"#, &["http://a.test/b/d"]);
        check("<a class=x href='/d'>", &["http://a.test/d"]);
        check("<A HREF = d?e=1&amp;f=2>", &["http://a.test/b/d?e=1&f=2"]);
        check(
            "<a href=//b.test/x#y><a href=#z>",
            &["http://a.test/b/c", "http://b.test/x"],
        );
        check("<a href=mailto:x@y.test><a href='javascript:x'>", &[]);
        check("<a data-href=x><a href='unended>", &[]);
        check("<link>\n<loc href=\"\u{e9}\">", &["http://a.test/b/%C3%A9"]);
    }
}
