//! Tests of the tokenizer alone: documents and the tokens they are made of.

use super::{Attribute, MarkupToken, Namespace, StartTag, TagSink, TextOf, Tokenizer, Tokens, tag};

/// Writes down what it is told: `<href>` for a start tag, texts as they are.
#[derive(Default)]
struct Script {
    tokens: Vec<String>,
    text: String,
}

impl TagSink for Script {
    fn start(&mut self, tag: &StartTag<'_>, _namespace: Namespace) {
        let shown = |attribute: Attribute| {
            let value = tag.value(attribute)?;
            Some(format!(
                "{}={}",
                attribute.text(),
                String::from_utf8_lossy(value)
            ))
        };
        let values = [Attribute::Href, Attribute::Src, Attribute::Rel];
        let values: Vec<_> = values.into_iter().filter_map(shown).collect();
        if !values.is_empty() {
            self.tokens.push(values.join(" "));
        }
        if tag.is_cut() {
            self.tokens.push("cut".to_owned());
        }
    }

    /// What scripts hold is tested where it is read for links.
    fn text(&mut self, of: TextOf, bytes: &[u8]) {
        if of == TextOf::Script {
            return;
        }
        self.text.push_str(&String::from_utf8_lossy(bytes));
    }

    fn end_text(&mut self, of: TextOf) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.tokens.push(format!("{of:?}: {text}"));
        }
    }
}

fn tokens(document: &[u8], piece: usize) -> Vec<String> {
    let mut script = Script::default();
    let mut tokenizer = Tokenizer::new();
    for piece in document.chunks(piece) {
        tokenizer.feed(piece, &mut script);
    }
    tokenizer.finish(&mut script);
    script.tokens
}

fn check(cases: &[(&str, &[&str])]) {
    for (document, expected) in cases {
        for piece in [1, 2, 3, 5, document.len().max(1)] {
            let found = tokens(document.as_bytes(), piece);
            assert_eq!(found, *expected, "{document} in pieces of {piece}");
        }
    }
}

#[test]
fn attributes() {
    check(&[
        ("<a href=x>", &["href=x"]),
        ("<a href=x/>", &["href=x/"]),
        ("<a href=x />", &["href=x"]),
        ("<a/href=x>", &["href=x"]),
        ("<a href = 'x' rel>", &["href=x rel="]),
        ("<a href href=x>", &["href="]),
        ("<A HREF=x Href=y>", &["href=x"]),
        ("<a href=>", &["href="]),
        ("<a href=\"a>b'c\">", &["href=a>b'c"]),
        ("<a title='>'href=x>", &["href=x"]),
        ("<a =href=x>", &[]),
        ("<a href=a\"b>", &["href=a\"b"]),
        ("<a href=x", &[]),
        ("<a href='x'", &[]),
        ("< a href=x>", &[]),
        ("<<a href=x>", &["href=x"]),
        ("</a href=x>", &[]),
        ("</a title='<a href=x>'><a href=y>", &["href=y"]),
        ("<a\u{b}href=x>", &[]),
        ("<a\x0chref=x>", &["href=x"]),
    ]);
}

#[test]
fn what_is_no_tag() {
    check(&[
        ("<!--><a href=x>", &["href=x"]),
        ("<!---><a href=x>", &["href=x"]),
        ("<!--><a href=x>-->", &["href=x"]),
        ("<!-- --!><a href=x>", &["href=x"]),
        ("<!-- --!-><a href=x>", &[]),
        ("<!-- ----><a href=x>", &["href=x"]),
        ("<!-- <!-- --><a href=x>", &["href=x"]),
        ("<!-- -- ><a href=x>-->", &[]),
        ("<!-><a href=x>", &["href=x"]),
        ("<!- --><a href=x>", &["href=x"]),
        ("<!DOCTYPE a '<a href=x>'><a href=y>", &["href=y"]),
        ("<?a '<a href=x>'><a href=y>", &["href=y"]),
        ("</ <a href=x>><a href=y>", &["href=y"]),
        ("</><a href=x>", &["href=x"]),
        ("<![CDATA[<a href=x>]]><a href=y>", &["href=y"]),
        ("<![CDATA[ > ]]><a href=x>", &["href=x"]),
        ("<!--", &[]),
    ]);
}

#[test]
fn raw_text() {
    check(&[
        ("<title>a<b></title>", &["Title: a<b>"]),
        ("<title>a</titl></title >", &["Title: a</titl>"]),
        (
            "<title>a</titlex<</tITle/><a href=x>",
            &["Title: a</titlex<", "href=x"],
        ),
        ("<title>a</title", &["Title: a</title"]),
        ("<title>a", &["Title: a"]),
        ("<title/>a</title>", &["Title: a"]),
        ("<title x=>a</title>", &["Title: a"]),
        ("<style>a</style b='>'><a href=x>", &["Style: a", "href=x"]),
        ("<textarea><a href=x></textarea><a href=y>", &["href=y"]),
        ("<xmp><a href=x></xmp><a href=y>", &["href=y"]),
        (
            "<iframe src=z><a href=x></iframe><a href=y>",
            &["src=z", "href=y"],
        ),
        ("<noembed><a href=x></noembed><a href=y>", &["href=y"]),
        ("<noframes><a href=x></noframes><a href=y>", &["href=y"]),
        ("<plaintext><a href=x></plaintext><a href=y>", &[]),
        ("</title><a href=x>", &["href=x"]),
    ]);
}

