//! A web whose every page follows from its number, so that what must be found can be computed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use clewline_job::record::OutcomeKind;
use terrarium::{LiveWeb, Page, Reply, Request, Site, Web};

/// What a record must say of a URL.
pub(crate) type Fate = (OutcomeKind, Option<u16>);

pub(crate) const HOST: &str = "127.0.0.1";

/// Where a crawl begins.
pub(crate) const ROOT: &str = "/p/0.html";

/// So many pages, linked as 3i+1, 3i+2, 3i+3 and 7i+5.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Graph {
    pages: u64,
}

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Page,
    Missing,
    /// Redirects to another page.
    Moved(u64),
    /// Answers 500 to the first request after each start of the server.
    Flaky,
}

/// Where a page is. Mirroring tools take a file for a page only by its ending.
fn path(page: u64) -> String {
    format!("/p/{page}.html")
}

impl Graph {
    pub(crate) const fn new(pages: u64) -> Self {
        Self { pages }
    }

    const fn kind(self, page: u64) -> Kind {
        match page {
            page if page % 17 == 5 => Kind::Missing,
            page if page % 13 == 7 => Kind::Moved((page * 5 + 2) % self.pages),
            page if page % 29 == 11 => Kind::Flaky,
            _ => Kind::Page,
        }
    }

    fn links(self, page: u64) -> [u64; 4] {
        [3 * page + 1, 3 * page + 2, 3 * page + 3, 7 * page + 5].map(|link| link % self.pages)
    }

    /// Serves the graph, each answer after a few milliseconds and some after more.
    pub(crate) fn serve(self) -> LiveWeb {
        let site = Site::new()
            .robots("User-agent: *\nDisallow: /denied\n")
            .delay(Duration::from_millis(2))
            .under("/p/", move |request| self.answer(request));
        Web::new().site(HOST, site).start()
    }

    fn answer(self, request: &Request) -> Reply {
        let page: u64 = request
            .path()
            .trim_start_matches("/p/")
            .trim_end_matches(".html")
            .parse()
            .unwrap_or(0);
        match self.kind(page) {
            Kind::Missing => Page::html("nothing").status(404).into(),
            Kind::Moved(to) => Page::redirect(302, path(to)).into(),
            Kind::Flaky if !request.has_cookie("seen") && page.is_multiple_of(2) => {
                // The retry comes with the cookie, in this run or in a later one.
                Page::html("later")
                    .status(500)
                    .header("Set-Cookie", "seen=1")
                    .into()
            }
            Kind::Flaky | Kind::Page => {
                let links = self
                    .links(page)
                    .map(|link| format!("<a href={}>x</a>", path(link)));
                let denied = format!("<a href=/denied/{}>no</a>", page % 40);
                Page::html(links.concat() + &denied)
                    .delay(Duration::from_millis(2 + page % 37 / 32 * 20))
                    .into()
            }
        }
    }

    pub(crate) const fn pages(self) -> u64 {
        self.pages
    }

    /// Every URL that a crawl from page 0 must settle, and how.
    pub(crate) fn expected(self) -> BTreeMap<String, Fate> {
        let mut expected = BTreeMap::new();
        let mut seen = BTreeSet::from([0]);
        let mut queue = VecDeque::from([0]);
        while let Some(page) = queue.pop_front() {
            let (outcome, status, targets) = match self.kind(page) {
                Kind::Missing => (OutcomeKind::Fetched, 404, Vec::new()),
                Kind::Moved(to) => (OutcomeKind::Redirected, 302, vec![to]),
                Kind::Page | Kind::Flaky => {
                    let denied = format!("/denied/{}", page % 40);
                    expected.insert(denied, (OutcomeKind::Skipped, None));
                    (OutcomeKind::Fetched, 200, self.links(page).to_vec())
                }
            };
            expected.insert(path(page), (outcome, Some(status)));
            queue.extend(targets.into_iter().filter(|target| seen.insert(*target)));
        }
        expected
    }
}
