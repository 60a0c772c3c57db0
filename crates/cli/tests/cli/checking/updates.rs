//! What is kept between two checks of a site changes nothing of what is found.

use std::fmt::Write as _;
use std::fs;
use std::sync::{Arc, Mutex};

use mutate::Dice;
use terrarium::{Page, Reply, Request, Site};

use super::inputs::{check, job_of};
use crate::place::{HOST, Place, web_of};

/// Pages of the site.
const PAGES: usize = 24;
/// Checks of one site, with edits between.
const ROUNDS: usize = 5;

/// What can be edited of a page.
#[derive(Clone, Copy, Default)]
struct State {
    version: u64,
    is_gone: bool,
    is_framed: bool,
}

type States = Arc<Mutex<[State; PAGES]>>;

/// A page that changes with its state: what it links to, its parts, its title and its head.
fn page(request: &Request, states: &States) -> Reply {
    let number = match request.path() {
        "/" => Some(0),
        path => path.strip_prefix("/p/").and_then(|text| text.parse().ok()),
    };
    let Some(number) = number.filter(|number| *number < PAGES) else {
        return Page::html("<title>Not found</title>").status(404).into();
    };
    let state = states.lock().unwrap()[number];
    if state.is_gone {
        return Page::html("<title>Gone</title>").status(410).into();
    }
    // A third of the pages cannot say that they did not change.
    let tag = (!number.is_multiple_of(3))
        .then(|| format!("\"{number}-{}-{}\"", state.version, state.is_framed));
    let is_known = tag.is_some() && request.header("if-none-match") == tag.as_deref();
    let mut page = if is_known {
        Page::html("").status(304)
    } else {
        Page::html(body(number, state.version))
    };
    if let Some(tag) = tag {
        page = page.header("ETag", tag.as_str());
    }
    if state.is_framed {
        page = page.header("X-Frame-Options", "DENY");
    }
    page.into()
}

fn body(number: usize, version: u64) -> String {
    let mut body = format!(
        "<!doctype html><html lang=en><title>Page {}</title><p id=\"part-{}\">words</p>",
        number as u64 + version % 3,
        version % 2
    );
    // Some say what may be done with them, and some have links that only other settings find.
    let _ = match (number as u64 + version + 3) % 5 {
        0 => writeln!(body, "<meta name=robots content='noindex, nofollow'>"),
        1 => writeln!(
            body,
            "<link rel=canonical href=/p/1><a href=/p/2 rel=nofollow>n</a>"
        ),
        2 => writeln!(body, "<script>const next = '/s/{number}';</script>"),
        3 => writeln!(body, "<svg><style>a{{b:url(/p/{number})}}</style></svg>"),
        _ => Ok(()),
    };
    for below in [2 * number + 1, 2 * number + 2] {
        let _ = writeln!(body, "<a href=\"/p/{below}\">below</a>");
    }
    // Some lead beyond the last page, and some to parts that come and go.
    let other = (number * 7 + version as usize * 5) % (PAGES + 4);
    let _ = writeln!(
        body,
        "<a href=\"/p/{other}#part-1\">other</a><img src=/p/{other}>"
    );
    body
}

#[test]
fn a_check_after_edits_finds_what_one_from_the_beginning_finds() {
    for seed in [1, 2] {
        let states = States::default();
        let served = Arc::clone(&states);
        let web = web_of(Site::new().under("/", move |request: &Request| page(request, &served)));
        let (place, root, job) = (Place::new(), web.url(HOST, "/"), job_of(&web));
        let facts = place.path(&job).join("check/facts");
        let mut dice = Dice(seed);
        let mut before_last = None;
        for round in 0..ROUNDS {
            let last = fs::read(&facts).ok();
            // A check that was killed leaves facts of an older crawl.
            if let Some(older) = before_last.filter(|_| round == 3) {
                fs::write(&facts, older).unwrap();
            }
            // Links that were found with other settings do not count, and are found anew.
            let words: &[&str] = match round {
                2 => &["--script-links", &root],
                _ => &[&root],
            };
            let (ran, updated) = check(&place, words);
            assert!(ran.code <= 1, "{}", ran.talk);
            let fresh = format!("fresh-{round}");
            let (_, anew) = check(&place, &[words, &["--output", &fresh]].concat());
            assert_eq!(
                updated, anew,
                "a crawl of its own: seed {seed}, round {round}"
            );
            let kept = fs::read(&facts).unwrap();
            fs::remove_file(&facts).unwrap();
            let (_, whole) = check(&place, &[&job]);
            assert_eq!(updated, whole, "seed {seed}, round {round}");
            let is_same = kept == fs::read(&facts).unwrap();
            assert!(is_same, "other facts: seed {seed}, round {round}");
            before_last = last;
            let mut states = states.lock().unwrap();
            for _ in 0..dice.roll(6) {
                let state = &mut states[1 + dice.below(PAGES - 1)];
                match dice.roll(4) {
                    0 => state.is_gone = !state.is_gone,
                    1 => state.is_framed = !state.is_framed,
                    _ => state.version += 1,
                }
            }
        }
    }
}
