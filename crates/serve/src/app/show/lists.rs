//! The tables of hosts and URLs.
//!
//! Owns what of a row is shown, and the choices of the filters. Refuses to know how rows are found.

use std::sync::Arc;

use clewline_job::hosts::{CrawledHost, HostSort};
use clewline_job::look::Tone;
use clewline_job::record::Record;
use clewline_job::report::figures;
use clewline_job::status::Cause;

use super::overview::{cause, outcome};
use super::{Shown, ShownJob};
use crate::app::background::BackgroundResult;
use crate::app::hosts::{self, HostList};
use crate::app::reply::{ApiProblem, parameter, word};
use crate::app::sorted::{self, UrlSort};
use crate::app::urls::{self, UrlQuestion};
use crate::pages::{HostRow, HostsPage, ListChoice, ListView, ListedPage, PagesPage, SortOrder};
use crate::server::ServerRequest;

/// Causes that a host can wait for by itself.
const CAUSES: [Cause; 8] = [
    Cause::InFlight,
    Cause::Name,
    Cause::Robots,
    Cause::Parked,
    Cause::CrawlDelay,
    Cause::Rate,
    Cause::Shared,
    Cause::Turn,
];
/// Outcomes that URLs are narrowed to.
const OUTCOMES: [&str; 5] = ["fetched", "redirected", "unmodified", "skipped", "failed"];

fn choice(value: impl Into<String>, name: &str) -> ListChoice {
    ListChoice {
        value: value.into(),
        name: name.to_owned(),
    }
}

pub(super) fn hosts(job: &ShownJob<'_>, request: &ServerRequest) -> Result<String, ApiProblem> {
    let question = hosts::question(request)?;
    let page = job.app.jobs.ask(&job.path, |job| job.hosts(&question))?;
    let list = HostList::new(page);
    let sort = HostSort::NAMES
        .iter()
        .find(|(_, sort)| *sort == question.sort);
    let view = ListView {
        path: format!("{}/hosts", job.base),
        text: question.contains,
        choice_name: "Waiting for",
        choices: CAUSES.map(|one| choice(word(&one), cause(one))).to_vec(),
        chosen: question.cause.map(|cause| word(&cause)).unwrap_or_default(),
        sort: sort.map(|(name, _)| (*name).to_owned()).unwrap_or_default(),
        order: if question.ascending {
            SortOrder::Ascending
        } else {
            SortOrder::Descending
        },
        total: Some(list.page.matching),
        next: list.cursor,
        is_later: question.after.is_some(),
    };
    let page = HostsPage {
        frame: job.frame()?,
        list: view,
        rows: list.page.rows.iter().map(host).collect(),
    };
    Ok(page.html())
}

fn host(row: &CrawledHost) -> HostRow {
    let errors = row.tally.errors + row.tally.failures;
    let bad = match errors {
        0 => Tone::Plain,
        _ => Tone::Bad,
    };
    let Some(active) = &row.active else {
        return HostRow {
            host: row.host.clone(),
            tone: bad,
            cause: "nothing".to_owned(),
            queued: 0,
            at_least: false,
            in_flight: 0,
            pages: row.tally.done,
            errors: Some(errors),
            interval: 0.0,
            whose: String::new(),
            left: 0.0,
        };
    };
    let until = active.until.filter(|until| until.as_secs() > 0);
    let until = until.map(|until| format!(", {}", figures::seconds(until.as_secs_f64())));
    HostRow {
        host: row.host.clone(),
        tone: if active.cause == Cause::Parked {
            Tone::Warn
        } else {
            bad
        },
        cause: format!("{}{}", cause(active.cause), until.unwrap_or_default()),
        queued: active.queued,
        at_least: active.at_least,
        in_flight: active.in_flight,
        pages: active.pages,
        errors: Some(errors),
        interval: active.interval.as_secs_f64(),
        whose: match active.cause {
            Cause::CrawlDelay => "robots.txt".to_owned(),
            Cause::Delay => "--delay".to_owned(),
            _ => String::new(),
        },
        left: active.left.as_secs_f64(),
    }
}

pub(super) fn urls(job: &ShownJob<'_>, request: &ServerRequest) -> Result<Shown, ApiProblem> {
    let chosen = parameter(request, "is").unwrap_or_default();
    let mut question = UrlQuestion::read(request)?;
    match chosen.as_str() {
        "" => {}
        "broken" => question.is_broken = true,
        name if OUTCOMES.contains(&name) => {
            let read = serde_json::from_value(serde_json::Value::String(name.to_owned()));
            question.outcome = read.ok();
        }
        _ => return Err(ApiProblem::new(400, "there is no such choice")),
    }
    let is_later = question.cursor.is_some();
    // A job without records has an empty list.
    let listed = if question.sort == UrlSort::Time {
        urls::listed(&job.path, &question).map(|list| BackgroundResult::Made(Arc::new(list)))
    } else {
        sorted::listed(&job.app.sorted, &job.path, &question)
    };
    let (list, is_making) = match listed {
        Err(problem) if problem.status() == 404 && !is_later => (Arc::default(), false),
        listed => match listed? {
            BackgroundResult::Made(list) => (list, false),
            BackgroundResult::Making => (Arc::default(), true),
            BackgroundResult::Failed(why) => return Err(ApiProblem::new(500, why)),
        },
    };
    let sort = UrlSort::NAMES
        .iter()
        .find(|(_, sort)| *sort == question.sort);
    let mut choices = vec![choice("broken", "broken")];
    choices.extend(OUTCOMES.map(|name| choice(name, name)));
    let view = ListView {
        path: format!("{}/pages", job.base),
        text: question.contains,
        choice_name: "Outcome",
        choices,
        chosen,
        sort: sort.map(|(name, _)| (*name).to_owned()).unwrap_or_default(),
        order: if question.is_newest_first {
            SortOrder::Descending
        } else {
            SortOrder::Ascending
        },
        total: list.total,
        next: list.cursor.clone(),
        is_later,
    };
    let page = PagesPage {
        frame: job.frame()?,
        list: view,
        is_sorting: is_making,
        rows: list.rows.iter().map(url).collect(),
    };
    let show = if is_making {
        Shown::Making
    } else {
        Shown::Page
    };
    Ok(show(page.html()))
}

fn url(record: &Record) -> ListedPage {
    let (outcome, tone) = outcome(record);
    ListedPage {
        url: record.url.to_string(),
        title: record.title.clone().unwrap_or_default(),
        outcome,
        tone,
        depth: record.depth,
        bytes: Some(record.body_bytes).filter(|bytes| *bytes > 0),
        millis: record.timings.first_byte,
        time: figures::instant(&record.fetched_at),
    }
}
