//! A closer look at the text of a page, as it streams by.
//!
//! Owns the cut of a page into pieces of text and words, for pages that the frontier wants to
//! compare with others. Texts of links speak of other pages and are kept apart; words that stand
//! in the page's own URL are left out, and so are numbers but in links. It refuses to know markup beyond tags, comments, scripts and
//! styles, and decodes nothing: the same page gives the same hashes, and that is enough.
//! Invariant: memory and time are bounded, and the same bytes give the same answer however they
//! are cut. Of a page beyond the bound only the length counts.

use clewline_core::frontier::Look;
use clewline_core::url::CrawlUrl;

/// Bytes of a page that are read: few pages have more, and those would take most of the time.
const READ: usize = 64 * 1024;

/// Pieces that are gathered before the smallest are kept.
const GATHERED: usize = 256;

/// Letters of a tag's name that are looked at.
const NAME: usize = 8;

/// Words of a URL that are known again, at the most.
const OWN_WORDS: usize = 64;

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// Where in the markup the last byte stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Text,
    /// In a tag, and in which quotes.
    Tag(Option<u8>),
    /// In a comment, behind so many dashes.
    Comment(u8),
    /// In a script or a style.
    Raw,
}

/// Reads a page.
#[derive(Debug)]
pub(crate) struct LookReader {
    own: Vec<u64>,
    /// A bit for each of them: most words are told from all of them by that.
    own_bits: u64,
    /// Bytes that went by.
    length: usize,
    at: At,
    name: [u8; NAME],
    named: usize,
    /// The letters of the name are complete.
    has_name: bool,
    in_link: bool,
    word: u64,
    has_digit: bool,
    /// The words of the piece that is being read: outside of links without numbers.
    piece: u64,
    pieces: Vec<u32>,
    /// The smallest piece that is too large to be kept.
    too_large: u32,
    text: u64,
    links: u64,
}

impl LookReader {
    pub(crate) fn new(url: &CrawlUrl) -> Self {
        let address = url.as_str().as_bytes();
        let words = address.split(|byte| FOLDED[usize::from(*byte)] == 0);
        let words = words.filter(|word| !word.is_empty()).take(OWN_WORDS);
        let words = words.map(|word| {
            let letters = word.iter().map(|byte| FOLDED[usize::from(*byte)]);
            letters.fold(BASIS, letter)
        });
        let own: Vec<u64> = words.collect();
        Self {
            own_bits: own.iter().fold(0, |bits, word| bits | bit(*word)),
            own,
            length: 0,
            at: At::Text,
            name: [0; NAME],
            named: 0,
            has_name: false,
            in_link: false,
            word: BASIS,
            has_digit: false,
            piece: BASIS,
            pieces: Vec::new(),
            too_large: u32::MAX,
            text: 0,
            links: 0,
        }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let room = READ.saturating_sub(self.length);
        self.length += bytes.len();
        let mut rest = &bytes[..bytes.len().min(room)];
        loop {
            if self.at == At::Text {
                rest = self.text(rest);
            }
            let Some((byte, behind)) = rest[self.idle(rest)..].split_first() else {
                return;
            };
            rest = behind;
            match self.at {
                At::Text => {}
                At::Tag(quote) => self.tag(*byte, quote),
                At::Comment(dashes) => {
                    self.at = match byte {
                        b'>' if dashes >= 2 => At::Text,
                        b'-' => At::Comment(dashes.saturating_add(1)),
                        _ => At::Comment(0),
                    };
                }
                At::Raw => self.raw(*byte),
            }
        }
    }

    /// How many of these bytes change nothing: most of a page is attributes and scripts.
    fn idle(&self, rest: &[u8]) -> usize {
        let next = match self.at {
            At::Tag(Some(quote)) => memchr::memchr(quote, rest),
            At::Tag(None) if self.has_name => memchr::memchr3(b'>', b'"', b'\'', rest),
            At::Comment(0) => memchr::memchr(b'-', rest),
            At::Raw if self.named == 0 => memchr::memchr(b'<', rest),
            _ => Some(0),
        };
        next.unwrap_or(rest.len())
    }

