//! Framing, codings, limits of size and time, as they look from the outside.

use std::io::Write;
use std::time::Duration;

use clewline_core::outcome::FailureClass;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::server::{Server, Step, send};
use super::{FetchConfig, HASTE, PATIENCE, SlotDemand, class, fetch, fetcher, impatient, request};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn coded(coding: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

async fn serving(answer: impl AsRef<[u8]>) -> Server {
    Server::start(vec![vec![Step::Request, send(answer)]]).await
}

#[tokio::test]
async fn bodies_by_their_framing() {
    for (answer, status, text) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            200,
            "abc",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: 1\r\n\r\n",
            200,
            "abc",
        ),
        (
            "HTTP/1.1 200 OK\r\n\r\nuntil the close",
            200,
            "until the close",
        ),
        (
            "HTTP/1.0 404 Not Found\nContent-Type: text/plain\n\nbare",
            404,
            "bare",
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        (
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
            304,
            "",
        ),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
            200,
            "a",
        ),
        (
            "HTTP/1.1 204 No Content\r\nContent-Encoding: nonsense\r\n\r\n",
            204,
            "",
        ),
    ] {
        let server = serving(answer).await;
        let fetcher = fetcher(&FetchConfig::default());
        let whole = fetch(&fetcher, request(&server.url("/"))).await.unwrap();
        assert_eq!(
            (whole.status, whole.text.as_str()),
            (status, text),
            "{answer}"
        );
        assert_eq!(whole.tally.wire, answer.len() as u64, "{answer}");
        assert!(!whole.tally.truncated);
    }
}

#[tokio::test]
async fn broken_answers_by_class() {
    let large = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    let hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(11);
    for (answer, expected) in [
        ("SSH-2.0-OpenSSH\r\n", FailureClass::Protocol),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            FailureClass::Protocol,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            FailureClass::Protocol,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nabc",
            FailureClass::Incomplete,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            FailureClass::Incomplete,
        ),
        ("HTTP/1.1 200 OK\r\nConte", FailureClass::Incomplete),
        (
            "HTTP/1.1 200 OK\r\nContent-Encoding: compress\r\n\r\nabc",
            FailureClass::Decode,
        ),
        (&large, FailureClass::HeadersTooLarge),
        (&hints, FailureClass::Protocol),
        ("", FailureClass::Reset),
    ] {
        let server = serving(answer).await;
        let fetcher = fetcher(&FetchConfig::default());
        let failure = fetch(&fetcher, request(&server.url("/")))
            .await
            .unwrap_err();
        assert_eq!(failure.class, expected, "{answer}");
        assert!(failure.wire <= answer.len() as u64);
        assert!(failure.timings.sent_at.is_some());
    }
}

#[tokio::test]
async fn codings_are_undone() {
    let text = "the same line again and again\n".repeat(40_000);
    let packed = gzip(text.as_bytes());
    for (answer, truncated, expected) in [
        (coded("gzip", &packed), false, text.as_str()),
        (coded("x-gzip, identity", &packed), false, &text),
        (
            coded("gzip", b"not packed at all"),
            false,
            "not packed at all",
        ),
        (coded("gzip", &packed[..packed.len() - 4]), true, &text),
        (coded("utf-8", text.as_bytes()), false, &text),
        (coded("none, 8bit", b"as it is"), false, "as it is"),
    ] {
        let server = serving(&answer).await;
        let mut request = request(&server.url("/"));
        request.max_body = 1 << 24;
        let whole = fetch(&fetcher(&FetchConfig::default()), request)
            .await
            .unwrap();
        assert!(
            whole.text == expected,
            "{} of {} bytes",
            whole.text.len(),
            expected.len()
        );
        assert_eq!(whole.tally.truncated, truncated);
        assert_eq!(whole.tally.wire, answer.len() as u64);
    }
}

/// The whole was asked for, so a part must not pass for it.
#[tokio::test]
async fn a_part_that_nobody_asked_for_is_not_whole() {
    for (range, truncated) in [
        ("", true),
        ("Content-Range: bytes 0-2/9\r\n", true),
        ("Content-Range: bytes 0-2/3\r\n", false),
    ] {
        let head = "HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\n";
        let server = serving(format!("{head}{range}\r\nabc")).await;
        let fetcher = fetcher(&FetchConfig::default());
        let part = fetch(&fetcher, request(&server.url("/"))).await.unwrap();
        assert_eq!(
            (part.text.as_str(), part.tally.truncated),
            ("abc", truncated)
        );
    }
}

#[tokio::test]
async fn bodies_are_cut_at_the_limit() {
    let long = "x".repeat(200_000);
    let plain = format!("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n{long}");
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n{long}\r\n0\r\n\r\n"
    );
    let bomb = coded("gzip", &gzip(&vec![b'x'; 4 << 20]));
    for (answer, limit, expected) in [
        (plain.as_bytes(), 100_000, 100_000),
        (plain.as_bytes(), 200_000, 200_000),
        (plain.as_bytes(), 0, 0),
        (chunked.as_bytes(), 70_001, 70_001),
        (chunked.as_bytes(), 200_000, 200_000),
        (bomb.as_slice(), 1 << 20, 1 << 20),
    ] {
        let server = Server::start(vec![vec![Step::Request, send(answer), Step::Hang]]).await;
        let mut request = request(&server.url("/"));
        request.max_body = limit;
        let whole = fetch(&fetcher(&FetchConfig::default()), request)
            .await
            .unwrap();
        assert_eq!(whole.text.len(), expected);
        assert_eq!(whole.tally.truncated, limit != 200_000);
    }
}

