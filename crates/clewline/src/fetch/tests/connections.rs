//! Keep-alive, stale connections, bounds of the pool, overrides, requests as they are sent.

use clewline_core::outcome::FailureClass;

use super::server::{Seen, Server, Step, send};
use super::{FetchConfig, HASTE, class, fetch, fetcher, request};
use crate::config::Secret;
use crate::fetch::{Fetcher, Request};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A connection that answers this many requests.
fn serving(requests: usize) -> Vec<Step> {
    vec![vec![Step::Request, send(OK)]; requests].concat()
}

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let script = serving(3);
    let mut server = Server::start(vec![script]).await;
    let fetcher = fetcher(&FetchConfig::default());
    for number in 0..3 {
        let whole = fetch(&fetcher, request(&server.url("/x?y"))).await.unwrap();
        assert_eq!((whole.status, whole.text.as_str()), (200, "ok"));
        assert_eq!(whole.tally.wire, OK.len() as u64);
        assert_eq!(whole.reused, number > 0);
        let text = server.request(0).await;
        assert!(
            text.starts_with("GET /x?y HTTP/1.1\r\nHost: 127.0.0.1:"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn what_forbids_reuse_closes_the_connection() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more",
        "HTTP/1.1 204 ok\r\n\r\nand more",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ] {
        let mut server = Server::start(vec![vec![Step::Request, send(answer), Step::Hang]]).await;
        let fetcher = fetcher(&FetchConfig::default());
        fetch(&fetcher, request(&server.url("/"))).await.unwrap();
        server.request(0).await;
        assert_eq!(server.saw().await, Seen::Closed(0), "{answer}");
    }
}

#[tokio::test]
async fn a_stale_connection_is_redone_once() {
    // The first connection takes the second request and closes without a byte.
    for end in [vec![], vec![Step::Reset]] {
        let stale = [vec![Step::Request, send(OK), Step::Request], end].concat();
        let mut server = Server::start(vec![stale, vec![Step::Request, send(OK)]]).await;
        let fetcher = fetcher(&FetchConfig::default());
        assert!(
            !fetch(&fetcher, request(&server.url("/1")))
                .await
                .unwrap()
                .reused
        );
        assert!(
            !fetch(&fetcher, request(&server.url("/2")))
                .await
                .unwrap()
                .reused
        );
        assert!(server.request(0).await.starts_with("GET /1 "));
        assert!(server.request(0).await.starts_with("GET /2 "));
        assert!(server.request(1).await.starts_with("GET /2 "));
    }
}

#[tokio::test]
async fn a_stale_connection_is_not_redone_at_once_where_a_distance_is_kept() {
    let stale = vec![Step::Request, send(OK), Step::Request];
    let mut server = Server::start(vec![stale, serving(1)]).await;
    let fetcher = fetcher(&FetchConfig::default());
    let spaced = |path: &str| Request {
        spaced: true,
        ..request(&server.url(path))
    };
    let (first, second, third) = (spaced("/1"), spaced("/2"), spaced("/3"));
    fetch(&fetcher, first).await.unwrap();
    let failure = fetch(&fetcher, second).await.unwrap_err();
    assert!(failure.withheld.is_some() && failure.timings.sent_at.is_some());
    assert!(!fetch(&fetcher, third).await.unwrap().reused);
    for (connection, path) in [(0, "GET /1 "), (0, "GET /2 "), (1, "GET /3 ")] {
        assert!(server.request(connection).await.starts_with(path));
    }
}

#[tokio::test]
async fn a_fresh_connection_is_not_redone() {
    let server = Server::start(vec![vec![Step::Request]]).await;
    let fetcher = fetcher(&FetchConfig::default());
    assert_eq!(
        class(&fetcher, request(&server.url("/"))).await,
        FailureClass::Reset
    );
    let server = Server::start(vec![vec![Step::Request, Step::Reset]]).await;
    assert_eq!(
        class(&fetcher, request(&server.url("/"))).await,
        FailureClass::Reset
    );
}

#[tokio::test]
async fn an_answer_on_a_reused_connection_is_not_redone() {
    let broken = vec![
        Step::Request,
        send(OK),
        Step::Request,
        send("HTTP/1.1 200 OK\r\n"),
    ];
    let server = Server::start(vec![broken]).await;
    let fetcher = fetcher(&FetchConfig::default());
    fetch(&fetcher, request(&server.url("/"))).await.unwrap();
    assert_eq!(
        class(&fetcher, request(&server.url("/"))).await,
        FailureClass::Incomplete
    );
}

#[tokio::test]
async fn the_pool_is_bounded_and_lets_the_oldest_go() {
    let script = vec![Step::Request, send(OK), Step::Hang];
    let mut first = Server::start(vec![script.clone()]).await;
    let mut second = Server::start(vec![script.clone()]).await;
    let config = FetchConfig {
        idle_connections: 1,
        ..FetchConfig::default()
    };
    let fetcher = fetcher(&config);
    fetch(&fetcher, request(&first.url("/"))).await.unwrap();
    first.request(0).await;
    fetch(&fetcher, request(&second.url("/"))).await.unwrap();
    second.request(0).await;
    assert_eq!(first.saw().await, Seen::Closed(0));
    fetcher.pool.clear();
    assert_eq!(second.saw().await, Seen::Closed(0));
}

#[tokio::test]
async fn dropping_a_body_or_a_fetch_closes_the_connection() {
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    let mut server = Server::start(vec![
        vec![Step::Request, send(half), Step::Hang],
        vec![Step::Request, Step::Hang],
    ])
    .await;
    let fetcher = fetcher(&FetchConfig::default());
    let mut response = fetcher.fetch(request(&server.url("/"))).await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "half");
    server.request(0).await;
    drop(response);
    assert_eq!(server.saw().await, Seen::Closed(0));
    let waiting = fetcher.fetch(request(&server.url("/")));
    tokio::select! {
        _ = waiting => panic!("no answer can come"),
        _ = server.request(1) => {}
    }
    assert_eq!(server.saw().await, Seen::Closed(1));
}

