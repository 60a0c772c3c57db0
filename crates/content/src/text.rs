//! A page's words as plain text.
//!
//! Owns where a space, a line and a paragraph begin. It is fed by a stream or by a tree and
//! refuses to know which. Invariant: no line ends in a space, no two blank lines follow each
//! other, and the text is at most a constant factor longer than what was fed.

use crate::scan::decoded;
use crate::tag::Tag;

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
}

impl TextWriter {
    pub(crate) fn new() -> Self {
        Self {
            out: String::new(),
            gap: Gap::None,
            spaces: String::new(),
            preformatted: 0,
        }
    }

    pub(crate) fn open(&mut self, tag: Tag) {
        self.part(tag);
        if matches!(tag, Tag::Pre | Tag::Xmp) {
            self.preformatted += 1;
        }
    }

    pub(crate) fn close(&mut self, tag: Tag) {
        self.part(tag);
        if matches!(tag, Tag::Pre | Tag::Xmp) {
            self.preformatted = self.preformatted.saturating_sub(1);
            self.spaces.clear();
        }
    }

    /// Adds text with its character references as written.
    pub(crate) fn text(&mut self, raw: &str) {
        let text = decoded(raw);
        if self.preformatted > 0 {
            return self.lines(&text);
        }
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

    fn part(&mut self, tag: Tag) {
        let gap = match tag {
            Tag::Td | Tag::Th => Gap::Cell,
            Tag::Li
            | Tag::Dt
            | Tag::Dd
            | Tag::Tr
            | Tag::Br
            | Tag::Option
            | Tag::Thead
            | Tag::Tbody
            | Tag::Tfoot => Gap::Line,
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

/// Whether a character is a word of its own: scripts that put no spaces between words.
pub(crate) const fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text: runs of letters and digits, and each ideograph for itself.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let first = rest.chars().next()?;
        let end = if is_ideograph(first) {
            first.len_utf8()
        } else {
            let ends = |c: char| !c.is_alphanumeric() || is_ideograph(c);
            rest.find(ends).unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Scanner, Token};

    fn plain(html: &str) -> String {
        let mut writer = TextWriter::new();
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
