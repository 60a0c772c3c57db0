//! HTTP/2 against servers with good and bad habits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use clewline_core::outcome::FailureClass;
use futures_util::future::join_all;
use h2::Reason;
use h2::server::SendResponse;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::secure::Authority;
use super::{FetchConfig, Request, Whole, fetch, fetcher, request};
use crate::config::Http2Use;
use crate::exchange::{Recording, Secrets, Spool};
use crate::fetch::{FetchFailure, Fetcher as _, HttpFetcher};

/// What a server does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// Answers.
    Answer,
    /// Resets the first stream of all with this reason, and answers the others.
    ResetFirst(Reason),
    /// Resets every stream.
    Reset(Reason),
    /// Leaves on the first connection and says that it processed nothing.
    GoAwayFirst,
    /// Resets the stream in the middle of the body.
    CutBody,
    /// Answers with this status over HTTP/2.
    Status(u16),
}

/// A server, and what it saw.
struct Http2Server {
    port: u16,
    authority: Authority,
    connections: Arc<AtomicUsize>,
    /// The protocol and the path of every request.
    requests: Arc<Mutex<Vec<(&'static str, String)>>>,
}

impl Http2Server {
    async fn start(habit: Habit, protocols: &[&str]) -> Self {
        let authority = Authority::new();
        let tls = acceptor(&authority, protocols);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            authority,
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (connections, requests) = (
            Arc::clone(&server.connections),
            Arc::clone(&server.requests),
        );
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = connections.fetch_add(1, Ordering::SeqCst);
                let (tls, requests) = (tls.clone(), Arc::clone(&requests));
                tokio::spawn(async move {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, habit, number, &requests).await;
                    }
                });
            }
        });
        server
    }

    fn fetcher(&self, http2: Http2Use) -> HttpFetcher {
        fetcher(&FetchConfig {
            http2,
            ..self.authority.config()
        })
    }

    fn request(&self, path: &str) -> Request {
        request(&format!("https://a.test:{}{path}", self.port))
    }

    /// A request of a host that may be asked many times at once.
    fn one_of_many(&self, path: &str) -> Request {
        Request {
            streams: 16,
            ..self.request(path)
        }
    }

    fn protocols(&self) -> Vec<&'static str> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|(protocol, _)| *protocol).collect()
    }
}

fn acceptor(authority: &Authority, protocols: &[&str]) -> TlsAcceptor {
    let plain = authority.acceptor(&["a.test"]);
    let mut config = (**plain.config()).clone();
    config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(
    stream: TlsStream<TcpStream>,
    habit: Habit,
    number: usize,
    requests: &Mutex<Vec<(&'static str, String)>>,
) {
    if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
        return serve_http1(stream, requests).await;
    }
    if habit == Habit::GoAwayFirst && number == 0 {
        return go_away(stream).await;
    }
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let mut is_first = number == 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        let path = request.uri().path().to_owned();
        requests.lock().unwrap().push(("h2", path));
        answer(respond, habit, is_first);
        is_first = false;
    }
}

/// A request arrives, and the server leaves without having looked at it.
async fn go_away(mut stream: TlsStream<TcpStream>) {
    let mut seen = [0; 4096];
    let _ = stream.read(&mut seen).await;
    let nothing_processed = [0; 8];
    let frames = [
        frame(SETTINGS, 0, 0, b""),
        frame(GO_AWAY, 0, 0, &nothing_processed),
    ]
    .concat();
    let _ = stream.write_all(&frames).await;
    let _ = stream.flush().await;
    while stream.read(&mut seen).await.is_ok_and(|count| count > 0) {}
}

fn answer(mut respond: SendResponse<Bytes>, habit: Habit, is_first: bool) {
    let status = match habit {
        Habit::Status(status) => status,
        _ => 200,
    };
    match habit {
        Habit::Reset(reason) => return respond.send_reset(reason),
        Habit::ResetFirst(reason) if is_first => return respond.send_reset(reason),
        _ => {}
    }
    let head = http::Response::builder()
        .status(status)
        .header("content-type", "text/plain")
        .body(())
        .unwrap();
    let Ok(mut body) = respond.send_response(head, false) else {
        return;
    };
    let _ = body.send_data(Bytes::from_static(b"over h2"), habit != Habit::CutBody);
    if habit == Habit::CutBody {
        body.send_reset(Reason::INTERNAL_ERROR);
    }
}

