//! Files as they are found, sound and damaged, in every packing.

use std::io::{Cursor, Read as _, Write as _};
use std::time::Duration;

use super::*;
use crate::{Block, Effort, Encoder, Moment, RecordDraft, RecordId, RecordKind, WarcCompression};

const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n<p>WARC/1.0 is no record here\nWARC/1.1\n";

fn record(coding: WarcCompression, number: u64, body: &[u8]) -> Vec<u8> {
    let date = Moment::since_1970(Duration::from_secs(1_700_000_000 + number));
    let id = RecordId::numbered([9; 16], number);
    let url = format!("http://a.test/{number}");
    let draft = RecordDraft::response(id, date, &url, Block::message(PAGE).bytes(body));
    let mut out = Vec::new();
    Encoder::new(coding)
        .encode(&draft, Effort::Usual, &mut out)
        .unwrap();
    out
}

/// What reading a file tells, in short: targets with their bytes, errors by their name.
fn told(bytes: &[u8]) -> Vec<String> {
    let mut reader = WarcReader::new(bytes);
    let mut told = Vec::new();
    while let Some(next) = reader.next_record() {
        assert!(told.len() < 10_000, "no end");
        let line = match next {
            Ok(header) => {
                let mut block = Vec::new();
                let read = reader.block().read_to_end(&mut block);
                let target = header.target().unwrap_or("-").to_owned();
                match (read, reader.end()) {
                    (Ok(_), Ok(end)) if end.is_alone => format!("{target} {}", block.len()),
                    (Ok(_), Ok(_)) => format!("{target} {} shared", block.len()),
                    (_, Err(error)) => format!("{target} {} {}", block.len(), name(&error)),
                    (Err(error), Ok(_)) => panic!("{error} was forgotten"),
                }
            }
            Err(error) => name(&error),
        };
        told.push(line);
    }
    told
}

fn name(error: &ReadError) -> String {
    let text = format!("{error:?}");
    text.split([' ', '{']).next().unwrap().to_owned()
}

#[test]
fn records_and_their_places_are_found() {
    for coding in WarcCompression::ALL {
        let records: Vec<_> = (0..5_usize)
            .map(|number| record(coding, number as u64, &b"x".repeat(number * 40_000)))
            .collect();
        let file = records.concat();
        let mut reader = WarcReader::new(&file[..]);
        let mut at = 0;
        for (number, record) in records.iter().enumerate() {
            let header = reader.next_record().unwrap().unwrap();
            assert_eq!(header.kind(), RecordKind::Response);
            assert_eq!(
                header.target(),
                Some(format!("http://a.test/{number}").as_str())
            );
            assert_eq!(header.length(), (PAGE.len() + number * 40_000) as u64);
            let end = reader.end().unwrap();
            assert_eq!(
                (end.offset, end.length),
                (at, record.len() as u64),
                "{coding:?}"
            );
            assert!(end.is_alone && end.is_closed);
            let mut alone = WarcReader::seek(Cursor::new(&file), at).unwrap();
            assert_eq!(alone.next_record().unwrap().unwrap(), header);
            at += end.length;
        }
        assert!(reader.next_record().is_none());
        assert!(reader.next_record().is_none());
    }
}

#[test]
fn one_member_for_all_is_read() {
    let plain = [
        record(WarcCompression::Plain, 1, b"a"),
        record(WarcCompression::Plain, 2, b"bc"),
    ]
    .concat();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let (one, two) = (PAGE.len() + 1, PAGE.len() + 2);
    let expected = [
        format!("http://a.test/1 {one} shared"),
        format!("http://a.test/2 {two} shared"),
    ];
    assert_eq!(told(&gzip.finish().unwrap()), expected);
    assert_eq!(
        told(&zstd::stream::encode_all(&plain[..], 1).unwrap()),
        expected
    );
    // Members that end anywhere, as a parallel gzip makes them.
    let mut pieces = Vec::new();
    for piece in plain.chunks(100) {
        let mut gzip = flate2::write::GzEncoder::new(&mut pieces, flate2::Compression::fast());
        gzip.write_all(piece).unwrap();
        gzip.finish().unwrap();
    }
    let found = told(&pieces);
    assert!(
        found[0].starts_with(&format!("http://a.test/1 {one}")),
        "{found:?}"
    );
    assert!(
        found[1].starts_with(&format!("http://a.test/2 {two}")),
        "{found:?}"
    );
}

#[test]
fn dictionaries_are_honoured() {
    let plain = record(
        WarcCompression::Plain,
        1,
        b"a body that is in the dictionary, word for word",
    );
    let dictionary = plain.clone();
    let size = format!(" {}", PAGE.len() + 47);
    let mut frames = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap();
    let frame = frames.compress(&plain).unwrap();
    for packed in [false, true] {
        let stored = if packed {
            zstd::stream::encode_all(&dictionary[..], 3).unwrap()
        } else {
            dictionary.clone()
        };
        let mut file = vec![0x5d, 0x2a, 0x4d, 0x18];
        file.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        file.extend_from_slice(&stored);
        let start = file.len() as u64;
        file.extend_from_slice(&frame);
        file.extend_from_slice(&frame);
        assert_eq!(told(&file).len(), 2, "{:?}", told(&file));
        assert!(
            told(&file).iter().all(|line| line.ends_with(&size)),
            "{:?}",
            told(&file)
        );
        let mut alone = WarcReader::seek(Cursor::new(&file), start).unwrap();
        assert!(alone.next_record().unwrap().is_ok());
        assert_eq!(alone.end().unwrap().offset, start);
    }
}

