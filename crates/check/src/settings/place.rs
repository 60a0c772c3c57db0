//! Where URLs are asked for, and where their files lie.
//!
//! Owns `remap` and `source`. It refuses to read files: who asks for the file of a page says which
//! exist. Invariant: a path that is made of a URL never leaves its folder.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use clewline_core::url::CrawlUrl;
use clewline_job::escape::visible;
use percent_encoding::percent_decode_str;
use regex::Regex;
use serde::Deserialize;

use super::CheckValueError;
use super::pattern::compiled;

/// URLs that are asked for elsewhere: `https://example.com=http://127.0.0.1:8080`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct UrlRemap {
    from: Regex,
    to: String,
}

impl UrlRemap {
    /// What matches a regular expression becomes another text, in which `$1` is its first group.
    pub fn from_pattern(from: &str, to: impl Into<String>) -> Result<Self, CheckValueError> {
        Ok(Self {
            from: compiled(from)?,
            to: to.into(),
        })
    }

    /// The URL to ask for instead.
    pub fn apply<'a>(&self, url: &'a str) -> Cow<'a, str> {
        self.from.replace(url, self.to.as_str())
    }
}

impl FromStr for UrlRemap {
    type Err = CheckValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || CheckValueError::Remap(visible(text).into_owned());
        // A query may hold the sign, too, so the second URL begins where its scheme does.
        let signs = text.match_indices('=').map(|(at, _)| at);
        let mut splits = signs.map(|at| (&text[..at], &text[at + 1..]));
        let is_url = |text: &str| CrawlUrl::parse(text).is_ok();
        let (from, to) = splits
            .find(|(from, to)| is_url(from) && is_url(to))
            .ok_or_else(wrong)?;
        // A prefix: `https://a.test` must not take `https://a.test.example` with it.
        let end = if from.ends_with('/') {
            ""
        } else {
            "(?<end>[/?#]|$)"
        };
        let kept = if end.is_empty() { "" } else { "${end}" };
        Self::from_pattern(
            &format!("^{}{end}", regex::escape(from)),
            to.replace('$', "$$") + kept,
        )
    }
}

impl TryFrom<String> for UrlRemap {
    type Error = CheckValueError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl PartialEq for UrlRemap {
    fn eq(&self, other: &Self) -> bool {
        (self.from.as_str(), &self.to) == (other.from.as_str(), &other.to)
    }
}

/// The folder in which the files of some pages lie: `https://example.com/docs/=docs/`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SourceFolder {
    /// What the URLs of the pages begin with.
    pub url: String,
    /// The folder.
    pub folder: PathBuf,
}

/// What a page may be written in, in the order in which they are looked for.
const ENDINGS: [&str; 5] = ["", ".html", ".md", ".markdown", ".htm"];
/// What stands for a folder.
const INDEXES: [&str; 4] = ["index.html", "index.md", "README.md", "_index.md"];

impl SourceFolder {
    /// The file of a page, if the page is of this folder and the file exists.
    pub fn locate(&self, page: &CrawlUrl, exists: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        let rest = page.as_str().strip_prefix(&self.url)?;
        if !(self.url.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?'])) {
            return None;
        }
        let path = rest.split('?').next().unwrap_or_default();
        let path = percent_decode_str(path.trim_start_matches('/')).decode_utf8_lossy();
        let path = inside(&path)?;
        let named = ENDINGS.iter().filter(|_| path != Path::new("")).map(|end| {
            let mut named = path.clone().into_os_string();
            named.push(end);
            PathBuf::from(named)
        });
        let indexes = INDEXES.iter().map(|index| path.join(index));
        let mut candidates = named.chain(indexes).map(|path| self.folder.join(path));
        candidates.find(|candidate| exists(candidate))
    }
}

/// A path of ordinary names only.
fn inside(path: &str) -> Option<PathBuf> {
    let path = Path::new(path.trim_end_matches('/'));
    let is_inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let is_text = !path.to_string_lossy().contains(['\0', '\\']);
    (is_inside && is_text).then(|| path.to_owned())
}

impl FromStr for SourceFolder {
    type Err = CheckValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || CheckValueError::Source(visible(text).into_owned());
        let (url, folder) = text.split_once('=').ok_or_else(wrong)?;
        let canonical = CrawlUrl::parse(url).map_err(|_| wrong())?;
        if folder.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            url: canonical.as_str().to_owned(),
            folder: folder.into(),
        })
    }
}

impl TryFrom<String> for SourceFolder {
    type Error = CheckValueError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
