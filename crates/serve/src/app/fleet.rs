//! A fleet as the only job of a server: its page, its part of REST and metrics, and what it is told.
//!
//! Owns which path of a fleet is answered by what, and how it stands, kept for a moment so that many
//! viewers cost its database no more than one. It refuses to know databases: whoever starts the server
//! lends the looks and the orders. Invariants: a fleet is looked at only when somebody asks; what needs
//! a job folder is refused with the command that makes one; whatever changes something needs the right
//! to operate, and leaves a line in the audit log before it happens.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clewline::Change;
use clewline_job::look::Tone;
use clewline_job::report::figures;
use clewline_job::status::State;
use serde_json::{Map, Value, json};

use super::App;
use super::access::Right;
use super::audit::AuditLine;
use super::jobs::{is_running, name_of};
use super::orders::{self, ACTIONS};
use super::reply::{ApiProblem, ApiReply};
use super::show::{Shown, field, require_right};
use crate::pages::{
    Figure, FleetPage, FleetWorker, JobControls, MessagePage, PageRight, SettingControl,
};
use crate::server::ServerRequest;

/// How long an answer of the database is kept.
const KEPT: Duration = Duration::from_secs(1);
/// Workers of the page.
const MOST_WORKERS: usize = 500;
/// What is said where a folder is needed.
const NO_FOLDER: &str =
    "a fleet has no folder yet; `clewline fleet merge` makes one, and `clewline serve` shows it";
/// What a path of a job may end with that needs a folder.
const OF_FOLDERS: [&str; 8] = [
    "changes", "exclude", "findings", "hosts", "log", "status", "urls", "why",
];

/// What a fleet is told.
#[derive(Debug, Clone, PartialEq)]
pub enum FleetSteer {
    /// Nobody asks anything until somebody says so.
    Pause,
    /// All go on.
    Continue,
    /// All commit what they have, and end.
    Stop,
    /// Every worker has another figure.
    Change(Change),
    /// One more root.
    Add(String),
}

/// How a fleet stands, in the words of `clewline status`, and in figures.
#[derive(Debug, Clone)]
pub struct FleetStanding {
    /// What it does.
    pub state: State,
    /// The same in words: `running: its roots come first`.
    pub told: String,
    /// What is done, what is queued, what was read.
    pub done: String,
    /// How fast it is, and how long it will take; may be empty.
    pub pace: String,
    /// What is left of its budget of pages; may be empty.
    pub budget: String,
    /// Who has the shards, and what is unread.
    pub shares: String,
    /// What it waits for.
    pub waits: Vec<String>,
    /// Its workers, those that died included.
    pub workers: Vec<FleetWorker>,
    /// Its figures.
    pub counts: FleetCounts,
    /// Everything, for programs.
    pub json: Map<String, Value>,
}

/// Figures of a fleet.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FleetCounts {
    /// Pages fetched.
    pub pages: u64,
    /// URLs that wait.
    pub queued: u64,
    /// URLs that were let in.
    pub known: u64,
    /// Bytes read from the network.
    pub bytes: u64,
    /// Batches of links that nobody has read.
    pub mail: u64,
    /// Shards, and how many of them have a live owner or nothing to do.
    pub shards: u64,
    /// Shards with a live owner.
    pub owned: u64,
    /// Shards with nothing to do.
    pub idle: u64,
    /// Pages in a second, if any worker tells.
    pub pages_per_second: Option<f64>,
    /// Time left, if it can be told.
    pub left: Option<Duration>,
}

type Looking = dyn Fn() -> Result<FleetStanding, String> + Send + Sync;
type Obeying = dyn Fn(&FleetSteer) -> Result<String, String> + Send + Sync;

/// A fleet that is served, lent by whoever knows its database.
pub struct ServedFleet {
    /// What the job is called.
    pub name: String,
    /// Where the audit log lies; a fleet has no folder.
    pub audit_folder: PathBuf,
    /// Looks how it stands, or says why that cannot be told.
    pub look: Box<Looking>,
    /// Tells it something; what comes of it, in words.
    pub obey: Box<Obeying>,
}

impl fmt::Debug for ServedFleet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServedFleet")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The fleet of a server, and how it stood a moment ago.
#[derive(Debug)]
pub(super) struct FleetShelf {
    fleet: ServedFleet,
    id: String,
    kept: Mutex<Option<KeptLook>>,
}

/// What a look brought.
#[derive(Debug)]
struct KeptLook {
    at: Instant,
    found: Result<Arc<FleetStanding>, String>,
}

impl FleetShelf {
    pub(super) fn new(fleet: ServedFleet) -> Self {
        Self {
            id: name_of(Path::new(&fleet.name)),
            fleet,
            kept: Mutex::default(),
        }
    }

