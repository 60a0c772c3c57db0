//! Which attributes of which elements are references.
//!
//! Owns the table of HTML and SVG elements that name other resources, and the facts that `meta`,
//! `base` and `title` tell. Refuses to know how the element was tokenized: the HTML and the XML
//! path both hand over a name, where it belongs, and a way to look up attributes, entities decoded.
//! What is read and what is not, and why, stands in docs/links.md.

use std::borrow::Cow;
use std::sync::Arc;

use clewline_core::link::{LinkKind, relation};
use clewline_core::url::{CrawlUrl, HARD_LENGTH_LIMIT, with_two_slashes};
use clewline_html::references::decoded_text;
use clewline_html::{Attribute, Name, Namespace, refresh, srcset};
use encoding_rs::UTF_8;
use url::Url;

use super::collect::{Collector, Reference, TextEnding};
use super::directives::Directives;
use super::html::HtmlPass;

/// The longest title, in characters.
const TITLE_LIMIT: usize = 1000;

/// How much of a title is read to get there, in bytes: white space and entities fold.
pub(super) const TITLE_BYTES: usize = 16 * 1024;

/// The longest style element that is read, in bytes.
pub(super) const STYLE_BYTES: usize = 1024 * 1024;

/// The longest script in a page that is read, in bytes: data for a page may be as long.
pub(super) const SCRIPT_BYTES: usize = 4 * 1024 * 1024;

/// How deep documents may stand within each other's `srcdoc`: every level is decoded and read again.
const DEEPEST_DOCUMENT: u8 = 3;

/// Attributes in which scripts find the address of an image.
const LAZY: [Attribute; 4] = [
    Attribute::DataSrc,
    Attribute::DataLazySrc,
    Attribute::DataLazy,
    Attribute::DataOriginal,
];

/// The same for several sizes of it.
const LAZY_SETS: [Attribute; 2] = [Attribute::DataSrcset, Attribute::DataLazySrcset];

/// Whether images that scripts load later are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LazyImages {
    Read,
    Ignored,
}

/// Whether strings in scripts are taken for links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptText {
    Read,
    Ignored,
}

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
    pub(super) lazy_images: LazyImages,
    pub(super) script_text: ScriptText,
    /// How the text ends that is being read.
    pub(super) ending: TextEnding,
    pub(super) agent: Arc<str>,
    pub(super) directives: Directives,
    pub(super) title: Option<String>,
    pub(super) problem: Option<&'static str>,
    /// The document looks empty without JavaScript.
    pub(super) is_shell: bool,
    raw_title: Option<String>,
    raw_style: String,
    /// A `base` with a reference was met, usable or not.
    has_base: bool,
    /// What stands in for a base that is missing: that of the document around this one.
    outer_base: Option<Url>,
    /// How many documents are around this one.
    depth: u8,
}

impl Findings {
    pub(super) fn new(collector: Collector, page: CrawlUrl, agent: Arc<str>) -> Self {
        Self {
            collector,
            page,
            base: None,
            lazy_images: LazyImages::Read,
            script_text: ScriptText::Ignored,
            ending: TextEnding::Whole,
            agent,
            directives: Directives::default(),
            title: None,
            problem: None,
            is_shell: false,
            raw_title: None,
            raw_style: String::new(),
            has_base: false,
            outer_base: None,
            depth: 0,
        }
    }

    /// Whether the text of scripts is of interest.
    pub(super) fn reads_scripts(&self) -> bool {
        self.script_text == ScriptText::Read
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
        for word in decoded_text(raw).split_whitespace() {
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
        let ending = if text.len() < STYLE_BYTES {
            self.ending
        } else {
            TextEnding::Cut
        };
        self.style(&text, ending);
    }

    /// A style sheet, or the declarations of one element.
    pub(super) fn style(&mut self, text: &str, ending: TextEnding) {
        self.collector.add_sheet(text, ending);
    }

    /// Reads one element.
    pub(super) fn element(
        &mut self,
        name: Name,
        namespace: Namespace,
        attributes: &impl Attributes,
    ) {
        match (namespace, name) {
            (Namespace::Html, Name::BASE) => self.base(attributes),
            (_, Name::BASE) => {}
            (Namespace::Svg, Name::A) => self.anchor(svg_reference(attributes), attributes),
            (Namespace::Svg, Name::SCRIPT) => self.in_svg(LinkKind::Script, attributes),
            (Namespace::Svg, Name::FONT_FACE_URI) => self.in_svg(LinkKind::Font, attributes),
            (Namespace::Svg, name) if name.is_drawn() => self.in_svg(LinkKind::Image, attributes),
            _ => self.in_html(name, attributes),
        }
        self.plain(Attribute::Background, LinkKind::Image, attributes);
        if let Some(style) = attributes.value(Attribute::Style) {
            self.style(&style, TextEnding::Whole);
        }
    }

    fn in_html(&mut self, name: Name, attributes: &impl Attributes) {
        match name {
            Name::A => self.anchor(attributes.value(Attribute::Href), attributes),
            Name::AREA => self.area(attributes),
            Name::LINK => self.link(attributes),
            Name::META => self.meta(attributes),
            Name::IFRAME => {
                self.plain(Attribute::Src, LinkKind::Frame, attributes);
                self.inner_document(attributes);
            }
            Name::FRAME => self.plain(Attribute::Src, LinkKind::Frame, attributes),
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
                self.srcset(Attribute::Srcset, LinkKind::Image, attributes);
                self.lazy_sets(attributes);
            }
            // The parser takes `image` for a misspelt `img` (HTML section 13.2.6.4.7).
            Name::IMG | Name::IMAGE => self.image(attributes),
            Name::INPUT if is_image_input(attributes) => {
                self.plain(Attribute::Src, LinkKind::Image, attributes);
            }
            _ => {}
        }
    }

