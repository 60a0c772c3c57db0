//! Which elements refer to something, and how.
//!
//! Owns the step from a start tag to its references: for each the kind, and what a browser does with
//! it on a page over https (Mixed Content section 3). The kinds are those of the crawler's extractor;
//! a test compares both. It refuses to resolve.

use std::borrow::Cow;

use clewline_core::link::{LinkKind, relation};
use clewline_html::{MarkupToken, Name, Namespace, Tokens, css, refresh, srcset};

use super::element::{Element, list};
use super::references::{Mixed, ReferenceBase, ReferenceDraft, WrittenReference};

const ACTION: Name = Name::new(b"action");
const BUTTON: Name = Name::new(b"button");
const FORM: Name = Name::new(b"form");
const FORMACTION: Name = Name::new(b"formaction");

/// Attributes in which scripts find the address of an image.
const LAZY: [Name; 4] = [
    Name::DATA_SRC,
    Name::DATA_LAZY_SRC,
    Name::DATA_LAZY,
    Name::DATA_ORIGINAL,
];
/// The same for several sizes of it.
const LAZY_SETS: [Name; 2] = [Name::DATA_SRCSET, Name::DATA_LAZY_SRCSET];

/// How deep documents may stand within each other's `srcdoc`: every level is decoded and read again.
const DEEPEST_DOCUMENT: u8 = 3;

/// Adds what an element refers to.
pub(super) fn add<'a>(element: &Element<'a, '_>, draft: &mut ReferenceDraft<'a>) {
    if element.attributes.is_empty() {
        return;
    }
    let ignored = element.is_ignored();
    let mut sink = Sink {
        element,
        draft,
        ignored,
    };
    sink.element();
}

/// Adds the references of a style sheet or of the declarations of an element.
pub(super) fn add_sheet(sheet: &str, byte: u32, ignored: bool, draft: &mut ReferenceDraft<'_>) {
    css::references(sheet, |reference| {
        let (kind, mixed) = match reference.kind {
            css::ReferenceKind::Url => (LinkKind::CssUrl, Mixed::Passive),
            css::ReferenceKind::Import => (LinkKind::CssImport, Mixed::Active),
        };
        draft.add(WrittenReference {
            raw: Cow::Owned(reference.value.into_owned()),
            kind: Some(kind),
            mixed,
            against: ReferenceBase::Document,
            byte,
            ignored,
        });
    });
}

struct Sink<'s, 'a, 'r> {
    element: &'s Element<'a, 'r>,
    draft: &'s mut ReferenceDraft<'a>,
    ignored: bool,
}

impl<'a> Sink<'_, 'a, '_> {
    fn element(&mut self) {
        let element = self.element;
        match (element.namespace, element.name) {
            (_, Name::BASE) => {}
            (Namespace::Svg, Name::A) => self.in_svg(LinkKind::Anchor, Mixed::Fine),
            (Namespace::Svg, Name::SCRIPT) => self.in_svg(LinkKind::Script, Mixed::Active),
            (Namespace::Svg, Name::FONT_FACE_URI) => self.in_svg(LinkKind::Font, Mixed::Active),
            (Namespace::Svg, name) if name.is_drawn() => {
                self.in_svg(LinkKind::Image, Mixed::Passive);
            }
            _ => self.in_html(),
        }
        self.plain(Name::BACKGROUND, LinkKind::Image, Mixed::Passive);
        if let Some(style) = element.value(Name::STYLE) {
            add_sheet(&style, element.byte, self.ignored, self.draft);
        }
    }

    fn in_html(&mut self) {
        match self.element.name {
            Name::A => self.plain(Name::HREF, LinkKind::Anchor, Mixed::Fine),
            Name::AREA => self.plain(Name::HREF, LinkKind::Area, Mixed::Fine),
            Name::LINK => self.link(),
            Name::META => self.meta(),
            Name::IFRAME => {
                self.plain(Name::SRC, LinkKind::Frame, Mixed::Active);
                self.inner_document();
            }
            Name::FRAME => self.plain(Name::SRC, LinkKind::Frame, Mixed::Active),
            Name::SCRIPT => self.plain(Name::SRC, LinkKind::Script, Mixed::Active),
            Name::OBJECT => self.plain(Name::DATA, LinkKind::Media, Mixed::Active),
            Name::EMBED | Name::TRACK => self.plain(Name::SRC, LinkKind::Media, Mixed::Active),
            Name::AUDIO => self.plain(Name::SRC, LinkKind::Media, Mixed::Passive),
            Name::VIDEO => {
                self.plain(Name::SRC, LinkKind::Media, Mixed::Passive);
                self.plain(Name::POSTER, LinkKind::Image, Mixed::Passive);
            }
            Name::SOURCE => {
                self.plain(Name::SRC, LinkKind::Media, Mixed::Passive);
                self.sets();
            }
            Name::IMG | Name::IMAGE => self.image(),
            Name::INPUT => {
                if self.element.is(Name::TYPE, "image") {
                    self.plain(Name::SRC, LinkKind::Image, Mixed::Passive);
                }
                self.action(FORMACTION);
            }
            BUTTON => self.action(FORMACTION),
            FORM => self.action(ACTION),
            _ => {}
        }
    }

