//! What answers mean for links: a line for each kind, with the threads that taught it.

use clewline_core::outcome::{FailureClass, SkipReason};

use super::*;
use CheckVerdict as V;

fn head(fields: &[(&str, &str)]) -> HeadFacts {
    let fields = fields.iter();
    HeadFacts {
        fields: fields
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
    }
}

fn verdict(answer: &LinkAnswer<'_>) -> CheckVerdict {
    judge_answer(answer, &[]).verdict
}

#[test]
fn statuses() {
    for (status, expected) in [
        (200, V::Ok),
        (206, V::Ok),
        (204, V::Ok),
        (304, V::Ok),
        (302, V::Unsure),
        (400, V::Broken),
        (404, V::Broken),
        (405, V::Broken),
        (410, V::Broken),
        // A wall, and no proof of anything (sphinx-doc/sphinx#13860).
        (401, V::Blocked),
        (403, V::Blocked),
        (407, V::Blocked),
        (429, V::Blocked),
        (451, V::Blocked),
        // LinkedIn (JustinBeckwith/linkinator#686).
        (999, V::Blocked),
        (402, V::Broken),
        (406, V::Unsure),
        (408, V::Unsure),
        (500, V::Unsure),
        (503, V::Unsure),
        (520, V::Unsure),
    ] {
        let answer = LinkAnswer {
            status: Some(status),
            ..LinkAnswer::default()
        };
        let judged = judge_answer(&answer, &[]);
        assert_eq!(judged.verdict, expected, "{status}");
        assert_eq!(judged.is_failing, expected == V::Unsure, "{status}");
        assert!(
            judged.evidence.starts_with(&status.to_string()),
            "{judged:?}"
        );
    }
}

#[test]
fn walls_are_known_by_fields_and_titles() {
    let check = |status: u16, fields: &[(&str, &str)], title: &str, expected: CheckVerdict| {
        let head = head(fields);
        let answer = LinkAnswer {
            status: Some(status),
            head: Some(&head),
            title: Some(title),
            ..LinkAnswer::default()
        };
        assert_eq!(verdict(&answer), expected, "{status} {fields:?} {title}");
    };
    // JustinBeckwith/linkinator#709.
    check(503, &[("cf-mitigated", "challenge")], "", V::Blocked);
    check(404, &[("cf-mitigated", "challenge")], "", V::Blocked);
    check(202, &[("x-amzn-waf-action", "challenge")], "", V::Blocked);
    check(402, &[("crawler-price", "USD 0.01")], "", V::Blocked);
    check(503, &[], "Just a moment...", V::Blocked);
    check(503, &[], "Down for maintenance", V::Unsure);
    check(404, &[], "Access denied", V::Broken);
    check(200, &[], "Robot check: a history", V::Ok);
    check(200, &[("x-amzn-waf-action", "count")], "", V::Ok);
}

#[test]
fn failures_and_skips() {
    let failed = |failure, words| LinkAnswer {
        failure: Some(failure),
        words,
        ..LinkAnswer::default()
    };
    let refused = "no connection to 192.0.2.1:443: Connection refused (os error 111)";
    let silent = "no connection to 192.0.2.1:443: No route to host";
    let other_name = "the certificate is not for this host name but for a.example";
    for (failure, words, expected) in [
        (FailureClass::DnsNotFound, "", V::Broken),
        (FailureClass::Dns, "SERVFAIL", V::Unsure),
        (FailureClass::Connect, refused, V::Broken),
        (FailureClass::Connect, silent, V::Unsure),
        (FailureClass::Certificate, other_name, V::Broken),
        (
            FailureClass::Certificate,
            "the certificate expired on 2026-01-01",
            V::Unsure,
        ),
        (FailureClass::Tls, "", V::Unsure),
        (FailureClass::Reset, "", V::Unsure),
        (FailureClass::Timeout, "", V::Unsure),
        (FailureClass::Proxy, "", V::Unsure),
        (FailureClass::RedirectLoop, "", V::Broken),
    ] {
        assert_eq!(
            verdict(&failed(failure, words)),
            expected,
            "{failure:?} {words}"
        );
    }
    for (skip, expected) in [
        (SkipReason::Robots, V::Blocked),
        (SkipReason::RetryAfter, V::Blocked),
        (SkipReason::RobotsUnreachable, V::Unsure),
        (SkipReason::HostUnreachable, V::Unsure),
        (SkipReason::PrivateAddress, V::Unchecked),
        (SkipReason::Excluded, V::Unchecked),
        (SkipReason::OutOfScope, V::Unchecked),
    ] {
        let skipped = LinkAnswer {
            skip: Some(skip),
            ..LinkAnswer::default()
        };
        assert_eq!(verdict(&skipped), expected, "{skip:?}");
    }
    assert_eq!(verdict(&LinkAnswer::default()), V::Unchecked);
}

#[test]
fn an_answer_that_broke_off_still_was_one() {
    let answer = LinkAnswer {
        status: Some(200),
        failure: Some(FailureClass::Incomplete),
        ..LinkAnswer::default()
    };
    assert_eq!(verdict(&answer), CheckVerdict::Ok);
    let looping = LinkAnswer {
        status: Some(302),
        failure: Some(FailureClass::RedirectLoop),
        ..LinkAnswer::default()
    };
    assert_eq!(verdict(&looping), CheckVerdict::Broken);
}

#[test]
fn what_the_user_says_of_a_status_counts() {
    let accept = ["503:unsure".parse().unwrap(), "404:ok".parse().unwrap()];
    let judged = |status| {
        let answer = LinkAnswer {
            status: Some(status),
            ..LinkAnswer::default()
        };
        judge_answer(&answer, &accept)
    };
    assert_eq!(judged(404).verdict, CheckVerdict::Ok);
    assert_eq!(judged(410).verdict, CheckVerdict::Broken);
    // What the user calls unsure never ripens.
    let unsure = judged(503);
    assert_eq!(
        (unsure.verdict, unsure.is_failing),
        (CheckVerdict::Unsure, false)
    );
}
