use std::path::Path;

use clewline_core::url::CrawlUrl;

use super::*;
use crate::rule::{CheckRule, RuleHelp};
use crate::verdict::CheckVerdict;

const HELP: RuleHelp = RuleHelp {
    why: "",
    found: "",
    mend: "",
    false_alarms: "",
};

const fn rule(id: &'static str, severity: Option<Severity>) -> CheckRule {
    CheckRule {
        id,
        severity,
        summary: "",
        help: HELP,
    }
}

static BROKEN: CheckRule = rule("links/broken", Some(Severity::Error));
static BROKEN_PART: CheckRule = rule("links/broken-part", Some(Severity::Error));
static TITLE: CheckRule = rule("title/missing", Some(Severity::Warning));
static OFF: CheckRule = rule("header/coop", None);
static RULES: [&CheckRule; 4] = [&BROKEN, &BROKEN_PART, &TITLE, &OFF];

fn settings(text: &str) -> CheckSettings {
    CheckSettings::from_toml("c.toml", text).unwrap()
}

fn problems(text: &str) -> Vec<String> {
    let problems = CheckSettings::from_toml("c.toml", text).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_key_is_read() {
    let read = settings(
        "url = 'example.com'\n[check]\nonly = 'links'\nskip = ['a11y', 'title/*']\n\
         severity = { 'title/*' = 'off', 'links/broken' = 'warning' }\n\
         accept = [999, '200..=204', '403:blocked']\nexclude = '/private/'\ninclude = ['^https:']\n\
         external = false\nfragments = 'internal'\ncache = 'check.cache'\nmax-cache-age = '3d'\n\
         baseline = 'known.json'\nremap = 'https://example.com=http://127.0.0.1:8080'\n\
         source = 'https://example.com/docs/=docs/'\nfail-on = 'warning'\nmin-pages = 10\n\
         [[check.ignore]]\nrule = 'links/*'\npage = '/old/'\ntarget = 'x\\.test'\n\
         until = 2027-01-31\nreason = 'moves in January'\n[[check.ignore]]\nrule = 'title'\n\
         until = '2027-02-28'\n",
    );
    assert_eq!(read.only, ["links".parse().unwrap()]);
    assert_eq!(read.skip.len(), 2);
    assert_eq!(read.severity.len(), 2);
    assert_eq!(accepted(&read.accept, 403), Some(CheckVerdict::Blocked));
    assert_eq!(accepted(&read.accept, 999), Some(CheckVerdict::Ok));
    assert!(read.exclude[0].is_in("https://a.test/private/b"));
    assert_eq!(read.include[0].as_str(), "^https:");
    assert_eq!(read.external, Some(false));
    assert_eq!(read.fragments, Some(FragmentReach::Internal));
    assert_eq!(read.cache.as_deref(), Some(Path::new("check.cache")));
    assert_eq!(read.max_cache_age, Some(Duration::from_hours(72)));
    assert_eq!(read.baseline.as_deref(), Some(Path::new("known.json")));
    assert_eq!((read.remap.len(), read.source.len()), (1, 1));
    assert_eq!(read.fail_on, Some(CheckFailOn::Warning));
    assert_eq!(read.min_pages, Some(10));
    let days = read
        .ignore
        .iter()
        .map(|entry| entry.until.unwrap().to_string());
    assert_eq!(days.collect::<Vec<_>>(), ["2027-01-31", "2027-02-28"]);
}

#[test]
fn the_keys_are_those_that_are_read() {
    for key in KEYS {
        let problems =
            CheckSettings::from_toml("c.toml", &format!("[check]\n{key} = {{ x = 1.5 }}"));
        let problems = problems.expect_err(key);
        assert!(
            !problems[0].message.contains("is not a setting"),
            "{problems:?}"
        );
        assert!(
            !problems[0].message.contains("unknown field `"),
            "{problems:?}"
        );
    }
}

#[test]
fn all_problems_name_their_line_and_key() {
    let text = "rate = 2\n[check]\nonly = 'Links!'\nfial-on = 'error'\naccept = ['20x']\n\
                exclude = ['ok', '(']\nmax-cache-age = 'soon'\nfail-on = 'notice'\n\
                severity = { 'title' = 'bad' }\nremap = 'nowhere'\nexternal = 'yes'\n";
    let mut found = problems(text);
    found.sort();
    let expected = [
        "c.toml:10: check.remap: `nowhere` does not say what is asked for where: write https://example.com=http://127.0.0.1:8080",
        "c.toml:11: check.external: invalid type: string \"yes\", expected a boolean",
        "c.toml:3: check.only: `Links!` names no rule: write links/broken, links or title/*",
        "c.toml:4: check.fial-on: is not a setting: the settings are only, skip, severity, accept, exclude, include, external, fragments, cache, max-cache-age, baseline, remap, source, fail-on, min-pages, ignore",
        "c.toml:5: check.accept: `20x` names no status: write 404, 200..=299 or 403:blocked",
        "c.toml:6: check.exclude: `(` is no regular expression that can be used: unclosed group",
        "c.toml:7: check.max-cache-age: `soon` is no time: write 12h or 7d",
        "c.toml:8: check.fail-on: unknown variant `notice`, expected one of `error`, `warning`, `never`",
        "c.toml:9: check.severity: unknown variant `bad`, expected one of `off`, `notice`, `warning`, `error`",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_ignore_must_name_something_and_nothing_unknown() {
    for (text, expected) in [
        (
            "[[check.ignore]]\nreason = 'x'",
            "would ignore everything: name a rule, a page or a target",
        ),
        ("[[check.ignore]]\nrul = 'x'", "unknown field `rul`"),
        (
            "[[check.ignore]]\nrule = 'x'\nuntil = '2027-02-30'",
            "`2027-02-30` is no date: write 2027-01-31",
        ),
        ("check = 3", "is a table: write [check]"),
        ("check = [", "c.toml:1"),
    ] {
        let found = problems(text);
        assert!(found[0].contains(expected), "{text}: {found:?}");
    }
}

#[test]
fn hostile_values_cannot_steer_a_terminal() {
    let text = "[check]\nonly = \"\\u001b[2J\"\n\"\\u202e\" = 1\naccept = \"\\u0007\"\n";
    for problem in problems(text) {
        assert!(
            !problem.chars().any(clewline_job::escape::is_steering),
            "{problem:?}"
        );
    }
}

#[test]
fn the_stronger_source_wins() {
    let flags =
        settings("[check]\nonly = 'links'\nseverity = { title = 'error' }\nfail-on = 'never'");
    let file = settings(
        "[check]\nonly = 'title'\nskip = 'a11y'\nseverity = { title = 'off', links = 'notice' }\n\
         fail-on = 'warning'\nmin-pages = 3",
    );
    let both = flags.over(file);
    assert_eq!(both.only, ["links".parse().unwrap()]);
    assert_eq!(both.skip, ["a11y".parse().unwrap()]);
    assert_eq!(
        both.severity[&"title".parse().unwrap()],
        SeveritySetting::Error
    );
    assert_eq!(
        both.severity[&"links".parse().unwrap()],
        SeveritySetting::Notice
    );
    assert_eq!(
        (both.fail_on, both.min_pages),
        (Some(CheckFailOn::Never), Some(3))
    );
}

#[test]
fn statuses_are_written_as_in_rust() {
    let check = |text: &str, expected: Option<(u16, u16, CheckVerdict)>| {
        let found = text.parse::<AcceptedStatus>().ok();
        let found = found.map(|one| (*one.range.start(), *one.range.end(), one.verdict));
        assert_eq!(found, expected, "{text}");
    };
    check("404", Some((404, 404, CheckVerdict::Ok)));
    check("200..=299", Some((200, 299, CheckVerdict::Ok)));
    check("200..300", Some((200, 299, CheckVerdict::Ok)));
    check("..=299", Some((100, 299, CheckVerdict::Ok)));
    check("500..", Some((500, 999, CheckVerdict::Ok)));
    check("403:blocked", Some((403, 403, CheckVerdict::Blocked)));
    check(" 500..=599 : warn ", Some((500, 599, CheckVerdict::Unsure)));
    check("410:error", Some((410, 410, CheckVerdict::Broken)));
    for wrong in [
        "",
        "99",
        "1000",
        "300..=200",
        "200..=",
        "2x",
        "403:fine",
        "-1",
        "200...299",
    ] {
        check(wrong, None);
    }
}

#[test]
fn the_last_entry_decides() {
    let entries = ["200..=499", "404:broken"].map(|text| text.parse().unwrap());
    assert_eq!(accepted(&entries, 404), Some(CheckVerdict::Broken));
    assert_eq!(accepted(&entries, 403), Some(CheckVerdict::Ok));
    assert_eq!(accepted(&entries, 500), None);
}

#[test]
fn rules_are_named_by_id_category_and_star() {
    for (pattern, named) in [
        ("links/broken", vec!["links/broken"]),
        ("links", vec!["links/broken", "links/broken-part"]),
        ("links/*", vec!["links/broken", "links/broken-part"]),
        ("*/missing", vec!["title/missing"]),
        ("l*k*n", vec!["links/broken"]),
        (
            "*",
            vec![
                "links/broken",
                "links/broken-part",
                "title/missing",
                "header/coop",
            ],
        ),
        ("link", vec![]),
    ] {
        let pattern: RulePattern = pattern.parse().unwrap();
        let found = RULES.iter().filter(|rule| pattern.names(rule));
        assert_eq!(
            found.map(|rule| rule.id).collect::<Vec<_>>(),
            named,
            "{pattern:?}"
        );
    }
}

#[test]
fn the_most_exact_pattern_decides_how_bad_a_finding_is() {
    let check = |text: &str, expected: [Option<Severity>; 4]| {
        let severities =
            RuleSeverities::new(&settings(&format!("[check]\n{text}")), &RULES).unwrap();
        assert_eq!(RULES.map(|rule| severities.of(rule)), expected, "{text}");
    };
    let (error, warning, notice) = (
        Some(Severity::Error),
        Some(Severity::Warning),
        Some(Severity::Notice),
    );
    check("", [error, error, warning, None]);
    check("only = 'links'", [error, error, None, None]);
    check("skip = 'links/broken-*'", [error, None, warning, None]);
    check(
        "severity = { '*' = 'notice', links = 'warning', 'links/broken' = 'error' }",
        [error, warning, notice, notice],
    );
    check("severity = { title = 'off' }", [error, error, None, None]);
    check("only = 'header/coop'", [None, None, None, notice]);
    check("only = 'header'", [None, None, None, None]);
}

#[test]
fn patterns_that_name_no_rule_are_told() {
    let settings = settings("[check]\nskip = 'linsk'\n[[check.ignore]]\nrule = 'a11y/nothing'");
    let problems = RuleSeverities::new(&settings, &RULES).unwrap_err();
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "check.skip: `linsk` names no rule: `clewline check --list-rules` shows them all",
            "check.ignore: `a11y/nothing` names no rule: `clewline check --list-rules` shows them all",
        ]
    );
}

#[test]
fn urls_are_asked_for_elsewhere() {
    let check = |remap: &str, url: &str, expected: &str| {
        let remap: UrlRemap = remap.parse().unwrap();
        assert_eq!(remap.apply(url), expected, "{url}");
    };
    let simple = "https://a.test=http://127.0.0.1:80";
    check(simple, "https://a.test/x?y=1", "http://127.0.0.1:80/x?y=1");
    check(simple, "https://a.test.example/", "https://a.test.example/");
    check(
        simple,
        "https://b.test/https://a.test/",
        "https://b.test/https://a.test/",
    );
    check(
        "https://a.test/?q=1=https://b.test/$1",
        "https://a.test/?q=1",
        "https://b.test/$1",
    );
    check(
        "https://a.test/d/=https://b.test/",
        "https://a.test/d/e",
        "https://b.test/e",
    );
}

#[test]
fn pages_have_files_inside_their_folder_only() {
    let source: SourceFolder = "https://a.test/docs/=site/docs".parse().unwrap();
    let check = |url: &str, exists: &str, expected: Option<&str>| {
        let page = CrawlUrl::parse(url).unwrap();
        let found = source.locate(&page, &|path| path == Path::new(exists));
        assert_eq!(found.as_deref(), expected.map(Path::new), "{url}");
    };
    check(
        "https://a.test/docs/a.html?x",
        "site/docs/a.html",
        Some("site/docs/a.html"),
    );
    check(
        "https://a.test/docs/a",
        "site/docs/a.md",
        Some("site/docs/a.md"),
    );
    check(
        "https://a.test/docs/",
        "site/docs/index.html",
        Some("site/docs/index.html"),
    );
    check(
        "https://a.test/docs/b/",
        "site/docs/b/README.md",
        Some("site/docs/b/README.md"),
    );
    check(
        "https://a.test/docs/a%20b",
        "site/docs/a b.html",
        Some("site/docs/a b.html"),
    );
    check("https://a.test/other", "site/docs/other", None);
    check(
        "https://a.test/docs/%2e%2e%2fsecret",
        "site/docs/../secret",
        None,
    );
    check("https://a.test/docs/%2Fetc%2Fpasswd", "/etc/passwd", None);
    check(
        "https://a.test/docs/..%5csecret",
        "site/docs/..\\secret",
        None,
    );
}

#[test]
fn lychee_is_understood_and_what_is_not_is_named() {
    let text = "accept = '200..=204, 429'\nexclude = ['^https://x']\nexclude_path = ['vendor']\n\
                timeout = 20\nmax_retries = 2\nretry_wait_time = 1\nuser_agent = 'me'\n\
                header = { 'X-A' = 'b' }\nremap = ['https://a.test http://127.0.0.1']\n\
                include_fragments = true\nmax_cache_age = '2d'\noffline = true\nscheme = ['https']\n\
                host_request_interval = '100ms'\nhost_concurrency = 3\nmethod = 'head'\n\
                novelty = 1\nbasic_auth = ['a b:c']\n";
    let read = LycheeSettings::from_toml("lychee.toml", text).unwrap();
    assert_eq!(accepted(&read.check.accept, 429), Some(CheckVerdict::Ok));
    assert_eq!(accepted(&read.check.accept, 404), None);
    let excluded = read.check.exclude.iter().map(UrlPattern::as_str);
    assert_eq!(excluded.collect::<Vec<_>>(), ["^https://x", "^http:"]);
    assert_eq!(read.exclude_path[0].as_str(), "vendor");
    assert_eq!(read.requests.timeout, Some(Duration::from_secs(20)));
    assert_eq!(read.requests.tries, Some(3));
    assert_eq!(read.requests.retry_delay, Some(Duration::from_secs(1)));
    assert_eq!(read.requests.user_agent.as_deref(), Some("me"));
    assert_eq!(read.requests.headers, ["X-A: b"]);
    assert_eq!(read.requests.host_delay, Some(Duration::from_millis(100)));
    assert_eq!(read.requests.host_concurrency, Some(3));
    assert_eq!(
        read.check.remap[0].apply("https://a.test/b"),
        "http://127.0.0.1/b"
    );
    assert_eq!(read.check.fragments, Some(FragmentReach::All));
    assert_eq!(read.check.external, Some(false));
    let passed = read.passed_over;
    assert_eq!(passed.len(), 3, "{passed:?}");
    assert!(
        passed
            .iter()
            .any(|line| line == "novelty: has no meaning here")
    );
    assert!(
        !passed.iter().any(|line| line.contains("a b:c")),
        "{passed:?}"
    );
}

#[test]
fn what_is_wrong_with_lychee_is_told() {
    let problems = LycheeSettings::from_toml("lychee.toml", "accept = true\nremap = 'x'\n");
    let problems: Vec<_> = problems
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        problems,
        [
            "lychee.toml: accept: takes a text in quotes or a list of such",
            "lychee.toml: remap: is a pattern, a space, and what to put in its place",
        ]
    );
    let broken = LycheeSettings::from_toml("lychee.toml", "a = 1\nb = \n").unwrap_err();
    assert!(broken[0].place.starts_with("lychee.toml:2"), "{broken:?}");
}

#[test]
fn a_lycheeignore_has_a_pattern_on_each_line() {
    let patterns = lychee_ignore(".lycheeignore", "# known\n\n^https://a\n  b\\.c  \n").unwrap();
    let patterns: Vec<_> = patterns.iter().map(UrlPattern::as_str).collect();
    assert_eq!(patterns, ["^https://a", "b\\.c"]);
    let problems = lychee_ignore(".lycheeignore", "ok\n[\n").unwrap_err();
    assert!(problems[0].place.ends_with(":2"), "{problems:?}");
}
