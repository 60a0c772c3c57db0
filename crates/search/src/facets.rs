//! Counts of what matches, by host, language and type.
//!
//! Owns the counting in one pass over the matches, in columns. Memory is bounded by the values
//! that an index has, and by [`MOST_KEPT`] for what leaves a segment.

use std::collections::HashMap;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::StrColumn;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

/// Values of a column that a segment hands on, the most frequent ones.
const MOST_KEPT: usize = 1000;

/// The columns that are counted.
pub(crate) const COLUMNS: [&str; 3] = ["host", "language", "content_type"];

/// Counts matches.
pub(crate) struct Counter;

/// How many there are, and how many of each value of each column.
#[derive(Debug, Default)]
pub(crate) struct FacetCounts {
    pub(crate) total: u64,
    pub(crate) values: [HashMap<String, u64>; COLUMNS.len()],
}

impl FacetCounts {
    /// The most frequent values of a column; equal counts in the order of the alphabet.
    pub(crate) fn top(&self, column: usize, most: usize) -> Vec<(String, u64)> {
        let mut rows: Vec<(String, u64)> = self.values[column]
            .iter()
            .map(|(value, count)| (value.clone(), *count))
            .collect();
        rows.sort_unstable_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(&right.0)));
        rows.truncate(most);
        rows
    }
}

pub(crate) struct SegmentCounter {
    total: u64,
    columns: [Option<ColumnCounter>; COLUMNS.len()],
}

/// Counts the values of one column; every page has at most one.
struct ColumnCounter {
    column: StrColumn,
    counts: Vec<u64>,
    /// The ordinals of a block of pages.
    ordinals: Vec<Option<u64>>,
}

impl ColumnCounter {
    fn count(&mut self, documents: &[DocId]) {
        self.ordinals.clear();
        self.ordinals.resize(documents.len(), None);
        self.column.ords().first_vals(documents, &mut self.ordinals);
        for ordinal in self.ordinals.iter().flatten() {
            if let Some(count) = self.counts.get_mut(*ordinal as usize) {
                *count += 1;
            }
        }
    }
}

impl Collector for Counter {
    type Fruit = FacetCounts;
    type Child = SegmentCounter;

    fn for_segment(
        &self,
        _: SegmentOrdinal,
        segment: &SegmentReader,
    ) -> tantivy::Result<SegmentCounter> {
        let mut columns = [const { None }; COLUMNS.len()];
        for (column, name) in columns.iter_mut().zip(COLUMNS) {
            let found = segment.fast_fields().str(name)?;
            *column = found.map(|column| ColumnCounter {
                counts: vec![0; column.num_terms()],
                ordinals: Vec::new(),
                column,
            });
        }
        Ok(SegmentCounter { total: 0, columns })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(
        &self,
        parts: Vec<tantivy::Result<FacetCounts>>,
    ) -> tantivy::Result<FacetCounts> {
        let mut all = FacetCounts::default();
        for part in parts {
            let part = part?;
            all.total += part.total;
            for (into, from) in all.values.iter_mut().zip(part.values) {
                for (value, count) in from {
                    *into.entry(value).or_default() += count;
                }
            }
        }
        Ok(all)
    }
}

impl SegmentCollector for SegmentCounter {
    type Fruit = tantivy::Result<FacetCounts>;

    fn collect(&mut self, document: DocId, _: Score) {
        self.collect_block(&[document]);
    }

    fn collect_block(&mut self, documents: &[DocId]) {
        self.total += documents.len() as u64;
        for column in self.columns.iter_mut().flatten() {
            column.count(documents);
        }
    }

    fn harvest(self) -> tantivy::Result<FacetCounts> {
        let mut out = FacetCounts {
            total: self.total,
            ..FacetCounts::default()
        };
        for (values, column) in out.values.iter_mut().zip(self.columns) {
            let Some(ColumnCounter { column, counts, .. }) = column else {
                continue;
            };
            let mut met: Vec<(u64, u64)> = (0..).zip(counts).filter(|row| row.1 > 0).collect();
            met.sort_unstable_by_key(|row| std::cmp::Reverse(row.1));
            for (ordinal, count) in met.into_iter().take(MOST_KEPT) {
                let mut value = String::new();
                if column.ord_to_str(ordinal, &mut value)? {
                    values.insert(value, count);
                }
            }
        }
        Ok(out)
    }
}
