//! The paths below `/api/v1`.
//!
//! Owns which path and method is answered by what. Refuses to know how. Invariant: a method other
//! than reading needs the right to operate and the app's own origin, whatever the path.

use std::path::{Path, PathBuf};

use clewline_job::config::Root;
use clewline_job::status::Status;
use serde::Serialize;
use serde_json::json;

use super::access::{Right, require_own_origin};
use super::background::BackgroundResult;
use super::jobs::is_running;
use super::reply::{ApiProblem, ApiReply, parameter, wanted};
use super::sorted::UrlSort;
use super::{App, changes, findings, fleet, hosts, openapi, orders, sorted, urls};
use crate::server::ServerRequest;

/// Jobs on a page unless somebody wants more or less, and at most.
const USUAL_JOBS: usize = 50;
const MOST_JOBS: usize = 200;
/// The longest URL that is asked about.
const LONGEST_URL: usize = 8 * 1024;

/// A job in a list.
#[derive(Debug, Serialize)]
struct JobEntry {
    id: String,
    /// Whether a crawl runs in it.
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// Why there is no status.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
}

/// Answers a request below `/api/v1`.
pub(super) fn answer(
    app: &App,
    request: &ServerRequest,
    path: &str,
    right: Right,
) -> Result<ApiReply, ApiProblem> {
    if !request.is_reading() {
        if right < Right::Operate {
            let why = match app.commands {
                Some(_) => ApiProblem::new(401, "a change needs the token of this server"),
                None => ApiProblem::new(403, "this server only shows; start it with --control"),
            };
            return Err(why);
        }
        require_own_origin(request)?;
    }
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    if let (Some(of), ["jobs", rest @ ..]) = (&app.fleet, &parts[..]) {
        return fleet::answer(app, of, request, rest);
    }
    match parts[..] {
        ["openapi.json"] => reading(request, || Ok(openapi::described())),
        ["version"] => reading(request, || {
            Ok(ApiReply::json(
                &json!({ "version": env!("CARGO_PKG_VERSION") }),
            ))
        }),
        ["jobs"] => match request.method.as_str() {
            "GET" | "HEAD" => list(app, request),
            "POST" => orders::start(app, request),
            _ => Err(ApiProblem::method("GET, HEAD, POST")),
        },
        ["jobs", id, ref rest @ ..] => {
            let known = app.jobs.find(id);
            let path = known.ok_or_else(|| ApiProblem::new(404, "there is no such job"))?;
            of_job(app, request, (id, &path), rest)
        }
        _ => Err(ApiProblem::not_found()),
    }
}

fn reading(
    request: &ServerRequest,
    reply: impl FnOnce() -> Result<ApiReply, ApiProblem>,
) -> Result<ApiReply, ApiProblem> {
    if request.is_reading() {
        reply()
    } else {
        Err(ApiProblem::method("GET, HEAD"))
    }
}

