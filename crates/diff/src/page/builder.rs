//! The making of tokens while a page is walked over.
//!
//! Owns the stack of what is open and the text that gathers. Invariant: end tags make no token, so
//! that an element that is added between two of its kind is one run of tokens.

use std::ops::Range;

use clewline_content::{ContentLimits, PageElement, PagePiece, Refusal, each_piece, words};
use regex::Regex;
use url::Url;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{MOST_TOKENS, PageRegion, PageToken, PageTokens, TokenKind, constant_part};

/// Bytes of a target that are kept.
const LONGEST_TARGET: usize = 4096;

/// An element that is open.
#[derive(Debug, Clone, Copy)]
struct OpenElement {
    region: PageRegion,
    block: u32,
    path: u64,
    kind: TokenKind,
    link: u32,
}

/// Gathers the tokens of a page.
pub(super) struct PageTokensBuilder<'a> {
    page: PageTokens,
    base: Url,
    target: &'a dyn Fn(Url) -> String,
    ignored: &'a [Regex],
    open: Vec<OpenElement>,
    blocks: u32,
}

impl<'a> PageTokensBuilder<'a> {
    pub(super) fn new(base: Url, target: &'a dyn Fn(Url) -> String, ignored: &'a [Regex]) -> Self {
        Self {
            page: PageTokens::default(),
            base,
            target,
            ignored,
            open: vec![OpenElement {
                region: PageRegion::BODY,
                block: 0,
                path: 0,
                kind: TokenKind::Word,
                link: 0,
            }],
            blocks: 0,
        }
    }

    pub(super) fn finish(self) -> PageTokens {
        self.page
    }

    /// A text without markup: each line is a block.
    pub(super) fn plain(&mut self, text: &str) {
        for line in text.lines() {
            self.blocks += 1;
            self.open[0].block = self.blocks;
            self.words(line, TokenKind::Word);
            self.page.text.push('\n');
        }
    }

    pub(super) fn html(&mut self, html: &str, limits: &ContentLimits) -> Result<(), Refusal> {
        each_piece(html, limits, &mut |piece| match piece {
            PagePiece::Open(element) => self.open(element),
            PagePiece::Close => {
                if self.open.len() > 1 {
                    self.open.pop();
                }
            }
            PagePiece::Text(text) => self.words(&text, self.top().kind),
        })
    }

    fn top(&self) -> OpenElement {
        *self.open.last().expect("the first element stays")
    }

    fn open(&mut self, element: PageElement<'_>) {
        let outer = self.top();
        let mut inner = OpenElement {
            region: outer.region.inside(element),
            path: xxh3_64_with_seed(element.name.as_bytes(), outer.path),
            ..outer
        };
        if element.is_block || element.name == "title" {
            self.blocks += 1;
            inner.block = self.blocks;
            self.page.text.push('\n');
        }
        match element.name {
            "title" if outer.region.landmark != "head" && !self.page.title.is_empty() => {}
            "title" => inner.kind = TokenKind::Title,
            _ => {}
        }
        self.open.push(inner);
        self.element(element);
    }

    fn element(&mut self, element: PageElement<'_>) {
        match element.name {
            "meta" => self.meta(element),
            "link" => self.head_link(element),
            "base" => {
                if let Some(base) = element
                    .value("href")
                    .and_then(|it| self.base.join(&it).ok())
                {
                    self.base = base;
                }
            }
            "script" | "style" | "template" | "noscript" | "head" => {}
            name => {
                self.push(TokenKind::Element, xxh3_64(name.as_bytes()), 0..0);
                match name {
                    "a" | "area" => {
                        self.link(TokenKind::Link, element.value("href").as_deref());
                        let is_link = element.value("href").is_some();
                        let number = if is_link {
                            self.page.tokens.len() as u32
                        } else {
                            0
                        };
                        self.open.last_mut().expect("the element is open").link = number;
                    }
                    "iframe" | "frame" => {
                        self.link(TokenKind::Link, element.value("src").as_deref());
                    }
                    "img" => {
                        self.link(TokenKind::Image, element.value("src").as_deref());
                        let alt = element.value("alt").unwrap_or_default();
                        self.words(&alt, TokenKind::Word);
                    }
                    _ => {}
                }
            }
        }
    }

    fn meta(&mut self, element: PageElement<'_>) {
        let name = element
            .value("name")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let kind = match name.as_str() {
            "description" => TokenKind::Description,
            "robots" => TokenKind::Robots,
            _ => return,
        };
        let content = element.value("content").unwrap_or_default();
        self.open_in_head("meta", kind);
        if kind == TokenKind::Robots {
            self.words(&content.to_ascii_lowercase(), kind);
        } else {
            self.words(&content, kind);
        }
        self.page.text.push('\n');
        self.open.pop();
    }