    fn push(&mut self, raw: Cow<'a, str>, kind: LinkKind, mixed: Mixed) {
        self.draft.add(WrittenReference {
            raw,
            kind: Some(kind),
            mixed,
            against: ReferenceBase::Document,
            byte: self.element.byte,
            ignored: self.ignored,
        });
    }

    fn plain(&mut self, attribute: Name, kind: LinkKind, mixed: Mixed) {
        if let Some(raw) = self.element.value(attribute) {
            self.push(raw, kind, mixed);
        }
    }

    /// The action of a form, which is no link.
    fn action(&mut self, attribute: Name) {
        if let Some(raw) = self.element.value(attribute) {
            self.draft.add(WrittenReference {
                raw,
                kind: None,
                mixed: Mixed::Form,
                against: ReferenceBase::Document,
                byte: self.element.byte,
                ignored: self.ignored,
            });
        }
    }

    /// What an element of SVG refers to; the name with a prefix is the old one.
    fn in_svg(&mut self, kind: LinkKind, mixed: Mixed) {
        let element = self.element;
        let new = element.value(Name::HREF);
        if let Some(raw) = new.or_else(|| element.value(Name::XLINK_HREF)) {
            self.push(raw, kind, mixed);
        }
    }

    fn image(&mut self) {
        self.plain(Name::SRC, LinkKind::Image, Mixed::Passive);
        for attribute in LAZY {
            // Some write `true` there, and the address elsewhere.
            let raw = self.element.value(attribute);
            if let Some(raw) = raw.filter(|raw| raw.contains(['/', '.'])) {
                self.push(raw, LinkKind::LazyImage, Mixed::Passive);
            }
        }
        self.sets();
    }

    fn sets(&mut self) {
        // Browsers take the images of a set for parts that can be blocked, unlike others.
        self.set(Name::SRCSET, LinkKind::Image, Mixed::Active);
        for attribute in LAZY_SETS {
            self.set(attribute, LinkKind::LazyImage, Mixed::Active);
        }
    }

    fn set(&mut self, attribute: Name, kind: LinkKind, mixed: Mixed) {
        if let Some(value) = self.element.value(attribute) {
            srcset::candidates(&value, |place| {
                self.push(Cow::Owned(value[place].to_owned()), kind, mixed);
            });
        }
    }

    /// The document in a `srcdoc`; all that it names stands at this element.
    fn inner_document(&mut self) {
        let element = self.element;
        let Some(text) = element.value(Name::SRCDOC) else {
            return;
        };
        if self.draft.depth >= DEEPEST_DOCUMENT {
            return;
        }
        let mut inner: ReferenceDraft<'_> = self.draft.within();
        let mut room = Vec::new();
        let mut tokens = Tokens::new(&text);
        while let Some(token) = tokens.next() {
            match token {
                MarkupToken::Start(name, attributes) => {
                    list(attributes, &mut room);
                    let within = Element {
                        name,
                        namespace: tokens.namespace(),
                        byte: element.byte,
                        is_self_closing: attributes.is_self_closing(),
                        attributes: &room,
                    };
                    add(&within, &mut inner);
                }
                MarkupToken::Raw(Name::STYLE, sheet) => {
                    add_sheet(sheet, element.byte, self.ignored, &mut inner);
                }
                _ => {}
            }
        }
        self.draft.adopt(inner);
    }

    fn link(&mut self) {
        let element = self.element;
        let Some(relations) = element.value(Name::REL) else {
            return;
        };
        let destination = element.value(Name::AS);
        let Some(kind) = relation::kind(&relations, destination.as_deref()) else {
            return;
        };
        self.plain(Name::HREF, kind, mixed_of(kind));
        if kind == LinkKind::Image {
            self.set(Name::IMAGESRCSET, LinkKind::Image, Mixed::Active);
        }
    }

    fn meta(&mut self) {
        let element = self.element;
        if element.is(Name::HTTP_EQUIV, "refresh")
            && let Some(content) = element.value(Name::CONTENT)
            && let Some(place) = refresh::target(&content)
        {
            let raw = Cow::Owned(content[place].to_owned());
            self.push(raw, LinkKind::Refresh, Mixed::Fine);
        }
    }
}

/// What a browser does with what a `link` element loads.
pub(super) const fn mixed_of(kind: LinkKind) -> Mixed {
    match kind {
        LinkKind::Style | LinkKind::Script | LinkKind::Font => Mixed::Active,
        LinkKind::Image | LinkKind::Media | LinkKind::Asset => Mixed::Passive,
        _ => Mixed::Fine,
    }
}
