//! Blocks: rows of names, counts and bars with a title in the margin.
//!
//! Owns columns, colours and room. It refuses to know what is counted.

use std::fmt;

use super::super::figures;
use super::super::ink::Ink;
use super::TextStyle;

/// Columns of the margin that holds a block's name.
const MARGIN: usize = 11;

/// Narrower terminals get columns that are as wide as they must be.
const NARROW: usize = 60;

/// Less room than this is too little for an explanation, which then begins a line of its own …
const SHORTEST_WORDS: usize = 16;
/// … behind so many spaces.
const INDENT: usize = 4;

/// A name, its count, and what stands behind it.
pub(super) struct TextRow<'a> {
    pub(super) name: String,
    pub(super) ink: Ink,
    pub(super) count: u64,
    pub(super) about: About<'a>,
}

pub(super) enum About<'a> {
    /// A bar of this count in a whole.
    Share(u64),
    /// A sentence.
    Words(&'a str),
}

pub(super) struct BlockWriter<'a> {
    pub(super) out: &'a mut dyn fmt::Write,
    style: TextStyle,
    pub(super) title: &'static str,
    is_begun: bool,
}

impl<'a> BlockWriter<'a> {
    pub(super) fn new(out: &'a mut dyn fmt::Write, style: TextStyle) -> Self {
        Self {
            out,
            style,
            title: "",
            is_begun: false,
        }
    }
}

impl BlockWriter<'_> {
    pub(super) fn block(&mut self, title: &'static str, rows: &[TextRow<'_>]) -> fmt::Result {
        if rows.is_empty() {
            return Ok(());
        }
        self.open(title)?;
        let longest =
            |length: fn(&TextRow<'_>) -> usize| rows.iter().map(length).max().unwrap_or(0);
        // The columns of all blocks stand below each other, where there is room for that.
        let (least_name, least_count) = if self.style.width < NARROW {
            (0, 0)
        } else {
            (18, 9)
        };
        let names = longest(|row| row.name.chars().count()).max(least_name);
        let counts = longest(|row| figures::count(row.count).len()).max(least_count);
        for row in rows {
            self.row(row, names, counts)?;
        }
        Ok(())
    }

    fn row(&mut self, row: &TextRow<'_>, names: usize, counts: usize) -> fmt::Result {
        self.margin()?;
        self.ink(row.ink, &format!("{:<names$}", row.name))?;
        write!(self.out, " {:>counts$}", figures::count(row.count))?;
        let room = self.style.width.saturating_sub(MARGIN + names + counts + 3);
        match row.about {
            About::Share(whole) => {
                write!(self.out, "  {:>7}", figures::share(row.count, whole))?;
                let bar = bar(row.count, whole, room.saturating_sub(11).min(24));
                if !bar.is_empty() {
                    self.out.write_str("  ")?;
                    self.ink(Ink::Faint, &bar)?;
                }
            }
            About::Words(words) => return self.words(words, MARGIN + names + counts + 3),
        }
        self.out.write_char('\n')
    }

    /// Words behind what stands in a line already, up to this column. Where they are too long, or
    /// there is too little room for them, they go on below; nothing is cut off.
    fn words(&mut self, words: &str, column: usize) -> fmt::Result {
        let room = self.style.width.saturating_sub(column);
        let (column, room, mut is_first) = if room < SHORTEST_WORDS {
            (INDENT, self.style.width.saturating_sub(INDENT), false)
        } else {
            (column, room, true)
        };
        if is_first {
            self.out.write_str("  ")?;
        } else {
            self.out.write_char('\n')?;
        }
        for line in wrapped(words, room.max(SHORTEST_WORDS)) {
            if !is_first {
                write!(self.out, "{:column$}", "")?;
            }
            is_first = false;
            self.ink(Ink::Faint, &line)?;
            self.out.write_char('\n')?;
        }
        Ok(())
    }

    pub(super) fn line(&mut self, ink: Ink, line: &str) -> fmt::Result {
        self.margin()?;
        self.ink(ink, line)?;
        self.out.write_char('\n')
    }

    /// Begins a block: an empty line behind the one before, and its name in front of its first
    /// line.
    pub(super) fn open(&mut self, title: &'static str) -> fmt::Result {
        self.title = title;
        if std::mem::replace(&mut self.is_begun, true) {
            self.out.write_char('\n')?;
        }
        Ok(())
    }

    pub(super) fn margin(&mut self) -> fmt::Result {
        let title = std::mem::take(&mut self.title);
        self.ink(Ink::Strong, &format!("{title:<MARGIN$}"))
    }

    pub(super) fn ink(&mut self, ink: Ink, text: &str) -> fmt::Result {
        if self.style.colour {
            self.out.write_str(&ink.paint(text))
        } else {
            self.out.write_str(text)
        }
    }

    pub(super) fn end(&mut self) -> fmt::Result {
        self.out.write_char('\n')
    }
}

/// Words in lines that are no longer than the room for them, unless a word is.
fn wrapped(words: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ') {
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() <= room;
        match lines.last_mut().filter(fits) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn bar(part: u64, whole: u64, width: usize) -> String {
    let eighths = (part as f64 / whole.max(1) as f64 * width as f64 * 8.0).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}
