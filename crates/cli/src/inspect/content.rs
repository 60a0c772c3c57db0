//! What a page says, shown at once: Markdown, text, or the items of rules.
//!
//! Owns the way from flags to a view and from a page or a file to standard output. How pages
//! are read is `clewline-content`'s.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use clewline::extract::PageExtractor;
use clewline_content::{Content, ContentLimits, ItemRules, ReadingSpeed, Refusal, Url};
use clewline_job::escape::visible;
use clewline_job::inspection::Inspection;

use super::write_text;
use crate::exit::ExitStatus;
use crate::flags::ContentArguments;
use crate::message::{Colour, Speaker};

/// A file of rules that is larger was not written by hand.
const LARGEST_RULES: u64 = 16 << 20;

/// How much of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentPart {
    Main,
    Whole,
}

/// What is shown of a page's content.
#[derive(Debug)]
pub(crate) enum View {
    Markdown(ContentPart),
    Text(ContentPart),
    Items(ItemRules),
}

impl View {
    /// The view that the flags ask for.
    pub(crate) fn from_arguments(arguments: &ContentArguments) -> anyhow::Result<Option<Self>> {
        let part = if arguments.whole {
            ContentPart::Whole
        } else {
            ContentPart::Main
        };
        Ok(match &arguments.rules {
            Some(path) => Some(Self::Items(rules(path)?)),
            None if arguments.text => Some(Self::Text(part)),
            // The whole of what, if not of the Markdown.
            None if arguments.markdown || arguments.whole => Some(Self::Markdown(part)),
            None => None,
        })
    }

    fn show(&self, html: &str, url: &Url) -> Result<String, Refusal> {
        let limits = ContentLimits::default();
        let read = |speed| Content::read(html, url, speed, &limits);
        match self {
            Self::Markdown(part) => {
                let content = read(match part {
                    ContentPart::Main => ReadingSpeed::Main,
                    ContentPart::Whole => ReadingSpeed::Whole,
                })?;
                Ok(content.main.map(|main| main.markdown).unwrap_or_default())
            }
            Self::Text(ContentPart::Main) => {
                let main = read(ReadingSpeed::Main)?.main;
                Ok(main.map(|main| main.text + "\n").unwrap_or_default())
            }
            Self::Text(ContentPart::Whole) => Ok(read(ReadingSpeed::Skim)?.text + "\n"),
            Self::Items(rules) => Ok(json(&rules.items(html, url, &limits)?)),
        }
    }
}

/// Shows a file; 3 if it cannot be read as a page.
pub(crate) fn inspect_file(path: &Path, view: Option<&View>) -> anyhow::Result<ExitStatus> {
    let shown = || visible(&path.display().to_string()).into_owned();
    let bytes = bytes_of(path).with_context(|| format!("cannot read {}", shown()))?;
    let place = path.canonicalize()?;
    let url = Url::from_file_path(&place);
    let url = url.map_err(|()| anyhow::anyhow!("{} is no place for a URL", shown()))?;
    let html = PageExtractor::decoded_html(&bytes);
    let text = match view {
        Some(view) => view.show(&html, &url),
        None => Content::skim(&html, &url, &ContentLimits::default())
            .map(|content| json(&content.metadata)),
    };
    let is_told = told(text)?;
    Ok(if is_told {
        ExitStatus::Done
    } else {
        ExitStatus::Stuck
    })
}

/// Shows the page that was fetched, if there is one; answers whether its content was told.
pub(super) fn of_answer(inspection: &Inspection, view: &View) -> anyhow::Result<bool> {
    let Some(page) = &inspection.page else {
        return Ok(false);
    };
    let url = Url::parse(page.url.as_str())?;
    told(view.show(&inspection.text(), &url))
}

fn told(text: Result<String, Refusal>) -> anyhow::Result<bool> {
    match text {
        Ok(text) => write_text(&text).map(|()| true).map_err(Into::into),
        Err(refusal) => {
            let error = anyhow::Error::new(refusal).context("the page cannot be read");
            Speaker::new(Colour::Auto).error(&error, &[]);
            Ok(false)
        }
    }
}

fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("values with text keys serialise") + "\n"
}

/// The bytes of a page, one more than may be read at most: enough to be refused.
fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let most = ContentLimits::default().most_bytes as u64 + 1;
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn rules(path: &Path) -> anyhow::Result<ItemRules> {
    let shown = || visible(&path.display().to_string()).into_owned();
    let mut text = String::new();
    let file = File::open(path).with_context(|| format!("cannot read {}", shown()))?;
    file.take(LARGEST_RULES)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {}", shown()))?;
    ItemRules::parse(&text).with_context(|| format!("the rules in {} cannot be used", shown()))
}
