//! What of a page becomes tokens.

use super::*;

fn read(html: &str, options: &DiffOptions) -> PageTokens {
    let url = Url::parse("https://a.test/d/").unwrap();
    read_page(html, (BodyForm::Html, &url), options, &|_| None).unwrap()
}

fn shown(page: &PageTokens) -> String {
    let shown = page.tokens.iter().map(|token| match token.kind {
        TokenKind::Element => format!("[{}]", token.region.name()),
        TokenKind::Word => page.word(token).to_owned(),
        kind => format!("{kind:?}:{}", page.word(token)),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn elements_words_and_links_are_tokens() {
    let html = "<title>One  two</title><meta name=Robots content='NoIndex'><base href=/b/>\
        <meta name=description content='It is.'><link rel=canonical href=c><script>x</script>\
        <nav><a href=x?y#z>Go, go</a></nav><p>Now 5 $<img src=i.png alt=Pic></p>\
        <div id=footer>End<!-- no --><a href='mailto:a@b'>m</a></div>";
    let page = read(html, &DiffOptions::default());
    assert_eq!(
        shown(&page),
        "[head title] Title:One Title:two [head meta] Robots:noindex [head meta] Description:It \
         Description:is [head link] Canonical:https://a.test/b/c [nav] [nav] \
         Link:https://a.test/b/x?y#z Go go [body p] Now 5 $ [body p] \
         Image:https://a.test/b/i.png Pic [footer div] End [footer div] Link:mailto:a@b m"
    );
    assert_eq!(page.run(10..15), "Go, go");
    assert_eq!(page.run(8..13), "");
}

#[test]
fn what_is_ignored_makes_no_token() {
    let options = DiffOptions {
        maps: vec![crate::UrlMap::parse("https://a.test=https://b.test").unwrap()],
        ignored_elements: vec![".ad".into(), "nav".into()],
        ignored_text: vec![regex::Regex::new("[0-9]+ seen").unwrap()],
        ..DiffOptions::default()
    };
    let html = "<nav>no</nav><p>a 15 seen b</p><p class=ad>no</p><a href=/x>c</a>";
    assert_eq!(
        shown(&read(html, &options)),
        "[body p] a b [body] Link:https://b.test/x c"
    );
}

#[test]
fn pages_that_are_none_are_known() {
    let options = DiffOptions::default();
    let check = |html: &str, is_empty: bool, is_challenge: bool| {
        let page = read(html, &options);
        assert_eq!(
            (page.is_empty(), page.is_challenge()),
            (is_empty, is_challenge),
            "{html}"
        );
    };
    check("<title>Just a moment...</title><p>Wait", false, true);
    check(
        "<title>T</title><div></div><script>let a = 1</script>",
        true,
        false,
    );
    let long = format!(
        "<title>Are you a robot? A study</title>{}",
        "word ".repeat(500)
    );
    check(&long, false, false);
    check("", true, false);
}

#[test]
fn tokens_are_bounded() {
    let html = "a ".repeat(MOST_TOKENS + 5);
    assert_eq!(
        read(&html, &DiffOptions::default()).tokens.len(),
        MOST_TOKENS
    );
}
