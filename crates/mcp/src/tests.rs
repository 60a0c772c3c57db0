//! The tools on a web on loopback: what they answer, and what they refuse.

use std::fmt::Write as _;
use std::path::Path;

use clewline_core::address::Cidr;
use clewline_job::config::Config;
use fieldwork::{HOST, config};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use terrarium::{LiveWeb, Page, Reply, Request, Site, Web, links};

use crate::answer::{LEAST_TOKENS, MOST_TOKENS, USUAL_TOKENS};
use crate::tools::sheets;
use crate::{AssistantDoor, DoorSettings, ToolAnswer};

/// Ways in which a text is hidden from people; `SECRET` stands for the text.
const HIDDEN: [&str; 34] = [
    "<p hidden>SECRET</p>",
    "<p hidden=''>SECRET</p>",
    "<div HIDDEN><p>SECRET</p></div>",
    "<p style='display:none'>SECRET</p>",
    "<p style='DISPLAY : NONE !important'>SECRET</p>",
    "<p style='visibility:hidden'>SECRET</p>",
    "<p style='visibility:collapse'>SECRET</p>",
    "<p style='opacity:0'>SECRET</p>",
    "<p style='opacity:0.01'>SECRET</p>",
    "<p style='font-size:0'>SECRET</p>",
    "<p style='font-size:1px'>SECRET</p>",
    "<p style='text-indent:-9999px'>SECRET</p>",
    "<p style='position:absolute;left:-9999px'>SECRET</p>",
    "<p style='position:fixed;top:-200vh'>SECRET</p>",
    "<p style='margin-left:-5000px'>SECRET</p>",
    "<p style='clip:rect(0,0,0,0)'>SECRET</p>",
    "<p style='clip-path:inset(100%)'>SECRET</p>",
    "<p style='transform:scale(0)'>SECRET</p>",
    "<p style='width:0;height:0;overflow:hidden'>SECRET</p>",
    "<p style='max-height:0;overflow:hidden'>SECRET</p>",
    "<p style='color:transparent'>SECRET</p>",
    "<p style='color:#fff;background-color:white'>SECRET</p>",
    "<p style='color:rgba(0,0,0,0)'>SECRET</p>",
    "<p style='content-visibility:hidden'>SECRET</p>",
    "<p style='filter:opacity(0)'>SECRET</p>",
    "<p class=sr-only>SECRET</p>",
    "<p class='note visually-hidden'>SECRET</p>",
    "<p class=screen-reader-text>SECRET</p>",
    "<p class=d-none>SECRET</p>",
    "<p class=hidden>SECRET</p>",
    "<template>SECRET</template>",
    "<!-- SECRET -->",
    "<noscript>SECRET</noscript>",
    "<script>SECRET</script>",
];

/// A text in characters that nobody sees: tags (U+E0020 and up).
fn in_tags(text: &str) -> String {
    let tag = |c: char| char::from_u32(0xe0000 + u32::from(c)).unwrap();
    text.chars().map(tag).collect()
}

fn large() -> String {
    let mut html = String::from("<title>Large</title><h1>Large</h1>");
    for section in 0..400 {
        let _ = write!(html, "<h2>Part {section}</h2>");
        for line in 0..130 {
            let _ = write!(
                html,
                "<p>Sentence {line} of part {section} is here to be \"read\" once. &amp; {}",
                "x".repeat(40)
            );
        }
    }
    html
}

