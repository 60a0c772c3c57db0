//! Raw responses and what they must be read as, however they are split.

use super::*;

/// Reads parts of a wire as a driver would, and says in one line what came of it: the statuses,
/// the body, and how it ended (`keep`, `close`, or an error), with the count of bytes left over.
fn reading(method: Method, parts: &[&[u8]]) -> String {
    let mut buffer = Vec::new();
    let mut head_reader = HeadReader::new(&HeadLimits::default());
    let mut body_reader: Option<BodyReader> = None;
    let mut statuses = Vec::new();
    let mut body = Vec::new();
    let mut read_part = |part: &[u8]| -> Result<(), FramingError> {
        buffer.extend_from_slice(part);
        while body_reader.is_none() {
            let (taken, status) = match head_reader.read(&buffer)? {
                HeadStep::NeedMore => return Ok(()),
                HeadStep::Informational { consumed, status } => (consumed, status),
                HeadStep::Complete(head) => {
                    body_reader = Some(BodyReader::new(method, &head)?);
                    (head.raw_len, head.status)
                }
            };
            statuses.push(status.to_string());
            buffer.drain(..taken);
        }
        let reader = body_reader.as_mut().unwrap();
        loop {
            let BodyStep {
                consumed,
                data,
                done,
            } = reader.advance(&buffer)?;
            body.extend_from_slice(data);
            buffer.drain(..consumed);
            if done || consumed == 0 {
                return Ok(());
            }
        }
    };
    let result = parts.iter().try_for_each(|part| read_part(part));
    let end = match (result, &mut body_reader) {
        (Err(error), _) => format!("{error:?}"),
        (Ok(()), None) => "no head".to_owned(),
        (Ok(()), Some(reader)) => ending(reader, buffer.len()),
    };
    let shown = body.escape_ascii();
    format!("{} [{shown}] {end}", statuses.join(" "))
}

