//! Pages that are too much: deep, wide, long, mislabelled, or poison to the reader itself.

use clewline::Crawl;
use clewline::extract::{Extracted, Extraction, Extractor, PageExtractor, PageHead};
use clewline_core::outcome::SkipReason;
use clewline_job::config::ExtractConfig;
use terrarium::{Page, Web};

use crate::trial::{Case, beside, check, config, crawl, run};

#[test]
fn documents_of_a_hostile_shape_are_read_as_far_as_they_go() {
    let long_data = format!(
        "<a href=\"data:text/html,{}\">x</a><a href=/late>x</a>",
        "x".repeat(2 << 20)
    );
    let long_attribute = format!("<p title=\"{}\"><a href=/late>x</a>", "x".repeat(2 << 20));
    let comment = format!("<!--{}", "<a href=/in-comment>".repeat(10_000));
    let tables = "<table><tr><td>".repeat(20_000);
    let formatting = "<b><i><a href=/f>".repeat(5_000);
    let page = |body: String| Page::html(body).into();
    let cases: Vec<Case> = vec![
        (
            "attributes",
            page(terrarium::attributes(150_000, "/after-attributes")),
            "fetched 200",
        ),
        ("data link", page(long_data), "fetched 200"),
        ("attribute", page(long_attribute), "fetched 200"),
        ("comment", page(comment), "fetched 200"),
        ("tables", page(tables), "fetched 200"),
        ("formatting", page(formatting), "fetched 200"),
        ("one open tag", page("<a href=".to_owned()), "fetched 200"),
        ("only brackets", page("<".repeat(100_000)), "fetched 200"),
        (
            "entities",
            page(format!("<a href='/e?{}'>", "&amp".repeat(50_000))),
            "fetched 200",
        ),
    ];
    let (web, _) = check(cases, |_| {});
    assert_eq!(web.log().count("/in-comment"), 0);
}

/// A million links: ten thousand are kept, and none of them costs a request here.
#[test]
fn a_million_links_are_cut_to_the_limit() {
    let mut body = String::with_capacity(16 << 20);
    for number in 0..1_000_000 {
        body.push_str("<a href=//x.y/");
        body.push_str(&number.to_string());
        body.push('>');
    }
    let site = beside(["/many"]).page("/many", Page::html(body).verbatim());
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    verdict.assert_good(&web, "a.test");
    let many = verdict.record(&web.url("a.test", "/many"));
    assert_eq!((many.links, many.new_links), (10_000, 0));
    assert_eq!(
        verdict.report().tally.refused[&SkipReason::OutOfScope],
        10_000
    );
}

#[test]
fn types_that_lie_are_believed_without_harm() {
    let html = "<a href=/from-image>x</a>";
    let cases: Vec<Case> = vec![
        (
            "HTML as an image",
            Page::bytes("image/png", html).into(),
            "fetched 200",
        ),
        (
            "video as HTML",
            Page::html(vec![0_u8; 3 << 20]).into(),
            "fetched 200 truncated",
        ),
        (
            "no type at all",
            Page::bare("<html><a href=/from-untyped>x</a>").into(),
            "fetched 200",
        ),
        (
            "a type of nonsense",
            Page::bytes(";;;/,=\"", "<p>").into(),
            "fetched 200",
        ),
        (
            "a type of 60,000 bytes",
            Page::bytes(&"x/".repeat(30_000), html).into(),
            "fetched 200",
        ),
        (
            "two types",
            Page::html("x").header("Content-Type", "image/png").into(),
            "fetched 200",
        ),
    ];
    let (web, verdict) = check(cases, |config| config.fetch.max_body = 1 << 20);
    assert_eq!(web.log().count("/from-image"), 0);
    assert_eq!(web.log().count("/from-untyped"), 1);
    assert_eq!(verdict.report().tally.truncated, 1);
}

#[test]
fn long_urls_are_refused_and_counted() {
    let long = |length: usize| format!("/long?{}", "x".repeat(length));
    let parameters: Vec<String> = (0..2_000).map(|number| format!("&p{number}=1")).collect();
    let parameters = parameters.concat();
    let paths = [
        long(1 << 20),
        long(40_000),
        long(9_000),
        long(8_000),
        format!("/many?{parameters}"),
    ];
    let hops: Vec<_> = ["/hop/1", "/hop/2"].into();
    let paths: Vec<&str> = paths.iter().map(String::as_str).chain(hops).collect();
    let site = beside(paths.iter().copied())
        .page("/long", Page::html("x"))
        .page("/hop/1", Page::redirect(302, long(9_000)))
        .page("/hop/2", Page::redirect(302, long(50_000)));
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    verdict.assert_good(&web, "a.test");
    assert_eq!(web.log().count("/long"), 1, "only the one of 8,000 bytes");
    assert_eq!(web.log().count("/many"), 0);
    assert_eq!(
        verdict.outcome(&web.url("a.test", "/hop/1")),
        "redirected 302"
    );
    assert_eq!(verdict.outcome(&web.url("a.test", "/hop/2")), "fetched 302");
    // 9,000 bytes as a link and as a target of a redirect, and the many parameters.
    assert_eq!(verdict.report().tally.refused[&SkipReason::TooLong], 3);
}

/// Panics at pages of a name, at the beginning, in the middle or at the end.
struct Poisonable(PageExtractor);

struct Poison {
    inner: Box<dyn Extraction>,
    when: String,
}

impl Extractor for Poisonable {
    fn begin(&self, head: PageHead<'_>) -> Box<dyn Extraction> {
        let when = head.url.path().to_owned();
        assert!(when != "/poison/begin", "poisoned at the beginning");
        Box::new(Poison {
            inner: self.0.begin(head),
            when,
        })
    }
}

impl Extraction for Poison {
    fn feed(&mut self, chunk: &[u8]) {
        assert!(self.when != "/poison/feed", "poisoned in the middle");
        self.inner.feed(chunk);
    }

    fn finish(self: Box<Self>) -> Extracted {
        assert!(self.when != "/poison/finish", "poisoned at the end");
        self.inner.finish()
    }
}

#[test]
fn a_panic_costs_its_own_url() {
    let poison = ["/poison/begin", "/poison/feed", "/poison/finish"];
    let site = poison.iter().fold(beside(poison), |site, path| {
        site.page(path, Page::html("x"))
    });
    let web = Web::new().site("a.test", site).start();
    let config = config(&web, &[web.url("a.test", "/")]);
    let extractor = Poisonable(PageExtractor::new(&ExtractConfig::default(), "clewline"));
    let verdict = run(Crawl::from_config(config).extractor(extractor));
    verdict.assert_good(&web, "a.test");
    for path in poison {
        let record = verdict.record(&web.url("a.test", path));
        assert_eq!(crate::trial::outcome(record), "failed internal", "{path}");
        assert!(
            record
                .error
                .as_deref()
                .is_some_and(|text| text.contains("poisoned"))
        );
        assert_eq!(web.log().count(path), 1, "{path} is not tried again");
    }
}
