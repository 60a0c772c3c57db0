//! Certificates that nobody should believe.

use std::fs;
use std::time::Duration;

use clewline::Crawl;
use clewline_job::config::Config;
use terrarium::{Certificate, LiveWeb, Page, Site, Web};

use crate::trial::{Verdict, config, outcome, run};

/// Names, certificates and a word of what is said about them.
const BAD: [(&str, Certificate, &str); 5] = [
    ("expired.test", Certificate::Expired, "expired"),
    ("early.test", Certificate::NotYetValid, "not valid before "),
    (
        "self.test",
        Certificate::SelfSigned,
        "unknown authority or by the server itself",
    ),
    (
        "other.test",
        Certificate::WrongHost,
        "not for this host name but for ",
    ),
    (
        "stranger.test",
        Certificate::UnknownIssuer,
        "unknown authority",
    ),
];

fn crawl_all(change: impl FnOnce(&LiveWeb, &mut Config)) -> (LiveWeb, Verdict) {
    let page = || Site::new().page("/", Page::html("x"));
    let mut web = Web::new().site("valid.test", page().tls());
    for (name, certificate, _) in BAD {
        web = web.site(name, page().certificate(certificate));
    }
    // A plain server behind https, and one that hangs up in the handshake.
    let web = web.site("plain.test", page()).start();
    let mut roots = vec![web.tls_url("valid.test", "/")];
    roots.extend(BAD.iter().map(|(name, ..)| web.tls_url(name, "/")));
    roots.push(web.url("plain.test", "/").replace("http:", "https:"));
    let mut config = config(&web, &roots);
    config.fetch.connect_timeout = Duration::from_secs(1);
    change(&web, &mut config);
    let verdict = run(Crawl::from_config(config));
    (web, verdict)
}

#[test]
fn bad_certificates_fail_with_their_reason() {
    let place = tempfile::tempdir().unwrap();
    let authority = place.path().join("ca.pem");
    let (web, verdict) = crawl_all(|web, config| {
        fs::write(&authority, web.ca_pem()).unwrap();
        config.fetch.cacert = Some(authority.clone());
    });
    assert_eq!(
        verdict.outcome(&web.tls_url("valid.test", "/")),
        "fetched 200"
    );
    for (name, _, words) in BAD {
        let record = verdict.record(&web.tls_url(name, "/"));
        let error = record.error.as_deref().unwrap_or_default();
        assert_eq!(outcome(record), "failed certificate", "{name}");
        assert!(error.contains(words), "{name}: {error}");
    }
    let plain = web.url("plain.test", "/").replace("http:", "https:");
    assert_eq!(verdict.outcome(&plain), "failed tls");
    assert!(
        web.log().of("expired.test").is_empty(),
        "nothing is asked of a stranger"
    );
}

#[test]
fn without_its_authority_even_a_sound_certificate_fails() {
    let (web, verdict) = crawl_all(|_, _| {});
    let record = verdict.record(&web.tls_url("valid.test", "/"));
    assert_eq!(outcome(record), "failed certificate");
}

#[test]
fn insecure_believes_all_and_is_asked_for() {
    let (web, verdict) = crawl_all(|_, config| config.fetch.insecure = true);
    for name in BAD.iter().map(|(name, ..)| *name).chain(["valid.test"]) {
        assert_eq!(
            verdict.outcome(&web.tls_url(name, "/")),
            "fetched 200",
            "{name}"
        );
    }
}
