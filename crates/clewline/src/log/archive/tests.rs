//! The archive as a log: order, rotation, and every state that a crash can leave behind.

mod dictionary;
mod index;

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clewline_warc::read::WarcReader;
use clewline_warc::{RecordKind, WarcCompression};

use super::files::{self, Tails, take_back};
use super::{ArchiveLog, ArchivePlan, FOLDER};
use crate::entry::Entry;
use crate::exchange::{Exchange, Recording, Secrets, Spool};
use crate::headers::Headers;
use crate::log::samples;
use crate::log::{Log as _, Offset, UrlsLog};
use clewline_job::archive::Position;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";

fn plan(file_size: u64) -> ArchivePlan {
    ArchivePlan {
        name: "a.test".into(),
        coding: WarcCompression::default(),
        file_size,
        info: b"software: test\r\n".to_vec(),
        seed: [7; 16],
        earlier: Vec::new(),
    }
}

fn exchange(url: &str, body: &[u8]) -> Arc<Exchange> {
    answered(url, 200, HEAD, body)
}

/// An answer with this head; how the body is coded is only said.
fn answered(url: &str, status: u16, head: &[u8], body: &[u8]) -> Arc<Exchange> {
    let spool = Spool::new(std::env::temp_dir(), 1 << 30, Secrets::Replaced);
    let recording = Recording::new(Arc::new(spool));
    let mut recorder = recording.begin(&samples::url(url), Some([192, 0, 2, 1].into()));
    recorder.request(b"GET / HTTP/1.1\r\n\r\n".to_vec());
    recorder.head(head, status, &Headers::default());
    for piece in body.chunks(60_000) {
        recorder.body(piece, piece);
    }
    recorder.whole();
    drop(recorder);
    Arc::new(recording.take().unwrap())
}

/// A page whose body nobody else has, of so many bytes.
fn page(number: usize, size: usize) -> Entry {
    let url = format!("http://a.test/{number}");
    let body = format!("{number} ").repeat(size / 2);
    let mut entry = samples::entry(samples::record(&url), &[]);
    entry.exchange = Some(exchange(&url, &body.as_bytes()[..size]));
    entry.outlinks = b"outlink: http://a.test/ anchor\r\n".to_vec();
    entry
}

/// Every record of the archive: its kind, its target, its block.
fn records(folder: &Path) -> Vec<(RecordKind, String, Vec<u8>)> {
    let folder = folder.join(FOLDER);
    let mut found = Vec::new();
    for file in files::list(&folder).unwrap() {
        let mut reader = WarcReader::new(File::open(folder.join(&file.name)).unwrap());
        while let Some(header) = reader.next_record() {
            let header = header.unwrap();
            let mut block = Vec::new();
            reader.block().read_to_end(&mut block).unwrap();
            let ending = reader.end().unwrap();
            assert!(ending.is_alone && ending.is_closed);
            let target = header.target().unwrap_or_default().to_owned();
            found.push((header.kind(), target, block));
        }
    }
    found
}

/// The lines of the metadata records, in order.
fn lines(folder: &Path) -> Vec<u8> {
    let mut lines = Vec::new();
    for (kind, _, block) in records(folder) {
        if kind == RecordKind::Metadata {
            let line = block.split(|byte| *byte == b'\r').next().unwrap();
            lines.extend_from_slice(line.strip_prefix(b"urls-jsonl: ").unwrap());
            lines.push(b'\n');
        }
    }
    lines
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".warc"))
        .collect();
    names.sort();
    names
}

#[test]
fn records_stand_together_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut log = ArchiveLog::open(folder, plan(1 << 30), Offset(0)).unwrap();
    let mut urls = UrlsLog::open(folder).unwrap();
    // Enough for several threads, one too large for memory, one without an exchange.
    let mut batch: Vec<Entry> = (0..40).map(|number| page(number, 20_000)).collect();
    batch[17] = page(17, 400_000);
    batch[23].exchange = None;
    log.keep(&[exchange("http://a.test/robots.txt", b"Disallow:")])
        .unwrap();
    log.append(&batch).unwrap();
    urls.append(&batch).unwrap();
    assert!(names(&folder.join(FOLDER))[0].ends_with("-00001.warc.gz.open"));
    log.sync().unwrap();
    urls.sync().unwrap();
    log.close().unwrap();
    let found = records(folder);
    let mut expected = vec![(RecordKind::WarcInfo, String::new())];
    let robots = "http://a.test/robots.txt".to_owned();
    expected.extend([
        (RecordKind::Response, robots.clone()),
        (RecordKind::Request, robots),
    ]);
    for entry in &batch {
        let url = entry.record.url.to_string();
        if entry.exchange.is_some() {
            expected.extend([
                (RecordKind::Response, url.clone()),
                (RecordKind::Request, url.clone()),
            ]);
        }
        expected.push((RecordKind::Metadata, url));
    }
    let outline: Vec<_> = found
        .iter()
        .map(|(kind, url, _)| (*kind, url.clone()))
        .collect();
    assert_eq!(outline, expected);
    let large = found
        .iter()
        .find(|(_, url, _)| url.ends_with("/17"))
        .unwrap();
    let sent = batch[17].exchange.as_ref().unwrap();
    assert_eq!(large.2, sent.response.first(usize::MAX).unwrap());
    assert_eq!(lines(folder), fs::read(folder.join("urls.jsonl")).unwrap());
}

