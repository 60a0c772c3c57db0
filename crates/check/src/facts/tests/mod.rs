//! Every fact and mark: a page that has it, and one that nearly has.

mod folder;
mod marks;
mod rows;

use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use clewline_job::pages::PageAnswer;
use clewline_job::record::Record;
use proptest::prelude::*;

use super::page::{PageInput, read_page};
use super::reading::BodyUse;
use super::*;

const PAGE: &str = "https://h.test/d/p";

pub(super) fn record(url: &str) -> Record {
    serde_json::from_value(serde_json::json!({
        "v": 1, "url": url, "key": Keyer::default().key(&CrawlUrl::parse(url).unwrap()),
        "outcome": "fetched", "status": 200, "wire_bytes": 10, "body_bytes": 20,
        "content_type": "text/html", "charset": "UTF-8", "links": 0, "new_links": 0, "depth": 1,
        "kind": "anchor", "tries": 1, "timings": {}, "fetched_at": "2026-01-01T00:00:00.000Z",
        "digest": "xxh3:0",
    }))
    .unwrap()
}

pub(super) fn facts_with(head: &str, body: &str) -> FactRow {
    let answer = PageAnswer {
        head: format!("HTTP/1.1 200 OK\r\n{head}\r\n").into_bytes(),
        body: body.as_bytes().to_vec(),
        ..PageAnswer::default()
    };
    let (keyer, record) = (Keyer::default(), record(PAGE));
    read_page(&PageInput::new(&keyer, &record, &answer, BodyUse::Html))
}

/// What a browser made of a page counts, in whatever encoding its answer was.
#[test]
fn facts_of_a_rendered_page_are_those_of_its_dom() {
    let answer = PageAnswer {
        head: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        body: b"<title>Sent</title><div id=root></div><a href=y>sent</a>".to_vec(),
        rendered: Some("<title>Gezeigt \u{fc}ber</title><a href=x>shown</a>".into()),
        ..PageAnswer::default()
    };
    let (keyer, mut record) = (Keyer::default(), record(PAGE));
    record.charset = Some("windows-1252".into());
    let facts = read_page(&PageInput::new(&keyer, &record, &answer, BodyUse::Html));
    assert_eq!(told(&facts), ["anchor /d/x"]);
    assert_eq!(*facts.html.unwrap().titles[0], *"Gezeigt \u{fc}ber");
}

pub(super) fn facts(body: &str) -> FactRow {
    facts_with("", body)
}

fn html(body: &str) -> HtmlFacts {
    facts(body).html.unwrap()
}

/// References as `kind target #fragment`, with `!` where they are ignored.
fn told(facts: &FactRow) -> Vec<String> {
    let known = [
        "https://h.test/d/x",
        "https://h.test/x",
        "https://h.test/d/y",
        "https://h.test/b/x",
        "https://h.test/b/",
        "https://h.test/d/p",
        "https://h.test/d/a%20b",
    ];
    let keyer = Keyer::default();
    let url_of = |key: &Key| {
        let mut known = known.into_iter();
        let found = known.find(|url| keyer.key(&CrawlUrl::parse(url).unwrap()) == *key);
        found.map_or_else(|| key.to_string(), |url| url.replace("https://h.test", ""))
    };
    let told = facts.references.iter().map(|reference| {
        let target = match &reference.target {
            ReferenceTarget::Itself => "itself".to_owned(),
            ReferenceTarget::Own(key) => url_of(key),
            ReferenceTarget::Foreign(url) => url.to_string(),
            ReferenceTarget::Scheme(scheme) => format!("{scheme}:"),
            ReferenceTarget::Malformed(raw) => format!("malformed {raw}"),
        };
        let fragment = match &reference.fragment {
            None => String::new(),
            Some(Fragment::Other) => " #other".to_owned(),
            Some(Fragment::Id(raw, _)) => {
                let named = ["a", "b"].into_iter().find(|id| fragment_hash(id) == *raw);
                format!(" #{}", named.unwrap_or("?"))
            }
        };
        let ignored = if reference.ignored { "!" } else { "" };
        format!("{ignored}{} {target}{fragment}", reference.kind.name())
    });
    told.collect()
}

