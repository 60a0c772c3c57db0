//! Which pages are another page under another name.
//!
//! Owns when two URLs are one page and which of them stands for both. It judges by records
//! alone, before any body is read: same bytes; a canonical URL, or a variant of the URL (scheme,
//! `www.`, a slash at the end, an index file), with the same title. Titles guard against sites
//! that name one page as the canonical URL of all. Invariant: the page that stands for others
//! stands for itself; memory is bounded by [`MOST_PAGES`], and later pages are not folded.

use std::collections::HashMap;

use clewline_job::Job;
use clewline_job::log::Offset;
use clewline_job::pages::PageNeeds;
use clewline_job::record::Record;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::ExportError;
use crate::filter::Filter;
use crate::pages::filtered;
use crate::words::BodyKind;

/// Pages that are compared, about a hundred bytes each while they are.
const MOST_PAGES: usize = 8_000_000;
/// The digest of a body without bytes, which makes no two pages one.
const EMPTY: &str = "xxh3:99aa06d3014798d86001c324468d497f";

/// Whether pages that are one under several URLs are exported once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// Once, under the URL that stands for all.
    #[default]
    Together,
    /// As often as they were fetched.
    Apart,
}

/// Which pages are duplicates of which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DuplicateMap {
    /// Places of duplicates and of the pages that stand for them, sorted.
    duplicates: Vec<(Offset, Offset)>,
}

impl DuplicateMap {
    /// Compares the pages that filters let through.
    pub(crate) fn for_job(job: &Job, filters: &[Filter]) -> Result<Self, ExportError> {
        let mut pages = Vec::new();
        for page in filtered(job, filters, PageNeeds::default())? {
            let page = page?;
            if BodyKind::from_record(&page.record).is_some() && pages.len() < MOST_PAGES {
                pages.push(Candidate::new(page.offset, &page.record));
            }
        }
        Ok(Self::from_pages(&pages))
    }

    fn from_pages(pages: &[Candidate]) -> Self {
        let mut groups = Groups::new(pages.len());
        join_equal(pages, &mut groups, |page| page.digest);
        join_equal(pages, &mut groups, |page| {
            page.title.map(|title| page.variant ^ title.rotate_left(1))
        });
        let votes = join_canonical(pages, &mut groups);
        let mut best: HashMap<u32, u32> = HashMap::new();
        for number in 0..pages.len() as u32 {
            let kept = best.entry(groups.root(number)).or_insert(number);
            let rank = |number: u32| {
                let page = &pages[number as usize];
                let is_named = votes[number as usize];
                (!is_named, page.has_query, page.length, page.place)
            };
            if rank(number) < rank(*kept) {
                *kept = number;
            }
        }
        // The log is in order of places, so these are sorted.
        let duplicates = (0..pages.len() as u32).filter_map(|number| {
            let original = best[&groups.root(number)];
            let place = |number: u32| pages[number as usize].place;
            (original != number).then(|| (place(number), place(original)))
        });
        Self {
            duplicates: duplicates.collect(),
        }
    }

    /// The place of the page that stands for the one at a place, if that is another one.
    pub(crate) fn original(&self, place: Offset) -> Option<Offset> {
        let found = self
            .duplicates
            .binary_search_by_key(&place, |(duplicate, _)| *duplicate)
            .ok()?;
        Some(self.duplicates[found].1)
    }
}

/// What is compared of a page.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    place: Offset,
    url: u64,
    digest: Option<u64>,
    canonical: Option<u64>,
    title: Option<u64>,
    variant: u64,
    length: u32,
    has_query: bool,
}

impl Candidate {
    fn new(place: Offset, record: &Record) -> Self {
        let hash = |text: &str| xxh3_64(text.as_bytes());
        let title = record.title.as_deref().map(str::trim);
        // Bytes that were read tell nothing of a page that did not change.
        // Pages of an application are often the same bytes, and differ by what scripts show.
        let digest = record.digest.as_deref().filter(|_| !record.is_rendered());
        let digest = digest.filter(|digest| *digest != EMPTY);
        Self {
            place,
            url: hash(record.url.as_str()),
            digest: digest.map(hash),
            canonical: record.canonical.as_ref().map(|url| hash(url.as_str())),
            title: title.filter(|title| !title.is_empty()).map(hash),
            variant: hash(&record.url.without_spelling()),
            length: record.url.as_str().len() as u32,
            has_query: record.url.query().is_some(),
        }
    }
}

