//! Names of files for URLs.
//!
//! Owns a pure function from a URL and a media type to a path, so that every page knows the name
//! of every other without a table. Invariants: two URLs never share a name, not even where case
//! does not count; a name is at most [`LONGEST`] bytes of letters, digits, `.`, `-`, `_` and `~`,
//! never leads out of its folder, is no device of Windows, and no file has the name of a folder.
//!
//! `~` never comes from a URL. It marks what was added: `name~.html` got a suffix that its URL
//! lacks, `name~hash.html` lost something on the way (case, length, a query, odd characters).

use clewline_warc::Digest;
use url::Url;

/// The longest path.
const LONGEST: usize = 180;
/// The longest part of a path, without what is added.
const LONGEST_PART: usize = 60;
/// Letters of a hash: fifty bits.
const HASH: usize = 10;
/// The longest suffix that a URL may bring along.
const LONGEST_SUFFIX: usize = 5;

/// Media types, the suffix that files get, and others that are as good.
const SUFFIXES: [(&str, &str, &[&str]); 27] = [
    ("text/html", "html", &["htm"]),
    ("application/xhtml+xml", "xhtml", &[]),
    ("text/css", "css", &[]),
    ("text/javascript", "js", &["mjs"]),
    ("application/javascript", "js", &["mjs"]),
    ("application/x-javascript", "js", &["mjs"]),
    ("application/json", "json", &[]),
    ("text/plain", "txt", &[]),
    ("text/markdown", "md", &[]),
    ("text/xml", "xml", &["rss", "atom"]),
    ("application/xml", "xml", &["rss", "atom"]),
    ("application/pdf", "pdf", &[]),
    ("image/png", "png", &[]),
    ("image/jpeg", "jpg", &["jpeg"]),
    ("image/gif", "gif", &[]),
    ("image/svg+xml", "svg", &[]),
    ("image/webp", "webp", &[]),
    ("image/avif", "avif", &[]),
    ("image/x-icon", "ico", &[]),
    ("image/vnd.microsoft.icon", "ico", &[]),
    ("font/woff2", "woff2", &[]),
    ("font/woff", "woff", &[]),
    ("font/ttf", "ttf", &[]),
    ("video/mp4", "mp4", &[]),
    ("video/webm", "webm", &[]),
    ("audio/mpeg", "mp3", &[]),
    ("application/wasm", "wasm", &[]),
];

/// Devices of Windows, whatever follows a dot.
const DEVICES: [&str; 8] = [
    "con", "prn", "aux", "nul", "conin$", "conout$", "clock$", "config$",
];

/// The media type of files with this suffix, in lower case and without its dot.
pub fn media_type_of(suffix: &str) -> Option<&'static str> {
    let fits =
        |(_, own, others): &&(&str, &str, &[&str])| *own == suffix || others.contains(&suffix);
    SUFFIXES.iter().find(fits).map(|(kind, _, _)| *kind)
}

/// The path of a URL's file, with `/` between its parts.
pub fn name_of(url: &Url, media_type: &str) -> String {
    let mut whole = url.clone();
    whole.set_fragment(None);
    let host = host_folder(url);
    let mut parts = vec![host.clone()];
    let mut segments: Vec<&str> = url.path().split('/').skip(1).collect();
    let last = segments.pop().unwrap_or_default();
    let mut so_far = origin(url);
    for segment in segments {
        so_far.push('/');
        so_far.push_str(segment);
        parts.push(folder(segment, &so_far));
    }
    let has_query = url.query().is_some();
    parts.push(file(last, has_query, media_type, whole.as_str()));
    let path = parts.join("/");
    if path.len() <= LONGEST {
        return path;
    }
    let suffix = suffix_of(media_type).map_or("bin", |(suffix, _)| suffix);
    format!("{host}/~long/{}.{suffix}", short_hash(whole.as_str()))
}

/// The way from one file to another.
pub(super) fn relative(from: &str, to: &str) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let folders = from.len().min(to.len()) - 1;
    let shared = (0..folders).take_while(|&at| from[at] == to[at]).count();
    let up = "../".repeat(from.len() - 1 - shared);
    format!("{up}{}", to[shared..].join("/"))
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// A short name for a text, of letters and digits.
pub fn short_hash(text: &str) -> String {
    let mut hash = Digest::sha1(text.as_bytes()).base32().to_ascii_lowercase();
    hash.truncate(HASH);
    hash
}

