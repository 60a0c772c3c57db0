//! Cookies: tables for each rule of the specification, and bounds as properties.

use proptest::prelude::*;

use super::CookieChange::{Accepted, Refused, Removed, Unchanged};
use super::*;

const NOW: u64 = 1_700_000_000;

fn at(url: &str) -> CookieContext<'_> {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    CookieContext {
        secure: scheme == "https",
        host,
        path,
    }
}

fn store(jar: &mut CookieJar, url: &str, set_cookie: &str) -> CookieChange {
    jar.store(at(url), set_cookie.as_bytes(), NOW)
}

/// Sets one cookie and looks which of the URLs get it.
fn check(url: &str, set_cookie: &str, sent_to: &[&str], kept_from: &[&str]) {
    let mut jar = CookieJar::default();
    assert_eq!(
        store(&mut jar, url, set_cookie),
        Accepted,
        "{set_cookie:?} from {url}"
    );
    for url in sent_to {
        assert!(
            jar.header(at(url), NOW).is_some(),
            "{set_cookie:?} is missing at {url}"
        );
    }
    for url in kept_from {
        assert_eq!(jar.header(at(url), NOW), None, "{set_cookie:?} at {url}");
    }
}

fn check_refused(url: &str, set_cookie: &str, refusal: CookieRefusal) {
    let mut jar = CookieJar::default();
    assert_eq!(
        store(&mut jar, url, set_cookie),
        Refused(refusal),
        "{set_cookie:?} from {url}"
    );
    assert!(jar.is_empty());
}

#[test]
fn the_cookies_of_one_site_move_without_those_of_others() {
    let mut jar = CookieJar::default();
    for (url, cookie) in [
        ("https://a.example/", "one=1"),
        ("https://www.a.example/", "two=2; Domain=a.example"),
        ("https://b.example/", "three=3"),
    ] {
        assert_eq!(store(&mut jar, url, cookie), Accepted);
    }
    let sent = |jar: &CookieJar, url: &str| jar.header(at(url), NOW).unwrap_or_default();
    let only = jar.only_site("a.example");
    assert_eq!(only.len(), 2);
    assert_eq!(sent(&only, "https://a.example/"), "one=1; two=2");
    assert_eq!(sent(&only, "https://b.example/"), "");
    assert!(jar.only_site("nowhere.example").is_empty());

    let mut other = CookieJar::default();
    for (url, cookie) in [
        ("https://a.example/", "old=0"),
        ("https://b.example/", "kept=4"),
    ] {
        assert_eq!(store(&mut other, url, cookie), Accepted);
    }
    other.replace_site("a.example", &only);
    assert_eq!(sent(&other, "https://a.example/"), "one=1; two=2");
    assert_eq!(sent(&other, "https://b.example/"), "kept=4");
}

#[test]
fn a_cookie_without_a_domain_is_for_its_host() {
    let elsewhere = &[
        "http://a.example.com/",
        "http://com/",
        "http://badexample.com/",
    ];
    check(
        "http://example.com/",
        "a=1",
        &["http://example.com/x", "https://example.com/"],
        elsewhere,
    );
    check(
        "http://example.com/",
        "a=1; Domain=",
        &["http://example.com/"],
        elsewhere,
    );
    check(
        "http://127.0.0.1/",
        "a=1",
        &["http://127.0.0.1/"],
        &["http://127.0.0.2/"],
    );
    check(
        "http://[::1]/",
        "a=1; Domain=[::1]",
        &["http://[::1]/"],
        &["http://[::2]/"],
    );
    check(
        "http://127.0.0.1/",
        "a=1; Domain=127.0.0.1",
        &["http://127.0.0.1/"],
        &[],
    );
}

#[test]
fn a_domain_covers_its_subdomains_only() {
    let sent = &[
        "http://example.com/",
        "http://www.example.com/",
        "http://a.b.example.com/",
    ];
    let kept = &[
        "http://badexample.com/",
        "http://example.org/",
        "http://example.com.evil.org/",
    ];
    check(
        "http://www.example.com/",
        "a=1; Domain=example.com",
        sent,
        kept,
    );
    check(
        "http://www.example.com/",
        "a=1; domain=.EXAMPLE.com",
        sent,
        kept,
    );
    check(
        "http://example.com/",
        "a=1; Domain=x.test; Domain=example.com",
        sent,
        kept,
    );
    check(
        "http://www.xn--bcher-kva.example/",
        "a=1; Domain=b\u{fc}cher.example",
        &["http://xn--bcher-kva.example/"],
        &[],
    );
}

