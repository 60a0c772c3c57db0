//! A page's words as plain text.
//!
//! Owns where a space, a line and a paragraph begin. It is fed by a stream or by a tree and
//! refuses to know which. Invariant: no line ends in a space, no two blank lines follow each
//! other, and the text is at most a constant factor longer than what was fed.

use clewline_html::references::decoded_text;

use crate::math::{Formula, Layout, MathPiece, TexUse, pieces};
use crate::raised::raised;
use crate::tag::NodeKind;

/// Raised texts in raised texts that are marked.
const MOST_RAISED: usize = 8;

/// What stands between two words; the stronger wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Cell,
    Line,
    Paragraph,
}

/// Writes plain text.
#[derive(Debug)]
pub(crate) struct TextWriter {
    out: String,
    gap: Gap,
    /// Preformatted spaces that are due if a word follows on their line.
    spaces: String,
    /// How many open elements keep their spaces.
    preformatted: usize,
    /// How many open elements are code, whose signs are no TeX.
    code: usize,
    tex: TexUse,
    /// Open elements of raised or lowered text, and where the text of each begins.
    raised: Vec<(NodeKind, usize)>,
}

impl TextWriter {
    pub(crate) const fn new(tex: TexUse) -> Self {
        Self {
            out: String::new(),
            gap: Gap::None,
            spaces: String::new(),
            preformatted: 0,
            code: 0,
            tex,
            raised: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, tag: NodeKind) {
        self.part(tag);
        if matches!(tag, NodeKind::Pre | NodeKind::Xmp) {
            self.preformatted += 1;
        }
        if is_code(tag) {
            self.code += 1;
        }
        if matches!(tag, NodeKind::Sup | NodeKind::Sub) && self.raised.len() < MOST_RAISED {
            self.raised.push((tag, self.out.len()));
        }
    }

    pub(crate) fn close(&mut self, tag: NodeKind) {
        self.part(tag);
        if matches!(tag, NodeKind::Pre | NodeKind::Xmp) {
            self.preformatted = self.preformatted.saturating_sub(1);
            self.spaces.clear();
        }
        if is_code(tag) {
            self.code = self.code.saturating_sub(1);
        }
        if let Some((_, start)) = self.raised.pop_if(|(open, _)| *open == tag) {
            self.raise(tag, start);
        }
    }

    /// Adds text with its character references as written.
    pub(crate) fn text(&mut self, raw: &str) {
        let text = decoded_text(raw);
        if self.preformatted > 0 {
            return self.lines(&text);
        }
        if self.code > 0 {
            return self.words(&text);
        }
        for piece in pieces(&text, self.tex) {
            match piece {
                MathPiece::Words(words) => self.words(words),
                MathPiece::Formula(formula) => self.formula(&formula),
            }
        }
    }

    /// Adds a formula.
    pub(crate) fn formula(&mut self, formula: &Formula) {
        let apart = match formula.layout {
            Layout::Inline => Gap::None,
            Layout::Display => Gap::Line,
        };
        self.widen(apart);
        self.fill();
        self.out.push_str(&formula.signed());
        self.widen(apart);
    }

    /// Adds words that touch no others.
    pub(crate) fn apart(&mut self, text: &str) {
        self.widen(Gap::Space);
        self.words(text);
        self.widen(Gap::Space);
    }

    /// Adds words whose spaces are folded.
    fn words(&mut self, text: &str) {
        let mut words = text.split_whitespace();
        if text.starts_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
        let Some(first) = words.next() else {
            return;
        };
        self.fill();
        self.out.push_str(first);
        for word in words {
            self.out.push(' ');
            self.out.push_str(word);
        }
        if text.ends_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// Marks what was written since `start` as raised or lowered.
    fn raise(&mut self, tag: NodeKind, start: usize) {
        let written = &self.out[start..];
        let words = written.trim_start();
        let at = start + written.len() - words.len();
        if let Some(raised) = raised(tag, words) {
            self.out.truncate(at);
            self.out.push_str(&raised);
        }
    }

    fn lines(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                let blank = self.gap >= Gap::Line;
                self.widen(if blank { Gap::Paragraph } else { Gap::Line });
                self.spaces.clear();
            }
            let words = line.trim_end();
            if !words.is_empty() {
                self.fill();
                self.out.push_str(&self.spaces);
                self.spaces.clear();
                self.out.push_str(words);
            }
            self.spaces.push_str(&line[words.len()..]);
        }
    }

