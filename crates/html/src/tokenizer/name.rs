//! Names of elements and attributes, as numbers.
//!
//! Owns the packing: a name of up to sixteen bytes is one integer, ASCII letters in lower case,
//! so that comparing and matching names costs no more than comparing integers. Refuses to keep
//! longer names apart: nothing that is looked for is longer. Invariant: a packed name is equal
//! to one of the constants only if both are the same text apart from case.

/// The longest name that is told from others. Of one that is so long nothing tells the length; but
/// it could only be taken for a name of fifteen bytes, and none that is looked for has so many.
const LONGEST: u32 = 16;

/// The bytes in which nearly every name that is told from others has its end.
pub(super) const WINDOW: usize = 16;

/// Sends names to bits: no usual name that nobody looks for shares one with those that are
/// looked for, which was found by trying.
const SPREAD: u64 = 0x7244_5a04_305e_e551;

/// A name in any case. It is made to be compared with the constants below: a few characters that
/// stand in none of them are not told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Name(u128);

impl Name {
    /// Whether it is an element of SVG whose reference is part of the drawing.
    pub const fn is_drawn(self) -> bool {
        matches!(
            self,
            Self::IMAGE
                | Self::USE
                | Self::FE_IMAGE
                | Self::FILTER
                | Self::LINEAR_GRADIENT
                | Self::MPATH
                | Self::PATTERN
                | Self::RADIAL_GRADIENT
                | Self::TEXT_PATH
        )
    }

    /// Packs a name.
    pub const fn new(text: &[u8]) -> Self {
        let mut building = Building::EMPTY;
        let mut at = 0;
        while at < text.len() {
            building.push(text[at]);
            at += 1;
        }
        building.finish()
    }

    /// The name that the first bytes of a window are.
    #[inline]
    pub(super) fn from_window(window: &[u8; WINDOW], length: usize) -> Self {
        debug_assert!(0 < length && length < WINDOW, "a name and its end");
        let packed = u128::from_be_bytes(*window);
        if length < 8 {
            // The same in one register, as nearly all names are short.
            let packed = (packed >> 64) as u64 >> (8 * (8 - length));
            let packed = packed | (packed & u64::from_ne_bytes([0x40; 8])) >> 1;
            return Self(u128::from(packed | 1 << (8 * length)));
        }
        Self(lower(packed >> (8 * (WINDOW - length))) | 1 << (8 * length))
    }

    /// One bit of 64, the same for equal names: whether a name may be one of several is a
    /// comparison with their bits.
    #[inline]
    pub(super) const fn bit(self) -> u64 {
        let folded = self.0 as u64 ^ (self.0 >> 64) as u64;
        1 << (folded.wrapping_mul(SPREAD) >> 58)
    }

    /// The bits of several names.
    pub(super) const fn bits(names: &[Self]) -> u64 {
        let (mut bits, mut at) = (0, 0);
        while at < names.len() {
            bits |= names[at].bit();
            at += 1;
        }
        bits
    }
}

/// A name of which there may be more to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Building {
    packed: u128,
    length: u32,
}

impl Building {
    /// The one in front keeps names apart that begin with NUL.
    pub(super) const EMPTY: Self = Self {
        packed: 1,
        length: 0,
    };

    /// Appends a byte. What is shifted out does no harm: a name of that length is no name.
    pub(super) const fn push(&mut self, byte: u8) {
        self.packed = self.packed << 8 | lower(byte as u128);
        self.length = self.length.saturating_add(1);
    }

    /// Appends so many bytes from the beginning of these, at once if they can be.
    pub(super) fn extend(&mut self, bytes: &[u8], length: usize) {
        match bytes.first_chunk::<WINDOW>() {
            Some(window) if self.length == 0 && (1..WINDOW).contains(&length) => {
                self.packed = Name::from_window(window, length).0;
                self.length = length as u32;
            }
            _ => bytes[..length].iter().for_each(|byte| self.push(*byte)),
        }
    }

    pub(super) const fn finish(self) -> Name {
        if self.length > LONGEST {
            return Name(0);
        }
        Name(self.packed)
    }
}

/// Letters in lower case. Other bytes from `@` up change, too, but into none that is in a name
/// that is looked for.
const fn lower(packed: u128) -> u128 {
    packed | (packed & u128::from_ne_bytes([0x40; 16])) >> 1
}

/// Constants for names, so that they can stand in patterns.
macro_rules! names {
    ($($constant:ident = $text:literal),+ $(,)?) => {
        $(
            #[doc = concat!("`", $text, "`.")]
            pub const $constant: Name = Name::new($text.as_bytes());
        )+
    };
}

