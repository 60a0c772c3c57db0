//! Bodies for fuzzing: each takes any bytes and asserts what must hold for all of them.
//!
//! Owns the invariants worth fuzzing; refuses to know who produces the bytes. A failed assertion
//! is a bug in the module under test.

use crate::cookies::{
    CookieChange, CookieContext, CookieJar, MAX_COOKIES, MAX_COOKIES_PER_SITE, MAX_HEADER_BYTES,
};
use crate::domain::{registrable, without_www};
use crate::key::Keyer;
use crate::robots::{MAX_SITEMAP_BYTES, MAX_SITEMAPS, Robots};
use crate::url::{CrawlUrl, HARD_LENGTH_LIMIT, Scheme};

/// What a lossy reading may make of one byte.
const LOSSY_GROWTH: usize = 3;

/// Takes the first line of `data` as a URL and the rest as a reference found on that page.
pub fn fuzz_url(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (first, reference) = text.split_once('\n').unwrap_or((&text, ""));
    let page = CrawlUrl::parse(first).or_else(|_| CrawlUrl::parse("http://a.test/b/c?d"));
    let page = page.expect("the URL is a constant that parses");
    check_url(&page);
    if let Ok(target) = page.join(reference) {
        check_url(&target);
        let again = page.join(target.as_str());
        assert_eq!(again.as_ref(), Ok(&target), "an absolute URL stays itself");
    }
}

fn check_url(url: &CrawlUrl) {
    let text = url.as_str();
    assert!(text.len() <= HARD_LENGTH_LIMIT, "{url} is too long");
    assert!(
        text.bytes().all(|byte| byte.is_ascii_graphic()),
        "{url} would break a request line"
    );
    let again = CrawlUrl::parse(text);
    assert_eq!(again.as_ref(), Ok(url), "canonical is a fixed point");
    check_parts(url);
    let robots = url.with_path("/robots.txt");
    let again = CrawlUrl::parse(robots.as_str());
    assert_eq!(again.as_ref(), Ok(&robots), "a sibling is canonical");
    assert_eq!(url.over_http().scheme(), Scheme::Http);
    check_key(url);
}

/// The slices of a URL are what the `url` crate says, and together the whole text.
fn check_parts(url: &CrawlUrl) {
    let text = url.as_str();
    let parsed = url.to_url();
    assert_eq!(parsed.as_str(), text);
    assert_eq!(parsed.host_str(), Some(url.host()));
    assert_eq!(parsed.port_or_known_default(), Some(url.port()));
    assert_eq!((parsed.path(), parsed.query()), (url.path(), url.query()));
    assert_eq!(parsed.fragment(), None);
    assert!(parsed.username().is_empty() && parsed.password().is_none());
    assert_eq!([url.origin(), url.path_and_query()].concat(), text);
    let port = url.authority().strip_prefix(url.host());
    let port = port.expect("the authority begins with the host");
    assert!(port.is_empty() || port == format!(":{}", url.port()));
    assert!(url.path().starts_with('/'));
    let site = registrable(url.host());
    assert!(!site.is_empty() && url.host().contains(site));
    assert!(url.host().ends_with(without_www(url.host())));
}

/// The normalised form is a URL too, normalised itself and with the same key.
fn check_key(url: &CrawlUrl) {
    for keyer in [
        Keyer::default(),
        Keyer::new(7, &["sid".into(), "utm_*".into()]),
    ] {
        let normalised = keyer.normalised(url);
        let other = CrawlUrl::parse(&normalised);
        let other = other.expect("the normalised form is a URL");
        assert_eq!(other.as_str(), normalised, "the normalised form changes");
        assert_eq!(keyer.normalised(&other), normalised, "not idempotent");
        assert_eq!(keyer.key(&other), keyer.key(url));
    }
}

/// Reads `data` as a robots.txt and judges paths taken from it.
pub fn fuzz_robots(data: &[u8]) {
    let robots = Robots::parse(data, &["clewline", "foobot"]);
    assert_eq!(
        robots,
        Robots::parse(data, &["clewline", "foobot"]),
        "parsing is deterministic"
    );
    assert!(robots.sitemaps().len() <= MAX_SITEMAPS, "too many sitemaps");
    let longest = robots.sitemaps().iter().map(String::len).max();
    assert!(
        longest.unwrap_or(0) <= MAX_SITEMAP_BYTES * LOSSY_GROWTH,
        "a sitemap is too long"
    );
    let delay = robots.crawl_delay().map_or(0, |delay| delay.as_secs());
    assert!(u32::try_from(delay).is_ok(), "the delay is not clamped");
    assert!(
        robots.verdict("/robots.txt").allowed,
        "robots.txt is always allowed"
    );
    let text = String::from_utf8_lossy(data);
    let paths = text
        .split_whitespace()
        .filter(|word| word.contains(['/', '*']));
    for path in paths.take(8).chain(["", "/", "/a/b?c=d"]) {
        check_verdict(&robots, path);
    }
}

