//! Metrics of the server itself: its process, and what it was asked.
//!
//! Owns the usual names of a process and of a server's requests, and the counting of these. Refuses to know
//! what was asked for. Invariant: the labels are of a fixed set, whatever somebody sends.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use clewline_job::report::TimeHistogram;
use clewline_platform::process;

use super::buckets;

/// First parts of paths that are told apart; `/` is a page of the app or of the archive.
const ROUTES: [&str; 5] = ["/api/v1", "/metrics", "/healthz", "/session", "/web"];
/// Kinds of requests beyond which a code is told by its first digit: archived pages answer with what they
/// were answered with.
const MOST_KINDS: usize = 200;
const METHODS: [&str; 5] = ["GET", "HEAD", "POST", "PATCH", "DELETE"];

/// When the metrics of this process were first looked at or counted, by the clock of the machine.
static STARTED: LazyLock<SystemTime> = LazyLock::new(SystemTime::now);

type RequestKind = (&'static str, &'static str, u16);

/// How long requests took until their answers began.
#[derive(Debug)]
pub(crate) struct RequestTimes(Mutex<BTreeMap<RequestKind, TimeHistogram>>);

impl RequestTimes {
    pub(crate) fn new() -> Self {
        LazyLock::force(&STARTED);
        Self(Mutex::default())
    }

    pub(crate) fn add(&self, method: &str, path: &str, code: u16, took: Duration) {
        let known = METHODS.into_iter().find(|known| *known == method);
        let mut kind = (known.unwrap_or("other"), route(path), code);
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() >= MOST_KINDS && !times.contains_key(&kind) {
            kind.2 = code / 100 * 100;
        }
        times.entry(kind).or_default().add_time(took);
    }

    /// Writes them.
    pub(super) fn tell(&self, out: &mut String) {
        const NAME: &str = "http_server_request_duration_seconds";
        out.push_str(
            "# HELP http_server_request_duration_seconds How long the server took until an answer began.\n\
             # TYPE http_server_request_duration_seconds histogram\n",
        );
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for ((method, route, code), times) in times.iter() {
            let labels = format!("method=\"{method}\",route=\"{route}\",code=\"{code}\"");
            buckets(out, NAME, &labels, times);
        }
    }
}

fn route(path: &str) -> &'static str {
    let is_below = |first: &&str| {
        let rest = path.strip_prefix(*first);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    ROUTES.into_iter().find(is_below).unwrap_or("/")
}

/// What the usual names say of a process, as far as the system tells, and its version.
pub(super) fn tell(out: &mut String) {
    let version = env!("CARGO_PKG_VERSION");
    writeln!(
        out,
        "# HELP clewline_build_info The version of the server.\n# TYPE clewline_build_info gauge\n\
         clewline_build_info{{version=\"{version}\"}} 1"
    )
    .expect("a string takes all text");
    let mut one = |name, kind, help, value: Option<f64>| {
        if let Some(value) = value {
            writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
            )
            .expect("a string takes all text");
        }
    };
    let resident = process::resident_bytes().map(|bytes| bytes as f64);
    let help = "Resident memory of the server.";
    one("process_resident_memory_bytes", "gauge", help, resident);
    let descriptors = process::open_descriptors().map(|count| count as f64);
    let help = "Open file descriptors of the server.";
    one("process_open_fds", "gauge", help, descriptors);
    let time = process::processor_time().map(|time| time.as_secs_f64());
    let help = "Processor time of the server.";
    one("process_cpu_seconds_total", "counter", help, time);
    let since = STARTED.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.ok().map(|since| since.as_secs_f64());
    let help = "When the server was started, in seconds since 1970.";
    one("process_start_time_seconds", "gauge", help, since);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_sent_the_labels_are_known() {
        let times = RequestTimes::new();
        for (method, path) in [
            ("GET", "/api/v1/jobs"),
            ("GET", "/api/v10"),
            ("BREW\"", "/web\"}"),
            ("GET", "/web/2020/https://a.test/"),
        ] {
            times.add(method, path, 200, Duration::from_millis(3));
        }
        let mut out = String::new();
        times.tell(&mut out);
        let counts: Vec<&str> = out
            .lines()
            .filter_map(|line| line.strip_prefix("http_server_request_duration_seconds_count"))
            .collect();
        assert_eq!(
            counts,
            [
                "{method=\"GET\",route=\"/\",code=\"200\"} 1",
                "{method=\"GET\",route=\"/api/v1\",code=\"200\"} 1",
                "{method=\"GET\",route=\"/web\",code=\"200\"} 1",
                "{method=\"other\",route=\"/\",code=\"200\"} 1",
            ]
        );
        for code in 300..900 {
            times.add("GET", "/web/2020/https://a.test/", code, Duration::ZERO);
        }
        let kinds = times.0.lock().unwrap();
        assert!(kinds.len() <= MOST_KINDS + 9, "{}", kinds.len());
        assert!(kinds.contains_key(&("GET", "/web", 800)));
    }
}
