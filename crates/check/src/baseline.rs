//! Findings that are known: they are told, but do not fail a run.
//!
//! Owns the file of them, which is sorted and has one finding in each line, so that it can be kept
//! beside the code and its differences can be read; and the comparison with the findings of a run.
//! The findings that a job folder keeps are such a file, too. It refuses to know rules and
//! severities. Invariants: what is written is read as the same, and the same findings make the same
//! bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clewline_job::durable;
use clewline_job::escape::{json_text, visible};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::finding::CheckFinding;
use crate::ignores::CalendarDay;

/// The version of the file.
const FORMAT: u32 = 1;
/// A larger file is none of ours.
const LARGEST_FILE: u64 = 256 * 1024 * 1024;
/// Where a job folder keeps the findings of its last check.
pub const FINDINGS: &str = "check/findings.jsonl";

/// A file that cannot serve as a baseline.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// It cannot be read.
    #[error("the baseline {0} cannot be read: {1}. Write one with --update-baseline")]
    Unreadable(PathBuf, #[source] io::Error),
    /// It is too large.
    #[error(
        "the baseline {0} is larger than {LARGEST_FILE} bytes; mend some of its findings first"
    )]
    TooLarge(PathBuf),
    /// A line is none.
    #[error("{0}:{1} is no finding of a baseline: {2}. Write the file anew with --update-baseline")]
    Line(PathBuf, usize, String),
    /// It was written by a later build.
    #[error("the baseline {0} has version {1}, and this build reads {FORMAT}: use a newer build")]
    Version(PathBuf, u32),
}

/// A finding that is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// The rule.
    pub rule: String,
    /// The page.
    pub page: String,
    /// What the page refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What tells it apart otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// By what it is known again.
    pub fingerprint: String,
    /// The last day on which it is known; written by people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<CalendarDay>,
    /// Why it may stay; written by people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl BaselineEntry {
    fn from_finding(finding: &CheckFinding) -> Self {
        Self {
            rule: finding.rule.id.to_owned(),
            page: finding.page.as_str().to_owned(),
            target: finding.target.clone(),
            subject: finding.subject.clone(),
            fingerprint: fingerprint(finding),
            until: None,
            reason: None,
        }
    }

    /// The entry in one line: `links/broken on https://…: https://…`.
    pub fn line(&self) -> String {
        let about = self.target.as_deref().or(self.subject.as_deref());
        let about = about.map(|about| format!(": {about}")).unwrap_or_default();
        visible(&format!("{} on {}{about}", self.rule, self.page)).into_owned()
    }
}

/// The fingerprint of a finding as every file writes it.
pub fn fingerprint(finding: &CheckFinding) -> String {
    format!("{:016x}", finding.fingerprint())
}

/// The findings that are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeMap<String, BaselineEntry>,
}

/// The frame of the file, around its lines.
#[derive(Deserialize)]
struct BaselineFrame {
    v: u32,
}

impl Baseline {
    /// Reads a baseline: a file of its own, or the findings of a job folder's last check.
    pub fn open(path: &Path) -> Result<Self, BaselineError> {
        let path = if path.is_dir() {
            path.join(FINDINGS)
        } else {
            path.to_owned()
        };
        let unreadable = |error| BaselineError::Unreadable(path.clone(), error);
        let file = File::open(&path).map_err(unreadable)?;
        let mut text = String::new();
        let read = file.take(LARGEST_FILE + 1).read_to_string(&mut text);
        if read.map_err(unreadable)? as u64 > LARGEST_FILE {
            return Err(BaselineError::TooLarge(path));
        }
        Self::parse(&path, &text)
    }

    /// Reads the text of a file. Its lines stand for themselves, so that a merge that left a comma
    /// too few or too many does no harm, and a list of findings in JSON lines is read as well.
    pub fn parse(path: &Path, text: &str) -> Result<Self, BaselineError> {
        let mut entries = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim().trim_end_matches(',');
            if line.starts_with(r#"{"v":"#) && line.ends_with('[') {
                let frame: BaselineFrame = serde_json::from_str(&format!("{line}]}}"))
                    .map_err(|error| wrong(path, at, &error))?;
                if frame.v > FORMAT {
                    return Err(BaselineError::Version(path.to_owned(), frame.v));
                }
                continue;
            }
            if matches!(line, "" | "]}") {
                continue;
            }
            let entry: BaselineEntry =
                serde_json::from_str(line).map_err(|error| wrong(path, at, &error))?;
            entries.insert(entry.fingerprint.clone(), entry);
        }
        Ok(Self { entries })
    }

    /// The findings of a run as the next baseline; what people wrote to entries that stay is kept.
    pub fn from_findings<'a>(
        findings: impl IntoIterator<Item = &'a CheckFinding>,
        before: Option<&Self>,
    ) -> Self {
        let entries = findings.into_iter().map(|finding| {
            let mut entry = BaselineEntry::from_finding(finding);
            let before = before.and_then(|before| before.entries.get(&entry.fingerprint));
            if let Some(before) = before {
                entry.until = before.until;
                entry.reason.clone_from(&before.reason);
            }
            (entry.fingerprint.clone(), entry)
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// The file, sorted by rule, page and target.
    pub fn to_text(&self) -> String {
        let mut entries: Vec<_> = self.entries.values().collect();
        entries.sort();
        let mut out = format!("{{\"v\":{FORMAT},\"findings\":[\n").into_bytes();
        for (at, entry) in entries.iter().enumerate() {
            let line = serde_json::to_string(entry).expect("texts can be written");
            json_text(&line, &mut out);
            let is_last = at + 1 == entries.len();
            out.extend_from_slice(if is_last { b"\n" } else { b",\n" });
        }
        out.extend_from_slice(b"]}\n");
        String::from_utf8(out).expect("escapes are ASCII and the rest was text")
    }

    /// Writes the file whole or not at all.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        durable::write(path, self.to_text().as_bytes())
    }

    /// Whether a finding is known today.
    pub fn knows(&self, finding: &CheckFinding, today: CalendarDay) -> bool {
        let entry = self.entries.get(&fingerprint(finding));
        entry.is_some_and(|entry| entry.until.is_none_or(|until| until >= today))
    }

    /// The entries that do not occur among the findings of a run, sorted. A run that was limited
    /// to some rules says nothing of the others, so it is asked which were judged.
    pub fn gone<'a>(
        &self,
        findings: impl IntoIterator<Item = &'a CheckFinding>,
        is_judged: &dyn Fn(&str) -> bool,
    ) -> Vec<BaselineEntry> {
        let found: BTreeSet<String> = findings.into_iter().map(fingerprint).collect();
        let gone = self.entries.values();
        let gone =
            gone.filter(|entry| is_judged(&entry.rule) && !found.contains(&entry.fingerprint));
        let mut gone: Vec<_> = gone.cloned().collect();
        gone.sort();
        gone
    }

    /// The entries of rules that a run did not judge, which the next baseline keeps.
    pub fn keep_unjudged(&mut self, before: &Self, is_judged: &dyn Fn(&str) -> bool) {
        let kept = before.entries.iter();
        let kept = kept.filter(|(_, entry)| !is_judged(&entry.rule));
        let kept: Vec<_> = kept
            .map(|(key, entry)| (key.clone(), entry.clone()))
            .collect();
        self.entries.extend(kept);
    }

    /// How many findings are known.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn wrong(path: &Path, at: usize, error: &serde_json::Error) -> BaselineError {
    let why = visible(&error.to_string()).into_owned();
    BaselineError::Line(path.to_owned(), at + 1, why)
}

#[cfg(test)]
mod tests;
