//! The log of changes.
//!
//! Owns `audit.log`: one line of JSON for each change that somebody asked for, with who, what, before
//! and after. Invariant: a change whose line cannot be written does not happen.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use clewline_warc::Moment;
use serde::Serialize;

use super::jobs::JobPlaces;
use super::reply::ApiProblem;

/// The file's name.
const FILE: &str = "audit.log";

/// One change.
#[derive(Debug, Serialize)]
pub(super) struct AuditLine<'a> {
    /// What was asked for.
    pub(super) action: &'a str,
    /// Of which job.
    pub(super) job: &'a str,
    /// How that was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<serde_json::Value>,
    /// What it is to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<serde_json::Value>,
}

#[derive(Serialize)]
struct Written<'a> {
    at: String,
    who: &'a str,
    #[serde(flatten)]
    line: &'a AuditLine<'a>,
}

/// Writes the log.
#[derive(Debug)]
pub(super) struct AuditLog {
    folder: Option<PathBuf>,
    writing: Mutex<()>,
}

impl AuditLog {
    /// The log of a served folder; jobs that were named have one each.
    pub(super) fn for_places(jobs: &JobPlaces) -> Self {
        Self {
            folder: jobs.folder().map(Path::to_owned),
            writing: Mutex::new(()),
        }
    }

    /// Writes a line, before the change happens.
    pub(super) fn write(&self, job: &Path, line: &AuditLine<'_>) -> Result<(), ApiProblem> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let written = Written {
            at: Moment::since_1970(since.unwrap_or_default()).to_milliseconds(),
            who: "operator",
            line,
        };
        let mut text = serde_json::to_vec(&written).expect("the line is made of texts");
        clewline_job::escape::json_tail(&mut text, 0);
        text.push(b'\n');
        let path = self.folder.as_deref().unwrap_or(job).join(FILE);
        let _one = self.writing.lock();
        let opened = OpenOptions::new().append(true).create(true).open(path);
        let appended = opened.and_then(|mut file| file.write_all(&text));
        appended.map_err(|error| {
            let why = format!(
                "audit.log cannot be written ({}), so nothing was changed",
                error.kind()
            );
            ApiProblem::new(500, why)
        })
    }
}
