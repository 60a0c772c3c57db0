//! Bodies for fuzzing: each takes any bytes and asserts what must hold for all of them.
//!
//! Owns the invariants worth fuzzing; refuses to know who produces the bytes. A failed assertion
//! is a bug in the module under test.

use crate::cookies::{
    CookieChange, CookieContext, CookieJar, MAX_COOKIES, MAX_COOKIES_PER_SITE, MAX_HEADER_BYTES,
};
use crate::domain::{registrable, without_www};
use crate::key::Keyer;
use crate::robots::{MAX_SITEMAP_BYTES, MAX_SITEMAPS, Robots, RobotsReader};
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
    let mut reader = RobotsReader::new(&["clewline", "foobot"]);
    for piece in data.chunks(data.first().map_or(1, |size| usize::from(*size).max(1))) {
        reader.feed(piece);
    }
    assert_eq!(robots, reader.finish(), "pieces say something else");
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
    use mutate::Trial;

    const TRIAL: Trial<'_> = Trial {
        home: env!("CARGO_MANIFEST_DIR"),
        tokens: &[
            b"*", b"$", b"%", b";", b"=", b"\n", b"\t", b"#", b":", b".", b" ", b"/", b"-",
        ],
        rounds: 300,
    };

    #[test]
    fn urls() {
        TRIAL.run("url", super::fuzz_url);
    }

    #[test]
    fn robots() {
        TRIAL.run("robots", super::fuzz_robots);
    }

    #[test]
    fn cookies() {
        TRIAL.run("cookies", super::fuzz_cookies);
    }
}
