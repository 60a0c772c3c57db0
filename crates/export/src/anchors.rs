//! What pages say about their links: words, relation, fragment.
//!
//! Owns the way from a link of the log back to the element that named it. The crawl keeps none of
//! this, so the page is read again out of the archive; what is not there has nothing to say.

use std::collections::HashMap;

use clewline_content::{ContentLimits, LinkElement, PageLink, page_links};
use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use clewline_job::charset::text_of;
use clewline_job::pages::PageReader;
use clewline_job::record::Record;

use crate::pages::MOST_BODY;

/// What a page says about a link. Of several links to one target each is that of the first that
/// has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) text: Option<String>,
    pub(crate) rel: Option<String>,
    pub(crate) fragment: Option<String>,
}

/// What a page says about its links, by target and by the element that names it.
#[derive(Debug, Default)]
pub(crate) struct Anchors(HashMap<(Key, LinkElement), Said>);

impl Anchors {
    /// Reads the page of a record. What is damaged, missing or too much to read says nothing.
    pub(crate) fn read(reader: &PageReader, keyer: &Keyer, record: &Record) -> Self {
        Self::from_page(reader, keyer, record).unwrap_or_default()
    }

    fn from_page(reader: &PageReader, keyer: &Keyer, record: &Record) -> Option<Self> {
        // Links of pages that answer with an error are links, too.
        let is_page = matches!(
            record.content_type.as_deref(),
            None | Some("text/html" | "application/xhtml+xml")
        );
        if !is_page {
            return None;
        }
        let answer = reader.rendered_answer(record, MOST_BODY).ok()?;
        let charset = record.charset.as_deref();
        let mut anchors = Self::default();
        anchors.add_page(&text_of(&answer.body, charset), keyer, record);
        if answer.rendered.is_some() {
            anchors.add_page(&answer.text(charset), keyer, record);
        }
        Some(anchors)
    }

    fn add_page(&mut self, text: &str, keyer: &Keyer, record: &Record) {
        let found = page_links(text, &record.url.to_url(), &ContentLimits::default());
        for link in found.into_iter().flatten() {
            if let Some(url) = without_fragment(&link) {
                let key = keyer.key(&url);
                self.0.entry((key, link.element)).or_default().add(link);
            }
        }
    }

    /// What the page says about a link of it.
    pub(crate) fn said(&self, target: Key, kind: LinkKind) -> Said {
        let said = element_of(kind).and_then(|element| self.0.get(&(target, element)));
        said.cloned().unwrap_or_default()
    }
}

impl Said {
    fn add(&mut self, link: PageLink) {
        let fragment = link.url.fragment().filter(|it| !it.is_empty());
        self.fragment = self
            .fragment
            .take()
            .or_else(|| fragment.map(ToOwned::to_owned));
        self.text = self.text.take().or(link.text);
        self.rel = self.rel.take().or(link.rel);
    }
}

fn without_fragment(link: &PageLink) -> Option<CrawlUrl> {
    CrawlUrl::from_url(link.url.clone()).ok()
}

/// The element that names links of a kind; others have no words.
const fn element_of(kind: LinkKind) -> Option<LinkElement> {
    match kind {
        LinkKind::Anchor | LinkKind::Rendered => Some(LinkElement::Anchor),
        LinkKind::Area => Some(LinkElement::Area),
        LinkKind::Frame => Some(LinkElement::Frame),
        LinkKind::Image => Some(LinkElement::Image),
        LinkKind::Canonical
        | LinkKind::Next
        | LinkKind::Prev
        | LinkKind::Alternate
        | LinkKind::Related
        | LinkKind::Style
        | LinkKind::Asset => Some(LinkElement::Head),
        _ => None,
    }
}
