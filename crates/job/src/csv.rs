//! CSV (RFC 4180, UTF-8, lines end with CR LF).
//!
//! Owns quoting, and what keeps a spreadsheet from taking foreign text as a formula: a text that
//! begins like one gets an apostrophe before it. Invariant: a field holds no character that
//! steers a terminal and no line break, so a row is a line.

use std::fmt::Write as _;

use crate::escape::is_steering;

/// What formulas begin with, also in the wide forms of East Asian scripts.
const FORMULA: [char; 8] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// A row that is being written.
#[derive(Debug, Default)]
pub struct CsvRow {
    line: String,
    is_ended: bool,
    count: usize,
}

impl CsvRow {
    /// Adds what cannot be mistaken, such as a number.
    pub fn shown(&mut self, value: impl std::fmt::Display) {
        self.begin();
        let _ = write!(self.line, "{value}");
    }

    /// Adds foreign text.
    pub fn text(&mut self, text: &str) {
        self.begin();
        let text = clean(text);
        let is_formula = text.trim_start().starts_with(FORMULA);
        let is_quoted = is_formula || text.contains([',', '"', ';', '\'']);
        if !is_quoted {
            self.line.push_str(&text);
            return;
        }
        self.line.push('"');
        if is_formula {
            self.line.push('\'');
        }
        self.line.push_str(&text.replace('"', "\"\""));
        self.line.push('"');
    }

    /// Ends the row; the next value begins another one.
    pub fn end(&mut self) -> &str {
        self.line.push_str("\r\n");
        self.is_ended = true;
        &self.line
    }

    /// Adds a field that is still empty.
    pub fn begin(&mut self) {
        if self.is_ended {
            self.line.clear();
            self.is_ended = false;
            self.count = 0;
        }
        if self.count > 0 {
            self.line.push(',');
        }
        self.count += 1;
    }
}

/// Text on one line, without what steers a terminal.
fn clean(text: &str) -> String {
    let kept = text.chars().filter_map(|character| match character {
        '\t' | '\n' | '\r' => Some(' '),
        other => (!is_steering(other)).then_some(other),
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_text() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a, \"b\"", "\"a, \"\"b\"\"\""),
            ("=1+1", "\"'=1+1\""),
            (" \t=cmd|' /C calc'!A0", "\"'  =cmd|' /C calc'!A0\""),
            ("+49", "\"'+49\""),
            ("-2", "\"'-2\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\u{ff1d}1", "\"'\u{ff1d}1\""),
            ("\u{200b}=1", "\"'=1\""),
            ("a\r\nb\u{1b}[2J\u{202e}", "a  b[2J"),
            ("", ""),
        ] {
            let mut row = CsvRow::default();
            row.text(text);
            assert_eq!(row.end(), format!("{expected}\r\n"), "{text:?}");
        }
    }

    #[test]
    fn rows_follow_each_other() {
        let mut row = CsvRow::default();
        row.begin();
        row.shown(-7);
        assert_eq!(row.end(), ",-7\r\n");
        row.text("a");
        assert_eq!(row.end(), "a\r\n");
    }
}
