//! Replaces a block of lines in place on a terminal.
//!
//! Owns the escape sequences and the count of what is on the screen. Invariants: between two
//! writes the cursor stands at the begin of the line below the block, visible, so that a process
//! that is killed or suspended leaves a usable terminal; after [`Drawer::clear`] the screen is as
//! if no block had been there.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write};

/// What is left of an older, longer line.
pub(super) const ERASE_LINE: &str = "\x1b[K";
const ERASE_BELOW: &str = "\x1b[J";
const USUAL_SIZE: (usize, usize) = (80, 24);

/// Whether stderr is a terminal that can take back what is on it.
pub(super) fn can_redraw() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}

/// Width and height of the terminal behind stderr.
pub(super) fn terminal() -> (usize, usize) {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(USUAL_SIZE, |(width, height)| {
        (usize::from(width.0), usize::from(height.0))
    })
}

/// What is on the screen, and where it goes.
pub(super) struct Drawer<W: Write> {
    out: W,
    /// The block that is on the screen.
    drawn: Vec<String>,
    width: usize,
}

impl<W: Write> Drawer<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            drawn: Vec::new(),
            width: USUAL_SIZE.0,
        }
    }

    /// Puts a block where the last one was; never more lines than fit.
    pub(super) fn block(&mut self, mut lines: Vec<String>, width: usize, height: usize) {
        lines.truncate(height.saturating_sub(1).max(1));
        self.width = width.max(1);
        let mut text = self.return_to_top();
        self.drawn = lines;
        self.append_block(&mut text);
        self.write(&text);
    }

    /// Prints a line that stays, above the block.
    pub(super) fn line(&mut self, line: &str) {
        let mut text = self.return_to_top();
        if !self.drawn.is_empty() {
            // The line may be longer than the terminal is wide and run into the old block.
            text.push_str(ERASE_BELOW);
        }
        let _ = writeln!(text, "{line}");
        self.append_block(&mut text);
        self.write(&text);
    }

    /// New text goes over the old, so that no moment shows an empty screen.
    fn append_block(&self, text: &mut String) {
        if self.drawn.is_empty() {
            return;
        }
        for line in &self.drawn {
            let _ = writeln!(text, "{line}{ERASE_LINE}");
        }
        text.push_str(ERASE_BELOW);
    }

    /// Takes the block away.
    pub(super) fn clear(&mut self) {
        if self.drawn.is_empty() {
            return;
        }
        let text = self.return_to_top() + ERASE_BELOW;
        self.drawn.clear();
        self.write(&text);
    }

    /// Back to the first row of the block. A terminal that became narrower has wrapped the
    /// lines, so rows are counted by today's width.
    fn return_to_top(&self) -> String {
        let rows_of = |line: &String| visible_width(line).div_ceil(self.width).max(1);
        let rows: usize = self.drawn.iter().map(rows_of).sum();
        if rows == 0 {
            String::new()
        } else {
            format!("\x1b[{rows}A\r")
        }
    }

    fn write(&mut self, text: &str) {
        // A terminal that went away has nobody to look at it.
        let _ = self
            .out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush());
    }
}

/// Characters without colour sequences, which begin with ESC and end with `m`.
pub(super) fn visible_width(line: &str) -> usize {
    let mut width = 0;
    let mut in_sequence = false;
    for character in line.chars() {
        match character {
            '\x1b' => in_sequence = true,
            'm' if in_sequence => in_sequence = false,
            _ if in_sequence => {}
            _ => width += 1,
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_block_is_replaced_in_place() {
        let mut drawer = Drawer::new(Vec::new());
        drawer.block(lines(&["one", "two"]), 80, 24);
        drawer.block(lines(&["three"]), 80, 24);
        drawer.line("stays");
        drawer.block(lines(&["four"]), 80, 24);
        drawer.clear();
        let expected = "one\x1b[K\ntwo\x1b[K\n\x1b[J\x1b[2A\rthree\x1b[K\n\x1b[J\
                        \x1b[1A\r\x1b[Jstays\nthree\x1b[K\n\x1b[J\
                        \x1b[1A\rfour\x1b[K\n\x1b[J\x1b[1A\r\x1b[J";
        assert_eq!(String::from_utf8(drawer.out).unwrap(), expected);
    }

    #[test]
    fn without_a_block_there_are_no_sequences() {
        let mut drawer = Drawer::new(Vec::new());
        drawer.line("a log");
        drawer.clear();
        assert_eq!(drawer.out, b"a log\n");
    }

    #[test]
    fn wrapped_rows_are_counted_after_a_resize() {
        let mut drawer = Drawer::new(Vec::new());
        drawer.block(lines(&["0123456789", "\x1b[31mab\x1b[0m"]), 80, 24);
        drawer.block(lines(&["x"]), 4, 24);
        let text = String::from_utf8(drawer.out).unwrap();
        assert!(text.contains("\x1b[4A"), "three rows and one: {text:?}");
    }

    #[test]
    fn never_more_lines_than_the_terminal_has() {
        let mut drawer = Drawer::new(Vec::new());
        drawer.block(lines(&["1", "2", "3", "4"]), 80, 3);
        assert_eq!(drawer.drawn.len(), 2);
        drawer.block(lines(&["1", "2"]), 80, 0);
        assert_eq!(drawer.drawn.len(), 1);
    }
}