fn ending(reader: &mut BodyReader, left: usize) -> String {
    if reader.is_done() {
        return match (reader.reusable() && left == 0, left) {
            (true, _) => "keep".to_owned(),
            (false, 0) => "close".to_owned(),
            (false, left) => format!("close +{left}"),
        };
    }
    match reader.end_of_stream() {
        Ok(()) => "close".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

/// The whole, every split in two, and byte by byte: all must be read alike.
fn check(method: Method, wire: &str, expected: &str) {
    let wire = latin_1(wire);
    assert_eq!(
        reading(method, &[&wire]),
        expected,
        "{}",
        wire.escape_ascii()
    );
    for at in 0..=wire.len() {
        let (first, second) = wire.split_at(at);
        let split = reading(method, &[first, second]);
        assert_eq!(split, expected, "split at {at}: {}", wire.escape_ascii());
    }
    let bytes: Vec<_> = wire.chunks(1).collect();
    assert_eq!(
        reading(method, &bytes),
        expected,
        "bytes: {}",
        wire.escape_ascii()
    );
}

/// So that a table of `str` can hold any byte.
fn latin_1(text: &str) -> Vec<u8> {
    text.chars()
        .map(|character| u8::try_from(character).unwrap())
        .collect()
}

fn check_all(cases: &[(&str, &str)]) {
    for (wire, expected) in cases {
        check(Method::Get, wire, expected);
    }
}

#[test]
fn heads() {
    check_all(&[
        ("", " [] no head"),
        ("HTTP/1.1 200 OK\r\n", " [] no head"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n", " [] no head"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] keep",
        ),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "200 [hi] keep"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi",
            "200 [hi] keep",
        ),
        (
            "\r\n\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1  200  Fine\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1 404 \u{fc}ber\r\nContent-Length: 2\r\n\r\nhi",
            "404 [hi] keep",
        ),
        (
            "HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nhi",
            "999 [hi] keep",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1 200 OK\r\nCONTENT-LENGTH:2  \r\n\r\nhi",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nhi",
            "200 [hi] keep",
        ),
        // Lines that had to be ignored leave doubt.
        (
            "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] close",
        ),
        (
            "HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] close",
        ),
        (
            "HTTP/1.1 200 OK\r\nB\u{e9}: x\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] close",
        ),
        (
            "HTTP/1.1 200 OK\r\n A: b\r\nContent-Length: 2\r\n\r\nhi",
            "200 [hi] close",
        ),
        ("HTTP/1.1 200 OK\r\n\r\n", "200 [] close"),
        ("HTTP/1.0 200 OK\r\n\r\nhi", "200 [hi] close"),
    ]);
}

#[test]
fn what_is_not_a_head() {
    check_all(&[
        ("<html>hello</html>", " [] NotHttp"),
        ("SSH-2.0-OpenSSH_9\r\n", " [] NotHttp"),
        ("ICY 200 OK\r\n\r\n", " [] NotHttp"),
        ("http/1.1 200 OK\r\n\r\n", " [] NotHttp"),
        ("HTTP/2 200\r\n\r\n", " [] NotHttp"),
        ("HTTP/1.7 200 OK\r\n\r\n", " [] NotHttp"),
        ("\rHTTP/1.1 200 OK\r\n\r\n", " [] NotHttp"),
        ("\u{15}\u{3}\u{1}\0\u{2}\u{2}P", " [] NotHttp"),
        ("HTTP/1.1 20 OK\r\n\r\n", " [] MalformedHead"),
        ("HTTP/1.1 2x0 OK\r\n\r\n", " [] MalformedHead"),
        ("HTTP/1.1 099 Low\r\n\r\n", " [] MalformedHead"),
        ("HTTP/1.1 200OK\r\n\r\n", " [] MalformedHead"),
        ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", " [] MalformedHead"),
        (
            "HTTP/1.1 200 OK\r\nA: b\rContent-Length: 2\r\n\r\n",
            " [] MalformedHead",
        ),
    ]);
}

#[test]
fn interim_responses() {
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    let end = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let many = "103 ".repeat(10);
    check_all(&[
        ("HTTP/1.1 100 Continue\r\n\r\n", "100 [] no head"),
        (&format!("{hint}{end}"), "103 200 [hi] keep"),
        (
            &format!("HTTP/1.1 100 Continue\r\n\r\n\r\n{hint}{end}"),
            "100 103 200 [hi] keep",
        ),
        (
            &format!("{}{end}", hint.repeat(10)),
            &format!("{many}200 [hi] keep"),
        ),
        (
            &format!("{}{end}", hint.repeat(11)),
            &format!("{} [] Interim", many.trim_end()),
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\n\r\nbinary",
            " [] Interim",
        ),
    ]);
}

#[test]
fn lengths() {
    let with = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}");
    for (fields, body, expected) in [
        ("Content-Length: 0\r\n", "", "200 [] keep"),
        ("Content-Length: 3\r\n", "abc", "200 [abc] keep"),
        ("Content-Length: 003\r\n", "abc", "200 [abc] keep"),
        ("Content-Length: 3, 3\r\n", "abc", "200 [abc] keep"),
        (
            "Content-Length: 3\r\nContent-Length: 3\r\n",
            "abc",
            "200 [abc] keep",
        ),
        ("Content-Length: 3\r\n", "abcdef", "200 [abc] close +3"),
        ("Content-Length: 3\r\n", "ab", "200 [ab] Truncated"),
        (
            "Content-Length: 18446744073709551615\r\n",
            "ab",
            "200 [ab] Truncated",
        ),
        (
            "Content-Length: 18446744073709551616\r\n",
            "ab",
            " [] Length",
        ),
        (
            "Content-Length: 3\r\nContent-Length: 4\r\n",
            "abc",
            " [] Length",
        ),
        ("Content-Length: 3, 4\r\n", "abc", " [] Length"),
        ("Content-Length: 3,\r\n", "abc", " [] Length"),
        ("Content-Length: -3\r\n", "abc", " [] Length"),
        ("Content-Length: +3\r\n", "abc", " [] Length"),
        ("Content-Length: 0x3\r\n", "abc", " [] Length"),
        ("Content-Length: 3 3\r\n", "abc", " [] Length"),
        ("Content-Length: 3\r\n 3\r\n", "abc", " [] Length"),
        ("Content-Length:\r\n", "abc", " [] Length"),
        ("", "to the end", "200 [to the end] close"),
        (
            "Transfer-Encoding: identity\r\nContent-Length: 3\r\n",
            "abc",
            "200 [abc] close",
        ),
        ("Transfer-Encoding: identity\r\n", "abc", "200 [abc] close"),
    ] {
        check(Method::Get, &with(fields, body), expected);
    }
}

#[test]
fn bodies_that_there_are_not() {
    let length = "Content-Length: 5\r\n\r\n";
    for (method, head, expected) in [
        (Method::Head, "HTTP/1.1 200 OK", "200 [] keep"),
        (Method::Get, "HTTP/1.1 204 No Content", "204 [] keep"),
        (Method::Get, "HTTP/1.1 304 Not Modified", "304 [] keep"),
        (Method::Connect, "HTTP/1.1 200 Connected", "200 [] close"),
        (Method::Connect, "HTTP/1.1 407 Who", "407 [] Truncated"),
    ] {
        check(method, &format!("{head}\r\n{length}"), expected);
    }
    let chunked = "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(Method::Get, chunked, "304 [] keep");
    let excess = format!("HTTP/1.1 204 No Content\r\n{length}hello");
    check(Method::Get, &excess, "204 [] close +5");
}

