//! Issues and changes: what the check and the comparison of a job found.
//!
//! Owns the pages around lists that the crates of the check and of the comparison make. It refuses
//! to know findings and edits. Invariant: those lists come escaped.

use clewline_job::escape;

use super::element::{empty, opening, push};
use super::{JobFrame, JobSection};

/// The findings of a check.
#[derive(Debug, Clone)]
pub struct IssuesPage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// The sentence of the check, with its end; empty where the job was not checked.
    pub sentence: String,
    /// When the crawl was checked, or why it was not; may be empty.
    pub when: String,
    /// The list, as `clewline_check::forms::html::list` makes it.
    pub list: String,
}

impl IssuesPage {
    /// The document.
    pub fn html(&self) -> String {
        let main = if self.sentence.is_empty() {
            let folder = format!("clewline check {}", self.frame.name);
            let how = empty("Find dead links and more:", &folder);
            format!(
                "{}<section>{how}</section>",
                opening("This crawl was not checked yet.", &self.when)
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
    /// The verdict of the comparison, with its end; empty where nothing was chosen.
    pub sentence: String,
    /// What was compared; may be empty.
    pub when: String,
    /// The jobs that it can be compared with.
    pub others: Vec<String>,
    /// The one that was chosen; empty for none.
    pub with: String,
    /// The entries, as `clewline_diff::changes_html` makes them.
    pub list: String,
}

impl ChangesPage {
    /// The document.
    pub fn html(&self) -> String {
        let mut main = match (self.sentence.is_empty(), self.others.is_empty()) {
            (true, true) => opening("There is no earlier crawl.", ""),
            (true, false) => opening("Choose an earlier crawl.", ""),
            (false, _) => opening(&self.sentence, &self.when),
        };
        if self.others.is_empty() && self.sentence.is_empty() {
            let command = format!("clewline diff OLD.crawl {}", self.frame.name);
            let how = empty("Compare it with another one:", &command);
            push(&mut main, format_args!("<section>{how}</section>"));
        }
        if !self.others.is_empty() {
            self.choice(&mut main);
        }
        main.push_str(&self.list);
        self.frame.document(None, "Changes", &main)
    }

    fn choice(&self, out: &mut String) {
        push(
            out,
            format_args!(
                "<form class=tools action=\"{}/changes\"><label>Earlier crawl <select name=with>",
                escape::html(&self.frame.base)
            ),
        );
        for other in &self.others {
            let selected = if *other == self.with { " selected" } else { "" };
            let name = escape::html(other);
            push(
                out,
                format_args!("<option value=\"{name}\"{selected}>{name}</option>"),
            );
        }
        out.push_str("</select></label><button>Compare</button></form>");
    }
}
