//! Writes one record of every kind, in every coding, for other people's tools to read.
//!
//! `specimen FOLDER` makes `all.warc`, `all.warc.gz`, `all.warc.zst` and their index.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline_warc::cdxj::{Capture, sort};
use clewline_warc::read::WarcReader;
use clewline_warc::{
    Block, Effort, Encoder, Moment, Profile, RecordDraft, RecordId, RevisitOriginal, Truncation,
    WarcCompression, warc_fields,
};

const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
/// Without a trailer: warcio 1.8.1 takes one for payload.
const CHUNKS: &[u8] = b"5;x=y\r\n<p>he\r\n6\r\nllo</p\r\n1\r\n>\r\n0\r\n\r\n";
const LONG: &[u8] = b"HTTP/1.1 200 OK\r\nConTent-TYPE:text/plain\r\nX: folded\r\n line\r\n\r\n";
const EMPTY: &[u8] = b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n";
const REQUEST: &[u8] = b"GET /chunked HTTP/1.1\r\nHost: specimen.test\r\n\r\n";
/// The bytes of the long body that go to memory; the rest lies in a file.
const IN_MEMORY: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("a folder is missing")?);
    fs::create_dir_all(&folder)?;
    let long: Vec<u8> = (0..300_000_u32)
        .map(|number| (number % 253) as u8)
        .collect();
    let mut spool = tempfile::tempfile()?;
    spool.write_all(&long[IN_MEMORY..])?;
    let mut lines = Vec::new();
    for coding in [
        WarcCompression::Plain,
        WarcCompression::default(),
        WarcCompression::Zstd,
    ] {
        let name = format!("all{}", coding.suffix());
        let path = folder.join(&name);
        let mut file = File::create(&path)?;
        let mut encoder = Encoder::new(coding);
        for (draft, effort) in drafts(&name, &long, &spool)? {
            encoder.encode(&draft, effort, &mut file)?;
        }
        index(&path, &name, &mut lines)?;
    }
    let mut out = File::create(folder.join("index.cdxj"))?;
    sort(lines.join("\n").as_bytes(), &mut out, 1 << 20, &folder)?;
    Ok(())
}

fn id(number: u64) -> RecordId {
    RecordId::numbered(*b"clewlinespecimen", number)
}

fn drafts<'a>(
    name: &str,
    long: &'a [u8],
    spool: &'a File,
) -> Result<Vec<(RecordDraft<'a>, Effort)>, Box<dyn Error>> {
    let date = Moment::since_1970(Duration::new(1_763_208_000, 123_456_000));
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let url = "http://specimen.test/chunked";
    let info: &'static [u8] = warc_fields([
        ("software", "clewline specimen"),
        ("format", "WARC File Format 1.1"),
    ])
    .leak();
    let mut chunked = Block::message(CHUNKED).bytes(CHUNKS);
    let chunks = chunked.examine()?.payload;
    let mut spooled = Block::message(LONG).bytes(&long[..IN_MEMORY]).file(
        spool,
        0,
        (long.len() - IN_MEMORY) as u64,
    );
    let payload = spooled.examine()?.payload;
    let original = RevisitOriginal {
        id: Some(id(2)),
        target: url,
        date,
    };
    let hostile = "http://specimen.test/\r\nWARC-Type: response\r\n\r\nx<y>";
    let usual = [
        RecordDraft::warcinfo(id(0), date, name, Block::plain(info)),
        RecordDraft::request(id(1), date, url, Block::message(REQUEST)).concurrent_to(id(2)),
        RecordDraft::response(id(2), date, url, chunked)
            .address(address)
            .info(id(0))
            .payload_type("text/html")
            .payload_digest(chunks.digest),
        RecordDraft::revisit(
            id(3),
            date,
            "http://specimen.test/again",
            Profile::IdenticalPayloadDigest,
            Block::message(CHUNKED),
        )
        .payload_digest(chunks.digest)
        .refers_to(original),
        RecordDraft::revisit(
            id(4),
            date,
            url,
            Profile::ServerNotModified,
            Block::message(EMPTY),
        )
        .payload_digest(chunks.digest)
        .refers_to(original),
        RecordDraft::metadata(id(5), date, url, Block::plain(b"{\"url\":\"x\"}"))
            .content_type("application/json")
            .about(id(2)),
        RecordDraft::resource(id(6), date, "urn:specimen", Block::plain("tëxt".as_bytes()))
            .content_type("text/plain"),
        RecordDraft::response(id(7), date, hostile, Block::message(LONG).bytes(b"cut"))
            .truncated(Truncation::Disconnect)
            .value("X-Injected", "a\r\n\r\nWARC/1.1\r\n"),
    ];
    let mut drafts: Vec<_> = usual.map(|draft| (draft, Effort::Usual)).into();
    let spooled = RecordDraft::response(id(8), date, "http://specimen.test/long", spooled)
        .payload_digest(payload.digest);
    drafts.push((spooled, Effort::Cheapest));
    Ok(drafts)
}

fn index(path: &Path, name: &str, lines: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    let mut reader = WarcReader::new(File::open(path)?);
    while let Some(header) = reader.next_record() {
        let capture = Capture::from_record(&header?, &mut reader, name)?;
        lines.extend(capture.map(|capture| capture.line()));
    }
    Ok(())
}
