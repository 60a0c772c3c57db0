//! What a crawl would do with each link of a page.
//!
//! Owns the way from the frontier's admissions back to single links. The frontier took in the
//! links as those of any page; what it queued is what a crawl would follow.

use std::collections::{HashSet, VecDeque};

use clewline_core::frontier::{Frontier, MemoryStore, Rules, Span, Store};
use clewline_core::key::Key;
use clewline_core::link::{Link, LinkKind};
use clewline_core::outcome::SkipReason;

use super::robots::RobotsFile;
use super::{JudgedLink, LinkVerdict};

/// How many links are held against robots.txt: a hostile file makes each verdict expensive.
const JUDGED_BY_ROBOTS: usize = 1_000;

/// The links of a page, and what was known before they were offered.
pub(super) struct Offered {
    pub(super) links: Vec<(Key, Link)>,
    /// Those whose keys were known.
    pub(super) known: HashSet<Key>,
    /// The page asks not to follow its links.
    pub(super) nofollow: bool,
    /// Sitemaps are part of the crawl.
    pub(super) sitemaps: bool,
}

/// Judges all links, after the frontier took them in.
pub(super) fn judge(
    offered: Offered,
    frontier: &mut Frontier<MemoryStore>,
    files: &[RobotsFile],
) -> Vec<JudgedLink> {
    let mut queued = queued(&offered.links, frontier);
    let mut seen = offered.known;
    let rules = frontier.rules();
    let mut judged = Vec::with_capacity(offered.links.len());
    for (key, link) in offered.links {
        let marked = (link.nofollow || offered.nofollow) && !link.kind.is_requisite();
        let refusal = if marked && !rules.follow_nofollow {
            Some(SkipReason::Nofollow)
        } else if queued.remove(&key) {
            seen.insert(key);
            None
        } else if seen.contains(&key) {
            judged.push(told(link, LinkVerdict::Known, None));
            continue;
        } else {
            refusal(&link, rules, offered.sitemaps)
        };
        let verdict = refusal.map_or(LinkVerdict::Follow, |_| LinkVerdict::Skip);
        let mut told = told(link, verdict, refusal);
        if judged.len() < JUDGED_BY_ROBOTS {
            ask_robots(&mut told, files);
        }
        judged.push(told);
    }
    judged
}

fn told(link: Link, verdict: LinkVerdict, reason: Option<SkipReason>) -> JudgedLink {
    JudgedLink {
        url: link.url,
        kind: link.kind,
        nofollow: link.nofollow,
        verdict,
        reason,
        robots_line: None,
    }
}

/// The keys that wait in the store now, among those of these links.
fn queued(links: &[(Key, Link)], frontier: &mut Frontier<MemoryStore>) -> HashSet<Key> {
    let hosts: HashSet<_> = links.iter().map(|(key, _)| key.host()).collect();
    let mut entries = VecDeque::new();
    for host in hosts {
        let Ok(()) = frontier
            .store()
            .take(host, Span::normal(u32::MAX), usize::MAX, &mut entries);
    }
    entries.into_iter().map(|entry| entry.key).collect()
}

/// Why the frontier did not queue a link that it did not know; none if a crawl would have.
fn refusal(link: &Link, rules: &Rules, sitemaps: bool) -> Option<SkipReason> {
    if link.url.as_str().len() > rules.limits.url_length {
        return Some(SkipReason::TooLong);
    }
    if let Err(reason) = rules.scope.judge(&link.url, link.kind) {
        return Some(reason);
    }
    if link.kind == LinkKind::SitemapFile {
        // The frontier of an inspection queues no sitemaps, that of a crawl does.
        return (!sitemaps).then_some(SkipReason::Depth);
    }
    let is_deeper = rules.limits.depth == Some(0) && !link.kind.is_requisite();
    Some(if is_deeper {
        SkipReason::Depth
    } else {
        // No other rule is left that looks at a URL alone.
        SkipReason::RepeatedSegments
    })
}

/// A crawl asks robots.txt when a link's turn comes; here the files at hand are asked.
fn ask_robots(link: &mut JudgedLink, files: &[RobotsFile]) {
    if link.verdict != LinkVerdict::Follow {
        return;
    }
    let file = files
        .iter()
        .find(|file| file.covers(&link.url) && !file.ignored);
    if let Some(verdict) = file.map(|file| file.verdict(&link.url))
        && !verdict.allowed
    {
        link.verdict = LinkVerdict::Skip;
        link.reason = Some(SkipReason::Robots);
        link.robots_line = verdict.line;
    }
}