#[test]
fn scripts() {
    check(&[
        (
            "<script src=s>'<a href=x>'</script><a href=y>",
            &["src=s", "href=y"],
        ),
        ("<script x=><a href=x></script><a href=y>", &["href=y"]),
        ("<script><!--</script><a href=y>", &["href=y"]),
        (
            "<script><!--<script></script><a href=x></script><a href=y>",
            &["href=y"],
        ),
        ("<script><!--<script>--></script><a href=y>", &["href=y"]),
        (
            "<script><!--<script ></script ></script ><a href=y>",
            &["href=y"],
        ),
        ("<script><!--<scripts></script><a href=y>", &["href=y"]),
        ("<script><!--><script></script><a href=y>", &["href=y"]),
        ("<script><!-<script></script><a href=y>", &["href=y"]),
        (
            "<script><!-- --<script>-</script>--></script><a href=y>",
            &["href=y"],
        ),
        ("<script><!--<script></scriptx></script><a href=x>", &[]),
    ]);
}

#[test]
fn noscript() {
    check(&[
        (
            "<noscript><a href=x></noscript><a href=y>",
            &["href=x", "href=y"],
        ),
        ("<noscript><!--</noscript><a href=y>", &["href=y"]),
        ("<noscript><a href='x</noscript><a href=y>", &["href=y"]),
        (
            "<noscript><style>a</noscript><style>b</style>",
            &["Style: a", "Style: b"],
        ),
        (
            "<noscript><title>a</title><a href=x></noscript>",
            &["href=x"],
        ),
        ("<noscript><noscript><a href=x></noscript>", &["href=x"]),
        ("<noscript><a href=x>", &["href=x"]),
    ]);
}

#[test]
fn foreign_content() {
    check(&[
        ("<svg><![CDATA[<a href=x>]]><a href=y>", &["href=y"]),
        ("<svg><![CDATA[]]]><a href=y>", &["href=y"]),
        ("<svg><![CDATA[]]<a href=x>]]>", &[]),
        ("<svg><![cdata[><a href=x>]]>", &["href=x"]),
        ("<svg/><![CDATA[<a href=x>]]>", &[]),
        ("<svg></svg><![CDATA[><a href=x>]]>", &["href=x"]),
        ("<svg><title><a href=x></title>", &["href=x"]),
        ("<svg><script><a href=x></script>", &["href=x"]),
        ("<svg><style>a</style>b", &["Style: a"]),
        ("<svg><style>a<![CDATA[b]]]>c</style>d", &["Style: ab]c"]),
        ("<svg><style>a</svg>b", &["Style: a"]),
        ("<svg><style/>a", &[]),
        ("<math><style>a</style>b", &[]),
        ("<svg><desc><script><a href=x></script>", &[]),
        ("<svg><desc/><script><a href=x></script>", &["href=x"]),
        ("<svg><p><script><a href=x></script>", &[]),
        ("<svg></p><script><a href=x></script>", &[]),
        ("<math><mi><script><a href=x></script>", &[]),
        ("<math><mi></mi><script><a href=x></script>", &["href=x"]),
        (
            "<math><annotation-xml encoding=Text/HTML><script><a href=x></script>",
            &[],
        ),
        (
            "<math><annotation-xml><script><a href=x></script>",
            &["href=x"],
        ),
        ("<svg><font size=1><script><a href=x></script>", &[]),
        ("<svg><font><script><a href=x></script>", &["href=x"]),
    ]);
}

#[test]
fn a_tag_of_any_length_is_read_as_far_as_it_may() {
    let filler = "x".repeat(tag::LIMIT);
    for (document, expected) in [
        (
            format!("<a href=x {filler} href=y rel=z><a href=w>"),
            vec!["href=x", "cut", "href=w"],
        ),
        (
            format!("<a href='{filler}'><a href=w>"),
            vec!["cut", "href=w"],
        ),
        (format!("<a title='{filler}'><a href=w>"), vec!["href=w"]),
        (
            format!("<{filler} href=y><a href=w>"),
            vec!["cut", "href=w"],
        ),
    ] {
        for piece in [1000, 65_536, document.len()] {
            assert_eq!(tokens(document.as_bytes(), piece), expected, "{piece}");
        }
    }
}

#[test]
fn what_is_carried_is_bounded() {
    let mut script = Script::default();
    let mut tokenizer = Tokenizer::new();
    tokenizer.feed(b"<a href='", &mut script);
    for _ in 0..100 {
        tokenizer.feed(&vec![b'x'; 65_536], &mut script);
    }
    assert!(tokenizer.carried.len() <= tag::LIMIT);
    tokenizer.feed(b"'><a href=y>", &mut script);
    assert_eq!(script.tokens, ["cut", "href=y"]);
    assert!(tokenizer.carried.is_empty());
}

