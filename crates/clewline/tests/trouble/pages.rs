//! Pages that fail: every good page is asked for before their last tries, and nothing is asked
//! for more often than it may be.

use std::time::Duration;

use clewline_job::config::Config;
use terrarium::trouble::Trouble;

use crate::{Outcome, crawl};

/// Tries of each URL in these crawls.
const TRIES: usize = 4;

/// Good pages once, failing ones as often as allowed, and these at the end.
fn check_counts(trouble: &Trouble, outcome: &Outcome) {
    let (good, failing) = (trouble.good().len(), trouble.failing().len());
    let order = &outcome.order;
    assert_eq!(
        order.requests,
        good + TRIES * failing,
        "{trouble:?}: {order:?}"
    );
    assert_eq!(order.most_tries, TRIES, "{trouble:?}: {order:?}");
    let last_retry = order.last_retry.unwrap();
    assert!(order.last_good < last_retry, "{trouble:?}: {order:?}");
    let tally = &outcome.summary.report.tally;
    assert_eq!(tally.done as usize, good + failing, "{trouble:?}");
}

fn limit_tries(config: &mut Config) {
    config.limits.tries = TRIES as u32;
}

#[test]
fn a_share_of_pages_that_always_fail() {
    for percent in [1, 5, 20] {
        let trouble = Trouble::Failing {
            percent,
            pages: 1_500,
        };
        check_counts(&trouble, &crawl(&trouble, limit_tries));
    }
}

#[test]
fn failing_pages_before_good_ones() {
    let trouble = Trouble::FailingFirst {
        failing: 20,
        good: 200,
    };
    check_counts(&trouble, &crawl(&trouble, limit_tries));
    // The default speed of a crawl of one's own machine.
    let default = |config: &mut Config| {
        limit_tries(config);
        config.politeness.speed = None;
        config.politeness.rate = Some(200.0);
    };
    check_counts(&trouble, &crawl(&trouble, default));
}

/// One page that says 503 or 429 costs its own tries and nobody else any.
#[test]
fn one_page_that_says_the_host_is_busy() {
    for status in [503, 429] {
        let trouble = Trouble::OneBusy {
            status,
            retry_after: None,
            good: 200,
        };
        let outcome = crawl(&trouble, limit_tries);
        let order = &outcome.order;
        assert!(order.requests <= 201 + TRIES, "{status}: {order:?}");
        assert!(
            order.last_good < order.last_retry.unwrap(),
            "{status}: {order:?}"
        );
    }
}

/// Errors that pass cost one try each.
#[test]
fn passing_errors() {
    let trouble = Trouble::Passing {
        hosts: 5,
        percent: 4,
        pages: 150,
    };
    let outcome = crawl(&trouble, |config| config.politeness.rate = Some(200.0));
    let order = &outcome.order;
    let failed = outcome
        .log
        .iter()
        .filter(|hit| hit.status >= Some(500))
        .count();
    assert!(failed > 0);
    assert_eq!((order.retries, order.most_tries), (failed, 2), "{order:?}");
}

#[test]
fn one_page_with_a_wait_of_a_year() {
    let trouble = Trouble::OneBusy {
        status: 503,
        retry_after: Some(31_536_000),
        good: 200,
    };
    let outcome = crawl(&trouble, |config| {
        limit_tries(config);
        config.politeness.max_retry_after = Some(Duration::from_millis(200));
    });
    // All good pages were found, or the crawl would have failed; the busy one was asked once.
    assert_eq!(outcome.order.requests, 202, "{:?}", outcome.order);
    assert_eq!(outcome.summary.report.tally.done, 202);
}
