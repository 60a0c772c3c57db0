//! Rows and the file of them.

use super::*;
use crate::facts::row::{RowOrigin, RowParts, encode};
use crate::site::ChainEnd;

const URL: &str = "https://h.test/d/p";

fn origin() -> RowOrigin {
    RowOrigin {
        key: Keyer::default().key(&CrawlUrl::parse(URL).unwrap()),
        record: 7,
        body: 8,
        head: 9,
    }
}

/// What is written is read, the summary and the parts as well.
pub(super) fn check_round(facts: &FactRow) {
    let url = CrawlUrl::parse(URL).unwrap();
    let mut row = Vec::new();
    encode(origin(), &url, facts, &mut row);
    let parts = RowParts::new(&row).unwrap();
    assert_eq!(parts.origin, origin());
    assert_eq!(parts.facts().as_ref(), Some(facts));
    assert_eq!(parts.summary, facts.summary(&url));
    let mut targets = Vec::new();
    parts
        .targets(|key, kind| targets.push((key, kind)), |_, _| {})
        .unwrap();
    let own = facts.references.iter().filter_map(|one| match one.target {
        ReferenceTarget::Own(key) => Some((key, one.kind)),
        _ => None,
    });
    assert_eq!(targets, own.collect::<Vec<_>>());
}

const FULL: &str = "<html lang=en><title>t</title><meta charset=x><meta name=description content=d>\
    <link rel=canonical href=x><link rel=alternate hreflang=en href='http://'><h1 id=a>x</h1>\
    <a href=y#a><a href='y#b%20c'><a href='//o.test/#top'><a href='a b'><a href=tel:1><img>\
    <a href='http://'><script src=http://h.test/x></script>";

#[test]
fn facts_survive_their_row() {
    let full = facts_with("Server: x\r\nSet-Cookie: a=b\r\n", FULL);
    assert!(full.html.as_ref().unwrap().marks.len() > 3);
    check_round(&full);
    check_round(&FactRow::default());
    let unread = FactRow {
        is_unread: true,
        is_cut: true,
        ..FactRow::default()
    };
    check_round(&unread);
    let mut elsewhere = facts("<a href=x>");
    elsewhere.references[0].target = ReferenceTarget::Own(Key::from_number(5));
    check_round(&elsewhere);
}

#[test]
fn damaged_rows_are_nothing_or_something_else() {
    let url = CrawlUrl::parse(URL).unwrap();
    let mut row = Vec::new();
    encode(origin(), &url, &facts(FULL), &mut row);
    for end in 0..row.len() {
        crate::fuzzing::facts(&row[..end]);
    }
    for at in 0..row.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = row.clone();
            damaged[at] ^= flip;
            crate::fuzzing::facts(&damaged);
        }
    }
}

fn page(url: &str, body: &str) -> (Record, FactRow) {
    let record = record(url);
    let answer = PageAnswer {
        head: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        body: body.as_bytes().to_vec(),
        ..PageAnswer::default()
    };
    let keyer = Keyer::default();
    let facts = read_page(&PageInput::new(&keyer, &record, &answer, BodyUse::Html));
    (record, facts)
}

fn redirect(url: &str, target: &str) -> (Record, FactRow) {
    let mut record = record(url);
    record.outcome = clewline_job::record::OutcomeKind::Redirected;
    record.status = Some(301);
    record.redirect_to = Some(target.to_owned());
    (record, FactRow::default())
}

fn key(url: &str) -> Key {
    Keyer::default().key(&CrawlUrl::parse(url).unwrap())
}

#[test]
fn a_table_answers_for_its_site() {
    let site = from_pages(
        Keyer::default(),
        [
            page(
                "https://h.test/",
                "<title>Home</title><p id=top1><a href=a><a href=a#x><a href=r>",
            ),
            page(
                "https://h.test/a",
                "<a href=/><a href=//w.test/b><a href=//o.test/>",
            ),
            redirect("https://h.test/r", "https://h.test/r2"),
            redirect("https://h.test/r2", "/a"),
            redirect("https://h.test/loop", "/loop2"),
            redirect("https://h.test/loop2", "/loop"),
            redirect("https://h.test/out", "https://o.test/x"),
            redirect("https://h.test/gone", "/nowhere"),
            page("https://w.test/b", "<p id=w>"),
        ],
    )
    .unwrap();
    assert_eq!(site.rows().len(), 9);
    assert_eq!(site.hosts().len(), 2);
    let own = CrawlUrl::parse("https://w.test/z").unwrap();
    assert!(site.is_own(&own));
    assert!(!site.is_own(&CrawlUrl::parse("https://o.test/").unwrap()));
    for (from, hops, end) in [
        (
            "https://h.test/a",
            0,
            ChainEnd::Row(key("https://h.test/a")),
        ),
        (
            "https://h.test/r",
            2,
            ChainEnd::Row(key("https://h.test/a")),
        ),
        (
            "https://h.test/loop",
            2,
            ChainEnd::Loop(key("https://h.test/loop")),
        ),
        (
            "https://h.test/out",
            1,
            ChainEnd::Foreign(key("https://o.test/x")),
        ),
        (
            "https://h.test/gone",
            1,
            ChainEnd::Unknown(key("https://h.test/nowhere")),
        ),
    ] {
        let chain = site.end_of(key(from));
        assert_eq!((chain.hops.len(), chain.end), (hops, end), "{from}");
    }
    let row = |url: &str| site.row(key(url)).unwrap();
    assert_eq!(row("https://h.test/a").links_in, 1);
    assert_eq!(row("https://h.test/").links_out, 2);
    assert_eq!(row("https://h.test/").links_in, 1);
    assert!(row("https://h.test/a").is(RowFlags::LINKED));
    assert!(!row("https://h.test/gone").is(RowFlags::LINKED));
    assert!(row("https://h.test/").is_indexable());
    assert!(!row("https://h.test/r").is_good());
    let ids = site.ids(key("https://h.test/")).unwrap().unwrap();
    assert_eq!(&ids[..], [fragment_hash("top1")]);
    assert_eq!(site.ids(key("https://h.test/r")).unwrap(), None);
    let url = site.url(key("https://h.test/r")).unwrap().unwrap();
    assert_eq!(url.as_str(), "https://h.test/r");
    // A link to another host of the site has its key, though its page could not know that.
    let facts = site.facts(key("https://h.test/a")).unwrap().unwrap();
    let targets: Vec<_> = facts.references.iter().map(|one| &one.target).collect();
    assert!(targets.contains(&&ReferenceTarget::Own(key("https://w.test/b"))));
    assert!(matches!(targets[2], ReferenceTarget::Foreign(_)));
    let pages: Vec<_> = site.pages().unwrap().map(Result::unwrap).collect();
    assert_eq!(pages.len(), 9);
    assert_eq!(pages[1].1, facts);
    assert_eq!(pages[2].0.url.as_str(), "https://h.test/r");
    assert_eq!(row("https://w.test/b").links_in, 1);
}
