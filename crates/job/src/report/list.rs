//! The list: one line per URL and the counters, as the original crawler printed them.
//!
//! Owns that format, for scripts and habits that know it. URLs are sorted, so the lines of
//! all records are held in memory: about the size of `urls.jsonl` without its details.
//! Invariant: what the original counted is counted under the same name; what it did not know
//! (skipped, unmodified) has names of its own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;

use clewline_core::outcome::SkipReason;

use super::RunFacts;
use super::tally::BodyClass;
use crate::escape::visible;
use crate::record::{OutcomeKind, Record};

/// Writes the list of all records.
pub fn list(
    records: impl Iterator<Item = io::Result<Record>>,
    facts: &RunFacts,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut counters = Counters::default();
    let mut lines = Vec::new();
    for record in records {
        let record = record?;
        counters.add(&record);
        lines.push((record.url.as_str().to_owned(), Line(&record).to_string()));
    }
    lines.sort_unstable();
    writeln!(out, "*** Report ***")?;
    for (url, line) in &lines {
        writeln!(out, "{} {line}", visible(url))?;
    }
    finish(lines.len(), &counters, facts, out)
}

fn finish(
    done: usize,
    counters: &Counters,
    facts: &RunFacts,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let (seconds, tasks) = (facts.seconds, facts.concurrency);
    let speed = if seconds > 0.0 && tasks > 0 {
        done as f64 / seconds / f64::from(tasks)
    } else {
        0.0
    };
    write!(out, "Finished {done} urls in {seconds:.3} secs ")?;
    writeln!(out, "(max_tasks={tasks}) ({speed:.3} urls/sec/task)")?;
    for (name, count) in &counters.0 {
        writeln!(out, "{count:>10} {name}")?;
    }
    writeln!(out, "Todo: {}", facts.todo)?;
    writeln!(out, "Done: {done}")?;
    writeln!(out, "Date: {}", visible(&facts.finished_at))
}

/// What follows the URL.
struct Line<'a>(&'a Record);

impl fmt::Display for Line<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.0;
        // The original printed the `None` of its language where it knew nothing.
        let known = |text: Option<&str>| visible(text.unwrap_or("None")).into_owned();
        let status = record.status.map(|status| status.to_string());
        let status = status.map_or(Cow::Borrowed("None"), Cow::Owned);
        match record.outcome {
            OutcomeKind::Failed => {
                let class = record.failure.map_or("internal", |class| class.name());
                let words = record.error.as_deref().unwrap_or(class);
                write!(formatter, "error {}", visible(words))
            }
            OutcomeKind::Skipped => {
                let reason = record.reason.map(SkipReason::name);
                write!(formatter, "skipped {}", known(reason))
            }
            OutcomeKind::Redirected => {
                let target = known(record.redirect_to.as_deref());
                write!(formatter, "{status} redirect {target}")
            }
            OutcomeKind::Unmodified => write!(formatter, "{status} unmodified"),
            OutcomeKind::Fetched => {
                let media_type = known(record.content_type.as_deref());
                let charset = known(record.charset.as_deref());
                let size = record.body_bytes;
                write!(formatter, "{status} {media_type} {charset} {size}")?;
                match BodyClass::from_record(record) {
                    BodyClass::Html => write!(formatter, " {}/{}", record.new_links, record.links),
                    BodyClass::Other | BodyClass::Error => Ok(()),
                }
            }
        }
    }
}

/// Counters by name; the names are few, since statuses and classes are.
#[derive(Default)]
struct Counters(BTreeMap<Cow<'static, str>, u64>);

impl Counters {
    fn add(&mut self, record: &Record) {
        match record.outcome {
            OutcomeKind::Failed => {
                let class = record.failure.map_or("internal", |class| class.name());
                self.count("fail", 1);
                self.count(format!("fail_{class}"), 1);
            }
            OutcomeKind::Skipped => {
                let reason = record.reason.map_or("unknown", |reason| reason.name());
                self.count("skip", 1);
                self.count(format!("skip_{reason}"), 1);
            }
            OutcomeKind::Redirected => self.count("redirect", 1),
            OutcomeKind::Unmodified => self.count("unmodified", 1),
            OutcomeKind::Fetched => self.add_body(record),
        }
    }

    fn add_body(&mut self, record: &Record) {
        let (count, bytes) = match BodyClass::from_record(record) {
            BodyClass::Html => ("html", "html_bytes"),
            BodyClass::Other => ("other", "other_bytes"),
            BodyClass::Error => ("error", "error_bytes"),
        };
        self.count(count, 1);
        self.count(bytes, record.body_bytes);
        if let (BodyClass::Error, Some(status)) = (BodyClass::from_record(record), record.status) {
            self.count(format!("status_{status}"), 1);
        }
    }

    fn count(&mut self, name: impl Into<Cow<'static, str>>, by: u64) {
        let counter = self.0.entry(name.into()).or_default();
        *counter = counter.saturating_add(by);
    }
}
