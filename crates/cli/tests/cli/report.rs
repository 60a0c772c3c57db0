//! What a crawl prints, and how much it talks.

use serde_json::Value;
use terrarium::{Page, Site};

use crate::place::{HOST, Place, garden, masked, web_of};

const NOTE: &str = "note: 127.0.0.1 is this machine: no rate limit (as --speed max)\n";

#[test]
fn a_crawl_reports_what_it_found() {
    let (web, place) = (web_of(garden()), Place::new());
    let ran = place.run(&[&web.url(HOST, "/")]);
    let expected = "\
outcomes   fetched                    3   50.0 %  ████████████
           redirected                 1   16.7 %  ████
           skipped                    2   33.3 %  ████████

status     200                        2   50.0 %  ████████████
           301                        1   25.0 %  ██████
           404                        1   25.0 %  ██████

types      text/html                  3  100.0 %  ████████████████████████

skipped    robots                     1  robots.txt disallows it
           no-sitemap                 1  there is no sitemap at the usual place

not queued out-of-scope               1  it lies outside the scope of the crawl

traffic    # B over the network, # B decoded, # kB/s
in flight  # at most, 100 allowed
URLs       6 done, 0 to do

broken     404  http://127.0.0.1:PORT/gone
                from http://127.0.0.1:PORT/a (anchor)

3 pages in # s, # pages/s, 1 broken
http://127.0.0.1:PORT/ · finished · 127.0.0.1-PORT.crawl
report     127.0.0.1-PORT.crawl/report.html
next       clewline serve 127.0.0.1-PORT.crawl
           clewline search 127.0.0.1-PORT.crawl WORDS
";
    let text = masked(&ran.out, &web);
    let sizes = regex::Regex::new(r"\d+ B ").unwrap();
    assert_eq!(sizes.replace_all(&text, "# B "), expected);
    assert_eq!((ran.code, ran.talk.as_str()), (0, NOTE));
    let folder = place.names(".").pop().unwrap();
    assert_eq!(
        place.names(&folder),
        [
            "archive",
            "job.toml",
            "links",
            "report.html",
            "state",
            "urls.jsonl"
        ]
    );
}

#[test]
fn the_list_is_the_same_with_and_without_a_folder() {
    let web = web_of(garden());
    let root = web.url(HOST, "/");
    let expected = "\
*** Report ***
http://127.0.0.1:PORT/ 200 text/html UTF-8 119 3/4
http://127.0.0.1:PORT/a 200 text/html UTF-8 38 1/1
http://127.0.0.1:PORT/gone 404 text/html None 24
http://127.0.0.1:PORT/old 301 redirect http://127.0.0.1:PORT/a
http://127.0.0.1:PORT/secret/ skipped robots
http://127.0.0.1:PORT/sitemap.xml skipped no-sitemap
Finished 6 urls in # secs (max_tasks=100) (# urls/sec/task)
         1 error
        24 error_bytes
         2 html
       157 html_bytes
         1 redirect
         2 skip
         1 skip_no-sitemap
         1 skip_robots
         1 status_404
Todo: 0
Done: 6
Date: DATE
";
    let place = Place::new();
    let kept = place.run(&["--list", &root]);
    assert_eq!(masked(&kept.out, &web), expected);
    let forgotten = Place::new().run(&["--list", "--no-output", &root]);
    assert_eq!(masked(&forgotten.out, &web), expected);
    assert_eq!((kept.code, forgotten.code), (0, 0));
}

