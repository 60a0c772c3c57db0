//! Records as bytes: fields, members, digests, and what cannot break out.

use std::io::{Read as _, Seek as _, Write as _};
use std::time::Duration;

use super::*;
use crate::{Framing, Moment, Profile, RecordId, RecordKind, Truncation};

fn id(number: u64) -> RecordId {
    RecordId::numbered([3; 16], number)
}

fn date() -> Moment {
    Moment::since_1970(Duration::new(1_700_000_000, 250_000_000))
}

fn encoded(coding: WarcCompression, effort: Effort, draft: &RecordDraft<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let length = Encoder::new(coding)
        .encode(draft, effort, &mut out)
        .unwrap();
    assert_eq!(length, out.len() as u64);
    out
}

fn unpacked(coding: WarcCompression, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match coding {
        WarcCompression::Plain => out.extend_from_slice(bytes),
        WarcCompression::Gzip(_) => {
            let mut member = flate2::bufread::GzDecoder::new(bytes);
            member.read_to_end(&mut out).unwrap();
            assert!(member.into_inner().is_empty(), "more than one member");
        }
        WarcCompression::Zstd => out = zstd::stream::decode_all(bytes).unwrap(),
    }
    out
}

#[test]
fn a_response_is_written_as_it_should_be() {
    let mut block = Block::message(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .bytes(b"3\r\nabc\r\n0\r\n\r\n");
    let examined = block.examine().unwrap();
    assert_eq!(examined.payload.digest, crate::Digest::sha1(b"abc"));
    assert_eq!(
        (examined.payload.length, examined.payload.framing),
        (3, Framing::Chunked)
    );
    let draft = RecordDraft::response(id(1), date(), "http://a.test/\r\nX: y", block)
        .address("::1".parse().unwrap())
        .concurrent_to(id(2))
        .payload_digest(examined.payload.digest)
        .truncated(Truncation::Time)
        .value("X", "a\r\nWARC-Type: request");
    let text = String::from_utf8(encoded(WarcCompression::Plain, Effort::Usual, &draft)).unwrap();
    let expected = format!(
        "WARC/1.1\r\n\
         WARC-Type: response\r\n\
         WARC-Record-ID: <{}>\r\n\
         WARC-Date: 2023-11-14T22:13:20.250000Z\r\n\
         WARC-Target-URI: http://a.test/%0D%0AX:%20y\r\n\
         Content-Type: application/http; msgtype=response\r\n\
         WARC-IP-Address: ::1\r\n\
         WARC-Concurrent-To: <{}>\r\n\
         WARC-Payload-Digest: sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5\r\n\
         WARC-Truncated: time\r\n\
         X: a  WARC-Type: request\r\n\
         WARC-Block-Digest: {}\r\n\
         Content-Length: 60\r\n\r\n\
         HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\r\n\r\n",
        id(1),
        id(2),
        examined.block,
    );
    assert_eq!(text, expected);
}

#[test]
fn every_coding_and_effort_holds_the_same_record() {
    // Longer than all buffers and a stored block, and beginning with what does not compress.
    let mut body: Vec<u8> = (0..200_000_u32)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    body.extend(std::iter::repeat_n(b'x', 300_000));
    for size in [0, 1, 65_534, 65_535, 65_536, 131_072, body.len()] {
        let head = b"HTTP/1.1 200 OK\r\n\r\n";
        let draft = || {
            let block = Block::message(head).bytes(&body[..size]);
            RecordDraft::response(id(1), date(), "http://a.test/", block)
        };
        let plain = encoded(WarcCompression::Plain, Effort::Usual, &draft());
        for coding in WarcCompression::ALL {
            for effort in [Effort::Usual, Effort::Cheapest] {
                let bytes = encoded(coding, effort, &draft());
                assert_eq!(
                    bytes,
                    encoded(coding, effort, &draft()),
                    "not deterministic"
                );
                assert!(
                    unpacked(coding, &bytes) == plain,
                    "{coding:?} {effort:?} {size}"
                );
            }
        }
    }
}

#[test]
fn an_encoder_forgets_the_record_before() {
    for coding in WarcCompression::ALL {
        let mut encoder = Encoder::new(coding);
        let long = vec![b'z'; 100_000];
        for (number, effort) in [
            (1, Effort::Usual),
            (2, Effort::Cheapest),
            (3, Effort::Usual),
        ] {
            let draft = RecordDraft::resource(id(number), date(), "urn:x", Block::plain(&long));
            let mut out = Vec::new();
            encoder.encode(&draft, effort, &mut out).unwrap();
            assert!(
                out == encoded(coding, effort, &draft),
                "{coding:?} {number}"
            );
            // A record that fails half way must not leak into the next.
            let failed = encoder.encode(&draft, effort, &mut Full(5));
            assert!(matches!(failed, Err(WriteError::Output { .. })));
        }
    }
}

struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = self.0.min(bytes.len());
        self.0 -= taken;
        if taken == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn files_are_read_in_pieces_and_left_where_they_are() {
    let mut file = tempfile::tempfile().unwrap();
    let body: Vec<u8> = (0..200_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    file.write_all(b"skip").unwrap();
    file.write_all(&body).unwrap();
    let position = (&file).stream_position().unwrap();
    let mut block = Block::message(b"HTTP/1.1 200 OK\r\n\r\n")
        .bytes(&body[..1000])
        .file(&file, 1004, body.len() as u64 - 1000);
    let examined = block.examine().unwrap();
    assert_eq!(examined.payload.digest, crate::Digest::sha1(&body));
    let in_memory = Block::message(b"HTTP/1.1 200 OK\r\n\r\n").bytes(&body);
    let draft = |block| RecordDraft::response(id(1), date(), "http://a.test/", block);
    let written = encoded(WarcCompression::default(), Effort::Usual, &draft(block));
    let expected = encoded(WarcCompression::Plain, Effort::Usual, &draft(in_memory));
    assert!(unpacked(WarcCompression::default(), &written) == expected);
    assert_eq!((&file).stream_position().unwrap(), position);
    let short = draft(Block::plain(b"").file(&file, 0, body.len() as u64 + 5));
    let failed =
        Encoder::new(WarcCompression::default()).encode(&short, Effort::Usual, &mut Vec::new());
    assert!(matches!(failed, Err(WriteError::Block { .. })));
}

#[test]
fn payloads_are_digested_without_their_framing() {
    let chunked = b"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: gzip, Chunked\r\n\r\n";
    for (head, body, payload, framing) in [
        (
            &chunked[..],
            &b"1\r\na\r\n0\r\n\r\n"[..],
            &b"a"[..],
            Framing::Chunked,
        ),
        (chunked, b"1\r\na\r\n5\r\nbc", b"abc", Framing::Broken),
        (
            chunked,
            b"<html>never chunked",
            b"<html>never chunked",
            Framing::Undone,
        ),
        (
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"1\r\na\r\n",
            b"1\r\na\r\n",
            Framing::Identity,
        ),
    ] {
        for at in 0..body.len() {
            let mut block = Block::message(head).bytes(&body[..at]).bytes(&body[at..]);
            let found = block.examine().unwrap().payload;
            let expected = (crate::Digest::sha1(payload), payload.len() as u64, framing);
            assert_eq!((found.digest, found.length, found.framing), expected);
        }
    }
}

#[test]
fn revisits_name_their_original() {
    let draft = RecordDraft::revisit(
        id(1),
        date(),
        "http://a.test/b",
        Profile::IdenticalPayloadDigest,
        Block::message(b"HTTP/1.1 200 OK\r\n\r\n"),
    )
    .refers_to(RevisitOriginal {
        id: Some(id(7)),
        target: "http://a.test/a\n",
        date: date(),
    });
    let text = String::from_utf8(encoded(WarcCompression::Plain, Effort::Usual, &draft)).unwrap();
    for line in [
        "WARC-Type: revisit",
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        &format!("WARC-Refers-To: <{}>", id(7)),
        "WARC-Refers-To-Target-URI: http://a.test/a%0A",
        "WARC-Refers-To-Date: 2023-11-14T22:13:20.250000Z",
    ] {
        assert!(
            text.split("\r\n").any(|found| found == line),
            "{line} in {text}"
        );
    }
}

#[test]
fn fields_cannot_break_out_of_their_line() {
    let block = warc_fields([("software", "clewline"), ("a: b\r\n", "c\r\nd: e")]);
    assert_eq!(block, b"software: clewline\r\na--b--: c  d: e\r\n");
    assert_eq!(RecordKind::from_name("warcinfo"), RecordKind::WarcInfo);
}
