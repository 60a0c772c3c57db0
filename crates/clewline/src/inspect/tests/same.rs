//! One executor: a crawl records what an inspection shows, whatever a server answers.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use terrarium::{Coding, Page, Reply, Site, Web};

use super::config;
use crate::config::Config;
use crate::inspect::{Inspection, inspect};
use crate::record::{OutcomeKind, Record};
use crate::{Crawl, Event};
use clewline_job::inspection::{Conclusion, LinkVerdict};

const PAGE: &str = "<title>Ein Fisch</title><link rel=canonical href=/canon>\
    <a href=/a>a</a> <a href=/a#part>a</a> <a rel=nofollow href=/spam>spam</a>\
    <a href='http://elsewhere.test/'>out</a> <a href=/1/1/1/1>trap</a> <img src=/i.png>";

/// Answers of all kinds; those to come behind a redirect are at `/next`.
fn replies() -> Vec<(&'static str, Reply)> {
    let page = || Page::html(PAGE);
    vec![
        ("a page", page().into()),
        (
            "in gzip, in chunks",
            page().coded(Coding::Gzip).chunked(7).into(),
        ),
        ("to the close", page().until_close().into()),
        (
            "of another charset",
            Page::charset("windows-1251", &b"<title>\xd0\xfb\xe1\xe0"[..]).into(),
        ),
        (
            "not to be indexed",
            page().header("X-Robots-Tag", "noindex").into(),
        ),
        (
            "not to be followed",
            page().header("X-Robots-Tag", "nofollow").into(),
        ),
        (
            "links in the head",
            page().header("Link", "</linked>; rel=next").into(),
        ),
        ("without a type", Page::bare(PAGE).into()),
        ("text", Page::text("no <a href=/a>link</a>").into()),
        (
            "a type that is not wanted",
            Page::bytes("image/png", "not really").into(),
        ),
        ("too long", Page::html(PAGE.repeat(50)).into()),
        ("an error with links", page().status(404).into()),
        ("an error of the server", page().status(500).into()),
        ("a refusal", Page::retry_after(503, "1").into()),
        (
            "another authentication",
            Page::empty(401)
                .header("WWW-Authenticate", "Digest x")
                .into(),
        ),
        ("a redirect", Page::redirect(301, "/next").into()),
        (
            "a redirect out of the scope",
            Page::redirect(302, "http://elsewhere.test/").into(),
        ),
        (
            "a redirect to nowhere",
            Page::redirect(302, "mailto:x@a.test").into(),
        ),
        ("a cookie wall", Reply::cookie_wall("pass", page())),
        ("a part that nobody asked for", page().status(206).into()),
        ("cut off", page().close_after(40).into()),
        ("a wrong length", Reply::claimed_length("12345", PAGE)),
        ("no answer", Reply::hang_up()),
        ("no HTTP", Reply::raw("hello\r\n\r\n")),
        ("a header without an end", Reply::endless_headers()),
    ]
}

/// What an inspection shows, as far as a crawl has records of it.
fn shown(seen: &Inspection) -> Value {
    let (reason, failure) = match &seen.conclusion {
        Conclusion::Skipped { reason, .. } => (Some(*reason), None),
        Conclusion::Failed { failure, .. } => (None, Some(*failure)),
        Conclusion::Fetched | Conclusion::Redirected { .. } => (None, None),
    };
    let page = seen.page.as_ref().filter(|page| page.digest.is_some());
    let is_whole = page.is_some_and(|page| !page.truncated);
    let hops = seen.hops.iter().map(|hop| {
        // Of an answer that broke off a crawl records the failure alone, and how many bytes came
        // before the end is chance.
        let status = hop.status.filter(|_| hop.failure.is_none());
        json!([hop.url, status, is_whole.then_some(hop.wire_bytes)])
    });
    let hops: Vec<Value> = hops.collect();
    let new_links = seen.links.iter();
    let new_links = new_links.filter(|link| link.verdict == LinkVerdict::Follow);
    let is_broken = failure.is_some();
    json!({
        "hops": hops,
        "reason": reason,
        "failure": failure,
        "new_links": new_links.count(),
        "links": seen.links.len(),
        "error": match &seen.conclusion {
            Conclusion::Failed { why, .. } | Conclusion::Redirected { why, .. } => Some(why),
            _ => page.and_then(|page| page.problem.as_ref()),
        },
        "page": page.filter(|_| !is_broken).map(|page| json!([
            page.content_type, page.charset, page.title, page.canonical, page.digest,
            page.noindex, page.truncated, page.body_bytes,
        ])),
    })
}

/// The same of the records of a crawl, in the order of the redirects.
fn recorded(records: &[Record]) -> Value {
    let last = records.last().expect("a crawl has records");
    let is_read = last.digest.is_some() && last.outcome == OutcomeKind::Fetched;
    let is_whole = is_read && !last.truncated;
    let hops = records.iter().map(|record| {
        let wire = is_whole.then_some(record.wire_bytes);
        json!([record.url, record.status, wire])
    });
    json!({
        "hops": hops.collect::<Vec<_>>(),
        "reason": last.reason,
        "failure": last.failure,
        "new_links": if is_read { last.new_links } else { 0 },
        "links": last.links,
        "error": last.error.as_ref().filter(|_| last.reason.is_none()),
        "page": is_read.then(|| json!([
            last.content_type, last.charset, last.title, last.canonical, last.digest,
            last.noindex, last.truncated, last.body_bytes,
        ])),
    })
}

async fn crawl(config: Config) -> Vec<Record> {
    let records = Arc::new(Mutex::new(Vec::new()));
    let settled = Arc::clone(&records);
    let crawl = Crawl::from_config(config).observe(move |event| {
        if let Event::Settled(record) = event {
            settled.lock().unwrap().push(record.clone());
        }
    });
    crawl.run().unwrap().finish().await.unwrap();
    records.lock().unwrap().clone()
}

/// Hops of one URL in a row are one record of a crawl, with the bytes of all.
fn as_one(mut shown: Value) -> Value {
    if let Some(hops) = shown["hops"].as_array_mut() {
        hops.dedup_by(|next, first| {
            let is_same = next[0] == first[0];
            if is_same {
                let wire = next[2].as_u64().zip(first[2].as_u64());
                first[2] = json!(wire.map(|(next, first)| next + first));
                first[1] = next[1].take();
            }
            is_same
        });
    }
    shown
}

#[tokio::test]
async fn a_crawl_records_what_an_inspection_shows() {
    for (name, reply) in replies() {
        let site = Site::new()
            .robots("User-agent: *")
            .page("/", reply)
            .page("/next", Page::html(PAGE));
        let web = Web::new().site("a.test", site).start();
        let mut config = config(&web, &web.url("a.test", "/"));
        config.scope.sitemaps = false;
        config.scope.accept_types = vec!["text/*".to_owned()];
        config.fetch.max_body = 1000;
        // The page alone, once.
        config.limits.pages = Some(1);
        config.limits.tries = 1;
        let seen = as_one(shown(&inspect(&config).await.unwrap()));
        assert_eq!(seen, recorded(&crawl(config).await), "{name}");
    }
}
