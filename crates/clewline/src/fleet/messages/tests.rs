use std::sync::Arc;

use clewline_core::cookies::{CookieChange, CookieContext};
use clewline_core::frontier::Class;
use mutate::Dice;

use super::*;
use crate::store::tests::plain_entry;

fn keyer() -> Keyer {
    Keyer::new(3, &[])
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

fn entry(text: &str, depth: u32) -> QueueEntry {
    QueueEntry {
        found_on: Some(Arc::new(url("http://a.test/"))),
        ..plain_entry(&keyer(), url(text), depth)
    }
}

/// A delta with something of everything.
fn delta() -> Delta {
    let mut suspect = entry("http://b.a.test/x?y=1", 2);
    suspect.class = Class::Suspect;
    let mut jar = CookieJar::default();
    let context = CookieContext {
        secure: false,
        host: "a.test",
        path: "/",
    };
    assert_eq!(jar.store(context, b"id=7", 0), CookieChange::Accepted);
    let host = keyer().key(&url("http://a.test/")).host();
    Delta {
        queued: vec![
            entry("http://a.test/1", 1),
            suspect,
            entry("http://a.test/2", 1),
        ],
        known: vec![keyer().key(&url("http://a.test/known"))],
        settled: vec![
            keyer().key(&url("http://a.test/1")),
            keyer().key(&url("http://b.a.test/0")),
        ],
        renamed: vec![keyer().key(&url("https://a.test/"))],
        lanes: BTreeMap::from([(
            host,
            LaneRow {
                pages: 9,
                ..LaneRow::default()
            },
        )]),
        cookies: BTreeMap::from([("a.test".to_owned(), jar)]),
    }
}

#[test]
fn a_delta_comes_back_as_it_was() {
    let delta = delta();
    let back = Delta::read(&delta.pack(), &keyer()).unwrap();
    let urls = |delta: &Delta| -> Vec<(String, u32, Class)> {
        let mut urls: Vec<_> = delta
            .queued
            .iter()
            .map(|entry| (entry.url.to_string(), entry.depth, entry.class))
            .collect();
        urls.sort_by_key(|(_, depth, class)| (*class, *depth));
        urls
    };
    assert_eq!(urls(&back), urls(&delta));
    assert_eq!(back.known, delta.known);
    let sorted = |mut keys: Vec<Key>| {
        keys.sort_unstable();
        keys
    };
    assert_eq!(sorted(back.settled), sorted(delta.settled));
    assert_eq!(back.renamed, delta.renamed);
    assert_eq!(back.lanes, delta.lanes);
    assert_eq!(back.cookies["a.test"].len(), 1);
}

#[test]
fn mail_comes_back_as_it_was() {
    let asker = keyer().key(&url("http://a.test/")).host();
    let origin = Origin::from_url(&url("https://a.test:8443/"));
    let robots = Robots::parse(b"User-agent: *\nDisallow: /x", &["clewline"]);
    let mail = [
        Mail::Url(Box::new(entry("http://c.test/", 3))),
        Mail::RobotsFetch(Box::new(RobotsFetch::new(
            url("http://c.test/robots.txt"),
            (asker, origin),
            4,
        ))),
        Mail::RobotsAnswer {
            for_lane: asker,
            for_origin: origin,
            url: url("http://c.test/robots.txt"),
            robots: Some(Box::new(robots)),
        },
    ];
    let back = read_mail(&pack_mail(mail.iter()), &keyer()).unwrap();
    assert_eq!(format!("{back:?}"), format!("{mail:?}"));
}

#[test]
fn foreign_bytes_are_refused_and_never_a_panic() {
    assert!(Delta::read(&[], &keyer()).is_err());
    assert!(
        Delta::read(&[VERSION + 1], &keyer()).is_err(),
        "a newer version"
    );
    let mut longer = delta().pack();
    longer.push(0);
    assert!(Delta::read(&longer, &keyer()).is_err());
    let mail = Mail::Url(Box::new(entry("http://c.test/", 3)));
    for good in [delta().pack(), pack_mail(std::iter::once(&mail))] {
        for length in 0..good.len() {
            assert!(Delta::read(&good[..length], &keyer()).is_err(), "{length}");
            read_mail(&good[..length], &keyer()).ok();
        }
        let mut dice = Dice(7);
        for _ in 0..20_000 {
            let mut bad = good.clone();
            for _ in 0..=dice.below(3) {
                let at = dice.below(bad.len());
                bad[at] = dice.roll(256) as u8;
            }
            crate::fuzzing::fleet::messages(&bad);
        }
    }
}
