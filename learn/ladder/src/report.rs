//! How it went: the report that every rung prints, and the meter behind its figures.
//!
//! Owns the counting and the layout, which is that of the crawler in the book with two figures
//! more: how much was in flight at once, and the memory that this took.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::crawl::FetchStatistic;

/// Measures a crawl: time, requests in flight, memory.
#[derive(Clone, Debug)]
pub struct Meter {
    started: Instant,
    start_memory: Option<u64>,
    peak: usize,
    waiting_memory: Option<u64>,
}

impl Meter {
    /// Starts the clock.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            start_memory: resident_memory(),
            peak: 0,
            waiting_memory: None,
        }
    }

    /// Hears how many requests are in flight. At every new peak it looks at the memory: nearly
    /// all that was added since the start is held by requests that wait.
    pub fn in_flight(&mut self, count: usize) {
        if count > self.peak {
            self.peak = count;
            self.waiting_memory = resident_memory().or(self.waiting_memory);
        }
    }

    /// The most requests in flight at once.
    pub fn peak(&self) -> usize {
        self.peak
    }
}

/// Memory that the process really has, where the system tells (Linux).
fn resident_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// The most memory that the process ever had, where the system tells (Linux).
fn peak_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes * 1024)
}

fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

/// A crawl that has ended.
#[derive(Debug)]
pub struct Report {
    max_tasks: usize,
    todo: usize,
    statistics: Vec<FetchStatistic>,
    seconds: f64,
    processor_seconds: f64,
    peak_memory: Option<u64>,
    meter: Meter,
}

impl Report {
    /// Stops the clock.
    pub fn new(
        max_tasks: usize,
        (mut statistics, todo, meter): (Vec<FetchStatistic>, usize, Meter),
    ) -> Self {
        statistics.sort_by(|left, right| left.url.cmp(&right.url));
        Self {
            max_tasks,
            todo,
            statistics,
            seconds: meter.started.elapsed().as_secs_f64(),
            processor_seconds: processor_time().as_secs_f64(),
            peak_memory: peak_memory(),
            meter,
        }
    }

    /// One object for programs.
    pub fn json(&self) -> Value {
        let failures = self.statistics.iter();
        let failures: Vec<&FetchStatistic> = failures
            .filter(|record| record.exception.is_some())
            .collect();
        let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, text) in failures
            .iter()
            .filter_map(|record| record.exception.as_ref())
        {
            *errors.entry(text).or_default() += 1;
        }
        json!({
            "urls_fetched": self.statistics.len() - failures.len(),
            "seconds": self.seconds,
            "achieved_concurrency": self.meter.peak,
            "peak_memory": self.peak_memory,
            "start_memory": self.meter.start_memory,
            "waiting_memory": self.meter.waiting_memory,
            "cpu_seconds": self.processor_seconds,
            "urls_failed": failures.len(),
            "errors": errors,
            "max_tasks": self.max_tasks,
            "todo": self.todo,
        })
    }

    /// One line per URL, for programs.
    pub fn write_urls(&self, path: &Path) -> io::Result<()> {
        let mut file = io::BufWriter::new(fs::File::create(path)?);
        for record in &self.statistics {
            let outcome = if record.exception.is_some() {
                "failed"
            } else if record.next_url.is_some() {
                "redirected"
            } else {
                "fetched"
            };
            let line = json!({
                "url": record.url.as_str(),
                "outcome": outcome,
                "status": record.status,
                "next_url": record.next_url.as_ref().map(url::Url::as_str),
                "error": record.exception.as_ref().map(|exception| &exception.1),
                "size": record.size,
                "links": record.num_urls,
                "new_links": record.num_new_urls,
            });
            writeln!(file, "{line}")?;
        }
        file.flush()
    }

    /// The report for people. Who is in a hurry gets the summary only.
    pub fn write(&self, out: &mut impl Write, hurry: &AtomicBool) -> io::Result<()> {
        writeln!(out, "*** Report ***")?;
        for record in &self.statistics {
            if hurry.load(Ordering::Relaxed) {
                break;
            }
            writeln!(out, "{}", line(record))?;
        }
        let (count, seconds, tasks) = (self.statistics.len(), self.seconds, self.max_tasks);
        let rate = count as f64 / seconds / tasks as f64;
        writeln!(
            out,
            "Finished {count} urls in {seconds:.3} secs (max_tasks={tasks}) \
             ({rate:.3} urls/sec/task)"
        )?;
        for (name, value) in self.counters() {
            writeln!(out, "{name:>24}: {value}")?;
        }
        let memory = |bytes: Option<u64>| {
            bytes.map_or("unknown".to_owned(), |bytes| {
                format!("{:.1} MB", bytes as f64 / 1e6)
            })
        };
        writeln!(out, "Achieved concurrency: {}", self.meter.peak)?;
        writeln!(out, "Peak memory: {}", memory(self.peak_memory))?;
        writeln!(out, "Todo: {}\nDone: {count}", self.todo)?;
        writeln!(out, "Date: {}", httpdate::fmt_http_date(SystemTime::now()))
    }

    fn counters(&self) -> BTreeMap<String, usize> {
        let mut counters = BTreeMap::new();
        let mut add = |name: String, value: usize| *counters.entry(name).or_default() += value;
        for record in &self.statistics {
            if let Some((class, _)) = &record.exception {
                add("fail".to_owned(), 1);
                add(format!("fail_{class}"), 1);
            } else if record.next_url.is_some() {
                add("redirect".to_owned(), 1);
            } else {
                let kind = match (record.status, record.content_type.as_deref()) {
                    (Some(200), Some("text/html")) => "html",
                    (Some(200), _) => "other",
                    _ => "error",
                };
                add(kind.to_owned(), 1);
                add(format!("{kind}_bytes"), record.size);
            }
            if let Some(status) = record.status {
                add(format!("status_{status}"), 1);
            }
        }
        counters
    }
}