#[test]
fn the_json_report_adds_up() {
    let web = web_of(garden());
    let root = web.url(HOST, "/");
    for more in [&[][..], &["--no-output"], &["-n", "1"]] {
        let line = [&["--format", "json", &root], more].concat();
        let ran = Place::new().run(&line);
        assert_eq!(ran.code, 0, "{more:?} {}", ran.talk);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let number = |path: &str| report.pointer(path).unwrap().as_u64().unwrap();
        let sum = |path: &str| -> u64 {
            let counts = report.pointer(path).unwrap().as_object().unwrap();
            counts.values().map(|count| count.as_u64().unwrap()).sum()
        };
        let done: u64 = number("/tally/done");
        assert_eq!(number("/facts/admitted"), done + number("/facts/todo"));
        assert_eq!(sum("/tally/outcomes"), done);
        let without_page = number("/tally/outcomes/skipped") + number("/tally/outcomes/failed");
        let reasons: u64 = sum("/tally/skipped") + sum("/tally/failures");
        assert_eq!(reasons, without_page);
        assert_eq!(report["facts"]["roots"][0], root);
    }
}

#[test]
fn quiet_leaves_the_report() {
    let web = web_of(garden());
    let ran = Place::new().run(&["-q", &web.url(HOST, "/"), "-n", "1"]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    assert!(ran.out.contains("\n1 page in "), "{}", ran.out);
    assert!(
        ran.out.contains("\nnext       clewline resume 127."),
        "{}",
        ran.out
    );
}

#[test]
fn verbose_tells_each_url() {
    let web = web_of(garden());
    let root = web.url(HOST, "/");
    let lines = |flag: &str| {
        let ran = Place::new().run(&["--no-output", flag, &root]);
        let talk = masked(&ran.talk, &web);
        let mut lines: Vec<String> = talk.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let expected = [
        "200 http://127.0.0.1:PORT/",
        "200 http://127.0.0.1:PORT/a",
        "301 http://127.0.0.1:PORT/old -> http://127.0.0.1:PORT/a",
        "404 http://127.0.0.1:PORT/gone",
        "note: 127.0.0.1 is this machine: no rate limit (as --speed max)",
        "skipped (no-sitemap) http://127.0.0.1:PORT/sitemap.xml",
        "skipped (robots) http://127.0.0.1:PORT/secret/",
    ];
    assert_eq!(lines("-v"), expected);
    let detailed = lines("-vv");
    assert_eq!(
        detailed[1],
        "200 http://127.0.0.1:PORT/a (text/html, 38 bytes, # ms, 1 of 1 link new, depth 1, \
         from http://127.0.0.1:PORT/)"
    );
    assert!(
        detailed.concat().contains("Disallow: /secret/"),
        "{detailed:?}"
    );
}

#[test]
fn notes_come_before_the_crawl() {
    let site = Site::new().page("/docs/guide/intro.html", Page::html("hello"));
    let web = web_of(site);
    let ran = Place::new().run(&[
        "--no-output",
        "--ignore-robots",
        &web.url(HOST, "/docs/guide/intro.html"),
    ]);
    let expected = "\
note: crawling all of 127.0.0.1:PORT; to stay below /docs/guide/ add --no-parent
note: robots.txt is ignored (--ignore-robots); only for your own sites
";
    assert_eq!(masked(&ran.talk, &web), format!("{expected}{NOTE}"));
    let line = ["--no-output", "-d", "0", "--no-parent"];
    let root = web.url(HOST, "/docs/guide/intro.html");
    let ran = Place::new().run(&[&line[..], &[root.as_str()]].concat());
    assert_eq!(ran.talk, NOTE);
}

#[test]
fn a_root_without_a_scheme_falls_back_to_http() {
    let web = web_of(garden());
    let root = format!("{HOST}:{}", web.addr(HOST).port());
    // The server waits for the rest of what it takes for a request, and so does the client.
    let line = ["--no-output", "-n", "1", "--connect-timeout", "300ms"];
    let ran = Place::new().run(&[&line[..], &[root.as_str()]].concat());
    let expected = "note: https does not answer; trying http://127.0.0.1:PORT/";
    assert!(masked(&ran.talk, &web).contains(expected), "{}", ran.talk);
    assert_eq!(ran.code, 0);
}
