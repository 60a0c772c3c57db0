//! What changed between two crawls.
//!
//! Owns which crawl a job is compared with: another job of the place, or the one that it updates. It
//! refuses to know how crawls are compared and how changes look. Invariants: a request names jobs, never
//! paths; a crawl that runs is not compared, nor one that is too large.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use clewline::AnswerReader;
use clewline_diff::{
    DiffCounts, DiffEntry, DiffKind, DiffOptions, Difference, PayloadCounts, changes_html, compare,
    verdict,
};
use clewline_job::{Job, JobFile};
use serde::Serialize;

use super::App;
use super::background::{BackgroundCache, BackgroundResult};
use super::jobs::is_running;
use super::reply::{ApiProblem, ApiReply, Numbered, parameter, wanted};
use crate::server::ServerRequest;

/// Larger crawls are compared by the command only.
const MOST_URLS: u64 = 100_000;
/// Rows of a page unless somebody wants more or less, and at most.
const USUAL_ROWS: usize = 100;
const MOST_ROWS: usize = 1_000;
/// Jobs that are offered for a comparison.
const MOST_OFFERED: usize = 200;

/// Two jobs, and how much each held.
pub(super) type ChangesKey = [(PathBuf, u64); 2];

/// Where comparisons are made.
pub(super) type ChangesCache = BackgroundCache<ChangesKey, Difference>;

/// Two crawls that are to be compared.
#[derive(Debug)]
pub(super) struct ComparedJobs {
    /// What the earlier one is called.
    pub(super) old: String,
    paths: [PathBuf; 2],
}

/// Some changes.
#[derive(Debug, Serialize)]
struct ChangeList<'a> {
    /// The earlier crawl.
    with: &'a str,
    sentence: String,
    counts: DiffCounts,
    payload: PayloadCounts,
    /// The later crawl did not come to its end.
    is_part: bool,
    /// Changes that match.
    total: usize,
    rows: Vec<&'a DiffEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// The jobs that one can be compared with, by name.
pub(super) fn offered(app: &App, id: &str) -> Vec<String> {
    let others = app.jobs.all().into_iter().map(|(name, _)| name);
    others
        .filter(|name| name != id)
        .take(MOST_OFFERED)
        .collect()
}

/// The crawl that a request names, or the one that the job updates; nothing if there is neither.
pub(super) fn wished(
    app: &App,
    request: &ServerRequest,
    job: &Path,
) -> Result<Option<ComparedJobs>, ApiProblem> {
    let named = parameter(request, "with").filter(|name| !name.is_empty());
    let (old, path) = match named {
        Some(name) => {
            let path = app.jobs.find(&name);
            let path = path.ok_or_else(|| ApiProblem::new(404, "there is no such earlier job"))?;
            (name, path)
        }
        None => match JobFile::read(job).ok().and_then(|file| file.updated_from()) {
            Some(path) => {
                let name = path.file_name().map(|name| name.to_string_lossy());
                (name.unwrap_or_default().into_owned(), path)
            }
            None => return Ok(None),
        },
    };
    let paths = [path, job.to_owned()];
    Ok(Some(ComparedJobs { old, paths }))
}

impl ComparedJobs {
    /// What changed, or why that is not known.
    pub(super) fn difference(&self, app: &App) -> BackgroundResult<Difference> {
        let mut held = [0; 2];
        for (path, held) in self.paths.iter().zip(&mut held) {
            let Ok(status) = app.jobs.status(path) else {
                return BackgroundResult::Failed("one of the crawls cannot be read".to_owned());
            };
            if is_running(status.state) {
                let why = "one of the crawls runs; they are compared when it has ended";
                return BackgroundResult::Failed(why.to_owned());
            }
            if status.done > MOST_URLS {
                let why = "the crawls are too large to be compared here";
                return BackgroundResult::Failed(why.to_owned());
            }
            *held = status.done;
        }
        let [old, new] = self.paths.clone();
        let key = [(old.clone(), held[0]), (new.clone(), held[1])];
        app.changes.ask(&key, move || compared(&old, &new))
    }
}

fn compared(old: &Path, new: &Path) -> Result<Difference, String> {
    let opened = |path| Job::open(path).map_err(|_| "one of the crawls cannot be read".to_owned());
    let (old, new) = (opened(old)?, opened(new)?);
    let options = DiffOptions {
        // A crawl beside it needs the other cores.
        threads: NonZero::new(1),
        ..DiffOptions::default()
    };
    let answers = AnswerReader::default();
    let found = compare([&old, &new], &answers.reader(), &options, &mut |_| {});
    found.map_err(|_| "the pages of the crawls cannot be compared".to_owned())
}

/// The sentence and the list for a page.
pub(super) fn shown(difference: &Difference) -> (String, String) {
    (verdict(difference), changes_html(difference))
}

/// Answers a program.
pub(super) fn answer(
    app: &App,
    request: &ServerRequest,
    job: &Path,
) -> Result<ApiReply, ApiProblem> {
    let kind = match parameter(request, "kind") {
        None => None,
        Some(name) => {
            let found = DiffKind::ALL.into_iter().find(|kind| kind.name() == name);
            let names = DiffKind::ALL.map(DiffKind::name).join(", ");
            Some(found.ok_or_else(|| ApiProblem::new(400, format!("kind is one of {names}")))?)
        }
    };
    let most = wanted(request, USUAL_ROWS, MOST_ROWS)?;
    let Some(jobs) = wished(app, request, job)? else {
        let why = "the job updates no earlier one; name one by `with`";
        return Err(ApiProblem::new(409, why));
    };
    let difference = match jobs.difference(app) {
        BackgroundResult::Made(difference) => difference,
        BackgroundResult::Making => return Ok(ApiReply::making()),
        BackgroundResult::Failed(why) => return Err(ApiProblem::new(409, why)),
    };
    // The same two crawls make the same list, so its length tells cursors apart.
    let edition = format!("{:x}", difference.entries.len());
    let from = Numbered::read(request, &edition)?;
    let entries = difference.entries.iter();
    let matching = entries.filter(|entry| kind.is_none_or(|kind| kind == entry.kind));
    let total = matching.clone().count();
    let rows: Vec<_> = matching.skip(from).take(most).collect();
    Ok(ApiReply::json(&ChangeList {
        with: &jobs.old,
        sentence: verdict(&difference),
        counts: difference.counts,
        payload: difference.payload,
        is_part: difference.is_part,
        total,
        cursor: Numbered::written(&edition, from + rows.len(), total),
        rows,
    }))
}
