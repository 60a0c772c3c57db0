//! What changes something: start, pause, continue, stop, other figures, delete.
//!
//! Owns how orders are read, what they may name, and their line in the audit log. Refuses to know how
//! a crawl obeys and how a process is started. Invariants: a request names URLs and settings of
//! [`STARTABLE`], never a path, a command, a proxy or an address range; the same word twice is no
//! error; the line in the log comes before the change.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clewline::{Change, StoredJob};
use clewline_job::config::Root;
use clewline_job::status::State;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::audit::AuditLine;
use super::jobs::{is_name, is_running};
use super::reply::{ApiProblem, ApiReply, parameter};
use super::{App, JobCommands, NewJob, STARTABLE};
use crate::server::ServerRequest;

/// Roots of one crawl that a request may name.
const MOST_URLS: usize = 1_000;
/// Values of one setting.
const MOST_VALUES: usize = 100;
/// The longest value of a setting.
const LONGEST_VALUE: usize = 1_024;
/// Keys of requests that are remembered.
const MOST_KEYS: usize = 1_000;
/// The longest of them.
const LONGEST_KEY: usize = 255;
/// The longest root of a form.
pub(super) const LONGEST_ROOT: usize = 8 * 1024;
/// Names that are tried for a new job.
const MOST_NAMES: u32 = 1_000;
/// How a job folder's name ends.
const ENDING: &str = ".crawl";
/// The setting that adds a pattern.
const EXCLUDE: &str = "exclude+";
/// Values of `action`.
pub(super) const ACTIONS: [&str; 4] = ["start", "pause", "continue", "stop"];

/// Requests that started something, by their `Idempotency-Key`.
#[derive(Debug, Default)]
pub(super) struct RequestKeys(Mutex<HashMap<String, (Vec<u8>, String)>>);

impl RequestKeys {
    /// The job that this request started before.
    fn find(&self, key: &str, body: &[u8]) -> Result<Option<String>, ApiProblem> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(key) {
            Some((known, id)) if known == body => Ok(Some(id.clone())),
            Some(_) => Err(ApiProblem::new(
                422,
                "this Idempotency-Key came with another body",
            )),
            None => Ok(None),
        }
    }

    fn keep(&self, key: &str, body: &[u8], id: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST_KEYS {
            seen.clear();
        }
        seen.insert(key.to_owned(), (body.to_vec(), id.to_owned()));
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartOrder {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    urls: Vec<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    settings: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionOrder {
    action: String,
}

/// Reads a body of JSON. No form of a page can send one.
fn body<T: DeserializeOwned>(request: &ServerRequest) -> Result<T, ApiProblem> {
    let kind = request.field("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(ApiProblem::new(415, "the body must be application/json"));
    }
    serde_json::from_slice(&request.body)
        .map_err(|error| ApiProblem::new(400, format!("the body is not understood: {error}")))
}

fn commands(app: &App) -> Result<&JobCommands, ApiProblem> {
    let why = "this server only shows; start it with --control";
    app.commands
        .as_ref()
        .ok_or_else(|| ApiProblem::new(403, why))
}

/// Starts a crawl in a folder of its own.
pub(super) fn start(app: &App, request: &ServerRequest) -> Result<ApiReply, ApiProblem> {
    let order: StartOrder = body(request)?;
    let key = request
        .field("idempotency-key")
        .filter(|key| !key.is_empty());
    if key.is_some_and(|key| key.len() > LONGEST_KEY) {
        return Err(ApiProblem::new(
            400,
            "Idempotency-Key has at most 255 characters",
        ));
    }
    if let Some(key) = key
        && let Some(id) = app.keys.find(key, &request.body)?
    {
        return Ok(started(&id).with_status(200));
    }
    let mut urls = order.urls;
    urls.extend(order.url);
    let settings = settings(&order.settings)?;
    let id = begin(app, urls, order.name.as_deref(), settings)?;
    if let Some(key) = key {
        app.keys.keep(key, &request.body, &id);
    }
    Ok(started(&id))
}

fn started(id: &str) -> ApiReply {
    ApiReply::json(&json!({ "id": id, "state": "running" }))
        .with_status(201)
        .at(format!("/api/v1/jobs/{id}"))
}

/// Starts a crawl, however it was asked for; the name of the job.
pub(super) fn begin(
    app: &App,
    urls: Vec<String>,
    name: Option<&str>,
    settings: Vec<(String, String)>,
) -> Result<String, ApiProblem> {
    let commands = commands(app)?;
    let place = app.jobs.folder().ok_or_else(|| {
        ApiProblem::new(
            409,
            "this server shows named jobs; serve a folder to start crawls in it",
        )
    })?;
    let roots = roots(&urls)?;
    let folder = match name {
        Some(name) => place.join(chosen(place, name)?),
        None => free(place, roots[0].url.host())?,
    };
    let id = folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let line = AuditLine {
        action: "start",
        job: &id,
        before: None,
        after: Some(json!({ "urls": urls, "settings": settings })),
    };
    app.audit.write(place, &line)?;
    let new = NewJob {
        urls,
        settings,
        folder,
    };
    (commands.start)(&new).map_err(|why| ApiProblem::new(422, why))?;
    Ok(id)
}

fn roots(urls: &[String]) -> Result<Vec<Root>, ApiProblem> {
    if urls.is_empty() || urls.len() > MOST_URLS {
        let why = format!("url or urls must name 1 to {MOST_URLS} URLs");
        return Err(ApiProblem::new(422, why));
    }
    let read = urls.iter().map(|url| {
        let root = Root::parse(url);
        root.map_err(|error| ApiProblem::new(422, format!("`{url}` {error}")))
    });
    read.collect()
}

fn chosen<'a>(place: &Path, name: &'a str) -> Result<&'a str, ApiProblem> {
    if !is_name(name) {
        let why = "name has 1 to 64 of a-z, 0-9, . and -, and does not begin with a dot";
        return Err(ApiProblem::new(422, why));
    }
    if place.join(name).symlink_metadata().is_ok() {
        return Err(ApiProblem::new(
            409,
            "there is something of that name already",
        ));
    }
    Ok(name)
}

