//! The attributes that anybody looks at.
//!
//! Owns their list and, for one start tag, where their values lie. All others are passed over,
//! so that a tag of a million attributes takes no more room than a plain one. Invariant: of
//! attributes of the same name the first counts (HTML section 13.2.5.33).

use super::name::Name;

/// The attributes, their names as constants and as they are written.
macro_rules! attributes {
    ($($attribute:ident $name:ident $text:literal,)+) => {
        /// An attribute whose value a [`StartTag`](super::StartTag) tells.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Attribute {
            $(#[doc = concat!("`", $text, "`.")] $attribute,)+
        }

        /// The bits of all their names.
        const LOOKED_AT: u64 = Name::bits(&[$(Name::$name),+]);

        const COUNT: usize = [$(Attribute::$attribute),+].len();

        impl Attribute {
            fn looked_up(name: Name) -> Option<Self> {
                Some(match name {
                    $(Name::$name => Self::$attribute,)+
                    _ => return None,
                })
            }

            /// The name as it is written in markup.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$attribute => $text,)+
                }
            }
        }
    };
}

attributes! {
    As AS "as",
    Background BACKGROUND "background",
    Color COLOR "color",
    Content CONTENT "content",
    Data DATA "data",
    DataLazy DATA_LAZY "data-lazy",
    DataLazySrc DATA_LAZY_SRC "data-lazy-src",
    DataLazySrcset DATA_LAZY_SRCSET "data-lazy-srcset",
    DataOriginal DATA_ORIGINAL "data-original",
    DataSrc DATA_SRC "data-src",
    DataSrcset DATA_SRCSET "data-srcset",
    Encoding ENCODING "encoding",
    Face FACE "face",
    Href HREF "href",
    HttpEquiv HTTP_EQUIV "http-equiv",
    ImageSrcset IMAGESRCSET "imagesrcset",
    Name NAME "name",
    Poster POSTER "poster",
    Rel REL "rel",
    Size SIZE "size",
    Src SRC "src",
    Srcdoc SRCDOC "srcdoc",
    Srcset SRCSET "srcset",
    Style STYLE "style",
    Type TYPE "type",
    XlinkHref XLINK_HREF "xlink:href",
}

impl Attribute {
    #[inline]
    pub(super) fn named(name: Name) -> Option<Self> {
        // The one that matters most.
        if name == Name::HREF {
            return Some(Self::Href);
        }
        // Most attributes are `class`, `id`, `title`.
        if name.bit() & LOOKED_AT == 0 {
            return None;
        }
        Self::looked_up(name)
    }

    #[inline]
    const fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// Where the values of a tag's attributes lie, counted from the tag's name.
#[derive(Debug, Clone)]
pub(super) struct Values {
    spans: [(u32, u32); COUNT],
    filled: u32,
}

impl Values {
    pub(super) const fn new() -> Self {
        Self {
            spans: [(0, 0); COUNT],
            filled: 0,
        }
    }

    #[inline]
    pub(super) const fn clear(&mut self) {
        self.filled = 0;
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Whether this attribute is there and no other.
    #[inline]
    pub(super) const fn is_only(&self, attribute: Attribute) -> bool {
        self.filled == attribute.bit()
    }

    /// Notes where a value lies, unless there is one of this name.
    #[inline]
    pub(super) const fn note(&mut self, attribute: Attribute, span: (u32, u32)) {
        if self.filled & attribute.bit() == 0 {
            self.filled |= attribute.bit();
            self.spans[attribute as usize] = span;
        }
    }

    #[inline]
    pub(super) fn span(&self, attribute: Attribute) -> Option<std::ops::Range<usize>> {
        let is_there = self.filled & attribute.bit() != 0;
        let (start, end) = self.spans[attribute as usize];
        is_there.then_some(start as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_attributes_and_back() {
        for name in [
            "as",
            "background",
            "color",
            "content",
            "data",
            "data-lazy",
            "data-lazy-src",
            "data-lazy-srcset",
            "data-original",
            "data-src",
            "data-srcset",
            "encoding",
            "face",
            "href",
            "http-equiv",
            "imagesrcset",
            "name",
            "poster",
            "rel",
            "size",
            "src",
            "srcdoc",
            "srcset",
            "style",
            "type",
            "xlink:href",
        ] {
            let found = Attribute::named(Name::new(name.to_uppercase().as_bytes()));
            assert_eq!(found.map(Attribute::text), Some(name));
        }
        assert_eq!(Attribute::named(Name::new(b"class")), None);
    }

    #[test]
    fn the_first_counts() {
        let mut values = Values::new();
        values.note(Attribute::Href, (1, 2));
        values.note(Attribute::Href, (3, 4));
        assert_eq!(values.span(Attribute::Href), Some(1..2));
        assert_eq!(values.span(Attribute::Rel), None);
        assert!(values.is_only(Attribute::Href) && !values.is_only(Attribute::Rel));
        values.note(Attribute::Rel, (5, 6));
        assert!(!values.is_only(Attribute::Href));
        values.clear();
        assert!(values.is_empty());
        assert_eq!(values.span(Attribute::Href), None);
    }
}
