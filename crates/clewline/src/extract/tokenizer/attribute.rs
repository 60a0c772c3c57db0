//! The attributes that anybody looks at.
//!
//! Owns their list and, for one start tag, where their values lie. All others are passed over,
//! so that a tag of a million attributes takes no more room than a plain one. Invariant: of
//! attributes of the same name the first counts (HTML section 13.2.5.33).

use super::name::Name;

/// An attribute by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::extract) enum Attribute {
    As,
    Background,
    Color,
    Content,
    Data,
    DataLazy,
    DataLazySrc,
    DataLazySrcset,
    DataOriginal,
    DataSrc,
    DataSrcset,
    Encoding,
    Face,
    Href,
    HttpEquiv,
    ImageSrcset,
    Name,
    Poster,
    Rel,
    Size,
    Src,
    Srcdoc,
    Srcset,
    Style,
    Type,
    XlinkHref,
}

/// The bits of all their names.
const LOOKED_AT: u64 = Name::bits(&[
    Name::AS,
    Name::BACKGROUND,
    Name::COLOR,
    Name::CONTENT,
    Name::DATA,
    Name::DATA_LAZY,
    Name::DATA_LAZY_SRC,
    Name::DATA_LAZY_SRCSET,
    Name::DATA_ORIGINAL,
    Name::DATA_SRC,
    Name::DATA_SRCSET,
    Name::ENCODING,
    Name::FACE,
    Name::HREF,
    Name::HTTP_EQUIV,
    Name::IMAGESRCSET,
    Name::NAME,
    Name::POSTER,
    Name::REL,
    Name::SIZE,
    Name::SRC,
    Name::SRCDOC,
    Name::SRCSET,
    Name::STYLE,
    Name::TYPE,
    Name::XLINK_HREF,
]);

const COUNT: usize = Attribute::XlinkHref as usize + 1;

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
        Some(match name {
            Name::AS => Self::As,
            Name::BACKGROUND => Self::Background,
            Name::COLOR => Self::Color,
            Name::CONTENT => Self::Content,
            Name::DATA => Self::Data,
            Name::DATA_LAZY => Self::DataLazy,
            Name::DATA_LAZY_SRC => Self::DataLazySrc,
            Name::DATA_LAZY_SRCSET => Self::DataLazySrcset,
            Name::DATA_ORIGINAL => Self::DataOriginal,
            Name::DATA_SRC => Self::DataSrc,
            Name::DATA_SRCSET => Self::DataSrcset,
            Name::ENCODING => Self::Encoding,
            Name::FACE => Self::Face,
            Name::HTTP_EQUIV => Self::HttpEquiv,
            Name::IMAGESRCSET => Self::ImageSrcset,
            Name::NAME => Self::Name,
            Name::POSTER => Self::Poster,
            Name::REL => Self::Rel,
            Name::SIZE => Self::Size,
            Name::SRC => Self::Src,
            Name::SRCDOC => Self::Srcdoc,
            Name::SRCSET => Self::Srcset,
            Name::STYLE => Self::Style,
            Name::TYPE => Self::Type,
            Name::XLINK_HREF => Self::XlinkHref,
            _ => return None,
        })
    }

    /// The name as it is written in markup.
    pub(in crate::extract) const fn text(self) -> &'static str {
        match self {
            Self::As => "as",
            Self::Background => "background",
            Self::Color => "color",
            Self::Content => "content",
            Self::Data => "data",
            Self::DataLazy => "data-lazy",
            Self::DataLazySrc => "data-lazy-src",
            Self::DataLazySrcset => "data-lazy-srcset",
            Self::DataOriginal => "data-original",
            Self::DataSrc => "data-src",
            Self::DataSrcset => "data-srcset",
            Self::Encoding => "encoding",
            Self::Face => "face",
            Self::Href => "href",
            Self::HttpEquiv => "http-equiv",
            Self::ImageSrcset => "imagesrcset",
            Self::Name => "name",
            Self::Poster => "poster",
            Self::Rel => "rel",
            Self::Size => "size",
            Self::Src => "src",
            Self::Srcdoc => "srcdoc",
            Self::Srcset => "srcset",
            Self::Style => "style",
            Self::Type => "type",
            Self::XlinkHref => "xlink:href",
        }
    }

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

    pub(super) const fn clear(&mut self) {
        self.filled = 0;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Whether this attribute is there and no other.
    pub(super) const fn is_only(&self, attribute: Attribute) -> bool {
        self.filled == attribute.bit()
    }

    /// Notes where a value lies, unless there is one of this name.
    pub(super) const fn note(&mut self, attribute: Attribute, span: (u32, u32)) {
        if self.filled & attribute.bit() == 0 {
            self.filled |= attribute.bit();
            self.spans[attribute as usize] = span;
        }
    }

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
