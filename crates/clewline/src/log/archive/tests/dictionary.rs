//! The dictionary of an archive in zstd: when it is learnt, and that no kill loses a file.

use clewline_warc::Dictionary;

use super::super::dictionary::RECORDS;
use super::*;

/// Pages of a batch; each is three records.
const PAGES: usize = 200;
/// Two batches are enough to learn from.
const _: () = assert!(PAGES * 3 * 2 >= RECORDS);
const FILE_SIZE: u64 = 1 << 20;

fn in_zstd() -> ArchivePlan {
    ArchivePlan {
        coding: WarcCompression::Zstd,
        ..plan(FILE_SIZE)
    }
}

/// Pages that have much in common, and each something of its own.
fn batch(number: usize) -> Vec<Entry> {
    let page = |page: usize| {
        let url = format!("http://a.test/{page}");
        let words = (0..60).map(|word| format!("<li class=entry>{}</li>", (page * 31 + word) * 7));
        let body = format!("<ul>{}</ul>", words.collect::<String>());
        let mut entry = samples::entry(samples::record(&url), &[]);
        entry.exchange = Some(exchange(&url, body.as_bytes()));
        entry
    };
    (number * PAGES..(number + 1) * PAGES).map(page).collect()
}

/// Which files have a dictionary, in their order.
fn dictionaries(folder: &Path) -> Vec<Option<Dictionary>> {
    let folder = folder.join(FOLDER);
    let files = files::list(&folder).unwrap();
    let of_file = |file: &clewline_job::archive::WarcName| {
        let input = File::open(file.path(&folder)).unwrap();
        Dictionary::from_file(input).unwrap()
    };
    files.iter().map(of_file).collect()
}

fn written(batches: usize) -> Vec<u8> {
    let mut lines = Vec::new();
    for entry in (0..batches).flat_map(batch) {
        crate::log::urls::write_line(&entry.record, &mut lines).unwrap();
    }
    lines
}

/// Writes batches and answers the end after each.
fn write(folder: &Path, from: usize, to: usize, end: Offset) -> Vec<Offset> {
    let mut log = ArchiveLog::open(folder, in_zstd(), end).unwrap();
    let mut write = |number| {
        log.keep(&[]).unwrap();
        log.append(&batch(number)).unwrap();
        log.sync().unwrap()
    };
    // The log is dropped as a kill would leave it.
    (from..to).map(&mut write).collect()
}

#[test]
fn later_files_begin_with_what_the_first_taught() {
    let place = tempfile::tempdir().unwrap();
    let mut log = ArchiveLog::open(place.path(), in_zstd(), Offset(0)).unwrap();
    for number in 0..4 {
        log.append(&batch(number)).unwrap();
        log.sync().unwrap();
    }
    log.close().unwrap();
    let found = dictionaries(place.path());
    assert_eq!(found.len(), 2);
    assert!(found[0].is_none() && found[1].is_some(), "{found:?}");
    assert_eq!(lines(place.path()), written(4));
    let archive = place.path().join(FOLDER);
    let sizes: Vec<u64> = files::list(&archive)
        .unwrap()
        .iter()
        .map(|file| fs::metadata(file.path(&archive)).unwrap().len())
        .collect();
    assert!(sizes[1] < sizes[0], "the same number of pages: {sizes:?}");
}

#[test]
fn files_too_small_for_a_dictionary_have_none() {
    let place = tempfile::tempdir().unwrap();
    let plan = ArchivePlan {
        file_size: 100_000,
        ..in_zstd()
    };
    let mut log = ArchiveLog::open(place.path(), plan, Offset(0)).unwrap();
    for number in 0..3 {
        log.append(&batch(number)).unwrap();
    }
    log.close().unwrap();
    assert!(dictionaries(place.path()).iter().all(Option::is_none));
    assert_eq!(lines(place.path()), written(3));
}

#[test]
fn every_file_opens_alone_after_a_kill_at_any_batch() {
    let origin = tempfile::tempdir().unwrap();
    let ends = write(origin.path(), 0, 4, Offset(0));
    for (number, &end) in ends.iter().enumerate() {
        let place = tempfile::tempdir().unwrap();
        copy(origin.path(), place.path());
        let archive = place.path().join(FOLDER);
        take_back(&archive, Position::new(end), Tails::Dropped).unwrap();
        let before = dictionaries(place.path());
        write(place.path(), number + 1, 6, end);
        let archive = place.path().join(FOLDER);
        for file in files::list(&archive).unwrap() {
            let whole = archive.join(&file.name);
            fs::rename(file.path(&archive), whole).unwrap();
        }
        // The reader sees one file at a time.
        assert_eq!(lines(place.path()), written(6), "killed after {number}");
        let after = dictionaries(place.path());
        let new = &after[before.len()..];
        let learnt = before.iter().flatten().next_back();
        match learnt {
            // What was learnt before the kill is used on.
            Some(known) => assert!(new.iter().all(|found| found.as_ref() == Some(known))),
            // Enough was written before the kill, so the first new file has one.
            None if number > 0 => assert!(new.iter().all(Option::is_some), "{after:?}"),
            None => assert!(new.last().is_some_and(Option::is_some), "{after:?}"),
        }
    }
}

#[test]
fn a_batch_that_is_taken_back_and_written_again_is_read() {
    let place = tempfile::tempdir().unwrap();
    let mut log = ArchiveLog::open(place.path(), in_zstd(), Offset(0)).unwrap();
    log.append(&batch(0)).unwrap();
    log.append(&batch(1)).unwrap();
    let end = log.sync().unwrap();
    for _ in 0..2 {
        log.cut(end).unwrap();
        log.append(&batch(2)).unwrap();
        log.sync().unwrap();
    }
    log.close().unwrap();
    assert_eq!(lines(place.path()), written(3));
    let found = dictionaries(place.path());
    assert!(found.last().is_some_and(Option::is_some), "{found:?}");
}