/// A folder that is named after a host and does not exist.
fn free(place: &Path, host: &str) -> Result<PathBuf, ApiProblem> {
    let lower = host.to_ascii_lowercase();
    let known = lower.chars().map(|c| match c {
        'a'..='z' | '0'..='9' | '.' => c,
        _ => '-',
    });
    let host: String = known.take(50).collect();
    let host = host.trim_start_matches('.');
    let mut names = (1..=MOST_NAMES).map(|number| match number {
        1 => format!("{host}{ENDING}"),
        number => format!("{host}-{number}{ENDING}"),
    });
    let found = names.find(|name| is_name(name) && place.join(name).symlink_metadata().is_err());
    let why = "there are too many jobs of this host; give the new one a name";
    found
        .map(|name| place.join(name))
        .ok_or_else(|| ApiProblem::new(409, why))
}

/// The settings of a request as texts, a list as several of them.
fn settings(given: &serde_json::Map<String, Value>) -> Result<Vec<(String, String)>, ApiProblem> {
    let mut texts_of = Vec::new();
    for (name, value) in given {
        if !STARTABLE.contains(&name.as_str()) {
            let known = STARTABLE.join(", ");
            let why = format!("`{name}` is none of the settings that a request may name: {known}");
            return Err(ApiProblem::new(422, why));
        }
        let values = texts(name, value)?;
        texts_of.extend(values.into_iter().map(|value| (name.clone(), value)));
    }
    Ok(texts_of)
}

/// One text or several.
fn texts(name: &str, value: &Value) -> Result<Vec<String>, ApiProblem> {
    let values = match value {
        Value::Array(values) if values.len() <= MOST_VALUES => values.as_slice(),
        Value::Array(_) => {
            return Err(ApiProblem::new(
                422,
                format!("{name} has more than {MOST_VALUES} values"),
            ));
        }
        one => std::slice::from_ref(one),
    };
    values.iter().map(|value| text(name, value)).collect()
}

fn text(name: &str, value: &Value) -> Result<String, ApiProblem> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(yes) => yes.to_string(),
        _ => {
            return Err(ApiProblem::new(
                422,
                format!("{name} must be a text, a number or a list"),
            ));
        }
    };
    if text.len() > LONGEST_VALUE || text.chars().any(char::is_control) {
        return Err(ApiProblem::new(
            422,
            format!("{name} is too long or holds control characters"),
        ));
    }
    Ok(text)
}