#[test]
fn references_are_told_with_fragments() {
    for (body, expected) in [
        ("<a href=x>", &["anchor /d/x"][..]),
        (
            "<a href='x#a'><a href='x#b'><a href='x#a'>",
            &["anchor /d/x #a", "anchor /d/x #b"],
        ),
        (
            "<a href='#a'><a href='#'><a href=''>",
            &["anchor itself #a"],
        ),
        ("<a href='#top'>", &["anchor itself #other"]),
        (
            "<base href=/b/><a href=x><a href='#a'>",
            &["anchor /b/x", "anchor /b/ #a"],
        ),
        ("<a href=x><base href=/b/>", &["anchor /b/x"]),
        ("<a href=//o.test/y#a>", &["anchor https://o.test/y #a"]),
        ("<!-- <a href=x> --><a href=y>", &["anchor /d/y"]),
        (
            "<a href=javascript:x><a href=mailto:a@b>",
            &["anchor javascript:", "anchor mailto:"],
        ),
        ("<a href=mailto:>", &["anchor malformed mailto:"]),
        ("<a href='http://'>", &["anchor malformed http://"]),
        ("<a href='http://a b/'>", &["anchor malformed http://a b/"]),
        (
            "<a href=x data-clewline-ignore><a href=y data-proofer-ignore>",
            &["!anchor /d/x", "!anchor /d/y"],
        ),
        (
            "<a href=x data-clewline-ignore><a href=x>",
            &["anchor /d/x"],
        ),
        ("<a href=x data-ignore>", &["anchor /d/x"]),
        (
            "<link rel=preconnect href=//o.test><link rel=dns-prefetch href=//o.test>",
            &[],
        ),
        (
            "<link rel=stylesheet href=x><link rel=icon href=y>",
            &["style /d/x", "asset /d/y"],
        ),
        ("<link rel=preload as=font href=x>", &["font /d/x"]),
        ("<img src=x srcset='y 2x'>", &["image /d/x", "image /d/y"]),
        ("<video src=x poster=y>", &["media /d/x", "image /d/y"]),
        ("<img data-src=/x>", &["lazy-image /x"]),
        (
            "<iframe src=x></iframe><object data=y>",
            &["frame /d/x", "media /d/y"],
        ),
        ("<script src=x></script>", &["script /d/x"]),
        (
            "<meta http-equiv=refresh content='0; url=x'>",
            &["refresh /d/x"],
        ),
        (
            "<style>@import 'x'; a{b:url(y)}</style>",
            &["css-import /d/x", "css-url /d/y"],
        ),
        ("<p style='a:url(x)'>", &["css-url /d/x"]),
        ("<form action=x>", &[]),
        (
            "<svg><a xlink:href=x></a><use href='#a'></use></svg>",
            &["anchor /d/x", "image itself #a"],
        ),
        ("<area href=x>", &["area /d/x"]),
        ("<script>'<a href=x>'</script>", &[]),
        ("<iframe srcdoc='<a href=x>'></iframe>", &["anchor /d/x"]),
    ] {
        assert_eq!(told(&facts(body)), expected, "{body}");
    }
}

#[test]
fn references_of_fields_are_told() {
    for (head, expected) in [
        ("Link: <x>; rel=next\r\n", &["next /d/x"][..]),
        ("Link: <x>; rel=preconnect\r\n", &[]),
        ("Link: <x>; rel=next; anchor=y\r\n", &[]),
        ("Refresh: 0; url=x\r\n", &["refresh /d/x"]),
        ("Link: </x>; rel=canonical\r\n", &["canonical /x"]),
    ] {
        let facts = facts_with(head, "<base href=/b/>");
        assert_eq!(told(&facts), expected, "{head}");
        let canonicals = facts.html.unwrap().canonicals;
        let is_field = |one: &CanonicalFact| one.place == CanonicalPlace::Field;
        assert_eq!(canonicals.iter().any(is_field), head.contains("canonical"));
    }
}

