//! Pages that are the same, or say nearly the same.
//!
//! Owns what is near, and the list of clusters: pages that are one under several URLs (see
//! `fold`) and pages whose `SimHash` differs in few bits. Invariant: 24 bytes are held for each
//! page, of at most [`MOST_PAGES`] pages; later ones belong to no cluster.

use std::collections::HashMap;

use clewline::log::Offset;
use clewline_content::{Speed, clusters};

use crate::error::ExportError;
use crate::export::{Output, Sink, Work};
use crate::fold::{Folded, Groups};
use crate::form::csv::Row;
use crate::pages::{Need, Page};
use crate::urls::Urls;

/// Bits in which the fingerprints of pages that say nearly the same differ.
const DISTANCE: u32 = 3;
/// Pages of fewer words are near to each other by chance.
const LEAST_WORDS: usize = 20;
/// Pages that are compared.
const MOST_PAGES: usize = 8_000_000;
/// The columns of the list.
const COLUMNS: [&str; 5] = ["cluster", "relation", "url", "words", "simhash"];

/// How many pages say nearly the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearCount {
    /// Clusters of two pages or more.
    pub clusters: u64,
    /// Pages in them.
    pub pages: u64,
}

/// Gathers what is compared.
#[derive(Debug, Default)]
pub(crate) struct Near {
    fingerprints: Vec<u64>,
}

impl Near {
    /// Takes a page that has words enough.
    pub(crate) fn take(&mut self, page: &Page) {
        let words = page.words().filter(|words| words.count >= LEAST_WORDS);
        if let Some(words) = words
            && self.fingerprints.len() < MOST_PAGES
        {
            self.fingerprints.push(words.near);
        }
    }

    /// Counts clusters.
    pub(crate) fn count(&self) -> NearCount {
        let mut sizes: HashMap<usize, u64> = HashMap::new();
        for first in clusters(&self.fingerprints, DISTANCE) {
            *sizes.entry(first).or_default() += 1;
        }
        let several = sizes.values().filter(|size| **size > 1);
        several.fold(NearCount::default(), |count, size| NearCount {
            clusters: count.clusters + 1,
            pages: count.pages + size,
        })
    }
}

/// A page with words.
#[derive(Debug, Clone, Copy)]
struct Member {
    place: Offset,
    near: u64,
    words: u32,
}

pub(super) fn write(work: &mut Work<'_>, output: Output<'_>) -> Result<(), ExportError> {
    let mut sink = Sink::open(output)?;
    let folded = work.folded()?;
    let members = members(work)?;
    let mut line = Row::default();
    for column in COLUMNS {
        line.text(column);
    }
    sink.write(line.end().as_bytes())?;
    let mut urls = Urls::open(work.job)?;
    let path = work.job.urls_path();
    let mut count = NearCount::default();
    for cluster in grouped(&members, &folded) {
        count.clusters += 1;
        count.pages += cluster.len() as u64;
        let is_folded = |member: &Member| folded.original(member.place).is_some();
        let original = cluster.iter().position(|member| !is_folded(member));
        for (number, member) in cluster.iter().enumerate() {
            let url = urls.at(member.place).map_err(ExportError::input(&path))?;
            line.shown(count.clusters);
            line.text(match is_folded(member) {
                true => "same",
                false if Some(number) == original => "original",
                false => "near",
            });
            line.text(&url);
            line.shown(member.words);
            line.shown(format_args!("{:016x}", member.near));
            sink.write(line.end().as_bytes())?;
            work.done.rows += 1;
            work.done.duplicates += u64::from(is_folded(member));
        }
    }
    work.done.near = Some(count);
    sink.finish()
}

fn members(work: &mut Work<'_>) -> Result<Vec<Member>, ExportError> {
    let mut members = Vec::new();
    let mut pages = work.pages(Need::Words(Speed::Skim))?;
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        let words = page.words().filter(|_| members.len() < MOST_PAGES);
        members.extend(words.map(|words| Member {
            place: page.place,
            near: words.near,
            words: words.count as u32,
        }));
    }
    Ok(members)
}

/// Clusters of two members or more, in the order of their first ones.
fn grouped(members: &[Member], folded: &Folded) -> Vec<Vec<Member>> {
    let mut groups = Groups::new(members.len());
    let long = |member: &Member| member.words as usize >= LEAST_WORDS;
    let (numbers, near): (Vec<u32>, Vec<u64>) = (0_u32..)
        .zip(members)
        .filter(|(_, member)| long(member))
        .map(|(number, member)| (number, member.near))
        .unzip();
    for (at, first) in clusters(&near, DISTANCE).into_iter().enumerate() {
        groups.join(numbers[first], numbers[at]);
    }
    for (number, member) in (0_u32..).zip(members) {
        let original = folded.original(member.place);
        let found =
            original.and_then(|place| members.binary_search_by_key(&place, |one| one.place).ok());
        if let Some(found) = found {
            groups.join(found as u32, number);
        }
    }
    let mut clustered: HashMap<u32, Vec<Member>> = HashMap::new();
    for (number, member) in (0_u32..).zip(members) {
        clustered
            .entry(groups.root(number))
            .or_default()
            .push(*member);
    }
    let mut several: Vec<_> = clustered
        .into_iter()
        .filter(|(_, cluster)| cluster.len() > 1)
        .collect();
    several.sort_unstable_by_key(|(root, _)| *root);
    several.into_iter().map(|(_, cluster)| cluster).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pages_that_are_near_form_clusters() {
        let member = |place, near, words| Member {
            place: Offset(place),
            near,
            words,
        };
        let members = [
            member(0, 0b111, 100),
            member(10, u64::MAX, 100),
            member(20, 0b110, 100),
            member(30, 0b111, 3),
            member(40, u64::MAX - 1, 100),
        ];
        let places: Vec<Vec<u64>> = grouped(&members, &Folded::default())
            .into_iter()
            .map(|cluster| cluster.iter().map(|member| member.place.0).collect())
            .collect();
        assert_eq!(places, [vec![0, 20], vec![10, 40]]);
    }
}