#[test]
fn the_same_payload_is_kept_once_and_again_after_a_cut() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut log = ArchiveLog::open(folder, plan(1 << 30), Offset(0)).unwrap();
    let twice = [
        exchange("http://a.test/1", b"the same"),
        exchange("http://a.test/2", b"the same"),
        exchange("http://a.test/3", b""),
        exchange("http://a.test/4", b""),
    ];
    let start = log.sync().unwrap();
    log.keep(&twice).unwrap();
    log.sync().unwrap();
    log.cut(start).unwrap();
    // What the table learnt from a batch that is gone would refer to nothing.
    log.keep(&twice).unwrap();
    log.sync().unwrap();
    log.close().unwrap();
    let answers: Vec<_> = records(folder)
        .into_iter()
        .filter(|(kind, ..)| matches!(kind, RecordKind::Response | RecordKind::Revisit))
        .map(|(kind, _, block)| (kind, block.len()))
        .collect();
    let head = HEAD.len();
    let expected = [
        (RecordKind::Response, head + 8),
        (RecordKind::Revisit, head),
        (RecordKind::Response, head),
        (RecordKind::Response, head),
    ];
    assert_eq!(answers, expected);
}

#[test]
fn a_revisit_is_coded_as_its_original() {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const CODED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";
    const ODD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Encoding: a b\r\n\r\n";
    const MOVED: &[u8] = b"HTTP/1.1 301 OK\r\n\r\n";
    let table: [(&str, u16, &[u8], RecordKind); 14] = [
        ("http://a.test/1", 200, HEAD, RecordKind::Response),
        ("http://a.test/2", 200, HEAD, RecordKind::Revisit),
        ("http://a.test/3", 404, HEAD, RecordKind::Revisit),
        // Coded in another way: stored whole, and then referred to.
        ("http://a.test/4", 200, CHUNKED, RecordKind::Response),
        ("http://a.test/5", 200, CHUNKED, RecordKind::Revisit),
        ("http://a.test/6", 200, HEAD, RecordKind::Revisit),
        // A key under which the payload stands coded otherwise is looked at first.
        ("http://www.a.test/4", 200, HEAD, RecordKind::Response),
        ("https://a.test/1", 200, CHUNKED, RecordKind::Response),
        ("https://a.test/1", 200, HEAD, RecordKind::Revisit),
        ("http://a.test/7", 200, CODED, RecordKind::Response),
        ("http://a.test/8", 200, ODD, RecordKind::Response),
        ("http://a.test/9", 200, ODD, RecordKind::Response),
        ("http://a.test/10", 301, MOVED, RecordKind::Response),
        ("http://a.test/11", 200, HEAD, RecordKind::Revisit),
    ];
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let mut log = ArchiveLog::open(folder, plan(1 << 30), Offset(0)).unwrap();
    for (url, status, head, _) in table {
        log.keep(&[answered(url, status, head, b"payload")])
            .unwrap();
    }
    let end = log.sync().unwrap();
    log.close().unwrap();
    let found: Vec<_> = records(folder)
        .into_iter()
        .filter(|(kind, ..)| matches!(kind, RecordKind::Response | RecordKind::Revisit))
        .map(|(kind, url, _)| (url, kind))
        .collect();
    let expected = table.map(|(url, _, _, kind)| (url.to_owned(), kind));
    assert_eq!(found, expected);
    // The index remembers it for the next run.
    let mut log = ArchiveLog::open(folder, plan(1 << 30), end).unwrap();
    let next = [("http://a.test/12", CHUNKED), ("http://a.test/13", ODD)];
    log.keep(&next.map(|(url, head)| answered(url, 200, head, b"payload")))
        .unwrap();
    log.sync().unwrap();
    log.close().unwrap();
    let last: Vec<_> = records(folder)[1 + 2 * table.len()..]
        .iter()
        .map(|(kind, ..)| *kind)
        .collect();
    let expected = [
        RecordKind::WarcInfo,
        RecordKind::Revisit,
        RecordKind::Request,
        RecordKind::Response,
        RecordKind::Request,
    ];
    assert_eq!(last, expected);
}

/// Batches with a rotation in each, and the end after each.
fn write_some(folder: &Path) -> Vec<(Offset, Vec<u8>)> {
    let mut log = ArchiveLog::open(folder, plan(2_000), Offset(0)).unwrap();
    let mut ends = vec![(Offset(0), Vec::new())];
    let mut written = Vec::new();
    for number in 0..3 {
        let batch: Vec<Entry> = (0..6)
            .map(|page| self::page(number * 6 + page, 3_000))
            .collect();
        log.append(&batch).unwrap();
        for entry in &batch {
            crate::log::urls::write_line(&entry.record, &mut written).unwrap();
        }
        ends.push((log.sync().unwrap(), written.clone()));
    }
    ends
}