    /// Reads up to the next tag that is not plain, and answers what follows the bracket that opens
    /// it; or what follows a plain tag that begins a script or a style.
    fn text<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while let Some(open) = self.words(bytes) {
            self.end_piece();
            let behind = &bytes[open + 1..];
            let Some(length) = plain_tag(behind) else {
                self.begin_tag();
                return behind;
            };
            self.named_tag(&behind[..length]);
            bytes = &behind[length + 1..];
            if self.at != At::Text {
                return bytes;
            }
        }
        &[]
    }

    /// Reads words up to the bracket that opens a tag; where that is.
    fn words(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut word, mut has_digit) = (self.word, self.has_digit);
        for (at, byte) in bytes.iter().enumerate() {
            let folded = FOLDED[usize::from(*byte)];
            if folded != 0 {
                word = letter(word, folded);
                has_digit |= folded <= b'9';
                continue;
            }
            if word != BASIS {
                self.end_word(word, has_digit);
                (word, has_digit) = (BASIS, false);
            }
            if *byte == b'<' {
                (self.word, self.has_digit) = (BASIS, false);
                return Some(at);
            }
        }
        (self.word, self.has_digit) = (word, has_digit);
        None
    }

    /// A tag was read at once.
    fn named_tag(&mut self, tag: &[u8]) {
        let length = tag.iter().position(u8::is_ascii_whitespace);
        let name = &tag[..length.unwrap_or(tag.len()).min(NAME)];
        self.named = name.len();
        for (to, from) in self.name.iter_mut().zip(name) {
            *to = from.to_ascii_lowercase();
        }
        self.end_tag();
    }

    fn begin_tag(&mut self) {
        self.at = At::Tag(None);
        (self.named, self.has_name) = (0, false);
    }

    fn tag(&mut self, byte: u8, quote: Option<u8>) {
        if quote.is_some() {
            if quote == Some(byte) {
                self.at = At::Tag(None);
            }
            return;
        }
        match byte {
            b'>' => self.end_tag(),
            b'"' | b'\'' if self.has_name => self.at = At::Tag(Some(byte)),
            _ if byte.is_ascii_whitespace() => self.has_name = true,
            _ if !self.has_name && self.named < NAME => {
                self.name[self.named] = byte.to_ascii_lowercase();
                self.named += 1;
                if self.name[..self.named] == *b"!--" {
                    self.at = At::Comment(0);
                }
            }
            _ => {}
        }
    }

    fn end_tag(&mut self) {
        self.at = At::Text;
        match &self.name[..self.named] {
            b"a" => self.in_link = true,
            b"/a" => self.in_link = false,
            b"script" | b"style" => {
                self.at = At::Raw;
                self.named = 0;
            }
            _ => {}
        }
    }

    /// Looks for the end of a script or a style.
    fn raw(&mut self, byte: u8) {
        const ENDS: [&[u8]; 2] = [b"</script", b"</style"];
        let byte = byte.to_ascii_lowercase();
        if self.named == NAME || (self.named == 0 && byte != b'<') {
            self.named = 0;
            if byte != b'<' {
                return;
            }
        }
        self.name[self.named] = byte;
        self.named += 1;
        let begun = &self.name[..self.named];
        if ENDS.contains(&begun) {
            self.begin_tag();
        } else if !ENDS.iter().any(|end| end.starts_with(begun)) {
            self.named = usize::from(byte == b'<');
            self.name[0] = byte;
        }
    }

    fn end_word(&mut self, word: u64, has_digit: bool) {
        let counts = self.in_link || !has_digit;
        let is_own = || self.own_bits & bit(word) != 0 && self.own.contains(&word);
        if counts && !is_own() {
            self.piece = mix(self.piece, word);
        }
    }

    fn end_piece(&mut self) {
        if self.piece == BASIS {
            return;
        }
        let piece = mix(self.piece, PRIME);
        self.piece = BASIS;
        if self.in_link {
            self.links = self.links.wrapping_add(piece);
            return;
        }
        self.text = self.text.wrapping_add(piece);
        let short = (piece >> 32) as u32;
        if short < self.too_large {
            self.pieces.push(short);
            if self.pieces.len() == GATHERED {
                self.keep_smallest();
            }
        }
    }

    fn keep_smallest(&mut self) {
        self.pieces.sort_unstable();
        self.pieces.dedup();
        if let Some(large) = self.pieces.get(Look::PIECES) {
            self.too_large = *large;
            self.pieces.truncate(Look::PIECES);
        }
    }

    pub(crate) fn finish(mut self) -> Look {
        if self.word != BASIS {
            self.end_word(self.word, self.has_digit);
        }
        self.end_piece();
        self.keep_smallest();
        if self.length > READ {
            self.text = mix(self.text, self.length as u64);
        }
        Look {
            text: self.text,
            links: self.links,
            pieces: self.pieces,
            cost: (1 + self.length.min(READ) / Look::STEP) as u16,
        }
    }
}

/// The length of a tag that is here up to its end and whose end is certain: without single quotes,
/// and with as many double ones as belong together. It is no comment.
fn plain_tag(bytes: &[u8]) -> Option<usize> {
    let length = memchr::memchr(b'>', bytes)?;
    let tag = &bytes[..length];
    let (mut is_even, mut has_single) = (true, false);
    for byte in tag {
        is_even ^= *byte == b'"';
        has_single |= *byte == b'\'';
    }
    let is_plain = is_even && !has_single && !tag.starts_with(b"!--");
    is_plain.then_some(length)
}