    /// Its name in paths.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// How it stands. One asks, and the others wait for that answer.
    pub(super) fn standing(&self) -> Result<Arc<FleetStanding>, ApiProblem> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take_if(|kept| kept.at.elapsed() >= KEPT);
        let look = || KeptLook {
            found: (self.fleet.look)().map(Arc::new),
            at: Instant::now(),
        };
        let found = kept.get_or_insert_with(look).found.clone();
        found.map_err(|why| ApiProblem::new(503, why))
    }

    fn forget(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn events(&self) -> String {
        format!("/api/v1/jobs/{}/events", self.id)
    }
}

/// Answers a page of a fleet, or a form on it.
pub(super) fn shown(
    app: &App,
    fleet: &FleetShelf,
    request: &ServerRequest,
    right: Right,
) -> Result<Shown, ApiProblem> {
    let rest = of_fleet(fleet, request.path());
    match (rest, request.is_reading()) {
        (Some(""), true) => page(app, fleet, right).map(Shown::Page),
        (Some("actions" | "settings" | "roots"), false) => {
            require_right(app, request, right)?;
            let field = |name| field(request, name);
            let steer = match rest {
                Some("actions") => steer(&field("action"))?,
                Some("settings") => {
                    FleetSteer::Change(orders::figure(app, &field("name"), &field("value"))?)
                }
                _ => FleetSteer::Add(orders::chosen_root(&field("url"))?),
            };
            tell(app, fleet, &steer)?;
            Ok(Shown::Elsewhere("/".to_owned()))
        }
        _ => Ok(Shown::Missing(no_folder())),
    }
}

/// What follows the job in a path. Its pages lie at the root, as those of any only job.
fn of_fleet<'a>(fleet: &FleetShelf, path: &'a str) -> Option<&'a str> {
    match path.strip_prefix("/jobs/") {
        None => Some(path.trim_start_matches('/')),
        Some(rest) => {
            let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
            (id == fleet.id).then_some(rest)
        }
    }
}

fn no_folder() -> String {
    let message = MessagePage {
        title: "Not of a fleet".to_owned(),
        sentence:
            "Search, replay, hosts and URLs need a folder, and a fleet has none yet. This makes \
                   one of what its workers wrote:"
                .to_owned(),
        subject: "clewline fleet merge postgres://… --job NAME -o NAME.crawl FOLDER…".to_owned(),
        next: Some(("The fleet".to_owned(), "/".to_owned())),
    };
    message.html()
}

fn page(app: &App, fleet: &FleetShelf, right: Right) -> Result<String, ApiProblem> {
    let standing = fleet.standing()?;
    let right = match app.commands {
        Some(_) if right == Right::Operate => PageRight::Operate,
        _ => PageRight::Read,
    };
    let mut workers = standing.workers.clone();
    workers.sort_by_key(|worker| !worker.live);
    let more = workers.len().saturating_sub(MOST_WORKERS);
    workers.truncate(MOST_WORKERS);
    let page = FleetPage {
        name: fleet.fleet.name.clone(),
        tone: tone(standing.state),
        state: standing.told.clone(),
        sentence: format!("{}.", standing.done),
        pace: standing.pace.clone(),
        figures: first_figures(&standing),
        notes: [&standing.shares, &standing.budget]
            .into_iter()
            .filter(|note| !note.is_empty())
            .cloned()
            .collect(),
        waits: standing.waits.clone(),
        workers,
        more: more as u64,
        events: is_running(standing.state).then(|| fleet.events()),
        controls: controls(standing.state, right),
        right,
    };
    Ok(page.html())
}

const fn tone(state: State) -> Tone {
    match state {
        State::Running | State::Finished => Tone::Good,
        _ => Tone::Warn,
    }
}

fn first_figures(standing: &FleetStanding) -> Vec<Figure> {
    let counts = &standing.counts;
    let live = standing.workers.iter().filter(|worker| worker.live).count() as u64;
    let silent = standing.workers.len() as u64 - live;
    let figure = |name: &str, value: String, more: String| Figure {
        name: name.to_owned(),
        value,
        more,
        tone: Tone::Plain,
    };
    let rate = counts.pages_per_second.unwrap_or_default();
    vec![
        figure(
            "Workers",
            figures::count(live),
            match silent {
                0 => "all of them at work".to_owned(),
                silent => format!("{} silent", figures::count(silent)),
            },
        ),
        figure(
            "Shards",
            format!(
                "{} of {}",
                figures::count(counts.owned),
                figures::count(counts.shards)
            ),
            "have an owner".to_owned(),
        ),
        figure(
            "Pages",
            figures::count(counts.pages),
            format!("{rate:.1} a second"),
        ),
        figure(
            "Waiting",
            figures::count(counts.queued),
            format!("{} of mail unread", figures::plural(counts.mail, "row")),
        ),
    ]
}

