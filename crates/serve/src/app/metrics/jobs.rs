//! Metrics of jobs.
//!
//! Owns which figures of a job are told, and under which names. Refuses to know the form.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use clewline_job::record::{FailureClass, SkipReason};
use clewline_job::report::{TIME_BOUNDS, Tally};
use clewline_job::status::{MachineUse, State, Status};

use super::super::App;
use super::super::findings::FindingCounts;
use super::super::jobs::{is_running, last_change};
use super::super::reply::word;
use super::{Sample, buckets, labelled, one, states, told};

/// Jobs that are told of; those that run come first.
const MOST_JOBS: usize = 100;

/// The figures of one job.
struct Scraped {
    name: String,
    status: Arc<Status>,
    tally: Arc<Tally>,
    /// What its last check found.
    findings: Option<FindingCounts>,
    /// When its records changed last.
    changed: Option<SystemTime>,
}

/// Tells of all jobs of a place.
pub(super) fn tell(app: &App, out: &mut String) {
    let found = scraped(app);
    counted(&found, out);
    retried(&found, out);
    durations(&found, out);
    standing(&found, out);
    outcomes(&found, out);
    machine(&found, out);
    commits(&found, out);
}

fn scraped(app: &App) -> Vec<Scraped> {
    let mut found = Vec::new();
    for (name, path) in app.jobs.all() {
        // A job that cannot be read now is one that is told of later.
        if let (Ok(status), Ok(tally)) = (app.jobs.status(&path), app.jobs.tally(&path)) {
            found.push(Scraped {
                name,
                status,
                tally,
                findings: app.findings.counts(&path),
                changed: last_change(&path),
            });
        }
    }
    found.sort_by_key(|job| !is_running(job.status.state));
    found.truncate(MOST_JOBS);
    found
}

/// What only grows.
fn counted(jobs: &[Scraped], out: &mut String) {
    let mut counter = |name, help, samples: &dyn Fn(&Scraped) -> Vec<Sample>| {
        family(out, (name, "counter", help), jobs, samples);
    };
    counter("clewline_urls_total", "URLs that are settled.", &|job| {
        let rows = job.tally.outcomes.rows();
        rows.map(|(outcome, count)| labelled("outcome", outcome, count))
            .to_vec()
    });
    counter(
        "clewline_skipped_total",
        "URLs that were skipped on purpose.",
        &|job| {
            let count = |reason: &SkipReason| job.tally.skipped.get(reason).copied().unwrap_or(0);
            let all = SkipReason::ALL.iter();
            all.map(|reason| labelled("reason", reason.name(), count(reason)))
                .collect()
        },
    );
    counter(
        "clewline_failures_total",
        "URLs that could not be fetched.",
        &|job| {
            let count = |class: &FailureClass| job.tally.failures.get(class).copied().unwrap_or(0);
            let all = FailureClass::ALL.iter();
            all.map(|class| labelled("class", class.name(), count(class)))
                .collect()
        },
    );
    counter(
        "clewline_responses_total",
        "Answers by HTTP status.",
        &|job| {
            let statuses = job.tally.statuses.iter();
            statuses
                .map(|(code, count)| labelled("code", &code.to_string(), *count))
                .collect()
        },
    );
    counter(
        "clewline_pages_total",
        "Pages that were brought or confirmed.",
        &|job| one(job.tally.pages as f64),
    );
    counter(
        "clewline_received_bytes_total",
        "Bytes read from the network.",
        &|job| one(job.status.bytes as f64),
    );
    counter(
        "clewline_body_bytes_total",
        "Bytes of bodies after decoding.",
        &|job| one(job.tally.body_bytes as f64),
    );
    counter("clewline_links_total", "Links found.", &|job| {
        one(job.tally.links as f64)
    });
    counter(
        "clewline_robots_denied_total",
        "URLs that robots.txt disallows.",
        &|job| {
            let denied = job.tally.skipped.get(&SkipReason::Robots);
            one(denied.copied().unwrap_or(0) as f64)
        },
    );
    counter(
        "clewline_crawl_seconds_total",
        "Time spent in all runs.",
        &|job| one(job.status.seconds),
    );
}

/// Tries after which there was another one.
fn retried(jobs: &[Scraped], out: &mut String) {
    let help = "Tries that were made again, by why.";
    family(
        out,
        ("clewline_retries_total", "counter", help),
        jobs,
        &|job| {
            let statuses = job.tally.retried_statuses.iter();
            let statuses = statuses.map(|(code, count)| (code.to_string(), *count));
            let failures = job.tally.retried_failures.iter();
            let failures = failures.map(|(class, count)| (class.name().to_owned(), *count));
            let all = statuses.chain(failures);
            all.map(|(cause, count)| labelled("cause", &cause, count))
                .collect()
        },
    );
}

/// How long requests took.
fn durations(jobs: &[Scraped], out: &mut String) {
    const NAME: &str = "clewline_request_duration_seconds";
    let help = "How long the phases of the last tries took.";
    writeln!(out, "# HELP {NAME} {help}\n# TYPE {NAME} histogram")
        .expect("a string takes all text");
    for job in jobs {
        for (phase, times) in job.tally.times.rows() {
            let labels = format!("job=\"{}\",phase=\"{phase}\"", job.name);
            buckets(out, NAME, &labels, times);
        }
    }
}