fn shown(html: &str) -> Vec<String> {
    let show = |token| match token {
        MarkupToken::Text(text) => format!("{text:?}"),
        MarkupToken::Raw(_, text) => format!("raw {text:?}"),
        MarkupToken::Start(_, attributes) => {
            let pairs = attributes
                .iter()
                .map(|(name, value)| format!(" {name}={value}"));
            format!("<{}>", pairs.collect::<String>())
        }
        MarkupToken::End(_) => "</>".to_owned(),
    };
    Tokens::new(html).map(show).collect()
}

#[test]
fn a_whole_page_falls_into_tokens() {
    for (html, expected) in [
        ("a<b>c</b>", &["\"a\"", "<>", "\"c\"", "</>"][..]),
        ("a < b <3", &["\"a < b <3\""]),
        (
            "<p class='a b' hidden id=x/y>",
            &["< class=a b hidden= id=x/y>"],
        ),
        (
            "<a title=it's href=\"a>b\">x",
            &["< title=it's href=a>b>", "\"x\""],
        ),
        ("<a =x=1>", &["< =x=1>"]),
        ("<br/>x", &["<>", "\"x\""]),
        ("<!-- <b> -->x<!-->y<!--->z", &["\"x\"", "\"y\"", "\"z\""]),
        (
            "<!doctype html><?php x?>a</3>b</>c",
            &["\"a\"", "\"b\"", "\"c\""],
        ),
        (
            "<SCRIPT>if (a</b) '</scripts>'</Script >x",
            &["<>", "raw \"if (a</b) '</scripts>'\"", "</>", "\"x\""],
        ),
        (
            "<script><!--<script></script>--></script>x",
            &["<>", "raw \"<!--<script></script>-->\"", "</>", "\"x\""],
        ),
        (
            "<title>a &amp; <b></title>",
            &["<>", "raw \"a &amp; <b>\"", "</>"],
        ),
        (
            "<svg><title>a<b></title>",
            &["<>", "<>", "\"a\"", "<>", "</>"],
        ),
        ("<svg><![CDATA[<b>]]>x", &["<>", "\"x\""]),
        ("<noscript><p>x", &["<>", "<>", "\"x\""]),
        (
            "<noscript>a<!--</noscript>b",
            &["<>", "\"a\"", "</>", "\"b\""],
        ),
        ("<noscript><i x='</noscript>b", &["<>", "</>", "\"b\""]),
        (
            "<noscript><style>a</noscript>b",
            &["<>", "<>", "raw \"a\"", "</>", "\"b\""],
        ),
        (
            "<noscript><plaintext><noscript>a</noscript>b",
            &["<>", "<>", "\"<noscript>a\"", "</>", "\"b\""],
        ),
        (
            "<noscript><svg></noscript><![CDATA[b]]>c",
            &["<>", "<>", "</>", "\"c\""],
        ),
        ("<plaintext>a<b>", &["<>", "\"a<b>\""]),
        ("<plaintext>", &["<>"]),
        ("a<b", &["\"a\""]),
        ("a<b x='", &["\"a\""]),
        ("a<!-- b", &["\"a\""]),
        ("<style>x", &["<>", "raw \"x\""]),
        ("<style>x</sty", &["<>", "raw \"x</sty\""]),
        ("<", &["\"<\""]),
        ("</", &[]),
        ("", &[]),
    ] {
        assert_eq!(shown(html), expected, "{html}");
    }
}

#[test]
fn a_slash_closes_a_tag_only_before_the_bracket() {
    for (html, expected) in [
        ("<path d='M0/'/>", true),
        ("<path/>", true),
        ("<path d=1 />", true),
        ("<path d=1 / >", false),
        ("<path d=1/>", false),
        ("<path d='/'>", false),
        // Long enough to be read in one go.
        ("<path d=\"M0 0 10 10\"></path> and text behind it", false),
    ] {
        // A tag before it that is closed must leave no trace.
        let html = format!("<g/>{html}");
        let Some(MarkupToken::Start(_, attributes)) = Tokens::new(&html).nth(1) else {
            panic!("no tag");
        };
        assert_eq!(attributes.is_self_closing(), expected, "{html}");
    }
}

#[test]
fn the_first_attribute_of_a_name_counts_and_is_decoded() {
    let mut tokens = Tokens::new("<a HREF='?a&amp;b' href=2><br />");
    let Some(MarkupToken::Start(_, attributes)) = tokens.next() else {
        panic!("no tag");
    };
    assert_eq!(attributes.value("href").as_deref(), Some("?a&b"));
    assert_eq!(attributes.value("title"), None);
    assert!(!attributes.is_empty());
    let Some(MarkupToken::Start(_, attributes)) = tokens.next() else {
        panic!("no tag");
    };
    assert!(attributes.is_empty());
}
