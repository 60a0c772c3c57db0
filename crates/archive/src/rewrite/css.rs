//! The references of a style sheet.
//!
//! Owns as much of CSS Syntax (section 4) as it takes to tell `url()` and `@import` from the same
//! letters in comments, strings and names. Invariant: linear; what is not a reference is copied
//! byte for byte, and what is put in cannot end its string.

use std::fmt::Write as _;

/// The sheet with each URL replaced by what `lead` answers, if it does.
pub(crate) fn rewrite(text: &str, lead: impl FnMut(&str) -> Option<String>) -> String {
    let sheet = Sheet {
        text,
        at: 0,
        copied: 0,
        out: String::with_capacity(text.len()),
        lead,
    };
    sheet.run()
}

struct Sheet<'a, F> {
    text: &'a str,
    at: usize,
    /// What lies before this place is in `out`.
    copied: usize,
    out: String,
    lead: F,
}

impl<F: FnMut(&str) -> Option<String>> Sheet<'_, F> {
    fn run(mut self) -> String {
        let mut is_name_before = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'/' if self.starts_with("/*") => self.skip_comment(),
                b'"' | b'\'' => drop(self.string()),
                b'\\' => self.skip_escape(),
                b'@' if self.starts_with_name("@import") => self.import(),
                b'@' if self.starts_with_name("@namespace") => self.skip_past(b';'),
                b'u' | b'U' if !is_name_before && self.starts_with("url(") => self.url(),
                _ => self.at += 1,
            }
            is_name_before = is_name_byte(byte) || byte == b'\\';
        }
        self.out.push_str(&self.text[self.copied..]);
        self.out
    }

    fn import(&mut self) {
        self.at += "@import".len();
        self.skip_blank();
        let start = self.at;
        if self.starts_with("url(") {
            self.url();
        } else if matches!(self.peek(), Some(b'"' | b'\''))
            && let Some(value) = self.string()
        {
            self.put(start, &value, ["", ""]);
        }
    }

    /// A url token or function (CSS Syntax section 4.3.6).
    fn url(&mut self) {
        let start = self.at;
        self.at += "url(".len();
        self.skip_space();
        let value = match self.peek() {
            Some(b'"' | b'\'') => self.string(),
            _ => self.bare(),
        };
        self.skip_space();
        let is_closed = self.peek() == Some(b')');
        let is_over = self.peek().is_none();
        if is_closed {
            self.at += 1;
        }
        if let Some(value) = value
            && (is_closed || is_over)
        {
            self.put(start, &value, ["url(", ")"]);
        }
    }

    /// Puts another reference in the place of what lies between `start` and here.
    fn put(&mut self, start: usize, value: &str, [before, after]: [&str; 2]) {
        let Some(led) = (self.lead)(value) else {
            return;
        };
        self.out.push_str(&self.text[self.copied..start]);
        self.out.push_str(before);
        self.out.push('"');
        for character in led.chars() {
            if matches!(character, '"' | '\\' | '<') || character.is_control() {
                let code = u32::from(character);
                write!(self.out, "\\{code:x} ").expect("a string takes all text");
            } else {
                self.out.push(character);
            }
        }
        self.out.push('"');
        self.out.push_str(after);
        self.copied = self.at;
    }

    /// An unquoted URL up to its parenthesis or white space; nothing if it is broken.
    fn bare(&mut self) -> Option<String> {
        let mut value = String::new();
        while let Some(byte) = self.peek() {
            match byte {
                b')' => return Some(value),
                b'\\' => self.escape(&mut value),
                b'"' | b'\'' | b'(' => return None,
                byte if is_space(byte) => return Some(value),
                _ => self.take(&mut value),
            }
        }
        Some(value)
    }

    /// A string; nothing if a line ends inside it, which makes it a bad one.
    fn string(&mut self) -> Option<String> {
        let quote = self.peek()?;
        self.at += 1;
        let mut value = String::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.escape(&mut value),
                b'\n' | b'\r' | 0x0c => return None,
                byte if byte == quote => {
                    self.at += 1;
                    return Some(value);
                }
                _ => self.take(&mut value),
            }
        }
        Some(value)
    }

    fn take(&mut self, value: &mut String) {
        if let Some(character) = self.text[self.at..].chars().next() {
            value.push(character);
            self.at += character.len_utf8();
        }
    }

    /// An escape (CSS Syntax section 4.3.7); an escaped line end stands for nothing.
    fn escape(&mut self, value: &mut String) {
        self.at += 1;
        let rest = &self.text.as_bytes()[self.at..];
        let digits = rest.iter().take(6);
        let digits = digits.take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits > 0 {
            let code = u32::from_str_radix(&self.text[self.at..self.at + digits], 16);
            let code = code.ok().filter(|code| *code != 0).and_then(char::from_u32);
            value.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            self.at += digits;
            self.skip_line_end_or(is_space);
        } else if rest.first().is_some_and(|&byte| is_line_end(byte)) {
            self.skip_line_end_or(is_line_end);
        } else {
            self.take(value);
        }
    }

    fn skip_line_end_or(&mut self, is_skipped: fn(u8) -> bool) {
        if self.starts_with("\r\n") {
            self.at += 2;
        } else if self.peek().is_some_and(is_skipped) {
            self.at += 1;
        }
    }

    fn skip_escape(&mut self) {
        self.at += 1;
        self.take(&mut String::new());
    }

    fn skip_comment(&mut self) {
        let body = &self.text.as_bytes()[self.at + 2..];
        let end = memchr::memmem::find(body, b"*/");
        self.at = end.map_or(self.text.len(), |end| self.at + 2 + end + 2);
    }

    fn skip_past(&mut self, end: u8) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += memchr::memchr(end, rest).map_or(rest.len(), |at| at + 1);
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn skip_blank(&mut self) {
        self.skip_space();
        while self.starts_with("/*") {
            self.skip_comment();
            self.skip_space();
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn starts_with(&self, prefix: &str) -> bool {
        let head = self.text.as_bytes().get(self.at..self.at + prefix.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
    }

    fn starts_with_name(&self, name: &str) -> bool {
        let after = self.text.as_bytes().get(self.at + name.len());
        self.starts_with(name) && !after.is_some_and(|byte| is_name_byte(*byte))
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b' ') || is_line_end(byte)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | 0x0c | b'\r')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'-' | b'_')
}
