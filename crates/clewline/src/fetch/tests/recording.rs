//! What is recorded of an exchange: the bytes that were sent, and why the end is missing.

use std::sync::Arc;

use clewline_warc::{Digest, Truncation};

use super::server::{Server, Step, send};
use super::{HASTE, fetcher, request};
use crate::config::{FetchConfig, Secret};
use crate::exchange::{BytesLocation, Exchange, Recording, Secrets, Spool};
use crate::fetch::{Fetcher as _, Request};

/// Everything that framing and heads can be, within the law and slightly beyond it.
const ODD: &[u8] = b"HTTP/1.1 200   oK then\r\nX-a:1\r\nx-A:  2 \r\nX-FOLDED: one\r\n\ttwo\r\n \
    three\r\nTRANSFER-encoding: Chunked\r\nDate:\r\n\r\n0005;why=\"not\";x\r\nhello\r\n\
    006  \r\n world\r\n000;last\r\nTrailer-One: x\r\ntrailer-two:y\r\n\r\n";

struct Recorded {
    exchange: Option<Exchange>,
    failed: bool,
    folder: tempfile::TempDir,
}

impl Recorded {
    fn exchange(&self) -> &Exchange {
        self.exchange.as_ref().expect("an answer came")
    }

    fn response(&self) -> Vec<u8> {
        self.exchange().response.first(usize::MAX).unwrap()
    }
}

async fn record(config: &FetchConfig, secrets: Secrets, request: Request) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let spool = Arc::new(Spool::new(folder.path().into(), 1 << 20, secrets));
    let recording = Recording::new(Arc::clone(&spool));
    let fetcher = fetcher(config);
    let mut failed = true;
    let answer = fetcher
        .fetch(Request {
            recording: Some(recording.clone()),
            condition: None,
            ..request
        })
        .await;
    if let Ok(mut response) = answer {
        failed = loop {
            match response.body.chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
    }
    Recorded {
        exchange: recording.take(),
        failed,
        folder,
    }
}

async fn answered(steps: Vec<Step>, change: impl FnOnce(&mut Request)) -> Recorded {
    let script = [vec![Step::Request], steps].concat();
    let server = Server::start(vec![script]).await;
    let mut asked = request(&server.url("/x?y"));
    change(&mut asked);
    record(&FetchConfig::default(), Secrets::Replaced, asked).await
}

#[tokio::test]
async fn every_byte_is_kept_however_it_comes() {
    let trickle: Vec<Step> = ODD.iter().map(|byte| send([*byte])).collect();
    for steps in [vec![send(ODD)], trickle] {
        let recorded = answered(steps, |_| {}).await;
        assert!(!recorded.failed);
        assert_eq!(recorded.response(), ODD);
        let exchange = recorded.exchange();
        assert_eq!((exchange.status, exchange.truncation), (200, None));
        assert_eq!(exchange.payload_digest, Digest::sha1(b"hello world"));
        let asked = String::from_utf8_lossy(&exchange.request);
        assert!(
            asked.starts_with("GET /x?y HTTP/1.1\r\nHost: 127.0.0.1:"),
            "{asked}"
        );
        assert!(asked.ends_with("\r\n\r\n"), "{asked}");
    }
}

#[tokio::test]
async fn what_is_not_the_answer_is_not_kept() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let around = format!(
        "\r\n\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100\r\n\r\n\r\n{answer}more"
    );
    let recorded = answered(vec![send(around)], |_| {}).await;
    assert_eq!(recorded.response(), answer.as_bytes());
    assert_eq!(recorded.exchange().truncation, None);
}

#[tokio::test]
async fn a_missing_end_is_told_with_its_reason() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
    let begun = format!("{head}12345");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense";
    for (steps, timeout, max_body, expected, reason) in [
        (
            vec![send(&begun)],
            None,
            100,
            &begun[..],
            Truncation::Disconnect,
        ),
        (
            vec![send(&begun), Step::Reset],
            None,
            100,
            &begun,
            Truncation::Disconnect,
        ),
        (
            vec![send(&begun), Step::Hang],
            Some(HASTE),
            100,
            &begun,
            Truncation::Time,
        ),
        (
            vec![send(&begun), Step::Hang],
            None,
            3,
            &begun,
            Truncation::Length,
        ),
        (
            vec![send(chunked), Step::Hang],
            None,
            100,
            chunked,
            Truncation::Unspecified,
        ),
    ] {
        let recorded = answered(steps, |request| {
            request.max_body = max_body;
            request.timeout = timeout.unwrap_or(request.timeout);
        })
        .await;
        assert_eq!(recorded.exchange().truncation, Some(reason), "{expected}");
        assert_eq!(recorded.response(), expected.as_bytes(), "{reason:?}");
        assert_eq!(recorded.failed, reason != Truncation::Length, "{reason:?}");
    }
}

#[tokio::test]
async fn without_a_head_there_is_no_exchange() {
    for text in ["", "HTTP/1.1 200 OK\r\nContent-", "SSH-2.0-x\r\n\r\n"] {
        let recorded = answered(vec![send(text)], |_| {}).await;
        assert!(recorded.failed && recorded.exchange.is_none(), "{text}");
    }
    let contradiction = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
    let recorded = answered(vec![send(contradiction)], |_| {}).await;
    assert!(recorded.failed);
    assert_eq!(recorded.response(), contradiction.as_bytes());
    assert_eq!(
        recorded.exchange().truncation,
        Some(Truncation::Unspecified)
    );
}

#[tokio::test]
async fn large_answers_wait_in_a_file_without_a_name() {
    let body = vec![b'x'; 700_000];
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    let recorded = answered(vec![send(&head), send(&body)], |_| {}).await;
    assert!(matches!(
        recorded.exchange().response.place(),
        BytesLocation::File(_)
    ));
    assert_eq!(recorded.response(), [head.as_bytes(), &body].concat());
    assert_eq!(recorded.exchange().payload_digest, Digest::sha1(&body));
    assert_eq!(recorded.folder.path().read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn secrets_are_replaced_unless_they_are_wanted() {
    let config = FetchConfig {
        headers: vec![("X-Key".into(), Secret::new("hunter1"))],
        user: Some(Secret::new("me:hunter2")),
        ..FetchConfig::default()
    };
    for secrets in [Secrets::Replaced, Secrets::Kept] {
        let answer = send("HTTP/1.1 204 No Content\r\n\r\n");
        let mut server = Server::start(vec![vec![Step::Request, answer]]).await;
        let asked = Request {
            credentials: true,
            cookie: Some("id=hunter3".into()),
            ..request(&server.url("/"))
        };
        let recorded = record(&config, secrets, asked).await;
        let (sent, kept) = (server.request(0).await, &recorded.exchange().request);
        let kept = String::from_utf8(kept.clone()).unwrap();
        if secrets == Secrets::Kept {
            assert_eq!(kept, sent);
            continue;
        }
        let without = sent
            .replace("hunter1", "(removed)")
            .replace("Basic bWU6aHVudGVyMg==", "(removed)")
            .replace("id=hunter3", "(removed)");
        assert_eq!(kept, without);
        assert_eq!(kept.matches("(removed)").count(), 3);
    }
}
