//! A frontier that is made again from records.

use super::*;

fn settled(url: &str, kind: LinkKind, outcome: Outcome) -> SettledUrl {
    let url = CrawlUrl::parse(url).unwrap();
    SettledUrl {
        key: Keyer::new(1, &[]).key(&url),
        url,
        kind,
        depth: 1,
        root: kind == LinkKind::Root,
        outcome,
        wire: 10,
    }
}

fn links(urls: &[&str]) -> Offers {
    let offer = |text: &&str| {
        let url = CrawlUrl::parse(text).unwrap();
        Offer {
            key: Keyer::new(1, &[]).key(&url),
            link: Link::new(url, LinkKind::Anchor),
        }
    };
    urls.iter().map(offer).collect()
}

#[test]
fn what_was_settled_is_known_and_what_was_found_waits() {
    let moved = CrawlUrl::parse("http://a.test/new").unwrap();
    let records = [
        (
            settled("http://a.test/", LinkKind::Root, Outcome::Fetched),
            links(&["http://a.test/old", "http://a.test/next", "http://b.test/"]),
        ),
        (
            settled(
                "http://a.test/old",
                LinkKind::Anchor,
                Outcome::Redirected(moved),
            ),
            Offers::default(),
        ),
        (
            settled(
                "http://a.test/gone",
                LinkKind::Anchor,
                Outcome::Failed(FailureClass::Timeout),
            ),
            links(&[]),
        ),
    ];
    let rules = Rules {
        scope: Scope::new(Reach::Host, false, &[], &[]).unwrap(),
        ..rules()
    };
    let mut frontier = Frontier::new(rules, MemoryStore::default());
    frontier.know_root(&records[0].0.url);
    for (settled, _) in &records {
        frontier.replay(settled, Moment::ZERO).unwrap();
        frontier.replay(settled, Moment::ZERO).unwrap();
    }
    for (settled, links) in records {
        frontier
            .replay_links(&settled, links, Moment::ZERO)
            .unwrap();
    }
    let counts = frontier.counts();
    assert_eq!((counts.admitted, counts.settled, counts.todo()), (5, 3, 2));
    assert_eq!((counts.pages, counts.wire, counts.hosts), (1, 30, 1));
    let waits = |path: &str, frontier: &mut Frontier<MemoryStore>| {
        let url = CrawlUrl::parse(&format!("http://a.test/{path}")).unwrap();
        frontier.admit_root(url, false, Moment::ZERO).unwrap() == Admission::Known
    };
    for path in ["", "old", "gone", "next", "new"] {
        assert!(waits(path, &mut frontier), "{path}");
    }
    let refused: Vec<_> = frontier.refused().filter(|(_, count)| *count > 0).collect();
    assert_eq!(refused, [(SkipReason::OutOfScope, 1)], "b.test");
}
