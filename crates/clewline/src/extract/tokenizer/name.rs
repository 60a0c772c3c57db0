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
pub(in crate::extract) struct Name(u128);

impl Name {
    /// Packs a name.
    pub(in crate::extract) const fn new(text: &[u8]) -> Self {
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
    pub(super) fn of_window(window: &[u8; WINDOW], length: usize) -> Self {
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
                self.packed = Name::of_window(window, length).0;
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
        $(pub(in crate::extract) const $constant: Name = Name::new($text);)+
    };
}

impl Name {
    names! {
        A = b"a",
        ANNOTATION_XML = b"annotation-xml",
        AREA = b"area",
        AS = b"as",
        AUDIO = b"audio",
        B = b"b",
        BACKGROUND = b"background",
        BASE = b"base",
        BIG = b"big",
        BLOCKQUOTE = b"blockquote",
        BODY = b"body",
        BR = b"br",
        CENTER = b"center",
        CODE = b"code",
        COLOR = b"color",
        CONTENT = b"content",
        DATA = b"data",
        DATA_LAZY = b"data-lazy",
        DATA_LAZY_SRC = b"data-lazy-src",
        DATA_LAZY_SRCSET = b"data-lazy-srcset",
        DATA_ORIGINAL = b"data-original",
        DATA_SRC = b"data-src",
        DATA_SRCSET = b"data-srcset",
        DD = b"dd",
        DESC = b"desc",
        DIV = b"div",
        DL = b"dl",
        DT = b"dt",
        EM = b"em",
        EMBED = b"embed",
        ENCODING = b"encoding",
        FACE = b"face",
        FE_IMAGE = b"feimage",
        FILTER = b"filter",
        FONT = b"font",
        FONT_FACE_URI = b"font-face-uri",
        FOREIGN_OBJECT = b"foreignobject",
        FRAME = b"frame",
        H1 = b"h1",
        H2 = b"h2",
        H3 = b"h3",
        H4 = b"h4",
        H5 = b"h5",
        H6 = b"h6",
        HEAD = b"head",
        HR = b"hr",
        HREF = b"href",
        HTTP_EQUIV = b"http-equiv",
        I = b"i",
        IFRAME = b"iframe",
        IMAGE = b"image",
        IMAGESRCSET = b"imagesrcset",
        IMG = b"img",
        INPUT = b"input",
        LI = b"li",
        LINEAR_GRADIENT = b"lineargradient",
        LINK = b"link",
        LISTING = b"listing",
        MATH = b"math",
        MENU = b"menu",
        META = b"meta",
        MI = b"mi",
        MN = b"mn",
        MO = b"mo",
        MPATH = b"mpath",
        MS = b"ms",
        MTEXT = b"mtext",
        NAME = b"name",
        NOBR = b"nobr",
        NOEMBED = b"noembed",
        NOFRAMES = b"noframes",
        NOSCRIPT = b"noscript",
        OBJECT = b"object",
        OL = b"ol",
        P = b"p",
        PATTERN = b"pattern",
        PLAINTEXT = b"plaintext",
        POSTER = b"poster",
        PRE = b"pre",
        RADIAL_GRADIENT = b"radialgradient",
        REL = b"rel",
        RUBY = b"ruby",
        S = b"s",
        SCRIPT = b"script",
        SIZE = b"size",
        SMALL = b"small",
        SOURCE = b"source",
        SPAN = b"span",
        SRC = b"src",
        SRCDOC = b"srcdoc",
        SRCSET = b"srcset",
        STRIKE = b"strike",
        STRONG = b"strong",
        STYLE = b"style",
        SUB = b"sub",
        SUP = b"sup",
        SVG = b"svg",
        TABLE = b"table",
        TEMPLATE = b"template",
        TEXTAREA = b"textarea",
        TEXT_PATH = b"textpath",
        TITLE = b"title",
        TRACK = b"track",
        TT = b"tt",
        TYPE = b"type",
        U = b"u",
        UL = b"ul",
        USE = b"use",
        VAR = b"var",
        VIDEO = b"video",
        XLINK_HREF = b"xlink:href",
        XMP = b"xmp",
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
