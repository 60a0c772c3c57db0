//! Which attributes of which elements are references.
//!
//! Owns the table of HTML and SVG elements that name other resources, and the facts that `meta`,
//! `base` and `title` tell. Refuses to know how the element was tokenized: the HTML and the XML
//! path both hand over a name and a way to look up attributes, entities decoded.

use clewline_core::link::LinkKind;
use clewline_core::url::HARD_LENGTH_LIMIT;
use url::Url;

use super::collect::{Collector, Reference};
use super::directives::Directives;
use super::{css, refresh, relation, srcset};

/// Elements that may name something, for a tokenizer that wants to be told in advance. An
/// element that is named here without need costs time; one that is missing loses links.
pub(super) const SELECTOR: &str = "a,area,base,link,meta,iframe,frame,img,image,source,video,\
    audio,track,embed,object,script,input,use,[style],[background]";

/// The longest title, in characters.
const TITLE_LIMIT: usize = 1000;

/// How much of a title is read to get there, in bytes: white space and entities fold.
const TITLE_BYTES: usize = 16 * 1024;

/// The longest style element that is read, in bytes.
const STYLE_BYTES: usize = 1024 * 1024;

/// What a document told so far.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) collector: Collector,
    pub(super) page: Url,
    pub(super) base: Option<Url>,
    pub(super) agent: Box<str>,
    pub(super) directives: Directives,
    pub(super) title: Option<String>,
    pub(super) problem: Option<&'static str>,
    raw_title: Option<String>,
    raw_style: String,
}

impl Findings {
    pub(super) fn new(collector: Collector, page: Url, agent: Box<str>) -> Self {
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
        let folded = htmlize::unescape(raw)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let folded: String = folded.chars().take(TITLE_LIMIT).collect();
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

    fn style(&mut self, text: &str) {
        css::references(text, |raw, kind| self.collector.add(raw, kind));
    }

    /// Reads one element.
    pub(super) fn element(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        match name {
            "a" => self.anchor(LinkKind::Anchor, attribute),
            "area" => self.anchor(LinkKind::Area, attribute),
            "base" => self.base(attribute),
            "link" => self.link(attribute),
            "meta" => self.meta(attribute),
            "iframe" | "frame" => self.plain("src", LinkKind::Frame, attribute),
            "script" => self.plain("src", LinkKind::Script, attribute),
            "object" => self.plain("data", LinkKind::Media, attribute),
            "audio" | "track" | "embed" => self.plain("src", LinkKind::Media, attribute),
            "video" => {
                self.plain("src", LinkKind::Media, attribute);
                self.plain("poster", LinkKind::Image, attribute);
            }
            "source" => {
                self.plain("src", LinkKind::Media, attribute);
                self.srcset("srcset", attribute);
            }
            "img" | "image" => self.image(attribute),
            "use" => self.svg_reference(attribute),
            "input" if is_image_input(attribute) => self.plain("src", LinkKind::Image, attribute),
            _ => {}
        }
        self.plain("background", LinkKind::Image, attribute);
        if let Some(style) = attribute("style") {
            self.style(&style);
        }
    }

    fn plain(&mut self, name: &str, kind: LinkKind, attribute: &dyn Fn(&str) -> Option<String>) {
        if let Some(raw) = attribute(name) {
            self.collector.add_reference(Reference::new(raw, kind));
        }
    }

    fn anchor(&mut self, kind: LinkKind, attribute: &dyn Fn(&str) -> Option<String>) {
        let Some(raw) = attribute("href").or_else(|| attribute("xlink:href")) else {
            return;
        };
        let nofollow = attribute("rel").is_some_and(|rel| relation::is_nofollow(&rel));
        self.collector.add_reference(Reference {
            nofollow,
            ..Reference::new(raw, kind)
        });
    }

    fn image(&mut self, attribute: &dyn Fn(&str) -> Option<String>) {
        self.plain("src", LinkKind::Image, attribute);
        self.srcset("srcset", attribute);
        self.svg_reference(attribute);
    }

    fn svg_reference(&mut self, attribute: &dyn Fn(&str) -> Option<String>) {
        let raw = attribute("href").or_else(|| attribute("xlink:href"));
        if let Some(raw) = raw {
            self.collector
                .add_reference(Reference::new(raw, LinkKind::Image));
        }
    }

    fn srcset(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        if let Some(value) = attribute(name) {
            srcset::candidates(&value, |raw| self.collector.add(raw, LinkKind::Image));
        }
    }

    /// The first base that can be one counts (HTML section 4.2.3). One that is longer than any
    /// URL would be copied for each link, only to be refused.
    fn base(&mut self, attribute: &dyn Fn(&str) -> Option<String>) {
        if self.base.is_some() {
            return;
        }
        let base = attribute("href").and_then(|raw| self.page.join(&raw).ok());
        self.base = base
            .filter(|base| !base.cannot_be_a_base() && base.as_str().len() <= HARD_LENGTH_LIMIT);
    }

    fn link(&mut self, attribute: &dyn Fn(&str) -> Option<String>) {
        let Some(relations) = attribute("rel") else {
            return;
        };
        let Some(kind) = relation::kind(&relations, attribute("as").as_deref()) else {
            return;
        };
        if let Some(raw) = attribute("href") {
            let nofollow = relation::is_nofollow(&relations);
            self.collector.add_reference(Reference {
                nofollow,
                ..Reference::new(raw, kind)
            });
        }
        if kind == LinkKind::Image {
            self.srcset("imagesrcset", attribute);
        }
    }

    fn meta(&mut self, attribute: &dyn Fn(&str) -> Option<String>) {
        let Some(content) = attribute("content") else {
            return;
        };
        let is_refresh =
            attribute("http-equiv").is_some_and(|name| name.trim().eq_ignore_ascii_case("refresh"));
        if is_refresh && let Some(raw) = refresh::target(&content) {
            self.collector.add(raw, LinkKind::Refresh);
        }
        let Some(name) = attribute("name") else {
            return;
        };
        let name = name.trim();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(&self.agent) {
            self.directives.read(&content);
        }
    }
}

fn is_image_input(attribute: &dyn Fn(&str) -> Option<String>) -> bool {
    attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("image"))
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
