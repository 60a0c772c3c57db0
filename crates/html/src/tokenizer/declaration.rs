//! What begins with `<!` or `<?`, and what else is no tag.
//!
//! Owns comments with all their odd endings, DOCTYPE, bogus comments and CDATA sections (HTML
//! sections 13.2.5.41 to 13.2.5.71). A DOCTYPE is read like a bogus comment: whatever state it
//! is in, even within quotes, the first `>` ends it, and nobody asks what it says. Invariant:
//! every byte is looked at once, wherever the piece is cut.

use memchr::memchr;

use super::namespace::Namespaces;

const CDATA: &[u8] = b"[CDATA[";

/// Whether `<![CDATA[` begins a section here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sections {
    Allowed,
    /// In HTML it begins a bogus comment.
    Bogus,
}

impl Sections {
    /// What holds in the namespace that the tokenizer is in.
    pub(super) fn within(namespaces: &Namespaces) -> Self {
        if namespaces.is_foreign() {
            Self::Allowed
        } else {
            Self::Bogus
        }
    }
}

/// How far a declaration was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declaration {
    /// After `<!`.
    Open(Sections),
    /// After `<!-`.
    Dash,
    /// After `<!` and so many bytes of `[CDATA[`.
    Section(usize),
    /// Up to the next `>`.
    Bogus,
    CommentStart,
    CommentStartDash,
    Comment,
    CommentEndDash,
    CommentEnd,
    CommentEndBang,
    /// In a CDATA section, after so many `]`, at most two.
    Cdata(usize),
}

impl Declaration {
    /// Reads on, handing over the text of a section; answers the place after the end, if it is in
    /// this piece.
    pub(super) fn scan(
        &mut self,
        piece: &[u8],
        mut at: usize,
        mut emit: impl FnMut(&[u8]),
    ) -> Option<usize> {
        loop {
            let byte = *piece.get(at)?;
            let next = match *self {
                Self::Open(_) if byte == b'-' => Some(Self::Dash),
                Self::Open(Sections::Allowed) if byte == CDATA[0] => Some(Self::Section(1)),
                Self::Dash if byte == b'-' => Some(Self::CommentStart),
                Self::Section(count) if byte == CDATA[count] => Some(Self::in_section(count + 1)),
                Self::Open(_) | Self::Dash | Self::Section(_) | Self::Bogus => {
                    *self = Self::Bogus;
                    return memchr(b'>', &piece[at..]).map(|found| at + found + 1);
                }
                Self::Cdata(brackets) => cdata(brackets, byte, &mut emit),
                comment => comment.in_comment(byte),
            };
            let Some(next) = next else {
                return Some(at + 1);
            };
            *self = next;
            at += 1;
            at += next.skip(&piece[at..], &mut emit);
        }
    }

    const fn in_section(count: usize) -> Self {
        if count == CDATA.len() {
            Self::Cdata(0)
        } else {
            Self::Section(count)
        }
    }

    /// What a byte makes of a comment; nothing, if it ends it.
    const fn in_comment(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (
                Self::CommentStart
                | Self::CommentStartDash
                | Self::CommentEnd
                | Self::CommentEndBang,
                b'>',
            ) => return None,
            (Self::CommentStart, b'-') => Self::CommentStartDash,
            (Self::CommentStartDash | Self::CommentEndDash | Self::CommentEnd, b'-') => {
                Self::CommentEnd
            }
            (Self::CommentEnd, b'!') => Self::CommentEndBang,
            (_, b'-') => Self::CommentEndDash,
            _ => Self::Comment,
        })
    }

    /// How many bytes change nothing; those of a section are its text.
    fn skip(self, bytes: &[u8], emit: &mut impl FnMut(&[u8])) -> usize {
        let until = match self {
            Self::Comment => b'-',
            Self::Cdata(0) => b']',
            _ => return 0,
        };
        let count = memchr(until, bytes).unwrap_or(bytes.len());
        if self != Self::Comment {
            emit(&bytes[..count]);
        }
        count
    }
}

/// What a byte makes of a section; nothing, if it ends it.
fn cdata(brackets: usize, byte: u8, emit: &mut impl FnMut(&[u8])) -> Option<Declaration> {
    match (byte, brackets) {
        (b'>', 2) => None,
        (b']', 2) => {
            emit(b"]");
            Some(Declaration::Cdata(2))
        }
        (b']', _) => Some(Declaration::Cdata(brackets + 1)),
        _ => {
            emit(&b"]]"[..brackets]);
            emit(&[byte]);
            Some(Declaration::Cdata(0))
        }
    }
}
