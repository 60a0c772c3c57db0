//! The references of a style sheet.
//!
//! Owns as much of CSS Syntax (section 4) as it takes to tell `url()`, `@import` and the strings of
//! `image-set()` from the same letters in comments, strings and names. Refuses to know properties, media and cascade.
//! Invariant: linear; every step moves forward, and nothing is kept but the value being read.

use std::borrow::Cow;
use std::ops::Range;

/// What a reference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    /// `url()`, or a string of `image-set()`.
    Url,
    /// The sheet of an `@import`, as a string or with `url()`.
    Import,
}

/// A reference as it stands in a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CssReference<'a> {
    /// What it says, escapes resolved.
    pub value: Cow<'a, str>,
    /// What it is.
    pub kind: ReferenceKind,
    /// Where it stands: `url(` up to its parenthesis, or a string with its quotes.
    pub range: Range<usize>,
    /// Whether it ends there, as it also does at the end of the sheet. If not, something that is
    /// no reference follows between the string and the parenthesis.
    pub is_closed: bool,
}

/// Calls `found` with each reference, in order. Those that are broken are none, and nothing
/// within them is.
pub fn references<'a>(text: &'a str, found: impl FnMut(CssReference<'a>)) {
    Sheet { text, at: 0, found }.run();
}

struct Sheet<'a, F> {
    text: &'a str,
    at: usize,
    found: F,
}

