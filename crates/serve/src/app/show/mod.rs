//! The pages of the app: which path shows what, and what a form changes.
//!
//! Owns the routes for people. It refuses to know how pages look (`pages` does) and how figures are
//! found. Invariants: a form changes something only with the right to operate and from the app's own
//! origin, and is answered with the way back; a page tells an error as a page.

mod captures;
mod compared;
mod forms;
mod lists;
mod overview;
mod trail;

use std::path::PathBuf;
use std::sync::Arc;

use clewline_archive::Archive;
use clewline_job::look::Tone;
use clewline_job::report::figures;
use clewline_job::status::{State, Status};

pub(super) use self::forms::{field, require_right};
use super::App;
use super::access::Right;
use super::findings::FindingCounts;
use super::fleet;
use super::jobs::is_running;
use super::reply::{ApiProblem, word};
use crate::pages::{
    APP_ICON_PATH, APP_SCRIPT_PATH, APP_STYLE_PATH, JobFrame, JobRow, JobsPage, MessagePage,
    PageRight, app_icon, app_policy, app_script, app_style,
};
use crate::server::{AnswerBody, ServerAnswer, ServerRequest};

/// Jobs of the list.
const MOST_LISTED: usize = 500;

/// A job that a page is about.
struct ShownJob<'a> {
    app: &'a App,
    id: String,
    path: PathBuf,
    base: String,
    right: PageRight,
}

/// A page, or the way to another one.
pub(super) enum Shown {
    Page(String),
    /// A page that is asked for again until what it shows is made.
    Making(String),
    /// There is no such page, and what to do instead.
    Missing(String),
    Elsewhere(String),
    /// The search has pages of its own.
    Search(PathBuf, String),
}

/// What leads to the archive that is shown.
pub(crate) type ArchiveNow<'a> = dyn Fn() -> Result<Arc<Archive>, String> + 'a;

/// Answers what is a page of the app.
pub(super) fn answer(
    app: &App,
    request: &ServerRequest,
    right: Right,
    archive: &ArchiveNow<'_>,
) -> Option<ServerAnswer> {
    let path = request.path();
    match path {
        APP_STYLE_PATH => return Some(file("text/css; charset=utf-8", app_style())),
        APP_ICON_PATH => return Some(file("image/svg+xml", app_icon())),
        APP_SCRIPT_PATH => return Some(file("text/javascript; charset=utf-8", app_script())),
        _ => {}
    }
    let page_right = match app.commands {
        Some(_) if right == Right::Operate => PageRight::Operate,
        _ => PageRight::Read,
    };
    let shown = match (path, &app.fleet) {
        (_, Some(of)) => fleet::shown(app, of, request, right),
        ("/start", None) => forms::start(app, request, right),
        ("/", None) if app.only().is_none() && app.has_jobs() => {
            Ok(Shown::Page(jobs(app, page_right)))
        }
        _ => {
            let (job, rest) = found(app, path, page_right)?;
            of_job(&job, request, (rest, right), archive)?
        }
    };
    Some(match shown {
        Ok(Shown::Page(html)) => page(200, html),
        Ok(Shown::Missing(html)) => page(404, html),
        Ok(Shown::Making(html)) => page(200, html).with("Refresh", "2"),
        Ok(Shown::Elsewhere(path)) => {
            ServerAnswer::new(303, AnswerBody::Bytes(Vec::new())).with("Location", &path)
        }
        Ok(Shown::Search(job, base)) => app.searched(&job, &base, request),
        Err(problem) => told(&problem),
    })
}

fn file(content_type: &str, text: &str) -> ServerAnswer {
    ServerAnswer::new(200, AnswerBody::Bytes(text.into()))
        .with("Content-Type", content_type)
        .with("Cache-Control", "no-cache")
}

fn page(status: u16, html: String) -> ServerAnswer {
    ServerAnswer::new(status, AnswerBody::Bytes(html.into_bytes()))
        .with("Content-Type", "text/html; charset=utf-8")
        .with("Content-Security-Policy", app_policy())
}

fn told(problem: &ApiProblem) -> ServerAnswer {
    let message = MessagePage {
        title: "Not answered".to_owned(),
        sentence: format!("{}.", problem.detail()),
        subject: String::new(),
        next: Some(("All crawls".to_owned(), "/".to_owned())),
    };
    let told = page(problem.status(), message.html());
    match problem.status() {
        // A crawl that begins or ends may be silent for a moment.
        503 => told.with("Refresh", "2"),
        _ => told,
    }
}

