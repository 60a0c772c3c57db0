//! What a rebuild makes where the walk of pages would make less: damaged ends, files of several
//! crawls, and answers of any length.

use std::cell::Cell;
use std::fs;
use std::io::BufRead;
use std::path::Path;

use clewline_core::key::{Key, Keyer};
use clewline_core::link::{Link, LinkKind};
use clewline_core::url::CrawlUrl;
use clewline_warc::read::Header;

use super::*;
use crate::archive::Position;
use crate::log::{LinksReader, records};
use crate::pages::tests::{HEAD, Writing, no_answer};
use crate::pages::{ArchiveWalk, CommittedArchive, PageNeeds};
use crate::report::samples;

const ONE: &str = "http://a.test/1";
const TWO: &str = "http://a.test/2";
const THREE: &str = "http://a.test/3";

fn urls(folder: &Path) -> Vec<String> {
    let records = records(&folder.join("urls.jsonl")).unwrap();
    records.map(|it| it.unwrap().url.to_string()).collect()
}

fn read_any(_: &Keyer, header: &Header, _: &mut dyn BufRead) -> Option<Derived> {
    let record = samples::record(header.target()?);
    let links = Vec::new();
    Some(Derived { record, links })
}

#[test]
fn a_line_whose_record_has_a_damaged_end_is_kept_and_the_damage_counted() {
    let place = tempfile::tempdir().unwrap();
    let archive = place.path().join("archive");
    fs::create_dir(&archive).unwrap();
    let path = archive.join("a-1-00001.warc.gz");
    let mut writing = Writing::begin(&path, "clewline/1");
    for url in [ONE, TWO] {
        let id = writing.answer(url);
        writing.line(url, id, &[]);
    }
    drop(writing);
    // The check sum of the last member, which is that of a line.
    let mut bytes = fs::read(&path).unwrap();
    let sum = bytes.len() - 8;
    bytes[sum] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let made = place.path().join("made");
    let files = std::slice::from_ref(&path);
    let rebuilt = rebuild(files, &made, Existing::Kept, &no_answer, &mut |_| {}).unwrap();
    assert_eq!((rebuilt.lines, rebuilt.captures, rebuilt.faults), (2, 2, 1));
    assert!(rebuilt.told[0].contains("damaged"), "{:?}", rebuilt.told);
    assert_eq!(urls(&made), [ONE, TWO]);
    let mut lines = Vec::new();
    each_line(place.path(), |noted| {
        lines.push(noted.record.url.to_string());
        Ok::<_, RebuildError>(())
    })
    .unwrap();
    assert_eq!(lines, [ONE, TWO], "what is repaired goes by all lines");
    // A page counts only if all of it is sound, as a view may be made of its body.
    let archive = CommittedArchive::open(&archive).unwrap();
    let needs = PageNeeds::default();
    let walk = ArchiveWalk::new(&archive, Position::default(), needs, &no_answer);
    assert_eq!(walk.count(), 1);
}

#[test]
fn every_warcinfo_record_says_whose_the_following_is() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("joined.warc.gz");
    let link = Link::new(CrawlUrl::parse(THREE).unwrap(), LinkKind::Anchor);
    let mut writing = Writing::begin(&path, "wget");
    for (url, seed) in [(ONE, 5), (TWO, 6)] {
        writing.info(&format!("software: clewline/1\r\nkey-seed: {seed:x}\r\n"));
        writing.answer("http://a.test/robots.txt");
        let id = writing.answer(url);
        writing.line(url, id, std::slice::from_ref(&link));
        writing.info("software: wget\r\n");
        writing.answer(THREE);
    }
    drop(writing);
    let made = place.path().join("made");
    let rebuilt = rebuild(&[path], &made, Existing::Kept, &read_any, &mut |_| {}).unwrap();
    assert_eq!((rebuilt.lines, rebuilt.derived, rebuilt.faults), (2, 2, 0));
    assert_eq!(rebuilt.captures, 6);
    assert_eq!(urls(&made), [ONE, TWO, THREE, THREE]);
    let mut targets = Vec::new();
    let reader = LinksReader::open(&made).unwrap();
    reader.each(|_, to, _| targets.push(to)).unwrap();
    let key = |seed| Keyer::new(seed, &[]).key(&link.url);
    assert_eq!(targets, [key(5), key(6)] as [Key; 2]);
}

#[test]
fn an_answer_of_somebody_else_is_read_to_its_end() {
    /// More than the walk looks at.
    const LONG: usize = 16 * 1024 * 1024 + 1;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("b.warc.gz");
    let mut writing = Writing::begin(&path, "wget");
    writing.answer_with(ONE, &vec![0; LONG]);
    drop(writing);
    let seen = Cell::new(0);
    let read = |keys: &Keyer, header: &Header, block: &mut dyn BufRead| {
        let count = std::io::copy(block, &mut std::io::sink()).unwrap();
        seen.set(count);
        read_any(keys, header, block)
    };
    let made = place.path().join("made");
    let rebuilt = rebuild(&[path], &made, Existing::Kept, &read, &mut |_| {}).unwrap();
    assert_eq!((rebuilt.derived, rebuilt.faults), (1, 0));
    assert_eq!(seen.get(), (HEAD.len() + LONG) as u64);
}