/// Obeys one of the plain words.
pub(super) fn act(
    app: &App,
    request: &ServerRequest,
    job: (&str, &PathBuf),
) -> Result<ApiReply, ApiProblem> {
    let state = tell(app, job, &action(request)?)?;
    Ok(ApiReply::json(&json!({ "id": job.0, "state": state })).with_status(202))
}

/// Tells a job a plain word; how it stands then.
pub(super) fn tell(
    app: &App,
    (id, path): (&str, &PathBuf),
    action: &str,
) -> Result<State, ApiProblem> {
    let commands = commands(app)?;
    if !ACTIONS.contains(&action) {
        let known = ACTIONS.join(", ");
        return Err(ApiProblem::new(422, format!("action is one of {known}")));
    }
    let before = app.jobs.status(path)?.state;
    let line = AuditLine {
        action,
        job: id,
        before: Some(json!(before)),
        after: None,
    };
    app.audit.write(path, &line)?;
    let stored = StoredJob::read(path)?;
    let state = match (action, is_running(before)) {
        ("start", false) => {
            let resumed = app.jobs.at_gate(path, || (commands.resume)(path));
            resumed.map_err(|why| ApiProblem::new(409, why))?;
            State::Running
        }
        // It is so already.
        ("start", true) | ("stop", false) => before,
        ("stop", true) => {
            stored.stop()?;
            State::Stopping
        }
        ("pause", _) => {
            stored.pause()?;
            State::Paused
        }
        _ => {
            stored.go_on()?;
            State::Running
        }
    };
    app.jobs.look_again(path);
    Ok(state)
}

/// The plain word of a request.
pub(super) fn action(request: &ServerRequest) -> Result<String, ApiProblem> {
    Ok(body::<ActionOrder>(request)?.action)
}

/// The figures of a request that names nothing else.
pub(super) fn figures(app: &App, request: &ServerRequest) -> Result<Vec<Change>, ApiProblem> {
    let given: serde_json::Map<String, Value> = body(request)?;
    if given.is_empty() {
        return Err(ApiProblem::new(422, "the body names no setting"));
    }
    let figures = given
        .iter()
        .map(|(name, value)| figure(app, name, &text(name, value)?));
    figures.collect()
}

/// A root that a form names.
pub(super) fn chosen_root(url: &str) -> Result<String, ApiProblem> {
    if url.len() > LONGEST_ROOT {
        return Err(ApiProblem::new(422, "the URL is too long"));
    }
    Ok(roots(&[url.to_owned()])?[0].url.to_string())
}

/// Gives a running crawl other figures.
pub(super) fn change(
    app: &App,
    request: &ServerRequest,
    job: (&str, &PathBuf),
) -> Result<ApiReply, ApiProblem> {
    let given: serde_json::Map<String, Value> = body(request)?;
    if given.is_empty() {
        return Err(ApiProblem::new(422, "the body names no setting"));
    }
    // Everything is read before anything is changed.
    let mut changes = Vec::new();
    let mut patterns = Vec::new();
    for (name, value) in &given {
        if name == EXCLUDE {
            patterns = texts(name, value)?;
            continue;
        }
        let value = text(name, value)?;
        changes.push(figure(app, name, &value)?);
    }
    for change in &changes {
        apply(app, job, *change)?;
    }
    for pattern in &patterns {
        exclude(app, job, pattern)?;
    }
    let mut words: Vec<String> = changes.iter().map(Change::to_string).collect();
    words.extend(patterns.iter().map(|pattern| format!("exclude {pattern}")));
    let figures = app.jobs.status(job.1)?.figures.clone();
    Ok(ApiReply::json(
        &json!({ "changed": words, "settings": figures }),
    ))
}

/// Leaves out what matches a pattern.
pub(super) fn exclude(
    app: &App,
    (id, path): (&str, &PathBuf),
    pattern: &str,
) -> Result<(), ApiProblem> {
    commands(app)?;
    if pattern.is_empty() || pattern.len() > LONGEST_VALUE {
        return Err(ApiProblem::new(422, "the pattern is missing or too long"));
    }
    let line = AuditLine {
        action: "exclude",
        job: id,
        before: None,
        after: Some(json!(pattern)),
    };
    app.audit.write(path, &line)?;
    StoredJob::read(path)?.exclude(pattern)?;
    app.jobs.look_again(path);
    Ok(())
}

/// Reads one figure.
pub(super) fn figure(app: &App, name: &str, value: &str) -> Result<Change, ApiProblem> {
    let figure = &commands(app)?.figure;
    figure(name, value).map_err(|why| ApiProblem::new(422, why))
}

