//! Weighs every way to compress an archive by the records of real WARC files.
//!
//! `cargo run --release -p clewline-warc --example weigh -- FILE…` reads the records into memory
//! and writes them again in every coding, beside zlib at level 6 (what `gzip -6` does). It
//! prints bytes and processor time, and ends with 1 if a promise of the archive is broken.
#![expect(clippy::print_stdout, reason = "what it prints is its result")]

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Write as _};
use std::process::ExitCode;

use clewline_warc::read::{Header, WarcReader};
use clewline_warc::{
    Block, Dictionary, Effort, Encoder, Level, Moment, RecordDraft, RecordId, RecordKind,
    WarcCompression, samples,
};
use rustix::time::{ClockId, clock_gettime};

/// Records that the dictionary is made from: those of a crawl's first file.
const FIRST: usize = 1000;
const DICTIONARY: usize = 110 * 1024;
/// What zstd may have of the bytes of zlib.
const ZSTD: f64 = 0.65;

/// Fields that a draft makes by itself.
const OWN: [&str; 4] = ["WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length"];

struct Record {
    header: Header,
    id: RecordId,
    date: Moment,
    block: Vec<u8>,
}

impl Record {
    fn draft(&self) -> RecordDraft<'_> {
        let mut block = Block::plain(&self.block);
        if let Some(digest) = self.header.block_digest() {
            block = block.digested(digest);
        }
        let mut draft = RecordDraft::new(self.header.kind(), self.id, self.date, block);
        for (name, value) in self.header.fields() {
            if !OWN.contains(&name.as_str()) && name != "WARC-Block-Digest" {
                draft = draft.value(name, value);
            }
        }
        draft
    }
}

/// What a coding came to.
struct Weight {
    bytes: u64,
    seconds: f64,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut records = Vec::new();
    for path in std::env::args_os().skip(1) {
        read(
            &mut WarcReader::new(BufReader::new(File::open(path)?)),
            &mut records,
        )?;
    }
    let pages = records
        .iter()
        .filter(|record| record.header.kind() == RecordKind::Response);
    let pages = pages.count().max(1);
    println!("{} records, {pages} responses", records.len());
    let zlib = by_zlib(&records)?;
    let show = |name: &str, weight: &Weight| {
        let (per_page, micros) = (
            weight.bytes / pages as u64,
            weight.seconds * 1e6 / pages as f64,
        );
        let part = weight.bytes as f64 / zlib.bytes as f64;
        println!("{name:<28} {per_page:>8} bytes/page {part:>6.3} × zlib -6 {micros:>8.1} µs/page");
    };
    show("zlib -6", &zlib);
    let mut balanced = None;
    for coding in WarcCompression::ALL {
        let weight = weigh(&mut Encoder::new(coding), &records)?;
        show(&format!("{coding:?}"), &weight);
        if coding == WarcCompression::Gzip(Level::Balanced) {
            balanced = Some(weight);
        }
    }
    let (first, later) = records.split_at(FIRST.min(records.len()));
    let (zstd, alone) = with_dictionary(first, later)?;
    show("Zstd, dictionary", &zstd);
    let expected = by_zlib(later)?;
    let part = alone.bytes as f64 / expected.bytes.max(1) as f64;
    println!("without the first {FIRST} records {part:.3} × zlib -6");
    let balanced = balanced.ok_or("every coding is tried")?;
    let kept = [
        ("balanced ≤ 1.0 × zlib -6", balanced.bytes <= zlib.bytes),
        (
            "zstd ≤ 0.65 × zlib -6",
            zstd.bytes as f64 <= ZSTD * zlib.bytes as f64,
        ),
        (
            "zstd takes less time than balanced",
            zstd.seconds < balanced.seconds,
        ),
    ];
    for (promise, is_kept) in kept {
        println!("{promise}: {}", if is_kept { "yes" } else { "NO" });
    }
    let all = kept.iter().all(|(_, is_kept)| *is_kept);
    Ok(if all {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn read(
    reader: &mut WarcReader<impl io::Read>,
    records: &mut Vec<Record>,
) -> Result<(), Box<dyn Error>> {
    while let Some(header) = reader.next_record() {
        let header = header?;
        let mut block = Vec::new();
        reader.block().read_to_end(&mut block)?;
        records.push(Record {
            id: header.record_id().ok_or("a record has no identifier")?,
            date: header.date().ok_or("a record has no date")?,
            header,
            block,
        });
    }
    Ok(())
}

fn weigh(encoder: &mut Encoder, records: &[Record]) -> Result<Weight, Box<dyn Error>> {
    let mut out = Vec::new();
    let (mut bytes, begun) = (0, now());
    for record in records {
        out.clear();
        bytes += encoder.encode(&record.draft(), Effort::Usual, &mut out)?;
    }
    let seconds = now() - begun;
    Ok(Weight { bytes, seconds })
}

/// The same records by zlib: one member for each.
fn by_zlib(records: &[Record]) -> Result<Weight, Box<dyn Error>> {
    let mut encoder = Encoder::new(WarcCompression::Plain);
    let (mut bytes, begun, mut plain) = (0, now(), Vec::new());
    for record in records {
        plain.clear();
        encoder.encode(&record.draft(), Effort::Usual, &mut plain)?;
        let level = flate2::Compression::new(6);
        let mut member = flate2::write::GzEncoder::new(Vec::new(), level);
        member.write_all(&plain)?;
        bytes += member.finish()?.len() as u64;
    }
    let seconds = now() - begun;
    Ok(Weight { bytes, seconds })
}

/// As a crawl writes them: a file without a dictionary, and one with what that taught. Answers
/// both together, and the second alone.
fn with_dictionary(first: &[Record], later: &[Record]) -> Result<(Weight, Weight), Box<dyn Error>> {
    let begun = now();
    let (mut encoder, mut file) = (Encoder::new(WarcCompression::Zstd), Vec::new());
    for record in first {
        encoder.encode(&record.draft(), Effort::Usual, &mut file)?;
    }
    let dictionary = Dictionary::train(&samples(&file[..], FIRST), DICTIONARY)?;
    let learning = now() - begun;
    let size = dictionary.frame().len() as u64;
    let mut alone = weigh(&mut Encoder::with_dictionary(dictionary), later)?;
    alone.bytes += size;
    let both = Weight {
        bytes: alone.bytes + file.len() as u64,
        seconds: alone.seconds + learning,
    };
    Ok((both, alone))
}

/// Seconds of processor time that this process took so far.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
