//! Tests of the tokenizer alone: documents and the tokens they are made of.

use super::{Attribute, Namespace, Sink, StartTag, TextOf, Tokenizer, tag};

/// Writes down what it is told: `<href>` for a start tag, texts as they are.
#[derive(Default)]
struct Script {
    tokens: Vec<String>,
    text: String,
}

impl Sink for Script {
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

    fn text(&mut self, _of: TextOf, bytes: &[u8]) {
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
