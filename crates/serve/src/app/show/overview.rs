//! How a crawl stands, in words, figures and charts.
//!
//! Owns which figures come first and how causes are called. Refuses to know how they look.

use std::time::Duration;

use clewline_job::look::{ChartForm, ChartSeries, TimeChart, Tone};
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::report::figures;
use clewline_job::report::{Series, SeriesPoint};
use clewline_job::status::Cause;
use clewline_job::status::{State, Status};

use super::ShownJob;
use crate::app::jobs::is_running;
use crate::app::reply::{ApiProblem, word};
use crate::app::urls::{self, UrlQuestion};
use crate::pages::{
    Figure, JobControls, OverviewPage, PageRight, RecentUrl, SettingControl, WaitShare,
};

/// URLs that ended last, and causes that are named.
const MOST_RECENT: usize = 20;
const MOST_WAITS: usize = 12;

pub(super) fn shown(job: &ShownJob<'_>) -> Result<String, ApiProblem> {
    let status = job.status()?;
    let newest = UrlQuestion {
        is_newest_first: true,
        most: MOST_RECENT,
        ..UrlQuestion::default()
    };
    // A crawl that has just begun has no records.
    let recent = urls::listed(&job.path, &newest).unwrap_or_default();
    let tally = job.app.jobs.tally(&job.path)?;
    let page = OverviewPage {
        frame: job.frame_of(&status),
        sentence: sentence(&status),
        reason: reason(&status),
        figures: first_figures(&status),
        waits: waits(&status),
        charts: charts(&tally.series),
        recent: recent.rows.iter().map(row).collect(),
        notes: notes(&status),
        controls: controls(job, &status),
        crawler: about_crawler(&status),
    };
    Ok(page.html())
}

fn sentence(status: &Status) -> String {
    let pages = figures::plural(status.pages, "page");
    match status.queued {
        0 => format!("{pages} fetched, nothing waits."),
        1 => format!("{pages} fetched, 1 URL waits."),
        queued => format!("{pages} fetched, {} URLs wait.", figures::count(queued)),
    }
}

fn reason(status: &Status) -> String {
    if let Some(held) = &status.held {
        return held.clone();
    }
    if let Some(ended) = status.ended.as_ref().filter(|_| !is_running(status.state)) {
        return ended.clone();
    }
    let left = status.time_left.map(figures::seconds);
    left.map(|left| format!("About {left} left."))
        .unwrap_or_default()
}

/// What holds the crawl, and what it noted, the newest first.
fn notes(status: &Status) -> Vec<String> {
    let noted = status.notes.iter().rev().map(|note| &note.text);
    status.held.iter().chain(noted).cloned().collect()
}

fn first_figures(status: &Status) -> Vec<Figure> {
    let figure = |name: &str, value: String, more: String, tone| Figure {
        name: name.to_owned(),
        value,
        more,
        tone,
    };
    let broken = match status.broken {
        0 => Tone::Good,
        _ => Tone::Bad,
    };
    vec![
        figure(
            "Pages",
            figures::count(status.pages),
            format!("of {}", figures::plural(status.hosts_met, "host")),
            Tone::Plain,
        ),
        figure(
            "Broken URLs",
            figures::count(status.broken),
            format!("{} of them failed", figures::count(status.failed)),
            broken,
        ),
        figure(
            "Waiting",
            figures::count(status.queued),
            format!("{} in flight", figures::count(status.in_flight)),
            Tone::Plain,
        ),
        figure(
            "Read",
            figures::bytes(status.bytes),
            format!("in {}", figures::seconds(status.seconds)),
            Tone::Plain,
        ),
    ]
}

fn waits(status: &Status) -> Vec<WaitShare> {
    let waits = status.summary.waits.iter().take(MOST_WAITS);
    waits
        .map(|wait| WaitShare {
            cause: cause(wait.cause).to_owned(),
            word: word(&wait.cause),
            urls: wait.urls,
            hosts: wait.hosts,
            host: wait.host.to_string(),
        })
        .collect()
}

/// What a URL waits for, in words.
pub(super) const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::InFlight => "requests in flight",
        Cause::Name => "its address",
        Cause::Robots => "its robots.txt",
        Cause::Parked => "the end of a pause",
        Cause::CrawlDelay => "the delay that robots.txt asks for",
        Cause::Delay => "the delay that was chosen",
        Cause::Rate => "the rate limit",
        Cause::Shared => "the limit of its domain or address",
        Cause::Budget => "the page budget",
        Cause::Level => "the level before",
        Cause::Place => "a place among the active hosts",
        _ => "its turn",
    }
}

