//! Answers that lie about their size, never end, never begin, drip, break off or expand.

use std::time::Duration;

use terrarium::{BadChunk, Coding, Door, Fault, Page, Reply, Site, Step, Web, encode};

use crate::trial::{Case, beside, check, config, run};

/// Large enough for every good page, small enough for quick tests.
const LARGEST_BODY: u64 = 256 * 1024;

#[test]
fn bombs_are_cut_at_the_size_limit() {
    let bomb = |coding| Page::bomb(coding, 256).into();
    let capped = "fetched 200 truncated";
    let thrice = |body: Vec<u8>| encode(Coding::Gzip, &encode(Coding::Gzip, &body));
    let nested = Page::bytes("text/html", thrice(terrarium::bomb(Coding::Gzip, 64)));
    let nested = nested.header("Content-Encoding", "gzip, gzip, gzip");
    let cases: Vec<Case> = vec![
        ("gzip", bomb(Coding::Gzip), capped),
        ("deflate", bomb(Coding::Deflate), capped),
        ("raw deflate", bomb(Coding::RawDeflate), capped),
        ("brotli", bomb(Coding::Brotli), capped),
        ("zstd", bomb(Coding::Zstd), capped),
        ("gzip three times", nested.verbatim().into(), capped),
    ];
    let (_, verdict) = check(cases, |config| config.fetch.max_body = LARGEST_BODY);
    for record in verdict.records.values().filter(|record| record.truncated) {
        assert_eq!(record.body_bytes, LARGEST_BODY, "{:?}", record.url);
    }
}

#[test]
fn codings_that_ask_too_much_are_refused() {
    let coded = |names: &str, body: Vec<u8>| -> Reply {
        let page = Page::bytes("text/html", body).header("Content-Encoding", names);
        page.verbatim().into()
    };
    let fifty = ["gzip"; 50].join(", ");
    let refused = "failed decode";
    let cases: Vec<Case> = vec![
        (
            "window of 2 GiB",
            coded("zstd", terrarium::zstd_bomb(1, 31)),
            refused,
        ),
        (
            "fifty codings",
            coded(&fifty, vec![0x1f, 0x8b, 8, 0]),
            refused,
        ),
        // A word that nobody registered changes nothing, as in browsers.
        (
            "no such coding",
            coded("rot13", b"uryyb".to_vec()),
            "fetched 200",
        ),
        (
            "no gzip at all",
            coded("gzip", b"<p>plain text</p>".to_vec()),
            "fetched 200",
        ),
        ("corrupt brotli", coded("br", vec![0xff; 64]), refused),
    ];
    check(cases, |_| {});
}

#[test]
fn endless_and_contradictory_answers_end() {
    let too_large = "failed headers-too-large";
    let cases: Vec<Case> = vec![
        (
            "endless body",
            Reply::endless_body(),
            "fetched 200 truncated",
        ),
        ("endless headers", Reply::endless_headers(), too_large),
        ("one huge header", Reply::huge_header(1 << 20), too_large),
        ("many headers", Reply::many_headers(100_000), too_large),
        (
            "endless interim answers",
            Reply::informational(u64::MAX),
            "failed protocol",
        ),
        (
            "some interim answers",
            Reply::informational(3),
            "fetched 200",
        ),
        (
            "length of an exabyte",
            Reply::claimed_length("1000000000000000000", "x"),
            "failed incomplete",
        ),
        (
            "length beyond numbers",
            Reply::claimed_length("99999999999999999999999", "x"),
            "failed protocol",
        ),
        (
            "negative length",
            Reply::claimed_length("-5", "hello"),
            "failed protocol",
        ),
        (
            "lengths that disagree",
            Reply::two_lengths(5, 6),
            "failed protocol",
        ),
        (
            "lengths that agree",
            Reply::claimed_length("5, 5", "hello"),
            "fetched 200",
        ),
        (
            "no HTTP at all",
            Reply::raw("SSH-2.0-OpenSSH_9.6\r\n"),
            "failed protocol",
        ),
        (
            "an unasked switch",
            Reply::raw("HTTP/1.1 101 Switching\r\n\r\n"),
            "failed protocol",
        ),
        (
            "a coding of transfer",
            Reply::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
            "failed protocol",
        ),
    ];
    check(cases, |config| config.fetch.max_body = LARGEST_BODY);
}