    /// Begins what stands in the head for itself, whatever is around it.
    fn open_in_head(&mut self, block: &'static str, kind: TokenKind) {
        self.blocks += 1;
        let region = PageRegion {
            landmark: "head",
            block,
        };
        let inner = OpenElement {
            region,
            block: self.blocks,
            ..self.top()
        };
        self.open.push(inner);
        self.page.text.push('\n');
        let hash = xxh3_64_with_seed(block.as_bytes(), kind as u64);
        self.push(TokenKind::Element, hash, 0..0);
    }

    fn head_link(&mut self, element: PageElement<'_>) {
        let rel = element.value("rel").unwrap_or_default();
        let mut rels = rel.split_ascii_whitespace();
        if rels.any(|it| it.eq_ignore_ascii_case("canonical")) {
            self.open_in_head("link", TokenKind::Canonical);
            self.link(TokenKind::Canonical, element.value("href").as_deref());
            self.open.pop();
        }
    }

    fn link(&mut self, kind: TokenKind, written: Option<&str>) {
        let Some(written) = written.map(str::trim) else {
            return;
        };
        let target = match self.base.join(written) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => (self.target)(url),
            // The bytes of an image that lies in the page are no address.
            Ok(url) if url.scheme() == "data" => "data:".to_owned(),
            _ => written.to_owned(),
        };
        let target = &target[..target.floor_char_boundary(LONGEST_TARGET)];
        let start = self.page.targets.len();
        self.page.targets.push_str(target);
        let hash = xxh3_64_with_seed(target.as_bytes(), kind as u64);
        self.push(kind, hash, start as u32..self.page.targets.len() as u32);
    }

    fn words(&mut self, text: &str, kind: TokenKind) {
        let mut rest = std::borrow::Cow::Borrowed(text);
        for ignored in self.ignored {
            if ignored.is_match(&rest) {
                rest = ignored.replace_all(&rest, " ").into_owned().into();
            }
        }
        if kind == TokenKind::Title && self.page.title.len() < LONGEST_TARGET {
            self.page.title.push_str(&rest);
        }
        let start = self.append(&rest);
        let end = self.page.text.len();
        // What gathers is read as a whole, so that offsets are those of the page's text.
        let text = std::mem::take(&mut self.page.text);
        let mut at = start;
        for word in words(&text[start..end]) {
            let begin = word.as_ptr() as usize - text.as_ptr() as usize;
            self.symbols(&text, at..begin, kind);
            at = begin + word.len();
            self.word(&text, begin..at, kind);
        }
        self.symbols(&text, at..end, kind);
        self.page.text = text;
    }

    /// Adds text with runs of white space as one space; answers where it begins.
    fn append(&mut self, text: &str) -> usize {
        let start = self.page.text.len();
        let mut was_space = self.page.text.ends_with([' ', '\n']) || start == 0;
        for c in text.chars() {
            let is_space = c.is_whitespace();
            if !is_space {
                self.page.text.push(c);
            } else if !was_space {
                self.page.text.push(' ');
            }
            was_space = is_space;
        }
        start
    }

    fn word(&mut self, text: &str, range: Range<usize>, kind: TokenKind) {
        let hash = xxh3_64_with_seed(&text.as_bytes()[range.clone()], kind as u64);
        self.page.words += usize::from(kind == TokenKind::Word);
        self.push(kind, hash, range.start as u32..range.end as u32);
    }

    /// What is neither letter nor digit, space nor punctuation changes what is said: `$`, `%`, `+`.
    fn symbols(&mut self, text: &str, range: Range<usize>, kind: TokenKind) {
        let start = range.start;
        for (at, c) in text[range].char_indices() {
            if is_symbol(c) {
                let end = start + at + c.len_utf8();
                let hash = xxh3_64_with_seed(&text.as_bytes()[start + at..end], kind as u64);
                self.push(kind, hash, (start + at) as u32..end as u32);
            }
        }
    }

    fn push(&mut self, kind: TokenKind, hash: u64, text: Range<u32>) {
        if self.page.tokens.len() >= MOST_TOKENS {
            return;
        }
        let inside = self.top();
        let likeness = match kind {
            TokenKind::Link | TokenKind::Image => {
                let target = &self.page.targets[text.start as usize..text.end as usize];
                xxh3_64_with_seed(constant_part(target).as_bytes(), kind as u64)
            }
            _ => hash,
        };
        self.page.tokens.push(PageToken {
            hash,
            likeness,
            kind,
            link: inside.link,
            region: inside.region,
            block: inside.block,
            path: inside.path,
            text,
        });
    }
}

fn is_symbol(c: char) -> bool {
    let is_ascii_symbol = matches!(
        c,
        '$' | '%' | '+' | '<' | '>' | '=' | '&' | '@' | '#' | '~' | '^'
    );
    let is_punctuation = c.is_ascii_punctuation()
        || matches!(c, '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '«' | '»' | '·' | '¿' | '¡');
    is_ascii_symbol
        || (!is_punctuation && !c.is_whitespace() && !c.is_alphanumeric() && !c.is_control())
}
