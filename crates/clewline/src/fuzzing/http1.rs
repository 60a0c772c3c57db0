//! Fuzz bodies of the HTTP/1 framing, the headers and the content codings.
//!
//! Owns the invariants that hold for any bytes. Refuses to know expected values: those are in
//! the tests beside the code. Invariant: no body panics unless a promise of the code is broken.

use crate::fetch::decode::{DecodeError, DecodeLimits, DecodeState, Decoder, PIECE};
use crate::fetch::http1::{
    BodyReader, BodyStep, FramingError, HeadLimits, HeadReader, HeadStep, Method, RequestError,
    RequestHead, Target, parse_head, write_request,
};
use crate::headers::Headers;

/// Small, so that mutations of short inputs reach every limit.
const HEAD: HeadLimits = HeadLimits {
    bytes: 2_048,
    count: 32,
    informational: 3,
};
const DECODE: DecodeLimits = DecodeLimits {
    output: 100_000,
    window: 1 << 20,
    codings: 3,
};

/// A response as far as it can be read.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    statuses: Vec<u16>,
    consumed: usize,
    body: Vec<u8>,
    end: Result<bool, FramingError>,
}

/// The framing: the first byte picks the method and where the rest is split, the rest is a
/// response.
pub fn http1(data: &[u8]) {
    let Some((&choice, wire)) = data.split_first() else {
        return;
    };
    let method = [Method::Get, Method::Head, Method::Connect][usize::from(choice) % 3];
    let whole = read(method, &[wire]);
    assert!(whole.consumed <= wire.len());
    assert!(whole.body.len() <= wire.len());
    let (first, second) = wire.split_at(wire.len() * usize::from(choice) / 256);
    assert_eq!(read(method, &[first, second]), whole, "split in two");
    if wire.len() <= HEAD.bytes {
        let bytes: Vec<_> = wire.chunks(1).collect();
        assert_eq!(read(method, &bytes), whole, "split in bytes");
    }
    request(wire);
}

/// Reads a response that arrives in these parts and then ends.
fn read(method: Method, parts: &[&[u8]]) -> Reading {
    let mut reading = Reading {
        statuses: Vec::new(),
        consumed: 0,
        body: Vec::new(),
        end: Ok(false),
    };
    let mut driver = Driver {
        head: HeadReader::new(&HEAD),
        body: None,
        buffer: Vec::new(),
    };
    for part in parts {
        driver.buffer.extend_from_slice(part);
        if let Err(error) = driver.take(method, &mut reading) {
            // How much of the framing was counted before the error depends on the split.
            reading.consumed = 0;
            reading.end = Err(error);
            return reading;
        }
    }
    reading.end = match driver.body {
        Some(mut body) => body.end_of_stream().map(|()| body.is_done()),
        None => Ok(false),
    };
    reading
}

struct Driver {
    head: HeadReader,
    body: Option<BodyReader>,
    buffer: Vec<u8>,
}

impl Driver {
    fn take(&mut self, method: Method, reading: &mut Reading) -> Result<(), FramingError> {
        while self.body.is_none() {
            let (consumed, status) = match self.head.read(&self.buffer)? {
                HeadStep::NeedMore => return Ok(()),
                HeadStep::Informational { consumed, status } => (consumed, status),
                HeadStep::Complete(head) => {
                    assert!(head.headers.len() <= HEAD.count);
                    assert!(head.raw_len <= HEAD.bytes);
                    self.body = Some(BodyReader::new(method, &head)?);
                    (head.raw_len, head.status)
                }
            };
            assert!(reading.statuses.len() <= usize::from(HEAD.informational));
            reading.statuses.push(status);
            reading.consumed += consumed;
            self.buffer.drain(..consumed);
        }
        let Some(body) = &mut self.body else {
            return Ok(());
        };
        while !body.is_done() && !self.buffer.is_empty() {
            let BodyStep { consumed, data, .. } = body.advance(&self.buffer)?;
            assert!(consumed > 0, "a body that is not done takes bytes");
            assert!(data.len() <= consumed);
            reading.body.extend_from_slice(data);
            reading.consumed += consumed;
            self.buffer.drain(..consumed);
        }
        Ok(())
    }
}

