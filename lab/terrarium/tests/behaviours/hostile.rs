//! Replies that go wrong in every named way.

use std::io::Write;
use std::time::{Duration, Instant};

use terrarium::{BadChunk, Fault, Page, Reply, Site, Step, Web};

use crate::client::{Answer, End, ask, connect, get, read_up_to};

/// Serves one reply and reads up to `limit` bytes of it.
fn seen(reply: impl Into<Reply>, limit: usize) -> Answer {
    let web = Web::new()
        .site("a.test", Site::new().page("/", reply))
        .start();
    ask(&web, "a.test", "/", limit)
}

#[test]
fn breaks_come_where_they_should() {
    let page = || Page::bare("0123456789").header("X", "y");
    let check = |reply: Reply, body: &str, end: End| {
        let answer = seen(reply, usize::MAX);
        assert_eq!(
            (String::from_utf8_lossy(answer.body()).as_ref(), answer.end),
            (body, end)
        );
    };
    check(page().close_after(4).into(), "0123", End::Closed);
    check(page().reset_after(4).into(), "0123", End::Reset);
    check(page().close_after(99).into(), "0123456789", End::Closed);
    check(Reply::reset(), "", End::Reset);
    check(Reply::hang_up(), "", End::Closed);
    check(Reply::raw("no http at all"), "", End::Closed);
    assert_eq!(
        seen(Reply::raw([0, 255, 10]), usize::MAX).bytes,
        [0, 255, 10]
    );
}

#[test]
fn a_stall_lasts_until_the_client_goes() {
    let page = Page::bare("0123456789").stall_after(4);
    let web = Web::new()
        .site("a.test", Site::new().page("/", page))
        .start();
    let head_and_four =
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n".len() + 4;
    let mut stream = connect(web.addr("a.test"));
    stream
        .write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        .unwrap();
    let answer = read_up_to(&mut stream, head_and_four);
    assert_eq!(answer.body(), b"0123");
    stream
        .set_read_timeout(Some(Duration::from_millis(5)))
        .unwrap();
    assert!(std::io::Read::read(&mut stream, &mut [0]).is_err());
    assert!(!web.log().settled());
    drop(stream);
    assert!(web.wait_for(terrarium::Log::settled, Duration::from_secs(10)));
    assert_eq!(web.log()[0].bytes_sent, head_and_four as u64);
}

#[test]
fn drips_take_their_time() {
    let every = Duration::from_millis(4);
    let check = |page: Page, pauses: u32| {
        let start = Instant::now();
        let answer = seen(page, usize::MAX);
        assert_eq!(answer.body(), b"0123456789");
        assert!(start.elapsed() >= every * pauses);
    };
    check(Page::bare("0123456789").drip(2, every), 4);
    // Status line, length and close make 57 bytes of head.
    check(Page::bare("0123456789").drip_head(10, every), 5);
}

#[test]
fn endless_replies_do_not_end() {
    let limit = 1 << 20;
    let check = |reply: Reply, sign: &str| {
        let answer = seen(reply, limit);
        assert_eq!(answer.end, End::StillOpen);
        assert!(answer.text().matches(sign).count() > 1000, "{sign}");
    };
    check(Reply::endless_body(), "<p>and so on</p>");
    check(Reply::endless_headers(), "\r\nX-More: and more");
    check(Reply::informational(u64::MAX), "HTTP/1.1 103");
    check(Reply::bad_chunk(BadChunk::EndlessExtension), "name=value;");
    check(
        Reply::bad_chunk(BadChunk::EndlessTrailers),
        "X-Late: trailer\r\n",
    );
}

#[test]
fn large_heads_are_as_large_as_asked() {
    let huge = seen(Reply::huge_header(100_000), usize::MAX).text();
    assert!(huge.lines().any(|line| line.len() == 100_000));
    let many = seen(Reply::many_headers(5000), usize::MAX).text();
    assert_eq!(many.matches("X-N: 1\r\n").count(), 5000);
    let hints = seen(Reply::informational(3), usize::MAX).text();
    assert_eq!(hints.matches(" 103 ").count(), 3);
    assert!(hints.ends_with("\r\n\r\nok"));
}

