//! Equal edits on many pages, made one entry.
//!
//! Owns what makes two edits one: the same runs of tokens at the same place; or, where nearly every
//! page of a template has an edit of the same shape at the same place with other words, the shape.
//! It refuses to know what is noise. Invariants: two passes over the changes, whatever their order,
//! give the same entries; of an edit on many pages one text is kept.

use std::collections::{BTreeSet, HashMap, HashSet};

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::{PageChange, PageHunk};
use crate::entry::{DiffEdit, DiffEntry, DiffKind, MOST_SAMPLES};

/// Edits that are counted; further ones are shown page by page.
const MOST_COUNTED: usize = 4_000_000;
/// Pages of a template on which an edit of one shape must be before its words do not matter.
const FEWEST_VARIED: u32 = 10;
/// Of ten pages of a template so many must have it.
const VARIED_TENTHS: u32 = 8;
/// Of ten edits of one shape at most so many are equal where words do not matter.
const EQUAL_TENTHS: u32 = 8;

/// One edit of a page: hunks that belong together.
struct PageEdit<'a> {
    hunks: Vec<&'a PageHunk>,
    /// Equal where the edit is equal.
    signature: u64,
    /// Equal where the edit is equal but for words, on pages of one template.
    shape: u64,
}

impl<'a> PageEdit<'a> {
    fn new(hunks: Vec<&'a PageHunk>, template: u32) -> Self {
        let mut signature = Xxh3::new();
        let mut shape = Xxh3::with_seed(u64::from(template));
        for hunk in &hunks {
            signature.update(hunk.region.as_bytes());
            signature.update(&hunk.before.to_le_bytes());
            signature.update(&hunk.after.to_le_bytes());
            shape.update(&hunk.path.to_le_bytes());
            shape.update(&hunk.shape.to_le_bytes());
        }
        Self {
            hunks,
            signature: signature.digest(),
            shape: shape.digest(),
        }
    }

    /// It follows from pages that are gone or new.
    fn is_explained(&self) -> bool {
        self.hunks.iter().any(|hunk| hunk.is_explained)
            && self
                .hunks
                .iter()
                .all(|hunk| hunk.is_explained || hunk.is_anchor)
    }

    fn shown(&self) -> Vec<DiffEdit> {
        self.hunks
            .iter()
            .map(|hunk| DiffEdit::from_hunk(hunk))
            .collect()
    }
}

/// The edits of a page that count, each once.
fn edits_of(change: &PageChange) -> (Vec<PageEdit<'_>>, bool) {
    let mut edits = Vec::new();
    let (mut seen, mut has_explained) = (HashSet::new(), false);
    for hunks in change.hunks.chunk_by(|one, other| one.edit == other.edit) {
        let edit = PageEdit::new(hunks.iter().collect(), change.template);
        if edit.is_explained() {
            has_explained = true;
        } else if seen.insert(edit.signature) {
            edits.push(edit);
        }
    }
    (edits, has_explained)
}

/// What a page has beside the edits that it shares.
pub(crate) enum Clustered {
    /// Its own edits; none if all are shared.
    Own(Vec<DiffEdit>),
    /// Nothing but links to pages that are gone or new.
    Explained,
}

/// How often edits occur, and the entries of those that occur often.
#[derive(Default)]
pub(crate) struct Clustering {
    /// By shape and signature.
    counts: HashMap<(u64, u64), u32>,
    signatures: HashMap<u64, u32>,
    /// Templates of the shapes.
    templates: HashMap<u64, u32>,
    /// Shapes whose words do not matter.
    varied: HashSet<u64>,
    clusters: HashMap<u64, Cluster>,
}

struct Cluster {
    entry: DiffEntry,
    samples: BTreeSet<String>,
}

impl Clustering {
    /// The first pass: counts the edits of a page.
    pub(crate) fn count(&mut self, change: &PageChange) {
        for edit in edits_of(change).0 {
            let key = (edit.shape, edit.signature);
            if self.counts.len() >= MOST_COUNTED && !self.counts.contains_key(&key) {
                continue;
            }
            *self.counts.entry(key).or_default() += 1;
            *self.signatures.entry(edit.signature).or_default() += 1;
            self.templates.insert(edit.shape, change.template);
        }
    }

    /// Between the passes: finds shapes that vary. `pages_of` tells how many pages of a template were
    /// compared.
    pub(crate) fn settle(&mut self, pages_of: impl Fn(u32) -> u32) {
        let mut shapes: HashMap<u64, (u32, u32)> = HashMap::new();
        for ((shape, _), count) in &self.counts {
            let (all, most) = shapes.entry(*shape).or_default();
            *all += count;
            *most = (*most).max(*count);
        }
        let templates = std::mem::take(&mut self.templates);
        let pages = |shape: u64| {
            templates
                .get(&shape)
                .map_or(0, |template| pages_of(*template))
        };
        let is_varied = |shape: u64, all: u32, most: u32| {
            all >= FEWEST_VARIED
                && u64::from(all) * 10 >= u64::from(pages(shape)) * u64::from(VARIED_TENTHS)
                && u64::from(most) * 10 < u64::from(all) * u64::from(EQUAL_TENTHS)
        };
        let varied = shapes
            .into_iter()
            .filter(|(shape, (all, most))| is_varied(*shape, *all, *most));
        self.varied = varied.map(|(shape, _)| shape).collect();
        self.counts = HashMap::new();
    }

    /// The second pass: puts the edits of a page where they belong.
    pub(crate) fn take(&mut self, change: &PageChange) -> Clustered {
        let (edits, has_explained) = edits_of(change);
        if edits.is_empty() && has_explained {
            return Clustered::Explained;
        }
        let (mut own, mut seen) = (Vec::new(), HashSet::new());
        for edit in edits {
            let varies = self.varied.contains(&edit.shape);
            let key = if varies {
                xxh3_64_with_seed(b"varied", edit.shape)
            } else {
                edit.signature
            };
            let is_shared = self
                .signatures
                .get(&edit.signature)
                .is_some_and(|count| *count > 1);
            if !varies && !is_shared {
                own.extend(edit.shown());
            } else if seen.insert(key) {
                self.join(key, &edit, varies, &change.url);
            }
        }
        Clustered::Own(own)
    }

    fn join(&mut self, key: u64, edit: &PageEdit<'_>, varies: bool, url: &str) {
        let cluster = self.clusters.entry(key).or_insert_with(|| Cluster {
            entry: DiffEntry {
                varies,
                pages: 0,
                ..DiffEntry::new(DiffKind::Changed)
            },
            samples: BTreeSet::new(),
        });
        cluster.entry.pages += 1;
        // The text is that of the first page in the order of URLs, whoever came first.
        if cluster
            .samples
            .first()
            .is_none_or(|first| url < first.as_str())
        {
            cluster.entry.show(edit.shown());
        }
        cluster.samples.insert(url.to_owned());
        if cluster.samples.len() > MOST_SAMPLES {
            cluster.samples.pop_last();
        }
    }

    /// The entries of edits that pages share.
    pub(crate) fn into_entries(self) -> Vec<DiffEntry> {
        let entries = self.clusters.into_values().map(|cluster| DiffEntry {
            urls: cluster.samples.into_iter().collect(),
            ..cluster.entry
        });
        entries.collect()
    }
}
