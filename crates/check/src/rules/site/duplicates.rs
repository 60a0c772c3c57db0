//! Pages that are the same, or say so.
//!
//! Owns the grouping of equal titles, descriptions and texts. It refuses to decide which page is the
//! original: the one with the least URL stands for all. Invariants: memory grows by a few words for each
//! page; a group is one finding; the order of the crawl changes nothing.

use std::collections::{BTreeSet, HashMap};
use std::io;

use clewline_content::clusters;

use super::url_of;
use crate::facts::HtmlFacts;
use crate::finding::{CheckFinding, MOST_SAMPLES};
use crate::rule::CheckRule;
use crate::rules::bag::FindingBag;
use crate::rules::link_ends::LinkEnds;
use crate::rules::registry::content as rules;

/// Bits in which the words of pages may differ that say nearly the same.
const NEAR_BITS: u32 = 3;

pub(super) fn judge_titles(
    ends: &LinkEnds<'_>,
    titles: Vec<(u64, u32)>,
    bag: &mut FindingBag,
) -> io::Result<()> {
    let text = |html: &HtmlFacts| html.titles.first().cloned();
    for group in groups(titles) {
        report(ends, &rules::TITLE_DUPLICATE, (&group, &text), bag)?;
    }
    Ok(())
}

pub(super) fn judge_descriptions(
    ends: &LinkEnds<'_>,
    descriptions: Vec<(u64, u32)>,
    bag: &mut FindingBag,
) -> io::Result<()> {
    let text = |html: &HtmlFacts| html.descriptions.first().cloned();
    for group in groups(descriptions) {
        report(ends, &rules::DESCRIPTION_DUPLICATE, (&group, &text), bag)?;
    }
    Ok(())
}

/// Texts as `(exact, near, place)`.
pub(super) fn judge_texts(
    ends: &LinkEnds<'_>,
    texts: Vec<(u64, u64, u32)>,
    bag: &mut FindingBag,
) -> io::Result<()> {
    let exact = texts.iter().map(|(exact, _, place)| (*exact, *place));
    // Of pages that say the same, one takes part in what follows.
    let mut first_of = HashMap::new();
    for group in groups(exact.collect()) {
        let first = report(ends, &rules::DUPLICATE, (&group, &|_| None), bag)?;
        first_of.extend(group.into_iter().map(|place| (place, first)));
    }
    let is_first = |place: &u32| first_of.get(place).is_none_or(|first| first == place);
    let mut distinct = texts;
    distinct.retain(|(_, near, place)| *near != 0 && is_first(place));
    let near: Vec<u64> = distinct.iter().map(|(_, near, _)| *near).collect();
    let members = clusters(&near, NEAR_BITS).into_iter().zip(&distinct);
    let by_cluster = members.map(|(cluster, (_, _, place))| (cluster as u64, *place));
    for group in groups(by_cluster.collect()) {
        report(ends, &rules::NEAR, (&group, &|_| None), bag)?;
    }
    Ok(())
}

/// The places of equal things, in the order of their first.
fn groups(mut hashes: Vec<(u64, u32)>) -> Vec<Vec<u32>> {
    hashes.sort_unstable();
    let equal = hashes.chunk_by(|a, b| a.0 == b.0);
    let several = equal.filter(|group| group.len() > 1);
    let mut groups: Vec<Vec<u32>> = several
        .map(|group| group.iter().map(|(_, place)| *place).collect())
        .collect();
    groups.sort_unstable_by_key(|group| group[0]);
    groups
}

type TextOf<'a> = &'a dyn Fn(&HtmlFacts) -> Option<Box<str>>;

/// Reports a group, and answers with the place of the page that stands for all.
fn report(
    ends: &LinkEnds<'_>,
    rule: &'static CheckRule,
    (group, text): (&[u32], TextOf<'_>),
    bag: &mut FindingBag,
) -> io::Result<u32> {
    let site = ends.site;
    let key = |place: u32| site.rows()[place as usize].key;
    let mut urls = BTreeSet::new();
    for place in group {
        urls.insert((url_of(site, key(*place))?, *place));
        if urls.len() > MOST_SAMPLES + 1 {
            urls.pop_last();
        }
    }
    let mut urls = urls.into_iter();
    let (url, first) = urls.next().expect("a group has pages");
    let facts = site.facts(key(first))?;
    let text = facts.and_then(|facts| text(facts.html.as_ref()?));
    let evidence = match &text {
        Some(text) => format!("{} pages: {text}", group.len()),
        None => format!("{} pages", group.len()),
    };
    let mut finding = CheckFinding::new(rule, url, evidence);
    finding.count = group.len() as u64;
    finding.samples = urls.map(|(url, _)| url).collect();
    bag.list(finding);
    Ok(first)
}
