//! The links of a page as it was answered and as a browser showed it.
//!
//! Owns which URLs that a rendering tells of are links, of which kind, and which of them are new. It refuses
//! to know what is done with them. Invariant: what the answer said stands first and stays as it is, and each
//! URL stands there once.

use std::collections::HashSet;

use clewline_core::link::{Link, LinkKind, Links};
use clewline_core::url::CrawlUrl;
use clewline_render::{PartKind, Rendering, RequestFate, RequestedUrl};

/// The links of an answer, and after them those that only a browser sees.
#[derive(Debug)]
pub(crate) struct JoinedLinks {
    pub(crate) all: Links,
    /// How many of them only a browser sees, …
    pub(crate) new_links: u32,
    /// … and how many of those a visitor could follow.
    pub(crate) new_pages: u32,
}

impl JoinedLinks {
    /// Joins the links of an answer, those of its DOM, and whatever else its rendering tells of.
    pub(crate) fn new(answer: &[Link], dom: &Links, rendering: &Rendering) -> Self {
        let mut links = LinkUnion::of(answer);
        let before = links.all.len();
        links.add_dom(dom);
        let ways = rendering.navigated.iter().chain(&rendering.passing_links);
        ways.for_each(|url| links.add_text(url, LinkKind::Rendered));
        let pages = links.all.iter().skip(before);
        let new_pages = pages.filter(|link| link.kind.is_page()).count() as u32;
        rendering
            .requested
            .iter()
            .filter(|requested| is_missing(requested))
            .for_each(|requested| links.add_text(&requested.url, kind_of(requested)));
        Self {
            new_links: (links.all.len() - before) as u32,
            new_pages,
            all: links.all,
        }
    }
}

/// Whether nobody has what a page asked for. What was answered is archived already, and asking for
/// it once more would bring nothing.
fn is_missing(requested: &RequestedUrl) -> bool {
    matches!(&*requested.method, "GET" | "HEAD") && requested.fate != RequestFate::Answered
}

/// As what a request of a page counts among its links: parts that a browser had no use for are
/// parts of the page all the same.
const fn kind_of(requested: &RequestedUrl) -> LinkKind {
    match requested.kind {
        PartKind::Document | PartKind::Fetch | PartKind::Other => LinkKind::Requested,
        PartKind::Style => LinkKind::Style,
        PartKind::Script => LinkKind::Script,
        PartKind::Image => LinkKind::Image,
        PartKind::Font => LinkKind::Font,
        PartKind::Media => LinkKind::Media,
    }
}

/// The links of an answer, and after them those that only a browser sees.
struct LinkUnion {
    all: Links,
    met: HashSet<String>,
}

impl LinkUnion {
    fn of(links: &[Link]) -> Self {
        let mut union = Self {
            all: Links::default(),
            met: HashSet::new(),
        };
        for link in links {
            union.add(link.by_ref());
        }
        union
    }

    fn add(&mut self, link: Link<&str>) {
        if self.met.insert(link.url.as_str().to_owned()) {
            self.all.push(link);
        }
    }

    fn add_dom(&mut self, links: &Links) {
        for link in links.iter() {
            let kind = if link.kind.is_page() {
                LinkKind::Rendered
            } else {
                link.kind
            };
            self.add(Link { kind, ..link });
        }
    }

    fn add_text(&mut self, text: &str, kind: LinkKind) {
        if let Ok(url) = CrawlUrl::parse(text) {
            self.add(Link::new(url, kind).by_ref());
        }
    }
}
