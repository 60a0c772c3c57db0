//! What a document says about itself.
//!
//! Owns titles, descriptions, headings of the first level, what metas and canonical links say, and
//! where the head ends (HTML sections 13.2.6.4.4 to 13.2.6.4.7, as where scripts run). It refuses to
//! know what of this is good. Invariant: every list and text is bounded.

use std::borrow::Cow;

use clewline_html::references::decoded_text;
use clewline_html::{Name, Namespace};
use serde::de::IgnoredAny;

use super::element::Element;
use super::references::{ReferenceBase, Resolver};
use super::{CanonicalFact, CanonicalPlace, HtmlFacts, MOST_IDS, PageMark, cut, fragment_hash};

const HREFLANG: Name = Name::new(b"hreflang");
const CHARSET: Name = Name::new(b"charset");
const LANG: Name = Name::new(b"lang");
const HTML: Name = Name::new(b"html");
pub(super) const ID: Name = Name::new(b"id");

/// Titles and descriptions that are kept.
const MOST_TEXTS: usize = 3;
/// Characters of one.
const LONGEST_TEXT: usize = 1_000;
/// Characters of a heading.
const LONGEST_HEADING: usize = 200;
/// Canonical URLs and translations that are kept.
const MOST_NAMED: usize = 500;
/// In so many bytes an encoding must be declared (HTML section 4.2.5.4).
const CHARSET_WITHIN: u32 = 1_024;
/// Characters of the words of robots.
const LONGEST_ROBOTS: usize = 1_000;

/// A canonical URL or a translation, as written.
#[derive(Debug)]
enum Named {
    Canonical(CanonicalPlace, u32),
    Translation(Box<str>),
}

/// Gathers what a document says.
#[derive(Debug, Default)]
pub(super) struct DocumentDraft {
    pub(super) html: HtmlFacts,
    pub(super) base: Option<Box<str>>,
    pub(super) is_cut: bool,
    is_in_body: bool,
    /// How many `noscript` and `template` elements are open: nothing in them ends the head.
    inert: usize,
    has_root: bool,
    heading: Option<String>,
    named: Vec<(Named, Box<str>, ReferenceBase)>,
    script: Option<ScriptKind>,
    script_byte: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptKind {
    Code,
    JsonLd,
    Data,
}

impl DocumentDraft {
    /// Notes a link of a Link field.
    pub(super) fn canonical_field(&mut self, raw: &str) {
        let named = Named::Canonical(CanonicalPlace::Field, 0);
        self.name(named, raw, ReferenceBase::Page);
    }

    /// Notes a translation of a Link field.
    pub(super) fn translation_field(&mut self, language: &str, raw: &str) {
        self.name(
            Named::Translation(language.into()),
            raw,
            ReferenceBase::Page,
        );
    }

    fn name(&mut self, named: Named, raw: &str, against: ReferenceBase) {
        if self.named.len() < MOST_NAMED {
            self.named.push((named, raw.into(), against));
        } else {
            self.is_cut = true;
        }
    }

    pub(super) fn start(&mut self, element: &Element<'_, '_>) {
        if element.namespace == Namespace::Html {
            self.follow_head(element.name);
        } else {
            self.is_in_body |= self.inert == 0;
        }
        self.note_ids(element);
        match element.name {
            HTML if !self.has_root => {
                self.has_root = true;
                let language = element.value(LANG);
                self.html.language = language.map(|it| cut(it.trim(), 100).into());
            }
            Name::BASE if element.namespace == Namespace::Html && self.base.is_none() => {
                self.base = element.value(Name::HREF).map(Into::into);
            }
            Name::LINK => self.link(element),
            Name::META => self.meta(element),
            Name::SCRIPT => self.begin_script(element),
            Name::H1 if element.namespace == Namespace::Html => {
                self.html.h1.0 += 1;
                if self.html.h1.0 == 1 {
                    self.heading = Some(String::new());
                }
            }
            Name::IMG if self.heading.is_some() => {
                if let Some(alt) = element.value(Name::new(b"alt")) {
                    self.heading_text(&alt);
                }
            }
            _ => {}
        }
    }

