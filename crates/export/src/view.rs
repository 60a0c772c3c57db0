//! Views in a job folder, brought up to date with it.
//!
//! Owns where views lie in a job and how far each is. A view is what an export of the same form
//! makes, without filters and with duplicates folded: which page stands for others may change
//! with every page that comes, so a view that is behind is made as a whole and takes the place of
//! the old one. Invariant: a view is whole; the place that is kept is that of the log when the
//! view was made, so a crash at any moment costs work, never correctness.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clewline_content::{ItemRules, RuleError};
use clewline_job::Job;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::ExistingOutput;
use crate::draft::Draft;
use crate::error::ExportError;
use crate::export::{ExportProgress, Exported, Options, Output, export};
use crate::form::Form;

/// The folder of views in a job folder.
pub const FOLDER: &str = "views";
/// What keeps how far each is.
const STANDINGS: &str = "standings.json";
/// Raised when views come to look otherwise.
const FORMAT: u32 = 2;

/// How far a view is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Standing {
    v: u32,
    /// Bytes of `urls.jsonl`.
    urls: u64,
    /// Bytes of the link log.
    links: u64,
    /// A digest of the rules; 0 without.
    rules: u64,
}

/// Rules for views, which are made again when the rules change.
#[derive(Debug, Clone)]
pub struct ViewRules {
    rules: ItemRules,
    digest: u64,
}

impl ViewRules {
    /// Reads rules.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        Ok(Self {
            rules: ItemRules::parse(text)?,
            digest: xxh3_64(text.as_bytes()),
        })
    }
}

impl From<ViewRules> for ItemRules {
    fn from(rules: ViewRules) -> Self {
        rules.rules
    }
}

/// Where the view of a form lies in a job folder.
pub fn view_path(job: &Path, form: Form) -> PathBuf {
    let name = match form {
        Form::Jsonl => "pages.jsonl",
        Form::Csv => "pages.csv",
        Form::Sitemap => "sitemap.xml",
        Form::Duplicates => "duplicates.csv",
        Form::Chunks => "chunks.jsonl",
        folder => folder.name(),
    };
    job.join(FOLDER).join(name)
}

/// Brings the view of a form up to date; nothing is done if it is.
pub fn update(
    job: &Path,
    form: Form,
    rules: Option<&ViewRules>,
    tell: &mut dyn FnMut(ExportProgress),
) -> Result<Option<Exported>, ExportError> {
    let opened = Job::open(job)?;
    let standing = Standing {
        v: FORMAT,
        urls: opened.urls_end().0,
        links: opened.links_end().0,
        rules: rules.map_or(0, |rules| rules.digest),
    };
    let path = view_path(job, form);
    let file = job.join(FOLDER).join(STANDINGS);
    let mut standings = read(&file);
    if standings.get(form.name()) == Some(&standing) && path.exists() {
        return Ok(None);
    }
    let output = Output::Path(&path, ExistingOutput::Replace);
    let options = Options {
        rules: rules.map(|rules| rules.rules.clone()),
        ..Options::default()
    };
    let done = export(job, form, output, &options, tell)?;
    standings.insert(form.name().to_owned(), standing);
    write(&file, &standings)?;
    Ok(Some(done))
}

/// What is damaged or missing is made again.
fn read(file: &Path) -> BTreeMap<String, Standing> {
    let text = fs::read(file).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn write(file: &Path, standings: &BTreeMap<String, Standing>) -> Result<(), ExportError> {
    let (draft, mut out) = Draft::file(file, ExistingOutput::Replace)?;
    let text = serde_json::to_string(standings);
    let text = text.map_err(|error| ExportError::output(file)(error.into()))?;
    out.put(&text)?;
    out.close()?;
    draft.finish()
}