async fn serve_http1(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    requests: &Mutex<Vec<(&'static str, String)>>,
) {
    let mut seen = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        seen.push(byte);
        if seen.ends_with(b"\r\n\r\n") {
            let line = String::from_utf8_lossy(&seen).into_owned();
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            requests.lock().unwrap().push(("http/1.1", path));
            seen.clear();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nover 1.1";
            if stream.write_all(answer).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
    }
}

async fn whole(fetcher: &HttpFetcher, request: Request) -> Whole {
    fetch(fetcher, request).await.unwrap()
}

const BOTH: [&str; 2] = ["h2", "http/1.1"];

#[tokio::test]
async fn many_requests_share_a_connection() {
    let server = Http2Server::start(Habit::Answer, &BOTH).await;
    let fetcher = server.fetcher(Http2Use::Auto);
    let paths: Vec<String> = (0..50).map(|number| format!("/{number}")).collect();
    let answers = join_all(
        paths
            .iter()
            .map(|path| whole(&fetcher, server.one_of_many(path))),
    )
    .await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.text == "over h2" && answer.status == 200)
    );
    assert_eq!(server.protocols(), ["h2"; 50]);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn http2_is_offered_where_it_pays_or_is_asked_for() {
    for (http2, streams, archived, expected) in [
        (Http2Use::Auto, 15, false, "http/1.1"),
        (Http2Use::Auto, 16, false, "h2"),
        (Http2Use::Auto, 16, true, "http/1.1"),
        (Http2Use::Never, 64, false, "http/1.1"),
        (Http2Use::Always, 1, true, "h2"),
    ] {
        let server = Http2Server::start(Habit::Answer, &BOTH).await;
        let fetcher = server.fetcher(http2);
        let recording = archived.then(|| {
            let place = std::env::temp_dir();
            Recording::new(Arc::new(Spool::new(place, 1 << 20, Secrets::Replaced)))
        });
        let asked = Request {
            recording,
            streams,
            ..server.request("/")
        };
        whole(&fetcher, asked).await;
        assert_eq!(
            server.protocols(),
            [expected],
            "{http2:?} {streams} {archived}"
        );
    }
}

#[tokio::test]
async fn a_server_without_http2_is_asked_by_the_other() {
    let server = Http2Server::start(Habit::Answer, &["http/1.1"]).await;
    let fetcher = server.fetcher(Http2Use::Always);
    for _ in 0..2 {
        assert_eq!(whole(&fetcher, server.request("/")).await.text, "over 1.1");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_server_with_nothing_else_is_offered_http2() {
    let server = Http2Server::start(Habit::Answer, &["h2"]).await;
    let fetcher = server.fetcher(Http2Use::Auto);
    assert_eq!(whole(&fetcher, server.request("/")).await.text, "over h2");
    let never = server.fetcher(Http2Use::Never);
    let failure = fetch(&never, server.request("/")).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Tls);
}

#[tokio::test]
async fn what_was_not_processed_is_sent_once_more() {
    for habit in [
        Habit::ResetFirst(Reason::REFUSED_STREAM),
        Habit::GoAwayFirst,
    ] {
        let server = Http2Server::start(habit, &BOTH).await;
        let fetcher = server.fetcher(Http2Use::Always);
        assert_eq!(
            whole(&fetcher, server.request("/")).await.text,
            "over h2",
            "{habit:?}"
        );
    }
}

#[tokio::test]
async fn a_second_refusal_counts_and_a_distance_is_kept() {
    let server = Http2Server::start(Habit::Reset(Reason::REFUSED_STREAM), &BOTH).await;
    let fetcher = server.fetcher(Http2Use::Always);
    let failure = fetch(&fetcher, server.request("/")).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Reset);
    assert!(failure.withheld.is_none());
    assert_eq!(server.protocols().len(), 2);
    let spaced = Request {
        spaced: true,
        ..server.request("/")
    };
    let failure: FetchFailure = fetch(&fetcher, spaced).await.unwrap_err();
    assert!(failure.withheld.is_some());
    assert_eq!(server.protocols().len(), 3);
}

#[tokio::test]
async fn who_wants_the_other_protocol_gets_it_from_then_on() {
    for habit in [
        Habit::Reset(Reason::HTTP_1_1_REQUIRED),
        Habit::Status(421),
        Habit::Status(505),
    ] {
        let server = Http2Server::start(habit, &BOTH).await;
        let fetcher = server.fetcher(Http2Use::Always);
        for _ in 0..2 {
            let answer = whole(&fetcher, server.request("/")).await;
            assert_eq!(
                (answer.status, answer.text.as_str()),
                (200, "over 1.1"),
                "{habit:?}"
            );
        }
        assert_eq!(
            server.protocols(),
            ["h2", "http/1.1", "http/1.1"],
            "{habit:?}"
        );
    }
}

