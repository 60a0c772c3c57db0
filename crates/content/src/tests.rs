//! Whole pages, and pages that mean harm.

use proptest::prelude::*;
use url::Url;

use crate::{Content, ContentLimits, Readers, ReadingSpeed, Refusal};

fn url() -> Url {
    "https://example.com/docs/page.html".parse().unwrap()
}

fn read(html: &str) -> Content {
    Content::from_html(html, &url(), &ContentLimits::default()).unwrap()
}

const ARTICLE: &str = r#"<!doctype html><html lang="de-AT"><head>
<title> Ein &amp; Titel </title>
<meta name="description" content="Worum es geht">
<meta property="og:title" content="OG"><meta property="og:image" content="/i.png">
<meta property="article:published_time" content="2021-05-04T08:12:31+0200">
<link rel="stylesheet canonical" href="../">
<script type="application/ld+json">
{"@graph": [{"@type": "Article", "author": {"name": "A. B."}, "dateModified": "2021-06-01"}]}
</script><script>var noise = "<p>";</script></head>
<body><nav><a href="/">Heim</a></nav><main><h1>Kopf<a class="headerlink" href="&#35;x">¶</a></h1>
<p>Worte, die etwas sagen.</p></main><footer>Impressum</footer></body></html>"#;

#[test]
fn a_page_tells_about_itself() {
    let content = read(ARTICLE);
    let found = &content.metadata;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    assert_eq!(text(&found.title), "Ein & Titel");
    assert_eq!(text(&found.language), "de-AT");
    assert_eq!(text(&found.description), "Worum es geht");
    assert_eq!(text(&found.author), "A. B.");
    assert_eq!(text(&found.published), "2021-05-04T08:12:31+02:00");
    assert_eq!(text(&found.modified), "2021-06-01");
    assert_eq!(text(&found.canonical), "https://example.com/");
    assert_eq!(found.open_graph["image"], "/i.png");
    assert_eq!(found.json_ld.len(), 1);
    assert_eq!(found.headings[0].text, "Kopf");
    assert_eq!(content.language.as_deref(), Some("de"));
    assert_eq!(text(&found.html_title), "Ein & Titel");
    assert_eq!(text(&found.h1), "Kopf");
    assert_eq!(
        content.text,
        "Heim\n\nKopf¶\n\nWorte, die etwas sagen.\n\nImpressum"
    );
    let main = content.main.unwrap();
    assert_eq!(main.text, "Kopf\n\nWorte, die etwas sagen.");
    assert_eq!(main.markdown, "# Kopf\n\nWorte, die etwas sagen.\n");
    assert_eq!(main.words, 5);
}

#[test]
fn what_is_missing_is_taken_from_elsewhere() {
    let html = r#"<meta property="og:locale" content="en_GB"><h1>Only heading</h1>
        <p>Posted <time datetime="2020-01-02">then</time></p>"#;
    let found = read(html).metadata;
    assert_eq!(found.title.as_deref(), Some("Only heading"));
    assert_eq!(found.html_title, None);
    assert_eq!(found.h1.as_deref(), Some("Only heading"));
    assert_eq!(found.language.as_deref(), Some("en-GB"));
    assert_eq!(found.published.as_deref(), Some("2020-01-02"));
}

#[test]
fn a_language_is_detected_where_none_is_declared() {
    let html = "<p>Die Würde des Menschen ist unantastbar. Sie zu achten und zu schützen ist \
        Verpflichtung aller staatlichen Gewalt.";
    assert_eq!(read(html).language.as_deref(), Some("de"));
    let undeclared = format!("<html lang=und>{html}");
    assert_eq!(read(&undeclared).language.as_deref(), Some("de"));
    assert_eq!(read("<html lang=eng><p>x").language.as_deref(), Some("en"));
    assert_eq!(read("<p>x").language, None);
}

#[test]
fn skimming_leaves_out_the_main_part_only() {
    let skimmed = Content::skim(ARTICLE, &url(), &ContentLimits::default()).unwrap();
    let mut whole = read(ARTICLE);
    whole.main = None;
    assert_eq!(skimmed, whole);
}