#[test]
fn connections_that_stay() {
    for (head, expected) in [
        ("HTTP/1.1 200 OK\r\nConnection: close", "200 [hi] close"),
        ("HTTP/1.1 200 OK\r\nConnection: CLOSE, x", "200 [hi] close"),
        (
            "HTTP/1.1 200 OK\r\nConnection: x\r\nconnection: close",
            "200 [hi] close",
        ),
        (
            "HTTP/1.1 200 OK\r\nConnection: keep-alive, close",
            "200 [hi] close",
        ),
        ("HTTP/1.1 200 OK\r\nConnection: upgrade", "200 [hi] keep"),
        ("HTTP/1.0 200 OK", "200 [hi] close"),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive", "200 [hi] keep"),
    ] {
        check(
            Method::Get,
            &format!("{head}\r\nContent-Length: 2\r\n\r\nhi"),
            expected,
        );
    }
}

#[test]
fn chunks() {
    for (body, expected) in [
        ("0\r\n\r\n", "200 [] keep"),
        ("3\r\nabc\r\n0\r\n\r\n", "200 [abc] keep"),
        ("1\r\na\r\n02\r\nbc\r\n000\r\n\r\n", "200 [abc] keep"),
        ("A\r\n0123456789\r\n0\r\n\r\n", "200 [0123456789] keep"),
        ("a\r\n0123456789\r\n0\r\n\r\n", "200 [0123456789] keep"),
        (
            "3;name=value;x=\"y\"\r\nabc\r\n0;z\r\n\r\n",
            "200 [abc] keep",
        ),
        ("3 \t \r\nabc\r\n0  \r\n\r\n", "200 [abc] keep"),
        ("3 ;x\r\nabc\r\n0\r\n\r\n", "200 [abc] keep"),
        (
            "3\r\nabc\r\n0\r\nDigest: x\r\nA: b\r\n\r\n",
            "200 [abc] keep",
        ),
        ("3\nabc\n0\n\n", "200 [abc] close"),
        ("3\nabc\r\n0\r\n\r\n", "200 [abc] close"),
        ("3\r\n\r\n\r\r\n0\r\n\r\n", "200 [\\r\\n\\r] keep"),
        ("0\r\n\r\nHTTP/1.1", "200 [] close +8"),
        // The content is whole once the last chunk is, trailers or not.
        ("3\r\nabc\r\n0\r\n", "200 [abc] close"),
        ("3\r\nabc\r\n0\r\nA: b", "200 [abc] close"),
        ("3\r\nabc\r\n0", "200 [abc] Truncated"),
        ("3\r\nabc\r\n", "200 [abc] Truncated"),
        ("3\r\nab", "200 [ab] Truncated"),
        ("", "200 [] Truncated"),
        ("ffffffffffffffff\r\nab", "200 [ab] Truncated"),
        ("10000000000000000\r\nab", "200 [] Chunk"),
        ("-3\r\nabc\r\n0\r\n\r\n", "200 [] Chunk"),
        ("+3\r\nabc\r\n0\r\n\r\n", "200 [] Chunk"),
        ("0x3\r\nabc\r\n0\r\n\r\n", "200 [] Chunk"),
        ("3 3\r\nabc\r\n0\r\n\r\n", "200 [] Chunk"),
        (" 3\r\nabc\r\n0\r\n\r\n", "200 [] Chunk"),
        ("\r\n", "200 [] Chunk"),
        (";x\r\nabc\r\n0\r\n\r\n", "200 [] Chunk"),
        ("3\rabc\r\n0\r\n\r\n", "200 [] Chunk"),
        ("3;a\rb\r\nabc\r\n0\r\n\r\n", "200 [] Chunk"),
        ("3\r\nabcd\r\n0\r\n\r\n", "200 [abc] Chunk"),
        ("3\r\nabc\rx", "200 [abc] Chunk"),
        ("3\r\nabc\r\n0\r\n\rx", "200 [abc] Chunk"),
        ("<html>", "200 [] Chunk"),
    ] {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(Method::Get, &format!("{head}{body}"), expected);
    }
}

#[test]
fn transfer_codings() {
    for (head, expected) in [
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: , chunked",
            "200 [hi] keep",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2",
            "200 [hi] close",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: chunked",
            "200 [hi] close",
        ),
        (
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked",
            "200 [hi] close",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked",
            " [] TransferCoding",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip",
            " [] TransferCoding",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked",
            "200 [hi] close",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: Chunked",
            "200 [hi] close",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip, chunked",
            " [] TransferCoding",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip",
            " [] TransferCoding",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked",
            " [] TransferCoding",
        ),
    ] {
        check(
            Method::Get,
            &format!("{head}\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
            expected,
        );
    }
}

