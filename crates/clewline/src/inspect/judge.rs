//! What a crawl would do with each link of a page.
//!
//! Owns the words for the frontier's verdicts, and the question to robots.txt, which a crawl asks
//! later. It judges nothing itself: the frontier took in the links as those of any page.

use clewline_core::frontier::Admission;
use clewline_core::link::{Link, LinkKind};
use clewline_core::outcome::SkipReason;

use clewline_job::inspection::{JudgedLink, LinkVerdict, RobotsFile};

/// How many links are held against robots.txt: a hostile file makes each verdict expensive.
const JUDGED_BY_ROBOTS: usize = 1_000;

/// Tells the verdicts on the links of a page. The frontier of an inspection queues no sitemaps,
/// that of a crawl may.
pub(super) fn judge(
    links: Vec<Link>,
    verdicts: &[Admission],
    takes_sitemaps: bool,
    files: &[RobotsFile],
) -> Vec<JudgedLink> {
    let mut judged = Vec::with_capacity(links.len());
    for (link, verdict) in links.into_iter().zip(verdicts) {
        let would_follow = takes_sitemaps && link.kind == LinkKind::SitemapFile;
        let mut told = match *verdict {
            Admission::Known => told(link, LinkVerdict::Known, None),
            Admission::Accepted | Admission::Sent => told(link, LinkVerdict::Follow, None),
            Admission::Refused(SkipReason::Depth) if would_follow => {
                told(link, LinkVerdict::Follow, None)
            }
            Admission::Refused(reason) => told(link, LinkVerdict::Skip, Some(reason)),
        };
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
