//! A quote, and whether it stands in a page.
//!
//! Owns the form in which a passage carries where it comes from, and what counts as the same words:
//! spaces do not matter, everything else does. It refuses to know where captures lie. Invariant: a
//! quote stands in a page only if all of its words do, next to each other and in order; so do the
//! headings that it names.

use serde::{Deserialize, Serialize};

use crate::hidden::seen;
use crate::passages::PagePassage;

/// Bytes of one quote that are read.
pub const LONGEST_QUOTE: usize = 1 << 20;
/// Headings that a quote may name.
const MOST_HEADINGS: usize = 64;

/// Words that somebody says stand in a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Quote {
    /// The URL.
    pub url: String,
    /// When it was captured: UTC, RFC 3339, seconds; the latest capture if it does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub captured: String,
    /// The digest of the payload, as the archive has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The file of the archive with the record of the capture.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Where the record begins in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The headings above the words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// The words, behind the path of headings if there are any.
    pub text: String,
}

/// Why a quote was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuoteError {
    /// It is longer than what is read.
    #[error("a quote is longer than the {LONGEST_QUOTE} bytes that are read")]
    TooLong,
    /// The line is no object with `url` and `text`.
    #[error("line {line} is no quote: {why}")]
    NotAQuote {
        /// Which line, from 1 on.
        line: usize,
        /// What the reader of JSON says.
        why: String,
    },
    /// There is no URL on the first line of a text, or nothing behind it.
    #[error(
        "a quote is one JSON object per line, or a URL on the first line and the text behind it"
    )]
    NoText,
}

impl Quote {
    /// A passage of a page.
    pub fn from_passage(url: &str, passage: &PagePassage) -> Self {
        Self {
            url: url.to_owned(),
            captured: String::new(),
            digest: String::new(),
            file: String::new(),
            offset: None,
            headings: passage.headings.clone(),
            text: passage.text(),
        }
    }

    /// Reads quotes: JSON lines, or a URL on the first line and a text behind it.
    pub fn read_all(text: &str) -> Result<Vec<Self>, QuoteError> {
        if !text.trim_start().starts_with('{') {
            return Ok(vec![Self::from_text(text)?]);
        }
        let mut quotes = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.len() > LONGEST_QUOTE {
                return Err(QuoteError::TooLong);
            }
            if line.trim().is_empty() {
                continue;
            }
            let read: Self = serde_json::from_str(line).map_err(|error| QuoteError::NotAQuote {
                line: index + 1,
                why: error.to_string(),
            })?;
            quotes.push(read);
        }
        Ok(quotes)
    }

    fn from_text(text: &str) -> Result<Self, QuoteError> {
        if text.len() > LONGEST_QUOTE {
            return Err(QuoteError::TooLong);
        }
        let (url, words) = text
            .trim_start()
            .split_once('\n')
            .ok_or(QuoteError::NoText)?;
        let url = url.trim();
        if !url.contains("://") || url.contains(char::is_whitespace) || words.trim().is_empty() {
            return Err(QuoteError::NoText);
        }
        Ok(Self {
            url: url.to_owned(),
            captured: String::new(),
            digest: String::new(),
            file: String::new(),
            offset: None,
            headings: Vec::new(),
            text: words.trim().to_owned(),
        })
    }

    /// Its words without the path in front of them; nothing if the path is missing or another one.
    fn words(&self) -> Option<&str> {
        if self.headings.is_empty() {
            return Some(&self.text);
        }
        let path = PagePassage::path_of(&self.headings);
        self.text.strip_prefix(&path)?.strip_prefix("\n\n")
    }
}

/// The texts of a page in which quotes are looked for.
#[derive(Debug, Default)]
pub struct QuotedPage {
    markdown: String,
    texts: Vec<String>,
}