#[test]
fn framing_can_be_right_odd_and_wrong() {
    let body_of = |reply: Reply| {
        let answer = seen(reply, usize::MAX);
        String::from_utf8_lossy(answer.body()).into_owned()
    };
    let chunked = Page::bare("hello world").chunked(8);
    assert_eq!(
        body_of(chunked.clone().into()),
        "8\r\nhello wo\r\n3\r\nrld\r\n0\r\n\r\n"
    );
    let odd = chunked.chunk_extension(";a=b").trailer("X-T", "1");
    assert_eq!(
        body_of(odd.into()),
        "8;a=b\r\nhello wo\r\n3;a=b\r\nrld\r\n0\r\nX-T: 1\r\n\r\n"
    );
    let until_close = seen(Page::bare("x").until_close(), usize::MAX);
    assert_eq!(
        (until_close.header("Content-Length"), until_close.body()),
        (None, &b"x"[..])
    );
    let two = seen(Reply::two_lengths(3, 7), usize::MAX).text();
    assert!(two.ends_with("Content-Length: 3\r\nContent-Length: 7\r\n\r\nxxx"));
    let own = Page::bare("abc")
        .header("Content-Length", "1")
        .header("content-length", "2");
    assert_eq!(
        seen(own, usize::MAX)
            .text()
            .to_lowercase()
            .matches("content-length")
            .count(),
        2
    );
    let claimed = seen(Reply::claimed_length("-1", "x"), usize::MAX);
    assert_eq!(claimed.header("Content-Length").as_deref(), Some("-1"));
    assert_eq!(body_of(Reply::chunks("1\r\nx")), "1\r\nx");
    for (fault, wire) in [
        (BadChunk::Overflow, "FFFFFFFFFFFFFFFFF\r\nx\r\n0\r\n\r\n"),
        (BadChunk::Negative, "-5\r\nhello\r\n0\r\n\r\n"),
        (BadChunk::TooLong, "2\r\nhello\r\n0\r\n\r\n"),
        (BadChunk::CutShort, "ff\r\nhello"),
    ] {
        assert_eq!(
            body_of(Reply::bad_chunk(fault)),
            format!("6\r\n<p>one\r\n{wire}")
        );
    }
    assert_eq!(
        seen(Page::empty(304), usize::MAX).header("Content-Length"),
        None
    );
}

#[test]
fn replies_change_with_the_count_and_the_cookie() {
    let site = Site::new()
        .page(
            "/flaky",
            Reply::flaky(2, Fault::Reset, Page::text("at last")),
        )
        .page(
            "/busy",
            Reply::flaky(1, Fault::Status(503), Page::text("at last")),
        )
        .page("/later", Page::retry_after(429, "120"))
        .page("/wall", Reply::cookie_wall("pass", Page::text("inside")))
        .page("/put", Page::text("old"));
    let web = Web::new().site("a.test", site).start();
    let ends: Vec<End> = (0..3).map(|_| get(&web, "a.test", "/flaky").end).collect();
    assert_eq!(ends, [End::Reset, End::Reset, End::Closed]);
    let statuses: Vec<u16> = (0..3)
        .map(|_| get(&web, "a.test", "/busy").status())
        .collect();
    assert_eq!(statuses, [503, 200, 200]);
    let later = get(&web, "a.test", "/later");
    assert_eq!(
        (later.status(), later.header("Retry-After").as_deref()),
        (429, Some("120"))
    );
    let wall = get(&web, "a.test", "/wall?x");
    assert_eq!(
        (wall.status(), wall.header("Location").as_deref()),
        (302, Some("/wall?x"))
    );
    let cookie = wall.header("Set-Cookie").unwrap();
    let mut stream = connect(web.addr("a.test"));
    let cookie = cookie.split(';').next().unwrap();
    write!(
        stream,
        "GET /wall HTTP/1.0\r\nCookie: a=b; {cookie}\r\n\r\n"
    )
    .unwrap();
    assert_eq!(read_up_to(&mut stream, usize::MAX).body(), b"inside");
    web.put("a.test", "/put", Page::text("new"));
    assert_eq!(get(&web, "a.test", "/put").body(), b"new");
}

#[test]
fn bad_clients_do_no_harm() {
    let site = Site::new()
        .page("/", Page::text("x"))
        .under("/panic", |_| panic!("on purpose"));
    let web = Web::new().site("a.test", site).start();
    let check = |request: &[u8], status: u16| {
        let mut stream = connect(web.addr("a.test"));
        let _ = stream.write_all(request);
        assert_eq!(read_up_to(&mut stream, usize::MAX).status(), status);
    };
    check(b"garbage\r\n\r\n", 400);
    check(b"\xff\xfe / HTTP/1.0\r\n\r\n", 200);
    check(b"GET / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", 200);
    check(
        &[b"GET / HTTP/1.0\r\nX: ", &vec![b'x'; 300_000][..]].concat(),
        431,
    );
    check(b"GET /panic HTTP/1.0\r\n\r\n", 0);
    assert_eq!(web.log()[0].target, "garbage");
    assert_eq!(get(&web, "a.test", "/").body(), b"x");
    assert!(web.log().settled());
}

#[test]
fn scripts_play_in_order() {
    let wait = Duration::from_millis(10);
    let script = [
        Step::send("a"),
        Step::Wait(wait),
        Step::send("b"),
        Step::Cut,
        Step::send("c"),
    ];
    let start = Instant::now();
    let answer = seen(Reply::script(script), usize::MAX);
    assert_eq!((answer.bytes, answer.end), (b"ab".to_vec(), End::Closed));
    assert!(start.elapsed() >= wait);
}
