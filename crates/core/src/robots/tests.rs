//! Robots: conformance, tables, and properties against a naive reference.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::url::CrawlUrl;

fn robots(body: &str) -> Robots {
    Robots::parse(body.as_bytes(), &["clewline"])
}

fn check(body: &str, path: &str, allowed: bool, line: Option<u32>) {
    let robots = robots(body);
    let verdict = robots.verdict(path);
    let decided = (verdict.allowed, verdict.rule.map(|rule| rule.line));
    assert_eq!(decided, (allowed, line), "{path:?} under {body:?}");
}

fn conformance(file: &str) -> Option<Value> {
    let folder = std::env::var("CLEWLINE_CONFORMANCE").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance").to_owned()
    });
    let Ok(text) = std::fs::read_to_string(format!("{folder}/{file}")) else {
        eprintln!("CONFORMANCE DATA ABSENT: {file}");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// Cases that are known to fail; the list may only shrink.
const EXPECTED_FAILURES: &[u64] = &[];

/// The path and query of a case's URL, which is not normalised: some cases are about that.
fn path_of(url: &str) -> &str {
    let behind_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let start = if behind_scheme.len() == url.len() {
        Some(0)
    } else {
        behind_scheme.find('/')
    };
    let path = start.map_or("", |start| &behind_scheme[start..]);
    path.split('#').next().unwrap_or(path)
}

fn case_passes(case: &Value) -> bool {
    let text = |field: &str| case[field].as_str().unwrap();
    let body = match case["note"].as_str() {
        Some("latin-1") => text("robots")
            .chars()
            .map(|c| u8::try_from(c).unwrap())
            .collect(),
        _ => text("robots").as_bytes().to_vec(),
    };
    let agents: Vec<&str> = text("agent").split(',').collect();
    let robots = Robots::parse(&body, &agents);
    robots.verdict(path_of(text("url"))).allowed == case["allowed"].as_bool().unwrap()
}

#[test]
fn conforms() {
    let Some(data) = conformance("robots.json") else {
        return;
    };
    let cases = data["cases"].as_array().unwrap();
    assert_eq!(
        cases.len() as u64,
        data["header"]["total"].as_u64().unwrap()
    );
    let failed: Vec<u64> = cases
        .iter()
        .filter(|case| !case_passes(case))
        .map(|case| case["id"].as_u64().unwrap())
        .collect();
    assert_eq!(failed, EXPECTED_FAILURES);
}

#[test]
fn longest_match_decides_and_allow_wins_ties() {
    let body = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b\nDisallow: /a/b/*.x$\n";
    check(body, "/", true, None);
    check(body, "/a", false, Some(2));
    check(body, "/a/b/c", true, Some(3));
    check(body, "/a/b/c.x", false, Some(5));
    check(body, "/a/b/c.xy", true, Some(3));
}

#[test]
fn robots_txt_is_always_allowed() {
    check("User-agent: *\nDisallow: /", "/robots.txt", true, None);
    check(
        "User-agent: *\nDisallow: /",
        "/robots.txt?x",
        false,
        Some(2),
    );
    assert!(Robots::disallow_all().verdict("/robots.txt").allowed);
}

#[test]
fn without_rules_all_or_nothing() {
    assert!(Robots::allow_all().verdict("/x").allowed);
    let nothing = Robots::disallow_all();
    assert_eq!(
        nothing.verdict("/x"),
        RobotsDecision {
            allowed: false,
            rule: None
        }
    );
    assert_eq!(nothing.group(), None);
}

#[test]
fn lines_end_in_every_way_and_are_counted() {
    for ending in ["\n", "\r", "\r\n"] {
        let body = ["", "User-agent: *", "", "Disallow: /x # why", ""].join(ending);
        check(&body, "/x", false, Some(4));
        assert_eq!(
            robots(&body).verdict("/x").rule.unwrap().text,
            "Disallow: /x"
        );
    }
    check("\u{FEFF}User-agent: *\nDisallow: /x", "/x", false, Some(2));
    let cut_mark = b"\xEF\xBBUser-agent: *\nDisallow: /x";
    assert!(!Robots::parse(cut_mark, &["clewline"]).verdict("/x").allowed);
}

#[test]
fn frequent_typos_are_understood() {
    for name in [
        "Disalow",
        "dissallow",
        "DISALLAW",
        "diasllow",
        "dissalow",
        "Disallowed",
    ] {
        check(
            &format!("user agent: clewline\n{name} : /x"),
            "/x",
            false,
            Some(2),
        );
    }
    check("useragent clewline\ndisallow\t/x", "/x", false, Some(2));
    check("User-agent: *\ndisallow /x y", "/x", true, None);
}

#[test]
fn percent_encoding_is_compared_alike() {
    let body = "User-agent: *\nDisallow: /caf\u{e9}\nDisallow: /%e3%83%84\nDisallow: /a%2fb";
    check(body, "/caf%C3%A9", false, Some(2));
    check(body, "/caf%c3%a9", false, Some(2));
    check(body, "/%E3%83%84", false, Some(3));
    check(body, "/a%2Fb", false, Some(4));
    check(body, "/a/b", true, None);
    let latin = b"User-agent: *\nDisallow: /caf\xE9";
    let robots = Robots::parse(latin, &["clewline"]);
    assert!(!robots.verdict("/caf%E9").allowed);
    assert_eq!(
        robots.verdict("/caf%e9").rule.unwrap().text,
        "Disallow: /caf\u{FFFD}"
    );
}

/// What people write into the file is not what a URL says: `/my folder/` is `/my%20folder/`.
#[test]
fn characters_that_urls_escape_are_compared_alike() {
    for (pattern, url) in [
        ("/my folder/", "/my folder/x"),
        ("/my folder/", "/my%20folder/x"),
        ("/a<b>", "/a<b>"),
        ("/a\"b`c{d}e^f", "/a\"b`c{d}e^f"),
        ("/*{id}$", "/x/{id}"),
        ("/*{id}", "/x?y={id}"),
        ("/x?q='a b'", "/x?q='a b'"),
        ("/*'", "/it's"),
        ("/*'", "/x?it's"),
        ("/*?*{", "/x?y{"),
        ("/my%20folder", "/my folder"),
        ("/x|y[z]\\", "/x|y[z]%5C"),
        ("/\u{e9} \u{e9}", "/\u{e9} \u{e9}"),
    ] {
        let url = CrawlUrl::parse(&format!("http://a.test{url}")).unwrap();
        let body = format!("User-agent: *\nDisallow: {pattern}");
        let is_backslash = pattern.contains('\\');
        check(
            &body,
            url.path_and_query(),
            is_backslash,
            (!is_backslash).then_some(2),
        );
        // What was matched as it stands is still matched.
        if pattern.is_ascii() {
            check(&body, &pattern.replace(['*', '$'], ""), false, Some(2));
        }
    }
    // The longest match is told by what the file says, as before.
    let body = "User-agent: *\nDisallow: /a b c\nAllow: /a*b c/d\nAllow: /*'\nDisallow: /abc";
    check(body, "/a%20b%20c/d", true, Some(3));
    check(body, "/a%20b%20c/e", false, Some(2));
    check(body, "/abc'", false, Some(5));
}

/// Every printable character, in a path and in a query: a rule that says it matches the URL that
/// says it.
#[test]
fn rules_match_what_urls_become() {
    for character in (b' '..0x7f).map(char::from) {
        // These mean something else in the file, or in a URL.
        if "#$*%\\".contains(character) {
            continue;
        }
        for (before, after) in [("/p", "q"), ("/p?x", "q"), ("/*", "q"), ("/*?*", "q")] {
            let written = format!("{before}{character}{after}");
            let url = format!("http://a.test{}", written.replace('*', "y"));
            let url = CrawlUrl::parse(&url).unwrap();
            let body = format!("User-agent: *\nDisallow: {written}");
            check(&body, url.path_and_query(), false, Some(2));
        }
    }
}

#[test]
fn wildcards_and_anchors() {
    let cases = [
        ("*", "/x", false),
        ("/*", "/", false),
        ("$", "/", true),
        ("/$", "/", false),
        ("/$", "/x", true),
        ("/a*$", "/abc", false),
        ("/a**b***c", "/a1b2c3", false),
        ("/a*b*b$", "/ab", true),
        ("/a*b*b$", "/abxb", false),
        ("/a$b", "/a$bc", false),
        ("/a$b", "/a", true),
        ("*.php", "/x/y.php?z", false),
        ("*.php$", "/x/y.php?z", true),
        ("x", "/x", true),
    ];
    for (pattern, path, allowed) in cases {
        let line = (!allowed).then_some(2);
        check(
            &format!("User-agent: *\nDisallow: {pattern}"),
            path,
            allowed,
            line,
        );
    }
}

#[test]
fn groups_are_chosen_and_merged() {
    let group = |body: &str| robots(body).group().map(str::to_owned);
    assert_eq!(group(""), None);
    assert_eq!(group("User-agent: other\nDisallow: /"), None);
    assert_eq!(group("User-agent: * x\nDisallow: /").as_deref(), Some("*"));
    assert_eq!(
        group("User-agent: *\nUser-agent: CLEWLINE/2.0").as_deref(),
        Some("clewline")
    );
    assert_eq!(
        group("User-agent: clewline2.0").as_deref(),
        Some("clewline")
    );
    assert_eq!(group("User-agent: clewlinebot"), None);
    let merged = "User-agent: clewline\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n\n\
                  User-agent: x\nUser-agent: Clewline\nDisallow: /c";
    check(merged, "/a", false, Some(2));
    check(merged, "/b", true, None);
    check(merged, "/c", false, Some(9));
    assert_eq!(
        Robots::parse(b"User-agent: 1\nDisallow: /", &[""]).group(),
        None
    );
}

#[test]
fn crawl_delay_is_that_of_the_group() {
    let delay = |body: &str| robots(body).crawl_delay().map(|delay| delay.as_secs_f64());
    let of = |value: &str| delay(&format!("User-agent: *\nCrawl-delay: {value}"));
    assert_eq!(of("10"), Some(10.0));
    assert_eq!(of("0.25"), Some(0.25));
    assert_eq!(of(".5 seconds"), Some(0.5));
    assert_eq!(of("99999999999999999999999"), Some(f64::from(u32::MAX)));
    for nonsense in ["", "-1", "NaN", "inf", "1e3", "1.2.3", ".", "ten", "1,5"] {
        assert_eq!(of(nonsense), None, "{nonsense}");
    }
    assert_eq!(delay("Crawl-delay: 5\nUser-agent: *\nDisallow: /"), None);
    assert_eq!(
        delay("User-agent: *\nCrawl-delay: 5\n\nUser-agent: clewline\nAllow: /"),
        None
    );
    assert_eq!(
        delay("User-agent: *\nCrawl-delay: 5\nCrawl-delay: 2"),
        Some(5.0)
    );
    // The delay belongs to the crawlers above it and does not end their group.
    let open = "User-agent: x\nCrawl-delay: 5\nUser-agent: clewline\nDisallow: /a";
    assert_eq!(delay(open), None);
    assert!(!Robots::parse(open.as_bytes(), &["x"]).verdict("/a").allowed);
}

#[test]
fn sitemaps_are_collected_and_capped() {
    let body = "Sitemap: https://a.test/1.xml\nUser-agent: x\nSITE-MAP: /2.xml\nSitemap:\n";
    assert_eq!(robots(body).sitemaps(), ["https://a.test/1.xml", "/2.xml"]);
    let many = "Sitemap: /s\n".repeat(MAX_SITEMAPS + 1);
    assert_eq!(robots(&many).sitemaps().len(), MAX_SITEMAPS);
    let long = format!("Sitemap: {}\n", "s".repeat(MAX_SITEMAP_BYTES + 1));
    assert!(robots(&long).sitemaps().is_empty());
}

#[test]
fn a_file_is_read_to_its_limit_and_no_line_is_cut() {
    let head = "User-agent: *\nDisallow: /first\n";
    let filler = "#".repeat(MAX_BYTES - head.len() - 1 - "Disallow: /".len());
    let body = format!("{head}{filler}\nDisallow: /last\n");
    assert!(body.len() > MAX_BYTES);
    check(&body, "/first", false, Some(2));
    check(&body, "/last", true, None);
    check(&body, "/other", true, None);
    assert_eq!(
        Robots::parse(&vec![b'x'; MAX_BYTES + 1], &["clewline"]),
        robots("")
    );
    let whole = format!("{head}{}\nDisallow: /", "#".repeat(filler.len()));
    assert_eq!(whole.len(), MAX_BYTES);
    check(&whole, "/other", false, Some(4));
}

/// The fetcher cuts, too: at its own limit, or where a coding ended early.
#[test]
fn the_last_line_of_a_cut_file_says_nothing() {
    let mut reader = RobotsReader::new(&["clewline"]);
    reader.feed(b"User-agent: *\nDisallow: /a\nAllow: /");
    let cut = reader.finish_cut();
    assert_eq!(cut, robots("User-agent: *\nDisallow: /a\n"));
}

/// A real file repeats its rules for hundreds of crawlers before it comes to all others.
#[test]
fn a_long_file_is_read_to_its_end() {
    let group = (0..400).map(|number| format!("Disallow: /{number:x}\n"));
    let group = group.collect::<Vec<_>>().concat();
    let others = (0..500).map(|number| format!("User-agent: x{number}\n{group}\n"));
    let others = others.collect::<Vec<_>>().concat();
    let body = format!("{others}User-agent: *\nDisallow: /last\n");
    assert!((2 << 20..MAX_BYTES).contains(&body.len()), "{}", body.len());
    assert!(!robots(&body).verdict("/last").allowed);
    let mut reader = RobotsReader::new(&["clewline"]);
    for piece in body.as_bytes().chunks(7000) {
        reader.feed(piece);
        assert!(
            reader.held() < 64 * 1024,
            "{} bytes are held",
            reader.held()
        );
    }
    assert_eq!(reader.finish(), robots(&body));
}

#[test]
fn what_is_kept_is_bounded() {
    for line in [
        "allow:x\n",
        "Disallow: /\u{e9}\u{e9}\u{e9}\n",
        "Allow: /''''/index.html\n",
    ] {
        let mut reader = RobotsReader::new(&["clewline"]);
        reader.feed(b"User-agent: *\nDisallow: /first\n");
        for _ in 0..MAX_BYTES / line.len() {
            reader.feed(line.as_bytes());
        }
        let most = 2 * (MAX_RULE_BYTES + MAX_RULES * 64);
        assert!(reader.held() <= most, "{} bytes are held", reader.held());
        assert!(!reader.finish().verdict("/first").allowed);
    }
    // What is said to all is dropped when the crawler is named.
    let all = "User-agent: *\nDisallow: /a-long-rule\n".repeat(10_000);
    let mut reader = RobotsReader::new(&["clewline"]);
    reader.feed(all.as_bytes());
    assert!(reader.held() > 100_000);
    reader.feed(b"User-agent: clewline\nDisallow: /b\n");
    reader.feed(all.as_bytes());
    assert!(reader.held() < 100_000, "{} bytes are held", reader.held());
}

#[test]
fn every_rule_that_fits_is_kept() {
    let lines: Vec<String> = (0..40_000)
        .map(|number| format!("allow:{number:x}\n"))
        .collect();
    let body = format!("User-agent: *\n{}Disallow: /", lines.concat());
    assert!(body.len() < MAX_BYTES);
    check(&body, "/x", false, Some(40_002));
}

/// Each pattern fails only at the end of a long path, and none can be told by its trigrams.
#[test]
fn hostile_wildcards_end_in_a_refusal() {
    let body = format!(
        "User-agent: *\n{}Allow: /\n",
        "Disallow:*b*a\n".repeat(30_000)
    );
    let robots = robots(&body);
    assert!(robots.verdict("/aab").allowed);
    let path = format!("/{}{}", "a".repeat(4_000), "b".repeat(4_000));
    let verdict = robots.verdict(&path);
    let tried = MAX_VERDICT_STEPS / path.len();
    assert!(!verdict.allowed);
    let line = verdict.rule.unwrap().line as usize;
    assert!((tried..tried + 10).contains(&line), "{line} after {tried}");
}

/// Google takes a rule for an index page as one for its folder, if it allows.
#[test]
fn to_allow_an_index_page_is_to_allow_its_folder() {
    for (line, is_allowed) in [
        ("Allow: /a/index.html", true),
        ("Allow: /a/index.htm", true),
        ("Allow: /a/index.php", false),
        ("Disallow: /a/index.html", false),
    ] {
        let robots = robots(&format!("User-agent: *\nDisallow: /a/\n{line}\n"));
        assert_eq!(robots.verdict("/a/").allowed, is_allowed, "{line}");
        assert!(!robots.verdict("/a/b").allowed, "{line}");
    }
}

#[test]
fn a_stored_file_is_the_same_file() {
    let body = "User-agent: *\nAllow: /a/index.html\nDisallow: /a**b$\nDisallow: /\u{e9}*\n\
                Crawl-delay: 1.5\nSitemap: /s";
    for robots in [robots(body), Robots::disallow_all()] {
        let stored = serde_json::to_string(&robots).unwrap();
        assert_eq!(serde_json::from_str::<Robots>(&stored).unwrap(), robots);
    }
}

/// The meaning of a pattern, by trying everything.
fn naive(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|skipped| naive(rest, &path[skipped..])),
        [byte, rest @ ..] => path.first() == Some(byte) && naive(rest, &path[1..]),
    }
}

proptest! {
    #[test]
    fn matches_as_the_naive_reference(
        pattern in prop_oneof!["[/ab*$]{1,9}", "/([ab]{0,4}[*]){1,3}[ab]{0,4}[$]?"],
        path in "/[/ab$]{0,9}[ab]{0,9}",
    ) {
        let robots = robots(&format!("User-agent: *\nDisallow: {pattern}"));
        prop_assert_eq!(!robots.verdict(&path).allowed, naive(pattern.as_bytes(), path.as_bytes()));
    }

    #[test]
    fn decides_as_the_naive_reference(
        rules in proptest::collection::vec((any::<bool>(), "/[ab*]{0,4}[$]?"), 0..8),
        path in "/[ab]{0,5}",
    ) {
        let name = |allows| if allows { "Allow" } else { "Disallow" };
        let lines: Vec<String> =
            rules.iter().map(|(allows, rule)| format!("{}: {rule}\n", name(*allows))).collect();
        let best = rules
            .iter()
            .filter(|(_, rule)| naive(rule.as_bytes(), path.as_bytes()))
            .map(|(allows, rule)| (rule.len(), *allows))
            .max();
        let robots = robots(&format!("User-agent: *\n{}", lines.concat()));
        prop_assert_eq!(robots.verdict(&path).allowed, best.is_none_or(|(_, allows)| allows));
    }

    /// However the file is cut into pieces.
    #[test]
    fn pieces_say_what_the_whole_says(
        lines in proptest::collection::vec("(\u{feff})?(User-agent: [*]|Disallow: /[ab]{0,3}|[a-z#:]{0,9})(\r|\n|\r\n)", 0..9),
        sizes in proptest::collection::vec(1_usize..7, 1..9),
    ) {
        let body = lines.concat();
        let mut reader = RobotsReader::new(&["clewline"]);
        let mut rest = body.as_bytes();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at(rest.len().min(*size));
            reader.feed(piece);
            rest = behind;
        }
        prop_assert_eq!(reader.finish(), robots(&body));
    }

    #[test]
    fn any_bytes_are_read(body in proptest::collection::vec(any::<u8>(), 0..300), path: String) {
        crate::fuzzing::fuzz_robots(&body);
        Robots::parse(&body, &["clewline"]).verdict(&path);
    }
}