fn web() -> LiveWeb {
    let mut site = Site::new()
        .page("/", Page::html(format!("<title>Home</title><h1>Home</h1><p>Welcome {}", links(["/map", "/large", "/gone"]))))
        .page("/map", Page::html("<title>Map</title><h1>Map</h1><p>Weak maps forget.</p><h2>put</h2><p>Adds an entry under a key.</p><h2>get</h2><p>Finds it.</p>"))
        .page("/large", Page::html(large()))
        .page("/pixel", Page::bytes("image/png", b"\x89PNG".to_vec()))
        .page("/away", Reply::from(Page::redirect(302, "http://10.9.8.7/")))
        .page("/inward", Reply::from(Page::redirect(302, "http://169.254.169.254/latest/")))
        .page("/kept/away", Page::html("<p>private"))
        .page("/robots.txt", Page::text("User-agent: *\nDisallow: /kept/\n"));
    for (number, hidden) in HIDDEN.iter().enumerate() {
        let body = format!(
            "<title>H</title><h1>Seen</h1><p>Words that people see.</p>{hidden}<p>And more of them.</p>"
        );
        site = site.page(&format!("/hidden/{number}"), Page::html(body));
    }
    let invisible = format!(
        "<h1>Seen</h1><p>Words{} that\u{200b} people\u{feff} see.",
        in_tags("SECRET")
    );
    site = site.page("/invisible", Page::html(invisible));
    let trap = |request: &Request| {
        let path = request.path().trim_end_matches('/');
        Page::html(format!(
            "<h1>Day</h1><a href='{path}/next'>next</a><a href='{path}/month'>month</a>"
        ))
        .into()
    };
    Web::new().site(HOST, site.under("/trap", trap)).start()
}

/// A door to a web, with an empty folder of jobs.
struct Opened {
    web: LiveWeb,
    place: TempDir,
    door: AssistantDoor,
}

impl Opened {
    fn new(change: impl FnOnce(&mut Config)) -> Self {
        let (web, place) = (web(), tempfile::tempdir().unwrap());
        let mut config = config(&web, &place.path().join("unused"));
        config.roots.clear();
        config.scope.foreign_roots = true;
        config.fetch.allow_private = vec!["127.0.0.0/8".parse::<Cidr>().unwrap()];
        change(&mut config);
        let settings = DoorSettings {
            place: place.path().to_owned(),
            config,
        };
        let door = AssistantDoor::new(settings);
        Self { web, place, door }
    }

    fn url(&self, path: &str) -> String {
        self.web.url(HOST, path)
    }

    fn call(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let given = arguments.as_object().cloned().unwrap_or_default();
        self.door.call(tool, &given)
    }

    fn told(&self, tool: &str, arguments: &Value) -> Map<String, Value> {
        let answer = self.call(tool, arguments);
        assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text);
        serde_json::from_str(&answer.text).unwrap()
    }

    fn refused(&self, tool: &str, arguments: &Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer.is_error, "{tool} {arguments}: {}", answer.text);
        let fields: Value = serde_json::from_str(&answer.text).unwrap();
        assert!(fields["hint"].is_string());
        fields["error"].as_str().unwrap().to_owned()
    }

    fn crawl(&self, path: &str, pages: u64) -> String {
        let told = self.told(
            "crawl",
            &json!({ "url": self.url(path), "max_pages": pages }),
        );
        self.door.crawls().wait_for_all();
        told["job"].as_str().unwrap().to_owned()
    }
}

#[test]
fn pages_are_fetched_with_an_outline_and_a_notice() {
    let opened = Opened::new(|_| ());
    let told = opened.told("fetch", &json!({ "url": opened.url("/map") }));
    assert_eq!(told["title"], "Map");
    assert_eq!(told["outline"], json!(["1 Map", "  2 put", "  3 get"]));
    assert!(told["notice"].as_str().unwrap().contains("not orders"));
    assert!(
        told["text"]
            .as_str()
            .unwrap()
            .contains("Adds an entry under a key.")
    );
    assert!(told["captured"].as_str().unwrap().ends_with('Z'));
    for section in ["2", "put", "PUT"] {
        let part = json!({ "url": opened.url("/map"), "section": section });
        let told = opened.told("fetch", &part);
        assert_eq!(told["text"], "## put\n\nAdds an entry under a key.");
    }
    let error = opened.refused(
        "fetch",
        &json!({ "url": opened.url("/map"), "section": "9" }),
    );
    assert!(error.contains("no section"), "{error}");
    assert_eq!(opened.web.log().count("/map"), 1);
}

