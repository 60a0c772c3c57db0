//! Verdicts on links, and that a crawl keeps to them.

use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use terrarium::{Page, Site, Web};

use super::config;
use crate::Crawl;
use crate::config::{Config, Reach};
use crate::inspect::inspect;
use clewline_job::inspection::{JudgedLink, LinkVerdict};

/// The links of a page, how a crawl names them, and what it does with each.
const LINKS: &str = "<a href=/a>a</a> <a href=/a#part>a</a> <a href=/>self</a>\
    <a rel=nofollow href=/spam>spam</a> <a href='{{b.test}}/out'>out</a>\
    <a href=/private/x>x</a> <a href=/1/1/1/1>trap</a> <a href=/skip.pdf>pdf</a>\
    <img src=/i.png> <link rel=stylesheet href=/s.css> <a href=mailto:x@y.z>mail</a>";

#[tokio::test]
async fn links_are_judged_as_in_a_crawl() {
    use LinkVerdict::{Follow, Known, Skip};
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /private/")
        .page("/", Page::html(LINKS))
        .handler(|_| Page::html("").into());
    let web = Web::new()
        .site("a.test", site)
        .site("b.test", Site::new())
        .start();
    let mut config = config(&web, &web.url("a.test", "/"));
    config.scope.exclude = vec!["[.]pdf$".to_owned()];
    let seen = inspect(&config).await.unwrap();
    let told: Vec<_> = seen
        .links
        .iter()
        .map(|link| (link.url.path(), link.kind, link.verdict, link.reason))
        .collect();
    assert_eq!(
        told,
        [
            ("/a", LinkKind::Anchor, Follow, None),
            ("/", LinkKind::Anchor, Known, None),
            ("/spam", LinkKind::Anchor, Skip, Some(SkipReason::Nofollow)),
            ("/out", LinkKind::Anchor, Skip, Some(SkipReason::OutOfScope)),
            (
                "/private/x",
                LinkKind::Anchor,
                Skip,
                Some(SkipReason::Robots)
            ),
            (
                "/1/1/1/1",
                LinkKind::Anchor,
                Skip,
                Some(SkipReason::RepeatedSegments)
            ),
            (
                "/skip.pdf",
                LinkKind::Anchor,
                Skip,
                Some(SkipReason::Excluded)
            ),
            ("/i.png", LinkKind::Image, Skip, Some(SkipReason::Requisite)),
            ("/s.css", LinkKind::Style, Skip, Some(SkipReason::Requisite)),
        ]
    );
    assert_eq!(seen.links[4].robots_line, Some(2));
    assert_eq!(seen.page.unwrap().other_references, 1);
}

/// The one promise of the verdicts: a crawl asks for what an inspection says it follows, and
/// for nothing else.
#[tokio::test]
async fn a_crawl_follows_exactly_what_an_inspection_says() {
    type Change = fn(&mut Config);
    let changes: [(&str, Change); 6] = [
        ("nothing", |_| {}),
        ("requisites", |config| config.scope.page_requisites = true),
        ("nofollow", |config| config.scope.follow_nofollow = true),
        ("include", |config| {
            config.scope.include = vec!["/a$".to_owned(), "css".to_owned()];
        }),
        ("page", |config| config.scope.reach = Reach::Page),
        ("depth", |config| config.limits.depth = Some(0)),
    ];
    for (name, change) in changes {
        let site = Site::new()
            .robots("User-agent: *\nDisallow: /private/")
            .page("/", Page::html(LINKS))
            .handler(|_| Page::html("").into());
        let web = Web::new()
            .site("a.test", site)
            .site("b.test", Site::new())
            .start();
        let mut config = config(&web, &web.url("a.test", "/"));
        config.scope.sitemaps = false;
        change(&mut config);
        let seen = inspect(&config).await.unwrap();
        let followed = |link: &&JudgedLink| link.verdict == LinkVerdict::Follow;
        let mut said: Vec<_> = seen
            .links
            .iter()
            .filter(followed)
            .map(|it| it.url.path())
            .collect();
        let inspected = web.log().paths("a.test");
        assert_eq!(
            inspected,
            ["/robots.txt", "/"],
            "an inspection follows nothing"
        );

        Crawl::from_config(config)
            .run()
            .unwrap()
            .finish()
            .await
            .unwrap();
        let mut crawled = web.log().paths("a.test");
        crawled.retain(|path| path != "/" && path != "/robots.txt");
        said.sort_unstable();
        crawled.sort_unstable();
        assert_eq!(crawled, said, "{name}");
    }
}
