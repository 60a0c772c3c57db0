//! How crawls end: thresholds, budgets, roots that nobody reaches, disks that are full.

use std::process::Stdio;

use terrarium::{Door, LiveWeb, Page, Reply, Site, Web};

use crate::place::{HOST, Place, Ran, garden, masked, web_of};

#[test]
fn thresholds_decide_the_exit_code() {
    const BROKEN: &str = "<a href=/gone>gone</a>";
    let clean = || Site::new().pages([("/", "<a href=/a>a</a>"), ("/a", "")]);
    let broken = || Site::new().pages([("/", BROKEN)]);
    let failing = || {
        let site = Site::new().pages([("/", BROKEN)]);
        site.page("/gone", Reply::reset())
    };
    let check = |site: fn() -> Site, fail_on: Option<&str>, expected: i32| {
        let web = web_of(site());
        let root = web.url(HOST, "/");
        let mut line = vec!["-q", "--no-output", "-t", "1", root.as_str()];
        line.extend(fail_on.iter().flat_map(|what| ["--fail-on", what]));
        let ran = Place::new().run(&line);
        assert_eq!(
            (ran.code, ran.talk.as_str()),
            (expected, ""),
            "{fail_on:?}\n{}",
            ran.out
        );
    };
    check(clean, Some("any"), 0);
    check(broken, None, 0);
    check(broken, Some("broken"), 1);
    check(broken, Some("error"), 0);
    check(broken, Some("any"), 1);
    check(failing, None, 0);
    check(failing, Some("broken"), 1);
    check(failing, Some("error"), 1);
    check(failing, Some("any"), 1);
    let circle = || {
        Site::new()
            .pages([("/", "<a href=/a>a</a>")])
            .page("/a", Page::redirect(302, "/b"))
            .page("/b", Page::redirect(302, "/a"))
    };
    check(circle, None, 0);
    check(circle, Some("broken"), 1);
}

#[test]
fn a_root_that_nobody_answers() {
    let site = Site::new().door(Door::Refused);
    let web = web_of(site);
    let place = Place::new();
    let root = web.url(HOST, "/");
    let expected = "\
error: http://127.0.0.1:PORT/ was not reached: no connection to 127.0.0.1:PORT: Connection refused

hint: check that a server listens there, and on that port
hint: clewline inspect http://127.0.0.1:PORT/ shows each step
";
    // Twice: what was not reached leaves nothing in the way of the next try.
    for _ in 0..2 {
        let ran = place.run(&["-q", "-t", "1", &root]);
        assert_eq!((ran.code, masked(&ran.talk, &web).as_str()), (3, expected));
        assert_eq!(place.names("."), [""; 0], "no folder is left");
    }
    let list = place.run(&["-q", "-t", "1", "--list", &root]);
    let line = "http://127.0.0.1:PORT/ error no connection to 127.0.0.1:PORT: Connection refused\n";
    assert!(masked(&list.out, &web).contains(line), "{}", list.out);
    // A folder that was there before stays, and does not stand in the way either.
    std::fs::create_dir(place.path("mine")).unwrap();
    for _ in 0..2 {
        let ran = place.run(&["-q", "-t", "1", "-o", "mine", &root]);
        assert_eq!((ran.code, place.names(".")), (3, vec!["mine".to_owned()]));
    }
    let status = place.run(&["status", "mine"]);
    let expected = "mine: not running; none of its roots was fetched\n";
    assert!(status.out.starts_with(expected), "{}", status.out);
}

