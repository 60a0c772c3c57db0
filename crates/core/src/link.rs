//! Links: what pages point to, and how.
//!
//! Owns the closed list of ways in which one resource can name another. A kind is one byte on
//! disk; its number never changes.

pub mod field;
mod links;
pub mod relation;

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::url::CrawlUrl;

pub use links::Links;

/// How a URL was named. The numbers are part of the link log's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
#[non_exhaustive]
pub enum LinkKind {
    /// Given by the user.
    Root = 0,
    /// `<a href>`.
    Anchor = 1,
    /// `<area href>`.
    Area = 2,
    /// `<iframe src>`, `<frame src>`.
    Frame = 3,
    /// `rel=canonical`, in the page or in a Link header.
    Canonical = 4,
    /// `rel=next`.
    Next = 5,
    /// `rel=prev`.
    Prev = 6,
    /// `rel=alternate`: translations, feeds.
    Alternate = 7,
    /// `<meta http-equiv=refresh>` or a Refresh header.
    Refresh = 8,
    /// Location of a redirect.
    Redirect = 9,
    /// Another relation of a `<link>` or a Link header.
    Related = 10,
    /// Listed in a sitemap.
    Sitemap = 11,
    /// A sitemap itself: from robots.txt, a sitemap index or the well-known place.
    SitemapFile = 12,
    /// An entry of an RSS or Atom feed.
    Feed = 13,
    /// A string in a script or in JSON that looks like a URL: a guess.
    ScriptText = 14,
    /// Where scripts led a browser: a link of a rendered page that its HTML did not have.
    Rendered = 15,
    /// What the scripts of a rendered page asked for.
    Requested = 16,
    /// An image, also from srcset and posters.
    Image = 20,
    /// A style sheet.
    Style = 21,
    /// A script.
    Script = 22,
    /// A font.
    Font = 23,
    /// Audio, video, tracks, embedded objects.
    Media = 24,
    /// `url()` in a style sheet.
    CssUrl = 25,
    /// `@import` in a style sheet.
    CssImport = 26,
    /// Icons, manifests, preloads and the like.
    Asset = 27,
    /// An image that a script loads later, from `data-src` and the like.
    LazyImage = 28,
}

impl LinkKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 26] = [
        Self::Root,
        Self::Anchor,
        Self::Area,
        Self::Frame,
        Self::Canonical,
        Self::Next,
        Self::Prev,
        Self::Alternate,
        Self::Refresh,
        Self::Redirect,
        Self::Related,
        Self::Sitemap,
        Self::SitemapFile,
        Self::Feed,
        Self::ScriptText,
        Self::Rendered,
        Self::Requested,
        Self::Image,
        Self::Style,
        Self::Script,
        Self::Font,
        Self::Media,
        Self::CssUrl,
        Self::CssImport,
        Self::Asset,
        Self::LazyImage,
    ];

    /// The kind with this number, if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Whether this is part of what a page is made of, rather than another page.
    pub const fn is_requisite(self) -> bool {
        self as u8 >= Self::Image as u8
    }

    /// Whether what it leads to counts as a page: it is neither a part of one nor a sitemap.
    pub const fn is_page(self) -> bool {
        !self.is_requisite() && !matches!(self, Self::SitemapFile)
    }

    /// Whether nobody said that it leads anywhere, so that nobody misses what is not there.
    pub const fn is_guess(self) -> bool {
        matches!(self, Self::ScriptText)
    }

    /// Whether people get from page to page by it, so that it speaks for the page it leads to.
    pub const fn is_followed(self) -> bool {
        matches!(
            self,
            Self::Anchor
                | Self::Area
                | Self::Frame
                | Self::Canonical
                | Self::Next
                | Self::Prev
                | Self::Refresh
                | Self::Redirect
                | Self::Rendered
        )
    }

    /// The name used in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Anchor => "anchor",
            Self::Area => "area",
            Self::Frame => "frame",
            Self::Canonical => "canonical",
            Self::Next => "next",
            Self::Prev => "prev",
            Self::Alternate => "alternate",
            Self::Refresh => "refresh",
            Self::Redirect => "redirect",
            Self::Related => "related",
            Self::Sitemap => "sitemap",
            Self::SitemapFile => "sitemap-file",
            Self::Feed => "feed",
            Self::ScriptText => "script-text",
            Self::Rendered => "rendered",
            Self::Requested => "requested",
            Self::Image => "image",
            Self::Style => "style",
            Self::Script => "script",
            Self::Font => "font",
            Self::Media => "media",
            Self::CssUrl => "css-url",
            Self::CssImport => "css-import",
            Self::Asset => "asset",
            Self::LazyImage => "lazy-image",
        }
    }
}

/// A link as an extractor hands it over: resolved, canonical, not yet judged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Link<Text = Box<str>> {
    /// Where it points.
    pub url: CrawlUrl<Text>,
    /// How it was named.
    pub kind: LinkKind,
    /// Marked `rel=nofollow` (also `ugc` and `sponsored`).
    pub nofollow: bool,
    /// The `lastmod` of a sitemap entry, as written.
    pub lastmod: Option<Text>,
}

impl<Text> Link<Text> {
    /// A plain link.
    pub const fn new(url: CrawlUrl<Text>, kind: LinkKind) -> Self {
        Self {
            url,
            kind,
            nofollow: false,
            lastmod: None,
        }
    }

    /// The same link with its texts in another place.
    fn with_texts<'a, Other>(&'a self, place: impl Fn(&'a Text) -> Other) -> Link<Other> {
        Link {
            url: self.url.with_text(place(self.url.text())),
            kind: self.kind,
            nofollow: self.nofollow,
            lastmod: self.lastmod.as_ref().map(place),
        }
    }
}

impl<Text: Deref<Target = str>> fmt::Debug for Link<Text> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Link")
            .field("url", &self.url)
            .field("kind", &self.kind)
            .field("nofollow", &self.nofollow)
            .field("lastmod", &self.lastmod.as_deref())
            .finish()
    }
}

impl Link {
    /// The same link with its texts where they are.
    pub fn by_ref(&self) -> Link<&str> {
        self.with_texts(|text| &**text)
    }
}

impl Link<&str> {
    /// The same link with texts of its own.
    pub fn to_owned(self) -> Link {
        self.with_texts(|text| Box::from(*text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_stable() {
        let mut names: Vec<_> = LinkKind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LinkKind::ALL.len());
        for kind in LinkKind::ALL {
            assert_eq!(LinkKind::from_number(kind as u8), Some(kind));
            assert_eq!(
                serde_json::to_string(&kind).unwrap(),
                format!("\"{}\"", kind.name())
            );
        }
        assert_eq!(LinkKind::from_number(19), None);
        assert!(LinkKind::Image.is_requisite() && !LinkKind::Feed.is_requisite());
        let guesses: Vec<_> = LinkKind::ALL
            .iter()
            .filter(|kind| kind.is_guess())
            .collect();
        assert_eq!(guesses, [&LinkKind::ScriptText]);
    }
}
