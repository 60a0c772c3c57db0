//! Lines, sorted and found again.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::{
    Block, Effort, Encoder, Profile, RecordDraft, RecordId, RevisitOriginal, WarcCompression,
};

fn capture(url: &str, timestamp: &str) -> Capture {
    Capture {
        timestamp: timestamp.to_owned(),
        url: url.to_owned(),
        mime: "text/html".to_owned(),
        status: "200".to_owned(),
        digest: Digest::sha1(url.as_bytes()).to_string(),
        codings: "-/-".to_owned(),
        length: 5,
        offset: 7,
        filename: "a.warc.gz".to_owned(),
        refers_to_url: String::new(),
        refers_to_date: String::new(),
    }
}

#[test]
fn lines_are_read_as_they_are_written() {
    let one = capture("http://www.a.test/\"q\"?b c", "20260102030405");
    let line = one.line();
    assert!(
        line.starts_with("test,a)/\"q\"?b%20c 20260102030405 {\"url\":\"http://"),
        "{line}"
    );
    assert!(
        line.contains(r#""length":"5","offset":"7","filename":"a.warc.gz"}"#),
        "{line}"
    );
    assert_eq!(Capture::parse(&line), Some(one));
    let foreign = r#"com,a)/ 20200101000000 {"url": "http://a.com/", "offset": 3, "filename": "f", "x": [1]}"#;
    assert_eq!(
        Capture::parse(foreign).map(|capture| capture.offset),
        Some(3)
    );
    for line in ["", "a b", "!meta 0 {}", "a 2020 {\"url\":1}", "a xx {}"] {
        assert_eq!(Capture::parse(line), None, "{line}");
    }
}

#[test]
fn indexes_are_sorted_within_memory() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..5000_u32)
        .map(|number| {
            format!(
                "key{:04} line {number}",
                number.wrapping_mul(2_654_435_761) >> 20
            )
        })
        .collect();
    let mut expected = lines.clone();
    expected.sort_unstable();
    for memory in [1, 2000, 40_000, 1 << 20] {
        let mut sorted = Vec::new();
        // With one byte every line is a run of its own, so there are several rounds.
        let count = if memory == 1 { 500 } else { lines.len() };
        let text = lines[..count].join("\n");
        sort(text.as_bytes(), &mut sorted, memory, folder.path()).unwrap();
        let sorted = String::from_utf8(sorted).unwrap();
        let mut expected = expected.clone();
        if count < lines.len() {
            expected = lines[..count].to_vec();
            expected.sort_unstable();
        }
        assert!(sorted == expected.join("\n") + "\n", "{memory}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn captures_are_found_by_url_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.cdxj");
    let mut lines = Vec::new();
    for number in 0..500 {
        for year in ["2020", "2022", "2026"] {
            let url = format!("http://a.test/{number}");
            lines.push(capture(&url, &format!("{year}0601000000")).line());
        }
    }
    lines.sort_unstable();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let mut index = CdxjIndex::open(&path).unwrap();
    for number in 0..500 {
        let url = format!("https://www.a.test/{number}");
        let mut found = Vec::new();
        index
            .each(&url, |capture| {
                found.push(capture.timestamp);
                true
            })
            .unwrap();
        assert_eq!(
            found,
            ["20200601000000", "20220601000000", "20260601000000"],
            "{url}"
        );
        for (at, year) in [
            ("1990", "2020"),
            ("20210501", "2020"),
            ("20210801", "2022"),
            ("2024", "2022"),
            ("2099", "2026"),
        ] {
            let moment = Moment::from_timestamp(at).unwrap();
            let found = index.closest(&url, moment).unwrap().unwrap();
            assert!(found.timestamp.starts_with(year), "{at} {found:?}");
        }
    }
    for url in [
        "http://a.test/",
        "http://a.test/500",
        "http://0.test/",
        "http://z.test/",
    ] {
        let moment = Moment::from_timestamp("2020").unwrap();
        assert_eq!(index.closest(url, moment).unwrap(), None, "{url}");
    }
    std::fs::write(&path, "").unwrap();
    let mut index = CdxjIndex::open(&path).unwrap();
    assert_eq!(
        index
            .closest("http://a.test/", Moment::from_timestamp("2020").unwrap())
            .unwrap(),
        None
    );
}