#[test]
fn bad_chunks_end() {
    let bad = |fault| Reply::bad_chunk(fault);
    let cases: Vec<Case> = vec![
        ("overflow", bad(BadChunk::Overflow), "failed protocol"),
        ("negative", bad(BadChunk::Negative), "failed protocol"),
        (
            "not hexadecimal",
            bad(BadChunk::NotHexadecimal),
            "failed protocol",
        ),
        ("empty size", bad(BadChunk::Empty), "failed protocol"),
        ("too long", bad(BadChunk::TooLong), "failed protocol"),
        ("cut short", bad(BadChunk::CutShort), "failed incomplete"),
        (
            "no last chunk",
            bad(BadChunk::NoLastChunk),
            "failed incomplete",
        ),
        (
            "endless extension",
            bad(BadChunk::EndlessExtension),
            "failed protocol",
        ),
        (
            "endless trailers",
            bad(BadChunk::EndlessTrailers),
            "failed headers-too-large",
        ),
    ];
    check(cases, |_| {});
}

#[test]
fn stalls_and_drips_time_out_and_are_tried_again() {
    let late = "<a href=/late>too late</a>".repeat(100);
    let slow = Duration::from_millis(50);
    let cases: Vec<Case> = vec![
        ("silence", Reply::silence(), "failed timeout"),
        (
            "stalled body",
            Page::html(late.clone()).stall_after(2000).into(),
            "failed timeout",
        ),
        (
            "dripping body",
            Page::html(late.clone()).drip(30, slow).into(),
            "failed timeout",
        ),
        (
            "dripping head",
            Page::html(late).drip_head(1, slow).into(),
            "failed timeout",
        ),
        (
            "late but whole",
            Page::html("x").delay(slow).into(),
            "fetched 200",
        ),
    ];
    let (web, verdict) = check(cases, |config| {
        config.fetch.timeout = Duration::from_secs(1);
    });
    assert_eq!(web.log().count("/late"), 0, "half a page has no links");
    for record in verdict
        .records
        .values()
        .filter(|record| record.failure.is_some())
    {
        assert_eq!(record.tries, 2, "{:?}", record.url);
    }
}

#[test]
fn broken_connections_are_tried_again_and_never_taken_for_whole() {
    let cut = || Page::html("<a href=/half>half a page</a>".repeat(100));
    let cases: Vec<Case> = vec![
        (
            "reset in the body",
            cut().reset_after(1000).into(),
            "failed incomplete",
        ),
        (
            "closed in the body",
            cut().close_after(1000).into(),
            "failed incomplete",
        ),
        (
            "closed in a chunk",
            cut().chunked(300).close_after(1000).into(),
            "failed incomplete",
        ),
        ("reset at once", Reply::reset(), "failed reset"),
        ("closed at once", Reply::hang_up(), "failed reset"),
        (
            "half a head",
            Reply::script([Step::send("HTTP/1.1 200 OK\r\nServ"), Step::Close]),
            "failed incomplete",
        ),
        (
            "reset once",
            Reply::flaky(1, Fault::Reset, Page::html("x")),
            "fetched 200",
        ),
        (
            "closed once",
            Reply::flaky(1, Fault::HangUp, Page::html("x")),
            "fetched 200",
        ),
    ];
    let (web, verdict) = check(cases, |_| {});
    assert_eq!(web.log().count("/half"), 0, "half a page has no links");
    let bad = verdict
        .records
        .values()
        .filter(|record| record.url.path() == "/bad");
    for record in bad {
        // A connection that was used before and is closed unasked is replaced within a try, so
        // whether a fault that passes costs one depends on which connection met it.
        let fewest = if record.failure.is_some() { 2 } else { 1 };
        let tries = fewest..=2;
        assert!(tries.contains(&record.tries), "{:?}", record.url);
        let asked = web.log().of(record.url.host()).count("/bad");
        assert!(asked >= 2, "{:?} was asked {asked} times", record.url);
    }
}