/// The job that a path is about, and what follows it.
fn found<'a, 'b>(app: &'a App, path: &'b str, right: PageRight) -> Option<(ShownJob<'a>, &'b str)> {
    let (id, place, base, rest) = if let Some(rest) = path.strip_prefix("/jobs/") {
        let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let place = app.jobs.find(id)?;
        (id.to_owned(), place, format!("/jobs/{id}"), rest)
    } else {
        let (id, place) = app.only()?;
        (id, place, String::new(), path.trim_start_matches('/'))
    };
    let job = ShownJob {
        app,
        id,
        path: place,
        base,
        right,
    };
    Some((job, rest))
}

/// Nothing if the path is none of the app's.
fn of_job(
    job: &ShownJob<'_>,
    request: &ServerRequest,
    (rest, right): (&str, Right),
    archive: &ArchiveNow<'_>,
) -> Option<Result<Shown, ApiProblem>> {
    if !request.is_reading() {
        return forms::posted(job, request, (rest, right));
    }
    let page = |html: Result<String, ApiProblem>| Some(html.map(Shown::Page));
    match rest {
        "" => page(overview::shown(job)),
        "hosts" => page(lists::hosts(job, request)),
        "pages" => Some(lists::urls(job, request)),
        "why" => page(trail::shown(job, request, archive)),
        "issues" => Some(compared::issues(job)),
        "changes" => Some(compared::changes(job, request)),
        "captures" => page(captures::listed(job, request, archive)),
        "captures/of" => page(captures::month(job, request, archive)),
        "delete" => page(forms::deletion(job, "")),
        "exclude" => page(forms::exclusion(job, request)),
        "search" | "api/search" => Some(Ok(Shown::Search(job.path.clone(), job.base.clone()))),
        _ => None,
    }
}

/// Whether a state is good news.
fn tone(state: State) -> Tone {
    match state {
        State::Running | State::Finished => Tone::Good,
        State::Paused | State::Unfinished => Tone::Warn,
        State::Unreached => Tone::Bad,
        _ => Tone::Plain,
    }
}

impl ShownJob<'_> {
    fn status(&self) -> Result<Arc<Status>, ApiProblem> {
        Ok(self.app.jobs.status(&self.path)?)
    }

    fn frame(&self) -> Result<JobFrame, ApiProblem> {
        Ok(self.frame_of(&*self.status()?))
    }

    fn frame_of(&self, status: &Status) -> JobFrame {
        let events = format!("/api/v1/jobs/{}/events", self.id);
        JobFrame {
            base: self.base.clone(),
            name: self.id.clone(),
            tone: tone(status.state),
            state: word(&status.state),
            issues: self
                .app
                .findings
                .counts(&self.path)
                .map(FindingCounts::total),
            pages: Some(status.pages),
            hosts: Some(status.hosts_met),
            events: is_running(status.state).then_some(events),
            right: self.right,
        }
    }
}

fn jobs(app: &App, right: PageRight) -> String {
    let all = app.jobs.all();
    let more = all.len().saturating_sub(MOST_LISTED);
    let listed = all.into_iter().take(MOST_LISTED);
    let mut rows: Vec<JobRow> = listed.map(|(id, path)| row(app, &id, &path)).collect();
    rows.sort_by_key(|row| row.rate.is_none());
    let folder = app
        .jobs
        .folder()
        .and_then(|folder| std::fs::canonicalize(folder).ok());
    let folder = folder.and_then(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()));
    let page = JobsPage {
        folder: folder.unwrap_or_default(),
        rows,
        more: more as u64,
        right,
    };
    page.html()
}

fn row(app: &App, id: &str, path: &std::path::Path) -> JobRow {
    let row = JobRow {
        base: format!("/jobs/{id}"),
        name: id.to_owned(),
        ..JobRow::default()
    };
    match app.jobs.status(path) {
        Ok(status) => JobRow {
            tone: tone(status.state),
            state: word(&status.state),
            reason: reason_beside(status.state, status.held.as_ref(), status.ended.as_ref()),
            pages: status.pages,
            queued: status.queued,
            rate: is_running(status.state).then_some(status.pages_per_second),
            issues: app.findings.counts(path).map(FindingCounts::total),
            last_run: last_run(path),
            ..row
        },
        Err(_) => JobRow {
            state: "busy".to_owned(),
            reason: "its state cannot be read at the moment".to_owned(),
            ..row
        },
    }
}

/// Why a job is in its state; nothing where the word of the state says it already.
fn reason_beside(state: State, held: Option<&String>, ended: Option<&String>) -> String {
    let reason = held.or(ended).cloned().unwrap_or_default();
    if reason == word(&state) {
        return String::new();
    }
    reason
}

/// When a record of a job was written last, as people read it.
fn last_run(path: &std::path::Path) -> String {
    let records = std::fs::metadata(path.join(clewline_job::log::urls::FILE));
    let changed = records.and_then(|facts| facts.modified());
    changed.map_or_else(
        |_| String::new(),
        |at| figures::instant(&humantime::format_rfc3339_seconds(at).to_string()),
    )
}
