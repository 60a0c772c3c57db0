//! Pages, routes, virtual hosts, keep-alive and the log.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use terrarium::{Page, Reply, Site, Web};

use crate::client::{End, connect, get, read_up_to};

#[test]
fn a_page_is_sent_byte_for_byte() {
    let page = Page::bare("hello")
        .status(203)
        .reason("So So")
        .header("X-b", "1")
        .header("x-A", "2");
    let web = Web::new()
        .site("a.test", Site::new().page("/", page.header("X-b", "3")))
        .start();
    let answer = get(&web, "a.test", "/");
    let expected = "HTTP/1.1 203 So So\r\nX-b: 1\r\nx-A: 2\r\nX-b: 3\r\n\
                    Content-Length: 5\r\nConnection: close\r\n\r\nhello";
    assert_eq!(answer.text(), expected);
    assert_eq!(answer.end, End::Closed);
}

#[test]
fn routes_prefer_the_nearest() {
    let site = Site::new()
        .page("/p", Page::text("path"))
        .page("/p?q=1", Page::text("query"))
        .under("/p/", |request| {
            Page::text(format!("under {}", request.path())).into()
        })
        .under("/p/deep/", |_| Page::text("deeper").into())
        .handler(|request| Page::text(format!("else {:?}", request.query())).into())
        .chain("/chain", 3, "/p")
        .redirect_loop("/loop", 2);
    let web = Web::new().site("a.test", site).start();
    let check = |path: &str, body: &str| {
        assert_eq!(
            String::from_utf8_lossy(get(&web, "a.test", path).body()),
            body,
            "{path}"
        );
    };
    check("/p", "path");
    check("/p?q=1", "query");
    check("/p?q=2", "path");
    check("/p/x?y", "under /p/x");
    check("/p/deep/x", "deeper");
    check("/other?z", "else Some(\"z\")");
    let moved = |path: &str, location: &str| {
        let answer = get(&web, "a.test", path);
        assert_eq!(
            (answer.status(), answer.header("Location").unwrap().as_str()),
            (302, location)
        );
    };
    moved("/chain/3", "/chain/2");
    moved("/chain/1", "/p");
    moved("/loop/1", "/loop/2");
    moved("/loop/2", "/loop/1");
    assert_eq!(get(&web, "a.test", "/chain/4").status(), 404);
}

#[test]
fn names_share_a_port_and_know_each_other() {
    let link = Page::html("{{b.test}}/x {{nobody}} {{ {{b.test}}");
    let web = Web::new()
        .site("a.test", Site::new().at("127.0.0.2").page("/", link))
        .site(
            "b.test",
            Site::new().at("127.0.0.2").page("/", Page::text("b")),
        )
        .site("*.c.test", Site::new().page("/", Page::text("wild")))
        .site(
            "127.0.0.1",
            Site::new().page("/", Page::redirect(301, "{{b.test}}/y")),
        )
        .start();
    assert_eq!(web.addr("a.test"), web.addr("b.test"));
    assert_ne!(web.addr("a.test").ip(), web.addr("x.c.test").ip());
    let b = format!("http://b.test:{}", web.addr("b.test").port());
    assert_eq!(web.url("b.test", "/z"), format!("{b}/z"));
    let body = format!("{b}/x {{{{nobody}}}} {{{{ {b}");
    assert_eq!(get(&web, "a.test", "/").body(), body.as_bytes());
    assert_eq!(get(&web, "b.test", "/").body(), b"b");
    assert_eq!(get(&web, "x.y.c.test", "/").body(), b"wild");
    assert_eq!(
        web.url("127.0.0.1", "/"),
        format!("http://{}/", web.addr("127.0.0.1"))
    );
    let location = get(&web, "127.0.0.1", "/").header("Location");
    assert_eq!(location, Some(format!("{b}/y")));
    let arguments = web.resolve_args();
    assert_eq!(arguments.len(), 2);
    assert_eq!(
        arguments[1],
        format!("b.test:{}:127.0.0.2", web.addr("b.test").port())
    );
}