/// Only a commit completes a file: whatever is cut away was called `.open`.
#[test]
fn a_file_gets_its_name_with_the_batch_after_its_last() {
    let place = tempfile::tempdir().unwrap();
    let archive = place.path().join(FOLDER);
    let closed = || {
        let mut names = names(&archive);
        names.retain(|name| !name.contains(".open"));
        names
    };
    let mut log = ArchiveLog::open(place.path(), plan(2_000), Offset(0)).unwrap();
    let batch = |first: usize| (first..first + 6).map(|number| page(number, 3_000));
    log.keep(&[]).unwrap();
    log.append(&batch(0).collect::<Vec<_>>()).unwrap();
    let end = log.sync().unwrap();
    assert!(names(&archive).len() > 2, "files rotate");
    assert_eq!(closed(), [""; 0]);
    // The commit came, and with it the next batch, which is taken back.
    log.keep(&[]).unwrap();
    let kept = closed();
    assert_eq!(kept.len(), names(&archive).len() - 1);
    log.append(&batch(6).collect::<Vec<_>>()).unwrap();
    log.sync().unwrap();
    assert_eq!(closed(), kept);
    log.cut(end).unwrap();
    assert_eq!(closed().len(), kept.len() + 1, "the cut file ends there");
    log.keep(&[]).unwrap();
    log.append(&batch(6).collect::<Vec<_>>()).unwrap();
    log.sync().unwrap();
    log.close().unwrap();
    assert!(closed().len() > kept.len() + 1);
    assert_eq!(closed(), names(&archive));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join(FOLDER)).unwrap();
    for entry in fs::read_dir(from.join(FOLDER)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(FOLDER).join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn every_end_is_found_again_whatever_a_crash_left() {
    let origin = tempfile::tempdir().unwrap();
    let ends = write_some(origin.path());
    assert!(names(&origin.path().join(FOLDER)).len() > 3, "files rotate");
    for (end, expected) in &ends {
        for damage in [nothing, torn_tail, last_is_closed, earlier_is_open] {
            let place = tempfile::tempdir().unwrap();
            copy(origin.path(), place.path());
            let archive = place.path().join(FOLDER);
            damage(&archive, Position::new(*end));
            let tails = place.path().join("tails");
            take_back(&archive, Position::new(*end), Tails::Kept(&tails)).unwrap();
            take_back(&archive, Position::new(*end), Tails::Kept(&tails)).unwrap();
            assert_eq!(lines(place.path()), *expected);
            let left = names(&archive);
            assert!(!left.iter().any(|name| name.contains(".open")), "{left:?}");
            // The next run goes on in a file of its own.
            let mut log = ArchiveLog::open(place.path(), plan(2_000), *end).unwrap();
            assert_eq!(log.sync().unwrap(), *end);
            log.append(&[page(99, 10)]).unwrap();
            let after = Position::new(log.sync().unwrap());
            assert_eq!(after.serial, Position::new(*end).serial + 1);
            log.close().unwrap();
            assert!(lines(place.path()).starts_with(expected));
            assert!(lines(place.path()).len() > expected.len());
        }
    }
}

fn nothing(_: &Path, _: Position) {}

fn torn_tail(archive: &Path, _: Position) {
    let last = archive.join(names(archive).pop().unwrap());
    let mut bytes = fs::read(&last).unwrap();
    bytes.extend_from_slice(b"\x1f\x8b\x08half a member");
    fs::write(last, bytes).unwrap();
}

fn last_is_closed(archive: &Path, _: Position) {
    let last = archive.join(names(archive).pop().unwrap());
    fs::rename(&last, last.with_extension("")).unwrap();
}

/// The new name of a closed file was lost with the machine's power.
fn earlier_is_open(archive: &Path, end: Position) {
    for name in names(archive) {
        if name.contains(&format!("-{:05}.", end.serial)) && !name.contains(".open") {
            let path: PathBuf = archive.join(&name);
            fs::rename(&path, archive.join(format!("{name}.open"))).unwrap();
        }
    }
}

#[test]
fn lost_bytes_and_lost_files_are_named() {
    let place = tempfile::tempdir().unwrap();
    let ends = write_some(place.path());
    let archive = place.path().join(FOLDER);
    let end = Position::new(ends[1].0);
    let name = format!("-{:05}.", end.serial);
    let file = names(&archive)
        .into_iter()
        .find(|file| file.contains(&name))
        .unwrap();
    File::options()
        .write(true)
        .open(archive.join(&file))
        .unwrap()
        .set_len(end.offset - 1)
        .unwrap();
    let refuse = || {
        take_back(&archive, end, Tails::Dropped)
            .unwrap_err()
            .to_string()
    };
    let problem = refuse();
    assert!(
        problem.contains(&file) && problem.contains("last commit"),
        "{problem}"
    );
    fs::remove_file(archive.join(&file)).unwrap();
    assert!(refuse().contains("is gone"), "{}", refuse());
}