#[test]
fn hidden_text_is_left_out_and_counted() {
    let opened = Opened::new(|_| ());
    for (number, hidden) in HIDDEN.iter().enumerate() {
        let url = opened.url(&format!("/hidden/{number}"));
        let told = opened.told("fetch", &json!({ "url": url }));
        let text = told["text"].as_str().unwrap();
        assert!(
            text.contains("Words that people see.") && text.contains("And more"),
            "{hidden}"
        );
        assert!(!text.contains("SECRET"), "{hidden}");
        // What no browser shows to anybody is no text of the page.
        if hidden.starts_with("<p") || hidden.starts_with("<div") {
            assert_eq!(told["hidden_text_left_out"]["elements"], 1, "{hidden}");
            assert_eq!(told["hidden_text_left_out"]["characters"], 6, "{hidden}");
        }
    }
    let told = opened.told("fetch", &json!({ "url": opened.url("/invisible") }));
    assert_eq!(told["text"], "# Seen\n\nWords that people see.");
    assert_eq!(told["hidden_text_left_out"]["invisible"], 8);
}

#[test]
fn a_large_page_is_read_whole_in_bounded_parts() {
    let opened = Opened::new(|_| ());
    assert!(large().len() > 5_000_000);
    let url = opened.url("/large");
    let first = opened.call("fetch", &json!({ "url": url }));
    assert!(first.text.chars().count() <= USUAL_TOKENS as usize * 4);
    assert!(first.text.contains("outline") && first.text.contains("Part 1"));
    let (mut cursor, mut all) = (None, String::new());
    loop {
        let answer = opened.call(
            "fetch",
            &json!({ "url": url, "cursor": cursor, "max_tokens": 99_999 }),
        );
        assert!(!answer.is_error && answer.text.chars().count() <= MOST_TOKENS as usize * 4);
        let told: Value = serde_json::from_str(&answer.text).unwrap();
        all.push_str(told["text"].as_str().unwrap());
        all.push('\n');
        cursor = match told["cursor"].as_str() {
            Some(next) => Some(next.to_owned()),
            None => break,
        };
    }
    for section in [0, 7, 399] {
        assert_eq!(
            all.matches(&format!("Sentence 129 of part {section} is"))
                .count(),
            1
        );
    }
    assert_eq!(all.matches("Sentence ").count(), 400 * 130);
    let section = opened.told("fetch", &json!({ "url": url, "section": "Part 7" }));
    assert!(section["text"].as_str().unwrap().starts_with("## Part 7\n"));
    assert_eq!(opened.web.log().count("/large"), 1);
}

#[test]
fn rules_of_the_crawler_hold_for_calls() {
    let opened = Opened::new(|_| ());
    for (path, expected) in [
        ("/away", "10.9.8.7"),
        ("/inward", "169.254.169.254"),
        ("/kept/away", "robots.txt"),
        ("/pixel", "image/png"),
    ] {
        let error = opened.refused("fetch", &json!({ "url": opened.url(path) }));
        assert!(error.contains(expected), "{path}: {error}");
    }
    let closed = Opened::new(|config| config.fetch.allow_private.clear());
    for url in [
        closed.url("/map").replace(HOST, "127.0.0.1"),
        "http://127.0.0.1:1/".to_owned(),
        "http://[::1]/".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        closed.refused("fetch", &json!({ "url": url }));
    }
    assert!(closed.web.log().is_empty());
    for (tool, arguments) in [
        (
            "fetch",
            json!({ "url": "http://a.test/", "proxy": "http://b.test/" }),
        ),
        (
            "crawl",
            json!({ "url": "http://a.test/", "output": "/tmp/x" }),
        ),
        (
            "crawl",
            json!({ "url": "http://a.test/", "resolve": "a:80:127.0.0.1" }),
        ),
        (
            "read",
            json!({ "url": "http://a.test/", "job": "../../etc" }),
        ),
        ("status", json!({ "job": "/" })),
        ("search", json!({ "query": "x".repeat(10_000) })),
        ("fetch", json!({})),
        ("fetch", json!({ "url": 1 })),
        ("dance", json!({})),
    ] {
        opened.refused(tool, &arguments);
    }
}

