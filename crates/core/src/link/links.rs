//! The links of one page, together.
//!
//! Owns the texts of all of them in one piece: a page has tens of links, nearly all of them known,
//! and whoever looks at one needs no text of its own for that.

use std::fmt;

use super::Link;

/// Links in the order in which they were pushed.
///
/// ```
/// use clewline_core::link::{Link, LinkKind, Links};
/// use clewline_core::url::CrawlUrl;
/// let link = Link::new(CrawlUrl::parse("http://a.test/b").unwrap(), LinkKind::Anchor);
/// let links = Links::from_iter([link.clone(), link.clone()]);
/// assert_eq!(links.get(1).unwrap().url.path(), "/b");
/// assert!(links.iter().all(|one| one.to_owned() == link));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Links {
    texts: String,
    places: Vec<Link<Span>>,
}

/// Where in the texts of all one of them stands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Span {
    start: u32,
    end: u32,
}

impl Links {
    /// Room for so many links, with so many bytes of text.
    pub fn with_capacity(links: usize, bytes: usize) -> Self {
        Self {
            texts: String::with_capacity(bytes),
            places: Vec::with_capacity(links),
        }
    }

    /// Adds a link.
    pub fn push(&mut self, link: Link<&str>) {
        let mut keep = |text: &str| {
            let at = |length| u32::try_from(length).expect("a page names less than 4 GiB of links");
            let start = at(self.texts.len());
            self.texts.push_str(text);
            let end = at(self.texts.len());
            Span { start, end }
        };
        let url = link.url.with_text(keep(link.url.text()));
        let lastmod = link.lastmod.map(keep);
        self.places.push(Link {
            url,
            kind: link.kind,
            nofollow: link.nofollow,
            lastmod,
        });
    }

    /// A link was named once more: it may be followed if one of its namings says so.
    pub fn named_again(&mut self, index: usize, nofollow: bool) {
        if let Some(link) = self.places.get_mut(index) {
            link.nofollow &= nofollow;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many bytes their texts take.
    pub fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    /// The link at a place.
    pub fn get(&self, index: usize) -> Option<Link<&str>> {
        self.places.get(index).map(|link| self.seen(link))
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Link<&str>> + Clone {
        self.places.iter().map(|link| self.seen(link))
    }

    /// All of them, each with texts of its own.
    pub fn to_vec(&self) -> Vec<Link> {
        self.iter().map(Link::to_owned).collect()
    }

    fn seen(&self, link: &Link<Span>) -> Link<&str> {
        link.with_texts(|span| &self.texts[span.start as usize..span.end as usize])
    }
}

impl FromIterator<Link> for Links {
    fn from_iter<I: IntoIterator<Item = Link>>(links: I) -> Self {
        let mut all = Self::default();
        for link in links {
            all.push(link.by_ref());
        }
        all
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}
