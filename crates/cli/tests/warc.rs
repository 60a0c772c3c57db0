//! The verb `warc` as people meet it: archives listed, read, streamed and verified.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use clewline_warc::{
    Block, Digest, Effort, Encoder, Moment, Profile, RecordDraft, RecordId, RevisitOriginal,
    WarcCompression,
};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/html\r\n\r\n";

fn run(arguments: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_clewline");
    Command::new(binary)
        .arg("warc")
        .args(arguments)
        .output()
        .unwrap()
}

fn succeeds(arguments: &[&str]) -> Vec<u8> {
    let output = run(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    output.stdout
}

fn coded(text: &str) -> Vec<u8> {
    // A stored block is gzip, too, and needs no library.
    let length = u16::try_from(text.len()).unwrap().to_le_bytes();
    let mut coded = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    coded.extend([length[0], length[1], !length[0], !length[1]]);
    coded.extend_from_slice(text.as_bytes());
    let mut crc = !0_u32;
    for &byte in text.as_bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    coded.extend_from_slice(&(!crc).to_le_bytes());
    coded.extend_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes());
    coded
}

/// An archive with `/a` captured in 2020 and 2024 and a revisit of the first at `/b`.
fn archive(path: &Path, coding: WarcCompression) -> Vec<u64> {
    let id = |number| RecordId::numbered([4; 16], number);
    let (old, new) = (
        Moment::from_timestamp("2020").unwrap(),
        Moment::from_timestamp("2024").unwrap(),
    );
    let (first, second) = (coded("<p>old</p>"), coded("<p>new \u{1b}[2J</p>"));
    let response = |number, date, body| {
        let digest = Digest::sha1(body);
        let block = Block::message(HEAD).bytes(body);
        RecordDraft::response(id(number), date, "http://a.test/a", block).payload_digest(digest)
    };
    let original = RevisitOriginal {
        id: None,
        target: "http://a.test/a",
        date: old,
    };
    let profile = Profile::IdenticalPayloadDigest;
    let drafts = [
        response(0, old, &first),
        response(1, new, &second),
        RecordDraft::revisit(id(2), new, "http://a.test/b", profile, Block::message(HEAD))
            .payload_digest(Digest::sha1(&first))
            .refers_to(original),
        RecordDraft::metadata(id(3), new, "http://a.test/a", Block::plain(b"{}")),
    ];
    let mut file = fs::File::create(path).unwrap();
    let mut encoder = Encoder::new(coding);
    let lengths = drafts
        .iter()
        .map(|draft| encoder.encode(draft, Effort::Usual, &mut file).unwrap());
    let lengths = lengths.collect();
    file.flush().unwrap();
    lengths
}

#[test]
fn captures_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("archive")).unwrap();
    for coding in WarcCompression::ALL {
        let name = format!("archive/x{}", coding.suffix());
        let path = folder.path().join(&name);
        let lengths = archive(&path, coding);
        let path = path.to_str().unwrap();
        let job = folder.path().to_str().unwrap();
        let second = lengths[0].to_string();
        for (arguments, expected) in [
            (
                vec![path, "--url", "http://a.test/a"],
                "<p>new \u{1b}[2J</p>",
            ),
            (
                vec![job, "--url", "https://www.A.test/a/", "--at", "2021"],
                "<p>old</p>",
            ),
            (
                vec![path, "--url", "http://a.test/a", "--at", "2023-06-01"],
                "<p>new \u{1b}[2J</p>",
            ),
            (vec![path, "--url", "http://a.test/b"], "<p>old</p>"),
            (vec![path, "http://a.test/b"], "<p>old</p>"),
            (vec![path, "a.test/b"], "<p>old</p>"),
            (vec![path, "--offset", &second], "<p>new \u{1b}[2J</p>"),
        ] {
            let arguments = [&["get"], &arguments[..]].concat();
            assert_eq!(String::from_utf8(succeeds(&arguments)).unwrap(), expected);
        }
        let head = succeeds(&["get", path, "--url", "http://a.test/b", "--headers"]);
        assert_eq!(head, HEAD);
        let raw = succeeds(&["get", path, "--offset", "0", "--raw"]);
        assert_eq!(raw, coded("<p>old</p>"));
        let output = run(&["get", path, "--url", "http://a.test/c"]);
        assert_eq!(output.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&output.stderr).contains("no capture of http://a.test/c"));
        fs::remove_file(folder.path().join(&name)).unwrap();
    }
}