#[test]
fn bytes_lead_to_the_tags() {
    let body = "é <!-- c --><a href=x><p>t<img src=y>";
    let facts = facts(body);
    for (reference, needle) in facts.references.iter().zip(["<a", "<img"]) {
        assert_eq!(Some(reference.byte as usize), body.find(needle));
    }
}

#[test]
fn ids_are_what_fragments_may_name() {
    for (body, id, expected) in [
        ("<p id=a>", "a", true),
        ("<p id=A>", "a", false),
        ("<a name=a>", "a", true),
        ("<map name=a>", "a", false),
        ("<p name=a>", "a", false),
        ("<p id=user-content-a>", "a", true),
        ("<p id=user-content-a>", "user-content-a", true),
        ("<p id='a&amp;b'>", "a&b", true),
        ("<!-- <p id=a> -->", "a", false),
        ("<svg><g id=a></g></svg>", "a", true),
    ] {
        let ids = html(body).ids;
        assert!(ids.is_sorted());
        assert_eq!(ids.contains(&fragment_hash(id)), expected, "{body} {id}");
    }
}

#[test]
fn documents_say_what_they_are() {
    let page = html(
        "<!doctype html><html lang=' de '><meta charset=UTF-8><title> A\n B </title>\
         <meta name=Description content=' d  e '><meta name=robots content='NoIndex, follow'>\
         <meta http-equiv=content-security-policy content='a b; Upgrade-Insecure-Requests'>\
         <link rel=canonical href=/c><link rel=alternate hreflang=en href=/en>\
         <script>12345</script><script type=application/json>{}</script>\
         <body><h1>One <i>two</i></h1><h1>Three</h1><svg><title>No</title></svg>",
    );
    assert_eq!(page.language.as_deref(), Some("de"));
    assert_eq!(page.charset.as_deref(), Some("utf-8"));
    assert_eq!(page.titles, ["A B".into()]);
    assert_eq!(page.descriptions, ["d e".into()]);
    assert_eq!(&*page.robots, "noindex, follow");
    assert!(page.upgrades_insecure);
    assert_eq!(page.h1, (2, "One two".into()));
    assert_eq!(page.script_bytes, 5);
    assert_eq!(page.words, 3);
    assert_eq!(&*page.translations[0].0, "en");
    let url = CrawlUrl::parse("https://h.test/c").unwrap();
    assert_eq!(page.canonicals[0].url, Ok(url));
}

#[test]
fn heads_end_where_browsers_end_them() {
    const LINK: &str = "<link rel=canonical href=x>";
    for (before, expected) in [
        ("", CanonicalPlace::Head),
        (
            "<head><meta charset=x><script>a</script><style>b</style>",
            CanonicalPlace::Head,
        ),
        ("<head></head>", CanonicalPlace::Head),
        ("<head> \n <!-- c -->", CanonicalPlace::Head),
        ("<noscript><img src=x></noscript>", CanonicalPlace::Head),
        ("<template><p>a</template>", CanonicalPlace::Head),
        ("<head>text", CanonicalPlace::Body),
        ("<head><img>", CanonicalPlace::Body),
        ("<head></head><body>", CanonicalPlace::Body),
        ("<svg></svg>", CanonicalPlace::Body),
        ("<head></body>", CanonicalPlace::Body),
    ] {
        let page = html(&[before, LINK].concat());
        assert_eq!(page.canonicals[0].place, expected, "{before}");
    }
}

#[test]
fn charsets_count_at_the_beginning_only() {
    let late = [" ".repeat(1_100).as_str(), "<meta charset=utf-8>"].concat();
    for (body, expected) in [
        ("<meta charset=Latin1>", Some("latin1")),
        (
            "<meta http-equiv=Content-Type content='text/html; charset=KOI8-R'>",
            Some("koi8-r"),
        ),
        ("<meta content='text/html; charset=x'>", None),
        (&late, None),
    ] {
        assert_eq!(html(body).charset.as_deref(), expected, "{body}");
    }
}