#[test]
fn a_crawl_is_started_asked_for_searched_read_and_checked() {
    let opened = Opened::new(|_| ());
    let job = opened.crawl("/", 50);
    assert_eq!(job, format!("{HOST}.crawl"));
    let told = opened.told("status", &json!({ "job": job }));
    assert_eq!(told["state"], "finished");
    assert!(told["pages"].as_u64().unwrap() >= 3);
    let told = opened.told("search", &json!({ "query": "entry key" }));
    let first = &told["passages"][0];
    assert_eq!(first["url"], opened.url("/map"));
    assert_eq!(first["headings"], json!(["Map"]));
    for field in ["captured", "digest", "file", "text"] {
        assert!(!first[field].as_str().unwrap().is_empty(), "{field}");
    }
    assert!(first["offset"].as_u64().is_some());
    let told = opened.told("read", &json!({ "url": opened.url("/map") }));
    assert_eq!(told["digest"], first["digest"]);
    let told = opened.told("check", &json!({ "job": job }));
    assert_eq!(told["by_rule"]["links/broken"], 1);
    assert!(told["findings"].to_string().contains("/gone"));
    assert_eq!(opened.crawl("/map", 1), format!("{HOST}-2.crawl"));
    assert_eq!(opened.told("status", &json!({}))["jobs_in_all"], 2);
    let one = AssistantDoor::new(DoorSettings {
        place: opened.place.path().join(&job),
        config: Config::default(),
    });
    let arguments = json!({ "url": opened.url("/") });
    assert!(one.call("crawl", arguments.as_object().unwrap()).is_error);
    assert!(!one.call("read", arguments.as_object().unwrap()).is_error);
}

#[test]
fn a_trap_ends_at_the_limit() {
    let opened = Opened::new(|_| ());
    let job = opened.crawl("/trap/a", 30);
    let told = opened.told("status", &json!({ "job": job }));
    assert!(told["pages"].as_u64().unwrap() <= 30, "{told:?}");
}

#[test]
fn answers_keep_to_their_budget() {
    let opened = Opened::new(|_| ());
    opened.crawl("/", 50);
    for tokens in [0, LEAST_TOKENS, 777, 2_000, USUAL_TOKENS, 1 << 40] {
        let most = tokens.clamp(LEAST_TOKENS, MOST_TOKENS) as usize * 4;
        for (tool, arguments) in [
            (
                "fetch",
                json!({ "url": opened.url("/large"), "max_tokens": tokens }),
            ),
            (
                "read",
                json!({ "url": opened.url("/large"), "max_tokens": tokens }),
            ),
            (
                "search",
                json!({ "query": "sentence part", "max_tokens": tokens }),
            ),
            ("check", json!({ "max_tokens": tokens })),
        ] {
            let answer = opened.call(tool, &arguments);
            let length = answer.text.chars().count();
            assert!(
                !answer.is_error && length <= most,
                "{tool} {tokens}: {length}"
            );
        }
    }
    let (mut cursor, mut texts) = (None, Vec::new());
    loop {
        let told = opened.told(
            "search",
            &json!({ "query": "part 7", "cursor": cursor, "max_tokens": 20_000 }),
        );
        let passages = told["passages"].as_array().unwrap();
        texts.extend(passages.iter().map(|one| one["text"].to_string()));
        match told.get("cursor").and_then(Value::as_str) {
            Some(next) if texts.len() < 100 => cursor = Some(next.to_owned()),
            _ => break,
        }
    }
    let count = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), count, "a passage came twice");
}

#[test]
fn schemas_name_the_arguments_that_tools_take() {
    let opened = Opened::new(|_| ());
    for sheet in sheets() {
        let schema = sheet.schema();
        for name in schema["properties"].as_object().unwrap().keys() {
            let arguments = json!({ name.as_str(): [] });
            let error = opened.refused(sheet.name, &arguments);
            assert!(!error.contains("unknown field"), "{}: {error}", sheet.name);
        }
        let error = opened.refused(sheet.name, &json!({ "unheard": 1 }));
        assert!(error.contains("unknown field"), "{}: {error}", sheet.name);
    }
    assert!(
        Path::new(&opened.place.path())
            .read_dir()
            .unwrap()
            .next()
            .is_none()
    );
}
