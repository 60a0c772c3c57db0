//! Broken targets and the pages that link to them.
//!
//! Owns the passes over `urls.jsonl` and `links/` that join the two. It refuses to know how
//! the result is shown. Invariant: each pass streams; what is kept is bounded in number and
//! in bytes, and the true count of referrers is given beside the few that are kept.

use std::io;
use std::path::Path;

use clewline_core::frontier::{KeyMap, KeySet};
use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::outcome::FailureClass;
use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

use crate::log::urls::{self, Glance};
use crate::log::{LinksReader, records};
use crate::record::{OutcomeKind, Record};

/// Broken targets that a report names.
pub const MOST_BROKEN: usize = 10_000;

/// Referrers that a report names for each of them.
pub const MOST_REFERRERS: usize = 20;

/// URLs may be long, and one page may refer to every broken target: the text of all URLs in
/// the list stays below this, or the list is shorter.
const MOST_TEXT: usize = 64 * 1024 * 1024;

/// A URL that answered with an error or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// The URL.
    pub url: CrawlUrl,
    /// Its status, if there was an answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<FailureClass>,
    /// Some of the pages that link to it, and how.
    pub referrers: Vec<(CrawlUrl, LinkKind)>,
    /// How many pages link to it.
    pub referrer_count: u64,
}

impl Broken {
    /// The broken target that a record stands for, if it does, with the page it was first
    /// found on as its only referrer. What was skipped is not broken, whatever the server said:
    /// no page links to a sitemap or a URL that was only guessed, and a host that asked to come back
    /// later has not answered for the page.
    pub(super) fn from_record(record: &Record) -> Option<Self> {
        if record.outcome == OutcomeKind::Skipped || record.kind.is_guess() {
            return None;
        }
        let status = record.status.filter(|status| *status >= 400);
        let failed = record.outcome == OutcomeKind::Failed;
        if status.is_none() && !failed {
            return None;
        }
        let found_on = record.found_on.clone();
        let referrers: Vec<_> = found_on
            .map(|page| (page, record.kind))
            .into_iter()
            .collect();
        Some(Self {
            url: record.url.clone(),
            status,
            failure: failed.then(|| record.failure.unwrap_or(FailureClass::Internal)),
            referrer_count: referrers.len() as u64,
            referrers,
        })
    }

    /// The status or the failure in a word.
    pub fn what(&self) -> String {
        match (self.failure, self.status) {
            (Some(class), _) => class.name().to_owned(),
            (None, Some(status)) => status.to_string(),
            (None, None) => "broken".to_owned(),
        }
    }

    fn text(&self) -> usize {
        let referrers: usize = self
            .referrers
            .iter()
            .map(|(url, _)| url.as_str().len())
            .sum();
        self.url.as_str().len() + referrers
    }
}

/// Most linked first, then by URL.
pub(super) fn sort(broken: &mut [Broken]) {
    broken.sort_by(|left, right| {
        let by_count = right.referrer_count.cmp(&left.referrer_count);
        by_count.then_with(|| left.url.cmp(&right.url))
    });
}

/// Finds the referrers of the broken targets of a job folder. Targets that are not known are
/// read from its log as well.
pub(super) fn read(folder: &Path, known: Option<Vec<(Key, Broken)>>) -> io::Result<Vec<Broken>> {
    let path = folder.join(urls::FILE);
    let mut search = Search::default();
    if let Some(known) = known {
        for (key, broken) in known {
            search.note_target(key, broken);
        }
    } else {
        let targets = records(&path).map(|records| records.wanted(may_be_broken));
        each(targets, |record| {
            if let Some(broken) = Broken::from_record(&record) {
                search.note_target(record.key, broken);
            }
        })?;
    }
    if search.targets.is_empty() {
        return Ok(Vec::new());
    }
    let links = LinksReader::open(folder).and_then(|links| {
        links.each(|source, target, kind| search.note_link(source, target, kind))
    });
    but_for_its_end(links)?;
    let keys: KeySet<Key> = search.sources.keys().copied().collect();
    // Every URL has one record, and most referrers that are kept come early.
    let sources = records(&path).map(|records| {
        let sources = records.of_keys(|key| keys.contains(&key));
        sources.take(keys.len())
    });
    each(sources, |record| search.note_source(&record))?;
    sort(&mut search.broken);
    Ok(search.broken)
}