#[test]
fn a_foreign_domain_is_refused() {
    use CookieRefusal::ForeignDomain;
    check_refused(
        "http://example.com/",
        "a=1; Domain=www.example.com",
        ForeignDomain,
    );
    check_refused(
        "http://badexample.com/",
        "a=1; Domain=example.com",
        ForeignDomain,
    );
    check_refused(
        "http://example.com/",
        "a=1; Domain=example.org",
        ForeignDomain,
    );
    check_refused("http://127.0.0.1/", "a=1; Domain=0.0.1", ForeignDomain);
    check_refused("http://example.com/", "a=1; Domain=..", ForeignDomain);
}

#[test]
fn a_public_suffix_is_refused_unless_it_is_the_host() {
    use CookieRefusal::PublicSuffix;
    check_refused("http://example.com/", "a=1; Domain=com", PublicSuffix);
    check_refused("http://example.com./", "a=1; Domain=com.", PublicSuffix);
    check_refused(
        "http://www.example.co.uk/",
        "a=1; Domain=co.uk",
        PublicSuffix,
    );
    check_refused(
        "http://user.github.io/",
        "a=1; Domain=github.io",
        PublicSuffix,
    );
    check_refused(
        "http://a.b.kawasaki.jp/",
        "a=1; Domain=b.kawasaki.jp",
        PublicSuffix,
    );
    check_refused(
        "http://a.b.kawasaki.jp/",
        "a=1; Domain=kawasaki.jp",
        PublicSuffix,
    );
    check_refused(
        "http://a.xn--55qx5d.cn/",
        "a=1; Domain=xn--55qx5d.cn",
        PublicSuffix,
    );
    check_refused(
        "http://shop.internal/",
        "a=1; Domain=internal",
        PublicSuffix,
    );
    let below = &["http://user.github.io/"];
    check(
        "http://github.io/",
        "a=1; Domain=github.io",
        &["http://github.io/"],
        below,
    );
    check(
        "http://localhost/",
        "a=1; Domain=localhost",
        &["http://localhost/"],
        &[],
    );
}

#[test]
fn paths_limit_cookies() {
    let from = "http://example.com/a/b?c=/d/e";
    let sent = &[
        "http://example.com/a",
        "http://example.com/a/x?/b",
        "http://example.com/a?x",
    ];
    let kept = &[
        "http://example.com/",
        "http://example.com/ab",
        "http://example.com/b/a",
    ];
    check(from, "a=1", sent, kept);
    check(
        from,
        "a=1; Path=/a/",
        &["http://example.com/a/"],
        &["http://example.com/a"],
    );
    check(from, "a=1; Path=relative", sent, kept);
    check(
        "http://example.com/a",
        "a=1",
        &["http://example.com/z"],
        &[],
    );
}

#[test]
fn secure_cookies_stay_on_https() {
    let (plain, secure) = ("http://example.com/", "https://example.com/");
    check(secure, "a=1; Secure", &[secure], &[plain]);
    check_refused(plain, "a=1; secure", CookieRefusal::Insecure);
    let mut jar = CookieJar::default();
    assert_eq!(
        store(&mut jar, secure, "a=1; Secure; Domain=example.com"),
        Accepted
    );
    let insecure = Refused(CookieRefusal::Insecure);
    assert_eq!(store(&mut jar, plain, "a=2"), insecure);
    assert_eq!(store(&mut jar, plain, "a=; Max-Age=0"), insecure);
    assert_eq!(
        store(&mut jar, "http://www.example.com/", "a=2; Path=/x"),
        insecure
    );
    assert_eq!(store(&mut jar, plain, "b=2"), Accepted);
    assert_eq!(store(&mut jar, secure, "a=2; Domain=example.com"), Accepted);
}

#[test]
fn prefixes_are_promises() {
    use CookieRefusal::Prefix;
    let url = "https://www.example.com/";
    check(
        url,
        "__Host-a=1; Secure; Path=/",
        &[url],
        &["https://example.com/"],
    );
    check(
        url,
        "__Secure-a=1; Secure; Domain=example.com",
        &["https://example.com/"],
        &[],
    );
    check_refused(url, "__Host-a=1; Secure", Prefix);
    check_refused(url, "__host-a=1; Path=/", Prefix);
    check_refused(
        url,
        "__Host-a=1; Secure; Path=/; Domain=www.example.com",
        Prefix,
    );
    check_refused(url, "__SECURE-a=1", Prefix);
    check_refused(url, "=__Host-a=1; Secure; Path=/", Prefix);
    check_refused(url, "__Secure-a; Secure", Prefix);
}