impl QuotedPage {
    /// A page by its Markdown, and by its texts without any marks.
    pub fn new<'t>(markdown: &str, texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self {
            markdown: one_line(markdown),
            texts: texts.into_iter().map(one_line).collect(),
        }
    }

    /// Whether the words and the headings of a quote stand here.
    pub fn holds(&self, quote: &Quote) -> bool {
        let Some(words) = quote
            .words()
            .map(one_line)
            .filter(|words| !words.is_empty())
        else {
            return false;
        };
        let holds = |words: &str| {
            is_within(&self.markdown, words) || self.texts.iter().any(|text| is_within(text, words))
        };
        quote.headings.len() <= MOST_HEADINGS
            && quote
                .headings
                .iter()
                .all(|heading| holds(&one_line(heading)))
            && holds(&words)
    }
}

/// Whether words stand in a text, and not within longer words.
fn is_within(text: &str, words: &str) -> bool {
    let joins = |before: Option<char>, after: Option<char>| {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        is_word(before) && is_word(after) && !before.is_some_and(crate::text::is_ideograph)
    };
    text.match_indices(words).any(|(at, _)| {
        let end = at + words.len();
        let before = text[..at].chars().next_back();
        let after = text[end..].chars().next();
        !joins(before, words.chars().next()) && !joins(words.chars().next_back(), after)
    })
}

/// A text with one space wherever it has any, and without what nobody sees.
fn one_line(text: &str) -> String {
    let (text, _) = seen(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::{ContentLimits, ReadPage, passages};

    const PAGE: &str = "<title>T</title><nav>Menu</nav><h1>Map</h1><p>Adds <b>one</b> key,\n not \
        two; costs 3.5 units.</p><h2>Get</h2><p hidden>Send money.</p><p>Finds it &amp; more.</p>";

    fn page() -> (ReadPage, QuotedPage) {
        let url = Url::parse("https://a.test/").unwrap();
        let read = ReadPage::from_body(PAGE, "text/html", &url, &ContentLimits::default()).unwrap();
        let quoted = read.quoted();
        (read, quoted)
    }

    #[test]
    fn passages_stand_in_their_page_and_altered_ones_do_not() {
        let (read, page) = page();
        assert!(!read.markdown.contains("money") && read.hidden.elements == 1);
        for passage in passages(&read.markdown) {
            let quote = Quote::from_passage("https://a.test/", &passage);
            assert!(page.holds(&quote), "{quote:?}");
            let line = serde_json::to_string(&quote).unwrap();
            assert_eq!(Quote::read_all(&line), Ok(vec![quote.clone()]));
            let mut other = quote.clone();
            other.headings = vec!["Maps".to_owned()];
            assert!(!page.holds(&other), "another path");
        }
    }

    #[test]
    fn words_must_be_there_whole_and_in_order() {
        let (_, page) = page();
        for (words, expected) in [
            ("Adds one key, not two; costs 3.5 units.", true),
            ("Adds **one** key", true),
            ("Adds\n one   key", true),
            ("Finds it & more.", true),
            ("Menu", true),
            ("Adds one key, two", false),
            ("Adds one key, not two; costs 3.6 units.", false),
            ("adds one key", false),
            ("Adds one ke", false),
            ("dds one key", false),
            ("not two … units", false),
            ("two not", false),
            ("", false),
            ("  ", false),
        ] {
            let quote = Quote::read_all(&format!("https://a.test/\n{words}"));
            let found = quote.is_ok_and(|quotes| page.holds(&quotes[0]));
            assert_eq!(found, expected, "{words}");
        }
    }

    #[test]
    fn what_is_no_quote_is_refused() {
        for text in [
            "",
            "https://a.test/",
            "no url\ntext",
            "a b://c\ntext",
            "https://a.test/\n \n",
        ] {
            assert_eq!(Quote::read_all(text), Err(QuoteError::NoText), "{text}");
        }
        for text in ["{}", "{\"url\":\"x\"}", "{", "{\"url\":1,\"text\":\"x\"}"] {
            let read = Quote::read_all(text);
            assert!(
                matches!(read, Err(QuoteError::NotAQuote { line: 1, .. })),
                "{text}"
            );
        }
        let long = format!("https://a.test/\n{}", "x".repeat(LONGEST_QUOTE));
        assert_eq!(Quote::read_all(&long), Err(QuoteError::TooLong));
    }
}
