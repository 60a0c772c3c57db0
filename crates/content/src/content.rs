//! A page's content, at two speeds.
//!
//! Owns what is found of a page and in which order the passes go: the stream first, which is
//! cheap and counts, a tree only where main text or Markdown are asked for. Pure: text in,
//! content or a refusal out.

use std::borrow::Cow;

use serde::Serialize;
use url::Url;

use crate::fingerprint::Fingerprint;
use crate::hidden::{HiddenText, seen};
use crate::language::code_of;
use crate::limits::{ContentLimits, Deadline, Refusal};
use crate::markdown;
use crate::metadata::Metadata;
use crate::reading;
use crate::selection::Selection;
use crate::skim::skim;
use crate::text::words;
use crate::tree::Tree;

/// Bytes of text that are enough to tell its language.
const LANGUAGE_SAMPLE: usize = 4000;

/// How closely a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingSpeed {
    /// Metadata and plain text, in one pass.
    Skim,
    /// The main text and its Markdown as well.
    Main,
    /// The main text as well, and Markdown of the whole page.
    Whole,
}

/// What a page says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Content {
    /// What it says about itself.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// The language that its words are in: the one that the page declares, else the one that
    /// the words tell. Two letters (ISO 639-1) where there are two, else three (ISO 639-3).
    #[serde(rename = "language_code")]
    pub language: Option<String>,
    /// All that people can read, as plain text.
    pub text: String,
    /// Words in the text.
    pub words: usize,
    /// What identifies the text.
    pub fingerprint: Fingerprint,
    /// The main content, if it was asked for.
    pub main: Option<MainContent>,
}

/// The content without what is around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MainContent {
    /// As plain text.
    pub text: String,
    /// Words in the text.
    pub words: usize,
    /// As Markdown (`CommonMark` with tables, and formulas between `$`), with absolute links.
    pub markdown: String,
    /// Whether the Markdown was cut, because it became much longer than the page.
    pub truncated: bool,
    /// What was left out of the page because people do not see it.
    pub hidden: HiddenText,
}

impl Content {
    /// Reads a page with its main text and Markdown.
    ///
    /// ```
    /// use clewline_content::{Content, ContentLimits};
    /// let url = "https://example.com/docs/".parse()?;
    /// let html = "<title>T</title><nav>Menu</nav><p>Words and <a href='a'>links</a>.</p>";
    /// let content = Content::from_html(html, &url, &ContentLimits::default())?;
    /// let main = content.main.expect("it was asked for");
    /// assert_eq!(main.text, "Words and links.");
    /// assert_eq!(main.markdown, "Words and [links](https://example.com/docs/a).\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_html(html: &str, url: &Url, limits: &ContentLimits) -> Result<Self, Refusal> {
        Self::read(html, url, ReadingSpeed::Main, limits)
    }

    /// Reads metadata and plain text only, several times as fast.
    pub fn skim(html: &str, url: &Url, limits: &ContentLimits) -> Result<Self, Refusal> {
        Self::read(html, url, ReadingSpeed::Skim, limits)
    }

    /// Reads a page at a speed.
    pub fn read(
        html: &str,
        url: &Url,
        speed: ReadingSpeed,
        limits: &ContentLimits,
    ) -> Result<Self, Refusal> {
        if html.len() > limits.most_bytes {
            let most = limits.most_bytes;
            return Err(Refusal::TooLong { most });
        }
        let mut deadline = Deadline::start(limits);
        let (collector, text) = skim(html, limits, &mut deadline)?;
        let main = match speed {
            ReadingSpeed::Skim => None,
            ReadingSpeed::Main | ReadingSpeed::Whole => {
                let tree = Tree::from_html(html, limits, &mut deadline)?;
                let base = collector.base(url);
                Some(MainContent::from_tree(&tree, &base, speed, html.len()))
            }
        };
        deadline.look()?;
        let metadata = collector.finish(url);
        let told = main.as_ref().map_or(text.as_str(), |main| &main.text);
        let (fingerprint, words) = Fingerprint::with_count(&text);
        Ok(Self {
            language: declared(&metadata).or_else(|| detected(told)),
            words,
            fingerprint,
            metadata,
            text,
            main,
        })
    }
}

impl MainContent {
    fn from_tree(tree: &Tree<'_>, base: &Url, speed: ReadingSpeed, length: usize) -> Self {
        let main = Selection::main(tree);
        let text = reading::text(tree, &main);
        let written = match speed {
            ReadingSpeed::Whole => markdown::write(tree, &Selection::whole(tree), base, length),
            _ => markdown::write(tree, &main, base, length),
        };
        let mut hidden = main.hidden;
        let (markdown, invisible) = seen(&written.text);
        hidden.invisible = invisible;
        let text = match seen(&text) {
            (Cow::Borrowed(_), _) => text,
            (Cow::Owned(seen), _) => without_gaps(&seen),
        };
        Self {
            words: words(&text).count(),
            text,
            markdown: markdown.into_owned(),
            truncated: written.truncated,
            hidden,
        }
    }
}

/// A text whose blank lines do not follow each other, after characters that kept them apart were
/// taken out.
fn without_gaps(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut ends = 0;
    for character in text.trim_matches('\n').chars() {
        ends = if character == '\n' { ends + 1 } else { 0 };
        if ends <= 2 {
            out.push(character);
        }
    }
    out
}

fn declared(metadata: &Metadata) -> Option<String> {
    metadata.language.as_deref().and_then(code_of)
}

fn detected(text: &str) -> Option<String> {
    let end = text.floor_char_boundary(LANGUAGE_SAMPLE);
    let found = whatlang::detect(&text[..end])?;
    let found = found.is_reliable().then(|| found.lang().code())?;
    code_of(found)
}
