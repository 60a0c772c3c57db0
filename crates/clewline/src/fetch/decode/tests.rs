//! Bodies in every coding, and what must come of them, however they are split.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

const MIB: u64 = 1 << 20;

type Decoded = (Vec<u8>, Result<DecodeState, DecodeError>);

/// Decodes a body that arrives in parts of at most `part` bytes.
fn decode(codings: &str, body: &[u8], part: usize, limits: &DecodeLimits) -> Decoded {
    let mut decoder = match Decoder::new(&[codings.as_bytes()], limits) {
        Ok(decoder) => decoder,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut out = Vec::new();
    let mut sink = |piece: &[u8]| {
        assert!(
            !piece.is_empty() && piece.len() <= PIECE,
            "{} bytes",
            piece.len()
        );
        out.extend_from_slice(piece);
    };
    let mut end = Ok(DecodeState::Open);
    for part in body.chunks(part) {
        end = decoder.feed(part, &mut sink);
        if end != Ok(DecodeState::Open) {
            break;
        }
    }
    if end == Ok(DecodeState::Open) {
        end = decoder.finish(&mut sink);
    }
    assert_eq!(decoder.output_bytes(), out.len() as u64);
    (out, end)
}

/// Whole, in pieces of some sizes and byte by byte: all must be decoded alike.
fn check(codings: &str, body: &[u8], expected: &[u8], state: DecodeState) {
    for part in [body.len().max(1), 1_000, 7, 2, 1] {
        let (out, end) = decode(codings, body, part, &DecodeLimits::default());
        assert_eq!(end, Ok(state), "{codings} in parts of {part}");
        assert!(
            out == expected,
            "{codings} in parts of {part}: {} bytes",
            out.len()
        );
    }
}

fn check_error(codings: &str, body: &[u8], error: DecodeError) {
    for part in [body.len().max(1), 2, 1] {
        let (_, end) = decode(codings, body, part, &DecodeLimits::default());
        assert_eq!(end, Err(error), "{codings} in parts of {part}");
    }
}

fn encode(codings: &str, text: &[u8]) -> Vec<u8> {
    let level = Compression::default();
    let mut body = text.to_vec();
    for coding in codings.split(", ") {
        body = match coding {
            "identity" => body,
            "gzip" => encoded(GzEncoder::new(Vec::new(), level), &body, GzEncoder::finish),
            "deflate" => encoded(
                ZlibEncoder::new(Vec::new(), level),
                &body,
                ZlibEncoder::finish,
            ),
            "raw" => encoded(
                DeflateEncoder::new(Vec::new(), level),
                &body,
                DeflateEncoder::finish,
            ),
            "br" => {
                let mut out = Vec::new();
                let parameters = brotli::enc::BrotliEncoderParams::default();
                brotli::BrotliCompress(&mut &body[..], &mut out, &parameters).unwrap();
                out
            }
            "zstd" => zstd::stream::encode_all(&body[..], 3).unwrap(),
            other => panic!("no encoder for {other}"),
        };
    }
    body
}

fn encoded<W: Write>(
    mut encoder: W,
    body: &[u8],
    finish: fn(W) -> std::io::Result<Vec<u8>>,
) -> Vec<u8> {
    encoder.write_all(body).unwrap();
    finish(encoder).unwrap()
}

/// Text that does not compress to nothing, longer than two pieces.
fn text() -> Vec<u8> {
    (0..9_000_u32)
        .flat_map(|n| format!("<p>{}</p>", n.wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}

#[test]
fn every_coding_and_stacks_of_them() {
    let text = text();
    assert!(text.len() > 2 * PIECE);
    for codings in [
        "identity",
        "gzip",
        "deflate",
        "br",
        "zstd",
        "gzip, deflate",
        "br, zstd",
        "zstd, identity, br, gzip",
        "gzip, gzip, gzip",
    ] {
        check(codings, &encode(codings, &text), &text, DecodeState::Whole);
        check(codings, &encode(codings, b""), b"", DecodeState::Whole);
        check(codings, &encode(codings, b"x"), b"x", DecodeState::Whole);
        check(codings, b"", b"", DecodeState::Whole);
    }
    check("deflate", &encode("raw", &text), &text, DecodeState::Whole);
    check("deflate", &encode("raw", b"x"), b"x", DecodeState::Whole);
}

#[test]
fn names_of_codings() {
    let limits = DecodeLimits::default();
    let gzip = encode("gzip", b"hello");
    for codings in [
        "gzip",
        "GZIP",
        "x-gzip",
        " gzip ",
        "identity, gzip",
        ",gzip,",
        "X-Gzip",
        "gzip, utf-8",
        "none,gzip",
        "gzip;q=1",
    ] {
        check(codings, &gzip, b"hello", DecodeState::Whole);
    }
    let twice = encode("gzip, br", b"hello");
    let mut decoder = Decoder::new(&[b"gzip", b"br"], &limits).unwrap();
    let mut out = Vec::new();
    decoder
        .feed(&twice, &mut |piece| out.extend_from_slice(piece))
        .unwrap();
    assert_eq!(out, b"hello");
    for coding in ["compress", "X-Compress", "dcz", "gzip, aes128gcm"] {
        check_error(coding, b"x", DecodeError::Unsupported);
    }
    check_error(
        "utf-8, br",
        &[0xff; 40],
        DecodeError::Corrupt(Coding::Brotli),
    );
    check_error("gzip, gzip, gzip, gzip", b"x", DecodeError::TooMany);
    check_error(&["gzip"; 50].join(","), b"x", DecodeError::TooMany);
}

/// Servers write all kinds of words there, of encodings, languages and media; browsers show the
/// body as it is.
#[test]
fn words_that_name_no_coding_change_nothing() {
    for word in [
        "utf-8",
        "UTF8",
        "none",
        "None",
        "binary",
        "8bit",
        "7bit",
        "identity",
        "",
        ",",
        "text/html",
        "ISO-8859-1",
        "en",
        "gzip-not",
        "\u{e9}",
        "\"",
        "utf-8, none, 8bit, binary, x, y, z",
    ] {
        check(word, b"<html>", b"<html>", DecodeState::Whole);
        check(word, &[0xff; 40], &[0xff; 40], DecodeState::Whole);
    }
}

#[test]
fn labels_that_lie() {
    check("gzip", b"<html>", b"<html>", DecodeState::Whole);
    check("gzip", b"<", b"<", DecodeState::Whole);
    check("gzip", b"\x1f<html>", b"\x1f<html>", DecodeState::Whole);
    check(
        "gzip, gzip",
        &encode("gzip", b"<html>"),
        b"<html>",
        DecodeState::Whole,
    );
    let text = text();
    check("gzip", &text, &text, DecodeState::Whole);
    check("gzip", b"\x1f", b"", DecodeState::Truncated);
    check_error(
        "gzip",
        b"\x1f\x8b\x07\0\0\0\0\0\0\0",
        DecodeError::Corrupt(Coding::Gzip),
    );
    check_error(
        "gzip",
        b"\x1f\x8b\x08\xe0\0\0\0\0\0\0",
        DecodeError::Corrupt(Coding::Gzip),
    );
    check_error(
        "deflate",
        b"<html>hello</html>",
        DecodeError::Corrupt(Coding::Deflate),
    );
    check_error(
        "zstd",
        b"<html>hello</html>",
        DecodeError::Corrupt(Coding::Zstd),
    );
    check_error("br", &[0xff; 40], DecodeError::Corrupt(Coding::Brotli));
}

#[test]
fn gzip_members_and_garbage() {
    let (one, two) = (encode("gzip", b"one "), encode("gzip", b"two"));
    let joined = |parts: &[&[u8]]| parts.concat();
    check(
        "gzip",
        &joined(&[&one, &two]),
        b"one two",
        DecodeState::Whole,
    );
    check(
        "gzip",
        &joined(&[&one, b"\0\0\0\0garbage"]),
        b"one ",
        DecodeState::Whole,
    );
    check(
        "gzip",
        &joined(&[&one, b"\x1f"]),
        b"one ",
        DecodeState::Whole,
    );
    check(
        "gzip",
        &joined(&[&one, b"\x1f\x8bx"]),
        b"one ",
        DecodeState::Whole,
    );
    check(
        "gzip",
        &joined(&[&one, &two[..12]]),
        b"one t",
        DecodeState::Truncated,
    );
    // All optional parts of a header: extra (3 bytes), name, comment, header checksum.
    let header = b"\x1f\x8b\x08\x1f\0\0\0\0\0\x03\x03\0abcname\0comment\0\x12\x34";
    check(
        "gzip",
        &joined(&[header, &one[10..]]),
        b"one ",
        DecodeState::Whole,
    );
    let empty_extra = b"\x1f\x8b\x08\x04\0\0\0\0\0\x03\0\0";
    check(
        "gzip",
        &joined(&[empty_extra, &one[10..]]),
        b"one ",
        DecodeState::Whole,
    );
    // The checksum is passed over.
    let mut wrong = one.clone();
    let at = wrong.len() - 6;
    wrong[at] ^= 0xff;
    check("gzip", &wrong, b"one ", DecodeState::Whole);
    check(
        "br",
        &joined(&[&encode("br", b"one"), b"garbage"]),
        b"one",
        DecodeState::Whole,
    );
    let zstd = encode("zstd", b"one");
    check(
        "zstd",
        &joined(&[&zstd, b"garbage"]),
        b"one",
        DecodeState::Whole,
    );
    check(
        "zstd",
        &joined(&[&zstd, &zstd]),
        b"oneone",
        DecodeState::Whole,
    );
    check(
        "deflate",
        &joined(&[&encode("deflate", b"one"), b"garbage"]),
        b"one",
        DecodeState::Whole,
    );
}

#[test]
fn what_is_cut_short_is_kept_and_said() {
    let text = text();
    for (codings, least) in [("gzip", 1_000), ("deflate", 1_000), ("br", 1), ("zstd", 0)] {
        let body = encode(codings, &text);
        let half = &body[..body.len() / 2];
        let (out, end) = decode(codings, half, half.len(), &DecodeLimits::default());
        assert_eq!(end, Ok(DecodeState::Truncated), "{codings}");
        assert!(
            text.starts_with(&out) && out.len() >= least,
            "{codings}: {}",
            out.len()
        );
        check(codings, half, &out, DecodeState::Truncated);
    }
}

#[test]
fn corruption_keeps_what_came_before() {
    let text = &text()[..30_000];
    for (coding, header) in [
        ("deflate", &b""[..]),
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03"),
    ] {
        let mut encoder = DeflateEncoder::new(header.to_vec(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.flush().unwrap();
        // The next block is of the type that there is not (RFC 1951 section 3.2.3).
        let body = [encoder.get_ref(), &[0x07; 9][..]].concat();
        for part in [body.len(), 100, 1] {
            let (out, end) = decode(coding, &body, part, &DecodeLimits::default());
            assert!(
                matches!(end, Err(DecodeError::Corrupt(_))),
                "{coding}: {end:?}"
            );
            assert!(
                out == text,
                "{coding} in parts of {part}: {} bytes",
                out.len()
            );
        }
    }
}

#[test]
fn the_cap_is_exact() {
    let text = vec![b'a'; 100_000];
    for codings in ["identity", "gzip", "deflate", "br", "zstd", "gzip, zstd"] {
        let body = encode(codings, &text);
        for (output, state) in [
            (100_001, DecodeState::Whole),
            (100_000, DecodeState::Whole),
            (99_999, DecodeState::Capped),
            (1, DecodeState::Capped),
            (0, DecodeState::Capped),
        ] {
            let limits = DecodeLimits {
                output,
                ..DecodeLimits::default()
            };
            for part in [body.len(), 1] {
                let (out, end) = decode(codings, &body, part, &limits);
                assert_eq!(end, Ok(state), "{codings} capped at {output}");
                assert_eq!(
                    out.len() as u64,
                    output.min(100_000),
                    "{codings} at {output}"
                );
            }
        }
    }
}

#[test]
fn bombs_are_cut() {
    let zeros = vec![0; 8 << 20];
    let limits = DecodeLimits {
        output: MIB,
        ..DecodeLimits::default()
    };
    for codings in [
        "gzip",
        "deflate",
        "br",
        "zstd",
        "gzip, gzip, gzip",
        "zstd, br",
    ] {
        let body = encode(codings, &zeros);
        let (out, end) = decode(codings, &body, body.len(), &limits);
        assert_eq!(
            (out.len() as u64, end),
            (MIB, Ok(DecodeState::Capped)),
            "{codings}"
        );
    }
    // The inner body ends at once; what the outer one goes on to yield reaches no sink.
    let mut inner = encode("gzip", b"hi");
    inner.extend_from_slice(&zeros);
    let mut decoder = Decoder::new(&[b"gzip, gzip"], &limits).unwrap();
    let mut out = Vec::new();
    let end = decoder.feed(&encode("gzip", &inner), &mut |piece| {
        out.extend_from_slice(piece);
    });
    assert_eq!((&out[..], end), (&b"hi"[..], Ok(DecodeState::Capped)));
    let between = decoder.stages[0].output;
    assert!(
        between <= MIB + PIECE as u64,
        "{between} bytes were made for nobody"
    );
}

#[test]
fn windows_over_the_limit_are_refused() {
    // A frame header with only a window descriptor (RFC 8878 section 3.1.1.1), then one raw,
    // last block of two bytes.
    let frame = |log: u8| [b"\x28\xb5\x2f\xfd\0", &[(log - 10) << 3][..], b"\x11\0\0hi"].concat();
    check("zstd", &frame(23), b"hi", DecodeState::Whole);
    check_error("zstd", &frame(24), DecodeError::Window);
    check_error("zstd", &frame(31), DecodeError::Window);
    // The large-window extension of brotli: not in RFC 7932.
    check_error(
        "br",
        &[0x11, 0x1e, 0, 0, 0, 0],
        DecodeError::Corrupt(Coding::Brotli),
    );
}

#[test]
fn nothing_is_held_before_the_first_byte() {
    let mut decoder = Decoder::new(&[b"gzip, br, zstd"], &DecodeLimits::default()).unwrap();
    let mut sink = |_: &[u8]| panic!("there is nothing to give");
    assert_eq!(decoder.feed(b"", &mut sink), Ok(DecodeState::Open));
    assert!(decoder.stages.iter().all(|stage| stage.running.is_none()));
    assert_eq!(decoder.finish(&mut sink), Ok(DecodeState::Whole));
}

/// Bodies collected by others, where the data is at hand.
#[test]
fn conformance() {
    let folder = std::env::var("CLEWLINE_CONFORMANCE").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance").to_owned()
    });
    let Ok(data) = std::fs::read(format!("{folder}/compressed.json")) else {
        eprintln!("CONFORMANCE DATA ABSENT: {folder}/compressed.json");
        return;
    };
    let data: serde_json::Value = serde_json::from_slice(&data).unwrap();
    let cases = data["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 16);
    let mut pages = std::collections::BTreeMap::new();
    for case in cases {
        let field = |name: &str| case[name].as_str().unwrap();
        let (file, codings) = (field("file"), field("content_encoding"));
        let body = base64(field("body_b64"));
        let (out, end) = decode(codings, &body, body.len(), &DecodeLimits::default());
        let state = match field("kind") {
            "truncated" => DecodeState::Truncated,
            _ => DecodeState::Whole,
        };
        assert_eq!(end, Ok(state), "{file}");
        if field("kind") == "bomb" {
            assert_eq!(out.len(), 11_511_612, "{file}");
            let limits = DecodeLimits {
                output: MIB,
                ..DecodeLimits::default()
            };
            let (cut, end) = decode(codings, &body, body.len(), &limits);
            assert_eq!(
                (cut.len() as u64, end),
                (MIB, Ok(DecodeState::Capped)),
                "{file}"
            );
        } else {
            check(codings, &body, &out, state);
            pages.insert(file.to_owned(), out);
        }
    }
    for (one, other) in [
        ("html-rawdeflate.bin", "html-zlibdeflate.bin"),
        (
            "html-zstd-static-content-size.bin",
            "html-zstd-static-no-content-size.bin",
        ),
        (
            "html-zstd-static-content-size.bin",
            "html-zstd-streaming-no-content-size.bin",
        ),
    ] {
        let lengths = (pages[one].len(), pages[other].len());
        assert!(pages[one] == pages[other], "{one}, {other}: {lengths:?}");
    }
    for (file, length) in [
        ("truncated-crc-error.gz", 25_542),
        ("truncated-crc-error-short.gz", 3_741),
        ("unexpected-eof.gz", 8_576),
    ] {
        assert_eq!(pages[file].len(), length, "{file}");
    }
    for (file, page) in pages.iter().filter(|(file, _)| file.starts_with("html-")) {
        assert!(
            memchr::memmem::find(page, b"<").is_some(),
            "{file}: {} bytes",
            page.len()
        );
    }
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        let value = ALPHABET.iter().position(|&letter| letter == byte).unwrap();
        bits = (bits << 6 | value as u32) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