impl Name {
    names! {
        A = "a",
        ANNOTATION_XML = "annotation-xml",
        AREA = "area",
        AS = "as",
        AUDIO = "audio",
        B = "b",
        BACKGROUND = "background",
        BASE = "base",
        BIG = "big",
        BLOCKQUOTE = "blockquote",
        BODY = "body",
        BR = "br",
        CENTER = "center",
        CODE = "code",
        COLOR = "color",
        CONTENT = "content",
        DATA = "data",
        DATA_LAZY = "data-lazy",
        DATA_LAZY_SRC = "data-lazy-src",
        DATA_LAZY_SRCSET = "data-lazy-srcset",
        DATA_ORIGINAL = "data-original",
        DATA_SRC = "data-src",
        DATA_SRCSET = "data-srcset",
        DD = "dd",
        DESC = "desc",
        DIV = "div",
        DL = "dl",
        DT = "dt",
        EM = "em",
        EMBED = "embed",
        ENCODING = "encoding",
        FACE = "face",
        FE_IMAGE = "feimage",
        FILTER = "filter",
        FONT = "font",
        FONT_FACE_URI = "font-face-uri",
        FOREIGN_OBJECT = "foreignobject",
        FRAME = "frame",
        H1 = "h1",
        H2 = "h2",
        H3 = "h3",
        H4 = "h4",
        H5 = "h5",
        H6 = "h6",
        HEAD = "head",
        HR = "hr",
        HREF = "href",
        HTTP_EQUIV = "http-equiv",
        I = "i",
        IFRAME = "iframe",
        IMAGE = "image",
        IMAGESRCSET = "imagesrcset",
        IMG = "img",
        INPUT = "input",
        LI = "li",
        LINEAR_GRADIENT = "lineargradient",
        LINK = "link",
        LISTING = "listing",
        MATH = "math",
        MENU = "menu",
        META = "meta",
        MI = "mi",
        MN = "mn",
        MO = "mo",
        MPATH = "mpath",
        MS = "ms",
        MTEXT = "mtext",
        NAME = "name",
        NOBR = "nobr",
        NOEMBED = "noembed",
        NOFRAMES = "noframes",
        NOSCRIPT = "noscript",
        OBJECT = "object",
        OL = "ol",
        P = "p",
        PATTERN = "pattern",
        PLAINTEXT = "plaintext",
        POSTER = "poster",
        PRE = "pre",
        RADIAL_GRADIENT = "radialgradient",
        REL = "rel",
        RUBY = "ruby",
        S = "s",
        SCRIPT = "script",
        SIZE = "size",
        SMALL = "small",
        SOURCE = "source",
        SPAN = "span",
        SRC = "src",
        SRCDOC = "srcdoc",
        SRCSET = "srcset",
        STRIKE = "strike",
        STRONG = "strong",
        STYLE = "style",
        SUB = "sub",
        SUP = "sup",
        SVG = "svg",
        TABLE = "table",
        TEMPLATE = "template",
        TEXTAREA = "textarea",
        TEXT_PATH = "textpath",
        TITLE = "title",
        TRACK = "track",
        TT = "tt",
        TYPE = "type",
        U = "u",
        UL = "ul",
        USE = "use",
        VAR = "var",
        VIDEO = "video",
        XLINK_HREF = "xlink:href",
        XMP = "xmp",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_however_they_come() {
        let text = b"HTTP-Equiv=\"refresh\" content=\"1\"";
        for cut in 0..10 {
            let mut building = Building::EMPTY;
            building.extend(text, cut);
            building.extend(&text[cut..], 10 - cut);
            assert_eq!(building.finish(), Name::HTTP_EQUIV, "{cut}");
        }
        let mut building = Building::EMPTY;
        building.extend(&text[..10], 10);
        assert_eq!(building.finish(), Name::HTTP_EQUIV);
        building.extend(text, 7);
        assert_eq!(building.finish(), Name::default());
    }

    #[test]
    fn names_differ_as_their_texts_do() {
        assert_eq!(Name::new(b"foreignObject"), Name::FOREIGN_OBJECT);
        for (left, right) in [
            ("a", "b"),
            ("a", "a\0"),
            ("p", "pp"),
            ("annotation-xml", "annotation_xml"),
            ("href", "\0href"),
            ("", "\0"),
            ("abcdefghijklmno", "abcdefghijklmnop"),
            ("abcdefghijklmnop", "abcdefghijklmnopq"),
            ("data-lazy-srcset", "Xdata-lazy-srcset"),
            ("href", "XXXXXXXXXXXXXXXXhref"),
        ] {
            assert_ne!(
                Name::new(left.as_bytes()),
                Name::new(right.as_bytes()),
                "{left} {right}"
            );
        }
    }
}
