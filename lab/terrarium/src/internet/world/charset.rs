//! The encodings of pages, and one word in each that shows them.
//!
//! Owns the few letters beyond ASCII that this web writes, in every form that a URL or a page
//! gives them. A path is always percent-encoded as UTF-8, a query in the encoding of its
//! document, or in UTF-8 where that is UTF-16 (WHATWG URL section 4.4, HTML section 2.4.2).

/// The encoding of a host's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8,
    Windows1252,
    Windows1251,
    Utf16,
}

/// A word beyond ASCII.
#[derive(Debug)]
pub(crate) struct Word {
    /// As the page's bytes have it; UTF-16 pages are written as UTF-8 and widened at the end.
    pub(crate) raw: &'static [u8],
    pub(crate) in_path: &'static str,
    pub(crate) in_query: &'static str,
}

const BOOKS: Word = Word {
    raw: "bücher".as_bytes(),
    in_path: "b%C3%BCcher",
    in_query: "b%C3%BCcher",
};

const WESTERN: Word = Word {
    raw: b"b\xFCcher",
    in_path: "b%C3%BCcher",
    in_query: "b%FCcher",
};

const CYRILLIC: Word = Word {
    raw: b"\xEA\xED\xE8\xE3\xE0",
    in_path: "%D0%BA%D0%BD%D0%B8%D0%B3%D0%B0",
    in_query: "%EA%ED%E8%E3%E0",
};

impl Charset {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Windows1252 => "windows-1252",
            Self::Windows1251 => "windows-1251",
            Self::Utf16 => "utf-16le",
        }
    }

    pub(crate) const fn word(self) -> &'static Word {
        match self {
            Self::Utf8 | Self::Utf16 => &BOOKS,
            Self::Windows1252 => &WESTERN,
            Self::Windows1251 => &CYRILLIC,
        }
    }
}
