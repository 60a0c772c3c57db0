//! The template of a URL: the shape of its path and the names of its parameters.
//!
//! Owns how a URL is cut into places, which of them vary from page to page, and what is said of
//! the shape to people. It refuses to know what pages brought. Invariant: nothing is allocated
//! for a hash, because every new link has one.

use std::ops::Deref;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::domain::registrable;
use crate::url::CrawlUrl;

/// Segments of a path that are told apart; deeper ones are of one shape.
const SEGMENTS: usize = 6;

/// Segments of a path from which it is deep.
const DEEP: usize = 4;

/// Segments of a path from which its first directory says little of what grows out of it.
const BELOW: usize = 3;

/// Places of a URL that may turn out not to matter, at the most.
const PLACES: usize = 8;

/// Bytes of a text in which letters and digits follow each other in no order, at the least.
const MIXED: usize = 6;

/// Letters of a file extension at the most.
const EXTENSION: usize = 5;

/// Bytes of a template in words, at the most.
const WORDS: usize = 40;

/// What kind of text stands in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Digits only.
    Number,
    /// Digits in groups, as in `2026-11-16`.
    Date,
    /// Letters and digits in no order, as in session names.
    Mixed,
    /// Anything else.
    Word,
}

impl Kind {
    /// A value with a slash in it is judged by what stands before that.
    fn from_text(text: &[u8]) -> Self {
        Segment::<false>::begin(text).kind()
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Number => "{n}",
            Self::Date => "{d}",
            Self::Mixed => "{x}",
            Self::Word => "{w}",
        }
    }

    const fn varies(self) -> bool {
        matches!(self, Self::Number | Self::Mixed)
    }
}

/// The hash of a text, as it is kept.
pub(super) fn short(text: &[u8], seed: u64) -> u32 {
    (xxh3_64_with_seed(text, seed) >> 32) as u32
}

fn mix(hash: u64, part: u64) -> u64 {
    (hash ^ part)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// The parameters of a query with their names; `;name=value` behind a segment is one as well.
fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').unwrap_or((part, "")))
}

/// The first directory of a path, if it has one.
fn first_directory<Text: Deref<Target = str>>(url: &CrawlUrl<Text>) -> Option<&str> {
    let path = url.path().get(1..)?;
    let end = memchr::memchr(b'/', path.as_bytes())?;
    let is_one = end > 0 && (end + 1 < path.len() || url.query().is_some());
    is_one.then(|| &path[..end])
}

/// What a byte is to the kind of a segment, as bits.
const DIGIT: u8 = 1;
const LETTER: u8 = 2;
const OTHER: u8 = 4;
const SLASH: u8 = 8;
const SEMICOLON: u8 = 16;

const CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'/' => SLASH,
            b';' => OTHER | SEMICOLON,
            _ => OTHER,
        };
        byte += 1;
    }
    classes
};

/// A segment of a path, read in one pass: every new link has a few. With `CUT` it ends before a
/// `;`, though the path goes on behind it.
#[derive(Clone, Copy)]
struct Segment<'a, const CUT: bool> {
    text: &'a [u8],
    /// The classes of its bytes.
    seen: u8,
}

impl<'a, const CUT: bool> Segment<'a, CUT> {
    /// Reads what a text begins with, up to the next slash.
    fn begin(text: &'a [u8]) -> Self {
        let end = if CUT { SLASH | SEMICOLON } else { SLASH };
        let (mut seen, mut length) = (0, 0);
        for byte in text {
            let class = CLASSES[usize::from(*byte)];
            if class & end != 0 {
                break;
            }
            seen |= class;
            length += 1;
        }
        let text = &text[..length];
        Self { text, seen }
    }

    fn kind(&self) -> Kind {
        match self.seen & !SEMICOLON {
            DIGIT => Kind::Number,
            seen if seen & DIGIT == 0 => Kind::Word,
            seen if seen & LETTER == 0 => Kind::Date,
            _ if self.text.len() >= MIXED && self.turns() >= 2 => Kind::Mixed,
            _ => Kind::Word,
        }
    }

    /// How often digits and others follow each other.
    fn turns(&self) -> usize {
        let pairs = self.text.iter().zip(self.text.iter().skip(1));
        pairs
            .filter(|(one, next)| one.is_ascii_digit() != next.is_ascii_digit())
            .count()
    }
}

/// The hashes of what a URL has in common with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShapeHashes {
    /// Its template: the kinds of the segments of its path, the extension and the names of its
    /// parameters.
    pub(super) template: u32,
    /// What it has in common with those that grow out of it: the shape of its path, as far as it
    /// is not deep, and the name of its file where parameters follow, whatever these are.
    pub(super) stem: u32,
}