impl<'a, F: FnMut(CssReference<'a>)> Sheet<'a, F> {
    fn run(mut self) {
        let mut is_name_before = false;
        while let Some(byte) = self.peek() {
            let mut is_name = false;
            match byte {
                b'/' if self.starts_with("/*") => self.skip_comment(),
                b'"' | b'\'' => drop(self.string()),
                b'\\' => {
                    self.at += 1;
                    self.skip_character();
                    is_name = true;
                }
                b'@' if self.starts_with_name("@import") => self.import(),
                b'@' if self.starts_with_name("@namespace") => self.skip_past(b';'),
                b'u' | b'U' if !is_name_before && self.starts_with("url(") => {
                    self.url(ReferenceKind::Url);
                }
                b'i' | b'I' | b'-' if !is_name_before && self.skip_image_set() => self.image_set(),
                _ => {
                    self.at += 1;
                    is_name = is_name_byte(byte);
                }
            }
            is_name_before = is_name;
        }
    }

    fn import(&mut self) {
        self.at += "@import".len();
        self.skip_blank();
        let start = self.at;
        if self.starts_with("url(") {
            self.url(ReferenceKind::Import);
        } else if matches!(self.peek(), Some(b'"' | b'\''))
            && let Some(value) = self.string()
        {
            self.tell(value, ReferenceKind::Import, start, true);
        }
    }

    /// Passes over the name of `image-set(`, which browsers also know by its old name; whether it
    /// was there.
    fn skip_image_set(&mut self) -> bool {
        let names = ["image-set(", "-webkit-image-set("];
        let name = names.into_iter().find(|name| self.starts_with(name));
        self.at += name.map_or(0, str::len);
        name.is_some()
    }

    /// Consumes the candidates of an `image-set()` (CSS Images 4 section 2.4): strings in it are
    /// URLs, but not those within its functions, such as `type("image/avif")`. What can't stand in
    /// a value ends one that is not closed, so that it takes no strings from what follows.
    fn image_set(&mut self) {
        let mut depth = 1_usize;
        let mut is_name_before = false;
        while depth > 0
            && let Some(byte) = self.peek()
        {
            let is_name = is_name_byte(byte) || byte == b'\\';
            match byte {
                b'/' if self.starts_with("/*") => self.skip_comment(),
                b'"' | b'\'' => {
                    let start = self.at;
                    let Some(value) = self.string() else { return };
                    if depth == 1 {
                        self.tell(value, ReferenceKind::Url, start, true);
                    }
                }
                b'u' | b'U' if !is_name_before && self.starts_with("url(") => {
                    self.url(ReferenceKind::Url);
                }
                b';' | b'{' | b'}' => return,
                b'\\' => {
                    self.at += 1;
                    self.skip_character();
                }
                _ => {
                    depth += usize::from(byte == b'(');
                    depth -= usize::from(byte == b')');
                    self.at += 1;
                }
            }
            is_name_before = is_name && self.peek() != Some(b'(');
        }
    }

    /// Consumes a url token or function (CSS Syntax section 4.3.6).
    fn url(&mut self, kind: ReferenceKind) {
        let start = self.at;
        self.at += "url(".len();
        self.skip_space();
        let value = match self.peek() {
            Some(b'"' | b'\'') => self.string(),
            _ => self.bare_url(),
        };
        let Some(value) = value else { return };
        self.skip_space();
        let is_closed = matches!(self.peek(), None | Some(b')'));
        if self.peek() == Some(b')') {
            self.at += 1;
        }
        self.tell(value, kind, start, is_closed);
    }

    fn tell(&mut self, value: Cow<'a, str>, kind: ReferenceKind, start: usize, is_closed: bool) {
        (self.found)(CssReference {
            value,
            kind,
            range: start..self.at,
            is_closed,
        });
    }

    /// An unquoted URL up to its parenthesis, which is left; none if it is broken, and then all
    /// of it is consumed.
    fn bare_url(&mut self) -> Option<Cow<'a, str>> {
        let mut value = Cow::Borrowed("");
        while let Some(byte) = self.peek() {
            match byte {
                b')' => return Some(value),
                b'\\' => self.escape(value.to_mut()),
                byte if is_space(byte) => {
                    self.skip_space();
                    if matches!(self.peek(), None | Some(b')')) {
                        return Some(value);
                    }
                    self.skip_past(b')');
                    return None;
                }
                b'"' | b'\'' | b'(' => {
                    self.skip_past(b')');
                    return None;
                }
                _ => self.copy(&mut value, |byte| {
                    is_space(byte) || matches!(byte, b')' | b'\\' | b'"' | b'\'' | b'(')
                }),
            }
        }
        Some(value)
    }

    /// A string; none if a line ends inside it, which makes it a bad one.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let quote = self.peek()?;
        self.at += 1;
        let mut value = Cow::Borrowed("");
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.escape(value.to_mut()),
                byte if is_line_end(byte) => return None,
                byte if byte == quote => {
                    self.at += 1;
                    return Some(value);
                }
                _ => self.copy(&mut value, |byte| {
                    byte == quote || byte == b'\\' || is_line_end(byte)
                }),
            }
        }
        Some(value)
    }

    /// Consumes an escape (CSS Syntax section 4.3.7); an escaped line end stands for nothing.
    fn escape(&mut self, value: &mut String) {
        self.at += 1;
        let rest = self.rest();
        let digits = rest.iter().take(6);
        let digits = digits.take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits > 0 {
            let code = u32::from_str_radix(&self.text[self.at..self.at + digits], 16);
            let code = code.ok().filter(|code| *code != 0).and_then(char::from_u32);
            value.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            self.at += digits;
            self.skip_one_space();
        } else if rest.first().is_some_and(|byte| is_line_end(*byte)) {
            self.skip_one_space();
        } else {
            value.extend(self.skip_character());
        }
    }

    /// Copies up to a byte that ends the run; those are all ASCII, so that the cut is clean.
    fn copy(&mut self, value: &mut Cow<'a, str>, is_end: impl Fn(u8) -> bool) {
        let end = self.rest().iter().position(|byte| is_end(*byte));
        let end = end.map_or(self.text.len(), |end| self.at + end);
        let run = &self.text[self.at..end];
        self.at = end;
        if value.is_empty() {
            *value = Cow::Borrowed(run);
        } else {
            value.to_mut().push_str(run);
        }
    }

    fn skip_character(&mut self) -> Option<char> {
        let character = self.text[self.at..].chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn skip_one_space(&mut self) {
        if self.starts_with("\r\n") {
            self.at += 2;
        } else if self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) {
        self.at += "/*".len();
        let end = memchr::memmem::find(self.rest(), b"*/");
        self.at = end.map_or(self.text.len(), |end| self.at + end + "*/".len());
    }

    fn skip_past(&mut self, end: u8) {
        let found = memchr::memchr(end, self.rest());
        self.at = found.map_or(self.text.len(), |found| self.at + found + 1);
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

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn starts_with(&self, prefix: &str) -> bool {
        let head = self.rest().get(..prefix.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
    }

    fn starts_with_name(&self, name: &str) -> bool {
        let after = self.rest().get(name.len());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reference as `kind value [where it stands]`, with `…` if it does not end there.
    fn told(sheet: &str) -> Vec<String> {
        let mut told = Vec::new();
        references(sheet, |reference| {
            let kind = match reference.kind {
                ReferenceKind::Url => "url",
                ReferenceKind::Import => "import",
            };
            let end = if reference.is_closed { "" } else { "…" };
            let place = &sheet[reference.range];
            told.push(format!("{kind} {} [{place}]{end}", reference.value));
        });
        told
    }

    #[test]
    fn references_are_found_where_they_stand() {
        for (sheet, expected) in [
            ("a{b:url(x)}", &["url x [url(x)]"][..]),
            ("a{b:URL( 'x y' )}", &["url x y [URL( 'x y' )]"]),
            (r"a{b:url(x\29 y)}", &[r"url x)y [url(x\29 y)]"]),
            (
                "a{b:url( x )url(y)url(z)}",
                &["url x [url( x )]", "url y [url(y)]", "url z [url(z)]"],
            ),
            ("@import 'x';", &["import x ['x']"]),
            ("@import/**/url(x) print;", &["import x [url(x)]"]),
            ("@importurl(x)", &[]),
            ("@namespace url(x);a{b:url(y)}", &["url y [url(y)]"]),
            ("/*url(x)*/'url(x)' myurl(x) \\url(x)", &[]),
            ("a{b:url(x", &["url x [url(x]"]),
            ("a{b:url('x", &["url x [url('x]"]),
            ("a{b:url(", &["url  [url(]"]),
            ("url('x' y)", &["url x [url('x' ]…"]),
            ("\\", &[]),
            ("a{b:url(\"x\\\"y\")}", &["url x\"y [url(\"x\\\"y\")]"]),
            ("a{b:url(\\78\\0079z)}", &["url xyz [url(\\78\\0079z)]"]),
            ("/* url(x) */a{b:url(y)}", &["url y [url(y)]"]),
            ("/* url(x)", &[]),
            ("a{content:'url(x)'}", &[]),
            ("a{b:curl(x) -url(x)}", &[]),
            ("@importx 'y';@imports", &[]),
            ("@IMPORT\turl('z');", &["import z [url('z')]"]),
            (
                "@font-face{src:url(f.woff2)format('woff2'),url(f.woff)}",
                &["url f.woff2 [url(f.woff2)]", "url f.woff [url(f.woff)]"],
            ),
            ("a{b:'\\\ny'url(é\\é)}", &["url éé [url(é\\é)]"]),
            ("é url(é)\\é", &["url é [url(é)]"]),
            ("é url(\\\n\\é", &["url é [url(\\\n\\é]"]),
            (
                "a{b:image-set('x.png' 1x, \"y.png\" type('image/png') 2x)}c{d:'z'}",
                &["url x.png ['x.png']", "url y.png [\"y.png\"]"],
            ),
            (
                "a{b:-WebKit-Image-Set(url(x) 1x,url('y') 2x)'z'}",
                &["url x [url(x)]", "url y [url('y')]"],
            ),
            ("a{b:image-set(/*'x'*/calc(('x'))'y')}", &["url y ['y']"]),
            ("a{b:my-image-set('x') image-sets('x')}", &[]),
            ("a{b:image-set('x' 1x;c:'y'}d{e:'z'}", &["url x ['x']"]),
            ("a{b:image-set('x\ny') 'z'", &[]),
            ("a{b:image-set('x", &["url x ['x]"]),
            ("a{b:image-set(", &[]),
        ] {
            assert_eq!(told(sheet), expected, "{sheet}");
        }
    }

    /// A broken one is consumed with everything up to its parenthesis (CSS Syntax section
    /// 4.3.14): a quote in it opens no string that would hide what follows.
    #[test]
    fn broken_references_hide_nothing() {
        for sheet in [
            "a{b:url(x'y)}c{d:url(z)}",
            "a{b:url(x y)}c{d:url(z)}",
            "a{b:url(x\"y)}c{d:url(z)}",
            "a{b:url(x(y)}c{d:url(z)}",
            "a{b:url(x 'y)}c{d:url(z)}",
            "a{b:'x\ny}c{d:url(z)}",
        ] {
            assert_eq!(told(sheet), ["url z [url(z)]"], "{sheet}");
        }
    }

    #[test]
    fn values_are_copied_only_where_they_are_escaped() {
        let mut borrowed = Vec::new();
        references("url(a)url('b')url(c\\64)", |reference| {
            borrowed.push(matches!(reference.value, Cow::Borrowed(_)));
        });
        assert_eq!(borrowed, [true, true, false]);
    }
}
