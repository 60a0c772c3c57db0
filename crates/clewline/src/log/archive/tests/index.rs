//! The index beside the archive: complete, sorted, and made again where it is missing.

use std::fs::{self, File};
use std::path::Path;

use clewline_warc::RecordKind;
use clewline_warc::cdxj::Capture;
use clewline_warc::read::WarcReader;

use super::super::{ArchiveLog, FOLDER};
use super::{exchange, page, plan, records};
use crate::log::{Log as _, Offset};
use clewline_job::archive::SORTED;

fn lines(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join(FOLDER).join(SORTED)).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Two batches in several files; the log is left as a crash would leave it.
fn crashed(folder: &Path) -> Offset {
    let mut log = ArchiveLog::open(folder, plan(2_000), Offset(0)).unwrap();
    for batch in [0..5, 5..9] {
        let pages: Vec<_> = batch.map(|number| page(number, 2_000)).collect();
        log.keep(&[]).unwrap();
        log.append(&pages).unwrap();
        log.sync().unwrap();
    }
    log.sync().unwrap()
}

fn reopened(folder: &Path, end: Offset) -> Vec<String> {
    let archive = folder.join(FOLDER);
    let end_of = super::Position::new(end);
    super::take_back(&archive, end_of, super::Tails::Dropped).unwrap();
    let mut log = ArchiveLog::open(folder, plan(2_000), end).unwrap();
    log.close().unwrap();
    lines(folder)
}

#[test]
fn every_capture_is_found_through_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let end = crashed(folder);
    let lines = reopened(folder, end);
    assert!(lines.is_sorted());
    assert_eq!(lines.len(), 9);
    for line in lines {
        let capture = Capture::parse(&line).unwrap();
        let file = File::open(folder.join(FOLDER).join(&capture.filename)).unwrap();
        let mut reader = WarcReader::seek(file, capture.offset).unwrap();
        let header = reader.next_record().unwrap().unwrap();
        assert_eq!(header.target(), Some(capture.url.as_str()));
        assert_eq!(header.kind(), RecordKind::Response);
        assert_eq!(reader.end().unwrap().length, capture.length);
        let digest = header.payload_digest().unwrap().to_string();
        assert_eq!((capture.digest, capture.status.as_str()), (digest, "200"));
    }
}

#[test]
fn what_is_missing_is_made_from_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let end = crashed(folder);
    let expected = reopened(folder, end);
    let archive = folder.join(FOLDER);
    // A run without anything new, a torn line, a header alone, and nothing at all.
    assert_eq!(reopened(folder, end), expected);
    fs::remove_file(archive.join(SORTED)).unwrap();
    let first = expected
        .iter()
        .find(|line| line.contains("-00001."))
        .unwrap();
    let torn = format!("!from 0 0\n{first}\n{}", &first[..30]);
    for text in [torn.as_str(), "!from 0 0\n", "!fr"] {
        fs::remove_file(archive.join(SORTED)).ok();
        fs::write(archive.join("index.cdxj.open"), text).unwrap();
        // The first capture of a file is the first one after its beginning.
        let again = reopened(folder, end);
        assert_eq!(again.len(), expected.len(), "{text}");
        assert_eq!(again, expected, "{text}");
    }
    fs::remove_file(archive.join(SORTED)).unwrap();
    assert_eq!(reopened(folder, end), expected);
}

#[test]
fn lines_that_are_sorted_already_do_not_stand_twice() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let end = crashed(folder);
    let archive = folder.join(FOLDER);
    let end_of = super::Position::new(end);
    super::take_back(&archive, end_of, super::Tails::Dropped).unwrap();
    let mut log = ArchiveLog::open(folder, plan(2_000), end).unwrap();
    let left = fs::read(archive.join("index.cdxj.open")).unwrap();
    log.close().unwrap();
    let expected = lines(folder);
    // The process ended after the new index got its name and before the lines were removed.
    fs::write(archive.join("index.cdxj.open"), left).unwrap();
    assert_eq!(reopened(folder, end), expected);
}

#[test]
fn a_batch_that_is_taken_back_is_not_in_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut log = ArchiveLog::open(folder, plan(1 << 30), Offset(0)).unwrap();
    let start = log.sync().unwrap();
    log.keep(&[exchange("http://a.test/gone", b"x")]).unwrap();
    log.sync().unwrap();
    log.cut(start).unwrap();
    log.keep(&[exchange("http://a.test/there", b"y")]).unwrap();
    log.sync().unwrap();
    log.close().unwrap();
    let lines = lines(folder);
    assert!(lines.len() == 1 && lines[0].contains("/there"), "{lines:?}");
}

#[test]
fn payloads_are_remembered_from_run_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut end = Offset(0);
    for url in ["http://a.test/1", "http://a.test/2", "http://a.test/3"] {
        let mut log = ArchiveLog::open(folder, plan(1 << 30), end).unwrap();
        log.keep(&[exchange(url, b"the same")]).unwrap();
        end = log.sync().unwrap();
        log.close().unwrap();
    }
    let kinds: Vec<RecordKind> = records(folder).iter().map(|(kind, ..)| *kind).collect();
    let count = |wanted| kinds.iter().filter(|kind| **kind == wanted).count();
    assert_eq!(
        (count(RecordKind::Response), count(RecordKind::Revisit)),
        (1, 2)
    );
    let revisits = lines(folder)
        .iter()
        .filter(|line| line.contains("warc/revisit"))
        .count();
    assert_eq!(revisits, 2);
}
