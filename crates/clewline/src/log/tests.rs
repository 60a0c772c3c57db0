use std::path::Path;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use proptest::collection::vec;
use proptest::prelude::*;

use super::samples;
use clewline_job::log::{LinksReader, records};

use super::*;
use crate::record::Record;

fn urls(folder: &Path) -> io::Result<Vec<Record>> {
    records(&folder.join(urls::FILE))?.collect()
}

fn links(folder: &Path) -> io::Result<Vec<(Key, Key, LinkKind)>> {
    LinksReader::open(folder)?.collect()
}

/// What the link log must hold of these entries: each page's distinct links, sorted.
fn expected(entries: &[Entry]) -> Vec<(Key, Key, LinkKind)> {
    let mut rows = Vec::new();
    for entry in entries {
        let mut own = entry.links.clone();
        own.sort_unstable();
        own.dedup();
        let source = entry.record.key;
        rows.extend(own.into_iter().map(|(target, kind)| (source, target, kind)));
    }
    rows
}

fn pages() -> impl Strategy<Value = Entry> {
    // Few distinct bytes make keys that share prefixes of every length.
    let key = proptest::array::uniform16(0..3_u8).prop_map(Key::from_bytes);
    let kind = proptest::sample::select(LinkKind::ALL.to_vec());
    let links = vec((key.clone(), kind), 0..40);
    (key, links, any::<String>()).prop_map(|(key, links, title)| {
        let mut record = samples::record("http://a.test/");
        record.key = key;
        record.title = Some(title);
        samples::bare(record, links)
    })
}

/// The lines of one key are found among all.
fn check_one_key(folder: &Path, lines: &[Record]) {
    let Some(key) = lines.last().map(|line| line.key) else {
        return;
    };
    let found = records(&folder.join(urls::FILE)).unwrap();
    let found: io::Result<Vec<_>> = found.of_keys(|other| other == key).collect();
    let own = lines.iter().filter(|line| line.key == key).cloned();
    assert_eq!(found.unwrap(), own.collect::<Vec<_>>());
}

/// Writes batches, reads them back, then cuts at every offset and reads again.
fn check(batches: &[Vec<Entry>]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut logs: [Box<dyn Log>; 2] = [
        Box::new(UrlsLog::open(folder).unwrap()),
        Box::new(LinksLog::open(folder).unwrap()),
    ];
    let mut ends = vec![logs.each_mut().map(|log| log.sync().unwrap())];
    for batch in batches {
        for log in &mut logs {
            log.append(batch).unwrap();
        }
        ends.push(logs.each_mut().map(|log| log.sync().unwrap()));
    }
    for (count, offsets) in ends.iter().enumerate().rev() {
        for (log, offset) in logs.iter_mut().zip(offsets) {
            log.cut(*offset).unwrap();
            assert_eq!(log.sync().unwrap(), *offset);
        }
        let entries = batches[..count].concat();
        let lines: Vec<_> = entries.iter().map(|entry| entry.record.clone()).collect();
        assert_eq!(urls(folder).unwrap(), lines);
        check_one_key(folder, &lines);
        assert_eq!(links(folder).unwrap(), expected(&entries));
    }
}

/// Each case syncs to disk, so there are few; a failing one is printed, not kept in a file.
fn few_cases() -> ProptestConfig {
    ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn what_is_written_is_read_back(batches in vec(vec(pages(), 0..4), 0..4)) {
        check(&batches);
    }

    #[test]
    fn damage_is_never_taken_for_links(at in 8..200_usize, bit in 0..8) {
        let folder = tempfile::tempdir().unwrap();
        let entries = sample_pages();
        let mut log = LinksLog::open(folder.path()).unwrap();
        log.append(&entries).unwrap();
        log.sync().unwrap();
        let path = folder.path().join(links::FILE);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.min(bytes.len() - 1);
        bytes[at] ^= 1_u8 << bit;
        std::fs::write(&path, bytes).unwrap();
        prop_assert!(links(folder.path()).is_err());
    }
}

