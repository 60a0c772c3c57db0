//! The sites of each trouble.
//!
//! Owns their pages and what is wrong with them. Invariant: a page is named `/page/` and a
//! number; home pages list them in order, so that a test knows which are met first.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::bucket::{Bucket, Queue};
use super::{HOST, Place, Trouble};
use crate::generate::links;
use crate::internet::chance::{Chance, Topic};
use crate::reply::{Page, Reply, Step};
use crate::serve::Request;
use crate::site::{Door, Site};
use crate::web::Web;

/// Requests that a busy host lets through at once.
const BURST: u32 = 5;
/// How often a dripping host sends a byte.
const DRIP: Duration = Duration::from_secs(1);

/// A host of many.
pub(super) fn part(number: usize) -> String {
    format!("part{number}.test")
}

/// A host that says nothing, or hardly anything.
pub(super) fn mute(number: usize) -> String {
    format!("mute{number}.test")
}

fn target(number: usize) -> String {
    format!("/page/{number}")
}

/// The number in `/page/17`.
fn number(path: &str) -> Option<usize> {
    path.strip_prefix("/page/")?.parse().ok()
}

/// Whether chance has chosen this page of a host.
fn is_chosen(host: usize, page: usize, percent: u32) -> bool {
    let draw = Chance::new(1).draw(Topic::Generated, host as u64, page as u64);
    draw.happens(percent * 10)
}

fn page(number: usize) -> Reply {
    let body = format!("<!doctype html><title>Page {number}</title><p>This is page {number}.");
    Page::html(body).into()
}

/// A site whose home page lists so many pages; this function answers for each of them, with
/// everything that is asked, the home page too.
fn listing(
    pages: usize,
    answer: impl Fn(&Request, Reply) -> Reply + Send + Sync + 'static,
) -> Site {
    let home = links((0..pages).map(target));
    Site::new().handler(
        move |request| match (request.path(), number(request.path())) {
            ("/", _) => answer(request, Page::html(home.as_str()).into()),
            (_, Some(number)) if number < pages => answer(request, page(number)),
            _ => Page::empty(404).into(),
        },
    )
}

/// A refusal for now.
fn refusal(status: u16, retry_after: Option<u64>) -> Reply {
    match retry_after {
        Some(seconds) => Page::retry_after(status, &seconds.to_string()).into(),
        None => Page::empty(status).into(),
    }
}

pub(super) fn mount(trouble: &Trouble, web: Web) -> Web {
    match *trouble {
        Trouble::Passing {
            hosts,
            percent,
            pages,
        } => (0..hosts).fold(web, |web, host| {
            web.site(&part(host), passing(host, percent, pages))
        }),
        Trouble::Silent { hosts, good } => {
            beside_mute(web, hosts, good, || Site::new().door(Door::Silent))
        }
        Trouble::Dripping { hosts, good } => beside_mute(web, hosts, good, || {
            let drip = Page::html("x".repeat(10_000))
                .drip_head(1, DRIP)
                .drip(1, DRIP);
            Site::new().handler(move |_| drip.clone().into())
        }),
        Trouble::SilentRoot { good } => web
            .site(&mute(0), Site::new().door(Door::Silent))
            .site(HOST, listing(good, |_, reply| reply)),
        _ => web.site(HOST, host(trouble)),
    }
}

/// The only host of a trouble that has one host.
fn host(trouble: &Trouble) -> Site {
    match *trouble {
        Trouble::Busy {
            rate,
            status,
            retry_after,
            pages,
        } => {
            let bucket = Mutex::new(Bucket::new(rate, BURST));
            listing(pages, move |request, reply| {
                let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
                if bucket.takes(request.at()) {
                    reply
                } else {
                    refusal(status, retry_after)
                }
            })
        }
        Trouble::Slowing { rate, pages } => {
            let queue = Mutex::new(Queue::new(rate));
            listing(pages, move |request, reply| {
                let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                let delay = queue.delay(request.at());
                match reply {
                    Reply::Page(page) => page.delay(delay).into(),
                    other => other,
                }
            })
        }
        Trouble::Resetting {
            after,
            lasts,
            pages,
        } => resetting(after, lasts, pages),
        Trouble::Down {
            after,
            lasts,
            pages,
        } => listing(pages, |_, reply| reply).outage(after, lasts),
        Trouble::OneBusy {
            status,
            retry_after,
            good,
        } => {
            let busy = good / 2;
            listing(good + 1, move |request, reply| {
                match number(request.path()) {
                    Some(page) if page == busy => refusal(status, retry_after),
                    _ => reply,
                }
            })
        }
        _ => {
            let failing: HashSet<String> =
                failing(trouble).into_iter().map(|(_, path)| path).collect();
            let pages = good(trouble).len() + failing.len() - 1;
            listing(pages, move |request, reply| {
                if failing.contains(request.path()) {
                    Page::html("<title>Error</title>").status(500).into()
                } else {
                    reply
                }
            })
        }
    }
}

