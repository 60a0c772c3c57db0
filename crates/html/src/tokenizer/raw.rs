//! Text that ends at one certain end tag: scripts, styles, titles and the like.
//!
//! Owns the states of HTML sections 13.2.5.9 to 13.2.5.31: RCDATA, raw text and script data with
//! its two levels of escaping. Refuses to know what the text is for. Invariant: every byte is
//! looked at once, wherever the text is cut; what looked like the beginning of the end tag and
//! was not is handed over as text, in order.

use memchr::{memchr, memchr2};

use super::name::Name;
use super::tag::ends_name;

/// The longest thing that may have to be handed over later: `</` and a name.
const HELD: usize = 12;

const SCRIPT: &[u8] = b"script";

/// The elements whose content is not markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawText {
    Iframe,
    Noembed,
    Noframes,
    Noscript,
    Script,
    Style,
    Textarea,
    Title,
    Xmp,
}

/// The name, in small letters, of an element whose content is text, if this is one in letters of
/// either case. Scripts don't run here, so the content of `noscript` is markup.
pub fn raw_text_element(name: &[u8]) -> Option<&'static [u8]> {
    let mut names = RawText::ALL.iter().map(|text| text.name());
    names.find(|known| name.eq_ignore_ascii_case(known))
}

impl RawText {
    /// All but `noscript`.
    const ALL: [Self; 8] = [
        Self::Iframe,
        Self::Noembed,
        Self::Noframes,
        Self::Script,
        Self::Style,
        Self::Textarea,
        Self::Title,
        Self::Xmp,
    ];

    pub(super) const fn for_element(name: Name) -> Option<Self> {
        Some(match name {
            Name::IFRAME => Self::Iframe,
            Name::NOEMBED => Self::Noembed,
            Name::NOFRAMES => Self::Noframes,
            Name::NOSCRIPT => Self::Noscript,
            Name::SCRIPT => Self::Script,
            Name::STYLE => Self::Style,
            Name::TEXTAREA => Self::Textarea,
            Name::TITLE => Self::Title,
            Name::XMP => Self::Xmp,
            _ => return None,
        })
    }

    const fn name(self) -> &'static [u8] {
        match self {
            Self::Iframe => b"iframe",
            Self::Noembed => b"noembed",
            Self::Noframes => b"noframes",
            Self::Noscript => b"noscript",
            Self::Script => SCRIPT,
            Self::Style => b"style",
            Self::Textarea => b"textarea",
            Self::Title => b"title",
            Self::Xmp => b"xmp",
        }
    }
}

/// How far a script is escaped: `<!--` and then `<script` make its end tag text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Plain,
    Escaped,
    DoubleEscaped,
}

/// What a `<` may still become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// There is none.
    Text,
    LessThan,
    /// `</` and so many letters of the name.
    EndTag(usize),
    /// `<` and so many letters of `script`, in an escaped script.
    StartTag(usize),
    /// `<!` and so many dashes, in a script.
    Escape(usize),
}

/// What a byte did.
enum Step {
    Taken,
    /// It is to be looked at again, as text.
    Again,
    /// It is the first after the name of the end tag.
    Ended,
}

/// Raw text that is being read.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) text: RawText,
    level: Level,
    dashes: u8,
    probe: Probe,
    held: [u8; HELD],
    held_length: usize,
}

impl Raw {
    pub(super) const fn new(text: RawText) -> Self {
        Self {
            text,
            level: Level::Plain,
            dashes: 0,
            probe: Probe::Text,
            held: [0; HELD],
            held_length: 0,
        }
    }

