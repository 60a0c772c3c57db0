//! What a page says, for a row or a document.
//!
//! Owns which media types have words, how bytes become text, and how plain text is treated like
//! a page. It refuses to know where bodies lie.

use clewline_content::{Content, Fingerprint, fenced, seen, words};
use clewline_job::record::{OutcomeKind, Record};

/// What is written for a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageWords {
    /// Of the page's title, else of what stands for one.
    pub(crate) title: Option<String>,
    pub(crate) html_title: Option<String>,
    pub(crate) h1: Option<String>,
    /// As the page declares it.
    pub(crate) html_lang: Option<String>,
    /// A code of two letters, or of three where there are no two.
    pub(crate) language: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) author: Option<String>,
    pub(crate) published: Option<String>,
    pub(crate) modified: Option<String>,
    /// One per line.
    pub(crate) headings: String,
    /// The main text; of a page that was only skimmed, all of it.
    pub(crate) text: String,
    pub(crate) markdown: String,
    /// Words of the text.
    pub(crate) count: usize,
    /// Words of all that can be read, not of the main text only.
    pub(crate) all: usize,
    /// Of all that can be read, too.
    pub(crate) exact: u64,
    pub(crate) near: u64,
}

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Html,
    Plain,
    Markdown,
}

impl BodyKind {
    /// What the body of a record is, if it is a page with words.
    pub(crate) fn from_record(record: &Record) -> Option<Self> {
        let is_there = matches!(
            record.outcome,
            OutcomeKind::Fetched | OutcomeKind::Unmodified
        );
        let is_sound = record
            .status
            .is_none_or(|status| (200..300).contains(&status) || status == 304);
        if !is_there || !is_sound {
            return None;
        }
        match record.content_type.as_deref() {
            None | Some("text/html" | "application/xhtml+xml") => Some(Self::Html),
            Some("text/plain") => Some(Self::Plain),
            Some("text/markdown") => Some(Self::Markdown),
            Some(_) => None,
        }
    }
}

impl PageWords {
    /// Of a page.
    pub(crate) fn from_content(content: Content) -> Self {
        let metadata = content.metadata;
        let headings = metadata.headings.into_iter().map(|heading| heading.text);
        let (text, count, markdown) = match content.main {
            Some(main) => (main.text, main.words, main.markdown),
            None => (content.text, content.words, String::new()),
        };
        Self {
            title: metadata.title,
            html_title: metadata.html_title,
            h1: metadata.h1,
            html_lang: metadata.language,
            language: content.language,
            description: metadata.description,
            author: metadata.author,
            published: metadata.published,
            modified: metadata.modified,
            headings: headings.collect::<Vec<_>>().join("\n"),
            text: seen(&text).0.into_owned(),
            markdown,
            count,
            all: content.words,
            exact: content.fingerprint.exact,
            near: content.fingerprint.near,
        }
    }

    /// Of a text without markup, or with Markdown's.
    pub(crate) fn from_text(text: &str, media: BodyKind) -> Self {
        let fingerprint = Fingerprint::from_text(text);
        let text = seen(text).0.into_owned();
        let count = words(&text).count();
        Self {
            markdown: match media {
                BodyKind::Markdown => text.clone(),
                _ => fenced(&text),
            },
            count,
            all: count,
            exact: fingerprint.exact,
            near: fingerprint.near,
            text,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::urls::samples::record;

    #[test]
    fn pages_with_words_are_known() {
        for (outcome, status, media_type, expected) in [
            (
                OutcomeKind::Fetched,
                Some(200),
                Some("text/html"),
                Some(BodyKind::Html),
            ),
            (OutcomeKind::Fetched, Some(404), Some("text/html"), None),
            (OutcomeKind::Redirected, Some(301), Some("text/html"), None),
            (
                OutcomeKind::Unmodified,
                Some(304),
                None,
                Some(BodyKind::Html),
            ),
            (
                OutcomeKind::Fetched,
                Some(200),
                Some("text/plain"),
                Some(BodyKind::Plain),
            ),
            (OutcomeKind::Fetched, Some(200), Some("image/png"), None),
            (OutcomeKind::Failed, None, None, None),
        ] {
            let mut page = record("https://a.test/");
            page.outcome = outcome;
            page.status = status;
            page.content_type = media_type.map(ToOwned::to_owned);
            assert_eq!(
                BodyKind::from_record(&page),
                expected,
                "{outcome:?} {media_type:?}"
            );
        }
    }

    #[test]
    fn plain_text_stays_plain() {
        let words = PageWords::from_text("a ```` b\u{1b}[2J\n", BodyKind::Plain);
        assert_eq!(words.text, "a ```` b[2J\n");
        assert_eq!(words.markdown, "`````\na ```` b[2J\n`````\n");
        assert_eq!(
            PageWords::from_text("# T", BodyKind::Markdown).markdown,
            "# T"
        );
    }
}
