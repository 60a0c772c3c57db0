//! What people change by forms.
//!
//! Owns the forms' fields and where a reader goes afterwards. Refuses to know how orders are obeyed.
//! Invariant: a form is taken only with the right to operate and from the app's own origin.

use clewline_job::report::figures;

use super::{Shown, ShownJob};
use crate::app::App;
use crate::app::access::{Right, require_own_page};
use crate::app::audit::AuditLine;
use crate::app::orders::{self, LONGEST_ROOT};
use crate::app::reply::{ApiProblem, parameter};
use crate::pages::{DeletePage, ExcludePage, StartField, StartPage};
use crate::server::ServerRequest;

/// A field of a form.
pub(in crate::app) fn field(request: &ServerRequest, name: &str) -> String {
    let pairs = url::form_urlencoded::parse(&request.body);
    let found = pairs.filter(|(found, _)| found == name).last();
    found
        .map(|(_, value)| value.trim().to_owned())
        .unwrap_or_default()
}

pub(in crate::app) fn require_right(
    app: &App,
    request: &ServerRequest,
    right: Right,
) -> Result<(), ApiProblem> {
    if app.commands.is_none() {
        return Err(ApiProblem::new(
            403,
            "this server only shows; start it with --control",
        ));
    }
    if right < Right::Operate {
        return Err(ApiProblem::new(
            401,
            "a change needs the token of this server",
        ));
    }
    if request.is_reading() {
        return Ok(());
    }
    require_own_page(request)
}

/// Takes a form about a job; nothing if there is none at the path.
pub(super) fn posted(
    job: &ShownJob<'_>,
    request: &ServerRequest,
    (rest, right): (&str, Right),
) -> Option<Result<Shown, ApiProblem>> {
    if request.method != "POST" {
        return None;
    }
    let app = job.app;
    let own = (job.id.as_str(), &job.path);
    let changed = |change: &dyn Fn() -> Result<(), ApiProblem>| {
        require_right(app, request, right)?;
        change()?;
        Ok(Shown::Elsewhere(format!("{}/", job.base)))
    };
    Some(match rest {
        "actions" => changed(&|| orders::tell(app, own, &field(request, "action")).map(drop)),
        "settings" => changed(&|| {
            let (name, value) = (field(request, "name"), field(request, "value"));
            orders::apply(app, own, orders::figure(app, &name, &value)?)
        }),
        "exclude" => changed(&|| orders::exclude(app, own, &field(request, "pattern"))),
        "roots" => changed(&|| add(job, &field(request, "url"))),
        "delete" => delete(job, request, right),
        _ => return None,
    })
}

fn add(job: &ShownJob<'_>, url: &str) -> Result<(), ApiProblem> {
    if url.len() > LONGEST_ROOT {
        return Err(ApiProblem::new(422, "the URL is too long"));
    }
    let line = AuditLine {
        action: "add",
        job: &job.id,
        before: None,
        after: Some(serde_json::json!(url)),
    };
    job.app.audit.write(&job.path, &line)?;
    Ok(clewline::StoredJob::read(&job.path)?.add(url)?)
}

fn delete(job: &ShownJob<'_>, request: &ServerRequest, right: Right) -> Result<Shown, ApiProblem> {
    require_right(job.app, request, right)?;
    match orders::remove(job.app, (&job.id, &job.path), &field(request, "name")) {
        Ok(()) => Ok(Shown::Elsewhere("/".to_owned())),
        Err(problem) if problem.status() == 422 => {
            deletion(job, "That is not its name.").map(Shown::Page)
        }
        Err(problem) => Err(problem),
    }
}

/// The page that shows what a pattern takes, before anybody says yes.
pub(super) fn exclusion(job: &ShownJob<'_>, request: &ServerRequest) -> Result<String, ApiProblem> {
    let pattern = parameter(request, "pattern").unwrap_or_default();
    if pattern.is_empty() || pattern.len() > LONGEST_ROOT {
        return Err(ApiProblem::new(400, "the pattern is missing or too long"));
    }
    let preview = job
        .app
        .jobs
        .ask(&job.path, |job| job.preview_exclusion(&pattern))?;
    let status = job.status()?;
    let page = ExcludePage {
        frame: job.frame_of(&status),
        pattern,
        takes: preview.takes,
        at_least: preview.at_least,
        queued: status.queued,
        samples: preview.samples.iter().map(ToString::to_string).collect(),
    };
    Ok(page.html())
}

/// The page that asks whether a job is to be deleted.
pub(super) fn deletion(job: &ShownJob<'_>, problem: &str) -> Result<String, ApiProblem> {
    let status = job.status()?;
    let page = DeletePage {
        frame: job.frame_of(&status),
        folder: job.id.clone(),
        lost: figures::plural(status.pages, "page"),
        problem: problem.to_owned(),
    };
    Ok(page.html())
}

/// The form that starts a crawl, and what comes of it.
pub(super) fn start(app: &App, request: &ServerRequest, right: Right) -> Result<Shown, ApiProblem> {
    require_right(app, request, right)?;
    let mut page = StartPage {
        url: field(request, "url"),
        name: field(request, "name"),
        fields: fields(request),
        presets: Vec::new(),
        problems: Vec::new(),
    };
    if request.is_reading() {
        return Ok(Shown::Page(page.html()));
    }
    let given = page.fields.iter().filter(|field| !field.value.is_empty());
    let settings = given
        .map(|field| (field.name.to_owned(), field.value.clone()))
        .collect();
    let name = Some(page.name.as_str()).filter(|name| !name.is_empty());
    match orders::begin(app, vec![page.url.clone()], name, settings) {
        Ok(id) => Ok(Shown::Elsewhere(format!("/jobs/{id}/"))),
        Err(problem) => {
            page.problems.push(problem.detail().to_owned());
            Ok(Shown::Page(page.html()))
        }
    }
}

fn fields(request: &ServerRequest) -> Vec<StartField> {
    let one = |name: &'static str, label, example, choices: &[&'static str]| StartField {
        name,
        label,
        value: field(request, name),
        example,
        choices: choices.to_vec(),
    };
    vec![
        one("max-pages", "Pages at most", "1000", &[]),
        one("depth", "Links from the start at most", "3", &[]),
        one(
            "scope",
            "How far it goes",
            "",
            &["page", "path", "host", "domain"],
        ),
        one("speed", "Speed", "", &["gentle", "polite", "fast", "max"]),
        one("rate", "Requests per second and host", "2/s", &[]),
        one("exclude", "Leave out URLs with", "/calendar/", &[]),
    ]
}
