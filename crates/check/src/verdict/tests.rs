//! What answers mean for links: a line for each kind, with the threads that taught it.

use clewline_core::outcome::{FailureClass, SkipReason};

use super::*;

fn head(fields: &[(&str, &str)]) -> HeadFacts {
    let fields = fields.iter();
    HeadFacts {
        fields: fields
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
    }
}

fn verdict(answer: &LinkAnswer<'_>) -> LinkVerdict {
    judge_answer(answer, &AcceptList::default()).verdict
}

#[test]
fn statuses() {
    use LinkVerdict as V;
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
        let judged = judge_answer(&answer, &AcceptList::default());
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
    let check = |status: u16, fields: &[(&str, &str)], title: &str, expected: LinkVerdict| {
        let head = head(fields);
        let answer = LinkAnswer {
            status: Some(status),
            head: Some(&head),
            title: Some(title),
            ..LinkAnswer::default()
        };
        assert_eq!(verdict(&answer), expected, "{status} {fields:?} {title}");
    };
    use LinkVerdict as V;
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
    use LinkVerdict as V;
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
    assert_eq!(verdict(&answer), LinkVerdict::Ok);
    let looping = LinkAnswer {
        status: Some(302),
        failure: Some(FailureClass::RedirectLoop),
        ..LinkAnswer::default()
    };
    assert_eq!(verdict(&looping), LinkVerdict::Broken);
}

#[test]
fn the_list_accept() {
    use LinkVerdict as V;
    let entries = [
        "200..=299",
        "403:blocked",
        "404:ok",
        "5xx:warn",
        "429..431:skip",
        "404:broken",
    ];
    let list = AcceptList::from_entries(entries).unwrap();
    for (status, expected) in [
        (299, Some(V::Ok)),
        (300, None),
        (403, Some(V::Blocked)),
        // The last entry counts.
        (404, Some(V::Broken)),
        (503, Some(V::Unsure)),
        (430, Some(V::Unchecked)),
        (431, None),
    ] {
        assert_eq!(list.action(status), expected, "{status}");
    }
    let answer = LinkAnswer {
        status: Some(503),
        ..LinkAnswer::default()
    };
    let judged = judge_answer(&answer, &list);
    assert_eq!((judged.verdict, judged.is_failing), (V::Unsure, false));
    let open = AcceptList::from_entries(["..=204", "500.."]).unwrap();
    assert_eq!(
        (open.action(100), open.action(999)),
        (Some(V::Ok), Some(V::Ok))
    );
    for (entry, expected) in [
        ("ok", "no status"),
        ("20", "no status"),
        ("1000", "no status"),
        ("300..=200", "ends before"),
        ("100..100", "ends before"),
        ("403:moved", "no verdict"),
        ("403:perhaps", "no verdict"),
        ("", "no status"),
        ("-1xx", "no status"),
    ] {
        let error = AcceptList::from_entries([entry]).unwrap_err().to_string();
        assert!(error.contains(expected), "{entry}: {error}");
    }
}