/// The shape of a URL. It is worked out in one go and handed on, because one page gives rise to a
/// dozen questions about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UrlShape {
    /// The hash of its first directory, if it has one.
    pub(super) directory: Option<u32>,
    /// As it is where the name of the first directory counts, because it is one of few.
    pub(super) named: ShapeHashes,
    /// As it is whatever the first directory is called.
    pub(super) unnamed: ShapeHashes,
}

impl UrlShape {
    pub(super) fn new<Text: Deref<Target = str>>(url: &CrawlUrl<Text>) -> Self {
        let directory = first_directory(url).map(|name| short(name.as_bytes(), 0));
        let outline = Outline::new(url.path().as_bytes(), directory);
        let extension = u64::from(short(extension(outline.last_cut), 1));
        let asked = url.query().map(|query| {
            // The names in any order are the same names.
            let names = parameters(query).map(|(name, _)| u64::from(short(name.as_bytes(), 2)));
            let file = u64::from(short(outline.last, 6));
            (names.fold(0, u64::wrapping_add), file)
        });
        let finish = |(template, stem): (u64, u64)| {
            let template = mix(template, extension);
            let (template, stem) = match asked {
                Some((names, file)) => (mix(template, names), mix(stem, file)),
                None => (template, stem),
            };
            ShapeHashes {
                template: (template >> 32) as u32,
                stem: (stem >> 32) as u32,
            }
        };
        Self {
            directory,
            named: finish(outline.named),
            unnamed: finish(outline.unnamed),
        }
    }
}

/// The hashes of the kinds of a path's first segments, for its template and its stem, and the
/// path's last segment.
struct Outline<'a> {
    named: (u64, u64),
    unnamed: (u64, u64),
    last: &'a [u8],
    last_cut: &'a [u8],
}

impl<'a> Outline<'a> {
    /// Reads a path. With `directory`, that stands for the first segment in place of its kind.
    fn new(path: &'a [u8], directory: Option<u32>) -> Self {
        let (mut named, mut unnamed) = ((1, 2), (1, 2));
        let (mut last, mut last_cut): (&[u8], &[u8]) = (&[], &[]);
        let (mut place, mut at) = (0, 0);
        while at < path.len() {
            let cut = Segment::<true>::begin(&path[at..]);
            let kind = cut.kind() as u64 + 1;
            let (text, whole_kind) = match path.get(at + cut.text.len()) {
                Some(b';') => {
                    let whole = Segment::<false>::begin(&path[at..]);
                    (whole.text, whole.kind() as u64 + 1)
                }
                _ => (cut.text, kind),
            };
            at += text.len() + 1;
            if text.is_empty() {
                continue;
            }
            (last, last_cut) = (text, cut.text);
            let name = directory.filter(|_| place == 0).map(u64::from);
            if place < SEGMENTS {
                named.0 = mix(named.0, name.unwrap_or(kind));
                unnamed.0 = mix(unnamed.0, kind);
            }
            if place < DEEP {
                named.1 = mix(named.1, name.unwrap_or(whole_kind));
                unnamed.1 = mix(unnamed.1, whole_kind);
            }
            place += 1;
        }
        if place >= BELOW {
            named.1 = unnamed.1;
        }
        Self {
            named,
            unnamed,
            last,
            last_cut,
        }
    }
}

fn extension(segment: &[u8]) -> &[u8] {
    // Whatever is longer is none, so that nothing before it needs to be searched.
    let tail = &segment[segment.len().saturating_sub(EXTENSION + 1)..];
    let letters = tail.iter().rev().take_while(|b| b.is_ascii_alphabetic());
    let begin = tail.len() - letters.count();
    let has_dot = begin > 0 && tail[begin - 1] == b'.';
    if has_dot { &tail[begin..] } else { &[] }
}

/// A template in words, as in `/calendar/{n}/{n}?view`.
pub(super) fn in_words<Text: Deref<Target = str>>(
    url: &CrawlUrl<Text>,
    is_literal: bool,
) -> Box<str> {
    let mut words = String::new();
    let count = segments(url.path()).count();
    for (place, segment) in segments(url.path()).enumerate().take(SEGMENTS) {
        words.push('/');
        if place == 0 && is_literal {
            words.push_str(segment);
        } else {
            words.push_str(Kind::from_text(segment.as_bytes()).sign());
        }
    }
    match count {
        0 => words.push('/'),
        SEGMENTS.. => words.push_str("/…"),
        _ => {}
    }
    let last = extension(segments(url.path()).last().unwrap_or_default().as_bytes());
    if !last.is_empty() {
        words.push('.');
        words.extend(last.iter().map(|letter| char::from(*letter)));
    }
    let mut names: Vec<&str> = url
        .query()
        .into_iter()
        .flat_map(parameters)
        .map(|it| it.0)
        .collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        words.push('?');
        words.push_str(&names.join("&"));
    }
    while words.len() > WORDS {
        words.pop();
    }
    words.into()
}

