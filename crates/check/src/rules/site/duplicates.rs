//! Pages that are the same, or say so.
//!
//! Owns the grouping of equal titles, descriptions and texts. It refuses to decide which page is the
//! original: the one that the crawl saw first stands for all. Invariant: memory grows by a few words
//! for each page, and a group is one finding.

use std::collections::HashSet;
use std::io;

use clewline_content::clusters;

use super::{finding_on, url_of};
use crate::facts::HtmlFacts;
use crate::finding::MOST_SAMPLES;
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
    for group in groups(exact.collect()) {
        report(ends, &rules::DUPLICATE, (&group, &|_| None), bag)?;
    }
    // Of pages that say the same, one takes part.
    let mut seen = HashSet::new();
    let mut distinct = texts;
    distinct.retain(|(exact, near, _)| *near != 0 && seen.insert(*exact));
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

fn report(
    ends: &LinkEnds<'_>,
    rule: &'static CheckRule,
    (group, text): (&[u32], TextOf<'_>),
    bag: &mut FindingBag,
) -> io::Result<()> {
    let site = ends.site;
    let row = |place: u32| &site.rows()[place as usize];
    let [first, others @ ..] = group else {
        return Ok(());
    };
    let facts = site.facts(row(*first).key)?;
    let text = facts.and_then(|facts| text(facts.html.as_ref()?));
    let evidence = match &text {
        Some(text) => format!("{} pages: {text}", group.len()),
        None => format!("{} pages", group.len()),
    };
    let mut finding = finding_on(site, row(*first), rule, evidence)?;
    finding.count = group.len() as u64;
    for place in others.iter().take(MOST_SAMPLES) {
        finding.samples.push(url_of(site, row(*place).key)?);
    }
    bag.list(finding);
    Ok(())
}