fn sample_pages() -> Vec<Entry> {
    let targets = ["http://a.test/1", "http://a.test/2", "http://b.test/"];
    let links = targets.map(|target| (target, LinkKind::Anchor));
    ["http://a.test/", "http://b.test/x"]
        .map(|page| samples::entry(samples::record(page), &links))
        .to_vec()
}

#[test]
fn logs_go_on_where_they_ended() {
    let folder = tempfile::tempdir().unwrap();
    let entries = sample_pages();
    for entry in &entries {
        let mut logs: [Box<dyn Log>; 2] = [
            Box::new(UrlsLog::open(folder.path()).unwrap()),
            Box::new(LinksLog::open(folder.path()).unwrap()),
        ];
        for log in &mut logs {
            log.append(std::slice::from_ref(entry)).unwrap();
            log.sync().unwrap();
        }
    }
    assert_eq!(urls(folder.path()).unwrap().len(), 2);
    assert_eq!(links(folder.path()).unwrap(), expected(&entries));
}

#[test]
fn lost_bytes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let logs: [Box<dyn Log>; 2] = [
        Box::new(UrlsLog::open(folder.path()).unwrap()),
        Box::new(LinksLog::open(folder.path()).unwrap()),
    ];
    for mut log in logs {
        let end = log.sync().unwrap();
        let error = log.cut(Offset(end.0 + 1)).unwrap_err();
        assert!(error.to_string().contains("were committed"), "{error}");
        assert_eq!(log.sync().unwrap(), end);
        log.cut(Offset(0)).unwrap();
        log.sync().unwrap();
    }
    assert_eq!(urls(folder.path()).unwrap(), []);
    assert_eq!(links(folder.path()).unwrap(), []);
}

#[test]
fn a_torn_tail_is_told_from_damage() {
    let folder = tempfile::tempdir().unwrap();
    let entries = sample_pages();
    let mut log = LinksLog::open(folder.path()).unwrap();
    log.append(&entries[..1]).unwrap();
    let first = log.sync().unwrap().0;
    log.append(&entries[1..]).unwrap();
    let end = log.sync().unwrap().0;
    let path = folder.path().join(links::FILE);
    for length in (0..end).rev() {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        let read = links(folder.path());
        if length == first || length == 8 {
            assert_eq!(read.unwrap().len(), usize::from(length == first) * 3);
        } else {
            assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }
    LinksLog::open(folder.path()).unwrap().sync().unwrap();
    assert_eq!(links(folder.path()).unwrap(), []);
}

#[test]
fn a_damaged_line_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = UrlsLog::open(folder.path()).unwrap();
    log.append(&sample_pages()).unwrap();
    log.sync().unwrap();
    let path = folder.path().join(urls::FILE);
    let whole = std::fs::read_to_string(&path).unwrap();
    for (text, kind, message) in [
        (
            whole.trim_end().to_owned(),
            io::ErrorKind::UnexpectedEof,
            "line 2 ends",
        ),
        (
            whole.replacen("\"v\":1", "\"v\":9", 1),
            io::ErrorKind::InvalidData,
            "newer format 9",
        ),
        (
            whole.replacen("http://a", "ftp://a", 1),
            io::ErrorKind::InvalidData,
            "line 1: ",
        ),
        (
            [whole.as_str(), "{}\n", &whole].concat(),
            io::ErrorKind::InvalidData,
            "line 3: ",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let mut read = records(&path).unwrap();
        let error = read.by_ref().find_map(Result::err).unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert!(read.next().is_none());
    }
}

#[test]
fn records_are_read_up_to_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = UrlsLog::open(folder.path()).unwrap();
    let mut ends = vec![Offset(0)];
    for url in ["http://a.test/1", "http://a.test/2", "http://a.test/3"] {
        let entry = samples::entry(samples::record(url), &[]);
        log.append(&[entry]).unwrap();
        ends.push(log.sync().unwrap());
    }
    let path = folder.path().join(urls::FILE);
    for (end, expected) in [(ends[0], 0), (ends[2], 2), (Offset(u64::MAX), 3)] {
        let mut read = records(&path).unwrap().until(end);
        let mut places = vec![read.offset()];
        while let Some(record) = read.next() {
            record.unwrap();
            places.push(read.offset());
        }
        assert_eq!(places, ends[..=expected]);
    }
}

