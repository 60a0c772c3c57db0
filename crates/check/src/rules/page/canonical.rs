//! The canonical address of a page.
//!
//! Owns what may be wrong with it. It refuses to choose one. Invariant: a page that names itself has
//! no finding.

use std::io;

use clewline_core::domain::without_www;
use clewline_core::outcome::SkipReason;
use clewline_core::url::{CrawlUrl, Scheme};

use super::PageView;
use crate::facts::{CanonicalFact, CanonicalPlace, HtmlFacts};
use crate::rule::CheckRule;
use crate::rules::bag::FindingBag;
use crate::rules::registry::index as rules;
use crate::site::RowFlags;
use crate::verdict::CheckVerdict;

/// Rows of a site from which on a missing canonical address is told.
const FEW_PAGES: usize = 20;

pub(super) fn judge(view: &PageView<'_>, html: &HtmlFacts, bag: &mut FindingBag) -> io::Result<()> {
    judge_index(view, html, bag);
    let mut named: Vec<&CrawlUrl> = Vec::new();
    for canonical in &html.canonicals {
        match (&canonical.url, canonical.place) {
            (_, CanonicalPlace::Body) => {
                let finding = view.finding(&rules::CANONICAL_OUTSIDE, "it stands in the body");
                bag.list(finding.with_subject(written(canonical)).at(canonical.byte));
            }
            (Err(written), _) => {
                let finding = view.finding(&rules::CANONICAL_MALFORMED, "it is no address");
                bag.list(finding.with_subject(&**written).at(canonical.byte));
            }
            (Ok(url), _) if named.contains(&url) => {}
            (Ok(url), _) => named.push(url),
        }
    }
    match named[..] {
        [] => judge_missing(view, html, bag),
        [url] => return judge_target(view, url, bag),
        [first, second, ..] => {
            let evidence = format!("{first} and {second}");
            bag.list(view.finding(&rules::CANONICAL_SEVERAL, evidence));
        }
    }
    Ok(())
}

fn written(canonical: &CanonicalFact) -> String {
    match &canonical.url {
        Ok(url) => url.to_string(),
        Err(text) => text.to_string(),
    }
}

fn judge_missing(view: &PageView<'_>, html: &HtmlFacts, bag: &mut FindingBag) {
    let is_big = view.ends.site.rows().len() >= FEW_PAGES;
    if is_big && html.canonicals.is_empty() && view.row.is_indexable() {
        bag.gather(view.finding(&rules::CANONICAL_MISSING, "no canonical address"));
    }
}

/// The address that a page names, if it is one.
fn judge_target(view: &PageView<'_>, url: &CrawlUrl, bag: &mut FindingBag) -> io::Result<()> {
    let site = view.ends.site;
    let page = view.url();
    let key = site.keyer().key(url);
    let mut tell = |rule: &'static CheckRule, evidence: &str| {
        let finding = view.finding(rule, evidence);
        bag.list(finding.with_subject(url.as_str()));
    };
    if page.scheme() == Scheme::Https && url.scheme() == Scheme::Http {
        tell(&rules::CANONICAL_HTTP, url.as_str());
        return Ok(());
    }
    if key == view.record.key {
        return Ok(());
    }
    let Some(row) = site.row(key).filter(|row| site.has_host(row.key.host())) else {
        let is_dead = view.ends.probes.row(url);
        let is_dead = is_dead.is_some_and(|row| row.verdict() == CheckVerdict::Broken);
        if is_dead {
            tell(&rules::CANONICAL_BROKEN, url.as_str());
        } else if without_www(url.host()) != without_www(page.host()) && !site.is_own(url) {
            tell(&rules::CANONICAL_OTHER_HOST, url.host());
        }
        return Ok(());
    };
    let judged = view.ends.own(key)?;
    if judged.verdict == CheckVerdict::Broken {
        tell(&rules::CANONICAL_BROKEN, &judged.evidence);
    } else if !judged.hops.is_empty() {
        tell(
            &rules::CANONICAL_REDIRECT,
            &view.ends.hops_in_words(&judged),
        );
    } else if row.skipped == Some(SkipReason::Robots) {
        tell(&rules::CANONICAL_DENIED, SkipReason::Robots.about());
    } else if row.is(RowFlags::NOINDEX) {
        tell(&rules::CANONICAL_NOINDEX, "it says noindex");
    } else if row.is(RowFlags::CANONICAL_ELSEWHERE) {
        tell(&rules::CANONICAL_CHAIN, "it names another page");
    }
    Ok(())
}

/// What a page says about its being indexed.
fn judge_index(view: &PageView<'_>, html: &HtmlFacts, bag: &mut FindingBag) {
    let row = view.row;
    let says = |words: &str, word: &str| words.split([',', ' ']).any(|said| said == word);
    let header = view.facts.head.all("x-robots-tag").collect::<Vec<_>>();
    let header = header.join(",").to_ascii_lowercase();
    let pairs = [(&*header, &*html.robots), (&*html.robots, &*header)];
    let disagree = pairs.iter().any(|(one, other)| {
        says(one, "noindex") && says(other, "index") && !says(other, "noindex")
    });
    if disagree {
        let evidence = "one of header and meta element says noindex, the other index";
        bag.list(view.finding(&rules::CONFLICT, evidence));
    } else if row.is(RowFlags::NOINDEX) && row.is(RowFlags::CANONICAL_ELSEWHERE) {
        let evidence = "it says noindex and names another page as canonical";
        bag.list(view.finding(&rules::CONFLICT, evidence));
    }
}
