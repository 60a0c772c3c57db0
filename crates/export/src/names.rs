//! Names of documents.
//!
//! Owns the way from URLs to paths that people would choose: `https://example.com/a/b.html` is
//! `example.com/a/b.md`. What is safe in a name is the archive's knowledge. Invariants: two
//! documents never share a name, not even where case does not count: the first gets the plain
//! one, later ones a hash behind `~`, which no URL brings along; no file has the name of a folder;
//! 8 bytes are held for each name.

use std::collections::HashSet;

use clewline_archive::mirror::{safe_part, short_hash};
use clewline_content::Url;
use xxhash_rust::xxh3::xxh3_64;

/// The longest path.
const LONGEST: usize = 180;

/// Suffixes of pages, which say nothing in the name of a document.
const PAGE_SUFFIXES: [&str; 11] = [
    "asp", "aspx", "cgi", "htm", "html", "jsp", "md", "php", "shtml", "txt", "xhtml",
];

/// The names that are taken.
#[derive(Debug)]
pub(crate) struct Names {
    suffix: &'static str,
    taken: HashSet<u64>,
}

impl Names {
    pub(crate) fn new(suffix: &'static str) -> Self {
        Self {
            suffix,
            taken: HashSet::new(),
        }
    }

    /// The path of a URL's document, with `/` between its parts.
    pub(crate) fn name(&mut self, url: &Url) -> String {
        let stem = self.stem(url);
        let suffix = self.suffix;
        let plain = format!("{stem}.{suffix}");
        if self.taken.insert(xxh3_64(plain.to_lowercase().as_bytes())) {
            return plain;
        }
        format!("{stem}~{}.{suffix}", short_hash(url.as_str()))
    }

    fn stem(&self, url: &Url) -> String {
        let host = host_name(url);
        let mut parts = vec![host.clone()];
        let mut segments: Vec<&str> = url.path().split('/').skip(1).collect();
        let last = segments.pop().unwrap_or_default();
        parts.extend(segments.into_iter().map(|segment| self.folder(segment)));
        parts.push(page_name(last, url.query()));
        let stem = parts.join("/");
        if stem.len() + self.suffix.len() < LONGEST {
            return stem;
        }
        format!("{host}/long~{}", short_hash(url.as_str()))
    }

    /// A folder must not be called like a file.
    fn folder(&self, segment: &str) -> String {
        let (name, _) = safe_part(segment);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        let is_like_file = ending.is_some_and(|it| it.eq_ignore_ascii_case(self.suffix));
        if is_like_file { name + "~" } else { name }
    }
}

/// `example.com`, `127.0.0.1_8080`.
pub(crate) fn host_name(url: &Url) -> String {
    let (name, _) = safe_part(url.host_str().unwrap_or_default());
    match url.port() {
        Some(port) => format!("{name}_{port}"),
        None => name,
    }
}

/// The last part of a path without its suffix, and with the query, which tells pages apart.
fn page_name(segment: &str, query: Option<&str>) -> String {
    let stem = match segment.rsplit_once('.') {
        Some((stem, suffix)) if !stem.is_empty() && is_page_suffix(suffix) => stem,
        _ => segment,
    };
    let stem = if stem.is_empty() { "index" } else { stem };
    let query = query.filter(|query| !query.is_empty());
    let (name, _) = match query {
        Some(query) => safe_part(&format!("{stem}-{query}")),
        None => safe_part(stem),
    };
    name
}

fn is_page_suffix(suffix: &str) -> bool {
    PAGE_SUFFIXES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(names: &mut Names, url: &str) -> String {
        names.name(&Url::parse(url).unwrap())
    }

    #[test]
    fn names_are_those_that_people_would_choose() {
        for (url, expected) in [
            ("https://a.test/", "a.test/index.md"),
            (
                "http://a.test/lib/itertools.html",
                "a.test/lib/itertools.md",
            ),
            ("http://127.0.0.1:18301/x.html", "127.0.0.1_18301/x.md"),
            ("https://a.test/about", "a.test/about.md"),
            ("https://a.test/About.PHP", "a.test/About.md"),
            ("https://a.test/v1.2", "a.test/v1.2.md"),
            ("https://a.test/notes.txt", "a.test/notes.md"),
            ("https://a.test/d/?", "a.test/d/index.md"),
            ("https://a.test/s.html?q=a&p=2", "a.test/s-q-a-p-2.md"),
            ("https://a.test/x.md/y", "a.test/x.md~/y.md"),
            ("https://a.test/..%5cx", "a.test/-..-5cx.md"),
            ("https://a.test/con", "a.test/-con.md"),
        ] {
            assert_eq!(name(&mut Names::new("md"), url), expected, "{url}");
        }
    }

    #[test]
    fn a_hash_comes_only_where_a_name_is_taken() {
        let mut names = Names::new("md");
        let urls = [
            "https://a.test/p",
            "https://a.test/p.html",
            "https://a.test/P",
            "http://a.test/p",
            "https://a.test/p?",
            "https://a.test/p.md",
            "https://a.test/p.md/x",
            "https://a.test/p.MD/x",
            "https://a.test/d/",
            "https://a.test/d/index.html",
            "https://a.test/d",
            "https://a.test/a%20b",
            "https://a.test/a-20b",
            &format!("https://a.test/{}", "x".repeat(300)),
            &format!("https://a.test/{}y", "x".repeat(300)),
            &format!("https://a.test/{}", "d/".repeat(200)),
            &format!("https://a.test/{}e", "d/".repeat(200)),
        ];
        let made: Vec<String> = urls.iter().map(|url| name(&mut names, url)).collect();
        let mut folded: Vec<String> = made.iter().map(|name| name.to_lowercase()).collect();
        folded.sort_unstable();
        folded.dedup();
        assert_eq!(folded.len(), urls.len(), "{made:#?}");
        assert_eq!(made[0], "a.test/p.md");
        assert!(made[1].starts_with("a.test/p~"));
        assert_eq!(
            (made[8].as_str(), made[10].as_str()),
            ("a.test/d/index.md", "a.test/d.md")
        );
        for name in &made {
            assert!(name.len() <= LONGEST, "{name}");
            let is_below = |other: &String| other.starts_with(&format!("{name}/"));
            assert!(!made.iter().any(is_below), "{name} is a file and a folder");
        }
    }
}
