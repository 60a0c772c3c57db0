use super::draw::visible_width;
use super::render::{line, render};
use super::*;

fn busy() -> Snapshot {
    Snapshot {
        elapsed: Duration::from_secs(83),
        done: 12_345,
        queued: 6_789_000,
        in_flight: 4,
        pages_per_second: 9.84,
        bytes_per_second: 1_234_567.0,
        memory_bytes: 123_456_789,
        failed: 12,
        broken: 15,
        empty_pages: 0,
        eta: Some(Duration::from_mins(125)),
        waiting: Some("held to 10/s by politeness; your own site? --speed fast".to_owned()),
        hosts_active: 2,
        fleet: None,
        last_url: Some("https://example.com/\u{1b}[2J/evil".to_owned()),
    }
}

#[test]
fn a_block_without_colour() {
    let expected = [
        "────────────────────────────────────────────────   about 2h05m left",
        "12,345 done   6,789,000 queued   4 in flight to 2 hosts   15 broken (12 failed)   1m23s",
        "9.8 pages/s   1.2 MB/s   123 MB memory",
        r"https://example.com/\x1b[2J/evil",
        "held to 10/s by politeness; your own site? --speed fast",
    ];
    assert_eq!(render(&busy(), 100, false), expected);
}

#[test]
fn a_line_for_logs() {
    let expected = "1m23s  12,345 done, 6,789,000 queued, 4 in flight to 2 hosts, 9.8 pages/s, \
                    1.2 MB/s, 15 broken (12 failed), about 2h05m left, held to 10/s by politeness; \
                    your own site? --speed fast";
    assert_eq!(line(&busy()), expected);
}

#[test]
fn the_first_moment() {
    let expected = [
        "────────────────────────────────────────────────",
        "0 done   0 queued   0 in flight   0s",
        "0.0 pages/s   0 B/s",
    ];
    assert_eq!(render(&Snapshot::default(), 80, false), expected);
}

#[test]
fn the_bar_is_the_share_of_what_is_known() {
    let check = |done, queued, expected: &str| {
        let snapshot = Snapshot {
            done,
            queued,
            ..Snapshot::default()
        };
        assert_eq!(render(&snapshot, 14, false)[0], expected);
    };
    check(0, 9, "──────────");
    check(3, 7, "━━━───────");
    check(999_999, 1, "━━━━━━━━━─");
    check(5, 0, "━━━━━━━━━━");
    check(u64::MAX / 2, 1, "━━━━━━━━━━");
}

#[test]
fn colour_changes_no_width_and_no_line_is_too_wide() {
    for width in [0, 5, 20, 40, 79, 200] {
        let plain = render(&busy(), width, false);
        let coloured = render(&busy(), width, true);
        for (plain, coloured) in plain.iter().zip(&coloured) {
            assert_eq!(
                visible_width(plain),
                visible_width(coloured),
                "{coloured:?}"
            );
            assert!(visible_width(plain) < width.max(10), "{plain:?} in {width}");
        }
        assert!(coloured.concat().contains("\x1b[1m"));
    }
}

#[test]
fn pages_that_look_empty_without_a_browser_are_told_while_the_crawl_runs() {
    for (empty_pages, told) in [
        (1, "1 page looks empty without JavaScript: try --render"),
        (
            1200,
            "1,200 pages look empty without JavaScript: try --render",
        ),
    ] {
        let snapshot = Snapshot {
            empty_pages,
            ..busy()
        };
        assert_eq!(render(&snapshot, 80, false)[3], told);
        assert!(line(&snapshot).contains(told), "{}", line(&snapshot));
    }
    assert!(!line(&busy()).contains("JavaScript"));
}

#[test]
fn a_worker_shows_its_fleet() {
    let snapshot = Snapshot {
        fleet: Some("fleet of 4: 12,345 done, 678 queued".to_owned()),
        ..busy()
    };
    let shown = render(&snapshot, 80, false);
    assert_eq!(shown[3], "fleet of 4: 12,345 done, 678 queued");
    assert!(line(&snapshot).contains("fleet of 4"));
}