#[test]
fn connections_are_kept_and_counted() {
    let site = Site::new()
        .page("/", Page::text("one"))
        .page("/bye", Page::text("two").close());
    let web = Web::new().site("a.test", site).start();
    let mut stream = connect(web.addr("a.test"));
    for _ in 0..2 {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: A.test:80\r\nX-Y:  z \r\n\r\n")
            .unwrap();
        let mut answer = vec![0; 82];
        stream.read_exact(&mut answer).unwrap();
        assert!(
            answer.ends_with(b"\r\n\r\none"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    stream
        .write_all(b"GET /bye HTTP/1.1\r\nHost: a.test\r\n\r\n")
        .unwrap();
    let answer = read_up_to(&mut stream, usize::MAX);
    assert_eq!(answer.header("Connection").as_deref(), Some("close"));
    get(&web, "a.test", "/?q");
    let log = web.log();
    assert_eq!(log.paths("a.test"), ["/", "/", "/bye", "/?q"]);
    assert_eq!(
        (log.count("/"), log.count("/?q"), log.connections()),
        (3, 1, 2)
    );
    assert_eq!(log[0].header("x-y"), Some("z"));
    assert_eq!((log[0].status, log[0].bytes_sent), (Some(200), 82));
    assert!(log.settled());
    assert_eq!(log.greatest_concurrency("a.test"), 1);
}

#[test]
fn the_referee_sees_concurrency_gaps_and_waits() {
    let site = Site::new()
        .at("127.0.0.3")
        .page("/", Page::text("x"))
        .page("/s", Reply::silence());
    let web = Web::new().site("a.test", site).start();
    let ip = web.addr("a.test").ip();
    let ask = |path: &str| {
        let mut stream = connect(web.addr("a.test"));
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
        stream
    };
    let first = ask("/s");
    let second = ask("/s");
    let patience = Duration::from_secs(10);
    assert!(web.wait_for(|log| log.len() == 2, patience));
    drop((first, second));
    assert!(web.wait_for(terrarium::Log::settled, patience));
    get(&web, "a.test", "/");
    let log = web.log();
    assert_eq!(
        (
            log.greatest_concurrency("a.test"),
            log.greatest_concurrency_at(ip)
        ),
        (2, 2)
    );
    assert_eq!(log[2].concurrent_for_host, 1);
    let gap = log[1].at - log[0].at;
    assert!(log.smallest_gap("a.test").unwrap() <= gap);
    assert_eq!(log.smallest_gap("a.test"), log.smallest_gap_at(ip));
    assert_eq!(log.smallest_gap("b.test"), None);
    assert_eq!(log.greatest_rate(patience), 3);
    assert_eq!(log.of("a.test").greatest_rate(Duration::from_nanos(1)), 1);
    assert!(!web.wait_for(|log| log.len() == 4, Duration::from_millis(5)));
}

#[test]
fn an_abandoned_request_is_no_load_for_the_next() {
    let site = Site::new()
        .page("/", Page::text("x"))
        .page("/s", Reply::silence());
    let web = Web::new().site("a.test", site).start();
    for round in 1..=50 {
        let mut stream = connect(web.addr("a.test"));
        stream
            .write_all(b"GET /s HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .unwrap();
        assert!(web.wait_for(|log| log.count("/s") == round, Duration::from_secs(10)));
        drop(stream);
        get(&web, "a.test", "/");
    }
    assert_eq!(web.log().greatest_concurrency("a.test"), 1);
}

#[test]
fn delays_are_kept() {
    let delay = Duration::from_millis(40);
    let site = Site::new()
        .delay(delay)
        .page("/", Page::text("x").delay(delay));
    let web = Web::new().site("a.test", site).start();
    let start = Instant::now();
    get(&web, "a.test", "/");
    assert!(start.elapsed() >= 2 * delay);
}

#[test]
fn dropping_the_web_frees_its_ports() {
    let web = Web::new()
        .site("a.test", Site::new().page("/s", Reply::silence()))
        .start();
    let address = web.addr("a.test");
    let mut stream = connect(address);
    stream.write_all(b"GET /s HTTP/1.1\r\n\r\n").unwrap();
    assert!(web.wait_for(|log| log.len() == 1, Duration::from_secs(10)));
    drop(web);
    assert_ne!(read_up_to(&mut stream, usize::MAX).end, End::StillOpen);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn a_web_lives_and_ends_inside_another_runtime() {
    let web = Web::new()
        .site("a.test", Site::new().page("/", Page::text("x")))
        .start();
    let address = web.addr("a.test");
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let ask = b"GET / HTTP/1.0\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, ask)
        .await
        .unwrap();
    let mut answer = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer)
        .await
        .unwrap();
    assert!(answer.ends_with(b"x"));
    let web = std::sync::Arc::new(web);
    let shared = std::sync::Arc::clone(&web);
    let seen = tokio::task::spawn_blocking(move || shared.log().count("/"))
        .await
        .unwrap();
    assert_eq!(seen, 1);
}
