//! Public suites of cases for URLs, public suffixes and redirects.
//!
//! The data lies outside the project. A case that is known to fail is listed by name; a list
//! may only shrink: a listed case that passes fails the test as well.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clewline_core::domain::registrable;
use clewline_core::url::{CrawlUrl, UrlError, parse_host};
use serde_json::Value;
use url::Url;

/// Known misses of the `url` crate among the results that are http or https: punycode labels
/// that are not valid ones.
const URL_MISSES: &[&str] = &[
    "http://a.b.c.xn--pokxncvks",
    "http://a.b.c.XN--pokxncvks",
    "http://a.b.c.Xn--pokxncvks",
    "http://10.0.0.xn--pokxncvks",
    "http://10.0.0.XN--pokxncvks",
    "http://10.0.0.xN--pokxncvks",
    "https://xn--/",
    "xn--a",
    "xn--a.xn--zca",
    "xn--ls8h=",
    "xn--1ug.example",
    "xn--a-yoc",
    "xn--zn7c.com",
    "xn--0.com",
];

/// Known misses of the `psl` crate: an empty first label should leave no registrable domain.
const SUFFIX_MISSES: &[&str] = &[".example.com", ".example.example"];

#[test]
fn urls() {
    suite("urls.json", 1000, URL_MISSES, |case| {
        match text(case, "kind") {
            "parse" => {
                let found = resolve(text(case, "input"), case["base"].as_str());
                let href = case["href"].as_str().filter(|_| case["failure"] == false);
                (found.ok(), href.and_then(canonical))
            }
            "resolve" => {
                let base = case["base"].as_str().filter(|base| !base.is_empty());
                let found = resolve(text(case, "input"), base);
                (found.ok(), canonical(text(case, "output")))
            }
            "toascii" => (
                parse_host(text(case, "input")),
                case["output"].as_str().map(str::to_owned),
            ),
            kind => panic!("{kind} is a new kind of case"),
        }
    });
}

#[test]
fn public_suffixes() {
    suite("public-suffix.json", 78, SUFFIX_MISSES, |case| {
        let Some(input) = case["input"].as_str() else {
            return (None, None);
        };
        let host = parse_host(input).expect("the inputs are hosts");
        let expected = case["registrable"].as_str();
        // Where there is no registrable domain the host stands for itself.
        let expected = expected.map_or_else(|| Some(host.clone()), parse_host);
        (Some(registrable(&host).to_owned()), expected)
    });
}

#[test]
fn redirects() {
    suite("redirect-schemes.json", 18, &[], |case| {
        let found = resolve(text(case, "location"), case["url"].as_str());
        (found.ok(), case["follow_to"].as_str().map(str::to_owned))
    });
}

/// As a page's references are resolved; a base that no page could have goes through `url`.
fn resolve(input: &str, base: Option<&str>) -> Result<String, UrlError> {
    let found = match base.map(|base| (base, CrawlUrl::parse(base))) {
        None => CrawlUrl::parse(input),
        Some((_, Ok(page))) => page.join(input),
        Some((base, Err(_))) => Url::parse(base)
            .and_then(|base| base.join(input))
            .map_err(|_| UrlError::Invalid)
            .and_then(CrawlUrl::from_url),
    };
    found.map(|url| url.as_str().to_owned())
}

/// What is left of a serialised URL without fragment and credentials; nothing if it is neither
/// http nor https, which must be refused.
fn canonical(href: &str) -> Option<String> {
    let (scheme, rest) = href.split_once("://")?;
    if !matches!(scheme, "http" | "https") {
        return None;
    }
    let rest = rest.split('#').next()?;
    let path = rest.find('/')?;
    let authority = &rest[..path];
    let host = authority.rsplit('@').next()?;
    Some([scheme, "://", host, &rest[path..]].concat())
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().expect("the field is a text")
}

/// Found and expected, as texts; none is a refusal.
type Compared = (Option<String>, Option<String>);

fn suite(file: &str, count: usize, known: &[&str], compare: impl Fn(&Value) -> Compared) {
    let Some(data) = read(file) else { return };
    let cases = data["cases"].as_array().expect("a list of cases");
    assert_eq!(cases.len(), count, "cases in {file}");
    let mut misses = BTreeSet::new();
    for case in cases {
        let (found, expected) = compare(case);
        if found != expected {
            let name = name(case);
            if !known.contains(&name.as_str()) {
                eprintln!("{name}: found {found:?}, expected {expected:?}");
            }
            misses.insert(name);
        }
    }
    let known: BTreeSet<_> = known.iter().map(|name| (*name).to_owned()).collect();
    let new: Vec<_> = misses.difference(&known).collect();
    assert!(new.is_empty(), "new misses in {file}: {new:#?}");
    let healed: Vec<_> = known.difference(&misses).collect();
    assert!(healed.is_empty(), "take these off the list: {healed:#?}");
}

/// The input, and the base where there is one.
fn name(case: &Value) -> String {
    let field = |name: &str| case[name].as_str().filter(|text| !text.is_empty());
    let input = field("input").or_else(|| field("location")).unwrap_or("");
    match field("base").or_else(|| field("url")) {
        Some(base) => format!("{} on {}", input.escape_debug(), base.escape_debug()),
        None => input.escape_debug().to_string(),
    }
}

fn read(file: &str) -> Option<Value> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance");
    let folder = std::env::var_os("CLEWLINE_CONFORMANCE");
    let path = folder.map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = path.join(file);
    match std::fs::read(&path) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).expect("the suite is JSON")),
        Err(error) => {
            eprintln!("CONFORMANCE DATA ABSENT: {}: {error}", path.display());
            None
        }
    }
}