/// A place of a URL whose value may not matter: a parameter, a segment or the name before the
/// registrable domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UrlPlace {
    /// What it is called on every page of the site.
    pub(super) name: u32,
    /// Its value has no meaning to people, as names of sessions have none.
    pub(super) is_opaque: bool,
    at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Label,
    Segment(usize),
    /// Behind the `;` of a segment.
    Behind(usize),
    Parameter(usize),
}

/// The places of a URL whose values may not matter.
pub(super) fn places<Text: Deref<Target = str>>(
    url: &CrawlUrl<Text>,
) -> impl Iterator<Item = UrlPlace> {
    let host = url.host();
    let has_label = registrable(host).len() < host.len();
    let label = has_label.then_some(UrlPlace {
        name: short(b"label", 3),
        is_opaque: true,
        at: At::Label,
    });
    let in_path = segments(url.path())
        .enumerate()
        .filter_map(|(place, segment)| {
            let (front, behind) = segment.split_once(';').unwrap_or((segment, ""));
            if let Some((name, value)) = behind.split_once('=') {
                return Some(UrlPlace {
                    name: short(name.as_bytes(), 4),
                    is_opaque: Kind::from_text(value.as_bytes()) == Kind::Mixed,
                    at: At::Behind(place),
                });
            }
            let kind = Kind::from_text(front.as_bytes());
            kind.varies().then_some(UrlPlace {
                name: short(kind.sign().as_bytes(), 5 + place as u64),
                is_opaque: kind == Kind::Mixed,
                at: At::Segment(place),
            })
        });
    let in_query = url.query().into_iter().flat_map(parameters).enumerate();
    let in_query = in_query.map(|(place, (name, value))| UrlPlace {
        name: short(name.as_bytes(), 4),
        is_opaque: Kind::from_text(value.as_bytes()) == Kind::Mixed,
        at: At::Parameter(place),
    });
    label
        .into_iter()
        .chain(in_path)
        .chain(in_query)
        .take(PLACES)
}

