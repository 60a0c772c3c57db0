//! The words of a page.
//!
//! Owns the way from the bytes of a body to title, headings, words and language. It refuses to
//! know where the body lay. A page that cannot be read has no words and is found by its title
//! and URL.

use clewline_content::{Content, ContentLimits, Fingerprint, words};
use clewline_job::charset::text_of;
use url::Url;

use crate::fold::near_of;

/// What can be read on a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageText {
    /// Its title.
    pub(crate) title: String,
    /// Its headings, one per line.
    pub(crate) headings: String,
    /// Its words.
    pub(crate) body: String,
    /// The primary subtag of its language; empty if it is not known.
    pub(crate) language: String,
    /// What tells pages that say nearly the same; 0 if there are too few words.
    pub(crate) near: u64,
}

impl PageText {
    /// Whether pages of a media type have words.
    pub(crate) fn has_words(media_type: &str) -> bool {
        is_html(media_type) || matches!(media_type, "text/plain" | "text/markdown")
    }

    /// Reads a body: its bytes without content codings, its media type and its encoding.
    pub(crate) fn read(body: &[u8], media_type: &str, charset: Option<&str>, url: &Url) -> Self {
        let text = text_of(body, charset);
        if !is_html(media_type) {
            return Self {
                near: near_of(Fingerprint::from_text(&text), words(&text).count()),
                body: text.into_owned(),
                ..Self::default()
            };
        }
        Content::skim(&text, url, &ContentLimits::default())
            .map(Self::from_content)
            .unwrap_or_default()
    }

    fn from_content(content: Content) -> Self {
        let headings = content.metadata.headings.into_iter();
        let headings: Vec<String> = headings.map(|heading| heading.text).collect();
        Self {
            title: content.metadata.title.unwrap_or_default(),
            headings: headings.join("\n"),
            near: near_of(content.fingerprint, content.words),
            body: content.text,
            language: content.language.unwrap_or_default(),
        }
    }
}

fn is_html(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "application/xhtml+xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_texts_are_read() {
        let url = Url::parse("https://example.com/").unwrap();
        let html = b"<html lang=de-AT><title>T\xe4</title><h1>One</h1><p>Words.<script>x</script>";
        let page = PageText::read(html, "text/html", Some("windows-1252"), &url);
        assert_eq!(
            (page.title.as_str(), page.headings.as_str()),
            ("T\u{e4}", "One")
        );
        assert_eq!(page.language, "de");
        assert!(page.body.contains("Words.") && !page.body.contains('x'));
        let page = PageText::read(b"<b>plain", "text/plain", None, &url);
        assert_eq!(page.body, "<b>plain");
        assert!(!PageText::has_words("image/png"));
    }
}
