//! Text that would steer a terminal, a request or a reader.

use terrarium::{Hit, LiveWeb, Page, Reply, Site, Web};

use crate::trial::{Case, beside, check, crawl};

/// Sequences that clear a screen, rename a window and hide behind C1, each with a mark of its
/// own that must come through.
const STEERING: &str = "mark\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{200b}\r\n\u{0}\u{8}end";

/// The links log is binary: any byte may stand in it, but no text.
const BINARY: &str = "00000.links";

#[test]
fn control_characters_reach_no_output() {
    let refused = b"HTTP/1.1 200 O\x1b[2JK\r\nContent-Length: 0\r\n\r\n";
    let robots = format!("User-agent: *\nDisallow: /denied{STEERING}\nDisallow: /denied\n");
    let map = "<urlset><url><loc>{{a.test}}/mapped</loc>\
               <lastmod>\u{9b}2J\u{202e}&#155;</lastmod></url></urlset>";
    let odd_type = Page::bytes("text/\u{9b}31m\u{202e}html", "x");
    let odd_path = "/a\u{1b}[2Jb?q=\u{1b}]0;x\u{7}#\u{1b}";
    let paths = [
        "/title",
        "/type",
        "/hop",
        "/raw",
        "/ftp",
        "/denied\u{9b}",
        odd_path,
    ];
    let site = beside(paths)
        .page("/robots.txt", Page::text(robots))
        .page(
            "/title",
            Page::html(format!("<title>{STEERING}&#27;[2J&#155;</title>")),
        )
        .page(
            "/type",
            odd_type.header("Last-Modified", "\u{9b}2J\u{202e}"),
        )
        .page("/hop", Page::redirect(302, "/target\u{9b}\u{202e}%1b%0a"))
        .page(
            "/ftp",
            Page::redirect(302, "ftp://ftp.test/\u{9b}31m\u{202e}"),
        )
        .page("/raw", Reply::raw(*refused))
        .page("/sitemap.xml", Page::xml(map));
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    verdict.assert_good(&web, "a.test");
    let title = verdict
        .record(&web.url("a.test", "/title"))
        .title
        .clone()
        .unwrap();
    assert!(
        title.starts_with("mark") && title.contains("end"),
        "{title:?}"
    );
    assert_eq!(
        verdict.outcome(&web.url("a.test", "/denied%C2%9B")),
        "skipped robots"
    );
    assert_eq!(
        verdict.outcome(&web.url("a.test", "/mapped")),
        "fetched 404"
    );
    for (name, bytes) in verdict.outputs() {
        let is_binary = name.ends_with(BINARY) || name.contains(".warc.");
        if is_binary || name.contains("/state/") || name == "debug" {
            let forged = bytes.windows(4).any(|window| window == b"\x1b[2J");
            assert!(!forged, "{name} holds a sequence");
            continue;
        }
        let coloured = name == "text, colour true";
        let text = String::from_utf8(bytes).expect("outputs are UTF-8");
        let steering = |c: char| {
            clewline_job::escape::is_steering(c) && c != '\n' && !(coloured && c == '\u{1b}')
        };
        let at = text.find(steering);
        assert!(
            at.is_none(),
            "{name}: {:?}",
            at.map(|at| text[at..].chars().take(40).collect::<String>())
        );
        assert!(
            !text.contains("\u{1b}[2J") && !text.contains("\u{1b}]"),
            "{name}"
        );
    }
}

