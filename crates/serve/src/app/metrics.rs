//! Metrics of all jobs, in the text format of Prometheus (version 0.0.4).
//!
//! Owns the names, the units and the form. Refuses to know how figures are found. Invariants: no URL
//! and no host is a label; a family is told once, with its help and its kind, whatever the number of
//! jobs.

use std::fmt::Write as _;

use clewline_job::record::{FailureClass, SkipReason};
use clewline_job::report::{TIME_BOUNDS, Tally};
use clewline_job::status::{MachineUse, State, Status};

use super::fleet::{FleetShelf, FleetStanding};
use super::jobs::{JobPlaces, is_running};
use super::reply::{ApiReply, word};

/// Jobs that are told of; those that run come first.
const MOST_JOBS: usize = 100;

/// The figures of one job.
struct Scraped {
    name: String,
    status: std::sync::Arc<Status>,
    tally: std::sync::Arc<Tally>,
}

/// Labels and a value.
type Sample = (Vec<(&'static str, String)>, f64);

/// The metrics of all jobs.
pub(super) fn scraped(jobs: &JobPlaces) -> ApiReply {
    let mut found = Vec::new();
    for (name, path) in jobs.all() {
        // A job that cannot be read now is one that is told of later.
        if let (Ok(status), Ok(tally)) = (jobs.status(&path), jobs.tally(&path)) {
            found.push(Scraped {
                name,
                status,
                tally,
            });
        }
    }
    found.sort_by_key(|job| !is_running(job.status.state));
    found.truncate(MOST_JOBS);
    let mut text = String::new();
    counted(&found, &mut text);
    retried(&found, &mut text);
    durations(&found, &mut text);
    standing(&found, &mut text);
    machine(&found, &mut text);
    process(&mut text);
    ApiReply::text("text/plain; version=0.0.4; charset=utf-8", text)
}

/// The metrics of a fleet: those of a job that its database knows, and those of its parts.
pub(super) fn scraped_fleet(fleet: &FleetShelf) -> ApiReply {
    let mut text = String::new();
    // A database that does not answer now does later.
    if let Ok(standing) = fleet.standing() {
        for (name, kind, help, samples) in of_fleet(&standing) {
            let row = (fleet.id(), samples);
            told(&mut text, (name, kind, help), std::iter::once(row));
        }
    }
    build(&mut text);
    process(&mut text);
    ApiReply::text("text/plain; version=0.0.4; charset=utf-8", text)
}

/// Name, kind, help and samples of a metric.
type Family = (&'static str, &'static str, &'static str, Vec<Sample>);

fn of_fleet(standing: &FleetStanding) -> Vec<Family> {
    let counts = &standing.counts;
    let live = standing.workers.iter().filter(|worker| worker.live);
    let in_flight: u64 = live.clone().map(|worker| worker.in_flight).sum();
    let live = live.count() as u64;
    let silent = standing.workers.len() as u64 - live;
    let free = counts.shards - counts.owned;
    let states =
        STATES.map(|state| labelled("state", &word(&state), u64::from(standing.state == state)));
    let gauge = |name, help, samples| (name, "gauge", help, samples);
    let left = counts.left.map(|left| one(left.as_secs_f64()));
    vec![
        (
            "clewline_pages_total",
            "counter",
            "Pages that were brought or confirmed.",
            one(counts.pages as f64),
        ),
        (
            "clewline_received_bytes_total",
            "counter",
            "Bytes read from the network.",
            one(counts.bytes as f64),
        ),
        gauge(
            "clewline_requests_in_flight",
            "Requests in flight.",
            one(in_flight as f64),
        ),
        gauge(
            "clewline_queue_urls",
            "URLs that wait or are in flight.",
            one(counts.queued as f64),
        ),
        gauge(
            "clewline_known_urls",
            "URLs of the crawl, settled or not.",
            one(counts.known as f64),
        ),
        gauge(
            "clewline_time_left_seconds",
            "What the queue is expected to take.",
            left.unwrap_or_default(),
        ),
        gauge(
            "clewline_job_state",
            "1 for the state that a job is in.",
            states.to_vec(),
        ),
        gauge(
            "clewline_fleet_workers",
            "Workers of a fleet.",
            vec![
                labelled("state", "live", live),
                labelled("state", "silent", silent),
            ],
        ),
        gauge(
            "clewline_fleet_shards",
            "Shards of a fleet by whether they have a live owner.",
            vec![
                labelled("state", "owned", counts.owned),
                labelled("state", "free", free),
            ],
        ),
        gauge(
            "clewline_fleet_mail",
            "Rows of mail that nobody has read yet.",
            one(counts.mail as f64),
        ),
    ]
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
            let counts = times.cumulated();
            let bounds = TIME_BOUNDS.iter().map(f64::to_string);
            for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
                writeln!(out, "{NAME}_bucket{{{labels},le=\"{bound}\"}} {count}")
                    .expect("a string takes all text");
            }
            let (sum, count) = (times.micros as f64 / 1e6, counts[TIME_BOUNDS.len()]);
            writeln!(
                out,
                "{NAME}_sum{{{labels}}} {sum}\n{NAME}_count{{{labels}}} {count}"
            )
            .expect("a string takes all text");
        }
    }
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
        &|job| {
            STATES
                .map(|state| labelled("state", &word(&state), u64::from(job.status.state == state)))
                .to_vec()
        },
    );
    build(out);
}

fn build(out: &mut String) {
    let version = env!("CARGO_PKG_VERSION");
    let help = "The version of the server.";
    writeln!(
        out,
        "# HELP clewline_build_info {help}\n# TYPE clewline_build_info gauge\n\
         clewline_build_info{{version=\"{version}\"}} 1"
    )
    .expect("a string takes all text");
}

const STATES: [State; 6] = [
    State::Running,
    State::Paused,
    State::Stopping,
    State::Unfinished,
    State::Finished,
    State::Unreached,
];

fn one(value: f64) -> Vec<Sample> {
    vec![(Vec::new(), value)]
}

fn labelled(name: &'static str, value: &str, count: u64) -> Sample {
    (vec![(name, value.to_owned())], count as f64)
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

/// What the usual names say of a process, where the system tells.
fn process(out: &mut String) {
    let Some((resident, descriptors)) = process_figures() else {
        return;
    };
    writeln!(
        out,
        "# HELP process_resident_memory_bytes Resident memory of the server.\n\
         # TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {resident}\n\
         # HELP process_open_fds Open file descriptors of the server.\n\
         # TYPE process_open_fds gauge\nprocess_open_fds {descriptors}"
    )
    .expect("a string takes all text");
}

/// Bytes of resident memory, and open descriptors.
fn process_figures() -> Option<(u64, usize)> {
    let pages = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = pages.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = resident.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    let descriptors = std::fs::read_dir("/proc/self/fd").ok()?.count();
    Some((kilobytes * 1024, descriptors))
}