#[test]
fn a_root_that_is_an_error_is_not_a_crawl() {
    let web = web_of(Site::new().page("/moved", Page::redirect(301, "/gone")));
    let check = |web: &LiveWeb, path: &str, at: &str, why: &str, hint: &str| {
        let place = Place::new();
        let ran = place.run(&["-q", "-t", "1", &web.url(HOST, path)]);
        let expected = format!(
            "error: http://127.0.0.1:PORT{at} was not fetched: {why}\n\nhint: {hint}\n\
             hint: clewline inspect http://127.0.0.1:PORT{at} shows each step\n"
        );
        assert_eq!((ran.code, masked(&ran.talk, web)), (3, expected), "{path}");
        // What was answered is kept, and makes way for the next try.
        assert_eq!(place.names(".").len(), 1);
        let again = place.run(&["-q", "-t", "1", &web.url(HOST, path)]);
        assert_eq!(again.code, 3, "{}", again.talk);
    };
    let gone = "check the path; a browser shows what is there";
    check(&web, "/gone", "/gone", "the server answered 404", gone);
    check(&web, "/moved", "/gone", "the server answered 404", gone);
    let failing = web_of(Site::new().page("/", Page::empty(500)));
    let hint = "the server has trouble; the same command tries again";
    check(&failing, "/", "/", "the server answered 500", hint);
    let locked = web_of(Site::new().page("/", Page::empty(401)));
    let hint = "-u NAME:PASSWORD sends a name and a password (Basic authentication)";
    check(&locked, "/", "/", "the server answered 401", hint);
}

#[test]
fn pages_that_a_sitemap_names_are_a_crawl_without_a_root() {
    let site = Site::new().pages([("/a", "hello")]);
    let sitemap = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
                   <url><loc>ROOT/a</loc></url></urlset>";
    let site = site.handler(move |request| {
        let root = format!("http://{}", request.header("host").unwrap_or_default());
        match request.path() {
            "/sitemap.xml" => Page::xml(sitemap.replace("ROOT", &root)).into(),
            _ => Page::html("gone").status(404).into(),
        }
    });
    let web = web_of(site);
    let ran = Place::new().run(&["-q", "--no-output", &web.url(HOST, "/")]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""), "{}", ran.out);
}

#[test]
fn a_name_that_does_not_exist() {
    let web = Web::new().site("a.test", garden()).start();
    let dns = web.dns_addr().to_string();
    let line = ["-q", "--no-output", "--dns", &dns];
    let ran = Place::new().run(&[&line[..], &["http://b.test/", "http://c.test/"]].concat());
    assert_eq!(ran.code, 3);
    let expected = "\
error: http://b.test/ was not reached: b.test: there is no such host; neither was the other root

hint: check the spelling; --resolve and --dns ask elsewhere
hint: clewline inspect http://b.test/ shows each step
";
    assert_eq!(ran.talk, expected);
    let root = web.url("a.test", "/");
    let ran = Place::new().run(&[&line[..], &["http://b.test/", &root]].concat());
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""), "one root is enough");
}

#[test]
fn a_root_that_robots_forbid() {
    let web = web_of(Site::new().robots("User-agent: *\nDisallow: /\n"));
    let ran = Place::new().run(&["-q", "--no-output", &web.url(HOST, "/")]);
    assert_eq!(ran.code, 3);
    assert!(ran.talk.contains("/ was not fetched: "), "{}", ran.talk);
    assert!(
        ran.talk.contains("hint: your own site? --ignore-robots\n"),
        "{}",
        ran.talk
    );
}

#[test]
fn a_certificate_that_nobody_trusts() {
    let web = Web::new().site(HOST, garden().tls()).start();
    let root = web.tls_url(HOST, "/");
    let ran = Place::new().run(&["-q", "--no-output", "-t", "1", &root]);
    assert_eq!(ran.code, 3, "{}", ran.talk);
    assert!(
        ran.talk.contains("--cacert trusts one more authority"),
        "{}",
        ran.talk
    );
    // Without a scheme it is not asked in the clear, which would be another server's business.
    let typed = root.trim_start_matches("https://");
    let ran = Place::new().run(&["--no-output", "-t", "1", typed]);
    let why = "was not reached: the certificate was issued by an unknown authority";
    assert_eq!(ran.code, 3, "{}", ran.talk);
    assert!(ran.talk.contains(why), "{}", ran.talk);
    assert!(!ran.talk.contains("trying http://"), "{}", ran.talk);
}

