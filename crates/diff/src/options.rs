//! What a comparison is asked for, and why there may be none.
//!
//! Owns the options that callers set and the errors. It refuses to know flags.

use std::io;
use std::num::NonZero;

use clewline_content::SelectError;
use clewline_core::url::CrawlUrl;
use clewline_job::pages::PagesError;
use regex::Regex;
use thiserror::Error;

/// What is compared, and what is left out.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Addresses that stand for others, on both sides.
    pub maps: Vec<UrlMap>,
    /// CSS selectors of elements that are left out.
    pub ignored_elements: Vec<String>,
    /// Text that is left out, wherever it matches.
    pub ignored_text: Vec<Regex>,
    /// Threads that read pages; as many as there are cores if nothing is said.
    pub threads: Option<NonZero<usize>>,
}

impl DiffOptions {
    /// Refuses selectors that are none, before anything is read.
    pub fn validate(&self) -> Result<(), DiffError> {
        let limits = clewline_content::ContentLimits::default();
        for selector in &self.ignored_elements {
            clewline_content::without("", selector, &limits)?;
        }
        Ok(())
    }

    /// The address by which a URL is known on both sides.
    pub(crate) fn mapped(&self, url: &str) -> String {
        let found = self.maps.iter().find_map(|map| map.apply(url));
        found.unwrap_or_else(|| url.to_owned())
    }
}

/// One address that stands for another: `https://staging.example=https://example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlMap {
    from: String,
    to: String,
}

/// Why a text is no map.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlMapError {
    /// There are no two addresses.
    #[error("is not FROM=TO, such as https://staging.example=https://example.com")]
    Form,
    /// One of them is no URL.
    #[error("{0:?} is not an http or https URL")]
    Url(String),
}

impl UrlMap {
    /// Reads `FROM=TO`.
    ///
    /// ```
    /// use clewline_diff::UrlMap;
    /// let map = UrlMap::parse("https://staging.example=https://example.com")?;
    /// assert_eq!(map.apply("https://staging.example/a").as_deref(), Some("https://example.com/a"));
    /// assert_eq!(map.apply("https://staging.example.org/a"), None);
    /// # Ok::<(), clewline_diff::UrlMapError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, UrlMapError> {
        // An equals sign may stand in either URL; the one between them has a scheme behind it.
        let between = text.find("=http").ok_or(UrlMapError::Form)?;
        let part = |text: &str| {
            let url = CrawlUrl::parse(text).map_err(|_| UrlMapError::Url(text.to_owned()))?;
            Ok(url.as_str().trim_end_matches('/').to_owned())
        };
        Ok(Self {
            from: part(&text[..between])?,
            to: part(&text[between + 1..])?,
        })
    }

    /// The other address of a URL, if this one begins it.
    pub fn apply(&self, url: &str) -> Option<String> {
        let rest = url.strip_prefix(&self.from)?;
        let is_whole = rest.is_empty() || rest.starts_with(['/', '?', '#']);
        is_whole.then(|| format!("{}{rest}", self.to))
    }
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffStage {
    /// The records of both sides are read.
    Records,
    /// Pages that are on one side only are read.
    Moves,
    /// Pages are compared.
    Pages,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffProgress {
    /// What is being done.
    pub stage: DiffStage,
    /// Pages that are done.
    pub done: u64,
    /// How many there are, if that is known.
    pub of: Option<u64>,
}

/// Why there is no comparison.
#[derive(Debug, Error)]
pub enum DiffError {
    /// A crawl cannot be read.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// A selector is none.
    #[error(transparent)]
    Selector(#[from] SelectError),
    /// What is kept on disk meanwhile cannot be written or read.
    #[error("the temporary files of the comparison: {0}")]
    Spool(#[source] io::Error),
    /// The result cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read_and_applied_at_boundaries() {
        let check = |map: &str, url: &str, expected: Option<&str>| {
            let map = UrlMap::parse(map).unwrap();
            assert_eq!(map.apply(url).as_deref(), expected, "{url}");
        };
        let host = "http://s.test:8080=https://a.test/";
        check(host, "http://s.test:8080/", Some("https://a.test/"));
        check(
            host,
            "http://s.test:8080/x?a=b",
            Some("https://a.test/x?a=b"),
        );
        check(host, "http://s.test:80801/", None);
        check(
            "http://a.test/v1=http://a.test/v2",
            "http://a.test/v1/x",
            Some("http://a.test/v2/x"),
        );
        check(
            "http://a.test/v1=http://a.test/v2",
            "http://a.test/v10",
            None,
        );
        check(
            "http://a.test/?a=1=http://a.test/b",
            "http://a.test/?a=1",
            Some("http://a.test/b"),
        );
        for (text, error) in [
            ("http://a.test", UrlMapError::Form),
            ("a.test=http://b.test", UrlMapError::Url("a.test".into())),
            ("http://a.test=http://", UrlMapError::Url("http://".into())),
        ] {
            assert_eq!(UrlMap::parse(text), Err(error), "{text}");
        }
    }
}