fn charts(series: &Series) -> Vec<TimeChart<'static>> {
    let step = Duration::from_millis(series.resolution).as_secs_f64();
    let chart = |title, about, values: Vec<Option<f64>>, label| TimeChart {
        title,
        about,
        seconds: values.len() as f64 * step,
        series: vec![ChartSeries {
            name: String::new(),
            values,
        }],
        form: ChartForm::Lines,
        label,
    };
    // The last point is not over.
    let whole = &series.points[..series.points.len().saturating_sub(1)];
    let rate = whole.iter().map(|point| Some(point.done as f64 / step));
    let latency = whole.iter().map(SeriesPoint::latency);
    vec![
        chart(
            "Rate",
            "URLs settled per second",
            rate.collect(),
            figures::rate_tick,
        ),
        chart(
            "Latency",
            "mean time to the first byte",
            latency.collect(),
            figures::millis_tick,
        ),
    ]
}

fn row(record: &Record) -> RecentUrl {
    let (outcome, tone) = outcome(record);
    RecentUrl {
        url: record.url.to_string(),
        outcome,
        tone,
        time: record.fetched_at.get(11..19).unwrap_or_default().to_owned(),
    }
}

/// What became of a URL in a word or a number, and whether that is good news.
pub(super) fn outcome(record: &Record) -> (String, Tone) {
    match (record.outcome, record.status) {
        (OutcomeKind::Failed, _) => {
            let class = record.failure.map_or("failed", |class| class.about());
            (class.to_owned(), Tone::Bad)
        }
        (OutcomeKind::Skipped, _) => {
            let reason = record.reason.map_or("skipped", |reason| reason.about());
            (reason.to_owned(), Tone::Plain)
        }
        (_, Some(status)) if status >= 400 => (status.to_string(), Tone::Bad),
        (OutcomeKind::Redirected, Some(status)) => (status.to_string(), Tone::Plain),
        (_, Some(status)) => (status.to_string(), Tone::Good),
        (OutcomeKind::Unmodified, None) => ("unmodified".to_owned(), Tone::Good),
        (_, None) => ("answered".to_owned(), Tone::Plain),
    }
}

fn controls(job: &ShownJob<'_>, status: &Status) -> JobControls {
    if job.right != PageRight::Operate {
        return JobControls::default();
    }
    let runs = is_running(status.state);
    JobControls {
        can_start: !runs && job.app.jobs.is_folder() && status.state != State::Finished,
        can_pause: status.state == State::Running,
        can_continue: status.state == State::Paused,
        can_stop: runs && status.state != State::Stopping,
        settings: if runs { settings(status) } else { Vec::new() },
        takes_patterns: runs,
        takes_roots: runs,
        can_delete: !runs && job.app.jobs.is_folder(),
    }
}

fn settings(status: &Status) -> Vec<SettingControl> {
    let figures = &status.figures;
    let control = |name, label, value: Option<String>, example| SettingControl {
        name,
        label,
        value: value.unwrap_or_default(),
        example,
    };
    vec![
        control(
            "rate",
            "Requests per second and host",
            figures.rate.map(|rate| format!("{rate}/s")),
            "5/s",
        ),
        control(
            "concurrency",
            "Requests in flight",
            Some(figures.concurrency.to_string()),
            "100",
        ),
        control(
            "max-pages",
            "Pages at most",
            figures.max_pages.map(|pages| pages.to_string()),
            "1000",
        ),
        control(
            "max-time",
            "Time at most",
            figures.max_time.map(|time| format!("{time}s")),
            "2h",
        ),
    ]
}

fn about_crawler(status: &Status) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let connections = status.machine.as_ref().map(|machine| {
        let (active, idle) = (machine.active_connections, machine.idle_connections);
        let told = format!(
            "{} active, {} idle",
            figures::count(active),
            figures::count(idle)
        );
        fact("Connections", told)
    });
    let facts = vec![
        fact(
            "Pages per second",
            format!("{:.1}", status.pages_per_second),
        ),
        fact(
            "Bytes per second",
            figures::bytes(status.bytes_per_second as u64),
        ),
        fact("URLs settled", figures::count(status.done)),
        fact(
            "URLs withheld as parts of traps",
            figures::count(status.withheld),
        ),
        fact("Time spent", figures::seconds(status.seconds)),
    ];
    facts.into_iter().chain(connections).collect()
}
