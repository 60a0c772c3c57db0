//! Hosts in trouble: what they answer, and what their referees make of it.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use terrarium::trouble::{HOST, Order, Strain, Trouble};
use terrarium::{LiveWeb, Web};

use crate::client::{End, connect, get, read_up_to};

fn trouble(text: &str) -> Trouble {
    text.parse().expect("tests name troubles that there are")
}

#[test]
fn a_busy_host_refuses_what_is_too_much() {
    for (text, status, retry_after) in [
        ("busy:1", 503, None),
        ("busy:1:429", 429, None),
        ("busy:1:503:7", 503, Some("7")),
    ] {
        let web = trouble(text).mount(Web::new()).start();
        let answers: Vec<_> = (0..30).map(|_| get(&web, HOST, "/page/1")).collect();
        let refused: Vec<_> = answers
            .iter()
            .filter(|answer| answer.status() != 200)
            .collect();
        assert!(refused.len() >= 10, "{text}: {}", refused.len());
        for answer in &refused {
            assert_eq!(answer.status(), status);
            assert_eq!(answer.header("Retry-After").as_deref(), retry_after);
        }
        let strain = Strain::from_log(&web.log(), HOST);
        assert_eq!((strain.requests(), strain.refused()), (30, refused.len()));
        assert!(strain.refused_after(Duration::ZERO) > 33.0);
    }
}