/// Too long for every split: whole and byte by byte.
fn check_long(wire: &[u8], expected: &str) {
    let bytes: Vec<_> = wire.chunks(1).collect();
    for parts in [&[wire][..], &bytes] {
        let found = reading(Method::Get, parts);
        assert_eq!(found, expected, "{}", wire[..80].escape_ascii());
    }
}

#[test]
fn limits_hold_at_the_byte() {
    const LIMIT: usize = 64 * 1024;
    let head = |fill: usize| {
        let start = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: ";
        format!("{start}{}\r\n\r\nhi", "a".repeat(fill - start.len() - 4)).into_bytes()
    };
    check_long(&head(LIMIT), "200 [hi] keep");
    check_long(&head(LIMIT + 1), " [] HeadTooLarge");
    check_long(&"\r\n".repeat(LIMIT).into_bytes(), " [] HeadTooLarge");
    let fields = |count: usize| {
        let lines = "A: b\r\n".repeat(count - 1);
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\nhi").into_bytes()
    };
    check_long(&fields(1_000), "200 [hi] keep");
    check_long(&fields(1_001), " [] HeadTooLarge");
}

#[test]
fn chunk_lines_and_trailers_are_bounded() {
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let extension = |length: usize| {
        let line = format!("2;{}", "x".repeat(length - 3));
        format!("{start}{line}\r\nhi\r\n0\r\n\r\n").into_bytes()
    };
    check_long(&extension(4_096), "200 [hi] keep");
    check_long(&extension(4_097), "200 [] Chunk");
    let zeros = format!("{start}{}2\r\nhi\r\n0\r\n\r\n", "0".repeat(5_000)).into_bytes();
    check_long(&zeros, "200 [] Chunk");
    let trailer = |length: usize| {
        let line = format!("A: {}\r\n", "x".repeat(length - start.len() - 6));
        format!("{start}0\r\n{line}\r\n").into_bytes()
    };
    check_long(&trailer(64 * 1024), "200 [] keep");
    check_long(&trailer(64 * 1024 + 1), "200 [] HeadTooLarge");
}

#[test]
fn heads_are_kept_as_they_came() {
    let wire = b"\r\nHTTP/1.0 200 OK\r\nX-a:  1 \r\nx-A: 2\r\n\t three\n  \r\nE:\r\n\r\nbody";
    let Ok(HeadStep::Complete(head)) = parse_head(wire, &HeadLimits::default()) else {
        panic!("the head is whole");
    };
    let fields: Vec<_> = head.headers.iter().collect();
    assert_eq!(
        fields,
        [("X-a", &b"1"[..]), ("x-A", b"2 three"), ("E", b"")]
    );
    assert_eq!((head.version_minor, head.status), (0, 200));
    assert_eq!(&wire[head.raw_len..], b"body");
}

#[test]
fn requests() {
    for (method, target, line) in [
        (Method::Get, Target::Origin("/a?b=c"), "GET /a?b=c HTTP/1.1"),
        (Method::Head, Target::Origin(""), "HEAD / HTTP/1.1"),
        (Method::Get, Target::Origin("?q"), "GET /?q HTTP/1.1"),
        (
            Method::Get,
            Target::Origin("/a b\r\nX: y\0\u{e9}"),
            "GET /a%20b%0D%0AX:%20y%00%C3%A9 HTTP/1.1",
        ),
        (Method::Get, Target::Origin("/a#top"), "GET /a HTTP/1.1"),
        (
            Method::Get,
            Target::Absolute("http://h:8/a"),
            "GET http://h:8/a HTTP/1.1",
        ),
        (
            Method::Connect,
            Target::Authority("h:443"),
            "CONNECT h:443 HTTP/1.1",
        ),
    ] {
        let mut out = b"before".to_vec();
        let fields = [("Host", &b"h:8"[..]), ("Accept", b"*/*")];
        let head = RequestHead {
            method,
            target,
            fields: &fields,
        };
        write_request(&mut out, &head).unwrap();
        let expected = format!("before{line}\r\nHost: h:8\r\nAccept: */*\r\n\r\n");
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn requests_that_would_break_lines_are_refused() {
    for (name, value, error) in [
        ("A", &b"b\r\nC: d"[..], RequestError::Value),
        ("A", b"b\n", RequestError::Value),
        ("A", b"\0", RequestError::Value),
        ("", b"b", RequestError::Name),
        ("A B", b"b", RequestError::Name),
        ("A:", b"b", RequestError::Name),
        ("A\r\n", b"b", RequestError::Name),
    ] {
        let mut out = b"before".to_vec();
        let fields = [("Host", &b"h"[..]), (name, value)];
        let head = RequestHead {
            method: Method::Get,
            target: Target::Origin("/"),
            fields: &fields,
        };
        assert_eq!(
            write_request(&mut out, &head),
            Err(error),
            "{name:?} {value:?}"
        );
        assert_eq!(out, b"before");
    }
}
