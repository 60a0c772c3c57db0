//! RSS and Atom feeds.
//!
//! Owns the links of feeds: entries, enclosures, the site they belong to. Refuses to know
//! anything else of an entry. Invariant: bounded by the collector, one entry in memory.

use clewline_core::link::LinkKind;

use super::collect::{Collector, Reference};
use super::element::push_bounded;
use super::sitemap::{FIELD_BYTES, lastmod};
use super::xml::{Visitor, WalkEnd, XmlStartTag, walk};

/// Reads a feed; its entries are of `kind`, which tells a feed from a feed that is a sitemap.
pub(super) fn read(text: &str, kind: LinkKind, collector: &mut Collector) -> WalkEnd {
    let mut feed = Feed {
        collector,
        kind,
        is_in_entry: false,
        is_in_image: false,
        capture: None,
        text: String::new(),
        link: None,
        guid: None,
        date: None,
    };
    walk(text, &mut feed)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Link,
    Guid,
    Date,
}

struct Feed<'a> {
    collector: &'a mut Collector,
    kind: LinkKind,
    is_in_entry: bool,
    is_in_image: bool,
    capture: Option<Field>,
    text: String,
    link: Option<String>,
    guid: Option<String>,
    date: Option<Box<str>>,
}

impl Feed<'_> {
    fn begin(&mut self, field: Field) {
        self.text.clear();
        self.capture = Some(field);
    }

    fn begin_entry(&mut self) {
        self.is_in_entry = true;
        self.link = None;
        self.guid = None;
        self.date = None;
    }

    /// An entry's own link; an identifier that is a URL stands in for a missing one, even if it
    /// is marked as no permanent link, because there is nothing better to follow.
    fn end_entry(&mut self) {
        self.is_in_entry = false;
        let guid = self.guid.take().filter(|guid| guid.contains("://"));
        if let Some(raw) = self.link.take().or(guid) {
            let lastmod = self.date.take();
            let entry = Reference {
                lastmod,
                ..Reference::new(raw, self.kind)
            };
            self.collector.add_reference(entry);
        }
    }

    /// RSS puts the URL into the element, Atom into an attribute (RFC 4287 section 4.2.7).
    fn link(&mut self, tag: &XmlStartTag<'_, '_>) {
        let Some(raw) = tag.attribute("href") else {
            if !self.is_in_image {
                self.begin(Field::Link);
            }
            return;
        };
        let relation = tag
            .attribute("rel")
            .unwrap_or_default()
            .to_ascii_lowercase();
        match (relation.as_str(), self.is_in_entry) {
            ("" | "alternate", true) => drop(self.link.get_or_insert(raw)),
            ("enclosure" | "related" | "via" | "replies", true) | ("" | "alternate", false) => {
                self.collector.add(&raw, LinkKind::Related);
            }
            ("next" | "next-archive", false) => self.collector.add(&raw, LinkKind::Next),
            ("previous" | "prev-archive", false) => self.collector.add(&raw, LinkKind::Prev),
            _ => {}
        }
    }

    fn end_field(&mut self, field: Field) {
        let text = std::mem::take(&mut self.text);
        match field {
            Field::Link if self.is_in_entry => drop(self.link.get_or_insert(text)),
            Field::Link => self.collector.add(&text, LinkKind::Related),
            Field::Guid => self.guid = Some(text),
            Field::Date => self.date = lastmod(&text),
        }
    }
}

impl Visitor for Feed<'_> {
    fn open(&mut self, name: &str, tag: &XmlStartTag<'_, '_>) {
        match name {
            "item" | "entry" => self.begin_entry(),
            "image" | "textinput" => self.is_in_image = true,
            "link" => self.link(tag),
            "guid" if self.is_in_entry => self.begin(Field::Guid),
            "pubdate" | "updated" | "date" if self.is_in_entry => self.begin(Field::Date),
            "enclosure" => {
                if let Some(raw) = tag.attribute("url") {
                    self.collector.add(&raw, LinkKind::Related);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.capture.is_some() {
            push_bounded(&mut self.text, text, FIELD_BYTES);
        }
    }

    fn close(&mut self, name: &str) {
        match (name, self.capture) {
            ("link", Some(Field::Link))
            | ("guid", Some(Field::Guid))
            | ("pubdate" | "updated" | "date", Some(Field::Date)) => {
                if let Some(field) = self.capture.take() {
                    self.end_field(field);
                }
            }
            ("item" | "entry", _) => {
                self.capture = None;
                self.end_entry();
            }
            ("image" | "textinput", _) => self.is_in_image = false,
            _ => {}
        }
    }
}
