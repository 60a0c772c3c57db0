//! Metrics, in the text format of Prometheus (version 0.0.4).
//!
//! Owns the form, and what is told: all jobs of a place, or one fleet, and the server. Refuses to know how
//! figures are found. Invariants: no URL and no host is a label; a family is told once, with its help and its
//! kind, whatever the number of jobs.

mod fleet;
mod jobs;
mod server;

use std::fmt::Write as _;

use clewline_job::report::{TIME_BOUNDS, TimeHistogram};
use clewline_job::status::State;

pub(super) use self::server::RequestTimes;
use super::App;
use super::reply::{ApiReply, word};

/// Labels and a value.
type Sample = (Vec<(&'static str, String)>, f64);

/// The metrics of everything that is served.
pub(super) fn scraped(app: &App) -> ApiReply {
    let mut text = String::new();
    match &app.fleet {
        Some(fleet) => fleet::tell(fleet, &mut text),
        None => jobs::tell(app, &mut text),
    }
    server::tell(&mut text);
    app.requests.tell(&mut text);
    ApiReply::text("text/plain; version=0.0.4; charset=utf-8", text)
}

fn one(value: f64) -> Vec<Sample> {
    vec![(Vec::new(), value)]
}

fn labelled(name: &'static str, value: &str, count: u64) -> Sample {
    (vec![(name, value.to_owned())], count as f64)
}

/// 1 for the state that a job is in, 0 for the others.
fn states(state: State) -> Vec<Sample> {
    let each = |one: &State| labelled("state", &word(one), u64::from(*one == state));
    STATES.iter().map(each).collect()
}

const STATES: [State; 6] = [
    State::Running,
    State::Paused,
    State::Stopping,
    State::Unfinished,
    State::Finished,
    State::Unreached,
];

/// Writes a family: for each job its samples.
fn told<'a>(
    out: &mut String,
    (name, kind, help): (&str, &str, &str),
    rows: impl Iterator<Item = (&'a str, Vec<Sample>)>,
) {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("a string takes all text");
    for (job, samples) in rows {
        for (labels, value) in samples {
            // Names of jobs and words hold no quote, backslash or line end.
            write!(out, "{name}{{job=\"{job}\"").expect("a string takes all text");
            for (label, text) in labels {
                write!(out, ",{label}=\"{text}\"").expect("a string takes all text");
            }
            writeln!(out, "}} {value}").expect("a string takes all text");
        }
    }
}

/// The samples of a histogram.
fn buckets(out: &mut String, name: &str, labels: &str, times: &TimeHistogram) {
    let counts = times.cumulated();
    let bounds = TIME_BOUNDS.iter().map(f64::to_string);
    for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
        writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}")
            .expect("a string takes all text");
    }
    let (sum, count) = (times.micros as f64 / 1e6, counts[TIME_BOUNDS.len()]);
    writeln!(
        out,
        "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}"
    )
    .expect("a string takes all text");
}