#[test]
fn records_are_listed_and_streamed() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (
        folder.path().join("x.warc"),
        folder.path().join("y.warc.gz"),
    );
    let lengths = archive(&plain, WarcCompression::Plain);
    archive(&packed, WarcCompression::default());
    let listed = succeeds(&["ls", "--json", plain.to_str().unwrap()]);
    let rows: Vec<serde_json::Value> = String::from_utf8(listed)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<_> = rows
        .iter()
        .map(|row| row["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["response", "response", "revisit", "metadata"]);
    assert_eq!(rows[1]["offset"].as_u64(), Some(lengths[0]));
    assert_eq!(rows[1]["length"].as_u64(), Some(lengths[1]));
    assert_eq!(
        (rows[0]["status"].as_u64(), rows[0]["mime"].as_str()),
        (Some(200), Some("text/html"))
    );
    let text = succeeds(&["ls", folder.path().to_str().unwrap()]);
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count(), 8);
    assert!(
        text.lines().all(|line| line.contains("http://a.test/")),
        "{text}"
    );
    let streamed = succeeds(&["cat", packed.to_str().unwrap()]);
    assert!(
        streamed == fs::read(&plain).unwrap(),
        "decompressed it is the plain file"
    );
    let some = succeeds(&["cat", "--type", "metadata", packed.to_str().unwrap()]);
    assert!(some.starts_with(b"WARC/1.1\r\nWARC-Type: metadata\r\n") && some.len() < 500);
}

#[test]
fn damage_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.warc.gz");
    let lengths = archive(&path, WarcCompression::default());
    let name = path.to_str().unwrap();
    assert!(succeeds(&["verify", name]).is_empty());
    let mut bytes = fs::read(&path).unwrap();
    let at = usize::try_from(lengths[0] + lengths[1]).unwrap() - 6;
    bytes[at] ^= 0xff;
    fs::write(&path, &bytes).unwrap();
    for verb in ["verify", "ls", "cat"] {
        let output = run(&[verb, name]);
        assert_eq!(output.status.code(), Some(1), "{verb}");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(
            told.contains(&format!("{} is damaged", lengths[0])),
            "{verb}: {told}"
        );
    }
    assert_eq!(run(&["verify", "missing.warc"]).status.code(), Some(3));
    let package = run(&["ls", "some.wacz"]);
    assert_eq!(package.status.code(), Some(3));
    let told = String::from_utf8_lossy(&package.stderr);
    assert!(told.contains("`clewline serve` shows it"), "{told}");
    assert_eq!(run(&["get", name]).status.code(), Some(2));
}

#[test]
fn views_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.warc.gz");
    let lengths = archive(&path, WarcCompression::default());
    let (name, made) = (path.to_str().unwrap(), folder.path().join("made"));
    let into = made.to_str().unwrap();
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told(&run(&["rebuild", name])).contains("--output DIR"));
    let output = run(&["rebuild", name, "-o", into]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("2 lines and 3 captures from 1 file"));
    assert!(told(&output).contains("answers alone"), "{}", told(&output));
    let urls = fs::read_to_string(made.join("urls.jsonl")).unwrap();
    assert_eq!(urls.lines().count(), 2);
    assert!(urls.contains("\"body_bytes\":10"), "{urls}");
    let output = run(&["rebuild", name, "-o", into]);
    assert_eq!(output.status.code(), Some(3));
    assert!(told(&output).contains("--overwrite"), "{}", told(&output));
    let mut bytes = fs::read(&path).unwrap();
    bytes[usize::try_from(lengths[0]).unwrap() + 40] ^= 0xff;
    fs::write(&path, &bytes).unwrap();
    let output = run(&["rebuild", name, "-o", into, "--overwrite"]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
}