/// `example.com`, `example.com~8443`, `example.com~http`.
fn host_folder(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let (mut name, is_same) = safe_part(host);
    if !is_same || name == "index.html" {
        name = format!("{name}~{}", short_hash(host));
    }
    if let Some(port) = url.port() {
        name = format!("{name}~{port}");
    }
    if url.scheme() == "http" {
        name.push_str("~http");
    }
    name
}

fn folder(segment: &str, whole: &str) -> String {
    let (name, is_same) = safe_part(segment);
    // Files end so, and folders must not be called like them.
    if is_same && suffix_in(segment).is_none() {
        return name;
    }
    format!("{name}~{}", short_hash(whole))
}

fn file(segment: &str, has_query: bool, media_type: &str, whole: &str) -> String {
    let expected = suffix_of(media_type);
    let own = suffix_in(segment).filter(|(_, suffix)| match expected {
        Some((usual, others)) => *suffix == usual || others.contains(&suffix.as_str()),
        None => !is_page_suffix(suffix),
    });
    let is_added = own.is_none();
    let (stem, suffix) = own.unwrap_or_else(|| {
        let suffix = expected.map_or("bin", |(suffix, _)| suffix);
        (segment, suffix.to_owned())
    });
    if segment.is_empty() && !has_query {
        return format!("index.{suffix}");
    }
    let (name, is_same) = safe_part(if segment.is_empty() { "index" } else { stem });
    // A folder's own page has this name.
    let is_taken = name == "index" && !is_added;
    let has_capitals = segment.bytes().any(|byte| byte.is_ascii_uppercase());
    if has_query || is_taken || has_capitals || !is_same {
        return format!("{name}~{}.{suffix}", short_hash(whole));
    }
    if is_added {
        return format!("{name}~.{suffix}");
    }
    format!("{name}.{suffix}")
}

/// What is not a page must not be opened as one.
fn is_page_suffix(suffix: &str) -> bool {
    matches!(suffix, "html" | "htm" | "xhtml")
}

fn suffix_of(media_type: &str) -> Option<(&'static str, &'static [&'static str])> {
    let found = SUFFIXES.iter().find(|(name, ..)| *name == media_type);
    found.map(|(_, suffix, others)| (*suffix, *others))
}

/// What stands before and behind the last dot, if that is a suffix and not part of a number.
fn suffix_in(segment: &str) -> Option<(&str, String)> {
    let (stem, suffix) = segment.rsplit_once('.')?;
    let is_sound = (1..=LONGEST_SUFFIX).contains(&suffix.len())
        && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && suffix.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !stem.is_empty();
    is_sound.then(|| (stem, suffix.to_ascii_lowercase()))
}

/// A part of a path that is safe everywhere, and whether nothing was lost.
pub fn safe_part(raw: &str) -> (String, bool) {
    let safe = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => c,
        _ => '-',
    };
    let mut name: String = raw.chars().take(LONGEST_PART).map(safe).collect();
    if name.starts_with('.') || name.is_empty() {
        name.insert(0, '-');
    }
    if name.ends_with('.') {
        name.push('-');
    }
    if is_device(&name) {
        name.insert(0, '-');
    }
    let is_same = name == raw && !raw.bytes().any(|byte| byte.is_ascii_uppercase());
    (name, is_same)
}

