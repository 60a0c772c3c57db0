//! What needs no page to be read: what is gone and new, statuses, redirects, other files.
//!
//! Owns which of these are one entry. Invariant: each URL is told once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::moving::Moved;
use super::{Comparing, WhichSide};
use crate::entry::{DiffEntry, DiffKind, MOST_SAMPLES};
use crate::moves::MoveCertainty;
use crate::options::DiffError;
use crate::pairs::Pairs;
use crate::side::SideRow;

/// Equal changes, by what they are from and to.
#[derive(Default)]
struct EqualChanges(BTreeMap<(String, String), (u64, BTreeSet<String>)>);

impl EqualChanges {
    fn add(&mut self, from: String, to: String, url: String) {
        let (pages, samples) = self.0.entry((from, to)).or_default();
        *pages += 1;
        samples.insert(url);
        if samples.len() > MOST_SAMPLES {
            samples.pop_last();
        }
    }

    fn into_entries(self, kind: DiffKind) -> impl Iterator<Item = DiffEntry> {
        self.0
            .into_iter()
            .map(move |((from, to), (pages, samples))| DiffEntry {
                pages,
                urls: samples.into_iter().collect(),
                from: Some(from),
                to: Some(to),
                ..DiffEntry::new(kind)
            })
    }
}

impl Comparing<'_> {
    pub(super) fn tell_rest(&mut self, pairs: &Pairs, moved: &Moved) -> Result<(), DiffError> {
        let mut likely = HashMap::new();
        for ((old, new), certainty, reason) in &moved.pairs {
            if *certainty == MoveCertainty::Likely {
                likely.insert(old.key, (self.url(WhichSide::New, new)?, *reason));
            }
        }
        for row in pairs
            .gone
            .iter()
            .filter(|row| !moved.taken.contains(&row.key))
        {
            let url = self.url(WhichSide::Old, row)?;
            let mut entry = DiffEntry::about(DiffKind::Gone, url);
            if let Some((to, reason)) = likely.remove(&row.key) {
                entry.to = Some(to);
                entry.certainty = Some(MoveCertainty::Likely);
                entry.reason = Some(reason);
            }
            self.counts.gone += 1;
            self.add(entry);
        }
        for row in pairs
            .new
            .iter()
            .filter(|row| !moved.taken.contains(&row.key))
        {
            let url = self.url(WhichSide::New, row)?;
            self.counts.new += 1;
            self.add(DiffEntry::about(DiffKind::New, url));
        }
        self.tell_statuses(pairs, moved)?;
        self.tell_redirects(pairs, moved)?;
        self.tell_files(pairs)
    }

    fn tell_statuses(&mut self, pairs: &Pairs, moved: &Moved) -> Result<(), DiffError> {
        let mut changes = EqualChanges::default();
        for (old, new) in pairs
            .statuses
            .iter()
            .filter(|(old, _)| !moved.taken.contains(&old.key))
        {
            let status = |row: &SideRow| row.status.to_string();
            changes.add(status(old), status(new), self.url(WhichSide::New, new)?);
            self.counts.status += 1;
        }
        for entry in changes.into_entries(DiffKind::Status) {
            self.add(entry);
        }
        Ok(())
    }

    /// Redirects that lead elsewhere, beyond what moved: a host or a folder that got another name is
    /// one entry.
    fn tell_redirects(&mut self, pairs: &Pairs, moved: &Moved) -> Result<(), DiffError> {
        let mut changes = EqualChanges::default();
        for (old, new) in &pairs.redirects {
            let then = self
                .record(WhichSide::Old, old)?
                .redirect_to
                .unwrap_or_default();
            let then = self.options.mapped(&then);
            let then = moved
                .targets
                .get(&crate::side::key_of(&then))
                .cloned()
                .unwrap_or(then);
            let now = self
                .record(WhichSide::New, new)?
                .redirect_to
                .unwrap_or_default();
            let now = self.options.mapped(&now);
            if then == now {
                continue;
            }
            let (from, to) = without_common_end(&then, &now);
            changes.add(
                from.to_owned(),
                to.to_owned(),
                self.url(WhichSide::New, new)?,
            );
            self.counts.redirects += 1;
        }
        for entry in changes.into_entries(DiffKind::Redirect) {
            self.add(entry);
        }
        Ok(())
    }

    fn tell_files(&mut self, pairs: &Pairs) -> Result<(), DiffError> {
        let mut changes = EqualChanges::default();
        for (old, new) in &pairs.files {
            let media =
                |record: clewline_job::record::Record| record.content_type.unwrap_or_default();
            let then = media(self.record(WhichSide::Old, old)?);
            let now = media(self.record(WhichSide::New, new)?);
            changes.add(then, now, self.url(WhichSide::New, new)?);
        }
        for entry in changes.into_entries(DiffKind::File) {
            self.add(entry);
        }
        Ok(())
    }
}

/// Two URLs without the segments at their ends that are the same.
fn without_common_end<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let equal = one
        .bytes()
        .rev()
        .zip(other.bytes().rev())
        .take_while(|(a, b)| a == b);
    let mut length = equal.count();
    // The end begins with a slash.
    while length > 0 && one.as_bytes()[one.len() - length] != b'/' {
        length -= 1;
    }
    if length == one.len().min(other.len()) {
        return (one, other);
    }
    (&one[..one.len() - length], &other[..other.len() - length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_hosts_and_folders_are_one_change() {
        for (one, other, expected) in [
            ("http://a/x/1", "http://b/x/1", ("http://a", "http://b")),
            ("http://a/x/1", "http://a/y/1", ("http://a/x", "http://a/y")),
            ("http://a/1", "http://a/2", ("http://a/1", "http://a/2")),
            ("http://a/1", "https://a/1", ("http:", "https:")),
            ("", "http://a/", ("", "http://a/")),
        ] {
            assert_eq!(without_common_end(one, other), expected, "{one} {other}");
        }
    }
}