/// Whatever is asked for, the request has the lines that it should have and no more.
fn request(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let head = RequestHead {
        method: Method::Get,
        target: Target::Origin(&text),
        fields: &[("Host", b"a"), ("X-Fuzz", data)],
    };
    let mut out = Vec::new();
    if let Err(error) = write_request(&mut out, &head) {
        assert_eq!(error, RequestError::Value);
        assert!(out.is_empty());
        return;
    }
    let end = out
        .iter()
        .position(|&byte| byte == b'\r')
        .unwrap_or_default();
    assert_eq!(out.get(end + 1), Some(&b'\n'));
    assert_eq!(memchr::memchr_iter(b'\n', &out).count(), 4);
    assert_eq!(memchr::memchr_iter(b' ', &out[..end]).count(), 2);
}

/// The fields of a head: what went in comes out, and `Debug` shows no control character.
pub fn headers(data: &[u8]) {
    let wire = [b"HTTP/1.1 200 OK\r\n", data, b"\r\n\r\n"].concat();
    let Ok(HeadStep::Complete(head)) = parse_head(&wire, &HEAD) else {
        return;
    };
    let mut copy = Headers::default();
    for (name, value) in head.headers.iter() {
        assert!(
            !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)),
            "{value:?}"
        );
        assert!(head.headers.all(name).any(|other| other == value));
        assert!(head.headers.text(name).is_some());
        copy.push(name, value);
    }
    assert_eq!(copy, head.headers);
    let shown = format!("{copy:?}");
    assert!(
        shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
        "{shown}"
    );
}

/// The codings: the first byte picks them and where the rest is split, the rest is a body.
pub fn decode(data: &[u8]) {
    const CODINGS: [&[u8]; 8] = [
        b"gzip",
        b"deflate",
        b"br",
        b"zstd",
        b"identity",
        b"gzip, deflate",
        b"br, gzip",
        b"gzip, zstd, gzip",
    ];
    let Some((&choice, body)) = data.split_first() else {
        return;
    };
    let codings = CODINGS[usize::from(choice) % CODINGS.len()];
    let whole = decoded(codings, &[body]);
    let (first, second) = body.split_at(body.len() * usize::from(choice) / 256);
    assert_alike(&decoded(codings, &[first, second]), &whole);
    if body.len() <= 512 {
        let bytes: Vec<_> = body.chunks(1).collect();
        assert_alike(&decoded(codings, &bytes), &whole);
    }
}

type Decoded = (Vec<u8>, Result<DecodeState, DecodeError>);

/// The split changes nothing, except how much a coding yields before it finds an error: brotli
/// decodes ahead of what it has handed out. So the cap may come first in one and not the other.
fn assert_alike(one: &Decoded, other: &Decoded) {
    if one.1.is_ok() && other.1.is_ok() {
        assert_eq!(one, other);
        return;
    }
    let stopped = |end| matches!(end, Err(_) | Ok(DecodeState::Capped));
    assert!(
        stopped(one.1) && stopped(other.1),
        "{:?}, {:?}",
        one.1,
        other.1
    );
    assert!(one.0.starts_with(&other.0) || other.0.starts_with(&one.0));
}

fn decoded(codings: &[u8], parts: &[&[u8]]) -> Decoded {
    let mut decoder = Decoder::new(&[codings], &DECODE).expect("these codings are known");
    let mut out = Vec::new();
    let mut sink = |piece: &[u8]| {
        assert!(!piece.is_empty() && piece.len() <= PIECE);
        out.extend_from_slice(piece);
    };
    let mut end = Ok(DecodeState::Open);
    for part in parts {
        end = decoder.feed(part, &mut sink);
        if end != Ok(DecodeState::Open) {
            break;
        }
    }
    if end == Ok(DecodeState::Open) {
        end = decoder.finish(&mut sink);
        assert_ne!(end, Ok(DecodeState::Open));
    }
    assert_eq!(decoder.output_bytes(), out.len() as u64);
    assert!(decoder.output_bytes() <= DECODE.output);
    (out, end)
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    const TRIAL: Trial<'_> = Trial {
        home: env!("CARGO_MANIFEST_DIR"),
        tokens: &[
            b"\r\n",
            b"\n",
            b"\0",
            b"\r\n\r\n",
            b"0\r\n",
            b"HTTP/1.1 200 OK\r\n",
            b"Content-Length: 1\r\n",
            b"\x1f\x8b\x08\0",
        ],
        rounds: 300,
    };

    #[test]
    fn http1() {
        TRIAL.run("http1", super::http1);
    }

    #[test]
    fn headers() {
        TRIAL.run("headers", super::headers);
    }

    #[test]
    fn decode() {
        TRIAL.run("decode", super::decode);
    }
}
