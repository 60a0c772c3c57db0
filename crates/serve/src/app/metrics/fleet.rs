//! Metrics of a fleet.
//!
//! Owns which figures a fleet's database tells, under the names that a job has for the same, and those of the
//! fleet's parts. Refuses to know the form.

use super::super::fleet::{FleetShelf, FleetStanding};
use super::{Sample, labelled, one, states, told};

/// Tells of a fleet as of one job.
pub(super) fn tell(fleet: &FleetShelf, out: &mut String) {
    // A database that does not answer now does later.
    if let Ok(standing) = fleet.standing() {
        for (name, kind, help, samples) in of_fleet(&standing) {
            let row = (fleet.id(), samples);
            told(out, (name, kind, help), std::iter::once(row));
        }
    }
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
            states(standing.state),
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
