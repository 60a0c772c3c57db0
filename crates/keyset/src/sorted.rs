//! Keys in their order, from one run or from many places at once.
//!
//! Owns the readers that a merge, an export and a check of everything share. Invariant: keys come
//! sorted, each once, and what a run lists is all there.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::vec;

use clewline_core::key::Key;

use crate::error::KeysError;
use crate::run::{Run, damaged};

/// The keys of a run, read many blocks at a time.
pub(crate) struct RunKeys {
    run: Arc<Run>,
    /// How many keys are to come, where it began with the first.
    left: Option<u64>,
    /// What is left of the chunk.
    ready: vec::IntoIter<Key>,
    chunk: Vec<u8>,
    /// The first block that was not read.
    next: usize,
}

impl RunKeys {
    /// All keys.
    pub(crate) fn all(run: Arc<Run>) -> Self {
        Self {
            left: Some(run.listing.keys),
            ready: Vec::new().into_iter(),
            chunk: Vec::new(),
            next: 0,
            run,
        }
    }

    /// Those at or behind a key.
    pub(crate) fn starting_at(run: Arc<Run>, key: Key) -> Result<Self, KeysError> {
        let mut keys = Self {
            left: None,
            next: run.block_from(key),
            ..Self::all(run)
        };
        while keys.ready.as_slice().is_empty() && keys.next < keys.run.blocks() {
            keys.read()?;
            let before = keys.ready.as_slice().partition_point(|other| *other < key);
            keys.ready.by_ref().take(before).for_each(drop);
        }
        Ok(keys)
    }

    /// The next key, while there is one.
    pub(crate) fn next(&mut self) -> Result<Option<Key>, KeysError> {
        if self.ready.len() == 0 {
            if self.left == Some(0) || (self.left.is_none() && self.next == self.run.blocks()) {
                return Ok(None);
            }
            self.read()?;
        }
        let key = self.ready.next();
        let key = key.ok_or_else(|| KeysError::from_read(&self.run.path, damaged()))?;
        if let Some(left) = &mut self.left {
            let less = left.checked_sub(1);
            *left = less.ok_or_else(|| KeysError::from_read(&self.run.path, damaged()))?;
        }
        Ok(Some(key))
    }

    fn read(&mut self) -> Result<(), KeysError> {
        let read = self.run.read_keys(self.next, &mut self.chunk);
        let (keys, next) = read.map_err(|error| KeysError::from_read(&self.run.path, error))?;
        self.ready = keys.into_iter();
        self.next = next;
        Ok(())
    }
}

/// Where sorted keys come from.
pub(crate) enum KeySource {
    Run(RunKeys),
    Memory(vec::IntoIter<Key>),
}

impl KeySource {
    fn next(&mut self) -> Result<Option<Key>, KeysError> {
        match self {
            Self::Run(keys) => keys.next(),
            Self::Memory(keys) => Ok(keys.next()),
        }
    }
}

/// The keys of several sources in their order, each once.
pub(crate) struct MergedKeys {
    /// The next key of each source that has one.
    heads: Vec<(Key, KeySource)>,
}

impl MergedKeys {
    pub(crate) fn new(sources: impl Iterator<Item = KeySource>) -> Result<Self, KeysError> {
        let mut heads = Vec::new();
        for mut source in sources {
            let first = source.next()?;
            heads.extend(first.map(|first| (first, source)));
        }
        Ok(Self { heads })
    }

    /// The next key, while there is one.
    pub(crate) fn next(&mut self) -> Result<Option<Key>, KeysError> {
        let Some(least) = self.heads.iter().map(|(key, _)| *key).min() else {
            return Ok(None);
        };
        let mut at = 0;
        while let Some((key, rest)) = self.heads.get_mut(at) {
            if *key == least {
                let Some(next) = rest.next()? else {
                    self.heads.swap_remove(at);
                    continue;
                };
                *key = next;
            }
            at += 1;
        }
        Ok(Some(least))
    }
}

/// The keys of a range that were known when the export began, sorted, each once.
pub struct ExportedKeys {
    keys: MergedKeys,
    last: Key,
}

impl ExportedKeys {
    /// Of these runs, and of keys in memory that are sorted and within the range.
    pub(crate) fn new(
        runs: Vec<Arc<Run>>,
        in_memory: Vec<Key>,
        range: &RangeInclusive<Key>,
    ) -> Result<Self, KeysError> {
        let mut sources = vec![KeySource::Memory(in_memory.into_iter())];
        for run in runs {
            let keys = RunKeys::starting_at(run, *range.start())?;
            sources.push(KeySource::Run(keys));
        }
        Ok(Self {
            keys: MergedKeys::new(sources.into_iter())?,
            last: *range.end(),
        })
    }
}

impl Iterator for ExportedKeys {
    type Item = Result<Key, KeysError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.keys.next().transpose()?;
        next.map(|key| (key <= self.last).then_some(key))
            .transpose()
    }
}