/// The hash of a URL without what stands in these places. Where the name before the domain is
/// left out, so is the rest of the host.
pub(super) fn reduced<Text: Deref<Target = str>>(
    url: &CrawlUrl<Text>,
    is_left_out: impl Fn(u32) -> bool,
) -> u64 {
    let mut left_out = [None; PLACES];
    let places = places(url).filter(|place| is_left_out(place.name));
    for (room, place) in left_out.iter_mut().zip(places) {
        *room = Some(place.at);
    }
    let is_out = |at: At| left_out.contains(&Some(at));
    let host = if is_out(At::Label) {
        registrable(url.host())
    } else {
        url.host()
    };
    let mut hash = xxh3_64_with_seed(host.as_bytes(), 7);
    for (place, segment) in segments(url.path()).enumerate() {
        let (front, behind) = segment.split_once(';').unwrap_or((segment, ""));
        let text = if is_out(At::Segment(place)) {
            ""
        } else {
            front
        };
        hash = mix(hash, xxh3_64_with_seed(text.as_bytes(), 8));
        if !behind.is_empty() && !is_out(At::Behind(place)) {
            hash = mix(hash, xxh3_64_with_seed(behind.as_bytes(), 9));
        }
    }
    // In any order: what adds a parameter often puts it elsewhere.
    let mut query: u64 = 0;
    for (place, (name, value)) in url.query().into_iter().flat_map(parameters).enumerate() {
        if !is_out(At::Parameter(place)) {
            let value = xxh3_64_with_seed(value.as_bytes(), 10);
            query = query.wrapping_add(mix(xxh3_64_with_seed(name.as_bytes(), 11), value));
        }
    }
    mix(hash, query)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://www.a.test{path}")).unwrap()
    }

    #[test]
    fn templates_in_words() {
        for (path, expected) in [
            ("/", "/"),
            ("/calendar/2026/11", "/calendar/{n}/{n}"),
            ("/calendar/2026-11-16/x.html", "/calendar/{d}/{w}.html"),
            ("/s/4fz81ab9c2/about", "/s/{x}/{w}"),
            ("/list?size=4&colour=red&size=5", "/{w}?colour&size"),
            ("/a/b/c/d/e/f/g/h", "/a/{w}/{w}/{w}/{w}/{w}/…"),
        ] {
            let url = url(path);
            let is_literal = first_directory(&url).is_some();
            assert_eq!(&*in_words(&url, is_literal), expected, "{path}");
        }
    }

    /// What an earlier version learnt is found again under the same hashes.
    #[test]
    fn shapes_are_what_they_were() {
        for (path, expected) in [
            ("/", [0x3e23_999a, 0, 0x3e23_999a, 0]),
            (
                "/calendar/2026-11-16/x.html",
                [0xbbad_ce2f, 0xa8ad_196f, 0x5903_15e4, 0xa8ad_196f],
            ),
            (
                "/s/4fz81ab9c2/about",
                [0x2cc5_0acc, 0xcb6a_50ff, 0xac9f_69f1, 0xcb6a_50ff],
            ),
            (
                "/list?size=4&colour=red&size=5",
                [0x0e79_24ce, 0x6110_395e, 0x0e79_24ce, 0x6110_395e],
            ),
            (
                "/a/b/c/d/e/f/g/h",
                [0xe9c9_4f43, 0xb693_06e7, 0x0b0e_cba7, 0xb693_06e7],
            ),
            (
                "//a//b//c",
                [0x80c8_3bfc, 0xb4c5_ef02, 0x80c8_3bfc, 0xb4c5_ef02],
            ),
            (
                "/a;x9y8z7/b.pdf;jsessionid=1",
                [0x03ba_cf31, 0x7c41_f3e7, 0x155e_b372, 0x719d_8a65],
            ),
            (
                "/dir/?q",
                [0x4956_eb18, 0x6f04_46e3, 0x6c1c_5917, 0xc56f_7864],
            ),
        ] {
            let shape = UrlShape::new(&url(path));
            let ShapeHashes { template, stem } = shape.named;
            let all = [template, stem, shape.unnamed.template, shape.unnamed.stem];
            assert_eq!(all, expected, "{path}");
        }
    }

    #[test]
    fn what_has_one_template() {
        let hash = |path: &str| UrlShape::new(&url(path)).named.template;
        for (one, other, same) in [
            ("/calendar/2026/11", "/calendar/1999/1", true),
            ("/calendar/2026/11", "/archive/2026/11", false),
            ("/p?a=1&b=2", "/q?b=5&a=6", true),
            ("/p?a=1&b=2", "/p?a=1", false),
            ("/about.html", "/about.pdf", false),
            ("/about.html", "/people.html", true),
            ("/a/b;sid=77", "/a/b", true),
            ("/a/b/c/d/e/f/g", "/a/b/c/d/e/f/g/h/i", true),
        ] {
            assert_eq!(hash(one) == hash(other), same, "{one} {other}");
        }
    }

    #[test]
    fn reduced_urls_differ_in_what_counts_only() {
        let name = |url: &CrawlUrl, at: At| places(url).find(|place| place.at == at).unwrap().name;
        let one = url("/s/4fz81ab9c2/p?page=1&sid=7");
        let other = url("/s/9ab81fz4d7/p?sid=8&page=1");
        let sid = name(&one, At::Parameter(1));
        let segment = name(&one, At::Segment(1));
        let both = |place: u32| place == sid || place == segment;
        assert_eq!(reduced(&one, both), reduced(&other, both));
        assert_ne!(
            reduced(&one, |place| place == sid),
            reduced(&other, |place| place == sid)
        );
        assert_ne!(
            reduced(&one, both),
            reduced(&url("/s/4fz81ab9c2/p?page=2"), both)
        );
        let session = url("/a;sid=5/b");
        let sid = name(&session, At::Behind(0));
        assert_eq!(
            reduced(&session, |place| place == sid),
            reduced(&url("/a;sid=6/b"), |place| place == sid)
        );
    }

    #[test]
    fn hosts_of_one_domain_are_one_where_the_name_does_not_count() {
        let one = CrawlUrl::parse("http://a1.x.example.com/p").unwrap();
        let other = CrawlUrl::parse("http://b2.example.com/p").unwrap();
        let label = places(&one).next().unwrap().name;
        assert_eq!(
            reduced(&one, |place| place == label),
            reduced(&other, |place| place == label)
        );
        assert_ne!(reduced(&one, |_| false), reduced(&other, |_| false));
        let bare = CrawlUrl::parse("http://example.com/p").unwrap();
        assert_eq!(places(&bare).count(), 0);
    }
}