fn of_job(
    app: &App,
    request: &ServerRequest,
    (id, path): (&str, &PathBuf),
    rest: &[&str],
) -> Result<ApiReply, ApiProblem> {
    match (rest, request.method.as_str()) {
        ([], "DELETE") => return orders::delete(app, request, (id, path)),
        ([], "GET" | "HEAD") => return Ok(ApiReply::json(&entry(app, id, path))),
        ([], _) => return Err(ApiProblem::method("DELETE, GET, HEAD")),
        (["actions"], "POST") => return orders::act(app, request, (id, path)),
        (["actions"], _) => return Err(ApiProblem::method("POST")),
        (["settings"], "PATCH") => return orders::change(app, request, (id, path)),
        (["settings"], "GET" | "HEAD") => {
            return Ok(ApiReply::json(&app.jobs.status(path)?.figures));
        }
        (["settings"], _) => return Err(ApiProblem::method("GET, HEAD, PATCH")),
        _ => {}
    }
    reading(request, || match rest {
        ["status"] => Ok(ApiReply::json(&public(&*app.jobs.status(path)?))),
        ["hosts"] => {
            let question = hosts::question(request)?;
            let page = app.jobs.ask(path, |job| job.hosts(&question))?;
            Ok(ApiReply::json(&hosts::HostList::new(page)))
        }
        ["urls"] => {
            let question = urls::UrlQuestion::read(request)?;
            if question.sort == UrlSort::Time {
                return Ok(ApiReply::json(&urls::listed(path, &question)?));
            }
            match sorted::listed(&app.sorted, path, &question)? {
                BackgroundResult::Made(list) => Ok(ApiReply::json(&*list)),
                BackgroundResult::Making => Ok(ApiReply::making()),
                BackgroundResult::Failed(why) => Err(ApiProblem::new(500, why)),
            }
        }
        ["log"] => {
            let newest = urls::UrlQuestion {
                is_newest_first: true,
                most: wanted(request, 20, 100)?,
                ..urls::UrlQuestion::default()
            };
            Ok(ApiReply::json(&urls::listed(path, &newest)?))
        }
        ["exclude"] => {
            let pattern = parameter(request, "pattern").unwrap_or_default();
            if pattern.is_empty() || pattern.len() > LONGEST_URL {
                return Err(ApiProblem::new(400, "pattern is missing or too long"));
            }
            let preview = app.jobs.ask(path, |job| job.preview_exclusion(&pattern))?;
            Ok(ApiReply::json(&preview))
        }
        ["why"] => why(app, request, path),
        ["findings"] => {
            let status = app.jobs.status(path)?;
            findings::answer(&app.findings, request, (path, &status))
        }
        ["changes"] => changes::answer(app, request, path),
        ["events"] => Ok(ApiReply::events(app.watches.join(path, request)?)),
        _ => Err(ApiProblem::not_found()),
    })
}

fn why(app: &App, request: &ServerRequest, path: &Path) -> Result<ApiReply, ApiProblem> {
    let url = parameter(request, "url").filter(|url| url.len() <= LONGEST_URL);
    let url = url.ok_or_else(|| ApiProblem::new(400, "url is missing or too long"))?;
    let root = Root::parse(&url).map_err(|error| ApiProblem::new(422, format!("url {error}")))?;
    let trail = app.jobs.ask(path, |job| job.why(&root.url))?;
    Ok(ApiReply::json(&trail))
}

/// A status without what only concerns the machine.
fn public(status: &Status) -> Status {
    Status {
        folder: None,
        ..status.clone()
    }
}

fn entry(app: &App, id: &str, path: &Path) -> JobEntry {
    let status = app.jobs.status(path);
    let running = status.as_ref().is_ok_and(|status| is_running(status.state));
    let (status, problem) = match status {
        Ok(status) => {
            let mut shown = public(&status);
            // The list is about jobs; the hosts of one have a path of their own.
            shown.summary.hosts.clear();
            (Some(shown), None)
        }
        Err(_) => (None, Some("its state cannot be read at the moment")),
    };
    JobEntry {
        id: id.to_owned(),
        running,
        status,
        problem,
    }
}

fn list(app: &App, request: &ServerRequest) -> Result<ApiReply, ApiProblem> {
    let most = wanted(request, USUAL_JOBS, MOST_JOBS)?;
    let after = parameter(request, "cursor").unwrap_or_default();
    let all = app.jobs.all();
    let total = all.len();
    let mut rest = all.into_iter().filter(|(id, _)| *id > after);
    let page: Vec<_> = rest.by_ref().take(most).collect();
    let cursor = rest
        .next()
        .and_then(|_| page.last().map(|(id, _)| id.clone()));
    let jobs: Vec<JobEntry> = page.iter().map(|(id, path)| entry(app, id, path)).collect();
    Ok(ApiReply::json(
        &json!({ "jobs": jobs, "total": total, "cursor": cursor }),
    ))
}