#[test]
fn equal_words_have_equal_fingerprints() {
    let same = |one: &str, other: &str| {
        let (one, other) = (html(one), html(other));
        (one.exact == other.exact, one.near == other.near)
    };
    assert_eq!(
        same("<p>One two</p>", "<div>one <b>TWO</b></div>"),
        (true, true)
    );
    assert_eq!(same("<p>One two", "<p>Onetwo"), (false, false));
    assert_eq!(same("<p>a<p>b", "<p>a b"), (true, true));
    assert_eq!(html("<img>").exact, 0);
    assert_eq!(
        html("<noscript>a b</noscript><svg><text>c</text></svg>").words,
        0
    );
}

#[test]
fn summaries_say_what_the_table_needs() {
    let url = CrawlUrl::parse(PAGE).unwrap();
    for (head, body, flags) in [
        ("", "<title>a", RowFlags::HTML),
        ("X-Robots-Tag: noindex\r\n", "", RowFlags::NOINDEX),
        ("", "<meta name=robots content=none>", RowFlags::NOINDEX),
        (
            "",
            "<link rel=canonical href=x>",
            RowFlags::CANONICAL_ELSEWHERE,
        ),
    ] {
        assert!(
            facts_with(head, body).summary(&url).flags.has(flags),
            "{head}{body}"
        );
    }
    for (head, body, flags) in [
        ("X-Robots-Tag: otherbot: noindex\r\n", "", RowFlags::NOINDEX),
        ("", "<meta name=robots content=index>", RowFlags::NOINDEX),
        (
            "",
            "<link rel=canonical href=p>",
            RowFlags::CANONICAL_ELSEWHERE,
        ),
        (
            "",
            "<p><link rel=canonical href=x>",
            RowFlags::CANONICAL_ELSEWHERE,
        ),
    ] {
        assert!(
            !facts_with(head, body).summary(&url).flags.has(flags),
            "{head}{body}"
        );
    }
    assert_eq!(facts("<p>").summary(&url).title, 0);
    assert_ne!(facts("<title>a").summary(&url).title, 0);
}

#[rustfmt::skip]
const PIECES: [&str; 44] = [
    "<a href=x>", "</a>", "<a href='#", "'>", "<img src=y>", "<base href=/b>", "<p>", "</p>",
    "<ul>", "<li>", "</ul>", "<table>", "<td headers=a id=b>", "</table>", "<svg>", "</svg>", "<math>",
    "<title>", "</title>", "<style>", "</style>", "url(", "<script>", "</script>", "<template>",
    "</template>", "<noscript>", "</noscript>", "<label for=b>", "</label>", "<input id=b>", "<h1>",
    "<h4>", "</h1>", "text é", "&amp;", "<!--", "-->", "<iframe srcdoc='<a href=q>'>", "</iframe>",
    "<div hidden>", "</div>", "<dl><dt>", "<link rel=canonical href=",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn no_page_breaks_the_reader(pieces in prop::collection::vec(0..PIECES.len(), 0..60)) {
        let body: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        let facts = facts(&body);
        for reference in &facts.references {
            prop_assert!((reference.byte as usize) < body.len());
        }
        rows::check_round(&facts);
    }
}

/// Time is linear: what is ten times as long has ten times as many tokens, and no list grows beyond
/// its bound.
#[test]
fn hostile_pages_are_bounded() {
    for piece in [
        "<a href=x>",
        "<ul>",
        "<b>",
        "</i>",
        "<li>",
        "<table><td>",
        "<svg>",
        "<p id=a>",
        "<label>",
    ] {
        let facts = facts(&piece.repeat(50_000));
        assert!(facts.references.len() <= MOST_REFERENCES, "{piece}");
        assert!(facts.html.unwrap().marks.len() <= MOST_MARKS, "{piece}");
    }
    let many: Vec<String> = (0..MOST_REFERENCES + 10)
        .map(|n| format!("<a href=x{n}>"))
        .collect();
    let many = many.concat();
    let facts = facts(&many);
    assert!(facts.is_cut);
    assert_eq!(facts.references.len(), MOST_REFERENCES);
    let kinds = facts.references.iter().map(|reference| reference.kind);
    assert!(kinds.into_iter().all(|kind| kind == LinkKind::Anchor));
}