    fn part(&mut self, tag: NodeKind) {
        let gap = match tag {
            NodeKind::Td | NodeKind::Th => Gap::Cell,
            NodeKind::Li
            | NodeKind::Dt
            | NodeKind::Dd
            | NodeKind::Tr
            | NodeKind::Br
            | NodeKind::Option
            | NodeKind::Thead
            | NodeKind::Tbody
            | NodeKind::Tfoot => Gap::Line,
            _ if tag.is_block() => Gap::Paragraph,
            _ => return,
        };
        self.widen(gap);
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn fill(&mut self) {
        if !self.out.is_empty() {
            self.out.push_str(match self.gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Cell => "\t",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.gap = Gap::None;
    }
}

const fn is_code(tag: NodeKind) -> bool {
    matches!(
        tag,
        NodeKind::Code | NodeKind::Tt | NodeKind::Kbd | NodeKind::Samp
    )
}

/// Whether a character is a word of its own: scripts that put no spaces between words.
pub(crate) const fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text: runs of letters and digits, and each ideograph for itself.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = &rest[run(
            rest,
            |byte| !byte.is_ascii_alphanumeric(),
            |c| !c.is_alphanumeric(),
        )..];
        let first = rest.chars().next()?;
        let end = if is_ideograph(first) {
            first.len_utf8()
        } else {
            let is_within = |c: char| c.is_alphanumeric() && !is_ideograph(c);
            run(rest, u8::is_ascii_alphanumeric, is_within)
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// How long the run of characters at the front is. Most are ASCII, for which a byte tells; both
/// questions must have the same answer for them.
fn run(text: &str, is_byte: impl Fn(&u8) -> bool, is_other: impl Fn(char) -> bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii() {
            if !is_byte(byte) {
                break;
            }
            at += 1;
            continue;
        }
        match text[at..].chars().next().filter(|c| is_other(*c)) {
            Some(c) => at += c.len_utf8(),
            None => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{Scanner, Token};

    fn plain(html: &str) -> String {
        let mut writer = TextWriter::new(TexUse::Unknown);
        for token in Scanner::new(html) {
            match token {
                Token::Text(text) | Token::Raw(_, text) => writer.text(text),
                Token::Open(tag, _) => writer.open(tag),
                Token::Close(tag) => writer.close(tag),
            }
        }
        writer.finish()
    }

    #[test]
    fn gaps_follow_the_elements() {
        for (html, expected) in [
            ("a <b>b</b>c", "a bc"),
            ("  a\n\n b&nbsp;&amp; ", "a b &"),
            ("<p>a</p><p>b<br>c", "a\n\nb\nc"),
            ("<ul><li>a<li>b</ul>c", "a\nb\n\nc"),
            ("<table><tr><td>a<td>b<tr><td>c</table>", "a\tb\nc"),
            ("<pre>\n a\n  b\n\n\n\nc </pre>d", " a\n  b\n\nc\n\nd"),
            ("x<sup>2</sup>, H<sub>2</sub>O", "x², H₂O"),
            ("10<sup>−3</sup> a <sup> b </sup>c", "10⁻³ a ^b c"),
            ("e<sup>x<sup>2</sup></sup>a<sub>i,j</sub>", "e^(x²)a_(i,j)"),
            ("1<sup>st</sup> x<sup>[7]</sup><sup></sup>", "1^st x[7]"),
            ("<sup>a<p>b</sup>c<sup>d", "a\n\nbcd"),
            ("\\(a^2\\) <code>\\(a^2\\)</code>", "$a^2$ \\(a^2\\)"),
            ("a $$x\n= y$$ b", "a\n$$x = y$$\nb"),
            ("<pre>a<i> </i>b <b>c</b>  </pre>d", "a b c\n\nd"),
            ("", ""),
        ] {
            assert_eq!(plain(html), expected, "{html}");
        }
    }

    #[test]
    fn words_are_runs_or_ideographs() {
        let all: Vec<_> = words("It's 3.5 km: 東京 and ランdom").collect();
        let expected = [
            "It", "s", "3", "5", "km", "東", "京", "and", "ラ", "ン", "dom",
        ];
        assert_eq!(all, expected);
    }
}
