//! A page as a row of tokens: elements, words, links and what its head says.
//!
//! Owns what is compared of a page and where each token stands. It refuses to know the other page.
//! Invariants: a page has at most [`MOST_TOKENS`] tokens; two tokens are equal if their hashes are;
//! scripts, styles, comments and attributes that nobody reads make no token.

mod builder;
mod region;
mod volatile;

use std::ops::Range;

use clewline_content::{ContentLimits, Refusal, without};
use encoding_rs::{Encoding, UTF_8};
use url::Url;

use crate::options::DiffOptions;
use crate::side::BodyForm;
use builder::PageTokensBuilder;

pub(crate) use region::PageRegion;
use volatile::constant_part;
pub(crate) use volatile::{is_currency, is_volatile_link, is_volatile_word};

/// Tokens of a page that are compared; what follows is not.
pub(crate) const MOST_TOKENS: usize = 200_000;
/// Words that a page which only says that it is no page has at the most.
const MOST_CHALLENGE_WORDS: usize = 250;

/// What challenges call themselves.
const CHALLENGES: [&str; 8] = [
    "just a moment",
    "attention required",
    "verifying you are human",
    "are you a robot",
    "are you human",
    "checking your browser",
    "ddos protection",
    "security check",
];

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Element,
    Word,
    Link,
    Image,
    Title,
    Description,
    Canonical,
    Robots,
}

/// A piece of a page that is compared.
#[derive(Debug, Clone)]
pub(crate) struct PageToken {
    /// Equal where the token is equal.
    pub(crate) hash: u64,
    /// Equal where the token may be taken for the same: that of a link is without the values of its
    /// query, so that a session in it does not hide what is beside it.
    pub(crate) likeness: u64,
    pub(crate) kind: TokenKind,
    /// The number of the link that it lies in, from 1; 0 if it lies in none.
    pub(crate) link: u32,
    pub(crate) region: PageRegion,
    /// The number of its block.
    pub(crate) block: u32,
    /// Hash of the names of the elements around it.
    pub(crate) path: u64,
    /// Where it stands in the text; the target of a link.
    pub(crate) text: Range<u32>,
}

/// A page that can be compared.
#[derive(Debug, Default)]
pub(crate) struct PageTokens {
    pub(crate) tokens: Vec<PageToken>,
    text: String,
    /// Targets of links and images.
    targets: String,
    words: usize,
    title: String,
}

impl PageTokens {
    /// Whether there is nothing to read.
    pub(crate) const fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// Whether it is the page of a guard that stands before the site.
    pub(crate) fn is_challenge(&self) -> bool {
        let title = self.title.to_lowercase();
        self.words <= MOST_CHALLENGE_WORDS && CHALLENGES.iter().any(|it| title.contains(it))
    }

    /// Where the link leads that a token lies in.
    pub(crate) fn target_around(&self, token: &PageToken) -> Option<&str> {
        let number = token.link.checked_sub(1)?;
        self.tokens.get(number as usize).map(|link| self.word(link))
    }

    /// The words of a token; the target of a link.
    pub(crate) fn word(&self, token: &PageToken) -> &str {
        let range = token.text.start as usize..token.text.end as usize;
        let whole = match token.kind {
            TokenKind::Link | TokenKind::Image | TokenKind::Canonical => &self.targets,
            _ => &self.text,
        };
        whole.get(range).unwrap_or_default()
    }

    /// The text from the first word of a range of tokens to the last, as it stands in the page.
    pub(crate) fn run(&self, tokens: Range<usize>) -> &str {
        let words = || {
            let tokens = self.tokens[tokens.clone()].iter();
            tokens.filter(|token| token.kind.is_words())
        };
        let (Some(first), Some(last)) = (words().next(), words().next_back()) else {
            return "";
        };
        let range = first.text.start as usize..last.text.end as usize;
        self.text.get(range).unwrap_or_default()
    }
}

impl TokenKind {
    /// It stands for words of the text.
    pub(crate) const fn is_words(self) -> bool {
        matches!(
            self,
            Self::Word | Self::Title | Self::Description | Self::Robots
        )
    }
}

/// What links lead to, on the side that is read.
pub(crate) type ResolveLink<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The text of a body, in the encoding that the crawl found.
pub(crate) fn text_of(body: &[u8], charset: Option<&str>) -> String {
    let named = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    named.unwrap_or(UTF_8).decode(body).0.into_owned()
}

/// Reads a page. `moved` tells where the target of a link is now, if not where it says.
pub(crate) fn read_page(
    text: &str,
    (form, url): (BodyForm, &Url),
    options: &DiffOptions,
    moved: &ResolveLink<'_>,
) -> Result<PageTokens, Refusal> {
    let limits = ContentLimits::default();
    let target = |url: Url| {
        let mapped = options.mapped(url.as_str());
        moved(&mapped).unwrap_or(mapped)
    };
    let mut builder = PageTokensBuilder::new(url.clone(), &target, &options.ignored_text);
    if form == BodyForm::Html {
        let mut rest = None;
        for selector in &options.ignored_elements {
            let html = rest.as_deref().unwrap_or(text);
            match without(html, selector, &limits) {
                Ok(html) => rest = Some(html),
                Err(clewline_content::SelectError::Page(refusal)) => return Err(refusal),
                // It was validated before anything was read.
                Err(_) => {}
            }
        }
        builder.html(rest.as_deref().unwrap_or(text), &limits)?;
    } else {
        builder.plain(text);
    }
    Ok(builder.finish())
}

#[cfg(test)]
mod tests;
