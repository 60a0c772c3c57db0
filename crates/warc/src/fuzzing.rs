//! Bodies for fuzzing: each takes any bytes and asserts what must hold for all of them.
//!
//! Owns the promises of the reader; refuses to know who makes the bytes.

use std::io::{self, Read};

use crate::cdxj::Capture;
use crate::http::{self, HttpHead};
use crate::read::{RecordExtent, WarcReader};
use crate::surt::surt;
use crate::verify::Verifier;

/// Decoded bytes of one body that are read.
const BODY: u64 = 64 * 1024;
/// Records that are looked at closely: one byte in a member can hold a record's worth of them.
const CLOSELY: usize = 64;

/// Reads `data` as a WARC file in every way there is.
pub fn fuzz_warc(data: &[u8]) {
    let records = walk(data);
    let mut verifier = Verifier::default();
    let mut findings = 0;
    let outcome = verifier.verify(data, &mut |finding| {
        assert!(finding.offset <= data.len() as u64, "{}", finding.fault);
        findings += 1;
    });
    assert!(outcome.is_ok(), "memory can be read on");
    assert_eq!(verifier.tally().records, records, "two readings differ");
    index(data);
}

/// Reads every record to its end; places lie in the file and in order.
fn walk(data: &[u8]) -> u64 {
    let mut reader = WarcReader::new(data);
    let (mut records, mut events, mut last) = (0_u64, 0_u64, 0);
    while let Some(next) = reader.next_record() {
        events += 1;
        let Ok(header) = next else { continue };
        records += 1;
        if events < CLOSELY as u64 {
            // A body that makes no sense is no fault of the reader's.
            let _ = look_into(reader.block());
            let _ = surt(header.target().unwrap_or_default());
        }
        if let Ok(end) = reader.end() {
            check_place(end, &mut last, data);
        }
    }
    assert!(reader.next_record().is_none(), "the end does not last");
    records
}

fn check_place(end: RecordExtent, last: &mut u64, data: &[u8]) {
    assert!(end.offset >= *last, "records go back");
    assert!(
        end.offset + end.length <= data.len() as u64,
        "a record leaves the file"
    );
    assert!(!end.is_alone || end.length > 0, "a member without bytes");
    *last = end.offset;
}

fn look_into(block: impl io::BufRead) -> io::Result<()> {
    let (head, body) = http::split(block)?;
    let head = HttpHead::parse(&head);
    let payload = http::payload(head, body);
    let decoded = http::decoded(&head.content_codings(), payload, BODY)?;
    let read = io::copy(&mut decoded.take(BODY * 2), &mut io::sink())?;
    assert!(read <= BODY, "a body exceeds its limit");
    Ok(())
}

/// Captures can be read back from their lines, and their records from their places.
fn index(data: &[u8]) {
    let mut reader = WarcReader::new(data);
    let mut seen = 0;
    while let Some(next) = reader.next_record() {
        let Ok(header) = next else { continue };
        let Ok(Some(capture)) = Capture::from_record(&header, &mut reader, "f.warc") else {
            continue;
        };
        seen += 1;
        if seen > CLOSELY {
            break;
        }
        let line = capture.line();
        assert!(!line.contains('\n'), "a line breaks");
        assert_eq!(Capture::parse(&line), Some(capture.clone()), "{line}");
        let alone = WarcReader::seek(io::Cursor::new(data), capture.offset);
        let alone = alone.ok().and_then(|mut reader| reader.next_record()?.ok());
        assert_eq!(
            alone.as_ref(),
            Some(&header),
            "a record differs when read alone"
        );
    }
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    const TRIAL: Trial<'_> = Trial {
        home: env!("CARGO_MANIFEST_DIR"),
        tokens: &[
            b"WARC/1.1\r\n",
            b"\r\n\r\n",
            b"Content-Length: 9\r\n",
            b"\x1f\x8b\x08",
            b"\x28\xb5\x2f\xfd",
            b"\x5d\x2a\x4d\x18",
        ],
        rounds: 300,
    };

    #[test]
    fn archives() {
        TRIAL.run("warc", super::fuzz_warc);
    }
}
