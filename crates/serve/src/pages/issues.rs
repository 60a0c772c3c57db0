//! Issues and changes: what the check and the comparison of a job found.
//!
//! Owns the pages around lists that the crates of the check and of the comparison make. It refuses
//! to know findings and edits. Invariant: those lists come escaped.

use super::element::{empty, opening};
use super::{JobFrame, JobSection};

/// The findings of a check.
#[derive(Debug, Clone)]
pub struct IssuesPage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// The sentence of the check, with its end; empty where the job was not checked.
    pub sentence: String,
    /// When the crawl was checked; may be empty.
    pub when: String,
    /// The list, as `clewline_check::forms::html::list` makes it.
    pub list: String,
}

impl IssuesPage {
    /// The document.
    pub fn html(&self) -> String {
        let main = if self.sentence.is_empty() {
            let folder = format!("clewline check {}.crawl", self.frame.name);
            let how = empty("Find dead links and more:", &folder);
            format!(
                "{}<section>{how}</section>",
                opening("This crawl was not checked yet.", "")
            )
        } else {
            format!("{}{}", opening(&self.sentence, &self.when), self.list)
        };
        self.frame
            .document(Some(JobSection::Issues), "Issues", &main)
    }
}

/// What changed since an earlier crawl.
#[derive(Debug, Clone)]
pub struct ChangesPage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// The verdict of the comparison, with its end; empty where there is no earlier crawl.
    pub sentence: String,
    /// What was compared; may be empty.
    pub when: String,
    /// The entries, as `clewline_diff` makes them.
    pub list: String,
}

impl ChangesPage {
    /// The document.
    pub fn html(&self) -> String {
        let main = if self.sentence.is_empty() {
            let folder = format!("clewline diff OLD.crawl {}.crawl", self.frame.name);
            let how = empty("Compare it with another one:", &folder);
            format!(
                "{}<section>{how}</section>",
                opening("There is no earlier crawl.", "")
            )
        } else {
            format!("{}{}", opening(&self.sentence, &self.when), self.list)
        };
        self.frame.document(None, "Changes", &main)
    }
}
