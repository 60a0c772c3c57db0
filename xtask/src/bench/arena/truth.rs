//! What a crawl of a folder of pages must find, read from the files themselves.
//!
//! Owns a second opinion: it shares no line with the crawler. It knows only what generated
//! documentation needs (anchors, relative references, names in ASCII) and refuses to know
//! anything else of HTML.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A site, whole.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Every path that can be reached from `/`, with the status that a plain server gives.
    pub(crate) known: BTreeMap<String, u16>,
    /// The paths by number, in the order in which they are met: which others each of them names.
    pub(crate) links: Vec<Vec<u32>>,
}

/// Reads all pages of a site, from the root on.
pub(crate) fn walk(folder: &Path) -> Result<Survey> {
    let mut survey = Survey::default();
    let mut numbers = HashMap::from([("/".to_owned(), 0)]);
    let mut queue = VecDeque::from(["/".to_owned()]);
    while let Some(path) = queue.pop_front() {
        let mut named = Vec::new();
        let file = file_of(folder, &path);
        let page = file
            .as_ref()
            .filter(|file| file.extension().is_some_and(|ending| ending == "html"));
        if let Some(file) = page {
            let page = fs::read(file).with_context(|| file.display().to_string())?;
            for reference in references(&String::from_utf8_lossy(&page)) {
                let Some(target) = resolve(&path, &reference) else {
                    continue;
                };
                let next = numbers.len() as u32;
                let number = *numbers.entry(target).or_insert_with_key(|target| {
                    queue.push_back(target.clone());
                    next
                });
                named.push(number);
            }
        }
        named.sort_unstable();
        named.dedup();
        survey.links.push(named);
        let status = if file.is_some() { 200 } else { 404 };
        survey.known.insert(path, status);
    }
    Ok(survey)
}

fn file_of(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = path.split('?').next().unwrap_or_default();
    let index = if path.ends_with('/') {
        "index.html"
    } else {
        ""
    };
    let file = folder.join(format!("{}{index}", path.trim_start_matches('/')));
    file.is_file().then_some(file)
}

/// The `href` of every `<a>` outside of comments and scripts.
fn references(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        let (name, attributes) = rest.split_at(name_end.unwrap_or(rest.len()));
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = after(comment, "-->");
        } else if name.eq_ignore_ascii_case("script") {
            rest = after(rest, "</script");
        } else if name.eq_ignore_ascii_case("a") {
            found.extend(href(attributes).map(decoded));
        }
    }
    found
}

fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.find(end).map_or("", |at| &text[at + end.len()..])
}

/// The value of the attribute `href` of the tag whose attributes begin here.
fn href(attributes: &str) -> Option<&str> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start();
        let name_end = rest.find(|c: char| c.is_whitespace() || "=>".contains(c))?;
        let (name, value) = rest.split_at(name_end);
        let (value, left) = match value.trim_start().strip_prefix('=') {
            Some(value) => quoted(value.trim_start())?,
            None if value.starts_with('>') => return None,
            None => ("", value),
        };
        if name.eq_ignore_ascii_case("href") {
            return Some(value);
        }
        rest = left;
    }
}

/// A value in quotes of either kind, or without, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|first| "'\"".contains(*first));
    let Some(quote) = quote else {
        let end = text.find(|c: char| c.is_whitespace() || c == '>')?;
        return Some(text.split_at(end));
    };
    text[1..].split_once(quote)
}

fn decoded(value: &str) -> String {
    value
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// The path on the same host that a reference on the page at `base` names.
fn resolve(base: &str, reference: &str) -> Option<String> {
    let reference = reference.split('#').next().unwrap_or_default().trim();
    let colon = reference.find(':').unwrap_or(usize::MAX);
    let slash = reference.find(['/', '?']).unwrap_or(usize::MAX);
    if reference.is_empty() || colon < slash || reference.starts_with("//") {
        return None;
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (reference, String::new()),
    };
    let folder = match path.strip_prefix('/') {
        Some(_) => "",
        None => &base[..base.rfind('/').unwrap_or(0)],
    };
    Some(without_dots(&format!("{folder}/{path}")) + &query)
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.trim_start_matches('/').split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_on_their_own_host() {
        let check = |reference: &str, expected: Option<&str>| {
            let resolved = resolve("/a/b/c.html", reference);
            assert_eq!(resolved.as_deref(), expected, "{reference}");
        };
        check("d.html#x", Some("/a/b/d.html"));
        check("../d.html?q=/..", Some("/a/d.html?q=/.."));
        check("../../../d", Some("/d"));
        check("./../legal/", Some("/a/legal/"));
        check("..", Some("/a/"));
        check("/d", Some("/d"));
        check("#x", None);
        check("https://e.test/", None);
        check("mailto:a@e.test", None);
        check("//e.test/", None);
    }

    #[test]
    fn paths_are_numbered_as_they_are_met() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "index.html",
            r#"<a href="b.html"><a href="p.svg"><a href="b.html#x">"#,
        );
        write(
            "b.html",
            r#"<a href="a.html"><a href="/"><a href="gone.html">"#,
        );
        write("a.html", r#"<a href="b.html">"#);
        write("p.svg", r#"<a href="never.html">"#);
        let survey = walk(folder.path()).unwrap();
        let known = [
            ("/", 200),
            ("/a.html", 200),
            ("/b.html", 200),
            ("/gone.html", 404),
            ("/p.svg", 200),
        ];
        assert_eq!(
            survey.known,
            known.map(|(path, status)| (path.to_owned(), status)).into()
        );
        assert_eq!(
            survey.links,
            [vec![1, 2], vec![0, 3, 4], vec![], vec![1], vec![]]
        );
    }

    #[test]
    fn only_anchors_count() {
        let page = r#"<!-- <a href="no"> --><script>"<a href='no'>"</script>
            <a title="a > b" href="x&amp;y">x</a><area href="no"><a name="z"><a href="2">
            <A
              HREF='3' ><a id=q href=4><abbr href="no"><a href"#;
        assert_eq!(references(page), ["x&y", "2", "3", "4"]);
    }
}