/// Three requests at once for a host that needs a tenth of a second for each.
#[test]
fn a_slowing_host_serves_one_after_another() {
    let web = trouble("slowing:10").mount(Web::new()).start();
    let mut streams: Vec<TcpStream> = (0..3).map(|_| connect(web.addr(HOST))).collect();
    for stream in &mut streams {
        let request = format!("GET /page/1 HTTP/1.0\r\nHost: {HOST}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
    }
    for stream in &mut streams {
        assert_eq!(read_up_to(stream, usize::MAX).status(), 200);
    }
    let log = web.log();
    let first = log.iter().map(|hit| hit.at).min().unwrap();
    let last = log.iter().filter_map(|hit| hit.done_at).max().unwrap();
    assert!(last - first >= Duration::from_millis(300));
}

#[test]
fn a_host_resets_for_a_while() {
    let lasts = Duration::from_millis(200);
    let passing = Trouble::Resetting {
        after: 2,
        lasts,
        pages: 5,
    };
    let web = passing.mount(Web::new()).start();
    let mut ends = Vec::new();
    while ends.len() < 4 || ends.last() == Some(&End::Reset) {
        ends.push(get(&web, HOST, "/page/1").end);
    }
    let resets = ends.iter().filter(|end| **end == End::Reset).count();
    assert_eq!(&ends[..3], [End::Closed, End::Closed, End::Reset]);
    let log = web.log();
    let (begin, end) = passing.spell(&log).unwrap();
    assert_eq!(end - begin, lasts);
    let inside = log.iter().filter(|hit| hit.at >= begin && hit.at < end);
    assert_eq!(inside.count(), resets);
    assert_eq!(Strain::from_log(&log, HOST).refused(), resets);
}

/// Long enough for a test that is held up on a busy machine.
const DOWN: Duration = Duration::from_secs(3);

fn down(after: usize) -> Trouble {
    Trouble::Down {
        after,
        lasts: DOWN,
        pages: 5,
    }
}

/// Connections are refused, and then no longer.
fn assert_returns(web: &LiveWeb) {
    let mut refused = 0;
    while TcpStream::connect(web.addr(HOST)).is_err() {
        refused += 1;
        std::thread::yield_now();
    }
    assert!(refused > 0, "nobody listens");
    assert_eq!(get(web, HOST, "/page/1").status(), 200, "it is back");
}

#[test]
fn a_host_is_down_and_comes() {
    let web = down(0).mount(Web::new()).start();
    assert_returns(&web);
}

#[test]
fn a_host_goes_down_and_returns() {
    let web = down(1).mount(Web::new()).start();
    let mut kept = connect(web.addr(HOST));
    assert_eq!(get(&web, HOST, "/").status(), 200);
    assert_eq!(read_up_to(&mut kept, usize::MAX).bytes, b"", "it is cut");
    assert_returns(&web);
    let log = web.log();
    let (begin, end) = down(1).spell(&log).unwrap();
    assert_eq!(end - begin, DOWN);
    assert!(log.last().unwrap().at >= end);
}

#[test]
fn pages_fail_as_they_are_told() {
    for (text, good, failing) in [
        ("failing:5", 1_430..=1_460, 65..=95),
        ("failing:1", 1_480..=1_495, 6..=24),
        ("failing-first:20", 201..=201, 20..=20),
        ("one-busy", 201..=201, 1..=1),
        ("one-busy:429:31536000", 201..=201, 1..=1),
    ] {
        let trouble = trouble(text);
        assert!(
            good.contains(&trouble.good().len()),
            "{text} {}",
            trouble.good().len()
        );
        assert!(
            failing.contains(&trouble.failing().len()),
            "{text} {}",
            trouble.failing().len()
        );
        let web = trouble.mount(Web::new()).start();
        for (host, path) in trouble.failing().iter().take(3) {
            for _ in 0..2 {
                assert!(get(&web, host, path).status() >= 429, "{text} {path}");
            }
        }
        for (host, path) in trouble.good().iter().take(3) {
            assert_eq!(get(&web, host, path).status(), 200, "{text} {path}");
        }
        let home = get(&web, HOST, "/").text();
        let places = [trouble.good(), trouble.failing()].concat();
        for (_, path) in places.iter().filter(|(_, path)| path != "/") {
            assert!(home.contains(&format!("\"{path}\"")), "{text} {path}");
        }
    }
}

#[test]
fn passing_errors_pass() {
    let trouble = trouble("passing:2");
    let web = trouble.mount(Web::new()).start();
    let mut failed = 0;
    for (host, path) in trouble.good() {
        if get(&web, &host, &path).status() >= 500 {
            failed += 1;
            assert_eq!(get(&web, &host, &path).status(), 200, "{host}{path}");
        }
    }
    assert!((15..=60).contains(&failed), "{failed} of 800");
    let order = Order::from_log(&trouble, &web.log());
    assert_eq!(
        (order.good, order.retries, order.most_tries),
        (802, failed, 2)
    );
}

#[test]
fn the_order_tells_fresh_pages_from_tries() {
    let trouble = Trouble::FailingFirst {
        failing: 2,
        good: 2,
    };
    let web = trouble.mount(Web::new()).start();
    for path in [
        "/robots.txt",
        "/",
        "/page/0",
        "/page/0",
        "/page/0",
        "/page/2",
    ] {
        get(&web, HOST, path);
    }
    let half = Order::from_log(&trouble, &web.log());
    assert_eq!((half.requests, half.good, half.last_good), (5, 2, 5));
    assert_eq!(
        (half.retries, half.last_retry, half.longest_bundle),
        (2, Some(4), 2)
    );
    for path in [
        "/page/1", "/page/3", "/page/1", "/page/1", "/page/1", "/page/1",
    ] {
        get(&web, HOST, path);
    }
    let whole = Order::from_log(&trouble, &web.log());
    assert_eq!((whole.requests, whole.good, whole.last_good), (11, 3, 7));
    assert_eq!((whole.retries, whole.last_retry), (6, Some(11)));
    // The tries at the end hold nobody up.
    assert_eq!((whole.longest_bundle, whole.most_tries), (2, 5));
}

#[test]
fn silent_hosts_stand_first_in_the_list() {
    for text in ["silent:2", "dripping:2"] {
        let web = trouble(text).mount(Web::new()).start();
        let home = get(&web, HOST, "/").text();
        let silent = home.find(&web.url("mute1.test", "/")).unwrap();
        assert!(silent < home.find("/page/0").unwrap(), "{text}");
        assert_eq!(get(&web, HOST, "/page/299").status(), 200);
        let mut stream = connect(web.addr("mute1.test"));
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let limit = Duration::from_millis(5);
        stream.set_read_timeout(Some(limit)).unwrap();
        let mut portion = [0; 64];
        let count = std::io::Read::read(&mut stream, &mut portion).unwrap_or(0);
        assert!(count <= 1, "{text}: {count}");
    }
    let roots = trouble("silent-root").roots();
    assert_eq!(roots.len(), 2);
}