/// Whether [`Broken::from_record`] could take a line's record for broken.
fn may_be_broken(line: &Glance) -> bool {
    line.outcome == OutcomeKind::Failed || line.status.is_some_and(|status| status >= 400)
}

/// Hands every item on. A log that does not exist is empty, and a torn tail was never
/// committed, so it is no part of the crawl; all other damage is an error.
fn each<T>(
    items: io::Result<impl Iterator<Item = io::Result<T>>>,
    mut use_item: impl FnMut(T),
) -> io::Result<()> {
    let read = items.and_then(|mut items| {
        items.try_for_each(|item| {
            use_item(item?);
            Ok(())
        })
    });
    but_for_its_end(read)
}

/// What is wrong with a log beyond that it does not exist, or ends in the middle.
fn but_for_its_end(read: io::Result<()>) -> io::Result<()> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// What the passes carry from one to the next.
#[derive(Default)]
struct Search {
    broken: Vec<Broken>,
    /// By the key of a broken target: where it stands, and what is known of its referrers.
    targets: KeyMap<Key, Target>,
    /// Most links lead to none of them, and are told apart by this.
    marks: Marks,
    /// By the key of a referrer: the targets it is kept for.
    sources: KeyMap<Key, Vec<(usize, LinkKind)>>,
    text: usize,
}

/// A bit for each key, by the last of its own bits: a set that may hold too much, in a few words.
struct Marks(Box<[u64; Marks::WORDS]>);

impl Marks {
    const WORDS: usize = 256;

    fn place(key: Key) -> (usize, u64) {
        let [.., high, low] = *key.as_bytes();
        let bit = usize::from(u16::from_be_bytes([high, low])) % (Self::WORDS * 64);
        (bit / 64, 1 << (bit % 64))
    }

    fn add(&mut self, key: Key) {
        let (word, bit) = Self::place(key);
        self.0[word] |= bit;
    }

    fn may_hold(&self, key: Key) -> bool {
        let (word, bit) = Self::place(key);
        self.0[word] & bit != 0
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self(Box::new([0; Self::WORDS]))
    }
}

struct Target {
    index: usize,
    last_source: Option<Key>,
    pages: u64,
}

impl Search {
    fn note_target(&mut self, key: Key, broken: Broken) {
        let fits = self.text + broken.text() <= MOST_TEXT && self.broken.len() < MOST_BROKEN;
        if !fits || self.targets.contains_key(&key) {
            return;
        }
        let target = Target {
            index: self.broken.len(),
            last_source: None,
            pages: 0,
        };
        self.targets.insert(key, target);
        self.marks.add(key);
        self.text += broken.text();
        self.broken.push(broken);
    }

    /// The log holds a page's links together, so a page that names a target in several ways
    /// is recognised by the row before.
    fn note_link(&mut self, source: Key, key: Key, kind: LinkKind) {
        if !self.marks.may_hold(key) {
            return;
        }
        let Some(target) = self.targets.get_mut(&key) else {
            return;
        };
        if target.last_source == Some(source) {
            return;
        }
        target.last_source = Some(source);
        target.pages += 1;
        if target.pages <= MOST_REFERRERS as u64 {
            let kept = self.sources.entry(source).or_default();
            kept.push((target.index, kind));
        }
        let broken = &mut self.broken[target.index];
        if target.pages == 1 {
            // The links know better than the record: the first page found is among them.
            broken.referrers.clear();
        }
        broken.referrer_count = target.pages;
    }

    fn note_source(&mut self, record: &Record) {
        for (index, kind) in self.sources.remove(&record.key).unwrap_or_default() {
            let length = record.url.as_str().len();
            if self.text + length <= MOST_TEXT {
                self.text += length;
                self.broken[index]
                    .referrers
                    .push((record.url.clone(), kind));
            }
        }
    }
}