#[test]
fn syntax_is_lenient_but_not_about_control_characters() {
    let url = "http://example.com/";
    let sent = |set_cookie: &str| {
        let mut jar = CookieJar::default();
        assert_eq!(store(&mut jar, url, set_cookie), Accepted, "{set_cookie:?}");
        jar.header(at(url), NOW).unwrap()
    };
    assert_eq!(sent(" a \t=  b c ; x"), "a=b c");
    assert_eq!(sent("a=b=c"), "a=b=c");
    assert_eq!(sent("a="), "a=");
    assert_eq!(sent("lonely"), "lonely");
    assert_eq!(sent("=lonely"), "lonely");
    assert_eq!(sent("a=\"q;uoted\""), "a=\"q");
    assert_eq!(sent("a=\u{e9}"), "a=\u{e9}");
    for empty in ["", " ", "=", ";", " = ; Path=/"] {
        check_refused(url, empty, CookieRefusal::Empty);
    }
    for bad in ["a=1\r\nX: y", "a\0=1", "a=1; Path=/\n", "a=\u{7f}"] {
        check_refused(url, bad, CookieRefusal::ControlCharacter);
    }
    let mut jar = CookieJar::default();
    assert_eq!(
        jar.store(at(url), b"a=\xFF", NOW),
        Refused(CookieRefusal::NotText)
    );
}

#[test]
fn sizes_are_bounded() {
    let url = "http://example.com/";
    let fits = format!("a={}", "x".repeat(MAX_COOKIE_BYTES - 1));
    check(url, &fits, &[url], &[]);
    check_refused(url, &format!("{fits}x"), CookieRefusal::TooLarge);
    let folder = format!("http://example.com/{}/", "p".repeat(MAX_ATTRIBUTE_BYTES));
    check_refused(&folder, "a=1", CookieRefusal::TooLarge);
    let long_path = format!("a=1; Path=/{}", "p".repeat(MAX_ATTRIBUTE_BYTES));
    check(url, &long_path, &[url], &[]);
}

#[test]
fn lives_end() {
    let mut jar = CookieJar::default();
    let url = "http://example.com/";
    let mut sent_at = |set_cookie: &str, later: u64| {
        assert_eq!(store(&mut jar, url, set_cookie), Accepted, "{set_cookie:?}");
        let sent = jar.header(at(url), NOW + later).is_some();
        assert_eq!(store(&mut jar, url, "a=; Max-Age=0"), Removed);
        assert!(jar.is_empty());
        sent
    };
    assert!(sent_at("a=1", 10 * LONGEST_LIFE));
    assert!(sent_at("a=1; Max-Age=10", 9));
    assert!(!sent_at("a=1; Max-Age=10", 10));
    assert!(sent_at(
        "a=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        9
    ));
    assert!(!sent_at("a=1; Expires=Tue, 14 Nov 2023 22:13:30 GMT", 10));
    assert!(sent_at("a=1; Expires=Tue, 14 Nov 2023 22:13:30 GMT", 9));
    assert!(sent_at(
        "a=1; Expires=never; Max-Age=ten; Max-Age=+5",
        LONGEST_LIFE
    ));
    assert!(!sent_at(
        "a=1; Max-Age=99999999999999999999999",
        LONGEST_LIFE
    ));
    assert!(!sent_at(
        "a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
        LONGEST_LIFE
    ));
}

#[test]
fn changes_are_told_apart() {
    let mut jar = CookieJar::default();
    let url = "http://example.com/";
    assert_eq!(store(&mut jar, url, "a=1; Max-Age=5"), Accepted);
    assert_eq!(store(&mut jar, url, "a=1; Max-Age=50"), Unchanged);
    assert!(
        jar.header(at(url), NOW + 40).is_some(),
        "its life was prolonged"
    );
    assert_eq!(store(&mut jar, url, "a=2; Max-Age=5"), Accepted);
    assert_eq!(store(&mut jar, url, "b=1; Max-Age=-1"), Unchanged);
    assert_eq!(store(&mut jar, url, "a=2; Max-Age=-1"), Removed);
    assert_eq!(store(&mut jar, url, "a=2; Max-Age=-1"), Unchanged);
}

#[test]
fn longer_paths_come_first_then_older_cookies() {
    let mut jar = CookieJar::default();
    let url = "http://example.com/a/b/";
    for set_cookie in [
        "a=1; Path=/",
        "b=1; Path=/a",
        "c=1; Path=/",
        "d=1; Path=/a/b",
        "a=2; Path=/",
    ] {
        assert_eq!(store(&mut jar, url, set_cookie), Accepted);
    }
    let header = "d=1; b=1; a=2; c=1";
    assert_eq!(jar.header(at(url), NOW).as_deref(), Some(header));
    let stored = serde_json::to_string(&jar).unwrap();
    let restored: CookieJar = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored.header(at(url), NOW).as_deref(), Some(header));
    assert_eq!(restored.len(), jar.len());
}

