//! A page as the users of the library see it.

use bytes::Bytes;
#[cfg(feature = "content")]
use clewline_content::{Content, ContentLimits, Refusal, SelectError, SelectedElement};
use clewline_core::link::Link;
use clewline_core::url::CrawlUrl;

use crate::headers::Headers;
use crate::record::Record;

/// A page that was fetched: its record, its header, its body and its links.
#[derive(Debug, Clone)]
pub struct Page {
    /// The line that stands in `urls.jsonl`.
    pub record: Record,
    /// Header fields as received.
    pub headers: Headers,
    /// The decoded body.
    pub body: Bytes,
    /// The DOM that a browser made of the page, as HTML in UTF-8, if one did.
    pub rendered: Option<Bytes>,
    /// The links of the page, not judged by scope.
    pub links: Vec<Link>,
}

impl Page {
    /// The URL that was fetched.
    pub const fn url(&self) -> &CrawlUrl {
        &self.record.url
    }

    /// HTTP status.
    pub fn status(&self) -> u16 {
        self.record.status.unwrap_or_default()
    }

    /// The title, if the page has one.
    pub fn title(&self) -> Option<&str> {
        self.record.title.as_deref()
    }

    /// The body as text in the page's own encoding; broken bytes become U+FFFD.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        let label = self.record.charset.as_deref().unwrap_or("utf-8");
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes());
        encoding.unwrap_or(encoding_rs::UTF_8).decode(&self.body).0
    }

    /// The page as its visitors see it: what a browser made of it, or else its [text](Self::text).
    pub fn shown(&self) -> std::borrow::Cow<'_, str> {
        match &self.rendered {
            Some(dom) => String::from_utf8_lossy(dom),
            None => self.text(),
        }
    }
}

/// What a page says [to its visitors](Page::shown), with the feature `content`.
#[cfg(feature = "content")]
impl Page {
    /// The main text of the page as Markdown, with absolute links.
    pub fn markdown(&self) -> Result<String, Refusal> {
        let content = self.content()?;
        Ok(content.main.map(|main| main.markdown).unwrap_or_default())
    }

    /// Everything that can be read off the page: metadata, plain text, main text, Markdown.
    pub fn content(&self) -> Result<Content, Refusal> {
        let url = url::Url::parse(self.url().as_str()).expect("what was fetched has a URL");
        Content::from_html(&self.shown(), &url, &ContentLimits::default())
    }

    /// The elements that a CSS selector matches, in the order of the page.
    pub fn select(&self, selector: &str) -> Result<Vec<SelectedElement>, SelectError> {
        clewline_content::select(&self.shown(), selector, &ContentLimits::default())
    }
}