fn is_device(name: &str) -> bool {
    let start = name
        .split('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_port = |kind: &str| {
        let number = start.strip_prefix(kind);
        number.is_some_and(|number| number.len() == 1 && number.as_bytes()[0].is_ascii_digit())
    };
    DEVICES.contains(&start.as_str()) || is_port("com") || is_port("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(url: &str, media_type: &str) -> String {
        name_of(&Url::parse(url).unwrap(), media_type)
    }

    #[test]
    fn plain_urls_keep_their_names() {
        for (url, media_type, expected) in [
            ("https://a.test/", "text/html", "a.test/index.html"),
            ("https://a.test", "text/html", "a.test/index.html"),
            (
                "http://a.test/d/p.html#x",
                "text/html",
                "a.test~http/d/p.html",
            ),
            (
                "https://a.test:81/d/",
                "text/html",
                "a.test~81/d/index.html",
            ),
            ("https://a.test/about", "text/html", "a.test/about~.html"),
            ("https://a.test/p.php", "text/html", "a.test/p.php~.html"),
            (
                "https://a.test/v1.2/x.tar.gz",
                "application/gzip",
                "a.test/v1.2/x.tar.gz",
            ),
            ("https://a.test/i.jpeg", "image/jpeg", "a.test/i.jpeg"),
            ("https://a.test/s.css", "text/css", "a.test/s.css"),
            ("https://a.test/1.2", "text/html", "a.test/1.2~.html"),
            ("https://a.test/x.html", "image/png", "a.test/x.html~.png"),
            ("https://a.test/x.html", "odd/type", "a.test/x.html~.bin"),
            (
                "https://a.test/x.html",
                "text/markdown",
                "a.test/x.html~.md",
            ),
            ("https://a.test/d/", "text/markdown", "a.test/d/index.md"),
            ("https://a.test/x.md", "text/markdown", "a.test/x.md"),
        ] {
            assert_eq!(name(url, media_type), expected, "{url}");
        }
    }

    #[test]
    fn names_are_safe_and_apart() {
        let urls = [
            "https://a.test/",
            "https://a.test/index.html",
            "https://a.test/?",
            "https://a.test/?q=1",
            "https://a.test/?Q=1",
            "https://a.test/p",
            "https://a.test/P",
            "https://a.test/p.html",
            "https://a.test/p.HTML",
            "https://a.test/p.htm",
            "https://a.test/p~.html",
            "https://a.test/p.html/x",
            "https://a.test/p/x",
            "https://a.test/p%2Fx",
            "https://a.test/p%2fx",
            "https://a.test/p//x",
            "https://a.test/con",
            "https://a.test/CON.html",
            "https://a.test/aux.a.html",
            "https://a.test/lpt1/x.html",
            "https://a.test/x.",
            "https://a.test/x./",
            "https://a.test/.htaccess",
            "https://a.test/..%5c..%5cx",
            "https://a.test/%2e%2e%2fx",
            "https://a.test/ü",
            "https://a.test/u%CC%88",
            "https://a.test/a%00b",
            "https://a.test/a:b*c",
            "http://a.test/",
            "https://a.test:8443/",
            "https://[::1]/",
            "https://con/",
            "https://index.html/",
            &format!("https://a.test/{}", "x".repeat(300)),
            &format!("https://a.test/{}y", "x".repeat(300)),
            &format!("https://a.test/{}", "d/".repeat(200)),
        ];
        let names: Vec<String> = urls.iter().map(|url| name(url, "text/html")).collect();
        let mut folded: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        folded.sort_unstable();
        folded.dedup();
        assert_eq!(folded.len(), urls.len(), "{names:#?}");
        for (url, name) in urls.iter().zip(&names) {
            assert!(name.len() <= LONGEST, "{url}: {name}");
            for part in name.split('/') {
                let is_safe = |c: char| c.is_ascii_alphanumeric() || ".-_~".contains(c);
                assert!(
                    part.chars().all(is_safe) && !part.is_empty(),
                    "{url}: {name}"
                );
                assert!(
                    !part.starts_with('.') && !part.ends_with('.'),
                    "{url}: {name}"
                );
                assert!(!is_device(part), "{url}: {name}");
            }
            let is_below = |other: &String| other.starts_with(&format!("{name}/"));
            assert!(!names.iter().any(is_below), "{name} is a file and a folder");
        }
    }

    #[test]
    fn ways_are_relative() {
        for (from, to, expected) in [
            ("a/index.html", "a/b.html", "b.html"),
            ("a/d/x.html", "a/b.html", "../b.html"),
            ("a/x.html", "a/d/e/y.html", "d/e/y.html"),
            ("a/d/x.html", "b/y.html", "../../b/y.html"),
            ("index.html", "b/y.html", "b/y.html"),
            ("a/x.html", "a/x.html", "x.html"),
        ] {
            assert_eq!(relative(from, to), expected, "{from} {to}");
        }
    }
}