#[tokio::test]
async fn a_cut_body_closes_the_connection() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd";
    let mut server = Server::start(vec![vec![Step::Request, send(answer), Step::Hang]]).await;
    let mut request = request(&server.url("/"));
    request.max_body = 3;
    let fetcher = fetcher(&FetchConfig::default());
    assert_eq!(fetch(&fetcher, request).await.unwrap().text, "abc");
    server.request(0).await;
    assert_eq!(server.saw().await, super::server::Seen::Closed(0));
}

#[tokio::test]
async fn chunks_without_content_are_an_attack() {
    let extension = "e".repeat(900);
    let chunk = format!("1;{extension}\r\nx\r\n").repeat(4_000);
    let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    let server = Server::start(vec![vec![Step::Request, send(answer), Step::Hang]]).await;
    let mut request = request(&server.url("/"));
    request.max_body = 100_000;
    let whole = fetch(&fetcher(&FetchConfig::default()), request).await;
    let tally = whole.unwrap().tally;
    assert!(tally.truncated);
    assert!(tally.decoded < 4_000 && tally.wire < 2_000_000, "{tally:?}");
}

#[tokio::test]
async fn the_total_time_covers_every_phase() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    for answer in ["", "HTTP/1.1 200", head] {
        let server = Server::start(vec![vec![Step::Request, send(answer), Step::Hang]]).await;
        let mut request = request(&server.url("/"));
        request.timeout = HASTE;
        let failure = fetch(&fetcher(&FetchConfig::default()), request)
            .await
            .unwrap_err();
        assert_eq!(failure.class, FailureClass::Timeout, "{answer}");
        assert_eq!(failure.wire, answer.len() as u64);
        assert_eq!(failure.timings.first_byte.is_some(), !answer.is_empty());
    }
}

#[tokio::test]
async fn a_trickle_is_too_slow() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n";
    for start in [head, "HTTP/1.1 200 OK\r\nX: "] {
        let drip = Step::Drip(Duration::from_millis(5));
        let server = Server::start(vec![vec![Step::Request, send(start), drip]]).await;
        let slow = class(&impatient(1_000_000), request(&server.url("/"))).await;
        assert_eq!(slow, FailureClass::TooSlow, "{start}");
    }
    // Silence in the middle is a trickle of nothing.
    let server = Server::start(vec![vec![Step::Request, send(head), Step::Hang]]).await;
    assert_eq!(
        class(&impatient(1), request(&server.url("/"))).await,
        FailureClass::TooSlow
    );
}

#[tokio::test]
async fn without_a_minimum_rate_only_the_total_time_counts() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n";
    let server = Server::start(vec![vec![Step::Request, send(head), Step::Hang]]).await;
    let mut request = request(&server.url("/"));
    request.timeout = 2 * HASTE;
    assert_eq!(class(&impatient(0), request).await, FailureClass::Timeout);
}

#[tokio::test]
async fn the_minimum_rate_does_not_cover_the_wait_for_the_first_byte() {
    let server = Server::start(vec![vec![Step::Request, Step::Hang]]).await;
    let mut request = request(&server.url("/"));
    request.timeout = 2 * HASTE;
    assert_eq!(
        class(&impatient(1_000), request).await,
        FailureClass::Timeout
    );
}

#[tokio::test]
async fn the_first_byte_has_a_limit_of_its_own() {
    let hang = || Server::start(vec![vec![Step::Request, Step::Hang]]);
    let config = FetchConfig {
        first_byte_timeout: HASTE,
        ..FetchConfig::default()
    };
    let server = hang().await;
    let failed = fetch(&fetcher(&config), request(&server.url("/"))).await;
    let failure = failed.unwrap_err();
    assert_eq!(failure.class, FailureClass::Timeout);
    assert!(!failure.cut_short, "it had its full time");
    // A host that usually answers sooner is given up sooner, which does not count.
    for (usual, cut_short) in [(HASTE, true), (2 * PATIENCE, false)] {
        let server = hang().await;
        let mut request = request(&server.url("/"));
        request.first_byte = Some(usual);
        let config = FetchConfig {
            first_byte_timeout: 2 * HASTE,
            ..FetchConfig::default()
        };
        let failure = fetch(&fetcher(&config), request).await.unwrap_err();
        assert_eq!(failure.cut_short, cut_short);
        assert!(failure.timings.sent_at.is_some());
    }
    // Once it has come, the limit is of no concern.
    let slow = vec![
        Step::Request,
        send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"),
        Step::Drip(2 * HASTE),
    ];
    let server = Server::start(vec![slow]).await;
    let whole = fetch(&fetcher(&config), request(&server.url("/"))).await;
    assert_eq!(whole.unwrap().status, 200);
}

#[tokio::test]
async fn silence_gives_way_if_a_slot_is_wanted() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n";
    let drip = Step::Drip(Duration::from_millis(50));
    for script in [
        vec![Step::Hang],
        vec![Step::Request, Step::Hang],
        vec![Step::Request, send(head), Step::Hang],
        vec![Step::Request, send(head), drip],
    ] {
        let server = Server::start(vec![script]).await;
        let slots = SlotDemand::default();
        slots.publish(1);
        let mut request = request(&server.url("/"));
        request.slots = Some(slots);
        let failure = fetch(&fetcher(&FetchConfig::default()), request).await;
        assert!(failure.unwrap_err().cut_short);
    }
}

#[tokio::test]
async fn a_handshake_that_hangs_is_silence() {
    let server = Server::start(vec![vec![Step::Hang]]).await;
    let slots = SlotDemand::default();
    slots.publish(1);
    let mut request = request(&format!("https://a.test:{}/", server.port));
    request.slots = Some(slots);
    let failure = fetch(&fetcher(&FetchConfig::default()), request).await;
    assert!(failure.unwrap_err().cut_short);
}
