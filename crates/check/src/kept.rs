//! The findings that a job folder keeps of its last check.
//!
//! Owns the way back from their lines, which `forms` writes, to findings. It refuses to judge: how bad
//! each is and whether it is known was decided when it was written. Invariants: a line that is none
//! costs that line only and is counted; memory is bounded, whatever the file holds.

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::Path;

use clewline_core::url::CrawlUrl;
use serde::Deserialize;

use crate::baseline::FINDINGS;
use crate::finding::{CheckFinding, FindingPlace, MOST_SAMPLES};
use crate::report::JudgedFinding;
use crate::rule::Severity;
use crate::rules;

/// Findings that are read; the worst come first in the file.
const MOST_FINDINGS: usize = 100_000;
/// Bytes that are read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What a folder keeps.
#[derive(Debug, Default)]
pub struct KeptFindings {
    /// The findings, in the order of the file.
    pub findings: Vec<JudgedFinding>,
    /// Lines that are none, or of rules that this build does not know.
    pub unread: u64,
    /// There are more than are read.
    pub is_cut: bool,
}

/// A line of the file.
#[derive(Deserialize)]
struct KeptLine {
    rule: String,
    severity: Severity,
    page: String,
    target: Option<String>,
    subject: Option<String>,
    evidence: String,
    mend: Option<String>,
    file: Option<String>,
    place: Option<KeptPlace>,
    count: u64,
    #[serde(default)]
    samples: Vec<String>,
    known: bool,
}

#[derive(Deserialize)]
struct KeptPlace {
    byte: u32,
    line: u32,
    column: u32,
    #[serde(default)]
    text: String,
}

impl KeptFindings {
    /// Reads what a job folder keeps; an error of the kind `NotFound` if it was never checked.
    pub fn read(job: &Path) -> io::Result<Self> {
        let file = File::open(job.join(FINDINGS))?;
        let is_cut = file.metadata()?.len() > MOST_BYTES;
        let mut kept = Self::from_lines(BufReader::new(file.take(MOST_BYTES)))?;
        kept.is_cut |= is_cut;
        Ok(kept)
    }

    fn from_lines(lines: impl io::BufRead) -> io::Result<Self> {
        let mut kept = Self::default();
        for line in lines.split(b'\n') {
            if kept.findings.len() >= MOST_FINDINGS {
                kept.is_cut = true;
                break;
            }
            match finding_of(&line?) {
                Some(finding) => kept.findings.push(finding),
                None => kept.unread += 1,
            }
        }
        Ok(kept)
    }
}

fn finding_of(line: &[u8]) -> Option<JudgedFinding> {
    let line: KeptLine = serde_json::from_slice(line).ok()?;
    let url = |text: &String| CrawlUrl::parse(text).ok();
    let finding = CheckFinding {
        rule: rules::find(&line.rule).ok()?,
        page: url(&line.page)?,
        target: line.target,
        subject: line.subject,
        place: line.place.map(|place| FindingPlace {
            byte: place.byte,
            line: place.line,
            column: place.column,
            text: place.text,
        }),
        evidence: line.evidence,
        mend: line.mend,
        count: line.count,
        samples: line
            .samples
            .iter()
            .filter_map(url)
            .take(MOST_SAMPLES)
            .collect(),
    };
    Some(JudgedFinding {
        finding,
        severity: line.severity,
        known: line.known,
        file: line.file,
    })
}

/// Fuzz body: bytes as kept findings. Nothing breaks, and what can be read is written and read the
/// same again.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    let read = KeptFindings::from_lines(data).expect("memory can be read");
    for one in &read.findings {
        let written = crate::forms::finding_row(one).to_string();
        let again = finding_of(written.as_bytes()).expect("what was written can be read");
        assert_eq!(&again, one);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::forms::finding_row;
    use crate::report::samples;

    #[test]
    fn findings_come_back_as_they_were() {
        let mut findings = samples::report().findings;
        // The samples have rules of their own, too.
        findings.retain(|one| rules::find(one.finding.rule.id).is_ok());
        assert!(findings.len() > 1);
        let lines: Vec<String> = findings
            .iter()
            .map(|one| finding_row(one).to_string())
            .collect();
        let text = lines.join("\nno finding\n");
        let kept = KeptFindings::from_lines(text.as_bytes()).unwrap();
        assert_eq!(kept.findings, findings);
        assert_eq!(kept.unread, findings.len() as u64 - 1);
        assert!(!kept.is_cut);
    }

    #[test]
    fn a_folder_that_was_not_checked_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let error = KeptFindings::read(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    proptest! {
        #[test]
        fn whatever_a_line_holds_it_costs_that_line_only(
            rule in "links/broken|index/[a-z]{1,9}",
            page in "https://a\\.test/[a-z\"\\\\]{0,9}",
            text in any::<String>(),
            cut in 0..200_usize,
        ) {
            let line = serde_json::json!({
                "rule": rule, "severity": "error", "page": page, "evidence": text, "count": 1,
                "samples": [page, text], "known": false, "subject": text,
            });
            let line = line.to_string();
            fuzz(line.as_bytes());
            fuzz(&line.as_bytes()[..cut.min(line.len())]);
        }
    }
}
