//! What pages say about their links: words, relation, fragment.
//!
//! Owns the way from a link of the log back to the element that named it. The crawl keeps none of
//! this, so the page is read again out of the archive; what is not there has nothing to say.
//! Invariant: the links of one page are held, and no more.

use std::collections::HashMap;
use std::rc::Rc;

use clewline::log::Offset;
use clewline_archive::Archive;
use clewline_content::{ContentLimits, LinkElement, PageLink, page_links};
use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;

use crate::bodies::body_of;
use crate::error::ExportError;
use crate::job::Job;
use crate::urls::Urls;
use crate::words::text_of;

/// What a page says about a link. Of several links to one target each is that of the first that
/// has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) text: Option<String>,
    pub(crate) rel: Option<String>,
    pub(crate) fragment: Option<String>,
}

/// Reads what pages say about their links.
pub(crate) struct Anchors<'a> {
    archive: Rc<Archive>,
    keyer: &'a Keyer,
    /// The page whose links are held.
    page: Option<Key>,
    links: HashMap<(Key, LinkElement), Said>,
}

impl<'a> Anchors<'a> {
    /// Nothing if the keys of the job cannot be made again.
    pub(crate) fn of_job(job: &'a Job) -> Result<Option<Self>, ExportError> {
        let found = job.archive_with_keys()?;
        Ok(found.map(|(archive, keyer)| Self {
            archive,
            keyer,
            page: None,
            links: HashMap::new(),
        }))
    }

    /// What a page says about a link of it.
    pub(crate) fn said(
        &mut self,
        page: (Key, Offset),
        link: (Key, LinkKind),
        urls: &mut Urls,
    ) -> Said {
        let Some(element) = element_of(link.1) else {
            return Said::default();
        };
        if self.page != Some(page.0) {
            self.page = Some(page.0);
            self.links = self.read(page.1, urls).unwrap_or_default();
        }
        let said = self.links.get(&(link.0, element));
        said.cloned().unwrap_or_default()
    }

    /// What is damaged, missing or too much to read says nothing.
    fn read(&self, place: Offset, urls: &mut Urls) -> Option<HashMap<(Key, LinkElement), Said>> {
        let record = urls.record(place).ok()?;
        // Links of pages that answer with an error are links, too.
        let is_page = matches!(
            record.content_type.as_deref(),
            None | Some("text/html" | "application/xhtml+xml")
        );
        if !is_page {
            return None;
        }
        let body = body_of(&self.archive, &record).ok()?;
        let text = text_of(&body, record.charset.as_deref());
        let found = page_links(&text, &record.url.to_url(), &ContentLimits::default());
        let mut links: HashMap<_, Said> = HashMap::new();
        for link in found.ok()? {
            if let Some(url) = without_fragment(&link) {
                let key = self.keyer.key(&url);
                links.entry((key, link.element)).or_default().add(link);
            }
        }
        Some(links)
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
    CrawlUrl::parse(link.url.as_str()).ok()
}

/// The element that names links of a kind; others have no words.
const fn element_of(kind: LinkKind) -> Option<LinkElement> {
    match kind {
        LinkKind::Anchor => Some(LinkElement::Anchor),
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
