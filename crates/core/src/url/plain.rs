//! References that need no parser.
//!
//! Owns the short way for what most pages are full of: paths and queries on the same origin, and
//! whole URLs of plain hosts, in characters that the parser would leave as they are. Refuses everything else, however
//! simple it looks; the parser is always there. Invariant: where this answers, the parser would
//! answer the same.

use std::ops::Deref;

use super::{CrawlUrl, HARD_LENGTH_LIMIT, Scheme};

/// No name of a host is longer (RFC 1035, section 2.3.4).
const LONGEST_HOST: usize = 253;

/// Bytes that stand for themselves in a path whatever is around them, and in a query.
const IN_PATH: u8 = 1;
const IN_QUERY: u8 = 2;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let is_plain = (byte as u8).is_ascii_alphanumeric();
        classes[byte] = if is_plain { IN_PATH | IN_QUERY } else { 0 };
        byte += 1;
    }
    let both = b"-_~!$&()*+,;=@/";
    let mut at = 0;
    while at < both.len() {
        classes[both[at] as usize] = IN_PATH | IN_QUERY;
        at += 1;
    }
    // In a path these depend on their neighbours.
    classes[b'.' as usize] = IN_QUERY;
    classes[b'%' as usize] = IN_QUERY;
    classes[b':' as usize] = IN_QUERY;
    classes[b'\'' as usize] = IN_PATH;
    classes[b'?' as usize] = IN_QUERY;
    classes
};

impl CrawlUrl {
    /// Resolves a reference, if that takes no parser; `None` says only that it does.
    ///
    /// ```
    /// use clewline_core::url::CrawlUrl;
    /// let page = CrawlUrl::parse("http://a.test/x/y/z?q").unwrap();
    /// assert_eq!(page.join_plain("../b#c").unwrap().as_str(), "http://a.test/x/b");
    /// assert_eq!(page.join_plain("http://b.test/").unwrap().as_str(), "http://b.test/");
    /// assert_eq!(page.join_plain("//b.test/"), None);
    /// ```
    pub fn join_plain(&self, reference: &str) -> Option<Self> {
        let mut room = String::new();
        let url = self.write_plain(reference, &mut room)?;
        Some(url.with_text(room.into_boxed_str()))
    }

    /// As [`join_plain`](Self::join_plain), with the text in a room that is used again and again;
    /// it is given back where the parser is needed.
    pub fn join_plain_in<'a>(
        &self,
        reference: &str,
        room: &'a mut String,
    ) -> Result<CrawlUrl<&'a str>, &'a mut String> {
        match self.write_plain(reference, room) {
            Some(url) => Ok(url.with_text(room)),
            None => Err(room),
        }
    }

    fn write_plain(&self, reference: &str, room: &mut String) -> Option<CrawlUrl<()>> {
        let absolute = reference
            .strip_prefix(self.origin())
            .filter(|path| path.starts_with('/'));
        let (folder, rest) = match absolute {
            Some(path) => ("", path),
            None if reference.starts_with("http:") || reference.starts_with("https:") => {
                return Some(parse_plain(reference)?.moved(room).with_text(()));
            }
            None if reference.starts_with("//") => return None,
            None if reference.starts_with('/') => ("", reference),
            None if reference.is_empty() || reference.starts_with('#') => {
                return Some(self.moved(room).with_text(()));
            }
            None if reference.starts_with('?') => (self.path(), reference),
            None => self.climb(reference),
        };
        let Lengths { path, whole } = plain_lengths(rest, folder.is_empty())?;
        self.with_parts(folder, &rest[..whole], path, room)
    }

    /// The folder that is left after all leading dot segments, and what stands behind them.
    fn climb<'a>(&'a self, reference: &'a str) -> (&'a str, &'a str) {
        let mut folder = parent(self.path());
        let mut rest = reference;
        loop {
            if let Some(after) = rest.strip_prefix("./") {
                rest = after;
            } else if let Some(after) = rest.strip_prefix("../") {
                rest = after;
                folder = match folder.strip_suffix('/') {
                    Some("") | None => "/",
                    Some(shorter) => parent(shorter),
                };
            } else {
                return (folder, rest);
            }
        }
    }

    /// The same origin with a folder of this URL and a path below it, whose query begins at
    /// `query`.
    fn with_parts(
        &self,
        folder: &str,
        rest: &str,
        query: usize,
        room: &mut String,
    ) -> Option<CrawlUrl<()>> {
        // A folder is a beginning of the path, so that it stands where it is needed.
        let kept = &self.text[..usize::from(self.path_start) + folder.len()];
        debug_assert!(self.path().starts_with(folder), "a folder of this URL");
        let length = kept.len() + rest.len();
        if length > HARD_LENGTH_LIMIT {
            return None;
        }
        room.clear();
        room.reserve_exact(length);
        room.push_str(kept);
        room.push_str(rest);
        Some(CrawlUrl {
            query_start: (kept.len() + query) as u16,
            ..self.with_text(())
        })
    }
}

