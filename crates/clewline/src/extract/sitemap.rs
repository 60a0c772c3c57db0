//! Sitemaps and sitemap indexes, in XML and as plain text.
//!
//! Owns the protocol of sitemaps.org with the leniency that published ones need. Refuses to
//! judge whether a sitemap may speak for a URL; scope decides what is fetched. Invariant: at
//! most [`URL_LIMIT`] URLs and as many alternates, whatever the file holds.

use clewline_core::link::LinkKind;
use clewline_core::url::{CrawlUrl, HARD_LENGTH_LIMIT};

use super::collect::{Bounds, Collector, Reference, TextEnding};
use super::element::push_bounded;
use super::xml::{Visitor, WalkEnd, XmlStartTag, walk};

/// URLs in one file at the most (sitemaps.org).
pub(super) const URL_LIMIT: usize = 50_000;

/// The largest file, unpacked (sitemaps.org).
pub(super) const FILE_LIMIT: usize = 50 * 1024 * 1024;

/// References of a sitemap: URLs, their alternates and images.
pub(super) const BOUNDS: Bounds = Bounds {
    links: 2 * URL_LIMIT,
    bytes: 24 * 1024 * 1024,
};

/// The longest `lastmod`, in characters.
const LASTMOD_LIMIT: usize = 64;

/// How much of a field is read: more than a URL may have, so that a longer one is refused and
/// not cut.
pub(super) const FIELD_BYTES: usize = HARD_LENGTH_LIMIT + 8;

/// Extensions that have a `loc` of their own.
const EXTENSIONS: [&str; 4] = ["image", "video", "news", "pagemap"];

/// A date as it is written, cut to a sane length.
pub(super) fn lastmod(text: &str) -> Option<Box<str>> {
    let date: String = text.trim().chars().take(LASTMOD_LIMIT).collect();
    (!date.is_empty()).then(|| date.into_boxed_str())
}

/// Adds an entry. Entries ought to be absolute; a bare host and a bare path are understood,
/// anything else leads nowhere.
pub(super) fn add(collector: &mut Collector, sitemap: &CrawlUrl, entry: Reference<'_>) {
    let raw = entry.raw.trim();
    if raw.is_empty() {
        return;
    }
    let names_host = raw
        .get(..sitemap.host().len())
        .is_some_and(|head| head.eq_ignore_ascii_case(sitemap.host()));
    if names_host {
        let raw = format!("{}://{raw}", sitemap.scheme().as_str());
        collector.add_reference(Reference {
            raw: raw.into(),
            ..entry
        });
    } else if raw.starts_with('/') || raw.contains("://") {
        let raw = raw.to_owned();
        collector.add_reference(Reference {
            raw: raw.into(),
            ..entry
        });
    } else {
        collector.count_other();
    }
}

/// Reads a sitemap that is a list of lines. The last line of one that was cut off is half a URL,
/// which may well lead somewhere.
pub(super) fn lines(text: &str, ending: TextEnding, sitemap: &CrawlUrl, collector: &mut Collector) {
    let text = match ending {
        TextEnding::Whole => text,
        TextEnding::Cut => text.rfind(['\r', '\n']).map_or("", |end| &text[..end]),
    };
    for line in text.trim_start_matches('\u{feff}').lines().take(URL_LIMIT) {
        add(collector, sitemap, Reference::new(line, LinkKind::Sitemap));
    }
}

/// Reads a sitemap or an index in XML.
pub(super) fn read(text: &str, sitemap: &CrawlUrl, collector: &mut Collector) -> WalkEnd {
    let mut reader = Entries {
        collector,
        sitemap,
        kind: LinkKind::Sitemap,
        capture: None,
        text: String::new(),
        within: None,
        location: None,
        lastmod: None,
        count: 0,
        alternate_count: 0,
    };
    let end = walk(text, &mut reader);
    // Where the markup broke, the text before the break is whole; where the file simply ends,
    // its last URL may be cut.
    if end == WalkEnd::Broken && reader.capture == Some(Field::Location) {
        reader.location = Some(std::mem::take(&mut reader.text));
    }
    reader.emit();
    end
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Location,
    Lastmod,
    /// The text of an entry itself: some write the URL there, without a `loc`.
    Entry,
}

struct Entries<'a> {
    collector: &'a mut Collector,
    sitemap: &'a CrawlUrl,
    kind: LinkKind,
    capture: Option<Field>,
    text: String,
    within: Option<&'static str>,
    location: Option<String>,
    lastmod: Option<Box<str>>,
    count: usize,
    alternate_count: usize,
}

impl Entries<'_> {
    fn begin(&mut self, field: Field) {
        self.text.clear();
        self.capture = Some(field);
    }

    /// Hands over the entry that was read last, if it is complete.
    fn emit(&mut self) {
        let lastmod = self.lastmod.take();
        let Some(location) = self.location.take() else {
            return;
        };
        self.count += 1;
        if self.count <= URL_LIMIT {
            let entry = Reference {
                lastmod,
                ..Reference::new(location, self.kind)
            };
            add(self.collector, self.sitemap, entry);
        } else {
            self.collector.count_dropped();
        }
    }

    fn alternate(&mut self, tag: &XmlStartTag<'_, '_>) {
        let is_alternate = tag
            .attribute("rel")
            .is_some_and(|rel| rel.eq_ignore_ascii_case("alternate"));
        let Some(raw) = tag.attribute("href").filter(|_| is_alternate) else {
            return;
        };
        self.alternate_count += 1;
        if self.alternate_count <= URL_LIMIT {
            let entry = Reference::new(raw, LinkKind::Alternate);
            add(self.collector, self.sitemap, entry);
        }
    }

    fn end_location(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.within {
            None => self.location = Some(text),
            Some("image") => {
                add(
                    self.collector,
                    self.sitemap,
                    Reference::new(text, LinkKind::Image),
                );
            }
            Some(_) => {}
        }
    }
}

impl Visitor for Entries<'_> {
    fn open(&mut self, name: &str, tag: &XmlStartTag<'_, '_>) {
        if self.capture == Some(Field::Entry) {
            self.capture = None;
        }
        match name {
            "sitemapindex" => self.kind = LinkKind::SitemapFile,
            "loc" => {
                if self.within.is_none() && self.location.is_some() {
                    self.emit();
                }
                self.begin(Field::Location);
            }
            "lastmod" if self.within.is_none() => self.begin(Field::Lastmod),
            "url" | "sitemap" if self.capture.is_none() => self.begin(Field::Entry),
            "link" => self.alternate(tag),
            _ if self.within.is_none() => {
                self.within = EXTENSIONS.into_iter().find(|extension| *extension == name);
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
            ("loc", Some(Field::Location)) => self.end_location(),
            ("lastmod", Some(Field::Lastmod)) => {
                self.lastmod = lastmod(&std::mem::take(&mut self.text));
            }
            ("url" | "sitemap", Some(Field::Entry)) => {
                self.location = Some(std::mem::take(&mut self.text));
                self.emit();
            }
            ("url" | "sitemap", None) => return self.emit(),
            _ => {
                if self.within == Some(name) {
                    self.within = None;
                }
                return;
            }
        }
        self.capture = None;
    }
}
