//! Pages that are the same, or say nearly the same.
//!
//! Owns what is near, and the list of clusters: pages that are one under several URLs (see
//! `fold`) and pages whose `SimHash` differs in few bits. Invariant: 24 bytes are held for each
//! page, of at most [`MOST_PAGES`] pages; later ones belong to no cluster.

use std::collections::HashMap;

use clewline_content::{ReadingSpeed, clusters};
use clewline_job::log::Offset;

use crate::error::ExportError;
use crate::export::{ExportContext, Output, Sink};
use crate::fold::{DuplicateMap, Groups};
use crate::form::csv::CsvRow;
use crate::pages::{ExportedPage, Need};
use crate::urls::Urls;

/// Bits in which the fingerprints of pages that say nearly the same differ.
const DISTANCE: u32 = 3;
/// Pages of fewer words are near to each other by chance.
const LEAST_WORDS: usize = 20;
/// Pages that are compared.
const MOST_PAGES: usize = 8_000_000;
/// The columns of the list.
const COLUMNS: [&str; 5] = ["cluster", "relation", "url", "words", "simhash"];

/// How many pages say nearly the same as another one. Pages that are another one under another
/// URL are duplicates, and not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearCount {
    /// Clusters of two pages or more.
    pub clusters: u64,
    /// Pages in them beside the first of each: those that the list calls `near`.
    pub pages: u64,
}

/// Gathers what is compared.
#[derive(Debug, Default)]
pub(crate) struct NearDuplicates {
    fingerprints: Vec<u64>,
}

impl NearDuplicates {
    /// Takes a page that is no duplicate, if it has words enough.
    pub(crate) fn take(&mut self, page: &ExportedPage) {
        let words = page.words().filter(|words| words.all >= LEAST_WORDS);
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
            pages: count.pages + size - 1,
        })
    }
}

/// A page with words.
#[derive(Debug, Clone, Copy)]
struct Member {
    place: Offset,
    near: u64,
    words: u32,
    is_folded: bool,
}

pub(super) fn write(work: &mut ExportContext<'_>, output: Output<'_>) -> Result<(), ExportError> {
    let mut sink = Sink::open(output)?;
    let folded = work.folded()?;
    let members = members(work, &folded)?;
    let mut line = CsvRow::default();
    for column in COLUMNS {
        line.text(column);
    }
    sink.write(line.end().as_bytes())?;
    let mut urls = Urls::open(work.job)?;
    let path = work.job.urls_path();
    let mut count = NearCount::default();
    for (number, cluster) in (1_u64..).zip(grouped(&members, &folded)) {
        let apart = cluster.iter().filter(|member| !member.is_folded).count() as u64;
        count.clusters += u64::from(apart > 1);
        count.pages += apart.saturating_sub(1);
        let original = cluster.iter().find(|member| !member.is_folded);
        let original = original.map(|member| member.place);
        for member in &cluster {
            let url = urls.at(member.place).map_err(ExportError::input(&path))?;
            line.shown(number);
            line.text(match member.is_folded {
                true => "same",
                false if Some(member.place) == original => "original",
                false => "near",
            });
            line.text(&url);
            line.shown(member.words);
            line.shown(format_args!("{:016x}", member.near));
            sink.write(line.end().as_bytes())?;
            work.done.rows += 1;
            work.done.duplicates += u64::from(member.is_folded);
        }
    }
    work.done.near = Some(count);
    sink.finish()
}

fn members(
    work: &mut ExportContext<'_>,
    folded: &DuplicateMap,
) -> Result<Vec<Member>, ExportError> {
    let mut members = Vec::new();
    let mut pages = work.pages(Need::Words(ReadingSpeed::Skim))?;
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        let words = page.words().filter(|_| members.len() < MOST_PAGES);
        members.extend(words.map(|words| Member {
            place: page.place,
            near: words.near,
            words: words.all as u32,
            is_folded: folded.original(page.place).is_some(),
        }));
    }
    Ok(members)
}

/// Clusters of two members or more, in the order of their first ones.
fn grouped(members: &[Member], folded: &DuplicateMap) -> Vec<Vec<Member>> {
    let mut groups = Groups::new(members.len());
    // As in other forms, pages that are another one are not compared; they follow it.
    let long = |member: &Member| member.words as usize >= LEAST_WORDS && !member.is_folded;
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
            is_folded: false,
        };
        let members = [
            member(0, 0b111, 100),
            member(10, u64::MAX, 100),
            member(20, 0b110, 100),
            member(30, 0b111, 3),
            member(40, u64::MAX - 1, 100),
        ];
        let places: Vec<Vec<u64>> = grouped(&members, &DuplicateMap::default())
            .into_iter()
            .map(|cluster| cluster.iter().map(|member| member.place.0).collect())
            .collect();
        assert_eq!(places, [vec![0, 20], vec![10, 40]]);
    }
}
