use std::ffi::OsString;
use std::time::Duration;

use clewline_core::address::Cidr;
use clewline_core::limits::Limits;
use clewline_core::politeness::Speed;
use clewline_job::config::{
    PageBehavior, PictureArea, RenderConfig, RenderUse, ScopeConfig, Secret,
};

use std::path::PathBuf;

use super::*;
use crate::settings::{file, show};

const NOWHERE: Environment = Environment {
    proxy_variable: None,
    date: String::new(),
};

fn attempt(line: &str, text: &str) -> Result<ResolvedSettings, Vec<Problem>> {
    let arguments = std::iter::once("clewline").chain(line.split_whitespace());
    let cli = crate::flags::parse(arguments.map(OsString::from)).unwrap();
    let mut problems = Vec::new();
    let file = file::read("f", text, &mut problems);
    assert_eq!(problems, []);
    resolve(cli.crawl.settings.0, file, &NOWHERE)
}

fn config(line: &str, text: &str) -> Config {
    attempt(line, text).unwrap().config
}

fn problems(line: &str, text: &str) -> Vec<String> {
    let problems = attempt(line, text).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_said_is_the_default() {
    let resolved = attempt("example.com", "").unwrap();
    let expected = Config::default();
    assert_eq!(resolved.config.scope, expected.scope);
    assert_eq!(resolved.config.limits, expected.limits);
    assert_eq!(resolved.config.fetch, expected.fetch);
    assert_eq!(resolved.config.politeness, expected.politeness);
    assert_eq!(resolved.config.extract, expected.extract);
    assert_eq!(resolved.options, CommandOptions::default());
    let folder = resolved.config.output.folder;
    assert_eq!(folder, Some(PathBuf::from("example.com.crawl")));
}

#[test]
fn scope_and_budgets_arrive() {
    let config = config(
        "a.com --lenient --include x --include y --exclude z -d 3 -p --no-lazy-images --script-links --accept-types text/*,a/b \
         --drop-params utm_*,sid --no-sitemaps --follow-nofollow --ignore-robots --no-trap-detection -n 10 \
         --max-pages-per-host 5 --max-bytes 1G --max-time 1h --max-links 7 --max-url 1k \
         --max-repeats 2 --max-host-failures 9",
        "",
    );
    let scope = ScopeConfig {
        reach: Reach::Domain,
        include: vec!["x".into(), "y".into()],
        exclude: vec!["z".into()],
        page_requisites: true,
        accept_types: vec!["text/*".into(), "a/b".into()],
        drop_params: vec!["utm_*".into(), "sid".into()],
        follow_nofollow: true,
        sitemaps: false,
        robots: false,
        traps: false,
        foreign_roots: false,
    };
    assert_eq!(config.scope, scope);
    let limits = Limits {
        depth: Some(3),
        pages: Some(10),
        pages_per_host: Some(5),
        bytes: Some(1 << 30),
        time: Some(Duration::from_hours(1)),
        url_length: 1024,
        repeated_segments: 2,
        host_failures: 9,
        ..Limits::default()
    };
    assert_eq!(config.limits, limits);
    assert_eq!(config.extract.max_links, 7);
    assert!(!config.extract.lazy_images && config.extract.script_links);
}

#[test]
fn politeness_arrives() {
    let config = config(
        "a.com --speed fast --delay 2s --concurrency 7 --host-concurrency 3 -t 2 \
         --ignore-crawl-delay --retry-delay 5s --robots-retry 7s --shared-addresses 10.0.0.0/8 --max-redirects 1",
        "[[host]]\nname = '*.Example.com'\nrate = '30/m'\nignore-robots = false\nmax-pages = 4\n\
         [[host]]\nname = '*'\nheader = ['X-All: 1']\n",
    );
    let tables = &config.fetch.host_headers;
    assert_eq!(
        (tables[1].host.as_str(), tables[1].headers[0].0.as_str()),
        ("*", "X-All")
    );
    assert!(
        tables[0].headers.is_empty(),
        "the first name that matches counts"
    );
    let pace = &config.politeness;
    assert_eq!(pace.speed, Some(Speed::Fast));
    assert_eq!(pace.delay, Some(Duration::from_secs(2)));
    assert_eq!(pace.host_concurrency, Some(3));
    assert!(pace.ignore_crawl_delay);
    assert_eq!(pace.retry_delay, Some(Duration::from_secs(5)));
    assert_eq!(pace.robots_retry, Some(Duration::from_secs(7)));
    assert_eq!(
        pace.shared_addresses,
        ["10.0.0.0/8".parse::<Cidr>().unwrap()]
    );
    let limits = &config.limits;
    assert_eq!(
        (limits.concurrency, limits.tries, limits.redirects),
        (7, 2, 1)
    );
    let host = &pace.hosts[0];
    assert_eq!(
        (host.host.as_str(), host.rate),
        ("*.example.com", Some(0.5))
    );
    assert_eq!((host.ignore_robots, host.max_pages), (Some(false), Some(4)));
    assert_eq!(host.ignore_crawl_delay, None);
}

#[test]
fn rendering_arrives() {
    let render = config(
        "a.com --render always --render-limit 5 --render-timeout 20s --render-tabs 3 --screenshot full \
         --behaviors autoscroll,autoclick --click #accept --click .more --no-browser-sandbox",
        "",
    )
    .render;
    let expected = RenderConfig {
        when: RenderUse::Always,
        limit: Some(5),
        timeout: Duration::from_secs(20),
        tabs: Some(3),
        screenshot: Some(PictureArea::Full),
        behaviors: vec![PageBehavior::Autoscroll, PageBehavior::Autoclick],
        clicks: vec!["#accept".into(), ".more".into()],
        browser: None,
        no_sandbox: true,
    };
    assert_eq!(render, expected);
    let render = config("--render a.com --screenshot", "").render;
    assert_eq!(
        (render.when, render.screenshot),
        (RenderUse::Auto, Some(PictureArea::Window))
    );
    let render = config("a.com", "render = true\nscreenshot = \"full\"\n").render;
    assert_eq!(
        (render.when, render.screenshot),
        (RenderUse::Auto, Some(PictureArea::Full))
    );
    assert_eq!(config("a.com", "").render, RenderConfig::default());
}

#[test]
fn requests_and_network_arrive() {
    let fetch = config(
        "a.com -A bot/1 --contact me@example.com -H X-A:b -u u:p --no-cookies -T 5 \
         --connect-timeout 1s --first-byte-timeout 3s --max-body 1M --max-head 8k --min-rate 0 -x h:3128 \
         --noproxy a,b -k --resolve a:80:127.0.0.1 --connect-to ::b:81 --dns 9.9.9.9 \
         --allow-private --allow-private 10.0.0.0/8 --idle-connections 3",
        "",
    )
    .fetch;
    assert_eq!(fetch.agent(), "bot/1");
    assert_eq!(fetch.headers[0].0, "X-A");
    assert_eq!(fetch.headers[0].1.reveal(), "b");
    assert_eq!(fetch.user.as_ref().map(Secret::reveal), Some("u:p"));
    assert_eq!(
        fetch.proxy.as_ref().map(Secret::reveal),
        Some("http://h:3128")
    );
    assert_eq!(fetch.no_proxy, ["a", "b"]);
    assert!(fetch.insecure && !fetch.cookies);
    assert_eq!((fetch.resolve.len(), fetch.connect_to.len()), (1, 1));
    assert_eq!(
        fetch.dns.map(|address| address.to_string()),
        Some("9.9.9.9:53".into())
    );
    assert_eq!(fetch.allow_private.len(), 3);
    assert_eq!(fetch.timeout, Duration::from_secs(5));
    assert_eq!(fetch.connect_timeout, Duration::from_secs(1));
    assert_eq!(fetch.first_byte_timeout, Duration::from_secs(3));
    assert_eq!(
        (fetch.max_body, fetch.max_head, fetch.min_rate),
        (1 << 20, 8192, 0)
    );
    assert_eq!(fetch.idle_connections, 3);
}

#[test]
fn flags_win_over_the_file() {
    let config = config(
        "-t 2 b.com",
        "tries = 9\ndepth = 1\nurl = 'a.com'\ninput-file = 'x'\n",
    );
    assert_eq!(config.limits.tries, 2);
    assert_eq!(config.limits.depth, Some(1));
    assert_eq!(config.roots[0].url.host(), "b.com");
    assert_eq!(config.roots.len(), 1);
}

#[test]
fn all_problems_at_once() {
    let found = problems(
        "a.com --scope all --delay soon -t 0 --include ( --max-body 9999999T -u root \
         -H hunter2 -x ftp://u:hunter2@h --cacert /dev/null/x",
        "max-pages = 0",
    );
    let expected = [
        "--scope: `all` is not one of page, path, host, domain, any",
        "--include: `(` is not a regular expression: unclosed group",
        "f:1: max-pages: `0` is too small; the least is 1",
        "--delay: `soon` is not a time such as 500ms, 2s, 1m30s or 1h",
        "--tries: `0` is too small; the least is 1",
        "--header: write `Name: value`",
        "--user: write user:password, or put `user = \"user:password\"` into the file",
        "--max-body: `9999999T` is too large; the most is 1T",
        "--proxy: a proxy begins with http:// or socks5://",
    ];
    assert_eq!(found[..expected.len()], expected);
    assert!(found[expected.len()].starts_with("--cacert: `/dev/null/x` cannot be read"));
    assert!(!found.concat().contains("hunter2"));
}

#[test]
fn going_anywhere_needs_a_contact() {
    assert_eq!(problems("--scope any a.com", "").len(), 1);
    config("--scope any --contact me@example.com a.com", "");
    config("--scope any -A bot/1(+https://example.com/bot) a.com", "");
    assert_eq!(problems("--scope any -A bot/1 a.com", "").len(), 1);
}

#[test]
fn rules_between_settings() {
    let found = problems("a.com -T 5s --connect-timeout 6s", "");
    assert_eq!(
        found,
        ["--connect-timeout: is longer than --timeout, which covers it"]
    );
    let slow = config("a.com -T 50s", "").fetch;
    assert_eq!(slow.first_byte_timeout, Duration::from_secs(50));
    let found = problems("a.com -T 5s --first-byte-timeout 6s", "");
    assert_eq!(
        found,
        ["--first-byte-timeout: is longer than --timeout, which covers it"]
    );
    assert_eq!(
        config("a.com -T 5s", "").fetch.timeout,
        Duration::from_secs(5)
    );
    let found = problems(
        "a.com",
        "[[host]]\ndelay = '1s'\n[[host]]\nname = 'http://x'\n",
    );
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_root_with_a_path_gets_a_hint() {
    let check = |line: &str, expected: &[&str]| {
        assert_eq!(attempt(line, "").unwrap().notes, expected, "{line}");
    };
    let hint = "crawling all of a.com; to stay below /docs/ add --no-parent";
    check("a.com/docs/", &[hint]);
    check("a.com/docs/index.html", &[hint]);
    check("a.com/docs/ --no-parent", &[]);
    check("a.com/docs/ --scope host", &[]);
    check("a.com/index.html", &[]);
    check("a.com", &[]);
}

#[test]
fn what_is_shown_reads_back() {
    let resolved = attempt(
        "a.com -u u:hunter2 -H X-A:hunter2 -x u:hunter2@h --include a\\\"'b --delay 1500ms -v",
        "tries = 7",
    )
    .unwrap();
    let text = show::show(&resolved);
    assert!(!text.contains("hunter2"), "{text}");
    let mut problems = Vec::new();
    let again = file::read("again", &text, &mut problems).layer;
    assert_eq!(problems, [], "{text}");
    assert_eq!(again.texts("include"), ["a\\\"'b"]);
    assert_eq!(again.texts("delay"), ["1s500ms"]);
    assert_eq!(again.texts("tries"), ["7"]);
}

#[test]
fn a_refused_time_breaks_no_other_rule() {
    let found = problems("a.com -T 5s --first-byte-timeout soon", "");
    let expected = "--first-byte-timeout: `soon` is not a time such as 500ms, 2s, 1m30s or 1h";
    assert_eq!(found, [expected]);
}

#[test]
fn a_proxy_of_the_environment_is_told_not_shown() {
    let environment = Environment {
        proxy_variable: Some("https_proxy"),
        date: String::new(),
    };
    let resolved = resolve(Layer::default(), FileSettings::default(), &environment);
    let text = show::show(&resolved.unwrap());
    assert!(text.lines().any(|line| {
        line.starts_with("# proxy") && line.ends_with("# environment, https_proxy")
    }));
}