fn resetting(after: usize, lasts: Duration, pages: usize) -> Site {
    // How many came, and when the first one was reset.
    let state: Mutex<(usize, Option<Instant>)> = Mutex::default();
    listing(pages, move |request, reply| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        if state.0 <= after {
            return reply;
        }
        let begun = *state.1.get_or_insert(request.at());
        if request.at().saturating_duration_since(begun) < lasts {
            Reply::Script(vec![Step::Reset])
        } else {
            reply
        }
    })
}

fn passing(host: usize, percent: u32, pages: usize) -> Site {
    let failed: Mutex<HashSet<usize>> = Mutex::default();
    listing(pages, move |request, reply| {
        let page = number(request.path());
        let page = page.filter(|page| is_chosen(host, *page, percent));
        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
        match page {
            Some(page) if failed.insert(page) => match page % 2 {
                0 => Page::empty(500).into(),
                _ => Page::empty(502).into(),
            },
            _ => reply,
        }
    })
}

/// A good host that lists mute ones before its own pages.
fn beside_mute(web: Web, hosts: usize, good: usize, site: impl Fn() -> Site) -> Web {
    let elsewhere = (0..hosts).map(|host| format!("{{{{{}}}}}/", mute(host)));
    let home = links(elsewhere.chain((0..good).map(target)));
    let home = Arc::new(home);
    let own = listing(good, move |request, reply| match request.path() {
        "/" => Page::html(home.as_str()).into(),
        _ => reply,
    });
    let web = web.site(HOST, own);
    (0..hosts).fold(web, |web, host| web.site(&mute(host), site()))
}

fn places(host: &str, pages: impl Iterator<Item = usize>) -> Vec<Place> {
    pages.map(|page| (host.to_owned(), target(page))).collect()
}

fn with_home(host: &str, pages: impl Iterator<Item = usize>) -> Vec<Place> {
    let home = (host.to_owned(), "/".to_owned());
    [vec![home], places(host, pages)].concat()
}

pub(super) fn good(trouble: &Trouble) -> Vec<Place> {
    match *trouble {
        Trouble::Busy { pages, .. }
        | Trouble::Slowing { pages, .. }
        | Trouble::Resetting { pages, .. }
        | Trouble::Down { pages, .. } => with_home(HOST, 0..pages),
        Trouble::Failing { percent, pages } => with_home(
            HOST,
            (0..pages).filter(|page| !is_chosen(0, *page, percent)),
        ),
        Trouble::FailingFirst { failing, good } => with_home(HOST, failing..failing + good),
        Trouble::OneBusy { good, .. } => {
            with_home(HOST, (0..=good).filter(|page| *page != good / 2))
        }
        Trouble::Passing { hosts, pages, .. } => {
            let hosts = (0..hosts).map(|host| with_home(&part(host), 0..pages));
            hosts.flatten().collect()
        }
        Trouble::Silent { good, .. }
        | Trouble::Dripping { good, .. }
        | Trouble::SilentRoot { good } => with_home(HOST, 0..good),
    }
}

pub(super) fn failing(trouble: &Trouble) -> Vec<Place> {
    match *trouble {
        Trouble::Failing { percent, pages } => {
            places(HOST, (0..pages).filter(|page| is_chosen(0, *page, percent)))
        }
        Trouble::FailingFirst { failing, .. } => places(HOST, 0..failing),
        Trouble::OneBusy { good, .. } => places(HOST, std::iter::once(good / 2)),
        _ => Vec::new(),
    }
}