/// Joins pages that have a value in common.
fn join_equal(pages: &[Candidate], groups: &mut Groups, value: impl Fn(&Candidate) -> Option<u64>) {
    let mut first: HashMap<u64, u32> = HashMap::new();
    for (number, page) in pages.iter().enumerate() {
        if let Some(value) = value(page) {
            let other = *first.entry(value).or_insert(number as u32);
            groups.join(other, number as u32);
        }
    }
}

/// Joins pages with their canonical URLs; answers which pages were named so.
fn join_canonical(pages: &[Candidate], groups: &mut Groups) -> Vec<bool> {
    let numbers = pages.iter().enumerate();
    let by_url: HashMap<u64, u32> = numbers
        .map(|(number, page)| (page.url, number as u32))
        .collect();
    let mut is_named = vec![false; pages.len()];
    for (number, page) in pages.iter().enumerate() {
        let named = page.canonical.and_then(|url| by_url.get(&url).copied());
        if let Some(named) = named.filter(|named| pages[*named as usize].title == page.title) {
            is_named[named as usize] = true;
            groups.join(named, number as u32);
        }
    }
    is_named
}

/// Sets that are joined. The root of a set is its smallest member.
#[derive(Debug)]
pub(crate) struct Groups(Vec<u32>);

impl Groups {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    pub(crate) fn root(&mut self, mut member: u32) -> u32 {
        while self.0[member as usize] != member {
            let above = self.0[member as usize];
            self.0[member as usize] = self.0[above as usize];
            member = self.0[member as usize];
        }
        member
    }

    pub(crate) fn join(&mut self, left: u32, right: u32) {
        let (left, right) = (self.root(left), self.root(right));
        self.0[left.max(right) as usize] = left.min(right);
    }
}

#[cfg(test)]
mod tests {
    use clewline_core::url::CrawlUrl;

    use super::*;
    use crate::urls::samples::record;

    #[test]
    fn nothing_has_this_digest() {
        let digest = xxhash_rust::xxh3::xxh3_128(b"");
        assert_eq!(format!("xxh3:{digest:032x}"), EMPTY);
    }

    /// A page: URL, title, digest, canonical URL.
    type Sample = (
        &'static str,
        &'static str,
        &'static str,
        Option<&'static str>,
    );

    fn folded(samples: &[Sample]) -> Vec<Option<usize>> {
        let pages: Vec<Candidate> = samples
            .iter()
            .enumerate()
            .map(|(number, (url, title, digest, canonical))| {
                let mut page = record(url);
                page.title = Some((*title).to_owned());
                page.digest = Some((*digest).to_owned());
                page.canonical = canonical.map(|url| CrawlUrl::parse(url).unwrap());
                Candidate::new(Offset(number as u64), &page)
            })
            .collect();
        let folded = DuplicateMap::from_pages(&pages);
        (0..samples.len() as u64)
            .map(|number| {
                folded
                    .original(Offset(number))
                    .map(|place| place.0 as usize)
            })
            .collect()
    }

    #[test]
    fn variants_with_the_same_title_are_one() {
        let samples = [
            ("http://www.a.test/docs/index.html", "Docs", "1", None),
            ("https://a.test/docs/", "Docs", "2", None),
            ("https://a.test/docs", "Docs", "3", None),
            ("https://a.test/docs/?p=1", "Docs", "4", None),
            ("https://a.test/docs/index.php", "Other", "5", None),
            ("https://a.test/doc", "Docs", "6", None),
        ];
        let expected = [Some(2), Some(2), None, None, None, None];
        assert_eq!(folded(&samples), expected);
    }

    #[test]
    fn the_canonical_url_stands_for_its_copies() {
        let samples = [
            (
                "https://a.test/p",
                "P",
                "1",
                Some("https://a.test/page/long"),
            ),
            ("https://a.test/page/long", "P", "2", None),
            (
                "https://a.test/q",
                "Q",
                "3",
                Some("https://a.test/page/long"),
            ),
            ("https://a.test/r", "R", "4", Some("https://a.test/gone")),
        ];
        let expected = [Some(1), None, None, None];
        assert_eq!(folded(&samples), expected, "another title is another page");
    }

    #[test]
    fn the_same_bytes_are_one_page_whatever_their_names() {
        let samples = [
            ("https://a.test/x?b=1", "", "1", None),
            ("https://b.test/longer/y", "", "1", None),
            ("https://a.test/z", "", "2", None),
            ("https://a.test/z/", "", "3", None),
        ];
        let expected = [Some(1), None, None, None];
        assert_eq!(folded(&samples), expected, "no title is no reason");
    }
}