#[test]
fn only_basic_authentication_is_known() {
    let ask = |challenge: &str| {
        let page = Page::empty(401).header("WWW-Authenticate", challenge);
        let web = web_of(Site::new().page("/", page));
        let ran = Place::new().run(&["-q", "--no-output", "-u", "me:pass", &web.url(HOST, "/")]);
        assert_eq!(ran.code, 3, "{}", ran.talk);
        masked(&ran.talk, &web)
    };
    let digest = ask("Digest realm=\"a\", nonce=\"x\"");
    let expected = "error: http://127.0.0.1:PORT/ was not fetched: the server answered 401: \
                    it asks for Digest authentication, and clewline knows only Basic (-u)\n";
    assert!(digest.starts_with(expected), "{digest}");
    assert!(!digest.contains("hint: -u"), "{digest}");
    let both = ask("Digest realm=\"a\", Basic realm=\"a\"");
    assert!(!both.contains("Digest"), "{both}");
}

#[test]
fn a_budget_says_how_to_go_on() {
    let web = web_of(garden());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let ran = place.run(&["-n", "1", &root]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.out.contains(" · stopped by --max-pages · "),
        "{}",
        ran.out
    );
    let pattern = "(?m)^note: --max-pages ended the crawl with [2-5] URLs still to do; \
                   the same command with more goes on$";
    let pattern = regex::Regex::new(pattern).unwrap();
    assert!(pattern.is_match(&ran.talk), "{}", ran.talk);
    let ran = place.run(&["-n", "2", &root]);
    assert_eq!(ran.code, 0);
    assert!(ran.talk.contains("note: going on: "), "{}", ran.talk);
    assert!(ran.out.contains("\n2 pages in "), "{}", ran.out);
    let ran = place.run(&[&root]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.out.contains("\n3 pages in "),
        "the report covers all runs: {}",
        ran.out
    );
    assert!(ran.out.contains(" · finished · "), "{}", ran.out);
    let asked = web.log().filtered(|hit| hit.path() == "/").len();
    assert_eq!(asked, 1, "what was done is not done again");
}

/// Runs the command under a limit of the size of files, in blocks of a shell's choice: the
/// nearest thing to a full disk that needs no special rights.
#[cfg(unix)]
fn run_limited(place: &Place, blocks: &str, root: &str) -> Ran {
    let script = "ulimit -f \"$0\" && exec \"$@\"";
    let binary = env!("CARGO_BIN_EXE_clewline");
    let flags = ["-q", "--in-memory", "--no-archive", root];
    let line = [&["-c", script, blocks, binary], &flags[..]].concat();
    let mut command = place.program("sh", &line);
    Ran::from(command.stdin(Stdio::null()).output().unwrap())
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_not_a_death() {
    let pages: Vec<String> = (0..200).map(|number| format!("/page/{number}")).collect();
    let site = Site::new()
        .page("/", Page::html(terrarium::links(pages)))
        .handler(|_| Page::html("<title>A page</title>").into());
    let web = web_of(site);
    let root = web.url(HOST, "/");
    let place = Place::new();
    let ran = run_limited(&place, "16", &root);
    assert_eq!(ran.code, 3, "{}", ran.talk);
    let expected = "\
error: the results cannot be written: 127.0.0.1-PORT.crawl/urls.jsonl: File too large

hint: is there room left on the disk of 127.0.0.1-PORT.crawl? --output names another place
hint: what was written until then is whole and can be read
";
    assert_eq!(masked(&ran.talk, &web), expected);
    assert!(ran.out.contains("stopped by an error"), "{}", ran.out);

    let ran = run_limited(&Place::new(), "0", &root);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.talk);
    assert!(
        ran.talk.contains("state/lock: File too large"),
        "{}",
        ran.talk
    );
    assert!(
        ran.talk.contains("hint: name a folder that can be written"),
        "{}",
        ran.talk
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_printed_is_an_error() {
    let web = web_of(garden());
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let place = Place::new();
    let mut command = place.command(&["-q", &web.url(HOST, "/")]);
    let output = command
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        talk.starts_with("error: the report cannot be printed: "),
        "{talk}"
    );
}

#[test]
fn whoever_closes_the_pipe_has_read_enough() {
    let web = web_of(garden());
    let root = web.url(HOST, "/");
    for (more, expected) in [
        (&[][..], 0),
        (&["--list"], 0),
        (&["--fail-on", "broken"], 1),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let place = Place::new();
        let mut command = place.command(&[&["-q", root.as_str()], more].concat());
        let output = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(expected), "{more:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{more:?}");
    }
}