    /// Ends the head where a browser does: at what cannot stand in one.
    fn follow_head(&mut self, name: Name) {
        if matches!(name, Name::NOSCRIPT | Name::TEMPLATE) {
            self.inert += 1;
            return;
        }
        if self.is_in_body || self.inert > 0 {
            return;
        }
        self.is_in_body = !matches!(
            name,
            HTML | Name::HEAD
                | Name::BASE
                | Name::LINK
                | Name::META
                | Name::TITLE
                | Name::STYLE
                | Name::SCRIPT
                | Name::NOFRAMES
        ) && name != Name::new(b"basefont")
            && name != Name::new(b"bgsound");
    }

    pub(super) fn end(&mut self, name: Name) {
        match name {
            Name::NOSCRIPT | Name::TEMPLATE => self.inert = self.inert.saturating_sub(1),
            Name::H1 => self.end_heading(),
            Name::BODY | Name::BR => self.is_in_body = true,
            _ => {}
        }
    }

    fn end_heading(&mut self) {
        if let Some(heading) = self.heading.take() {
            self.html.h1.1 = cut(&folded(&heading), LONGEST_HEADING).into();
        }
    }

    /// A text between tags, decoded.
    pub(super) fn text(&mut self, text: &str) {
        if !self.is_in_body && self.inert == 0 && !text.trim_ascii().is_empty() {
            self.is_in_body = true;
        }
        self.heading_text(text);
    }

    fn heading_text(&mut self, text: &str) {
        if let Some(heading) = &mut self.heading
            && heading.len() < 4 * LONGEST_HEADING
        {
            heading.push_str(cut(text, LONGEST_HEADING));
        }
    }

    /// The text of an element that holds text only.
    pub(super) fn raw(&mut self, name: Name, text: &str) {
        match name {
            Name::TITLE if self.html.titles.len() < MOST_TEXTS && self.inert == 0 => {
                let text = decoded_text(cut(text, 16 * LONGEST_TEXT));
                let title = cut(&folded(&text), LONGEST_TEXT).into();
                self.html.titles.push(title);
            }
            Name::SCRIPT => self.script_text(text),
            _ => {}
        }
    }

    fn begin_script(&mut self, element: &Element<'_, '_>) {
        let kind = element.value(Name::TYPE).unwrap_or_default();
        let kind = kind.trim();
        let is_code = kind.is_empty()
            || kind.eq_ignore_ascii_case("module")
            || kind.to_ascii_lowercase().contains("javascript");
        self.script_byte = element.byte;
        self.script = Some(if is_code {
            ScriptKind::Code
        } else if kind.eq_ignore_ascii_case("application/ld+json") {
            ScriptKind::JsonLd
        } else {
            ScriptKind::Data
        });
    }

    fn script_text(&mut self, text: &str) {
        match self.script.take() {
            Some(ScriptKind::Code) => {
                let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                self.html.script_bytes = self.html.script_bytes.saturating_add(length);
            }
            Some(ScriptKind::JsonLd) if !text.trim().is_empty() => {
                if let Err(error) = serde_json::from_str::<IgnoredAny>(text.trim()) {
                    self.html.marks.push(PageMark {
                        rule: "data/json-ld",
                        byte: self.script_byte,
                        subject: cut(&error.to_string(), 200).into(),
                    });
                }
            }
            _ => {}
        }
    }

