//! The lines of a Markdown text.
//!
//! Owns prefixes of quotes and lists, gaps between blocks, spaces between words, and what has
//! to be escaped. It refuses to know of elements. Invariant: no more than the room is written,
//! no line of a block lacks its prefix.

/// Nested quotes and lists beyond this add no more prefix: it would outgrow the words.
const DEEPEST_PREFIX: usize = 16;

/// What surrounds the words that come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MarkdownContext {
    /// Everything stays on one line.
    pub(super) inline: bool,
    /// In a cell of a table.
    pub(super) cell: bool,
}

/// Words that were written apart, with the spaces around them.
#[derive(Debug)]
pub(super) struct InlineText {
    pub(super) before: bool,
    pub(super) text: String,
    pub(super) after: bool,
}

/// A Markdown text that grows.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about the end of the text that do not exclude each other"
)]
pub(super) struct Sheet {
    out: String,
    room: usize,
    pub(super) truncated: bool,
    pub(super) place: MarkdownContext,
    prefix: String,
    prefixes: Vec<usize>,
    /// Line ends that are due before the next word.
    gap: usize,
    space: bool,
    /// Whether a space was due before the first word.
    led: bool,
    /// A marker was just written, which the next word follows at once.
    marked: bool,
    line_start: bool,
}

impl Sheet {
    pub(super) fn new(room: usize) -> Self {
        Self {
            out: String::new(),
            room,
            truncated: false,
            place: MarkdownContext::default(),
            prefix: String::new(),
            prefixes: Vec::new(),
            gap: 0,
            space: false,
            led: false,
            marked: false,
            line_start: true,
        }
    }

    /// The text, which ends in one line end unless it is empty.
    pub(super) fn finish(mut self) -> String {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }

    /// So many line ends at least before the next word.
    pub(super) fn gap(&mut self, lines: usize) {
        if self.place.inline {
            self.space = true;
        } else {
            self.gap = self.gap.max(lines);
        }
    }

    pub(super) fn space(&mut self) {
        self.space = true;
    }

    /// A line break inside a paragraph.
    pub(super) fn hard_break(&mut self) {
        if self.place.inline || self.gap > 0 || self.out.is_empty() || self.marked {
            return self.gap(1);
        }
        self.push("  ");
        self.gap(1);
    }

    /// Text whose spaces are folded and whose signs are escaped.
    pub(super) fn text(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.space = true;
        }
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let start = self.line_start || self.gap > 0 || self.marked;
            let word = escaped(word, start, self.place.cell);
            self.word(&word);
            self.space = words.peek().is_some() || text.ends_with(char::is_whitespace);
        }
    }

    /// A word or a run of words as it is.
    pub(super) fn word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        self.fill();
        self.push(word);
    }

    /// Lines as they are, each behind the prefix.
    pub(super) fn verbatim(&mut self, text: &str) {
        for line in text.split('\n') {
            self.word(line);
            if line.is_empty() {
                self.fill();
            }
            self.gap = 1;
        }
    }

    /// Writes what `inner` writes behind a marker and, on further lines, a continuation.
    pub(super) fn prefixed(
        &mut self,
        marker: &str,
        continuation: &str,
        inner: impl FnOnce(&mut Self),
    ) {
        if self.place.inline || self.prefixes.len() >= DEEPEST_PREFIX {
            self.gap(1);
            inner(self);
            return self.gap(1);
        }
        self.fill();
        self.push(marker);
        self.marked = true;
        self.prefixes.push(self.prefix.len());
        self.prefix.push_str(continuation);
        inner(self);
        let before = self.prefixes.pop().unwrap_or_default();
        self.prefix.truncate(before);
        self.marked = false;
        self.gap(1);
    }

    /// Writes what `inner` writes apart, on one line.
    pub(super) fn captured(&mut self, inner: impl FnOnce(&mut Self)) -> InlineText {
        let apart = Self::new(self.room.saturating_sub(self.out.len()));
        let outer = std::mem::replace(self, apart);
        self.place = MarkdownContext {
            inline: true,
            ..outer.place
        };
        self.line_start = false;
        inner(self);
        let captured = std::mem::replace(self, outer);
        self.truncated |= captured.truncated;
        InlineText {
            before: captured.led,
            text: captured.out,
            after: captured.space,
        }
    }

    fn fill(&mut self) {
        if self.marked || self.out.is_empty() {
            self.led = self.space;
        } else if self.gap > 0 {
            self.line_ends();
        } else if self.space {
            self.push(" ");
        }
        (self.gap, self.space, self.marked) = (0, false, false);
    }

    fn line_ends(&mut self) {
        for line in 1..=self.gap {
            self.push("\n");
            let prefix = std::mem::take(&mut self.prefix);
            // A blank line inside a quote keeps the sign, not the space.
            let shown = if line < self.gap {
                prefix.trim_end()
            } else {
                &prefix
            };
            self.push(shown);
            self.prefix = prefix;
        }
        self.line_start = true;
    }

    fn push(&mut self, text: &str) {
        if self.out.len() + text.len() > self.room {
            self.truncated = true;
            return;
        }
        self.out.push_str(text);
        self.line_start = false;
    }
}

/// A word in which no sign means anything to Markdown.
fn escaped(word: &str, starts_line: bool, is_cell: bool) -> String {
    let mut text = String::with_capacity(word.len() + 2);
    let bytes = word.as_bytes();
    for (index, character) in word.char_indices() {
        let before = index.checked_sub(1).map(|index| bytes[index]);
        let after = bytes.get(index + character.len_utf8()).copied();
        let needs = match character {
            '*' | '`' | '[' | ']' | '\\' => true,
            // Inside a word an underscore is only that.
            '_' => !(is_letter(before) && is_letter(after)),
            '<' => after.is_some_and(|next| next.is_ascii_alphabetic() || b"/!?".contains(&next)),
            '&' => after.is_some_and(|next| next.is_ascii_alphabetic() || next == b'#'),
            '|' => is_cell,
            '~' => after == Some(b'~'),
            '#' | '>' | '+' | '-' | '=' => starts_line && index == 0 && begins_block(word),
            '.' | ')' => starts_line && index + 1 == word.len() && is_number(&word[..index]),
            _ => false,
        };
        if needs {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

fn is_letter(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80)
}

/// Whether a word at the start of a line would begin a heading, a quote, a list or a rule.
fn begins_block(word: &str) -> bool {
    let first = word.as_bytes()[0];
    first == b'>' || word.bytes().all(|byte| byte == first)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.len() < 10 && word.bytes().all(|byte| byte.is_ascii_digit())
}
