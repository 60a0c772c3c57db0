//! The tokens of a page, with the elements that this crate knows.
//!
//! Owns the step from the names of `clewline-html` to [`NodeKind`]s. It refuses to know where a tag, a
//! comment or an attribute ends, which is the tokenizer's business.

use clewline_html::{MarkupToken, TagAttributes, Tokens};

use crate::tag::NodeKind;

/// A piece of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Text with its character references as written.
    Text(&'a str),
    /// The content of a raw element, with what it is the content of.
    Raw(NodeKind, &'a str),
    /// A start tag.
    Open(NodeKind, TagAttributes<'a>),
    /// An end tag.
    Close(NodeKind),
}

/// Reads a page from its beginning.
#[derive(Debug)]
pub(crate) struct Scanner<'a>(Tokens<'a>);

impl<'a> Scanner<'a> {
    pub(crate) fn new(html: &'a str) -> Self {
        Self(Tokens::new(html))
    }

    /// Where the next token begins.
    pub(crate) const fn position(&self) -> usize {
        self.0.position()
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        Some(match self.0.next()? {
            MarkupToken::Text(text) => Token::Text(text),
            MarkupToken::Raw(name, text) => Token::Raw(NodeKind::named(name), text),
            MarkupToken::Start(name, attributes) => Token::Open(NodeKind::named(name), attributes),
            MarkupToken::End(name) => Token::Close(NodeKind::named(name)),
        })
    }
}

/// Whether a class or another list of words holds a word for which `is_it` is true.
pub(crate) fn any_word(list: &str, is_it: impl Fn(&str) -> bool) -> bool {
    list.split_ascii_whitespace().any(is_it)
}
