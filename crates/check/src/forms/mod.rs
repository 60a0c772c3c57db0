//! How findings are shown.
//!
//! Owns the forms: text, JSON, JSON lines, CSV, Markdown, HTML, SARIF, GitLab's, `JUnit`'s and
//! GitHub's.
//! It refuses to judge: severities, known findings and the end of a run come with the report.
//! Invariants: equal reports make equal bytes, no clock is asked, and nothing foreign leaves a form
//! that could steer a terminal, a browser or the program that reads it.

mod csv;
mod github;
mod gitlab;
mod groups;
pub mod html;
mod json;
mod junit;
mod markdown;
mod sarif;
mod text;
mod words;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use clewline_job::durable;
use clewline_job::escape::visible;
use clewline_job::report::TextStyle;
use thiserror::Error;

use crate::baseline::FINDINGS;
use crate::report::{CheckPointers, CheckReport};

pub use github::summary as github_summary;
pub use json::finding_row;
pub use words::sentence;

/// A form of the findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CheckForm {
    /// For a terminal.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// One JSON object for each finding.
    Jsonl,
    /// A table.
    Csv,
    /// For the comment of a pull request, or a summary.
    Markdown,
    /// The page `report.html`, which needs more than findings: see [`html`].
    Html,
    /// SARIF 2.1.0.
    Sarif,
    /// GitLab's code quality report.
    Gitlab,
    /// The XML of `JUnit`.
    Junit,
    /// The annotations of a workflow on GitHub.
    Github,
}

impl CheckForm {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Text,
        Self::Json,
        Self::Jsonl,
        Self::Csv,
        Self::Markdown,
        Self::Html,
        Self::Sarif,
        Self::Gitlab,
        Self::Junit,
        Self::Github,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Sarif => "sarif",
            Self::Gitlab => "gitlab",
            Self::Junit => "junit",
            Self::Github => "github",
        }
    }
}

/// A word that names no form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no form: write text, json, jsonl, csv, markdown, html, sarif, gitlab, junit or github"
)]
pub struct UnknownForm(String);

impl FromStr for CheckForm {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|form| form.name() == text)
            .ok_or_else(|| UnknownForm(visible(text).into_owned()))
    }
}

impl fmt::Display for CheckForm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How a form may look and what it points at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormContext {
    /// The folder and the command at its end.
    pub pointers: CheckPointers,
    /// Colour and width of the text.
    pub style: TextStyle,
}

/// Writes the findings in a form. The HTML of it shows the findings alone; [`html::write`] is told
/// of pages and redirects as well.
pub fn write(
    form: CheckForm,
    report: &CheckReport,
    context: &FormContext,
    out: &mut dyn Write,
) -> io::Result<()> {
    let location = context.pointers.location.as_deref();
    let location = location.unwrap_or(DEFAULT_LOCATION);
    match form {
        CheckForm::Text => text::write(report, context, out),
        CheckForm::Json => json::write(report, out),
        CheckForm::Jsonl => json::write_lines(report, out),
        CheckForm::Csv => csv::write(report, out),
        CheckForm::Markdown => {
            let page = markdown::page(report, &context.pointers, markdown::MOST_BYTES);
            out.write_all(page.as_bytes())
        }
        CheckForm::Html => html::write(report, html::SiteView::default(), out),
        CheckForm::Sarif => sarif::write(report, location, out),
        CheckForm::Gitlab => gitlab::write(report, location, out),
        CheckForm::Junit => junit::write(report, out),
        CheckForm::Github => github::annotations(report, location, out),
    }
}

/// Keeps the findings in a job folder, where the next check finds them as a baseline. The file is
/// written whole or not at all.
pub fn keep(report: &CheckReport, job: &Path) -> io::Result<()> {
    let path = job.join(FINDINGS);
    durable::make_folder(durable::parent(&path))?;
    let mut lines = Vec::new();
    json::write_lines(report, &mut lines)?;
    durable::write(&path, &lines)
}

/// The file that is named where a finding has none and nobody said which.
const DEFAULT_LOCATION: &str = "clewline.toml";

#[cfg(test)]
mod tests;
