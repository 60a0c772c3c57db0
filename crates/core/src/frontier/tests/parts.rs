//! Parts of pages, once no more pages may be fetched.

use super::*;

const ADDRESS: &str = "93.0.0.1";

fn hand(limit: impl FnOnce(&mut Rules)) -> Hand {
    Hand::new(|rules| {
        rules.scope = Scope::new(Reach::Host, true, &[], &[]).unwrap();
        limit(rules);
    })
}

fn pages(count: usize) -> Vec<String> {
    (0..count)
        .map(|page| format!("http://a.test/{page}"))
        .collect()
}

/// Answers everything that is asked; in which order it was, and how it ended.
fn drain(hand: &mut Hand) -> (Vec<String>, End) {
    let mut asked = Vec::new();
    loop {
        match hand.frontier.next(hand.now).unwrap() {
            Next::Done(end) => return (asked, end),
            Next::WaitUntil(at) => hand.now = at,
            Next::Start(job) => {
                if let Work::Resolve { .. } = job.work {
                    hand.resolve(job.id, ADDRESS);
                    continue;
                }
                asked.push(url_of(&job).to_owned());
                hand.answer(&job, 200);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn parts_of_the_last_page_are_fetched_and_no_further_page() {
    let mut hand = hand(|rules| {
        rules.limits.pages = Some(1);
        rules.sitemaps = true;
    });
    hand.root("http://a.test/", false);
    let job = hand.job(ADDRESS);
    let pages = pages(200);
    let mut links: Vec<_> = pages
        .iter()
        .map(|url| (url.as_str(), LinkKind::Anchor))
        .collect();
    links.insert(50, ("http://a.test/one.png", LinkKind::Image));
    links.push(("http://b.test/two.png", LinkKind::Image));
    hand.page(&job, &links);
    let (mut asked, end) = drain(&mut hand);
    asked.sort();
    assert_eq!(asked, ["http://a.test/one.png", "http://b.test/two.png"]);
    assert_eq!(end, End::Budget(Budget::Pages));
    // The sitemap waits as well.
    assert_eq!(hand.frontier.counts().todo(), 201);
}

#[test]
fn parts_behind_pages_of_their_depth_are_found() {
    for per_host in [false, true] {
        let mut hand = hand(|rules| {
            let limits = &mut rules.limits;
            let pages = if per_host {
                &mut limits.pages_per_host
            } else {
                &mut limits.pages
            };
            *pages = Some(2);
        });
        hand.root("http://a.test/", false);
        let job = hand.job(ADDRESS);
        let pages = pages(500);
        let links: Vec<_> = pages
            .iter()
            .map(|url| (url.as_str(), LinkKind::Anchor))
            .collect();
        hand.page(&job, &links);
        let job = hand.job(ADDRESS);
        hand.page(&job, &[("http://a.test/x.css", LinkKind::Style)]);
        let job = hand.job(ADDRESS);
        assert_eq!(url_of(&job), "http://a.test/x.css");
        // A part names another one, and is itself asked for again after trouble.
        hand.page(&job, &[("http://a.test/y.png", LinkKind::Image)]);
        let job = hand.job(ADDRESS);
        assert_eq!(url_of(&job), "http://a.test/y.png");
        let began = hand.now;
        let settled = hand.settle(job.id, failure(FailureClass::Timeout));
        assert!(matches!(settled, Settled::Again(_)));
        let (asked, end) = drain(&mut hand);
        assert_eq!(asked, ["http://a.test/y.png"]);
        assert!(hand.now > began);
        let expected = if per_host {
            Budget::PagesPerHost
        } else {
            Budget::Pages
        };
        assert_eq!(end, End::Budget(expected));
        assert_eq!(hand.frontier.counts().todo(), 499);
    }
}

#[test]
fn a_larger_budget_goes_on_with_the_pages_that_were_passed_over() {
    let mut hand = hand(|rules| rules.limits.pages = Some(1));
    hand.root("http://a.test/", false);
    let job = hand.job(ADDRESS);
    let (first, part) = ("http://a.test/0", "http://a.test/x.png");
    let links = [(first, LinkKind::Anchor), (part, LinkKind::Image)];
    hand.page(&job, &links);
    assert_eq!(drain(&mut hand).0, [part]);
    let mut rules = hand.frontier.rules().clone();
    rules.limits.pages = Some(2);
    hand.frontier.adopt(&rules, hand.now).unwrap();
    assert_eq!(drain(&mut hand), (vec![first.to_owned()], End::Finished));
}

#[test]
fn a_host_that_rests_does_not_hold_up_the_end() {
    let mut hand = hand(|rules| rules.limits.pages = Some(1));
    for root in ["http://b.test/", "http://a.test/"] {
        hand.root(root, false);
    }
    let resting = hand.job(ADDRESS);
    hand.answer(&resting, 503);
    let job = hand.job(ADDRESS);
    assert_ne!(url_of(&resting), url_of(&job));
    hand.page(&job, &[]);
    let began = hand.now;
    assert_eq!(drain(&mut hand), (vec![], End::Budget(Budget::Pages)));
    assert_eq!(hand.now, began);
}

/// A page budget bounds the sitemaps, too: none is asked while enough pages wait.
#[test]
fn no_more_sitemaps_are_asked_than_could_matter() {
    let mut hand = hand(|rules| {
        rules.limits.pages = Some(10);
        rules.sitemaps = true;
    });
    hand.root("http://a.test/", false);
    let job = hand.job(ADDRESS);
    hand.page(&job, &[]);
    let (mut maps, mut pages) = (0, 1);
    let children: Vec<_> = (0..500)
        .map(|child| format!("http://a.test/map/{child}.xml"))
        .collect();
    let end = loop {
        match hand.next(ADDRESS) {
            Next::Done(end) => break end,
            Next::WaitUntil(at) => hand.now = at,
            Next::Start(job) if url_of(&job).ends_with("/sitemap.xml") => {
                let children: Vec<_> = children
                    .iter()
                    .map(|url| (url.as_str(), LinkKind::SitemapFile))
                    .collect();
                hand.page(&job, &children);
            }
            Next::Start(job) if url_of(&job).contains("/map/") => {
                maps += 1;
                let page = format!("http://a.test/page/{maps}");
                hand.page(&job, &[(page.as_str(), LinkKind::Sitemap)]);
            }
            Next::Start(job) => {
                // Every third is moved away and does not use the budget up.
                if url_of(&job).ends_with(['3', '6', '9']) {
                    hand.redirect(&job, "http://elsewhere.test/", false);
                } else {
                    pages += 1;
                    hand.page(&job, &[]);
                }
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(end, End::Budget(Budget::Pages));
    assert_eq!(pages, 10);
    assert!((10..20).contains(&maps), "{maps} sitemaps are asked");
}
