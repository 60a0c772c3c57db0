//! Which attributes of which elements are references.
//!
//! Owns the table of HTML and SVG elements that name other resources, and the facts that `meta`,
//! `base` and `title` tell. Refuses to know how the element was tokenized: the HTML and the XML
//! path both hand over a name and a way to look up attributes, entities decoded.

use std::borrow::Cow;
use std::sync::Arc;

use clewline_core::link::LinkKind;
use clewline_core::url::{CrawlUrl, HARD_LENGTH_LIMIT};
use clewline_markup::{refresh, srcset};
use url::Url;

use super::collect::{Collector, Reference};
use super::directives::Directives;
use super::relation;
use super::tokenizer::{Attribute, Name};

/// The longest title, in characters.
const TITLE_LIMIT: usize = 1000;

/// How much of a title is read to get there, in bytes: white space and entities fold.
pub(super) const TITLE_BYTES: usize = 16 * 1024;

/// The longest style element that is read, in bytes.
pub(super) const STYLE_BYTES: usize = 1024 * 1024;

/// The attributes of an element.
pub(super) trait Attributes {
    /// The value of an attribute, decoded; empty, if it is there without one.
    fn value(&self, attribute: Attribute) -> Option<Cow<'_, str>>;
}

/// What a document told so far.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) collector: Collector,
    pub(super) page: CrawlUrl,
    pub(super) base: Option<Url>,
    pub(super) agent: Arc<str>,
    pub(super) directives: Directives,
    pub(super) title: Option<String>,
    pub(super) problem: Option<&'static str>,
    raw_title: Option<String>,
    raw_style: String,
}

impl Findings {
    pub(super) fn new(collector: Collector, page: CrawlUrl, agent: Arc<str>) -> Self {
        Self {
            collector,
            page,
            base: None,
            agent,
            directives: Directives::default(),
            title: None,
            problem: None,
            raw_title: None,
            raw_style: String::new(),
        }
    }

    /// A title begins; the first that has text counts.
    pub(super) fn begin_title(&mut self) {
        self.raw_title = self.title.is_none().then(String::new);
    }

    /// A piece of the text of a title, as written.
    pub(super) fn title_text(&mut self, text: &str) {
        if let Some(raw) = &mut self.raw_title {
            push_bounded(raw, text, TITLE_BYTES);
        }
    }

    /// The title's text is complete.
    pub(super) fn end_title(&mut self) {
        let Some(raw) = self.raw_title.take() else {
            return;
        };
        self.title(&raw);
    }

    /// A title as written; the first that has text counts.
    pub(super) fn title(&mut self, raw: &str) {
        if self.title.is_some() {
            return;
        }
        let mut folded = String::with_capacity(raw.len().min(TITLE_LIMIT));
        for word in htmlize::unescape(raw).split_whitespace() {
            if !folded.is_empty() {
                folded.push(' ');
            }
            folded.push_str(word);
        }
        if let Some((end, _)) = folded.char_indices().nth(TITLE_LIMIT) {
            folded.truncate(end);
        }
        if !folded.is_empty() {
            self.title = Some(folded);
        }
    }

    /// A piece of the text of a style element.
    pub(super) fn style_text(&mut self, text: &str) {
        push_bounded(&mut self.raw_style, text, STYLE_BYTES);
    }

    /// The style element's text is complete.
    pub(super) fn end_style(&mut self) {
        let text = std::mem::take(&mut self.raw_style);
        self.style(&text);
    }

    /// A style sheet, or the declarations of one element.
    pub(super) fn style(&mut self, text: &str) {
        self.collector.add_sheet(text);
    }

    /// Reads one element.
    pub(super) fn element(&mut self, name: Name, attributes: &impl Attributes) {
        match name {
            Name::A => self.anchor(LinkKind::Anchor, attributes),
            Name::AREA => self.anchor(LinkKind::Area, attributes),
            Name::BASE => self.base(attributes),
            Name::LINK => self.link(attributes),
            Name::META => self.meta(attributes),
            Name::IFRAME | Name::FRAME => self.plain(Attribute::Src, LinkKind::Frame, attributes),
            Name::SCRIPT => self.plain(Attribute::Src, LinkKind::Script, attributes),
            Name::OBJECT => self.plain(Attribute::Data, LinkKind::Media, attributes),
            Name::AUDIO | Name::TRACK | Name::EMBED => {
                self.plain(Attribute::Src, LinkKind::Media, attributes);
            }
            Name::VIDEO => {
                self.plain(Attribute::Src, LinkKind::Media, attributes);
                self.plain(Attribute::Poster, LinkKind::Image, attributes);
            }
            Name::SOURCE => {
                self.plain(Attribute::Src, LinkKind::Media, attributes);
                self.srcset(Attribute::Srcset, attributes);
            }
            Name::IMG | Name::IMAGE => self.image(attributes),
            Name::USE => self.svg_reference(attributes),
            Name::INPUT if is_image_input(attributes) => {
                self.plain(Attribute::Src, LinkKind::Image, attributes);
            }
            _ => {}
        }
        self.plain(Attribute::Background, LinkKind::Image, attributes);
        if let Some(style) = attributes.value(Attribute::Style) {
            self.style(&style);
        }
    }

