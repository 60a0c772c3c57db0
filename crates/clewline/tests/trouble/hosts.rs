//! Hosts that are in trouble as a whole: they are spared while it lasts, and crawled to the end
//! when it is over.

use std::time::Duration;

use terrarium::trouble::{HOST, Strain, Trouble};

use crate::crawl;

/// Requests that may be under way to a host when its trouble begins.
const UNDER_WAY: usize = 64;

/// A host that refuses more than a hundred requests a second has few of them to refuse.
fn check_busy(status: u16, retry_after: Option<u64>) {
    let trouble = Trouble::Busy {
        rate: 100,
        status,
        retry_after,
        pages: 600,
    };
    let outcome = crawl(&trouble, |_| {});
    let strain = Strain::from_log(&outcome.log, HOST);
    let (all, refused) = (strain.requests(), strain.refused());
    // The search for the rate costs some; a crawl that does not look for it has thousands.
    assert!(
        refused * 4 <= all,
        "{trouble:?}: {refused} of {all} refused"
    );
}

#[test]
fn a_host_that_answers_503_is_asked_more_slowly() {
    check_busy(503, None);
}

#[test]
fn a_host_that_answers_429_is_asked_more_slowly() {
    check_busy(429, None);
}

#[test]
fn a_host_that_asks_for_pauses_gets_them_and_is_asked_more_slowly() {
    check_busy(503, Some(1));
}

#[test]
fn a_slow_host_is_crawled_to_its_end() {
    let trouble = Trouble::Slowing {
        rate: 100,
        pages: 300,
    };
    let outcome = crawl(&trouble, |_| {});
    assert_eq!(outcome.order.retries, 0, "{:?}", outcome.order);
}

/// While connections are reset the host is probed, not pressed.
#[test]
fn a_host_that_resets_is_probed() {
    let trouble = Trouble::Resetting {
        after: 100,
        lasts: Duration::from_secs(2),
        pages: 400,
    };
    let outcome = crawl(&trouble, |config| config.politeness.retry_delay = None);
    let refused = Strain::from_log(&outcome.log, HOST).refused();
    assert!(refused > 0);
    // What was under way is sent a second time, because a used connection may just have been
    // closed; after that a few probes.
    assert!(
        refused <= 2 * UNDER_WAY + 8,
        "{refused} requests were reset"
    );
}

/// Nothing is given up because its host was away for a moment.
#[test]
fn a_host_that_was_down_is_crawled_to_its_end() {
    let trouble = Trouble::Down {
        after: 100,
        lasts: Duration::from_secs(2),
        pages: 400,
    };
    let outcome = crawl(&trouble, |config| config.politeness.retry_delay = None);
    let (_, end) = trouble.spell(&outcome.log).unwrap();
    assert!(outcome.log.iter().any(|hit| hit.at >= end));
}