    fn plain(&mut self, attribute: Attribute, kind: LinkKind, attributes: &impl Attributes) {
        if let Some(raw) = attributes.value(attribute) {
            self.collector.add_reference(Reference::new(raw, kind));
        }
    }

    fn anchor(&mut self, raw: Option<Cow<'_, str>>, attributes: &impl Attributes) {
        self.hyperlink(raw, LinkKind::Anchor, attributes);
    }

    fn area(&mut self, attributes: &impl Attributes) {
        self.hyperlink(
            attributes.value(Attribute::Href),
            LinkKind::Area,
            attributes,
        );
    }

    fn hyperlink(
        &mut self,
        raw: Option<Cow<'_, str>>,
        kind: LinkKind,
        attributes: &impl Attributes,
    ) {
        let Some(raw) = raw else {
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

    fn in_svg(&mut self, kind: LinkKind, attributes: &impl Attributes) {
        if let Some(raw) = svg_reference(attributes) {
            self.collector.add_reference(Reference::new(raw, kind));
        }
    }

    fn image(&mut self, attributes: &impl Attributes) {
        self.plain(Attribute::Src, LinkKind::Image, attributes);
        self.srcset(Attribute::Srcset, LinkKind::Image, attributes);
        if self.lazy_images == LazyImages::Ignored {
            return;
        }
        for attribute in LAZY {
            // Some write `true` there, and the address elsewhere.
            let raw = attributes.value(attribute);
            if let Some(raw) = raw.filter(|raw| raw.contains(['/', '.'])) {
                let image = Reference::new(raw, LinkKind::LazyImage);
                self.collector.add_reference(image);
            }
        }
        self.lazy_sets(attributes);
    }

    fn lazy_sets(&mut self, attributes: &impl Attributes) {
        if self.lazy_images == LazyImages::Read {
            for attribute in LAZY_SETS {
                self.srcset(attribute, LinkKind::LazyImage, attributes);
            }
        }
    }

    fn srcset(&mut self, attribute: Attribute, kind: LinkKind, attributes: &impl Attributes) {
        if let Some(value) = attributes.value(attribute) {
            srcset::candidates(&value, |place| {
                self.collector.add(&value[place], kind);
            });
        }
    }

    /// The document in a `srcdoc`: its references are relative to the base of this one, and a
    /// `base` in it is its own (HTML section 2.4.3). Title and directives are its own, too.
    fn inner_document(&mut self, attributes: &impl Attributes) {
        let Some(text) = attributes.value(Attribute::Srcdoc) else {
            return;
        };
        if self.depth >= DEEPEST_DOCUMENT {
            return;
        }
        let agent = Arc::clone(&self.agent);
        let mut inner = Self {
            lazy_images: self.lazy_images,
            script_text: self.script_text,
            outer_base: self.base.as_ref().or(self.outer_base.as_ref()).cloned(),
            depth: self.depth + 1,
            ..Self::new(self.collector.inner(), self.page.clone(), agent)
        };
        let mut pass = HtmlPass::new(UTF_8);
        pass.write(text.as_bytes(), &mut inner);
        pass.finish(&mut inner);
        self.collector.adopt(&inner.collector, inner.base.as_ref());
        self.problem = self.problem.or(inner.problem);
    }

    /// The first base with a reference counts, usable or not; where it is not, there is none (HTML
    /// section 4.2.3). `data:` and `javascript:` are not, nor is what cannot be a base; one that is
    /// longer than any URL would be copied for each link, only to be refused.
    fn base(&mut self, attributes: &impl Attributes) {
        if self.has_base {
            return;
        }
        let Some(raw) = attributes.value(Attribute::Href) else {
            return;
        };
        self.has_base = true;
        let around = self
            .outer_base
            .clone()
            .unwrap_or_else(|| self.page.to_url());
        let raw = raw.trim_matches(|c: char| c <= ' ');
        let base = around.join(&with_two_slashes(raw)).ok();
        self.base = base.filter(|base| {
            !matches!(base.scheme(), "data" | "javascript")
                && !base.cannot_be_a_base()
                && base.as_str().len() <= HARD_LENGTH_LIMIT
        });
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
            self.srcset(Attribute::ImageSrcset, LinkKind::Image, attributes);
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

/// What an element of SVG refers to; the name with a prefix is the old one.
fn svg_reference(attributes: &impl Attributes) -> Option<Cow<'_, str>> {
    attributes
        .value(Attribute::Href)
        .or_else(|| attributes.value(Attribute::XlinkHref))
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