#[test]
fn a_line_cannot_steer_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = samples::record("http://a.test/");
    record.title = Some("\u{1b}]0;x\u{7}\u{9b}2J\u{7f}\u{2028}\u{202e}gpj\r\n".into());
    let mut log = UrlsLog::open(folder.path()).unwrap();
    log.append(&[samples::entry(record.clone(), &[])]).unwrap();
    log.sync().unwrap();
    let text = std::fs::read_to_string(folder.path().join(urls::FILE)).unwrap();
    assert!(
        !text
            .trim_end_matches('\n')
            .chars()
            .any(crate::escape::is_steering)
    );
    assert_eq!(urls(folder.path()).unwrap(), [record]);
}

#[test]
fn a_link_is_compact_and_a_large_page_is_split() {
    let folder = tempfile::tempdir().unwrap();
    let page = samples::record("http://a.test/");
    let texts: Vec<_> = (0..107).map(|n| format!("http://a.test/{n}")).collect();
    let own: Vec<_> = texts
        .iter()
        .map(|text| (text.as_str(), LinkKind::Anchor))
        .collect();
    let mut log = LinksLog::open(folder.path()).unwrap();
    let start = log.sync().unwrap().0;
    log.append(&[samples::entry(page.clone(), &own)]).unwrap();
    let size = log.sync().unwrap().0 - start;
    assert!(size <= 107 * 11, "{size} bytes for 107 links");

    let many = (0..70_000_u128).map(|n| (Key::from_bytes(n.to_be_bytes()), LinkKind::Image));
    let entry = samples::bare(page, many.collect());
    log.append(std::slice::from_ref(&entry)).unwrap();
    log.sync().unwrap();
    assert_eq!(links(folder.path()).unwrap()[107..], expected(&[entry]));
}

#[test]
fn another_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("links")).unwrap();
    for (content, message) in [
        (&b"GIF89a and more"[..], "not a link log"),
        (&b"CLEWLNK\x09"[..], "unknown format 9"),
    ] {
        std::fs::write(folder.path().join(links::FILE), content).unwrap();
        for error in [
            LinksLog::open(folder.path()).map(drop).unwrap_err(),
            links(folder.path()).map(drop).unwrap_err(),
        ] {
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}

#[test]
fn the_formats_are_documented() {
    let page = include_str!("../../../../docs/formats.md");
    let mut record = samples::record("http://a.test/");
    record.redirect_to = Some(String::new());
    record.reason = Some(SkipReason::Robots);
    record.failure = Some(FailureClass::Tls);
    record.error = Some(String::new());
    record.truncated = true;
    record.found_on = Some(record.url.clone());
    record.timings.connect = Some(1.0);
    record.timings.tls = Some(1.0);
    record.address = Some([127, 0, 0, 1].into());
    record.title = Some(String::new());
    record.canonical = Some(record.url.clone());
    record.lastmod = Some(String::new());
    record.digest = Some(String::new());
    record.noindex = true;
    let line = serde_json::to_value(&record).unwrap();
    let fields = line.as_object().unwrap().keys().cloned();
    let timings = line["timings"].as_object().unwrap().keys();
    let mut names: Vec<_> = fields.collect();
    assert_eq!(names.len(), 28, "a new field belongs in the page and above");
    names.extend(timings.map(|name| format!("timings.{name}")));
    names.extend(
        SkipReason::ALL
            .iter()
            .map(|reason| reason.name().to_owned()),
    );
    names.extend(
        FailureClass::ALL
            .iter()
            .map(|class| class.name().to_owned()),
    );
    for name in names {
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
    }
    for kind in LinkKind::ALL {
        let row = format!("\n| {} | `{}` | ", kind as u8, kind.name());
        assert!(page.contains(&row), "{row}");
    }
}