/// Changes one figure of a running crawl.
pub(super) fn apply(
    app: &App,
    (id, path): (&str, &PathBuf),
    change: Change,
) -> Result<(), ApiProblem> {
    let line = AuditLine {
        action: "settings",
        job: id,
        before: Some(json!(app.jobs.status(path)?.figures)),
        after: Some(json!(change.to_string())),
    };
    app.audit.write(path, &line)?;
    StoredJob::read(path)?.change(change)?;
    app.jobs.look_again(path);
    Ok(())
}

/// Deletes a job, if its name was typed.
pub(super) fn delete(
    app: &App,
    request: &ServerRequest,
    job: (&str, &PathBuf),
) -> Result<ApiReply, ApiProblem> {
    let typed = parameter(request, "confirm").unwrap_or_default();
    remove(app, job, &typed)?;
    Ok(ApiReply::json(&json!({ "deleted": job.0 })))
}

/// Deletes a job folder of the place in which no crawl runs.
pub(super) fn remove(
    app: &App,
    (id, path): (&str, &PathBuf),
    typed: &str,
) -> Result<(), ApiProblem> {
    commands(app)?;
    let place = app.jobs.folder().ok_or_else(|| {
        ApiProblem::new(
            409,
            "this server shows named jobs, which it does not delete",
        )
    })?;
    if typed != id {
        return Err(ApiProblem::new(
            422,
            "type the name of the job (?confirm=NAME) to delete it",
        ));
    }
    if app.jobs.ask(path, StoredJob::owner)?.is_some() {
        return Err(ApiProblem::new(
            409,
            "somebody works in this job; stop it first",
        ));
    }
    let line = AuditLine {
        action: "delete",
        job: id,
        before: None,
        after: None,
    };
    app.audit.write(place, &line)?;
    // Under another name nobody can begin to work in it.
    let doomed = place.join(format!(".deleted-{id}"));
    fs::rename(path, &doomed)?;
    app.jobs.look_again(path);
    Ok(fs::remove_dir_all(&doomed)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_declared_settings_pass() {
        let read = |text: &str| settings(&serde_json::from_str(text).unwrap());
        let given = read(r#"{"max-pages":10,"exclude":["/a","/b"],"no-parent":true}"#).unwrap();
        let expected = [
            ("exclude", "/a"),
            ("exclude", "/b"),
            ("max-pages", "10"),
            ("no-parent", "true"),
        ];
        let mut found: Vec<_> = given
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        found.sort_unstable();
        assert_eq!(found, expected);
        for refused in [
            r#"{"output":"/etc"}"#,
            r#"{"proxy":"http://x"}"#,
            r#"{"allow-private":"all"}"#,
            r#"{"header":"a: b"}"#,
            r#"{"resolve":"a:1:127.0.0.1"}"#,
            r#"{"dns":"127.0.0.1"}"#,
            r#"{"insecure":true}"#,
            r#"{"depth":{}}"#,
            "{\"include\":\"a\\u0000\"}",
        ] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn folders_are_named_after_hosts_and_never_leave_the_place() {
        let place = tempfile::tempdir().unwrap();
        let name = |host: &str| {
            let path = free(place.path(), host).unwrap();
            assert_eq!(path.parent(), Some(place.path()));
            path.file_name().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(name("a.test"), "a.test.crawl");
        fs::create_dir(place.path().join("a.test.crawl")).unwrap();
        assert_eq!(name("a.test"), "a.test-2.crawl");
        assert_eq!(name("[::1]"), "---1-.crawl");
        assert!(name(&"x".repeat(300)).len() <= 64);
        for bad in ["", ".", "..", "a/b", "A", "a b", "../x"] {
            assert!(chosen(place.path(), bad).is_err(), "{bad}");
        }
        assert!(chosen(place.path(), "a.test.crawl").is_err());
        assert!(chosen(place.path(), "new.crawl").is_ok());
    }

    #[test]
    fn a_key_stands_for_one_request() {
        let keys = RequestKeys::default();
        assert_eq!(keys.find("k", b"a"), Ok(None));
        keys.keep("k", b"a", "job");
        assert_eq!(keys.find("k", b"a"), Ok(Some("job".to_owned())));
        assert!(keys.find("k", b"b").is_err());
    }
}