#[test]
fn a_header_is_bounded() {
    let mut jar = CookieJar::default();
    let url = "http://example.com/";
    for number in 0..10 {
        let set_cookie = format!("a{number}={}", "x".repeat(4_000));
        assert_eq!(store(&mut jar, url, &set_cookie), Accepted);
    }
    let header = jar.header(at(url), NOW).unwrap();
    assert!(header.len() <= MAX_HEADER_BYTES && header.starts_with("a0="));
    assert_eq!(header.split("; ").count(), MAX_HEADER_BYTES / 4_005);
}

#[test]
fn a_full_site_loses_expired_then_oldest_cookies() {
    let mut jar = CookieJar::default();
    let url = "http://example.com/";
    let names = |jar: &CookieJar, now| jar.header(at(url), now).unwrap();
    for number in 0..MAX_COOKIES_PER_SITE {
        let life = if number == 7 { "; Max-Age=1" } else { "" };
        assert_eq!(
            store(&mut jar, url, &format!("n{number}=1{life}")),
            Accepted
        );
    }
    assert_eq!(jar.store(at(url), b"x=1", NOW + 5), Accepted);
    assert!(names(&jar, NOW).starts_with("n0=1; ") && !names(&jar, NOW).contains("n7=1"));
    assert_eq!(store(&mut jar, url, "n0=2"), Accepted);
    assert_eq!(
        store(&mut jar, "http://b.example.com/", "y=1; Domain=example.com"),
        Accepted
    );
    assert_eq!(jar.len(), MAX_COOKIES_PER_SITE);
    let left = names(&jar, NOW);
    assert!(
        left.contains("n0=2") && left.contains("y=1") && !left.contains("n1=1;"),
        "{left}"
    );
}

#[test]
fn a_full_jar_loses_its_oldest_cookies() {
    let mut jar = CookieJar::default();
    let value = "x".repeat(MAX_COOKIE_BYTES - 1);
    let fitting = MAX_JAR_BYTES / MAX_COOKIE_BYTES;
    for number in 0..fitting {
        let url = format!("http://h{number}.test/");
        assert_eq!(store(&mut jar, &url, &format!("a={value}")), Accepted);
    }
    assert!(jar.bytes <= MAX_JAR_BYTES && jar.len() < fitting);
    assert_eq!(jar.header(at("http://h0.test/"), NOW), None);
    assert!(
        jar.header(at(&format!("http://h{}.test/", fitting - 1)), NOW)
            .is_some()
    );
    assert_eq!(
        jar.bytes,
        jar.sites
            .values()
            .flatten()
            .map(Cookie::bytes)
            .sum::<usize>()
    );
}

#[test]
fn a_jar_holds_so_many_cookies() {
    let mut jar = CookieJar::default();
    for number in 0..=MAX_COOKIES {
        assert_eq!(
            store(&mut jar, &format!("http://h{number}.test/"), "a=1"),
            Accepted
        );
    }
    assert_eq!((jar.len(), jar.sites.len()), (MAX_COOKIES, MAX_COOKIES));
    assert_eq!(jar.header(at("http://h0.test/"), NOW), None);
    assert!(jar.header(at("http://h1.test/"), NOW).is_some());
}

#[test]
fn values_do_not_show() {
    let mut jar = CookieJar::default();
    assert_eq!(
        store(&mut jar, "http://example.com/", "session=hunter2"),
        Accepted
    );
    let shown = format!("{jar:?}");
    assert!(
        shown.contains("session") && !shown.contains("hunter2"),
        "{shown}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_jar_keeps_its_bounds(sets in proptest::collection::vec(
        ("[ab]\\.(com|co\\.uk)", "[a-z]{1,3}=[a-z]{0,3}", 0_u64..4, 0_u64..3),
        0..600,
    )) {
        let mut jar = CookieJar::default();
        for (host, pair, age, later) in sets {
            let context = CookieContext { secure: true, host: &host, path: "/" };
            let set_cookie = format!("{pair}; Max-Age={age}");
            let _ = jar.store(context, set_cookie.as_bytes(), NOW + later);
        }
        prop_assert!(jar.sites.values().all(|kept| (1..=MAX_COOKIES_PER_SITE).contains(&kept.len())));
        prop_assert_eq!(jar.len(), jar.sites.values().map(Vec::len).sum::<usize>());
        prop_assert_eq!(jar.bytes, jar.sites.values().flatten().map(Cookie::bytes).sum::<usize>());
        let stored = serde_json::to_string(&jar).unwrap();
        let restored: CookieJar = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(restored.len(), jar.len());
    }

    #[test]
    fn any_bytes_are_taken(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        crate::fuzzing::fuzz_cookies(&data);
    }
}