#[tokio::test]
async fn nobody_there_is_a_connect_failure() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let failure = fetch(&fetcher(&FetchConfig::default()), request(&url))
        .await
        .unwrap_err();
    assert_eq!(
        (failure.class, failure.local),
        (FailureClass::Connect, false)
    );
    assert!(failure.message.contains("refused"), "{}", failure.message);
}

/// A server that never accepts: its queue is full, and Linux drops what does not fit.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_takes_too_long() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let loopback: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&loopback.into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, HASTE) {
        queued.push(stream);
        assert!(queued.len() < 100, "the queue never fills");
    }
    let config = FetchConfig {
        connect_timeout: HASTE,
        ..FetchConfig::default()
    };
    let url = format!("http://{address}/");
    let failure = fetch(&fetcher(&config), request(&url)).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Connect);
    assert!(failure.message.contains("too long"), "{}", failure.message);
}

#[tokio::test]
async fn a_request_may_have_less_patience_with_a_connection() {
    let server = Server::start(vec![vec![Step::Hang]]).await;
    // What is configured, and the whole time of the request, are far longer.
    let hasty = Request {
        patience: Some(HASTE),
        ..request(&format!("https://a.test:{}/", server.port))
    };
    let begun = std::time::Instant::now();
    let failure = fetch(&fetcher(&FetchConfig::default()), hasty).await;
    let failure = failure.unwrap_err();
    assert!(failure.message.contains("too long"), "{}", failure.message);
    assert!(begun.elapsed() < FetchConfig::default().connect_timeout);
}

#[tokio::test]
async fn settings_without_bounds_do_no_harm() {
    let mut server = Server::start(vec![serving(1)]).await;
    let config = FetchConfig {
        connect_timeout: std::time::Duration::MAX,
        max_body: u64::MAX,
        min_rate: u64::MAX,
        idle_connections: 0,
        ..FetchConfig::default()
    };
    let mut request = request(&server.url("/"));
    request.timeout = std::time::Duration::MAX;
    request.max_body = u64::MAX;
    assert_eq!(fetch(&fetcher(&config), request).await.unwrap().text, "ok");
    server.request(0).await;
}

#[tokio::test]
async fn a_request_without_an_address_is_not_sent() {
    let mut unchecked = request("http://127.0.0.1:9/");
    unchecked.address = None;
    assert_eq!(
        class(&fetcher(&FetchConfig::default()), unchecked).await,
        FailureClass::Internal
    );
}

#[tokio::test]
async fn overrides_decide_where_to_go() {
    let mut server = Server::start(vec![serving(2)]).await;
    let config = FetchConfig {
        resolve: vec![
            "a.test:80:127.0.0.1".into(),
            "b.test:*:127.0.0.9,::1".into(),
        ],
        connect_to: vec![format!("a.test:80::{}", server.port)],
        ..FetchConfig::default()
    };
    let fetcher = fetcher(&config);
    let found = fetcher.resolve("b.test", 1).await.unwrap();
    assert!(found.trusted);
    assert_eq!(found.addresses.len(), 2);
    fetch(&fetcher, request("http://a.test/")).await.unwrap();
    assert!(server.request(0).await.contains("\r\nHost: a.test\r\n"));
}

#[tokio::test]
async fn hosts_that_need_no_question() {
    let config = FetchConfig {
        connect_to: vec!["moved.test::127.0.0.7:".into()],
        ..FetchConfig::default()
    };
    let fetcher = fetcher(&config);
    for (host, expected, trusted) in [
        ("127.0.0.3", "127.0.0.3", false),
        ("[2001:db8::1]", "2001:db8::1", false),
        ("localhost", "127.0.0.1 ::1", false),
        ("deep.localhost", "127.0.0.1 ::1", false),
        ("moved.test", "127.0.0.7", true),
    ] {
        let found = fetcher.resolve(host, 80).await.unwrap();
        let shown: Vec<_> = found.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(
            (shown.join(" ").as_str(), found.trusted),
            (expected, trusted),
            "{host}"
        );
    }
}

#[tokio::test]
async fn secrets_go_only_where_they_may() {
    let mut server = Server::start(vec![serving(2)]).await;
    let config = FetchConfig {
        user: Some(Secret::new("u:p")),
        headers: vec![("X-Own".into(), Secret::new("1"))],
        ..FetchConfig::default()
    };
    let fetcher = fetcher(&config);
    let mut near = request(&server.url("/"));
    near.credentials = true;
    near.cookie = Some("a=b".into());
    fetch(&fetcher, near).await.unwrap();
    let text = server.request(0).await;
    assert!(
        text.contains("\r\nAuthorization: Basic dTpw\r\nCookie: a=b\r\nX-Own: 1\r\n"),
        "{text}"
    );
    fetch(&fetcher, request(&server.url("/"))).await.unwrap();
    assert!(!server.request(0).await.contains("Authorization"));
}

#[tokio::test]
async fn a_waiting_request_is_small() {
    let fetcher = fetcher(&FetchConfig::default());
    let mut waiting = request("http://127.0.0.1:9/");
    waiting.timeout = HASTE;
    let size = size_of_val(&*fetcher.fetch(waiting));
    assert!(size <= 2048, "{size} bytes");
}
