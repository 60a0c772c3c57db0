//! What an archive costs in memory: nothing that grows with it.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use terrarium::{Page, Site, numbered_links};

use crate::place::{HOST, Place, web_of};

/// Pages of the smaller crawl; the larger one has four times as many.
const PAGES: usize = 2_400;
/// Words of a page: about 20 KB, and no two pages have the same.
const WORDS: usize = 2_000;
/// How long a crawl may take; only a hang takes longer.
const PATIENCE: Duration = Duration::from_mins(5);
/// Time between two looks at a crawl. What it had at most is kept by the system.
const GLANCE: Duration = Duration::from_millis(5);

fn site(pages: usize) -> Site {
    Site::new()
        .page("/", Page::html(numbered_links("/p/", pages)))
        .under("/p/", |request| {
            let number: u64 = request.target()[3..].parse().unwrap_or(0);
            let mut state = number + 1;
            let mut text = String::new();
            for _ in 0..WORDS {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                write!(text, "{:09x} ", state >> 28).unwrap();
            }
            Page::html(text).into()
        })
}

/// The most memory that a crawl ever had, in bytes, and how large its archive is.
fn crawl(pages: usize) -> (u64, u64) {
    let web = web_of(site(pages));
    let place = Place::new();
    let root = web.url(HOST, "/");
    // With little memory both crawls use what they may while the archive is behind.
    let line = [
        &root,
        "-q",
        "--no-sitemaps",
        "-o",
        "job",
        "--speed",
        "max",
        "--memory",
        "64M",
    ];
    let mut child = place
        .command(&line)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let began = Instant::now();
    let status = loop {
        peak = peak.max(peak_of(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < PATIENCE, "the crawl does not end");
        web.wait_for(|_| false, GLANCE);
    };
    assert!(status.success(), "{status}");
    let names = place.names("job/archive");
    let sizes = names.iter().map(|name| {
        let path = place.path("job/archive").join(name);
        fs::metadata(path).unwrap().len()
    });
    (peak, sizes.sum())
}

/// The most memory that a process ever had; nothing if it has ended.
fn peak_of(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = peak.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[test]
fn memory_does_not_grow_with_the_archive() {
    let (small, little) = crawl(PAGES);
    let (large, much) = crawl(4 * PAGES);
    eprintln!("{little} bytes of archive with a peak of {small}, {much} with {large}");
    assert!(much > 3 * little && much - little > 40_000_000, "{much}");
    // What is remembered of each payload takes a few hundred bytes, up to a bound.
    let grown = large.saturating_sub(small);
    assert!(grown < (much - little) / 3, "it grew by {grown}");
}
