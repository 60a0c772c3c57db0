//! The findings of a job.
//!
//! Owns where they come from: what the last check kept in the folder, or, for a crawl that has ended and
//! is not too large, a check by what it holds. It refuses to know rules and how findings look.
//! Invariants: what the folder keeps wins, since a check with settings wrote it; a job that runs is never
//! checked; no request goes anywhere.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use clewline::AnswerReader;
use clewline_check::baseline::FINDINGS;
use clewline_check::forms::{finding_row, html, sentence};
use clewline_check::report::{CheckFacts, JudgedFinding};
use clewline_check::{CheckReport, CheckVerdict, KeptFindings, Severity, check_alone, rules};
use clewline_job::Job;
use clewline_job::report::figures;
use clewline_job::status::{State, Status};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::background::{BackgroundCache, BackgroundResult};
use super::jobs::is_running;
use super::reply::{ApiProblem, ApiReply, Numbered, parameter, wanted};
use crate::server::ServerRequest;

/// A larger job is checked by the command only.
const MOST_URLS: u64 = 100_000;
/// Rows of a page unless somebody wants more or less, and at most.
const USUAL_ROWS: usize = 100;
const MOST_ROWS: usize = 1_000;
/// A larger file is not counted for the frame.
const MOST_COUNTED: u64 = 16 * 1024 * 1024;
/// Jobs whose number of findings is kept.
const MOST_COUNTS: usize = 10_000;

/// A file at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileMoment(SystemTime, u64);

/// Which findings: of a folder, as this file was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FindingsKey(PathBuf, FileMoment);

/// What was found.
#[derive(Debug)]
pub(super) struct JobFindings {
    report: CheckReport,
    /// Tells cursors into these findings from those into others.
    edition: String,
    pub(super) sentence: String,
    pub(super) when: String,
}

/// How much a check found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FindingCounts {
    error: u64,
    warning: u64,
    notice: u64,
}

impl FindingCounts {
    fn add(&mut self, severity: Severity, count: u64) {
        let sum = match severity {
            Severity::Error => &mut self.error,
            Severity::Warning => &mut self.warning,
            Severity::Notice => &mut self.notice,
        };
        *sum = sum.saturating_add(count);
    }

    pub(super) fn rows(self) -> [(Severity, u64); 3] {
        [
            (Severity::Error, self.error),
            (Severity::Warning, self.warning),
            (Severity::Notice, self.notice),
        ]
    }

    pub(super) fn total(self) -> u64 {
        let counts = self.rows().map(|(_, count)| count);
        counts.into_iter().fold(0, u64::saturating_add)
    }
}

/// The findings of the jobs that somebody looked at.
#[derive(Debug)]
pub(super) struct FindingsShelf {
    cache: BackgroundCache<FindingsKey, JobFindings>,
    counts: Mutex<HashMap<PathBuf, (FileMoment, FindingCounts)>>,
}

impl Default for FindingsShelf {
    fn default() -> Self {
        Self {
            cache: BackgroundCache::new("check"),
            counts: Mutex::default(),
        }
    }
}

/// Some findings.
#[derive(Debug, Serialize)]
struct FindingList {
    /// Findings that match.
    total: usize,
    /// What the check came to, as a sentence.
    sentence: String,
    rows: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

impl FindingsShelf {
    /// The findings of a job, or why there are none.
    pub(super) fn of(&self, job: &Path, status: &Status) -> BackgroundResult<JobFindings> {
        if let Some(moment) = moment_of(&job.join(FINDINGS)) {
            let key = FindingsKey(job.to_owned(), moment);
            let (job, status) = (job.to_owned(), status.clone());
            return self.cache.ask(&key, move || kept(&job, moment, &status));
        }
        if is_running(status.state) {
            return BackgroundResult::Failed(
                "the crawl runs; it is checked when it has ended".to_owned(),
            );
        }
        if status.done > MOST_URLS {
            let why = "the job is too large to be checked here";
            return BackgroundResult::Failed(why.to_owned());
        }
        let Some(moment) = moment_of(&job.join(clewline_job::log::urls::FILE)) else {
            return BackgroundResult::Failed("the job has no records yet".to_owned());
        };
        let key = FindingsKey(job.to_owned(), moment);
        let (job, state) = (job.to_owned(), status.state);
        self.cache.ask(&key, move || checked(&job, moment, state))
    }

