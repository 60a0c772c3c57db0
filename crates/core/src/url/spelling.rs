//! What the spellings of one address have in common.
//!
//! Owns what most sites do not mean anything by: the scheme, `www.`, the name of a folder's own
//! page and the slash at the end. That two URLs are spellings of one address is a guess; whoever
//! folds pages needs more than that.

use super::CrawlUrl;

/// Names of files that a folder's own page may have.
const INDEX_NAMES: [&str; 2] = ["index", "default"];
/// Their suffixes.
const INDEX_SUFFIXES: [&str; 7] = ["html", "htm", "xhtml", "php", "asp", "aspx", "jsp"];

impl CrawlUrl {
    /// Host and port, without `www.`.
    pub fn site(&self) -> &str {
        let authority = self.authority();
        authority.strip_prefix("www.").unwrap_or(authority)
    }

    /// The URL without scheme, `www.`, the name of an index file and the last slash.
    pub fn without_spelling(&self) -> String {
        let path = self.path();
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let path = if file.is_empty() || is_index(file) {
            folder
        } else {
            path
        };
        let query = self.query().map(|query| format!("?{query}"));
        format!("{}{path}{}", self.site(), query.unwrap_or_default())
    }
}

fn is_index(file: &str) -> bool {
    let lower = file.to_ascii_lowercase();
    lower.split_once('.').is_some_and(|(name, suffix)| {
        INDEX_NAMES.contains(&name) && INDEX_SUFFIXES.contains(&suffix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_spelt_in_many_ways() {
        for (url, expected) in [
            ("https://example.com/a", "example.com/a"),
            ("http://www.example.com/a/", "example.com/a"),
            ("https://example.com/a/index.html", "example.com/a"),
            ("https://example.com/a/Default.aspx", "example.com/a"),
            ("https://example.com/a/index.php?b", "example.com/a?b"),
            ("https://example.com/", "example.com"),
            (
                "https://example.com/index.html.en",
                "example.com/index.html.en",
            ),
            ("https://example.com/index", "example.com/index"),
            ("https://example.com/A", "example.com/A"),
            ("https://example.com:8443/a", "example.com:8443/a"),
            ("https://docs.example.com/a.html", "docs.example.com/a.html"),
        ] {
            let url = CrawlUrl::parse(url).unwrap();
            assert_eq!(url.without_spelling(), expected, "{url}");
        }
    }
}
