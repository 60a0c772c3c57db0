//! HTTP and SOCKS5 proxies, as they are spoken to and as they fail.

use clewline_core::outcome::FailureClass;
use clewline_core::url::CrawlUrl;

use super::secure::Authority;
use super::server::{Seen, Server, Step, send};
use super::{FetchConfig, HASTE, Whole, class, fetch, fetcher, request};
use crate::config::Secret;
use crate::fetch::{FetchFailure, Fetcher, Request};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// No authentication wanted; connected; bound to 0.0.0.0:0.
const SOCKS_WELCOME: &[u8] = &[5, 0];
const SOCKS_DONE: &[u8] = &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

fn through(proxy: String) -> FetchConfig {
    FetchConfig {
        proxy: Some(Secret::new(proxy)),
        ..FetchConfig::default()
    }
}

/// Through a proxy no address is known.
fn distant(url: &str) -> Request {
    Request {
        address: None,
        ..request(url)
    }
}

async fn by(config: &FetchConfig, url: &str) -> Result<Whole, FetchFailure> {
    fetch(&fetcher(config), distant(url)).await
}

#[tokio::test]
async fn plain_requests_name_the_whole_url() {
    let mut server = Server::start(vec![vec![Step::Request, send(OK)]]).await;
    let config = through(format!("http://us%65r:p%40ss@127.0.0.1:{}", server.port));
    assert!(fetcher(&config).proxied(&CrawlUrl::parse("http://127.0.0.1/").unwrap()));
    let whole = by(&config, "http://far.test:81/x?y").await.unwrap();
    assert_eq!(whole.text, "ok");
    let text = server.request(0).await;
    assert!(
        text.starts_with("GET http://far.test:81/x?y HTTP/1.1\r\nHost: far.test:81\r\n"),
        "{text}"
    );
    assert!(
        text.contains("\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n"),
        "{text}"
    );
}

#[tokio::test]
async fn secure_requests_go_through_a_tunnel() {
    let authority = Authority::new();
    let scripts = vec![vec![Step::Request, send(OK)]];
    let mut target = Server::start_with(scripts, Some(authority.acceptor(&["far.test"]))).await;
    let established = send("HTTP/1.1 200 Connection established\r\n\r\n");
    let tunnel = vec![Step::Request, established, Step::Relay(target.port)];
    let mut server = Server::start(vec![tunnel]).await;
    let config = FetchConfig {
        cacert: authority.config().cacert,
        ..through(format!("http://u:p@127.0.0.1:{}", server.port))
    };
    assert_eq!(by(&config, "https://far.test/x").await.unwrap().text, "ok");
    let text = server.request(0).await;
    assert!(
        text.starts_with("CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n"),
        "{text}"
    );
    assert!(
        text.contains("\r\nProxy-Authorization: Basic dTpw\r\n"),
        "{text}"
    );
    let text = target.request(0).await;
    assert!(
        text.starts_with("GET /x HTTP/1.1\r\nHost: far.test\r\n"),
        "{text}"
    );
    assert!(!text.contains("Proxy-Authorization"), "{text}");
}

#[tokio::test]
async fn socks5_lets_the_proxy_resolve() {
    for scheme in ["socks5", "socks5h"] {
        let mut server = Server::start(vec![vec![
            Step::Bytes(3),
            send(SOCKS_WELCOME),
            Step::Bytes(4 + 1 + 8 + 2),
            send(SOCKS_DONE),
            Step::Request,
            send(OK),
        ]])
        .await;
        let config = through(format!("{scheme}://127.0.0.1:{}", server.port));
        assert_eq!(
            by(&config, "http://far.test:81/x").await.unwrap().text,
            "ok"
        );
        assert_eq!(server.saw().await, Seen::Bytes(0, vec![5, 1, 0]));
        let message = b"\x05\x01\x00\x03\x08far.test\x00\x51".to_vec();
        assert_eq!(server.saw().await, Seen::Bytes(0, message));
        assert!(server.request(0).await.starts_with("GET /x HTTP/1.1\r\n"));
    }
}