    fn link(&mut self, element: &Element<'_, '_>) {
        let Some(relations) = element.value(Name::REL) else {
            return;
        };
        let Some(href) = element.value(Name::HREF) else {
            return;
        };
        let is = |name: &str| {
            let mut words = relations.split_ascii_whitespace();
            words.any(|word| word.eq_ignore_ascii_case(name))
        };
        if is("canonical") {
            let place = if self.is_in_body {
                CanonicalPlace::Body
            } else {
                CanonicalPlace::Head
            };
            let named = Named::Canonical(place, element.byte);
            self.name(named, &href, ReferenceBase::Document);
        } else if is("alternate")
            && let Some(language) = element.value(HREFLANG)
        {
            let language = cut(language.trim(), 100).into();
            self.name(Named::Translation(language), &href, ReferenceBase::Document);
        }
    }

    fn meta(&mut self, element: &Element<'_, '_>) {
        self.charset(element);
        let Some(content) = element.value(Name::CONTENT) else {
            return;
        };
        if element.is(Name::NAME, "description") {
            if self.html.descriptions.len() < MOST_TEXTS {
                let text = folded(&content);
                let text = cut(&text, LONGEST_TEXT).into();
                self.html.descriptions.push(text);
            }
        } else if element.is(Name::NAME, "robots") {
            self.robots(&content);
        } else if element.is(Name::HTTP_EQUIV, "content-security-policy") {
            let mut directives = content.split(';').map(str::trim);
            let is_it = |name: &str| name.eq_ignore_ascii_case("upgrade-insecure-requests");
            self.html.upgrades_insecure |= directives.any(is_it);
        }
    }

    fn robots(&mut self, content: &str) {
        let mut robots = String::from(std::mem::take(&mut self.html.robots));
        for word in content.split(',').map(str::trim) {
            if !word.is_empty() && robots.len() < LONGEST_ROBOTS {
                if !robots.is_empty() {
                    robots.push_str(", ");
                }
                robots.push_str(&cut(word, 100).to_ascii_lowercase());
            }
        }
        self.html.robots = robots.into();
    }

    fn charset(&mut self, element: &Element<'_, '_>) {
        if element.byte >= CHARSET_WITHIN || self.html.charset.is_some() {
            return;
        }
        let label: Option<Cow<'_, str>> = match element.value(CHARSET) {
            Some(label) => Some(label),
            None if element.is(Name::HTTP_EQUIV, "content-type") => {
                let content = element.value(Name::CONTENT).unwrap_or_default();
                let lower = content.to_ascii_lowercase();
                let after = lower.split_once("charset=").map(|(_, after)| after);
                let label = after.and_then(|after| after.split(';').next());
                label.map(|label| Cow::Owned(label.to_owned()))
            }
            None => None,
        };
        let label = label.map(|label| label.trim_matches(['"', '\'', ' ']).to_ascii_lowercase());
        self.html.charset = label.map(|label| cut(&label, 100).into());
    }

    /// Everything that a fragment may name (HTML section 7.4.6.4): ids, and names of anchors.
    fn note_ids(&mut self, element: &Element<'_, '_>) {
        let id = element.value(ID);
        let name = element
            .value(Name::NAME)
            .filter(|_| element.name == Name::A);
        for id in [id, name].into_iter().flatten() {
            if self.html.ids.len() + 2 > MOST_IDS {
                self.is_cut = true;
                return;
            }
            if id.is_empty() {
                continue;
            }
            self.html.ids.push(fragment_hash(&id));
            // Code hosts put this before the ids of what people write, and scripts find them.
            if let Some(own) = id.strip_prefix("user-content-") {
                self.html.ids.push(fragment_hash(own));
            }
        }
    }

    /// Resolves what is named, and is done.
    pub(super) fn finish(mut self, resolver: &Resolver<'_>) -> HtmlFacts {
        self.end_heading();
        for (named, raw, against) in self.named {
            let url = resolver.url(&raw, against);
            match named {
                Named::Canonical(place, byte) => {
                    let fact = CanonicalFact { url, place, byte };
                    self.html.canonicals.push(fact);
                }
                Named::Translation(language) => self.html.translations.push((language, url)),
            }
        }
        self.html.ids.sort_unstable();
        self.html.ids.dedup();
        self.html
    }
}

/// A text with its white space folded.
pub(super) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}