#[test]
fn quirks_are_read() {
    let file = b"\r\nWARC/1.0\r\nwarc-type:RESPONSE\r\nWARC-Target-URI: <http://a.test/>\r\n\
        WARC-Date: 2020-01-01\r\nX-Long: one\r\n\ttwo\r\nContent-Length:  2 \r\n\r\nab\r\n\r\n\r\n\
        WARC/0.18\nWARC-Type: future\nContent-Length: 0\n\n\n\n";
    let mut reader = WarcReader::new(&file[..]);
    let first = reader.next_record().unwrap().unwrap();
    assert_eq!(
        (first.kind(), first.target()),
        (RecordKind::Response, Some("http://a.test/"))
    );
    assert_eq!(first.value("x-long"), Some("one two"));
    assert_eq!(first.date().unwrap().timestamp(), "20200101000000");
    assert!(first.payload_digest().is_none() && first.id().is_none());
    let second = reader.next_record().unwrap().unwrap();
    assert_eq!(
        (second.version(), second.kind()),
        ("WARC/0.18", RecordKind::Unknown)
    );
    assert!(reader.next_record().is_none());
}

#[test]
fn damage_is_told_and_passed() {
    for coding in WarcCompression::ALL {
        // So much that some blocks precede the damage, and nothing that compresses.
        let numbers = (0..100_000_u32).map(|number| number.wrapping_mul(2_654_435_761));
        let body: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        let (one, two) = (record(coding, 1, &body), record(coding, 2, b""));
        let whole = [format!("http://a.test/1 {}", PAGE.len() + body.len())];
        let next = [format!("http://a.test/2 {}", PAGE.len())];

        let cut = [&one[..one.len() / 2], &two].concat();
        let found = told(&cut);
        if coding == WarcCompression::Plain {
            // The block takes what follows; there is no border to see.
            assert_eq!(found.len(), 1, "{found:?}");
        } else {
            assert!(found[0].starts_with("http://a.test/1 "), "{found:?}");
            let is_told = found[0].ends_with("Damaged") || found[0].ends_with("Truncated");
            assert!(is_told, "{coding:?} {found:?}");
            assert_eq!(found.last(), Some(&next[0]), "{coding:?} {found:?}");
        }

        let last = [&two[..], &one[..one.len() / 2]].concat();
        let found = told(&last);
        assert_eq!(
            (found.len(), &found[0]),
            (2, &next[0]),
            "{coding:?} {found:?}"
        );
        assert!(found[1].ends_with("Truncated"), "{coding:?} {found:?}");

        let between = [&one[..], b"\0\0garbage\0\nWARC\n", &two].concat();
        let found = told(&between);
        assert_eq!(
            (&found[0], found.last()),
            (&whole[0], Some(&next[0])),
            "{coding:?}"
        );
        assert!(found.len() == 3, "{coding:?} {found:?}");
    }
}

#[test]
fn a_member_with_a_wrong_checksum_is_damaged() {
    for coding in [WarcCompression::default(), WarcCompression::Zstd] {
        let mut one = record(coding, 1, b"body");
        let at = one.len() - 6;
        one[at] ^= 1;
        let file = [one, record(coding, 2, b"")].concat();
        let found = told(&file);
        assert!(found[0].ends_with("Damaged"), "{found:?}");
        assert_eq!(found.len(), 2, "{found:?}");
    }
}

#[test]
fn lying_lengths_do_not_hide_the_next_record() {
    let member = |text: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    };
    for length in ["0", "3", "99", "99999999999999999999", "-1", ""] {
        let one = format!("WARC/1.1\r\nContent-Length: {length}\r\n\r\nblock\r\n\r\n");
        let file = [
            member(one.as_bytes()),
            record(WarcCompression::default(), 2, b""),
        ]
        .concat();
        let found = told(&file);
        assert_eq!(
            found.last(),
            Some(&format!("http://a.test/2 {}", PAGE.len())),
            "{length} {found:?}"
        );
        assert!(found.len() >= 2);
    }
}

#[test]
fn endless_headers_are_refused() {
    let mut file = b"WARC/1.1\r\nX: ".to_vec();
    file.resize(LONGEST_HEADER * 3, b'x');
    file.extend_from_slice(b"\r\n\r\n\r\n");
    file.extend_from_slice(&record(WarcCompression::Plain, 2, b""));
    let found = told(&file);
    assert_eq!(found[0], "LongHeader");
    assert_eq!(
        found.last(),
        Some(&format!("http://a.test/2 {}", PAGE.len()))
    );
}

#[test]
fn files_that_are_no_archive_say_so() {
    assert!(told(b"").is_empty());
    assert!(told(b"\n\n").is_empty());
    assert_eq!(told(b"hello, world"), ["NoRecord"]);
    assert_eq!(told(&[0x1f, 0x8b]), ["Damaged"]);
    assert_eq!(told(b"WARC/1.1\r\nWARC-Type: x"), ["Truncated"]);
}
