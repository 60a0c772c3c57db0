//! Who is to blame, in tables.

use super::*;
use crate::politeness::Speed;

fn politeness() -> Politeness {
    Politeness::for_speed(Speed::Polite)
}

/// The first try of a URL, handed out and ended in this second.
fn tried(number: u64, second: u64) -> Tried {
    Tried {
        key: Key::from_number(number.into()),
        first: true,
        since: Moment::from_secs(second),
        blamed_host_at: None,
        now: Moment::from_secs(second),
    }
}

/// Another try of a URL that was held against the host in an earlier second.
fn again(number: u64, blamed: u64, second: u64) -> Tried {
    Tried {
        first: false,
        blamed_host_at: Some(Moment::from_secs(blamed)),
        ..tried(number, second)
    }
}

fn url(path: &str) -> CrawlUrl {
    CrawlUrl::parse(&format!("http://a.test{path}")).unwrap()
}

#[test]
fn a_few_failing_pages_are_their_own_affair() {
    for (every, expected) in [(20, Blame::Page), (5, Blame::Page), (3, Blame::Page)] {
        let mut health = Health::default();
        for number in 0..300 {
            if number % every == 0 {
                assert_eq!(
                    health.failed(&tried(number, number), &Limits::default()),
                    expected,
                    "{every}"
                );
            } else {
                health.answered(&tried(number, number));
            }
        }
    }
}

#[test]
fn most_pages_failing_is_the_hosts_affair() {
    let mut health = Health::default();
    for number in 0..7 {
        assert_eq!(
            health.failed(&tried(number, 0), &Limits::default()),
            Blame::Page
        );
    }
    // One URL that fails again and again is still one URL.
    for second in 1..50 {
        assert_eq!(
            health.failed(&again(3, 0, second), &Limits::default()),
            Blame::Page
        );
    }
    assert_eq!(
        health.failed(&tried(8, 60), &Limits::default()),
        Blame::Host
    );
    for number in 9..100 {
        assert_eq!(
            health.failed(&tried(number, 60), &Limits::default()),
            Blame::Host
        );
    }
    assert_eq!(
        health.failed(&tried(100, 60), &Limits::default()),
        Blame::Hopeless
    );
    health.answered(&tried(101, 60));
    assert_eq!(
        health.failed(&tried(102, 60), &Limits::default()),
        Blame::Host
    );
    health.start_afresh();
    assert_eq!(
        health.failed(&tried(103, 60), &Limits::default()),
        Blame::Page
    );
}

#[test]
fn a_host_is_given_up_only_after_pages_were_asked_again() {
    let limits = Limits {
        failed_pages: 8,
        ..Limits::default()
    };
    let mut health = Health::default();
    for number in 0..40 {
        assert_ne!(health.failed(&tried(number, 0), &limits), Blame::Hopeless);
    }
    for number in 0..3 {
        assert_eq!(health.failed(&again(number, 0, 9), &limits), Blame::Page);
    }
    // All may be well when they are asked again.
    health.answered(&again(3, 0, 9));
    for number in 50..58 {
        assert_ne!(health.failed(&tried(number, 20), &limits), Blame::Hopeless);
    }
    for number in 50..53 {
        assert_eq!(health.failed(&again(number, 20, 29), &limits), Blame::Page);
    }
    assert_eq!(health.failed(&again(53, 20, 29), &limits), Blame::Hopeless);
    let once = Limits { tries: 1, ..limits };
    let mut health = Health::default();
    let blames = (0..8).map(|number| health.failed(&tried(number, 0), &once));
    assert_eq!(
        blames.last(),
        Some(Blame::Hopeless),
        "nothing is asked again"
    );
}

#[test]
fn a_pause_grows_while_others_are_refused_and_shrinks_when_they_are_not() {
    let (mut health, politeness) = (Health::default(), politeness());
    let mut now = 10;
    let pause = |health: &mut Health, number, second| match health.refused(
        &tried(number, second),
        None,
        &politeness,
    ) {
        HostRefusal::Pause(until) => until.saturating_sub(Moment::from_secs(second)).as_millis(),
        other => panic!("{other:?}"),
    };
    for (number, expected) in [(0, 2000), (1, 4000), (2, 8000), (3, 16_000)] {
        assert_eq!(pause(&mut health, number, now), expected);
        now += 100;
    }
    health.answered(&tried(10, now));
    now += 100;
    assert_eq!(pause(&mut health, 11, now), 8000);
    // What was handed out before the pause tells nothing new.
    let late = health.refused(&tried(12, now - 1), None, &politeness);
    assert_eq!(late, HostRefusal::Known(None));
    for number in 20..40 {
        now += 700;
        pause(&mut health, number, now);
    }
    assert_eq!(health.row().pause, politeness.longest_pause);
}

