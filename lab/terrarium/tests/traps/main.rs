//! Sites with traps and their look-alikes, walked without sockets.
//!
//! Owns a walk that follows every link; what it must find is said in the modules.
#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong in a helper fails its test"
)]

mod alike;
mod family;
mod habits;

use std::collections::{HashSet, VecDeque};

use terrarium::traps::Answer;

/// The addresses that a page names, in their order: host and target.
fn links(host: &str, target: &str, html: &str) -> Vec<(String, String)> {
    let quoted = html
        .split("href=\"")
        .skip(1)
        .chain(html.split("; url=").skip(1));
    let hrefs = quoted.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"));
    let place = |href: String| match href.strip_prefix("http://") {
        Some(rest) => {
            let (host, target) = rest.split_at(rest.find('/').unwrap());
            (host.to_owned(), target.to_owned())
        }
        None => (host.to_owned(), resolved(target, &href)),
    };
    hrefs.map(place).collect()
}

/// A link without a host, as seen from a target.
fn resolved(target: &str, href: &str) -> String {
    if href.starts_with('/') {
        return href.to_owned();
    }
    let path = target.split('?').next().unwrap();
    let (folder, _) = path.rsplit_once('/').unwrap();
    format!("{folder}/{href}")
}

/// What a walk from the home page reaches, in breadth, over pages that it may enter, until it
/// has seen so many.
fn walk(
    host: &str,
    answer: impl Fn(&str, &str) -> Answer,
    may_enter: impl Fn(&str, &str) -> bool,
    far: usize,
) -> Vec<(String, String)> {
    let home = (host.to_owned(), "/".to_owned());
    let mut seen = HashSet::from([home.clone()]);
    let mut queue = VecDeque::from([home]);
    let mut reached = Vec::new();
    while let Some((host, target)) = queue.pop_front() {
        let page = answer(&host, &target);
        assert_eq!(page.status, 200, "{host}{target}");
        for (host, target) in links(&host, &target, &page.html) {
            if may_enter(&host, &target) && seen.insert((host.clone(), target.clone())) {
                queue.push_back((host, target));
            }
        }
        reached.push((host, target));
        if reached.len() == far {
            break;
        }
    }
    reached
}
