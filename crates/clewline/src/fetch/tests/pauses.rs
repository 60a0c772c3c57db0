//! Hosts that ask for a pause while a connection to them is being made.

use std::time::Instant;

use clewline_core::outcome::FailureClass;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{FetchConfig, PATIENCE, class, fetch, fetcher, request};
use crate::config::Secret;
use crate::fetch::{Pauses, Request};

/// The greeting of a SOCKS5 client, and its wish for `far.test:80`.
const GREETING: usize = 3;
const WISH: usize = 4 + 1 + "far.test".len() + 2;

/// A SOCKS5 proxy, up to its last word; says that the host asks for a pause before that.
async fn connect(listener: &TcpListener, pauses: &Pauses) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.read_exact(&mut [0; GREETING]).await.unwrap();
    stream.write_all(&[5, 0]).await.unwrap();
    stream.read_exact(&mut [0; WISH]).await.unwrap();
    pauses.note("far.test", Instant::now() + PATIENCE);
    let connected = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    stream.write_all(&connected).await.unwrap();
    stream
}

#[tokio::test]
async fn nothing_is_sent_into_a_pause_and_the_connection_waits() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let fetcher = fetcher(&FetchConfig {
        proxy: Some(Secret::new(format!("socks5h://127.0.0.1:{port}"))),
        ..FetchConfig::default()
    });
    let pauses = Pauses::default();
    let asked = |path: &str, pauses| Request {
        address: None,
        pauses,
        ..request(&format!("http://far.test/{path}"))
    };
    let held = asked("held", Some(pauses.clone()));
    let (held, mut stream) = tokio::join!(fetch(&fetcher, held), connect(&listener, &pauses));
    assert_eq!(held.unwrap_err().withheld, pauses.until("far.test"));
    // The first that the server hears is the request of somebody who knows of no pause.
    let server = async {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            text.push(stream.read_u8().await.unwrap());
        }
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        stream.write_all(answer).await.unwrap();
        String::from_utf8(text).unwrap()
    };
    let (free, text) = tokio::join!(fetch(&fetcher, asked("free", None)), server);
    assert!(text.starts_with("GET /free "), "{text}");
    let free = free.unwrap();
    assert_eq!((free.text.as_str(), free.reused), ("ok", true));
}

#[tokio::test]
async fn no_connection_is_made_in_a_pause() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/", unused.local_addr().unwrap().port());
    drop(unused);
    let fetcher = fetcher(&FetchConfig::default());
    let pauses = Pauses::default();
    let asked = || Request {
        pauses: Some(pauses.clone()),
        ..request(&url)
    };
    assert_eq!(class(&fetcher, asked()).await, FailureClass::Connect);
    pauses.note("127.0.0.1", Instant::now() + PATIENCE);
    let failure = fetch(&fetcher, asked()).await.unwrap_err();
    assert_eq!(failure.withheld, pauses.until("127.0.0.1"));
}
