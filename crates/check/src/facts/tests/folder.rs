//! Facts of a job folder: made once, taken over as long as they hold.

use std::fs::{self, File};
use std::path::Path;

use clewline_job::Job;
use clewline_job::log::UrlsLog;
use clewline_job::record::OutcomeKind;
use clewline_warc::{
    Block, Digest, Effort, Encoder, Moment, Profile, RecordDraft, RecordId, RevisitOriginal,
    WarcCompression,
};

use super::*;
use crate::facts::{FILE, GatherOptions, GatheredFacts, gather};

/// A job folder with these pages, fetched at some time.
fn write_job(folder: &Path, pages: &[(&str, &str)], at: &str) {
    let archive = folder.join("archive");
    if archive.exists() {
        fs::remove_dir_all(&archive).unwrap();
        fs::remove_file(folder.join("urls.jsonl")).unwrap();
    }
    fs::create_dir(&archive).unwrap();
    let mut file = File::create(archive.join("a-1-00001.warc.gz")).unwrap();
    let mut encoder = Encoder::new(WarcCompression::default());
    let date = Moment::from_timestamp("2026").unwrap();
    let mut number = 0;
    let mut id = || {
        number += 1;
        RecordId::numbered([7; 16], number)
    };
    let info = RecordDraft::warcinfo(id(), date, "a", Block::plain(b"software: clewline/1\r\n"));
    encoder.encode(&info, Effort::Usual, &mut file).unwrap();
    let mut log = UrlsLog::open(folder).unwrap();
    for (url, body) in pages {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: x\r\n\r\n";
        let block = Block::message(head).bytes(body.as_bytes());
        let draft = RecordDraft::response(id(), date, url, block);
        let draft = draft.payload_digest(Digest::sha1(body.as_bytes()));
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
        let mut record = record(url);
        record.digest = Some(format!("xxh3:{body}"));
        record.fetched_at = at.to_owned();
        log.add(&record).unwrap();
    }
    log.sync().unwrap();
}

/// The same job after an update in which every page was answered with 304.
fn write_unchanged(folder: &Path, pages: &[(&str, &str)]) {
    let path = folder.join("archive/a-1-00002.warc.gz");
    let mut file = File::create(path).unwrap();
    let mut encoder = Encoder::new(WarcCompression::default());
    let date = Moment::from_timestamp("2026").unwrap();
    fs::remove_file(folder.join("urls.jsonl")).unwrap();
    let mut log = UrlsLog::open(folder).unwrap();
    for (number, (url, body)) in pages.iter().enumerate() {
        let id = RecordId::numbered([8; 16], number as u64);
        let head = b"HTTP/1.1 304 Not Modified\r\nServer: x\r\n\r\n";
        let (profile, block) = (Profile::ServerNotModified, Block::message(head));
        let original = RevisitOriginal {
            id: None,
            target: url,
            date,
        };
        let draft = RecordDraft::revisit(id, date, url, profile, block).refers_to(original);
        let draft = draft.payload_digest(Digest::sha1(body.as_bytes()));
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
        let mut record = record(url);
        record.outcome = OutcomeKind::Unmodified;
        record.status = Some(304);
        record.body_bytes = 0;
        record.digest = Some(format!("xxh3:{body}"));
        record.fetched_at = "2026-03-03T00:00:00.000Z".to_owned();
        log.add(&record).unwrap();
    }
    log.sync().unwrap();
}

fn gathered(folder: &Path) -> GatheredFacts {
    let job = Job::open(folder).unwrap();
    gather(&job, &GatherOptions::default(), &mut |_| {}).unwrap()
}

/// What a table says, whatever made it.
fn said(gathered: &GatheredFacts) -> Vec<(String, FactRow, u32)> {
    let rows = gathered.site.rows().iter();
    let pages = gathered.site.pages().unwrap().map(Result::unwrap);
    pages
        .zip(rows)
        .map(|((record, facts), row)| (record.url.to_string(), facts, row.links_in))
        .collect()
}

const PAGES: [(&str, &str); 4] = [
    (
        "https://h.test/",
        "<title>Home</title><a href=a><a href=b#x>",
    ),
    ("https://h.test/a", "<title>A</title><a href=/>"),
    ("https://h.test/b", "<title>B</title><p id=x>"),
    ("https://h.test/c", "<title>C</title>"),
];

#[test]
fn what_did_not_change_is_not_read_again() {
    let place = tempfile::tempdir().unwrap();
    write_job(place.path(), &PAGES, "2026-01-01T00:00:00.000Z");
    let first = gathered(place.path());
    assert_eq!((first.progress.urls, first.progress.made), (4, 4));
    let facts = said(&first);
    assert_eq!(facts[0].2, 1);
    assert!(
        facts
            .iter()
            .all(|(_, facts, _)| facts.head.field("server") == Some("x"))
    );
    let bytes = fs::read(place.path().join(FILE)).unwrap();
    let again = gathered(place.path());
    assert_eq!((again.progress.urls, again.progress.made), (4, 0));
    assert_eq!(said(&again), facts);
    assert_eq!(fs::read(place.path().join(FILE)).unwrap(), bytes);
    // The same bodies, fetched later: no body is read again.
    write_job(place.path(), &PAGES, "2026-02-02T00:00:00.000Z");
    let later = gathered(place.path());
    assert_eq!((later.progress.urls, later.progress.made), (4, 0));
    assert_eq!(said(&later), facts);
}

