//! The verb `inspect` as people meet it: output, talk and exit code.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

use std::process::Command;

use regex::Regex;
use terrarium::{Coding, LiveWeb, Page, Site, Web};

struct Ran {
    code: i32,
    out: String,
    talk: String,
}

/// Inspects a path of `a.test`, in a folder where no configuration lies around.
fn inspect(web: &LiveWeb, path: &str, flags: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_clewline"));
    command.args(["inspect", &web.url("a.test", path)]);
    for entry in web.resolve_args() {
        command.args(["--resolve", &entry]);
    }
    command.args(flags).current_dir(folder.path()).env_clear();
    let output = command.output().unwrap();
    let left: Vec<_> = folder.path().read_dir().unwrap().collect();
    assert!(
        left.is_empty(),
        "an inspection leaves nothing behind: {left:?}"
    );
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        talk: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Output without what differs from run to run, and without the room it takes.
fn masked(text: &str) -> String {
    let (above, timings) = text.split_once("\nTimings").unwrap();
    let masks = [
        (r"(\.test):\d+", "$1:PORT"),
        (r" *\d[\d.]* m?s\b", " TIME"),
        (r"\d+ B\b", "SIZE"),
        (r"(Content-Length +)\d+", "${1}SIZE"),
        (r"xxh3:[0-9a-f]{32}", "DIGEST"),
    ];
    let phases = (r"(?m)^.*?( http|$)", "  …$1");
    let mask = |text: String, (pattern, mask): (&str, &str)| {
        let pattern = Regex::new(pattern).unwrap();
        pattern.replace_all(&text, mask).into_owned()
    };
    let timings = mask(timings.trim_end().to_owned(), phases);
    let text = format!("{above}\nTimings{timings}\n");
    masks.into_iter().fold(text, mask)
}

const HOME: &str = "<!doctype html><title>Home</title><link rel=canonical href=/>\
    <link rel=stylesheet href=/style.css><a href=/about>About</a><a href=/private/x>x</a>\
    <a rel=nofollow href=/spam>spam</a><a href='{{b.test}}/'>elsewhere</a>\
    <a href=mailto:me@a.test>mail</a>";

fn web() -> LiveWeb {
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /private/\nAllow: /\nSitemap: http://a.test/map.xml\n")
        .page(
            "/old",
            Page::redirect(301, "/").header("Set-Cookie", "id=hunter2; Path=/; HttpOnly"),
        )
        .page(
            "/",
            Page::html(HOME)
                .coded(Coding::Gzip)
                .header("X-Odd", "a\u{202e}\u{9b}31mb"),
        )
        .page("/private/x", Page::html("inside"))
        .page("/bytes", Page::bytes("application/pdf", vec![0xff, 0, 7]));
    let other = Site::new().page("/", Page::html("other"));
    Web::new()
        .site("a.test", site)
        .site("b.test", other)
        .start()
}

const EXPECTED: &str = "\
http://a.test:PORT/old
200 · text/html · SIZE · 6 links · TIME

Hops       1  301 TIME  127.0.1.0  http://a.test:PORT/old
                                         → /
                                         1 cookie kept
           2  200 TIME  127.0.1.0  http://a.test:PORT/
                                         cookies sent

Headers   Content-Type      text/html; charset=utf-8
          X-Odd             a\\u{202e}\\x9b31mb
          Content-Encoding  gzip
          Content-Length    SIZE

Robots    http://a.test:PORT/robots.txt (group *)
          allowed    /old  line 3: Allow: /
          allowed    /     line 3: Allow: /
          sitemap    http://a.test/map.xml

Page      status     200
          type       text/html
          charset    UTF-8, by its Content-Type
          title      Home
          canonical  http://a.test:PORT/, itself
          size       SIZE, SIZE on the wire
          digest     DIGEST

Links     6 links: 4 anchor, 1 canonical, 1 style; a crawl would follow 1
          1 not http or not a URL
          known          canonical  http://a.test:PORT/
          requisite      style      http://a.test:PORT/style.css
          follow         anchor     http://a.test:PORT/about
          robots line 2  anchor     http://a.test:PORT/private/x
          nofollow       anchor     http://a.test:PORT/spam
          out-of-scope   anchor     http://b.test:PORT/

Timings  …
  … http://a.test:PORT/robots.txt
  … http://a.test:PORT/old
  … http://a.test:PORT/
";

#[test]
fn a_page_explained() {
    let web = web();
    let ran = inspect(&web, "/old", &[]);
    let shown = masked(&ran.out);
    let address = web.addr("a.test").ip().to_string();
    assert_eq!(shown, EXPECTED.replace("127.0.1.0", &address));
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));

    let whole = inspect(&web, "/old", &["-v"]);
    assert_eq!(whole.out.matches("\nHeaders ").count(), 2);
    assert!(
        whole.out.contains("id=(secret); Path=/; HttpOnly"),
        "{}",
        whole.out
    );
    assert!(!whole.out.contains("hunter2") && !whole.out.contains('\u{1b}'));
    let coloured = inspect(&web, "/old", &["--color", "always"]);
    assert!(coloured.out.contains("\u{1b}[32m200\u{1b}[0m"));
    let plain = Regex::new("\u{1b}\\[[0-9]*m").unwrap();
    assert_eq!(
        masked(&plain.replace_all(&coloured.out, "")),
        masked(&ran.out)
    );
}