    fn plain(&mut self, attribute: Attribute, kind: LinkKind, attributes: &impl Attributes) {
        if let Some(raw) = attributes.value(attribute) {
            self.collector.add_reference(Reference::new(raw, kind));
        }
    }

    fn anchor(&mut self, kind: LinkKind, attributes: &impl Attributes) {
        let Some(raw) = attributes
            .value(Attribute::Href)
            .or_else(|| attributes.value(Attribute::XlinkHref))
        else {
            return;
        };
        let nofollow = attributes
            .value(Attribute::Rel)
            .is_some_and(|rel| relation::is_nofollow(&rel));
        self.collector.add_reference(Reference {
            nofollow,
            ..Reference::new(raw, kind)
        });
    }

    fn image(&mut self, attributes: &impl Attributes) {
        self.plain(Attribute::Src, LinkKind::Image, attributes);
        self.srcset(Attribute::Srcset, attributes);
        self.svg_reference(attributes);
    }

    fn svg_reference(&mut self, attributes: &impl Attributes) {
        let raw = attributes
            .value(Attribute::Href)
            .or_else(|| attributes.value(Attribute::XlinkHref));
        if let Some(raw) = raw {
            self.collector
                .add_reference(Reference::new(raw, LinkKind::Image));
        }
    }

    fn srcset(&mut self, attribute: Attribute, attributes: &impl Attributes) {
        if let Some(value) = attributes.value(attribute) {
            srcset::candidates(&value, |place| {
                self.collector.add(&value[place], LinkKind::Image);
            });
        }
    }

    /// The first base that can be one counts (HTML section 4.2.3). One that is longer than any
    /// URL would be copied for each link, only to be refused.
    fn base(&mut self, attributes: &impl Attributes) {
        if self.base.is_some() {
            return;
        }
        let base = attributes
            .value(Attribute::Href)
            .and_then(|raw| self.page.to_url().join(&raw).ok());
        self.base = base
            .filter(|base| !base.cannot_be_a_base() && base.as_str().len() <= HARD_LENGTH_LIMIT);
    }

    fn link(&mut self, attributes: &impl Attributes) {
        let Some(relations) = attributes.value(Attribute::Rel) else {
            return;
        };
        let Some(kind) = relation::kind(&relations, attributes.value(Attribute::As).as_deref())
        else {
            return;
        };
        if let Some(raw) = attributes.value(Attribute::Href) {
            let nofollow = relation::is_nofollow(&relations);
            self.collector.add_reference(Reference {
                nofollow,
                ..Reference::new(raw, kind)
            });
        }
        if kind == LinkKind::Image {
            self.srcset(Attribute::ImageSrcset, attributes);
        }
    }

    fn meta(&mut self, attributes: &impl Attributes) {
        let Some(content) = attributes.value(Attribute::Content) else {
            return;
        };
        let is_refresh = attributes
            .value(Attribute::HttpEquiv)
            .is_some_and(|name| name.trim().eq_ignore_ascii_case("refresh"));
        if is_refresh && let Some(place) = refresh::target(&content) {
            self.collector.add(&content[place], LinkKind::Refresh);
        }
        let Some(name) = attributes.value(Attribute::Name) else {
            return;
        };
        let name = name.trim();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(&self.agent) {
            self.directives.read(&content);
        }
    }
}

fn is_image_input(attributes: &impl Attributes) -> bool {
    attributes
        .value(Attribute::Type)
        .is_some_and(|kind| kind.eq_ignore_ascii_case("image"))
}

/// Appends as much of a text as fits, cut between characters, so that the result does not
/// depend on how the text was split.
pub(super) fn push_bounded(target: &mut String, text: &str, limit: usize) {
    let room = limit.saturating_sub(target.len());
    if text.len() <= room {
        target.push_str(text);
        return;
    }
    // Once a character did not fit, nothing shorter may slip in after it.
    target.push_str(&text[..text.floor_char_boundary(room)]);
    let missing = limit.saturating_sub(target.len());
    target.extend(std::iter::repeat_n(' ', missing));
}