#[test]
fn captures_are_found_between_fences_as_without() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.cdxj");
    // Some differ only behind what a fence keeps of a line.
    let long = "x".repeat(150);
    let url = |number: u32| match number % 3 {
        0 => format!("http://a.test/{long}/{number}"),
        1 => format!("http://a.test/{number}"),
        _ => format!("http://{number}.test/"),
    };
    for count in [0, 1, 5, 40, 3_000] {
        let mut lines: Vec<String> = (0..count)
            .map(|number| capture(&url(2 * number), "20260601000000").line())
            .collect();
        lines.sort_unstable();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let fences = Arc::new(CdxjIndex::open(&path).unwrap().fences().unwrap());
        let mut index = CdxjIndex::open(&path).unwrap().fenced(fences);
        for number in 0..2 * count {
            let mut found = Vec::new();
            let url = url(number);
            let mut keep = |capture: Capture| {
                found.push(capture.url);
                true
            };
            index.each(&url, &mut keep).unwrap();
            let expected = if number.is_multiple_of(2) {
                vec![url]
            } else {
                vec![]
            };
            assert_eq!(found, expected, "of {count}");
        }
    }
    // Those of another file are passed over.
    let other = Arc::new(CdxjIndex::open(&path).unwrap().fences().unwrap());
    std::fs::write(&path, capture(&url(1), "20260601000000").line()).unwrap();
    let mut index = CdxjIndex::open(&path).unwrap().fenced(other);
    let moment = Moment::from_timestamp("2020").unwrap();
    assert!(index.closest(&url(1), moment).unwrap().is_some());
}

#[test]
fn records_become_captures() {
    let date = Moment::since_1970(Duration::from_secs(1_700_000_000));
    let id = |number| RecordId::numbered([1; 16], number);
    let head =
        b"HTTP/1.1 301 Moved\r\nContent-Type: Text/HTML; a=b\r\nTransfer-Encoding: chunked\r\n\r\n";
    let response = Block::message(head).bytes(b"3\r\nabc\r\n0\r\n\r\n");
    let original = RevisitOriginal {
        id: None,
        target: "http://a.test/1",
        date,
    };
    let profile = Profile::IdenticalPayloadDigest;
    let drafts = [
        RecordDraft::request(
            id(0),
            date,
            "http://a.test/1",
            Block::message(b"GET / HTTP/1.1\r\n\r\n"),
        ),
        RecordDraft::response(id(1), date, "http://a.test/1", response),
        RecordDraft::revisit(
            id(2),
            date,
            "http://a.test/2",
            profile,
            Block::message(head),
        )
        .payload_digest(Digest::sha1(b"abc"))
        .refers_to(original),
        RecordDraft::resource(id(3), date, "urn:x", Block::plain(b"abc"))
            .content_type("text/plain"),
    ];
    let mut file = Vec::new();
    for draft in &drafts {
        Encoder::new(WarcCompression::default())
            .encode(draft, Effort::Usual, &mut file)
            .unwrap();
    }
    let mut reader = WarcReader::new(&file[..]);
    let mut found = Vec::new();
    while let Some(header) = reader.next_record() {
        found.extend(Capture::from_record(&header.unwrap(), &mut reader, "f").unwrap());
    }
    let short: Vec<_> = found
        .iter()
        .map(|one| (one.url.as_str(), one.mime.as_str(), one.status.as_str()))
        .collect();
    assert_eq!(
        short,
        [
            ("http://a.test/1", "text/html", "301"),
            ("http://a.test/2", "warc/revisit", "301"),
            ("urn:x", "text/plain", "-"),
        ]
    );
    assert!(
        found
            .iter()
            .all(|one| one.digest == Digest::sha1(b"abc").to_string())
    );
    let codings = found.iter().map(|one| one.codings.as_str());
    assert_eq!(codings.collect::<Vec<_>>(), ["-/chunked", "", ""]);
    assert_eq!(found[1].refers_to_url, "http://a.test/1");
    assert_eq!(found[1].refers_to_date, "20231114221320");
    let total: u64 = found.iter().map(|one| one.length).sum();
    assert_eq!(found[0].offset + total, file.len() as u64);
}

#[test]
fn a_file_never_leads_out_of_its_folder() {
    let folder = Path::new("job/archive");
    for (name, is_inside) in [
        ("a.warc.gz", true),
        ("..", false),
        ("../a.warc.gz", false),
        ("/etc/passwd", false),
        ("b/a.warc.gz", false),
        ("", false),
    ] {
        let line =
            format!(r#"test,a)/ 20261115000000 {{"url": "u", "offset": 0, "filename": "{name}"}}"#);
        let file = Capture::parse(&line).unwrap().file_in(folder);
        assert_eq!(file, is_inside.then(|| folder.join(name)), "{name}");
    }
}