/// Every request line is a method, a target and a version, and every further line is a field
/// that the crawler itself put there.
fn assert_sound(hit: &Hit) {
    let raw = std::str::from_utf8(&hit.raw).expect("requests are ASCII");
    assert!(raw.is_ascii(), "{raw:?}");
    let mut lines = raw.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let words: Vec<&str> = line.split(' ').collect();
    assert!(matches!(words[..], ["GET", _, "HTTP/1.1"]), "{line:?}");
    for line in lines {
        assert!(!line.contains(['\r', '\n', '\t', '\u{0}']), "{line:?}");
        let name = line
            .split(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let known = [
            "",
            "host",
            "user-agent",
            "accept",
            "accept-language",
            "accept-encoding",
            "cookie",
        ];
        assert!(known.contains(&name.as_str()), "{line:?}");
    }
}

#[test]
fn no_reference_breaks_out_of_a_request() {
    let targets = [
        "/a b c",
        "/line\r\nX-Injected: 1\r\n\r\nGET /smuggled HTTP/1.1",
        "/tab\tend\n",
        "/%0d%0aX-Injected:%201",
        "/q?a b=c d\r\nX-Injected: 1",
        "/nul\u{0}end",
        "/ünïcode/\u{2028}",
        "/back\\slash\\..\\up",
        "/%zz%",
        "/\"><script>",
        "//{{host}}\r\nX-Injected: 1/x",
        "http://a.test\r\nX-Injected:1/x",
        "/#fragment\r\nX-Injected: 1",
    ];
    let front = targets
        .iter()
        .map(|target| format!("<a href=\"{}\">x</a>", target.replace('"', "&quot;")));
    let front: String = front.chain(["<a href=/hops>h</a>".to_owned()]).collect();
    let front = Page::html(front)
        .verbatim()
        .header("Set-Cookie", "a=b\u{9b}c")
        .header("Set-Cookie", "n\u{e9}me=v\u{fc}");
    let site = Site::new()
        .page("/", front)
        .page(
            "/hops",
            Page::html("<a href=/h1>1</a><a href=/h2>2</a><a href=/h3>3</a>"),
        )
        .page("/h1", Page::redirect(302, "/to here\tX-Injected: 1"))
        .page("/h2", Page::redirect(302, "/\u{fc}\u{ff}"))
        .page("/h3", Page::redirect(302, *b"/latin\xfc\xe9"))
        .handler(|_| Page::html("x").into());
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    assert_eq!(
        verdict.outcome(&web.url("a.test", "/a%20b%20c")),
        "fetched 200"
    );
    let log = web.log();
    assert!(log.len() > targets.len(), "{} requests", log.len());
    for hit in &log {
        let raw = &hit.raw;
        // The cookie is the one field that holds what a server said, in its own bytes.
        if raw.is_ascii() {
            assert_sound(hit);
        } else {
            let lines = raw
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_ascii());
            assert!(
                lines.into_iter().all(|line| line.starts_with(b"Cookie: ")),
                "{hit:?}"
            );
        }
    }
    assert_eq!(log.count("/smuggled"), 0);
}

#[test]
fn bytes_that_are_no_text_are_read_as_far_as_they_go() {
    let latin: Reply = Page::charset(
        "iso-8859-1",
        *b"<title>caf\xe9</title><a href=/caf\xe9?\xe9>x</a>",
    )
    .into();
    let broken: Reply =
        Page::html(*b"<title>\xff\xfe\xc3(</title><a href=/after-broken>x</a>").into();
    let random: Vec<u8> = (0..50_000_u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let utf16: Vec<u8> = "<a href=/from-utf16>x</a>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let marked = [b"\xff\xfe".to_vec(), utf16.clone()].concat();
    let cases: Vec<Case> = vec![
        ("latin", latin, "fetched 200"),
        ("broken UTF-8", broken, "fetched 200"),
        ("noise", Page::html(random.clone()).into(), "fetched 200"),
        (
            "noise as XML",
            Page::xml(random.clone()).into(),
            "fetched 200",
        ),
        (
            "noise as CSS",
            Page::bytes("text/css", random).into(),
            "fetched 200",
        ),
        (
            "UTF-7 by header",
            Page::charset("utf-7", "+ADw-a href=/from-utf7+AD4-x").into(),
            "fetched 200",
        ),
        (
            "UTF-7 by meta",
            Page::bytes(
                "text/html",
                "<meta charset=utf-7>+ADw-a href=/from-utf7+AD4-",
            )
            .into(),
            "fetched 200",
        ),
        (
            "a label of the replacement",
            Page::charset("iso-2022-kr", "<a href=/from-replacement>x</a>").into(),
            "fetched 200",
        ),
        (
            "UTF-16 with mark",
            Page::bytes("text/html", marked).into(),
            "fetched 200",
        ),
        (
            "UTF-16 that says UTF-8",
            Page::html(utf16).into(),
            "fetched 200",
        ),
        (
            "a label that is none",
            Page::charset("\u{1b}x\"';,=", "<a href=/from-odd>x</a>").into(),
            "fetched 200",
        ),
    ];
    let (web, verdict) = check(cases, |_| {});
    let asked = |path: &str| web.log().count(path) > 0;
    assert!(
        asked("/caf%C3%A9?%E9"),
        "the path in UTF-8, the query in the page's encoding"
    );
    assert!(asked("/after-broken") && asked("/from-utf16"));
    assert!(!asked("/from-utf7") && !asked("/from-replacement"));
    let title = verdict.record(&bad(&web, 0)).title.clone();
    assert_eq!(title.as_deref(), Some("café"));
}

fn bad(web: &LiveWeb, number: usize) -> String {
    web.url(&format!("case{number}.test"), "/bad")
}