fn check_verdict(robots: &Robots, path: &str) {
    let verdict = robots.verdict(path);
    assert_eq!(verdict, robots.verdict(path), "a verdict is deterministic");
    match verdict.rule {
        Some(rule) => assert!(rule.line > 0 && !rule.text.is_empty(), "a rule has a line"),
        None => assert!(verdict.allowed, "only a rule of the file refuses"),
    }
}

/// Takes each line of `data` as a `Set-Cookie`, then the whole as a cookie file.
pub fn fuzz_cookies(data: &[u8]) {
    const NOW: u64 = 1_700_000_000;
    let hosts = [
        "www.example.co.uk",
        "example.co.uk",
        "user.github.io",
        "127.0.0.1",
        "[::1]",
    ];
    let mut jar = CookieJar::default();
    for (index, line) in data.split(|&byte| byte == b'\n').enumerate() {
        let secure = index % 2 == 0;
        let context = CookieContext {
            secure,
            host: hosts[index % hosts.len()],
            path: "/a/b",
        };
        let before = jar.header(context, NOW);
        let change = jar.store(context, line, NOW);
        let refused = matches!(change, CookieChange::Refused(_));
        assert!(
            !refused || before == jar.header(context, NOW),
            "a refused cookie shows"
        );
        check_jar(&jar, context, NOW);
    }
    let stranger = CookieContext {
        secure: true,
        host: "other.co.uk",
        path: "/",
    };
    assert_eq!(jar.header(stranger, NOW), None, "a cookie crosses sites");
    let text = String::from_utf8_lossy(data);
    let before = jar.len();
    if jar.load_netscape(&text).is_err() {
        assert_eq!(jar.len(), before, "a file with an error loads nothing");
    }
    for host in hosts {
        check_jar(
            &jar,
            CookieContext {
                secure: true,
                host,
                path: "/a/b/c",
            },
            NOW,
        );
    }
}

fn check_jar(jar: &CookieJar, context: CookieContext<'_>, now: u64) {
    assert!(jar.len() <= MAX_COOKIES, "too many cookies");
    let Some(header) = jar.header(context, now) else {
        return;
    };
    assert!(
        !header.is_empty() && header.len() <= MAX_HEADER_BYTES,
        "the header is out of bounds"
    );
    assert!(
        header.split("; ").count() <= MAX_COOKIES_PER_SITE,
        "too many cookies are sent"
    );
    let is_bad = |byte: u8| byte.is_ascii_control() && byte != b'\t';
    assert!(
        !header.bytes().any(is_bad),
        "a control character would be sent"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTATIONS_PER_SEED: usize = 300;

    fn corpus(name: &str) -> Vec<Vec<u8>> {
        let folder = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz-corpus/{}"), name);
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(files.len() >= 10, "the corpus {name} is incomplete");
        files
            .iter()
            .map(|file| std::fs::read(file).unwrap())
            .collect()
    }

    /// Marsaglia's xorshift: the same mutations on every machine.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % sides.max(1) as u64) as usize
        }
    }

    fn mutate(seed: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
        let mut data = seed.to_vec();
        for _ in 0..=dice.roll(4) {
            let at = dice.roll(data.len() + 1);
            match dice.roll(5) {
                0 => data.truncate(at),
                1 => data.insert(at, dice.roll(256) as u8),
                2 => data.extend_from_slice(&other[dice.roll(other.len() + 1)..]),
                3 => data.insert(at, b"*$%;=\n\t#:. /-"[dice.roll(13)]),
                _ => {
                    if let Some(byte) = data.get_mut(at) {
                        *byte ^= 1 << dice.roll(8);
                    }
                }
            }
        }
        data
    }

    fn check(name: &str, body: fn(&[u8])) {
        let seeds = corpus(name);
        let mut dice = Dice(0x5EED_1234_5678_9ABC);
        for seed in &seeds {
            body(seed);
            for _ in 0..MUTATIONS_PER_SEED {
                let other = &seeds[dice.roll(seeds.len())];
                body(&mutate(seed, other, &mut dice));
            }
        }
    }

    #[test]
    fn urls_hold_for_the_corpus_and_its_mutations() {
        check("url", fuzz_url);
    }

    #[test]
    fn robots_hold_for_the_corpus_and_its_mutations() {
        check("robots", fuzz_robots);
    }

    #[test]
    fn cookies_hold_for_the_corpus_and_its_mutations() {
        check("cookies", fuzz_cookies);
    }
}
