//! What the frontier says of links that its scope refuses, before they are offered.

use super::*;

/// Ends a page that names these links, and so many more that were not offered.
fn name(hand: &mut Hand, links: &[(&str, LinkKind)], refused: Refusals) {
    let job = hand.job("93.0.0.1");
    let keyer = hand.frontier.rules().keyer.clone();
    let offer = |(url, kind): &(&str, LinkKind)| {
        let link = Link::new(CrawlUrl::parse(url).unwrap(), *kind);
        let key = keyer.key(&link.url);
        Offer { link, key }
    };
    let answer = Answer {
        status: 200,
        links: links.iter().map(offer).collect(),
        refused,
        ..Answer::default()
    };
    hand.settle(job.id, Ending::Answered(Box::new(answer)));
}

fn refusal(hand: &Hand, url: &str, kind: LinkKind) -> Option<SkipReason> {
    let key = hand
        .frontier
        .rules()
        .keyer
        .key(&CrawlUrl::parse(url).unwrap());
    hand.frontier.verdict_cache().refuses(key, kind)
}

#[test]
fn only_what_the_scope_refuses_is_noted_and_all_of_it_is_counted() {
    let mut hand = Hand::new(|rules| {
        rules.scope = Scope::new(Reach::Host, false, &[], &["/secret".into()]).unwrap();
        rules.limits.depth = Some(0);
    });
    hand.root("http://a.test/", false);
    let links = [
        (
            "http://b.test/",
            LinkKind::Anchor,
            Some(SkipReason::OutOfScope),
        ),
        (
            "http://b.test/i",
            LinkKind::Image,
            Some(SkipReason::Requisite),
        ),
        (
            "http://a.test/secret",
            LinkKind::Anchor,
            Some(SkipReason::Excluded),
        ),
        // These depend on where they are named, and on limits that may change.
        ("http://a.test/deep", LinkKind::Anchor, None),
        ("http://b.test/x/x/x/x/x/x/x/x/x", LinkKind::Anchor, None),
    ];
    let mut more = Refusals::default();
    more.count(SkipReason::OutOfScope);
    more.count(SkipReason::OutOfScope);
    name(&mut hand, &links.map(|(url, kind, _)| (url, kind)), more);
    for (url, kind, expected) in links {
        assert_eq!(refusal(&hand, url, kind), expected, "{url}");
        assert_eq!(refusal(&hand, url, LinkKind::Area), None, "{url}");
    }
    let refused: HashMap<_, _> = hand.frontier.refused().collect();
    let counts = [
        SkipReason::OutOfScope,
        SkipReason::Requisite,
        SkipReason::Excluded,
        SkipReason::Depth,
        SkipReason::RepeatedSegments,
    ]
    .map(|reason| refused[&reason]);
    assert_eq!(counts, [3, 1, 1, 1, 1]);
}

#[test]
fn a_scope_that_becomes_wider_refuses_nothing_of_before() {
    let link = ("http://b.test/x", LinkKind::Anchor);
    let wider: [fn(&mut Hand); 2] = [
        |hand| hand.root("http://b.test/", false),
        |hand| {
            // A root's redirects end on another host, which joins the roots.
            hand.root("http://a.test/moved", false);
            let job = hand.job("93.0.0.1");
            hand.redirect(&job, "http://b.test/", false);
            name(hand, &[], Refusals::default());
        },
    ];
    for widen in wider {
        let mut hand = Hand::new(|_| {});
        hand.root("http://a.test/", false);
        name(&mut hand, &[link], Refusals::default());
        assert_eq!(refusal(&hand, link.0, link.1), Some(SkipReason::OutOfScope));
        widen(&mut hand);
        assert_eq!(refusal(&hand, link.0, link.1), None);
    }
}