#[test]
fn a_page_that_is_answered_with_304_is_what_it_was() {
    let place = tempfile::tempdir().unwrap();
    write_job(place.path(), &PAGES, "2026-01-01T00:00:00.000Z");
    let first = said(&gathered(place.path()));
    write_unchanged(place.path(), &PAGES);
    let updated = gathered(place.path());
    assert_eq!((updated.progress.urls, updated.progress.made), (4, 0));
    let facts = |said: Vec<(String, FactRow, u32)>| said.into_iter().map(|(_, facts, _)| facts);
    assert!(facts(first).eq(facts(said(&updated))));
    for (row, (_, body)) in updated.site.rows().iter().zip(PAGES) {
        let bytes = body.len() as u64;
        assert_eq!((row.body_bytes, row.wire_bytes), (bytes, bytes));
    }
    // Without what an earlier check left, the same is said.
    fs::remove_file(place.path().join(FILE)).unwrap();
    let whole = gathered(place.path());
    assert_eq!(whole.progress.made, 4);
    assert_eq!(said(&whole), said(&updated));
}

/// Rows of the crawl that was brought up to date hold without a look at the archive; older ones do
/// not, since nobody knows what became of the page between.
#[test]
fn rows_of_the_last_crawl_hold_for_pages_answered_with_304() {
    let place = tempfile::tempdir().unwrap();
    let (old, new) = (place.path().join("old"), place.path().join("new"));
    for folder in [&old, &new] {
        fs::create_dir(folder).unwrap();
    }
    write_job(&old, &PAGES, "2026-01-01T00:00:00.000Z");
    let first = said(&gathered(&old));
    write_job(&new, &PAGES, "2026-01-01T00:00:00.000Z");
    let mut turned = PAGES;
    turned.reverse();
    write_unchanged(&new, &turned);
    fs::remove_dir_all(new.join("archive")).unwrap();
    let marker = format!(
        "format = 1\nfinished = true\ndurable = true\nseed = \"{:016x}\"\n\
         [output.archive]\nupdate_from = {:?}\n",
        0, old
    );
    fs::write(new.join("job.toml"), marker).unwrap();
    fs::create_dir(new.join("check")).unwrap();
    let take_facts = || fs::copy(old.join(FILE), new.join(FILE)).unwrap();
    take_facts();
    let updated = gathered(&new);
    assert_eq!((updated.progress.urls, updated.progress.made), (4, 0));
    let facts = |mut said: Vec<(String, FactRow, u32)>| {
        said.sort_by(|a, b| a.0.cmp(&b.0));
        said.into_iter()
            .map(|(url, facts, _)| (url, facts))
            .collect::<Vec<_>>()
    };
    assert_eq!(facts(said(&updated)), facts(first));
    // The crawl that was brought up to date is another one than that of the rows.
    write_job(&old, &PAGES, "2026-01-02T00:00:00.000Z");
    take_facts();
    assert_eq!(gathered(&new).progress.made, 4);
}

/// Whatever changed, the result is that of a check from the beginning.
#[test]
fn a_second_check_says_what_a_full_one_says() {
    let mut changed = PAGES;
    changed[2].1 = "<title>New</title><a href=c>";
    let mut fewer = PAGES.to_vec();
    fewer.remove(1);
    let mut more = PAGES.to_vec();
    more.insert(0, ("https://h.test/0", "<a href=a>"));
    let mut turned = PAGES.to_vec();
    turned.reverse();
    for (pages, made) in [
        (changed.to_vec(), 1),
        (fewer, 0),
        (more, 1),
        (turned, 0),
        (vec![PAGES[0]], 0),
    ] {
        let place = tempfile::tempdir().unwrap();
        write_job(place.path(), &PAGES, "2026-01-01T00:00:00.000Z");
        gathered(place.path());
        write_job(place.path(), &pages, "2026-01-01T00:00:00.000Z");
        let second = gathered(place.path());
        assert_eq!(second.progress.made, made, "{pages:?}");
        let written = fs::read(place.path().join(FILE)).unwrap();
        fs::remove_file(place.path().join(FILE)).unwrap();
        let full = gathered(place.path());
        assert_eq!(said(&second), said(&full), "{pages:?}");
        assert_eq!(
            written,
            fs::read(place.path().join(FILE)).unwrap(),
            "{pages:?}"
        );
    }
}

#[test]
fn damage_is_named_and_mended() {
    let place = tempfile::tempdir().unwrap();
    write_job(place.path(), &PAGES, "2026-01-01T00:00:00.000Z");
    let facts = said(&gathered(place.path()));
    let file = place.path().join(FILE);
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    let mut other_version = whole.clone();
    other_version[7] = 99;
    for (bytes, is_told) in [
        (&flipped[..], true),
        (&other_version[..], true),
        (&whole[..whole.len() - 3], true),
        (&whole[..16], false),
        (&[][..], true),
    ] {
        fs::write(&file, bytes).unwrap();
        let mended = gathered(place.path());
        assert_eq!(mended.damage.is_some(), is_told, "{:?}", mended.damage);
        assert!(mended.damage.iter().all(|told| told.contains("facts")));
        assert_eq!(said(&mended), facts);
        assert_eq!(fs::read(&file).unwrap(), whole);
    }
}

#[test]
fn a_place_that_cannot_be_written_costs_the_file_only() {
    let place = tempfile::tempdir().unwrap();
    write_job(place.path(), &PAGES, "2026-01-01T00:00:00.000Z");
    // Where the folder should be there is a file, so that nobody can make it.
    fs::write(place.path().join("check"), "x").unwrap();
    let gathered = gathered(place.path());
    assert_eq!(said(&gathered).len(), 4);
    assert_eq!(fs::read(place.path().join("check")).unwrap(), b"x");
}
