//! The words and the figures of an inspection.
//!
//! Owns how each thing that was seen is said. It refuses to know where it stands on the sheet.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clewline_core::outcome::SkipReason;
use clewline_job::inspection::{
    CharsetSource, Hop, JudgedLink, LinkVerdict, Remark, RobotsFile, RobotsState,
};
use clewline_job::report::figures;

use crate::message::shown;

/// What a crawl would say besides.
pub(super) fn remark_words(remark: &Remark) -> String {
    match remark {
        Remark::SchemeFellBack { url } => format!("https does not answer, so {url} was tried"),
        Remark::HostJoined { host } => {
            format!("the redirects lead to {host}, which a crawl would cover, too")
        }
        Remark::WouldRetry { status } => {
            format!("{status} means \"not now\": a crawl would try again later")
        }
        _ => String::new(),
    }
}

/// What helps against a refusal.
pub(super) const fn hint(reason: SkipReason) -> Option<&'static str> {
    match reason {
        SkipReason::Robots | SkipReason::RobotsUnreachable | SkipReason::CrawlDelay => {
            Some("your own site? --ignore-robots fetches it all the same")
        }
        SkipReason::PrivateAddress => Some("your own network? --allow-private lets it be asked"),
        _ => None,
    }
}

/// What stands below a hop.
pub(super) fn hop_words(hop: &Hop) -> Vec<String> {
    let location = hop.location.as_ref().map(|to| format!("→ {to}"));
    let failure = hop.failure.as_ref();
    let failure = failure.map(|it| format!("{}: {}", it.class.name(), it.message));
    let kept = u64::from(hop.cookies_kept);
    let cookies = match (hop.cookies_sent, kept) {
        (false, 0) => None,
        (true, 0) => Some("cookies sent".to_owned()),
        (false, kept) => Some(format!("{} kept", figures::plural(kept, "cookie"))),
        (true, kept) => Some(format!(
            "cookies sent, {} kept",
            figures::plural(kept, "cookie")
        )),
    };
    [location, failure, cookies].into_iter().flatten().collect()
}

/// What there is to know of a robots.txt, in brackets.
pub(super) fn robots_words(file: &RobotsFile) -> String {
    let last = file.hops.last();
    let status = last.and_then(|hop| hop.status);
    let failure = last.and_then(|hop| hop.failure.as_ref());
    let mut words = match (file.state, status, failure) {
        (RobotsState::Found, _, _) => match &file.group {
            Some(group) => format!("group {group}"),
            None => "no group for us".to_owned(),
        },
        (_, _, Some(failure)) => format!("could not be read: {}", failure.message),
        (RobotsState::Absent, Some(status), None) => format!("answers {status}: all is allowed"),
        (RobotsState::Unreachable, Some(status), None) => {
            format!("answers {status}: nothing is allowed for now")
        }
        _ => "could not be read".to_owned(),
    };
    if let Some(delay) = file.crawl_delay {
        let _ = write!(words, ", Crawl-delay {delay} s");
    }
    if file.hops.len() > 1
        && let Some(hop) = last
    {
        let _ = write!(words, ", read from {}", hop.url);
    }
    if file.ignored {
        words.push_str(", ignored");
    }
    format!("({})", shown(&words))
}

/// What decided about the encoding.
pub(super) const fn charset_words(by: CharsetSource) -> &'static str {
    match by {
        CharsetSource::ByteOrderMark => ", by its byte order mark",
        CharsetSource::ContentType => ", by its Content-Type",
        CharsetSource::Document => ", by the document itself",
    }
}

/// What becomes of a link, in a word or two.
pub(super) fn verdict_words(link: &JudgedLink) -> String {
    match (link.verdict, link.reason, link.robots_line) {
        (LinkVerdict::Follow, ..) => "follow".to_owned(),
        (LinkVerdict::Known, ..) => "known".to_owned(),
        (LinkVerdict::Skip, Some(reason), Some(number)) => {
            format!("{} line {number}", reason.name())
        }
        (LinkVerdict::Skip, Some(reason), None) => reason.name().to_owned(),
        (LinkVerdict::Skip, None, _) => "skip".to_owned(),
    }
}

/// `9 links: 7 anchor, 1 image, 1 style; a crawl would follow 2`
pub(super) fn link_counts(links: &[JudgedLink]) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for link in links {
        *kinds.entry(link.kind.name()).or_default() += 1;
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let kinds: Vec<_> = kinds
        .iter()
        .map(|(kind, count)| format!("{} {kind}", figures::count(*count)))
        .collect();
    let follows = |link: &&JudgedLink| link.verdict == LinkVerdict::Follow;
    let followed = figures::count(links.iter().filter(follows).count() as u64);
    let links = figures::plural(links.len() as u64, "link");
    if kinds.is_empty() {
        return links;
    }
    format!(
        "{links}: {}; a crawl would follow {followed}",
        kinds.join(", ")
    )
}

/// A time, or a dash for a phase that did not happen.
pub(super) fn phase(millis_spent: Option<f64>) -> String {
    millis_spent.map_or_else(|| "–".to_owned(), figures::millis)
}