fn controls(state: State, right: PageRight) -> JobControls {
    if right != PageRight::Operate || !is_running(state) {
        return JobControls::default();
    }
    let control = |name, label, example| SettingControl {
        name,
        label,
        value: String::new(),
        example,
    };
    JobControls {
        can_pause: state == State::Running,
        can_continue: state == State::Paused,
        can_stop: true,
        settings: vec![
            control("rate", "Requests per second and host", "5/s"),
            control("concurrency", "Requests in flight of each worker", "100"),
        ],
        takes_roots: true,
        ..JobControls::default()
    }
}

fn steer(action: &str) -> Result<FleetSteer, ApiProblem> {
    match action {
        "pause" => Ok(FleetSteer::Pause),
        "continue" => Ok(FleetSteer::Continue),
        "stop" => Ok(FleetSteer::Stop),
        "start" => Err(ApiProblem::new(
            409,
            "workers are started on their machines; `clewline fleet join` does it",
        )),
        _ => Err(ApiProblem::new(
            422,
            format!("action is one of {}", ACTIONS.join(", ")),
        )),
    }
}

/// Tells the fleet, after the line in the log.
fn tell(app: &App, fleet: &FleetShelf, steer: &FleetSteer) -> Result<String, ApiProblem> {
    let before = fleet.standing()?.state;
    let (action, after) = match steer {
        FleetSteer::Pause => ("pause", None),
        FleetSteer::Continue => ("continue", None),
        FleetSteer::Stop => ("stop", None),
        FleetSteer::Change(change) => ("settings", Some(json!(change.to_string()))),
        FleetSteer::Add(url) => ("add", Some(json!(url))),
    };
    let line = AuditLine {
        action,
        job: &fleet.id,
        before: Some(json!(before)),
        after,
    };
    app.audit.write(&fleet.fleet.audit_folder, &line)?;
    let told = (fleet.fleet.obey)(steer);
    fleet.forget();
    told.map_err(|why| ApiProblem::new(409, why))
}

/// Answers a path below `/api/v1/jobs`. Whoever changes something has the right to.
pub(super) fn answer(
    app: &App,
    fleet: &FleetShelf,
    request: &ServerRequest,
    parts: &[&str],
) -> Result<ApiReply, ApiProblem> {
    let reads = "GET, HEAD";
    match (parts, request.method.as_str()) {
        ([], "GET" | "HEAD") => Ok(ApiReply::json(
            &json!({ "jobs": [entry(fleet)], "total": 1, "cursor": null }),
        )),
        ([id, ..], _) if *id != fleet.id => Err(ApiProblem::new(404, "there is no such job")),
        ([_], "GET" | "HEAD") => Ok(ApiReply::json(&entry(fleet))),
        ([_], _) => Err(ApiProblem::new(
            409,
            "`clewline fleet drop` removes the job of a fleet",
        )),
        ([_, "fleet"], "GET" | "HEAD") => Ok(ApiReply::json(&fleet.standing()?.json)),
        ([_, "events"], "GET" | "HEAD") => Ok(ApiReply::events(app.watches.join_fleet(request)?)),
        ([] | [_, "fleet" | "events"], _) => Err(ApiProblem::method(reads)),
        ([_, "actions"], "POST") => {
            tell(app, fleet, &steer(&orders::action(request)?)?)?;
            let state = fleet.standing()?.state;
            Ok(ApiReply::json(&json!({ "id": fleet.id, "state": state })).with_status(202))
        }
        ([_, "actions"], _) => Err(ApiProblem::method("POST")),
        ([_, "settings"], "PATCH") => {
            let changes = orders::figures(app, request)?;
            let words: Vec<String> = changes.iter().map(Change::to_string).collect();
            for change in changes {
                tell(app, fleet, &FleetSteer::Change(change))?;
            }
            Ok(ApiReply::json(&json!({ "changed": words })))
        }
        ([_, "settings"], _) => Err(ApiProblem::method("PATCH")),
        ([_, rest], _) if OF_FOLDERS.contains(rest) => Err(ApiProblem::new(409, NO_FOLDER)),
        _ => Err(ApiProblem::not_found()),
    }
}

fn entry(fleet: &FleetShelf) -> Value {
    match fleet.standing() {
        Ok(standing) => json!({
            "id": fleet.id,
            "running": is_running(standing.state),
            "fleet": standing.json,
        }),
        Err(problem) => json!({
            "id": fleet.id,
            "running": false,
            "problem": problem.detail(),
        }),
    }
}