#[tokio::test]
async fn a_call_for_calm_is_too_many_requests() {
    let server = Http2Server::start(Habit::Reset(Reason::ENHANCE_YOUR_CALM), &BOTH).await;
    let fetcher = server.fetcher(Http2Use::Always);
    let answer = whole(&fetcher, server.request("/")).await;
    assert_eq!((answer.status, answer.text.as_str()), (429, ""));
    assert_eq!(server.protocols().len(), 1);
}

#[tokio::test]
async fn a_body_that_is_reset_is_incomplete() {
    let server = Http2Server::start(Habit::CutBody, &BOTH).await;
    let fetcher = server.fetcher(Http2Use::Always);
    let failure = fetch(&fetcher, server.request("/")).await.unwrap_err();
    // The reset may overtake the head.
    let is_cut = matches!(
        failure.class,
        FailureClass::Incomplete | FailureClass::Reset
    );
    assert!(is_cut, "{:?} {}", failure.class, failure.message);
}

#[tokio::test]
async fn bodies_that_are_cut_leave_room_for_others() {
    let server = Http2Server::start(Habit::Answer, &BOTH).await;
    let fetcher = server.fetcher(Http2Use::Always);
    for _ in 0..1000 {
        let response = fetcher.fetch(server.request("/")).await.unwrap();
        drop(response);
    }
    assert_eq!(whole(&fetcher, server.request("/")).await.text, "over h2");
}

#[tokio::test]
async fn the_archive_holds_the_answer_written_anew_and_its_protocol() {
    let server = Http2Server::start(Habit::Answer, &BOTH).await;
    let fetcher = server.fetcher(Http2Use::Always);
    let place = tempfile::tempdir().unwrap();
    let recording = Recording::new(Arc::new(Spool::new(
        place.path().to_owned(),
        1 << 20,
        Secrets::Replaced,
    )));
    let asked = Request {
        recording: Some(recording.clone()),
        ..server.request("/page")
    };
    whole(&fetcher, asked).await;
    let exchange = recording.take().unwrap();
    assert_eq!(exchange.protocols, ["h2", "tls/1.3"]);
    assert!(
        exchange
            .request
            .starts_with(b"GET /page HTTP/1.1\r\nHost: a.test")
    );
    let bytes = exchange
        .response
        .first(exchange.response.len() as usize)
        .unwrap();
    let expected = "HTTP/1.1 200 \r\ncontent-type: text/plain\r\n\r\nover h2";
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

/// Frames of a kind on a stream.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const DATA: u8 = 0;

/// A server that answers with frames without end: once the first, then the other again and again.
async fn flooded(first: Vec<u8>, again: Vec<u8>) -> FetchFailure {
    let authority = Authority::new();
    let tls = acceptor(&authority, &["h2"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = tls.accept(stream).await.unwrap();
            let (mut reading, mut writing) = tokio::io::split(stream);
            let many = again.repeat(1 + 16 * 1024 / again.len());
            let begun = [frame(SETTINGS, 0, 0, b""), first.clone()].concat();
            let mut seen = [0; 4096];
            // The request is on its way once its preface and settings are.
            let _ = reading.read(&mut seen).await;
            // What the other side answers is read, or it would stop to listen.
            tokio::spawn(async move {
                let mut seen = [0; 4096];
                while reading.read(&mut seen).await.is_ok_and(|count| count > 0) {}
            });
            let mut next = &begun;
            while writing.write_all(next).await.is_ok() {
                next = &many;
            }
        }
    });
    let fetcher = fetcher(&FetchConfig {
        http2: Http2Use::Always,
        ..authority.config()
    });
    let url = format!("https://a.test:{port}/");
    fetch(&fetcher, request(&url)).await.unwrap_err()
}

/// A head with `:status 200` and no more (HPACK index 8).
const OK_HEAD: &[u8] = &[0x88];

#[tokio::test]
async fn floods_of_frames_end_the_request() {
    let cases = [
        ("ping", Vec::new(), frame(PING, 0, 0, &[7; 8])),
        ("settings", Vec::new(), frame(SETTINGS, 0, 0, b"")),
        (
            "continuation",
            frame(HEADERS, 0, 1, OK_HEAD),
            frame(CONTINUATION, 0, 1, b""),
        ),
        (
            "large continuation",
            frame(HEADERS, 0, 1, OK_HEAD),
            frame(CONTINUATION, 0, 1, &[0x10; 8192]),
        ),
        (
            "empty data",
            frame(HEADERS, 4, 1, OK_HEAD),
            frame(DATA, 0, 1, b""),
        ),
    ];
    for (name, first, again) in cases {
        let failure = flooded(first, again).await;
        let is_told = matches!(
            failure.class,
            FailureClass::Reset | FailureClass::Protocol | FailureClass::Incomplete
        );
        assert!(is_told, "{name}: {:?} {}", failure.class, failure.message);
    }
}