#[test]
fn a_page_that_is_refused_while_others_are_answered_pauses_its_host_once() {
    let (mut health, politeness) = (Health::default(), politeness());
    (0..30).for_each(|number| health.answered(&tried(number, 1)));
    let first = health.refused(&tried(99, 2), None, &politeness);
    assert_eq!(first, HostRefusal::Pause(Moment::from_secs(4)));
    health.answered(&tried(40, 5));
    let second = health.refused(&again(99, 2, 6), None, &politeness);
    assert_eq!(second, HostRefusal::PageAfterAll);
    let third = health.refused(&again(99, 6, 7), None, &politeness);
    assert_eq!(third, HostRefusal::Page, "it is known by now");
    health.answered(&tried(41, 9));
    // The next pages that are refused are presumed to be of the same sort, unless many come.
    for number in [98, 96] {
        let other = health.refused(&tried(number, 10), None, &politeness);
        assert_eq!(other, HostRefusal::Page);
    }
    let in_row = health.refused(&tried(97, 11), None, &politeness);
    assert!(matches!(in_row, HostRefusal::Pause(_)), "{in_row:?}");
}

#[test]
fn a_named_time_is_kept_whoever_says_it() {
    let (mut health, politeness) = (Health::default(), politeness());
    let after = Some(Duration::from_mins(5));
    let first = health.refused(&tried(1, 10), after, &politeness);
    assert_eq!(first, HostRefusal::Pause(Moment::from_secs(310)));
    health.answered(&tried(2, 320));
    let own = health.refused(&again(1, 10, 330), after, &politeness);
    assert_eq!(own, HostRefusal::Known(Some(Moment::from_secs(630))));
}

#[test]
fn more_patience_than_there_is_costs_a_few_requests() {
    let (mut health, politeness) = (Health::default(), politeness());
    let year = Some(Duration::from_hours(365 * 24));
    let limit = politeness.longest_retry_after;
    let mut now = Moment::from_secs(10);
    for round in 1..=3 {
        let tried = Tried {
            since: now,
            now,
            ..tried(round, 0)
        };
        let refusal = health.refused(&tried, year, &politeness);
        let expected = match round {
            3 => HostRefusal::GiveUp,
            _ => HostRefusal::TooLong(Some(now + limit)),
        };
        assert_eq!(refusal, expected);
        let late = health.refused(&self::tried(50 + round, 9), year, &politeness);
        assert_eq!(late, HostRefusal::TooLong(None), "it was on its way");
        now += limit;
    }
}

#[test]
fn a_probe_that_is_answered_binds_long_waits_to_their_pages() {
    let (mut health, politeness) = (Health::default(), politeness());
    let year = Some(Duration::from_hours(365 * 24));
    health.refused(&tried(1, 10), year, &politeness);
    health.answered(&tried(2, 5));
    let refusal = health.refused(&tried(3, 700), year, &politeness);
    let until = Moment::from_secs(700) + politeness.longest_retry_after;
    let expected = HostRefusal::TooLong(Some(until));
    assert_eq!(refusal, expected, "the answer was on its way before");
    health.answered(&tried(4, 1400));
    let mut restored = Health::default();
    restored.restore(health.row());
    for mut health in [health, restored] {
        let refusal = health.refused(&tried(5, 1500), year, &politeness);
        assert_eq!(refusal, HostRefusal::TooLong(None));
    }
}

#[test]
fn a_run_of_403_counts_only_for_kinds_that_were_answered() {
    let mut health = Health::default();
    for number in 0..20 {
        let page = url(&format!("/private/{number}"));
        assert!(!health.is_forbidden_run(&page, &tried(number, 1)));
    }
    health.know_kind(&url("/wiki/Start"));
    for number in 0..4 {
        let page = url(&format!("/wiki/{number}"));
        assert!(!health.is_forbidden_run(&page, &tried(number, 2)));
    }
    assert!(health.is_forbidden_run(&url("/wiki/4"), &tried(4, 2)));
    health.answered(&tried(5, 3));
    assert!(!health.is_forbidden_run(&url("/wiki/5"), &tried(5, 4)));
}

#[test]
fn kinds_are_folders_depths_and_endings() {
    let mut kinds = Kinds::default();
    kinds.add(&url("/docs/a.html"));
    assert!(kinds.has(&url("/docs/b.html")));
    for other in ["/docs/b.pdf", "/docs/c/d.html", "/blog/b.html", "/b.html"] {
        assert!(!kinds.has(&url(other)), "{other}");
    }
    kinds.add(&url("/about"));
    assert!(kinds.has(&url("/contact")));
}
