//! What is written is read back, whatever it is.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

use std::io::Read as _;
use std::time::Duration;

use clewline_warc::read::WarcReader;
use clewline_warc::verify::Verifier;
use clewline_warc::{
    Block, Effort, Encoder, Moment, RecordDraft, RecordId, RecordKind, Truncation, WarcCompression,
};
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Sample {
    url: String,
    value: String,
    head: Vec<u8>,
    body: Vec<u8>,
    seconds: u64,
    effort: Effort,
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let effort = prop_oneof![Just(Effort::Usual), Just(Effort::Cheapest)];
    let head = prop_oneof![
        Just(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
        Just(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec()),
        // A head that ends with its only empty line, whatever stands before.
        proptest::collection::vec(any::<u8>(), 0..60).prop_map(|mut head| {
            head.retain(|&byte| byte != b'\n');
            head.extend_from_slice(b"\r\n\r\n");
            head
        }),
    ];
    let body = proptest::collection::vec(any::<u8>(), 0..3000);
    let sample = (
        "\\PC*",
        "(?s).*",
        head,
        body,
        0_u64..253_402_300_800,
        effort,
    );
    let sample = sample.prop_map(|(url, value, head, body, seconds, effort)| Sample {
        url,
        value,
        head,
        body,
        seconds,
        effort,
    });
    proptest::collection::vec(sample, 1..6)
}

fn written(samples: &[Sample], coding: WarcCompression) -> Vec<u8> {
    let mut encoder = Encoder::new(coding);
    let mut file = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        let id = RecordId::numbered([5; 16], number as u64);
        let date = Moment::since_1970(Duration::from_secs(sample.seconds));
        let mut block = Block::message(&sample.head).bytes(&sample.body);
        let examined = block.examine().unwrap();
        let draft = RecordDraft::response(id, date, &sample.url, block)
            .payload_digest(examined.payload.digest)
            .truncated(Truncation::Length)
            .value(&sample.value, &sample.value);
        encoder.encode(&draft, sample.effort, &mut file).unwrap();
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn records_come_back_as_they_were(samples in samples()) {
        for coding in WarcCompression::ALL {
            let file = written(&samples, coding);
            let mut reader = WarcReader::new(&file[..]);
            let mut at = 0;
            for (number, sample) in samples.iter().enumerate() {
                let header = reader.next_record().unwrap().unwrap();
                let mut block = Vec::new();
                reader.block().read_to_end(&mut block).unwrap();
                let end = reader.end().unwrap();
                prop_assert_eq!(header.kind(), RecordKind::Response);
                prop_assert_eq!(header.record_id(), Some(RecordId::numbered([5; 16], number as u64)));
                prop_assert_eq!(header.date().map(Moment::seconds), i64::try_from(sample.seconds).ok());
                prop_assert_eq!(block, [&sample.head[..], &sample.body].concat());
                prop_assert_eq!(end.offset, at);
                prop_assert!(end.is_alone && end.is_closed);
                // The fields that are always there, and the one of the sample.
                prop_assert!(header.fields().len() <= 10, "{:?}", header.fields());
                at += end.length;
            }
            prop_assert!(reader.next_record().is_none());
            prop_assert_eq!(at, file.len() as u64);
        }
    }

    #[test]
    fn what_we_write_has_no_findings(samples in samples()) {
        for coding in WarcCompression::ALL {
            let mut findings = Vec::new();
            let mut verifier = Verifier::default();
            let file = written(&samples, coding);
            verifier.verify(&file[..], &mut |finding| findings.push(finding)).unwrap();
            // A sample without a URL lacks a field that it needs.
            let empty = samples.iter().filter(|sample| sample.url.is_empty()).count();
            prop_assert_eq!(findings.len(), empty, "{:?}", findings);
            prop_assert_eq!(verifier.tally().records, samples.len() as u64);
        }
    }
}