impl<Text: Deref<Target = str>> CrawlUrl<Text> {
    /// The same URL with its text in a room that is used again and again.
    pub fn moved<'a>(&self, room: &'a mut String) -> CrawlUrl<&'a str> {
        room.clear();
        room.push_str(self.as_str());
        self.with_text(room)
    }
}

/// Takes a whole URL as it is, if the parser would; a reference that only begins like one is
/// refused.
fn parse_plain(text: &str) -> Option<CrawlUrl<&str>> {
    let (scheme, rest) = match text.strip_prefix("https://") {
        Some(rest) => (Scheme::Https, rest),
        None => (Scheme::Http, text.strip_prefix("http://")?),
    };
    let (host, _) = rest.split_once('/')?;
    if !is_plain_host(host) {
        return None;
    }
    let path_start = text.len() - rest.len() + host.len();
    let Lengths { path, whole } = plain_lengths(&text[path_start..], true)?;
    let text = &text[..path_start + whole];
    if text.len() > HARD_LENGTH_LIMIT {
        return None;
    }
    Some(CrawlUrl {
        text,
        host_end: path_start as u16,
        path_start: path_start as u16,
        query_start: (path_start + path) as u16,
        port: scheme.default_port(),
        scheme,
    })
}

/// Whether a host is a name that stands for itself: labels of small letters, digits and dashes.
/// The last begins with a letter, or it could be the end of an address; none is punycode, which
/// must be checked.
fn is_plain_host(host: &str) -> bool {
    let is_plain = |label: &str| {
        label.starts_with(|first: char| first.is_ascii_alphanumeric())
            && !label.starts_with("xn--")
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.len() <= LONGEST_HOST
        && last.starts_with(|first: char| first.is_ascii_lowercase())
        && host.split('.').all(is_plain)
}

/// Everything up to the last slash.
fn parent(path: &str) -> &str {
    // The last part is short, so that no search is worth its preparation.
    let slash = path.bytes().rposition(|byte| byte == b'/').unwrap_or(0);
    path.get(..=slash).unwrap_or("/")
}

/// What there is of a reference before its fragment.
struct Lengths {
    path: usize,
    /// With the query.
    whole: usize,
}

/// The lengths of path and query, if both are plain.
fn plain_lengths(text: &str, is_absolute: bool) -> Option<Lengths> {
    let bytes = text.as_bytes();
    let mut allows_colon = is_absolute;
    for (at, byte) in bytes.iter().enumerate() {
        let class = CLASSES[usize::from(*byte)];
        if class & IN_PATH != 0 {
            continue;
        }
        // A colon in the first segment of a relative reference could end a scheme.
        allows_colon = allows_colon || (*byte == b':' && bytes[..at].contains(&b'/'));
        let is_plain = match byte {
            b'#' => {
                return Some(Lengths {
                    path: at,
                    whole: at,
                });
            }
            b'?' => {
                let query = plain_query_length(&bytes[at..])?;
                let whole = at + query;
                return Some(Lengths { path: at, whole });
            }
            b':' => allows_colon,
            b'.' => !may_be_dots(bytes, at),
            b'%' => !matches!(bytes.get(at + 1..at + 3), Some([b'2', b'e' | b'E'])),
            _ => false,
        };
        if !is_plain {
            return None;
        }
    }
    Some(Lengths {
        path: bytes.len(),
        whole: bytes.len(),
    })
}

/// Whether a dot begins what may be a dot segment, written out or escaped.
fn may_be_dots(bytes: &[u8], at: usize) -> bool {
    let begins_segment = at == 0 || bytes[at - 1] == b'/';
    begins_segment && !bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
}

/// The length of a query, if it is plain up to the fragment or the end.
fn plain_query_length(bytes: &[u8]) -> Option<usize> {
    let is_strange = |byte: &u8| CLASSES[usize::from(*byte)] & IN_QUERY == 0;
    match bytes.iter().position(is_strange) {
        Some(at) => (bytes[at] == b'#').then_some(at),
        None => Some(bytes.len()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::CrawlUrl;

    const BASES: [&str; 8] = [
        "http://a.test/",
        "http://a.test/x/y/z.html?q=1",
        "http://a.test//x//",
        "https://a.test:8443/x/..y/.z",
        "http://[::1]:9/a/b/",
        "http://a.test/?/x/y",
        "http://a.test/%7Eu/@me/a:b;c=d/e",
        "http://a.test/x/y/",
    ];

    #[rustfmt::skip]
    const PIECES: [&str; 40] = [
        "a", "b.html", "index", ".", "..", "./", "../", "/", "//", "?", "#", "%", "%2e", "%2E",
        "%2", "%41", ":", "http:", "https://a.test:8443/", "http://a.test/", "http://a.test",
        "\\", " ", "\t", "\n", "'", "\"", "<", "{", "|", "^", "[", "@", "&", "=", "+", "é", "\0",
        ".well-known", "~",
    ];

    #[rustfmt::skip]
    const HOSTS: [&str; 22] = [
        "a", "b", "test", "com", ".", ".", ".", "-", "--", "xn--", "xn", "0", "1", "127", "0x7f",
        "A", "_", ":", ":80", "@", "%41", "é",
    ];

    fn by_parser(base: &CrawlUrl, reference: &str) -> Option<CrawlUrl> {
        let joined = base.to_url().join(reference).ok()?;
        CrawlUrl::from_url(joined).ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn the_parser_would_say_the_same(
            base in proptest::sample::select(&BASES[..]),
            pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..8),
        ) {
            let base = CrawlUrl::parse(base).unwrap();
            let reference = pieces.concat();
            if let Some(found) = base.join_plain(&reference) {
                prop_assert_eq!(&CrawlUrl::parse(found.as_str()).unwrap(), &found);
                prop_assert_eq!(Some(found), by_parser(&base, &reference));
            }
        }

        #[test]
        fn whole_urls_are_as_the_parser_says(
            scheme in proptest::sample::select(&["http://", "https://", "http:", "https:/"][..]),
            host in proptest::collection::vec(proptest::sample::select(&HOSTS[..]), 1..6),
            pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..5),
        ) {
            let base = CrawlUrl::parse("https://h.test/d/p").unwrap();
            let reference = [scheme, &host.concat(), "/", &pieces.concat()].concat();
            if let Some(found) = base.join_plain(&reference) {
                prop_assert_eq!(&CrawlUrl::parse(found.as_str()).unwrap(), &found);
                prop_assert_eq!(Some(found), by_parser(&base, &reference));
            }
        }

        #[test]
        fn any_character_is_kept_or_refused(
            base in proptest::sample::select(&BASES[..]),
            reference in "[ -~éß]{0,12}",
        ) {
            let base = CrawlUrl::parse(base).unwrap();
            if let Some(found) = base.join_plain(&reference) {
                prop_assert_eq!(Some(found), by_parser(&base, &reference));
            }
        }
    }

    #[test]
    fn what_pages_are_full_of_is_plain() {
        let base = CrawlUrl::parse("http://a.test/x/y/z.html?q=1").unwrap();
        for (reference, expected) in [
            ("b.html", "http://a.test/x/y/b.html"),
            ("b.html#c d", "http://a.test/x/y/b.html"),
            ("./b", "http://a.test/x/y/b"),
            ("../b/c?d=e", "http://a.test/x/b/c?d=e"),
            ("../../../../b", "http://a.test/b"),
            ("../", "http://a.test/x/"),
            ("/b:c", "http://a.test/b:c"),
            ("?r", "http://a.test/x/y/z.html?r"),
            ("#r", "http://a.test/x/y/z.html?q=1"),
            ("http://a.test/b", "http://a.test/b"),
            ("http://a.test.b/", "http://a.test.b/"),
            ("https://b-c.4.test/d?e#f", "https://b-c.4.test/d?e"),
            (".well-known/b", "http://a.test/x/y/.well-known/b"),
        ] {
            let found = base.join_plain(reference).unwrap();
            assert_eq!(found.as_str(), expected);
            assert_eq!(Some(found), by_parser(&base, reference));
        }
    }

    #[test]
    fn the_rest_is_left_to_the_parser() {
        let base = CrawlUrl::parse("http://a.test/x/y/z.html?q=1").unwrap();
        for reference in [
            "//b.test/",
            "b:c",
            "a/../b",
            "a/%2e%2E/b",
            "a b",
            "\\b",
            "é",
            "?'",
            "..",
            "b\t",
            "http://a.test",
            "HTTP://a.test/",
            "https://127.0.0.1/",
            "https://b.0x7f/",
            "https://xn--b.test/",
            "https://b.test:443/",
            "https://u@b.test/",
            "https://B.test/",
            "https://b..test/",
            "https:///b.test/",
            "https://b.test/../",
        ] {
            assert_eq!(base.join_plain(reference), None, "{reference}");
        }
        let long = "x".repeat(super::HARD_LENGTH_LIMIT);
        assert_eq!(base.join_plain(&long), None);
    }
}
