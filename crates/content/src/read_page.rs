//! The body of a capture, read as a page that can be quoted.
//!
//! Owns which media types have words, and how a text without markup becomes Markdown. It refuses to
//! know where the body came from. Invariant: of the same text, type and URL comes the same Markdown,
//! so that a passage of one day is found again on another.

use url::Url;

use crate::content::Content;
use crate::hidden::{HiddenText, seen};
use crate::limits::{ContentLimits, Refusal};
use crate::metadata::Metadata;
use crate::quote::QuotedPage;

/// A page: its main content as Markdown, and its texts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadPage {
    /// What it says about itself; nothing of a text.
    pub metadata: Option<Metadata>,
    /// The main content.
    pub markdown: String,
    /// Whether the Markdown was cut, because it became much longer than the page.
    pub is_truncated: bool,
    /// What was left out because people do not see it.
    pub hidden: HiddenText,
    texts: Vec<String>,
}

impl ReadPage {
    /// Whether pages of a media type have words; what names none is taken for HTML.
    pub fn has_words(media_type: &str) -> bool {
        matches!(media_type, "text/plain" | "text/markdown") || is_html(media_type)
    }

    /// Reads the text of a body.
    pub fn from_body(
        text: &str,
        media_type: &str,
        url: &Url,
        limits: &ContentLimits,
    ) -> Result<Self, Refusal> {
        if is_html(media_type) {
            return Content::from_html(text, url, limits).map(Self::from_content);
        }
        if text.len() > limits.most_bytes {
            let most = limits.most_bytes;
            return Err(Refusal::TooLong { most });
        }
        let (text, invisible) = seen(text);
        let markdown = match media_type {
            "text/markdown" => text.clone().into_owned(),
            _ => fenced(&text),
        };
        Ok(Self {
            metadata: None,
            markdown,
            is_truncated: false,
            hidden: HiddenText {
                invisible,
                ..HiddenText::default()
            },
            texts: vec![text.into_owned()],
        })
    }

    fn from_content(content: Content) -> Self {
        let mut page = Self {
            metadata: Some(content.metadata),
            markdown: String::new(),
            is_truncated: false,
            hidden: HiddenText::default(),
            texts: vec![content.text],
        };
        if let Some(main) = content.main {
            page.markdown = main.markdown;
            page.is_truncated = main.truncated;
            page.hidden = main.hidden;
            page.texts.push(main.text);
        }
        page
    }

    /// The title that it gives itself.
    pub fn title(&self) -> Option<&str> {
        self.metadata.as_ref()?.title.as_deref()
    }

    /// The page, for quotes to be looked for in it.
    pub fn quoted(&self) -> QuotedPage {
        QuotedPage::new(&self.markdown, self.texts.iter().map(String::as_str))
    }
}

fn is_html(media_type: &str) -> bool {
    matches!(media_type, "" | "text/html" | "application/xhtml+xml")
}

/// Plain text as a block that Markdown leaves alone.
pub fn fenced(text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}\n")
}
