//! Archives opened: captures found by URL and time, in whole, growing and damaged files.

use std::fs;
use std::path::{Path, PathBuf};

use clewline_warc::cdxj::Capture;
use clewline_warc::{
    Block, Effort, Encoder, Moment, Profile, RecordDraft, RecordId, RevisitOriginal,
    WarcCompression,
};
use clewline_warc::{Digest, read::WarcReader};

use super::*;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";

pub(crate) fn moment(digits: &str) -> Moment {
    Moment::from_timestamp(digits).unwrap()
}

/// Writes an archive of messages: URL, time, head and body.
pub(crate) fn write(path: &Path, messages: &[(&str, &str, &[u8], &[u8])]) {
    let mut file = fs::File::create(path).unwrap();
    let mut encoder = Encoder::new(WarcCompression::default());
    for (number, (url, time, head, body)) in messages.iter().enumerate() {
        let id = RecordId::numbered([7; 16], number as u64);
        let block = Block::message(head).bytes(body);
        let draft =
            RecordDraft::response(id, moment(time), url, block).payload_digest(Digest::sha1(body));
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn body(archive: &Archive, held: &ArchivedCapture) -> Vec<u8> {
    let mut bytes = Vec::new();
    let content = archive.read(held).unwrap();
    std::io::Read::read_to_end(&mut content.decoded().unwrap(), &mut bytes).unwrap();
    bytes
}

#[test]
fn captures_are_found_by_url_and_time() {
    let folder = folder();
    let path = folder.path().join("a.warc.gz");
    write(
        &path,
        &[
            ("http://a.test/p", "2020", HEAD, b"old"),
            ("http://a.test/p", "2024", HEAD, b"new"),
            ("http://a.test/P", "2022", HEAD, b"large"),
            ("https://a.test/q?b=1&a=2", "2022", HEAD, b"query"),
        ],
    );
    let archive = Archive::open(&[path]).unwrap();
    assert!(archive.complaints().is_empty());
    for (url, time, expected) in [
        ("http://a.test/p", None, Some("new")),
        ("http://a.test/p", Some("2021"), Some("old")),
        ("http://a.test/p#x", Some("2023"), Some("new")),
        ("http://a.test/P", Some("2020"), Some("large")),
        ("https://a.test/p", Some("2020"), Some("old")),
        ("http://www.a.test/q?a=2&b=1", None, Some("query")),
        ("http://a.test/none", None, None),
    ] {
        let found = archive.closest(url, time.map(moment)).unwrap();
        let found = found.map(|held| String::from_utf8(body(&archive, &held)).unwrap());
        assert_eq!(found.as_deref(), expected, "{url} {time:?}");
    }
    let all = archive.list("", "", 10).unwrap();
    assert_eq!(all.len(), 4);
    let (key, held) = &archive.list("test,a)/p 2022", "test,a)/p", 10).unwrap()[0];
    assert_eq!(
        (key.as_str(), held.capture.timestamp.get(..4)),
        ("test,a)/p", Some("2022"))
    );
    assert_eq!(archive.list("", "test,a)/q", 10).unwrap().len(), 1);
}

#[test]
fn files_in_progress_are_read_up_to_their_last_whole_record() {
    let folder = folder();
    let archive_folder = folder.path().join("archive");
    fs::create_dir(&archive_folder).unwrap();
    let path = archive_folder.join("a.warc.gz.open");
    let page = ("http://a.test/p", "2020", HEAD, &b"whole"[..]);
    write(
        &path,
        &[page, ("http://a.test/q", "2020", HEAD, &[b'x'; 5000])],
    );
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    // An index that knows nothing of the file must not be trusted.
    fs::write(archive_folder.join("index.cdxj"), "").unwrap();
    let archive = Archive::open(&[folder.path().to_owned()]).unwrap();
    assert_eq!(archive.list("", "", 10).unwrap().len(), 1);
    assert_eq!(archive.complaints().len(), 1);
    let held = archive.closest("http://a.test/p", None).unwrap().unwrap();
    assert_eq!(body(&archive, &held), b"whole");
}

#[test]
fn a_newer_index_is_trusted_within_its_folder() {
    let folder = folder();
    let path = folder.path().join("a.warc.gz");
    write(&path, &[("http://a.test/p", "2020", HEAD, b"page")]);
    let mut reader = WarcReader::new(fs::File::open(&path).unwrap());
    let header = reader.next_record().unwrap().unwrap();
    let capture = Capture::from_record(&header, &mut reader, "a.warc.gz")
        .unwrap()
        .unwrap();
    let outside = Capture {
        url: "http://a.test/z".to_owned(),
        filename: "../a.warc.gz".to_owned(),
        ..capture.clone()
    };
    let astray = Capture {
        url: "http://a.test/y".to_owned(),
        ..capture.clone()
    };
    let lines = [capture.line(), astray.line(), outside.line()].join("\n") + "\n";
    fs::write(folder.path().join("index.cdxj"), lines).unwrap();
    let archive = Archive::open(&[folder.path().to_owned()]).unwrap();
    let held = archive.closest("http://a.test/p", None).unwrap().unwrap();
    assert_eq!(body(&archive, &held), b"page");
    assert!(archive.closest("http://a.test/z", None).unwrap().is_none());
    let held = archive.closest("http://a.test/y", None).unwrap().unwrap();
    assert!(matches!(
        archive.read(&held),
        Err(crate::archive::ContentError::Astray { .. })
    ));
}

#[test]
fn a_revisit_leads_to_its_payload() {
    let folder = folder();
    let path = folder.path().join("a.warc.gz");
    let mut file = fs::File::create(&path).unwrap();
    let mut encoder = Encoder::new(WarcCompression::default());
    let id = |number| RecordId::numbered([8; 16], number);
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let digest = Digest::sha1(b"page");
    let original = RevisitOriginal {
        id: None,
        target: "http://a.test/p",
        date: moment("2020"),
    };
    let profile = Profile::IdenticalPayloadDigest;
    let block = Block::message(chunked).bytes(b"4\r\npage\r\n0\r\n\r\n");
    for draft in [
        RecordDraft::response(id(0), moment("2020"), "http://a.test/p", block)
            .payload_digest(digest),
        RecordDraft::revisit(
            id(1),
            moment("2021"),
            "http://a.test/q",
            profile,
            Block::message(chunked),
        )
        .payload_digest(digest)
        .refers_to(original),
        RecordDraft::revisit(
            id(2),
            moment("2021"),
            "http://a.test/r",
            profile,
            Block::message(chunked),
        )
        .payload_digest(Digest::sha1(b"other")),
    ] {
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
    }
    let archive = Archive::open(&[path]).unwrap();
    let held = archive.closest("http://a.test/q", None).unwrap().unwrap();
    assert_eq!(body(&archive, &held), b"page");
    let (message, _) = archive.read(&held).unwrap().exact();
    assert_eq!(message, b"HTTP/1.1 200 OK\r\n\r\n");
    let lost = archive.closest("http://a.test/r", None).unwrap().unwrap();
    assert!(matches!(
        archive.read(&lost),
        Err(crate::archive::ContentError::NoOriginal { .. })
    ));
}

#[test]
fn a_folder_with_one_crawl_stands_for_it() {
    let here = folder();
    let path = here.path().to_owned();
    for (name, is_found) in [("a.crawl", true), ("b.crawl", false)] {
        let archive = path.join(name).join(FOLDER);
        fs::create_dir_all(&archive).unwrap();
        let message = ("http://a.test/p", "2020", HEAD, &b"old"[..]);
        write(&archive.join("a.warc.gz"), &[message]);
        let opened = Archive::open(std::slice::from_ref(&path));
        let found = opened.as_ref().map(Archive::file_count).ok();
        assert_eq!(found, is_found.then_some(1), "{name}");
    }
}

#[test]
fn folders_without_archives_are_refused() {
    let folder = folder();
    let empty = Archive::open(&[folder.path().to_owned()]);
    assert!(matches!(empty, Err(OpenError::Empty { .. })));
    let missing = Archive::open(&[PathBuf::from("no such file.warc")]);
    assert!(matches!(missing, Err(OpenError::Input { .. })));
    let path = folder.path().join("x.wacz");
    fs::write(&path, b"PK no").unwrap();
    assert!(matches!(
        Archive::open(&[path]),
        Err(OpenError::Package { .. })
    ));
}