    /// How much the last check found, if that is known at once.
    pub(super) fn counts(&self, job: &Path) -> Option<FindingCounts> {
        #[derive(Deserialize)]
        struct FindingWeight {
            severity: Severity,
            count: u64,
        }
        let path = job.join(FINDINGS);
        let moment = moment_of(&path).filter(|moment| moment.1 <= MOST_COUNTED)?;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = counts.get(job).filter(|(known, _)| *known == moment) {
            return Some(*found);
        }
        let lines = BufReader::new(File::open(&path).ok()?).split(b'\n');
        let mut found = FindingCounts::default();
        for line in lines.map_while(Result::ok) {
            if let Ok(FindingWeight { severity, count }) = serde_json::from_slice(&line) {
                found.add(severity, count);
            }
        }
        if counts.len() >= MOST_COUNTS {
            counts.clear();
        }
        counts.insert(job.to_owned(), (moment, found));
        Some(found)
    }
}

fn moment_of(path: &Path) -> Option<FileMoment> {
    let facts = fs::metadata(path).ok()?;
    Some(FileMoment(facts.modified().ok()?, facts.len()))
}

/// What the last check kept.
fn kept(job: &Path, moment: FileMoment, status: &Status) -> Result<JobFindings, String> {
    let kept = KeptFindings::read(job).map_err(|error| error.to_string())?;
    let mut facts = CheckFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pages: status.pages,
        urls: status.done,
        hosts: status.hosts_met,
        min_pages: 1,
        ..CheckFacts::default()
    };
    // The folder keeps findings only: of the other links nothing is known here.
    facts
        .verdicts
        .insert(CheckVerdict::Unchecked, status.done.max(1));
    let mut remarks = Vec::new();
    if kept.is_cut {
        remarks.push("only the worst findings are shown".to_owned());
    }
    if kept.unread > 0 {
        let lines = figures::plural(kept.unread, "finding");
        remarks.push(format!("{lines} of rules that this version does not know"));
    }
    let records = moment_of(&job.join(clewline_job::log::urls::FILE));
    if records.is_some_and(|records| records.0 > moment.0) {
        remarks.push("the crawl went on after this check".to_owned());
    }
    let report = CheckReport {
        facts,
        rules: rules::all()
            .iter()
            .filter_map(|rule| Some((*rule, rule.severity?)))
            .collect(),
        gone: is_compared(&kept.findings).then(Vec::new),
        findings: kept.findings,
        ignored: 0,
        fail_on: clewline_check::settings::CheckFailOn::default(),
    };
    let when = figures::instant(&humantime::format_rfc3339_seconds(moment.0).to_string());
    let told = std::iter::once(format!("Checked on {when}")).chain(remarks);
    Ok(JobFindings::new(report, moment, &told.collect::<Vec<_>>()))
}

/// Whether a baseline decided what is new.
fn is_compared(findings: &[JudgedFinding]) -> bool {
    findings.iter().any(|one| one.known)
}

/// A check by what the job holds.
fn checked(job: &Path, moment: FileMoment, state: State) -> Result<JobFindings, String> {
    let opened = Job::open(job).map_err(|_| "the job cannot be read".to_owned())?;
    let answers = AnswerReader::default();
    let is_complete = state == State::Finished;
    // A crawl beside it needs the other cores.
    let threads = NonZero::new(1);
    let report = check_alone(&opened, &answers.reader(), is_complete, threads);
    let report = report.map_err(|_| "the pages of the job cannot be read".to_owned())?;
    let told = "Checked here, without settings; links to other sites were not asked";
    Ok(JobFindings::new(report, moment, &[told.to_owned()]))
}

impl JobFindings {
    fn new(report: CheckReport, moment: FileMoment, told: &[String]) -> Self {
        let since = moment.0.duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.map_or(0, |since| since.as_nanos());
        Self {
            edition: format!("{:x}.{:x}", nanos, moment.1),
            sentence: format!("{}.", sentence(&report)),
            when: format!("{}.", told.join("; ")),
            report,
        }
    }

    /// The list for a page.
    pub(super) fn list(&self) -> String {
        html::list(&self.report)
    }

    fn listed(&self, request: &ServerRequest) -> Result<FindingList, ApiProblem> {
        let severity: Option<Severity> = match parameter(request, "severity") {
            None => None,
            Some(name) => {
                let read = serde_json::from_value(Value::String(name));
                let why = "severity is error, warning or notice";
                Some(read.map_err(|_| ApiProblem::new(400, why))?)
            }
        };
        let rule = parameter(request, "rule");
        if let Some(rule) = &rule {
            rules::find(rule).map_err(|_| ApiProblem::new(404, "there is no such rule"))?;
        }
        let most = wanted(request, USUAL_ROWS, MOST_ROWS)?;
        let from = Numbered::read(request, &self.edition)?;
        let matching = self.report.findings.iter().filter(|one| {
            severity.is_none_or(|severity| severity == one.severity)
                && rule
                    .as_deref()
                    .is_none_or(|rule| rule == one.finding.rule.id)
        });
        let total = matching.clone().count();
        let rows: Vec<Value> = matching.skip(from).take(most).map(finding_row).collect();
        Ok(FindingList {
            total,
            sentence: self.sentence.clone(),
            cursor: Numbered::written(&self.edition, from + rows.len(), total),
            rows,
        })
    }
}

/// Answers a program.
pub(super) fn answer(
    shelf: &FindingsShelf,
    request: &ServerRequest,
    (job, status): (&Path, &Arc<Status>),
) -> Result<ApiReply, ApiProblem> {
    match shelf.of(job, status) {
        BackgroundResult::Made(found) => Ok(ApiReply::json(&found.listed(request)?)),
        BackgroundResult::Making => Ok(ApiReply::making()),
        BackgroundResult::Failed(why) => {
            let how = format!("{why}; `clewline check` keeps findings in the folder of a job");
            Err(ApiProblem::new(409, how))
        }
    }
}
