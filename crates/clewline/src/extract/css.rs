//! The references of a style sheet.
//!
//! Owns as much of CSS Syntax (section 4) as it takes to tell `url()` and `@import` from the
//! same letters in comments, strings and names. Refuses to know properties, media and cascade.
//! Invariant: linear; every step moves forward, and nothing is kept but the value being read.

use clewline_core::link::LinkKind;

/// Calls `found` with each reference.
pub(super) fn references(text: &str, found: impl FnMut(&str, LinkKind)) {
    Sheet {
        text,
        bytes: text.as_bytes(),
        at: 0,
        found,
    }
    .run();
}

struct Sheet<'a, F> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    found: F,
}

impl<F: FnMut(&str, LinkKind)> Sheet<'_, F> {
    fn run(mut self) {
        let mut is_name_before = false;
        while let Some(byte) = self.peek() {
            let is_name = is_name_byte(byte);
            match byte {
                b'/' if self.starts_with("/*") => self.skip_comment(),
                b'"' | b'\'' => drop(self.string()),
                b'\\' => self.at += 2,
                b'@' if self.starts_with_name("@import") => self.import(),
                b'@' if self.starts_with_name("@namespace") => self.skip_past(b';'),
                b'u' | b'U' if !is_name_before && self.starts_with("url(") => {
                    self.url(LinkKind::CssUrl);
                }
                _ => self.at += 1,
            }
            is_name_before = is_name || byte == b'\\';
        }
    }

    fn import(&mut self) {
        self.at += "@import".len();
        self.skip_blank();
        if self.starts_with("url(") {
            self.url(LinkKind::CssImport);
        } else if matches!(self.peek(), Some(b'"' | b'\''))
            && let Some(value) = self.string()
        {
            (self.found)(&value, LinkKind::CssImport);
        }
    }

    /// Consumes a url token or function (CSS Syntax section 4.3.6).
    fn url(&mut self, kind: LinkKind) {
        self.at += "url(".len();
        self.skip_space();
        let value = match self.peek() {
            Some(b'"' | b'\'') => self.string(),
            _ => self.bare_url(),
        };
        if let Some(value) = value {
            (self.found)(&value, kind);
        }
    }

    /// An unquoted URL up to its parenthesis; none if it is broken, and then it is consumed.
    fn bare_url(&mut self) -> Option<String> {
        let mut value = String::new();
        while let Some(byte) = self.peek() {
            match byte {
                b')' => {
                    self.at += 1;
                    return Some(value);
                }
                b'\\' => self.escape(&mut value),
                b'"' | b'\'' | b'(' => {
                    self.skip_past(b')');
                    return None;
                }
                byte if is_space(byte) => {
                    self.skip_space();
                    return match self.peek() {
                        None | Some(b')') => Some(value),
                        Some(_) => {
                            self.skip_past(b')');
                            None
                        }
                    };
                }
                _ => self.copy(&mut value, |byte| {
                    is_space(byte) || matches!(byte, b')' | b'\\' | b'"' | b'\'' | b'(')
                }),
            }
        }
        Some(value)
    }

    /// A string; none if a line ends inside it, which makes it a bad one.
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
                _ => self.copy(&mut value, |byte| {
                    byte == quote || matches!(byte, b'\\' | b'\n' | b'\r' | 0x0c)
                }),
            }
        }
        Some(value)
    }

    /// Consumes an escape (CSS Syntax section 4.3.7); an escaped line end stands for nothing.
    fn escape(&mut self, value: &mut String) {
        self.at += 1;
        let rest = &self.bytes[self.at..];
        let digits = rest
            .iter()
            .take(6)
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        if digits > 0 {
            let code = u32::from_str_radix(&self.text[self.at..self.at + digits], 16);
            let code = code.ok().filter(|code| *code != 0).and_then(char::from_u32);
            value.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            self.at += digits;
            self.skip_one_space();
        } else if rest
            .first()
            .is_some_and(|byte| is_space(*byte) && *byte != b' ' && *byte != b'\t')
        {
            self.skip_one_space();
        } else if let Some(escaped) = self.text[self.at..].chars().next() {
            value.push(escaped);
            self.at += escaped.len_utf8();
        }
    }

    /// Copies up to a byte that ends the run; those are all ASCII, so that the cut is clean.
    fn copy(&mut self, value: &mut String, is_end: impl Fn(u8) -> bool) {
        let rest = &self.bytes[self.at..];
        let end = rest
            .iter()
            .position(|byte| is_end(*byte))
            .unwrap_or(rest.len());
        value.push_str(&self.text[self.at..self.at + end]);
        self.at += end;
    }

    fn skip_one_space(&mut self) {
        if self.starts_with("\r\n") {
            self.at += 2;
        } else if self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) {
        let body = &self.bytes[self.at + 2..];
        self.at =
            memchr::memmem::find(body, b"*/").map_or(self.bytes.len(), |end| self.at + 2 + end + 2);
    }

    fn skip_past(&mut self, end: u8) {
        let rest = &self.bytes[self.at..];
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
        self.bytes.get(self.at).copied()
    }

    fn starts_with(&self, prefix: &str) -> bool {
        let head = self.bytes.get(self.at..self.at + prefix.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
    }

    fn starts_with_name(&self, name: &str) -> bool {
        let after = self.bytes.get(self.at + name.len());
        self.starts_with(name) && !after.is_some_and(|byte| is_name_byte(*byte))
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'-' | b'_')
}