    /// The name that the end tag must have.
    pub(super) const fn name(&self) -> &'static [u8] {
        self.text.name()
    }

    /// Reads on, handing over the text in pieces; answers the place after the name of the end
    /// tag, if it is in this piece.
    pub(super) fn scan(
        &mut self,
        piece: &[u8],
        from: usize,
        mut emit: impl FnMut(&[u8]),
    ) -> Option<usize> {
        let mut at = from;
        // Where the `<` stands that is being probed; one of an earlier piece is held.
        let mut probed = from;
        while at < piece.len() {
            if self.probe == Probe::Text {
                self.release(&mut emit);
                at += self.skip(&piece[at..]);
                probed = at;
            }
            let Some(byte) = piece.get(at) else {
                break;
            };
            match self.step(*byte) {
                Step::Taken => at += 1,
                Step::Again => self.probe = Probe::Text,
                Step::Ended => {
                    emit(&piece[from..probed]);
                    return Some(at);
                }
            }
        }
        if self.probe == Probe::Text {
            self.release(&mut emit);
            probed = piece.len();
        }
        emit(&piece[from..probed]);
        self.hold(&piece[probed..]);
        None
    }

    /// The document ends within the text.
    pub(super) fn finish(&mut self, mut emit: impl FnMut(&[u8])) {
        self.release(&mut emit);
    }

    fn release(&mut self, emit: &mut impl FnMut(&[u8])) {
        if self.held_length > 0 {
            emit(&self.held[..self.held_length]);
            self.held_length = 0;
        }
    }

    /// Keeps what may be the beginning of the end tag. Only an escaped script can hold more than
    /// there is room for, and nobody reads the text of scripts.
    fn hold(&mut self, bytes: &[u8]) {
        let room = &mut self.held[self.held_length..];
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.held_length += count;
    }

    /// How many bytes cannot begin anything.
    fn skip(&self, bytes: &[u8]) -> usize {
        let found = match (self.level, self.dashes) {
            (Level::Plain, _) => memchr(b'<', bytes),
            (_, 0) => memchr2(b'<', b'-', bytes),
            _ => Some(0),
        };
        found.unwrap_or(bytes.len())
    }

    fn step(&mut self, byte: u8) -> Step {
        match self.probe {
            Probe::Text => self.step_text(byte),
            Probe::LessThan => return self.step_less_than(byte),
            Probe::EndTag(count) => return self.step_end_tag(count, byte),
            Probe::StartTag(count) => match SCRIPT.get(count) {
                Some(letter) if byte.eq_ignore_ascii_case(letter) => {
                    self.probe = Probe::StartTag(count + 1);
                }
                None if ends_name(byte) => self.escape(Level::DoubleEscaped, 0),
                _ => return Step::Again,
            },
            Probe::Escape(0) if byte == b'-' => self.probe = Probe::Escape(1),
            Probe::Escape(_) if byte == b'-' => self.escape(Level::Escaped, 2),
            Probe::Escape(_) => return Step::Again,
        }
        Step::Taken
    }

    const fn escape(&mut self, level: Level, dashes: u8) {
        self.level = level;
        self.dashes = dashes;
        self.probe = Probe::Text;
    }

    fn step_text(&mut self, byte: u8) {
        match byte {
            b'<' => {
                self.dashes = 0;
                self.probe = Probe::LessThan;
            }
            b'-' if self.level != Level::Plain => self.dashes = (self.dashes + 1).min(2),
            b'>' if self.dashes == 2 => self.escape(Level::Plain, 0),
            _ => self.dashes = 0,
        }
    }

    fn step_less_than(&mut self, byte: u8) -> Step {
        let is_script = self.text == RawText::Script;
        self.probe = match (byte, self.level) {
            (b'/', _) => Probe::EndTag(0),
            (b'!', Level::Plain) if is_script => Probe::Escape(0),
            (b's' | b'S', Level::Escaped) => Probe::StartTag(1),
            _ => return Step::Again,
        };
        Step::Taken
    }

    fn step_end_tag(&mut self, count: usize, byte: u8) -> Step {
        match self.name().get(count) {
            Some(letter) if byte.eq_ignore_ascii_case(letter) => {
                self.probe = Probe::EndTag(count + 1);
                Step::Taken
            }
            None if !ends_name(byte) => Step::Again,
            None if self.level == Level::DoubleEscaped => {
                self.escape(Level::Escaped, 0);
                Step::Taken
            }
            None => Step::Ended,
            Some(_) => Step::Again,
        }
    }
}
