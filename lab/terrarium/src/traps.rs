//! Sites with traps, and sites that only look like one.
//!
//! A [`TrapSite`] has two hundred real pages and an endless rest, made from a [`Family`], a
//! [`Density`] and a seed. A [`LookAlike`] has the same shape of addresses or texts, and all of
//! its pages are real. Both are pure functions of host and target; mounted on a [`Web`] they are
//! asked by real clients, and the [`Log`] tells what was found.
//!
//! Owns what such sites answer and which pages are real. Refuses to know crawlers and sockets.
//! Invariant: the same family, density and seed give the same site, whatever the port.

mod alike;
mod answer;
mod dice;
mod family;
mod real;
mod words;

use std::collections::HashSet;
use std::sync::Arc;

use crate::referee::{Hit, Log};
use crate::reply::{Page, Reply};
use crate::serve::Request;
use crate::site::Site;
use crate::web::Web;

pub use alike::{LookAlike, Resemblance};
pub use answer::Answer;
pub use family::{Density, Family, TrapSite};

/// What a crawl found of the real pages of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Requests that were looked at; neither robots.txt nor the question for a sitemap.
    pub requests: usize,
    /// Different real pages among them, wherever their content was found.
    pub pages: usize,
    /// Different real pages that were asked for at their own address.
    pub at_home: usize,
    /// How many real pages there are.
    pub real: usize,
}

impl Found {
    /// The share of the real pages that was found, in per cent.
    pub fn share(&self) -> f64 {
        100.0 * self.pages as f64 / self.real.max(1) as f64
    }
}

/// What both kinds of site can be asked.
trait Generated: Send + Sync + 'static {
    fn answer(&self, authority: &str, target: &str) -> Answer;
    /// The number of the real page whose content stands here.
    fn page_at(&self, host: &str, target: &str) -> Option<usize>;
    /// Whether this is the address under which the page is counted.
    fn is_real(&self, host: &str, target: &str) -> bool;
    fn real_count(&self) -> usize;
    fn name(&self) -> &str;
}

/// The handler of a generated site.
fn site_of<G: Generated>(generated: &Arc<G>) -> Site {
    let generated = Arc::clone(generated);
    let answer = move |request: &Request| -> Reply {
        let authority = request.header("host").unwrap_or_default();
        let Answer {
            status,
            location,
            html,
        } = generated.answer(authority, request.target());
        let page = Page::html(html).status(status).verbatim();
        match location {
            Some(location) => page.header("Location", location).into(),
            None => page.into(),
        }
    };
    // One address for all names of a site: links within it carry the port they were asked at.
    Site::new().at("127.0.0.1").handler(answer)
}

/// Counts the real pages among the first requests for a site.
fn found_in<G: Generated>(generated: &G, log: &Log, within: usize) -> Found {
    let own = |hit: &&Hit| is_below(&hit.host, generated.name());
    let is_page = |hit: &&Hit| hit.target != "/robots.txt" && hit.target != "/sitemap.xml";
    let (mut pages, mut at_home) = (HashSet::new(), HashSet::new());
    let mut requests = 0;
    for hit in log.iter().filter(own).filter(is_page).take(within) {
        requests += 1;
        let Some(page) = generated.page_at(&hit.host, &hit.target) else {
            continue;
        };
        pages.insert(page);
        if generated.is_real(&hit.host, &hit.target) {
            at_home.insert(page);
        }
    }
    Found {
        requests,
        pages: pages.len(),
        at_home: at_home.len(),
        real: generated.real_count(),
    }
}

/// Whether a host is this name or below it.
fn is_below(host: &str, name: &str) -> bool {
    let head = host.strip_suffix(name);
    head.is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

/// Adds a generated site under its name.
fn mounted<G: Generated>(web: Web, generated: &Arc<G>) -> Web {
    web.site(generated.name(), site_of(generated))
}
