//! Where in a page something stands, in words for people.
//!
//! Owns the landmarks of a page and the names of classes and roles that stand for them. It refuses
//! to know what is in them.

use clewline_content::PageElement;

/// Classes, ids and roles that say which landmark an element without a name of its own is.
const NAMED: [(&str, &str); 14] = [
    ("banner", "header"),
    ("header", "header"),
    ("masthead", "header"),
    ("navigation", "nav"),
    ("nav", "nav"),
    ("navbar", "nav"),
    ("menu", "nav"),
    ("main", "main"),
    ("content", "main"),
    ("complementary", "aside"),
    ("sidebar", "aside"),
    ("contentinfo", "footer"),
    ("footer", "footer"),
    ("breadcrumbs", "nav"),
];

/// A place that equal edits share: the landmark, and the innermost block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PageRegion {
    pub(crate) landmark: &'static str,
    pub(crate) block: &'static str,
}

impl PageRegion {
    /// Where a page begins.
    pub(crate) const BODY: Self = Self {
        landmark: "body",
        block: "body",
    };

    /// As people read it: `footer p`.
    pub(crate) fn name(self) -> String {
        if self.landmark == self.block {
            return self.landmark.to_owned();
        }
        format!("{} {}", self.landmark, self.block)
    }

    /// The place inside an element that begins here.
    pub(crate) fn inside(self, element: PageElement<'_>) -> Self {
        let mut region = self;
        if let Some(landmark) = landmark_of(element) {
            region.landmark = landmark;
        }
        if element.is_block || element.name == "title" {
            region.block = element.name;
        }
        region
    }
}

fn landmark_of(element: PageElement<'_>) -> Option<&'static str> {
    match element.name {
        "head" | "title" => Some("head"),
        "header" => Some("header"),
        "nav" => Some("nav"),
        "main" | "article" => Some("main"),
        "aside" => Some("aside"),
        "footer" => Some("footer"),
        "div" | "section" | "ul" | "ol" | "table" | "td" => ["role", "id", "class"]
            .iter()
            .filter_map(|name| element.value(name))
            .find_map(|value| named(&value)),
        _ => None,
    }
}

fn named(value: &str) -> Option<&'static str> {
    let mut words = value.split_ascii_whitespace();
    words.find_map(|word| {
        let found = NAMED
            .iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name));
        found.map(|(_, landmark)| *landmark)
    })
}