#[test]
fn what_is_not_fetched_says_why() {
    let web = web();
    let ran = inspect(&web, "/private/x", &[]);
    let expected = "\
http://a.test:PORT/private/x
not fetched: robots.txt line 2: Disallow: /private/
your own site? --ignore-robots fetches it all the same

Hops       1    –  not asked    http://a.test:PORT/private/x

Robots    http://a.test:PORT/robots.txt (group *)
          disallowed /private/x  line 2: Disallow: /private/
          sitemap    http://a.test/map.xml

Timings  …
  … http://a.test:PORT/robots.txt
";
    assert_eq!(masked(&ran.out), expected);
    assert_eq!((ran.code, ran.talk.as_str()), (3, ""));
    assert_eq!(web.log().count("/private/x"), 0);

    let ran = inspect(&web, "/private/x", &["--ignore-robots"]);
    let ignored = "ignored    /private/x  line 2: Disallow: /private/";
    assert!(ran.code == 0 && ran.out.contains(ignored), "{}", ran.out);
}

#[test]
fn long_lists_are_cut_unless_all_is_asked_for() {
    let links = terrarium::numbered_links("/", 60);
    let web = Web::new()
        .site("a.test", Site::new().page("/", Page::html(links)))
        .start();
    let listed = |ran: &Ran| ran.out.matches("  follow  anchor  http://").count();
    let ran = inspect(&web, "/", &[]);
    assert_eq!(listed(&ran), 50, "{}", ran.out);
    assert!(
        ran.out
            .contains("\n          … and 10 more; -v lists all\n")
    );
    let ran = inspect(&web, "/", &["-v"]);
    assert_eq!(listed(&ran), 60);
    assert!(!ran.out.contains("lists all"));
}

#[test]
fn the_body_goes_to_standard_output_alone() {
    let web = web();
    let ran = inspect(&web, "/old", &["--body"]);
    assert!(ran.out.starts_with("<!doctype html>") && ran.out.ends_with("mail</a>"));
    assert!(ran.talk.contains("\nHops "), "{}", ran.talk);
    let ran = inspect(&web, "/private/x", &["--body", "--ignore-robots", "-q"]);
    assert_eq!((ran.out.as_str(), ran.talk.as_str()), ("inside", ""));
}

#[test]
fn content_goes_to_standard_output_alone() {
    let web = web();
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.toml");
    let rule = "[[rule]]\nname = 'title'\nselect = 'title'\n";
    std::fs::write(&rules, rule).unwrap();
    let rules = rules.to_str().unwrap();
    let ran = inspect(&web, "/old", &["--rules", rules]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(ran.out.contains("\"title\": \"Home\""), "{}", ran.out);
    assert!(ran.talk.contains("\nHops "), "{}", ran.talk);
    let ran = inspect(&web, "/old", &["--markdown", "-q"]);
    assert!(ran.out.contains("](http://a.test:"), "{}", ran.out);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    std::fs::write(rules, "[[rule]]\nname = 'x'\nselect = '['\n").unwrap();
    let ran = inspect(&web, "/old", &["--rules", rules]);
    assert_eq!(ran.code, 2);
    assert!(ran.talk.contains("rule x: select"), "{}", ran.talk);
}

#[test]
fn files_are_inspected_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let page = b"<meta charset=latin1><title>T\xe9</title><nav>Menu</nav>\
        <main><h1>Head</h1><p>Words, <b>bold</b>.</main>";
    std::fs::write(&path, page).unwrap();
    std::fs::write(folder.path().join("deep.html"), "<div>".repeat(1000)).unwrap();
    let check = |name: &str, flags: &[&str], code: i32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clewline"));
        command.args(["inspect", name]).args(flags);
        let output = command.current_dir(folder.path()).env_clear().output();
        let output = output.unwrap();
        let talk = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{flags:?} {talk}");
        (String::from_utf8(output.stdout).unwrap(), talk)
    };
    let (out, _) = check("page.html", &["--markdown"], 0);
    assert_eq!(out, "# Head\n\nWords, **bold**.\n");
    let (out, _) = check("page.html", &["--text", "--whole"], 0);
    assert_eq!(out, "Menu\n\nHead\n\nWords, bold.\n");
    let (out, _) = check("page.html", &[], 0);
    assert!(out.contains("\"title\": \"Té\""), "{out}");
    let (out, talk) = check("deep.html", &["--markdown"], 3);
    assert_eq!(out, "");
    assert!(talk.contains("nested more than 512 deep"), "{talk}");
    check("page.html", &["--markdown", "--text"], 2);
}

#[test]
fn exit_codes() {
    let web = web();
    let check = |path: &str, flags: &[&str], code: i32| {
        let ran = inspect(&web, path, flags);
        assert_eq!(ran.code, code, "{path} {flags:?} {}{}", ran.out, ran.talk);
        ran
    };
    check("/missing", &[], 0);
    check("/bytes", &["--accept-types", "text/*"], 0);
    check("/old", &["--max-redirects", "0"], 3);
    check(
        "/",
        &["--resolve", "a.test:*:127.0.0.1", "--connect-timeout", "5s"],
        3,
    );
    check("/", &["--scope", "all"], 2);
    check("/", &["--format", "yaml"], 2);
    let ran = check("/", &["-H", "Host: x"], 2);
    assert!(
        ran.out.is_empty() && ran.talk.starts_with("error: "),
        "{}",
        ran.talk
    );
}

#[test]
fn json_is_one_object() {
    let web = web();
    let ran = inspect(&web, "/old", &["--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(value["conclusion"]["outcome"], "fetched");
    assert_eq!(value["hops"].as_array().unwrap().len(), 2);
    assert_eq!(value["hops"][1]["status"], 200);
    assert_eq!(value["robots"][0]["verdicts"][1]["line"], 3);
    assert_eq!(value["links"][3]["reason"], "robots");
    assert!(!ran.out.contains("hunter2"));
}