#[test]
fn closed_doors_cost_their_own_host_only() {
    let doors = [
        ("silent.test", Door::Silent, "failed timeout"),
        // Whether the reset comes before or after the end of the handshake is a race.
        ("reset.test", Door::Reset, "failed reset|failed connect"),
        ("refused.test", Door::Refused, "failed connect"),
    ];
    let mut web = Web::new().site("good.test", beside([]));
    for (name, door, _) in doors {
        web = web.site(name, Site::new().door(door));
    }
    let stalled = Site::new().tls().door(Door::Silent);
    let web = web.site("handshake.test", stalled).start();
    let mut roots = vec![
        web.url("good.test", "/"),
        web.tls_url("handshake.test", "/"),
    ];
    roots.extend(doors.iter().map(|(name, ..)| web.url(name, "/")));
    roots.push("http://nowhere.test/".into());
    let mut config = config(&web, &roots);
    config.fetch.timeout = Duration::from_secs(1);
    config.fetch.connect_timeout = Duration::from_secs(1);
    config.scope.robots = false;
    let verdict = run(clewline::Crawl::from_config(config));
    verdict.assert_good(&web, "good.test");
    for (name, _, expected) in doors {
        let outcome = verdict.outcome(&web.url(name, "/"));
        assert!(
            expected.split('|').any(|one| one == outcome),
            "{name}: {outcome}"
        );
    }
    let handshake = verdict.record(&roots[1]);
    assert_eq!(crate::trial::outcome(handshake), "failed tls");
    assert!(
        handshake
            .error
            .as_deref()
            .is_some_and(|text| text.contains("too long"))
    );
    assert_eq!(
        verdict.outcome("http://nowhere.test/"),
        "failed dns-not-found"
    );
}

/// Every reuse of a connection finds it closed, which costs no try.
#[test]
fn stale_connections_are_redone_silently() {
    let paths: Vec<String> = (0..30).map(|number| format!("/page/{number}")).collect();
    let front = Page::html(terrarium::links(&paths));
    let site = Site::new().page("/", front).idle_close(Duration::ZERO);
    let site = paths
        .iter()
        .fold(site, |site, path| site.page(path, Page::html("x")));
    let web = Web::new().site("a.test", site).start();
    let verdict = crate::trial::crawl(&web, &web.url("a.test", "/"), |config| {
        config.limits.tries = 1;
        config.politeness.host_concurrency = Some(2);
    });
    for path in &paths {
        assert_eq!(verdict.outcome(&web.url("a.test", path)), "fetched 200");
    }
}

/// Pages that the server hangs up on stand in nobody's way: the others are asked in between,
/// and their answers show that the host is well.
#[test]
fn pages_that_always_fail_do_not_end_their_host() {
    let bad = ["/bad/1", "/bad/2", "/bad/3"];
    let site = bad
        .iter()
        .fold(beside(bad), |site, path| site.page(path, Reply::reset()));
    let web = Web::new().site("a.test", site).start();
    let verdict = crate::trial::crawl(&web, &web.url("a.test", "/"), |config| {
        config.politeness.host_concurrency = Some(1);
        config.limits.host_failures = 4;
    });
    verdict.assert_good(&web, "a.test");
    for path in bad {
        assert_eq!(verdict.outcome(&web.url("a.test", path)), "failed reset");
    }
}

/// So do links to ports where nobody listens.
#[test]
fn dead_ports_do_not_end_their_host() {
    let web = Web::new()
        .site("a.test", beside([]).at("127.0.0.2"))
        .site(
            "dead1.test",
            Site::new().at("127.0.0.2").door(Door::Refused).own_port(),
        )
        .site(
            "dead2.test",
            Site::new().at("127.0.0.2").door(Door::Refused).own_port(),
        )
        .site(
            "dead3.test",
            Site::new().at("127.0.0.2").door(Door::Refused).own_port(),
        )
        .start();
    let dead = ["dead1.test", "dead2.test", "dead3.test"];
    let dead = dead.map(|site| format!("http://a.test:{}/", web.addr(site).port()));
    let good = ["/good/1", "/good/2", "/good/3", "/good/4"];
    let links = dead.iter().map(String::as_str).chain(good);
    web.put("a.test", "/", Page::html(terrarium::links(links)));
    let verdict = crate::trial::crawl(&web, &web.url("a.test", "/"), |config| {
        config.politeness.host_concurrency = Some(1);
        config.limits.host_failures = 4;
    });
    verdict.assert_good(&web, "a.test");
    for url in &dead {
        assert_eq!(verdict.outcome(url), "failed connect");
    }
}