#[tokio::test]
async fn socks5_with_a_password_and_an_address() {
    let mut server = Server::start(vec![vec![
        Step::Bytes(4),
        send([5, 2]),
        Step::Bytes(1 + 2 + 3),
        send([1, 0]),
        Step::Bytes(4 + 16 + 2),
        send(b"\x05\x00\x00\x03\x04host\x00\x50"),
        Step::Request,
        send(OK),
    ]])
    .await;
    let config = through(format!("socks5://u:pw@127.0.0.1:{}", server.port));
    assert_eq!(by(&config, "http://[::1]/").await.unwrap().text, "ok");
    assert_eq!(server.saw().await, Seen::Bytes(0, vec![5, 2, 0, 2]));
    assert_eq!(
        server.saw().await,
        Seen::Bytes(0, b"\x01\x01u\x02pw".to_vec())
    );
    let address = [&[5, 1, 0, 4][..], &[0; 15], &[1, 0, 80]].concat();
    assert_eq!(server.saw().await, Seen::Bytes(0, address));
}

#[tokio::test]
async fn proxies_that_refuse() {
    let hello = Step::Bytes(3);
    let asked = Step::Bytes(15);
    for (scheme, url, script, words) in [
        (
            "http",
            "https://far.test/",
            vec![Step::Request, send("HTTP/1.1 407 No\r\n\r\n")],
            "credentials",
        ),
        (
            "http",
            "https://far.test/",
            vec![Step::Request, send("HTTP/1.1 502 No\r\n\r\n")],
            "answered 502",
        ),
        (
            "http",
            "https://far.test/",
            vec![Step::Request, send("HTTP/1.1 200 OK\r\n\r\nextra")],
            "no sense",
        ),
        (
            "http",
            "https://far.test/",
            vec![Step::Request, send("nonsense")],
            "no sense",
        ),
        ("http", "https://far.test/", vec![Step::Request], "failed"),
        (
            "http",
            "http://far.test/",
            vec![Step::Request, send("HTTP/1.1 407 No\r\n\r\n")],
            "credentials",
        ),
        (
            "socks5",
            "http://far.test/",
            vec![hello.clone(), send([5, 255])],
            "credentials",
        ),
        (
            "socks5",
            "http://far.test/",
            vec![hello.clone(), send("HT")],
            "no sense",
        ),
        (
            "socks5",
            "http://far.test/",
            vec![
                hello.clone(),
                send(SOCKS_WELCOME),
                asked.clone(),
                send([5, 4, 0, 1]),
            ],
            "host is unreachable",
        ),
        (
            "socks5",
            "http://far.test/",
            vec![hello, send(SOCKS_WELCOME), asked],
            "failed",
        ),
    ] {
        let server = Server::start(vec![script]).await;
        let config = through(format!("{scheme}://127.0.0.1:{}", server.port));
        let failure = by(&config, url).await.unwrap_err();
        assert_eq!(failure.class, FailureClass::Proxy, "{}", failure.message);
        assert!(
            failure.message.contains(words),
            "{words}: {}",
            failure.message
        );
    }
}

#[tokio::test]
async fn proxies_that_are_silent_or_absent() {
    let server = Server::start(vec![vec![Step::Hang]]).await;
    let config = FetchConfig {
        connect_timeout: HASTE,
        ..through(format!("http://127.0.0.1:{}", server.port))
    };
    let silent = class(&fetcher(&config), distant("https://far.test/")).await;
    assert_eq!(silent, FailureClass::Proxy);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let absent = through(format!("http://{}", listener.local_addr().unwrap()));
    drop(listener);
    let absent = class(&fetcher(&absent), distant("http://far.test/")).await;
    assert_eq!(absent, FailureClass::Proxy);
}

#[tokio::test]
async fn hosts_that_are_spared_are_asked_directly() {
    let mut target = Server::start(vec![vec![Step::Request, send(OK)]]).await;
    let config = FetchConfig {
        no_proxy: vec!["near.test".into()],
        ..through("http://127.0.0.1:1".into())
    };
    let url = format!("http://near.test:{}/", target.port);
    fetch(&fetcher(&config), request(&url)).await.unwrap();
    assert!(target.request(0).await.starts_with("GET / "));
}