fn line(record: &FetchStatistic) -> String {
    let url = &record.url;
    // What a server sent must not reach the terminal as it is.
    let clean = |text: &Option<String>| text.as_deref().unwrap_or("-").escape_debug().to_string();
    let status = record.status.unwrap_or_default();
    if let Some((_, text)) = &record.exception {
        return format!("{url} error {text}");
    }
    if let Some(next_url) = &record.next_url {
        return format!("{url} {status} redirect {next_url}");
    }
    let (kind, encoding) = (clean(&record.content_type), clean(&record.encoding));
    let head = format!("{url} {status} {kind} {encoding} {}", record.size);
    if record.encoding.is_some() {
        format!("{head} {}/{}", record.num_new_urls, record.num_urls)
    } else {
        head
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn records() -> Vec<FetchStatistic> {
        let record = |path: &str| {
            FetchStatistic::new(Url::parse("http://a.test/").unwrap().join(path).unwrap())
        };
        let html = FetchStatistic {
            status: Some(200),
            size: 7,
            content_type: Some("text/html".to_owned()),
            encoding: Some("utf-8".to_owned()),
            num_urls: 3,
            num_new_urls: 2,
            ..record("/b")
        };
        let moved = FetchStatistic {
            status: Some(301),
            next_url: Some(html.url.clone()),
            ..record("/c")
        };
        let odd = FetchStatistic {
            status: Some(404),
            size: 5,
            content_type: Some("a\u{1b}[2Jb".to_owned()),
            ..record("/d")
        };
        let failed = FetchStatistic {
            exception: Some(("ConnectionReset".to_owned(), "connection reset".to_owned())),
            ..record("/a")
        };
        vec![html, moved, odd, failed]
    }

    #[test]
    fn the_report_has_a_line_per_url_and_counts_them() {
        let report = Report::new(10, (records(), 4, Meter::start()));
        let mut text = Vec::new();
        report.write(&mut text, &AtomicBool::new(false)).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).take(4).collect();
        let expected = [
            "http://a.test/a error connection reset",
            "http://a.test/b 200 text/html utf-8 7 2/3",
            "http://a.test/c 301 redirect http://a.test/b",
            "http://a.test/d 404 a\\u{1b}[2Jb - 5",
        ];
        assert_eq!(lines, expected);
        for counter in [
            "error: 1",
            "error_bytes: 5",
            "fail: 1",
            "fail_ConnectionReset: 1",
            "html: 1",
            "html_bytes: 7",
            "redirect: 1",
            "status_200: 1",
            "status_301: 1",
            "status_404: 1",
            "Todo: 4",
            "Done: 4",
        ] {
            assert!(
                text.lines().any(|line| line.trim() == counter),
                "{counter} in {text}"
            );
        }
        let json = report.json();
        assert_eq!(
            (&json["urls_fetched"], &json["urls_failed"]),
            (&json!(3), &json!(1))
        );
        assert_eq!(json["errors"], json!({ "connection reset": 1 }));
    }

    #[test]
    fn a_hurry_leaves_the_summary() {
        let report = Report::new(10, (records(), 4, Meter::start()));
        let mut text = Vec::new();
        report.write(&mut text, &AtomicBool::new(true)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            !text.contains("a.test") && text.contains("Finished 4 urls"),
            "{text}"
        );
    }

    #[test]
    fn the_meter_keeps_the_peak() {
        let mut meter = Meter::start();
        for count in [1, 2, 3, 2, 3] {
            meter.in_flight(count);
        }
        assert_eq!(meter.peak(), 3);
    }
}