/// A page that is no text is one piece.
pub(super) fn of_digest(digest: u128) -> Look {
    Look {
        text: digest as u64,
        links: 0,
        pieces: vec![(digest >> 96) as u32],
        cost: 1,
    }
}

/// Letters and digits in lower case, and 0 for everything that stands between words.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        if letter.is_ascii_alphanumeric() || letter >= 0x80 {
            folded[byte] = letter.to_ascii_lowercase();
        }
        byte += 1;
    }
    folded
};

/// One more letter of a word, as FNV-1a hashes it.
const fn letter(word: u64, folded: u8) -> u64 {
    (word ^ folded as u64).wrapping_mul(PRIME)
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A word among the words of a URL.
const fn bit(word: u64) -> u64 {
    1 << (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(path: &str, page: &str) -> Look {
        let url = CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
        let mut whole = LookReader::new(&url);
        whole.feed(page.as_bytes());
        let whole = whole.finish();
        let mut cut = LookReader::new(&url);
        page.bytes().for_each(|byte| cut.feed(&[byte]));
        assert_eq!(cut.finish(), whole, "{page}");
        whole
    }

    #[test]
    fn what_makes_a_text_the_same() {
        for (one, other) in [
            ("<p>One cat</p><p>two", "<p>two</p><div>one  cat"),
            ("<p>cat<a href='?s=1'>x", "<p>cat<a href='?s=2'>other words"),
            (
                "cat<script>a<b>1</script> dog",
                "cat<script>\"2\"</script> dog",
            ),
            ("cat<!-- a > b --> dog", "cat<!----> dog"),
            ("cat<style>p{}</style>dog", "cat<i title='a>b'></i>dog"),
            ("cat page 17", "cat 17"),
        ] {
            assert_eq!(
                look("/page/17", one).text,
                look("/page/17", other).text,
                "{one}"
            );
        }
        for (one, other) in [("one cat", "one dog"), ("cats", "cats dogs"), ("cat", "")] {
            assert_ne!(look("/", one).text, look("/", other).text, "{one}");
        }
        let links = |page: &str| look("/", page).links;
        assert_eq!(
            links("<a>part 17</a><a>x</a>y"),
            links("z<a>x</a> <a>part 17")
        );
        assert_ne!(links("<a>part 17</a>"), links("<a>part 18</a>"));
    }

    #[test]
    fn pieces_know_no_numbers() {
        let one = look("/", "<p>May 2031</p><td>1<td>2<p>no events");
        let other = look("/", "<p>May 2044</p><td>3<td>x4<p>no events");
        assert_eq!(one.pieces, other.pieces);
        assert_eq!(one.pieces.len(), 2);
        assert_eq!(one.text, other.text);
    }

    #[test]
    fn words_of_its_own_address_are_not_its_own() {
        let one = look(
            "/find?q=red+shoes",
            "<h1>Red shoes</h1>nothing found for red shoes",
        );
        let other = look("/find?q=blue", "<h1>Blue</h1>nothing found for BLUE");
        assert_eq!(one, other);
    }

    #[test]
    fn memory_is_bounded() {
        let pages: Vec<String> = (0..5000_u32).map(|it| format!("<p>{}", word(it))).collect();
        let page = pages.concat();
        let look = look("/", &page);
        assert_eq!(look.pieces.len(), Look::PIECES);
        assert!(look.pieces.is_sorted());
    }

    #[test]
    fn time_is_bounded_and_the_length_of_what_is_beyond_counts() {
        let beginning = "<p>cat</p> ".repeat(READ / 11 + 1);
        let page = |end: &str| look("/", &format!("{beginning}{end}"));
        assert_eq!(page("<p>one"), page("<p>two"));
        assert_ne!(page("<p>one").text, page("<p>three").text);
        assert_eq!(page("<p>one").pieces, look("/", "cat").pieces);
        assert_eq!(page("<p>one").cost, 33);
        assert_eq!(look("/", "cat").cost, 1);
    }

    #[test]
    fn tags_end_where_they_do_however_they_are_quoted() {
        for tag in [
            "<i title=\"a>b\">",
            "<i title='a>b' id=\"x\">",
            "<i title=\"it's > 3\">",
            "<i title='\"' id='>'>",
            "<I\nID=\"x\">",
            "<br/>",
            "<!DOCTYPE html>",
            "<!-- \"' > -->",
            "<script src=\"x\">1 > 2 </ script></SCRIPT >",
        ] {
            let page = format!("cat{tag}dog");
            assert_eq!(look("/", &page).text, look("/", "cat<p>dog").text, "{tag}");
        }
        let linked = look("/", "cat<A HREF=\"x\">dog</A>");
        assert_eq!(linked.text, look("/", "cat").text);
    }

    fn word(mut number: u32) -> String {
        let mut word = String::from("w");
        while number > 0 {
            word.push(char::from(b'a' + (number % 26) as u8));
            number /= 26;
        }
        word
    }
}