/// What crawls that run made durable.
fn commits(jobs: &[Scraped], out: &mut String) {
    const TIMES: &str = "clewline_commit_duration_seconds";
    const RECORDS: &str = "clewline_commit_records";
    let running = || {
        let machine = |job: &Scraped| Some((job.name.clone(), job.status.machine?.commits));
        jobs.iter().filter_map(machine)
    };
    let help = "How long it took a crawl that runs to make a batch durable.";
    writeln!(out, "# HELP {TIMES} {help}\n# TYPE {TIMES} histogram")
        .expect("a string takes all text");
    for (job, commits) in running() {
        buckets(out, TIMES, &format!("job=\"{job}\""), &commits.times);
    }
    let help = "URLs in the batches of a crawl that runs.";
    writeln!(out, "# HELP {RECORDS} {help}\n# TYPE {RECORDS} summary")
        .expect("a string takes all text");
    for (job, commits) in running() {
        let (sum, count) = (
            commits.records,
            commits.times.cumulated()[TIME_BOUNDS.len()],
        );
        writeln!(
            out,
            "{RECORDS}_sum{{job=\"{job}\"}} {sum}\n{RECORDS}_count{{job=\"{job}\"}} {count}"
        )
        .expect("a string takes all text");
    }
}

/// What came of crawls and of checks.
fn outcomes(jobs: &[Scraped], out: &mut String) {
    let help = "When a crawl that is finished changed last, in seconds since 1970.";
    let name = "clewline_job_last_success_timestamp_seconds";
    family(out, (name, "gauge", help), jobs, &|job| {
        let finished = job.changed.filter(|_| job.status.state == State::Finished);
        let since = finished.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        since
            .map(|since| one(since.as_secs_f64()))
            .unwrap_or_default()
    });
    let help = "What the last check of a job found.";
    family(out, ("clewline_findings", "gauge", help), jobs, &|job| {
        let counts = job.findings.into_iter().flat_map(FindingCounts::rows);
        counts
            .map(|(severity, count)| labelled("severity", severity.name(), count))
            .collect()
    });
}

/// What crawls that run use of their machine.
fn machine(jobs: &[Scraped], out: &mut String) {
    let mut gauge = |name, help, value: &dyn Fn(&MachineUse) -> Vec<Sample>| {
        family(out, (name, "gauge", help), jobs, &|job| {
            let machine = job.status.machine.as_ref();
            machine.map(value).unwrap_or_default()
        });
    };
    gauge(
        "clewline_engine_busy_ratio",
        "The share of the time in which the engine of a crawl was busy.",
        &|machine| one(machine.engine_busy),
    );
    gauge(
        "clewline_connections",
        "Connections to hosts; one that speaks HTTP/2 is active as long as it is open.",
        &|machine| {
            vec![
                labelled("state", "active", machine.active_connections),
                labelled("state", "idle", machine.idle_connections),
            ]
        },
    );
    gauge(
        "clewline_open_descriptors",
        "Connections and other descriptors that come and go with requests.",
        &|machine| one(machine.open_descriptors as f64),
    );
    gauge(
        "clewline_memory_bytes",
        "Memory: what answers under way hold, what the process has, and what it may use.",
        &|machine| {
            let mut parts = vec![
                labelled("part", "answers", machine.held_bytes),
                labelled("part", "limit", machine.memory_limit),
            ];
            let resident = machine.resident_bytes;
            parts.extend(resident.map(|bytes| labelled("part", "resident", bytes)));
            parts
        },
    );
    gauge(
        "clewline_disk_free_bytes",
        "What is free where the job folder lies.",
        &|machine| {
            let free = machine.disk_free_bytes;
            free.map(|free| one(free as f64)).unwrap_or_default()
        },
    );
}

/// How everything stands now.
fn standing(jobs: &[Scraped], out: &mut String) {
    let mut gauge = |name, help, samples: &dyn Fn(&Scraped) -> Vec<Sample>| {
        family(out, (name, "gauge", help), jobs, samples);
    };
    gauge(
        "clewline_requests_in_flight",
        "Requests in flight.",
        &|job| one(job.status.in_flight as f64),
    );
    gauge(
        "clewline_queue_urls",
        "URLs that wait or are in flight.",
        &|job| one(job.status.queued as f64),
    );
    gauge(
        "clewline_waiting_urls",
        "URLs by what they wait for.",
        &|job| {
            let waits = job.status.summary.waits.iter();
            waits
                .map(|wait| labelled("cause", &word(&wait.cause), wait.urls))
                .collect()
        },
    );
    gauge(
        "clewline_known_urls",
        "URLs of the crawl, settled or not.",
        &|job| one((job.status.done + job.status.queued + job.status.withheld) as f64),
    );
    gauge("clewline_hosts_met", "Hosts met.", &|job| {
        one(job.status.hosts_met as f64)
    });
    gauge(
        "clewline_time_left_seconds",
        "What the queue is expected to take.",
        &|job| job.status.time_left.map(one).unwrap_or_default(),
    );
    gauge(
        "clewline_job_state",
        "1 for the state that a job is in.",
        &|job| states(job.status.state),
    );
}

fn family(
    out: &mut String,
    (name, kind, help): (&str, &str, &str),
    jobs: &[Scraped],
    samples: &dyn Fn(&Scraped) -> Vec<Sample>,
) {
    let rows = jobs.iter().map(|job| (job.name.as_str(), samples(job)));
    told(out, (name, kind, help), rows);
}