#[test]
fn harmful_pages_are_read_or_refused() {
    let limits = ContentLimits::default();
    let deep = |tag: &str| format!("<{tag}>x").repeat(200_000);
    let cases = [
        (deep("div"), Some(Refusal::TooDeep { deepest: 512 })),
        (deep("b"), Some(Refusal::TooDeep { deepest: 512 })),
        (deep("p"), None),
        (deep("li"), None),
        (deep("td"), None),
        (deep("a href=x"), None),
        (format!("<ul>{}", "<li><ul>".repeat(200)), None),
        (format!("<p {}>x", "a ".repeat(1 << 20)), None),
        (format!("<p title='{}'>x", "a".repeat(8 << 20)), None),
        ("<".repeat(1 << 20), None),
        ("</".repeat(1 << 20), None),
        ("<!--".repeat(1 << 18), None),
        ("<script></".repeat(1 << 18), None),
        (
            "<svg>".repeat(1 << 18),
            Some(Refusal::TooDeep { deepest: 512 }),
        ),
        ("&".repeat(1 << 20), None),
        ("`".repeat(1 << 20), None),
        ("<pre>`</pre>".repeat(1 << 16), None),
        (
            "x".repeat(17 << 20),
            Some(Refusal::TooLong { most: 16 << 20 }),
        ),
        (
            "<br>".repeat(1 << 20),
            Some(Refusal::TooManyNodes { most: 1_000_000 }),
        ),
    ];
    for (html, refusal) in cases {
        let result = Content::from_html(&html, &url(), &limits);
        assert_eq!(result.err(), refusal, "{}", &html[..html.len().min(20)]);
    }
}

#[test]
fn shapes_of_a_drawing_do_not_nest() {
    let html = format!("<p>before<svg>{}</svg>after", "<path d='M0'/>".repeat(600));
    assert_eq!(read(&html).main.unwrap().text, "before [diagram] after");
    assert_eq!(read("<p>before<svg/>after").text, "beforeafter");
}

#[test]
fn a_page_that_is_a_table_is_a_table() {
    let html = "<p>x<table><tbody><tr><th>one<th>two<tr><td rowspan=2>1<td>2<tr><td>3</table>";
    assert_eq!(
        read(html).main.unwrap().markdown,
        "x\n\n| one | two |\n| --- | --- |\n| 1 | 2 |\n| | 3 |\n"
    );
    let layout = "<table><tr><td>m<td><p>All the words of the page are in this cell.</table>";
    assert_eq!(
        read(layout).main.unwrap().markdown,
        "All the words of the page are in this cell.\n"
    );
}

#[test]
fn the_title_of_a_drawing_is_not_that_of_the_page() {
    let found = read("<svg><title>Icon</title></svg><h1>Heading</h1>").metadata;
    assert_eq!(
        (found.html_title, found.title.as_deref()),
        (None, Some("Heading"))
    );
}

#[test]
fn a_page_that_takes_too_long_says_so() {
    let limits = ContentLimits {
        cpu_time: std::time::Duration::from_nanos(1),
        ..ContentLimits::default()
    };
    let refusal = Content::from_html(&"<p>x".repeat(2000), &url(), &limits).unwrap_err();
    assert!(matches!(refusal, Refusal::TooSlow { .. }));
}

#[test]
fn readers_answer_each_page() {
    let two = std::num::NonZero::new(2).unwrap();
    let readers = Readers::start(two, ContentLimits::default()).unwrap();
    // More pages than wait at once would block without threads that take them.
    let ask = |number| readers.read(format!("<p>page {number}"), url(), ReadingSpeed::Main);
    let answers: Vec<_> = (0..20).map(ask).collect();
    for (number, answer) in answers.into_iter().enumerate() {
        let content = answer.recv().unwrap().unwrap();
        assert_eq!(content.text, format!("page {number}"));
    }
    let deep = readers.read("<div>".repeat(1000), url(), ReadingSpeed::Main);
    assert_eq!(deep.recv().unwrap(), Err(Refusal::TooDeep { deepest: 512 }));
}

/// Pieces that make more of a page than random letters.
fn piece() -> impl Strategy<Value = String> {
    let tags = "html|head|body|p|div|table|tr|td|th|ul|ol|li|dl|dt|dd|pre|code|a|b|em|h1|br|hr\
        |img|blockquote|script|style|title|nav|main|form|svg|template|select|caption|math|mi|mo\
        |mfrac|msup|mtable|mtr|mtd|mover|annotation|sup|sub|span|path/";
    let open = proptest::string::string_regex(&format!(
        "<({tags})( (class|id|href|src|lang|hidden|alttext|rowspan|colspan|alt)(='[a-z0-9 -]{{0,8}}')?)?>"
    ));
    let close = proptest::string::string_regex(&format!("</({tags})>"));
    prop_oneof![
        4 => open.unwrap(),
        3 => close.unwrap(),
        2 => "[a-zäß東 \\n|*_`#&;.^$\\\\(){}-]{0,12}",
        1 => "\\PC{0,6}",
        1 => Just("<!--".to_owned()),
        1 => Just("&lt;".to_owned()),
    ]
}

proptest! {
    #[test]
    fn no_page_breaks_the_reader(pieces in prop::collection::vec(piece(), 0..60)) {
        let html = pieces.concat();
        for speed in [ReadingSpeed::Main, ReadingSpeed::Whole] {
            let content = Content::read(&html, &url(), speed, &ContentLimits::default()).unwrap();
            let main = content.main.unwrap();
            prop_assert!(!main.truncated);
            // Nothing is made up: the main words are words of the page.
            prop_assert!(main.words <= crate::words(&html).count());
        }
    }
}
