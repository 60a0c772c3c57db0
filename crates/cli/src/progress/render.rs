//! What progress looks like. Pure: a snapshot and a width in, lines out.

use std::time::Duration;

use clewline_job::report::{Ink, figures};

use super::Snapshot;
use crate::message::shown;

/// Narrower terminals get lines that are cut, not wrapped.
const NARROWEST: usize = 10;
/// Columns of the bar at the most.
const LONGEST_BAR: usize = 48;

/// The live block, one string per line, none wider than `width`. What comes and goes stands at
/// the end, so that the rest keeps its place.
pub(super) fn render(snapshot: &Snapshot, width: usize, in_colour: bool) -> Vec<String> {
    let new_line = || Line::new(width.max(NARROWEST), in_colour);
    let mut lines = vec![
        bar(new_line(), snapshot),
        new_line()
            .part(
                Ink::Strong,
                &format!("{} done", figures::count(snapshot.done)),
            )
            .part(
                Ink::Plain,
                &format!("{} queued", figures::count(snapshot.queued)),
            )
            .part(Ink::Plain, &in_flight(snapshot))
            .part(Ink::Bad, &problems(snapshot))
            .part(Ink::Faint, &clock(snapshot.elapsed))
            .finish(),
        new_line()
            .part(Ink::Plain, &speed(snapshot))
            .part(
                Ink::Plain,
                &format!("{}/s", amount(snapshot.bytes_per_second)),
            )
            .part(Ink::Plain, &memory(snapshot))
            .finish(),
    ];
    if let Some(fleet) = &snapshot.fleet {
        lines.push(new_line().part(Ink::Plain, fleet).finish());
    }
    if let Some(hint) = figures::empty_pages(snapshot.empty_pages) {
        lines.push(new_line().part(Ink::Warn, &hint).finish());
    }
    if let Some(url) = &snapshot.last_url {
        lines.push(new_line().part(Ink::Faint, &shown(url)).finish());
    }
    if let Some(waiting) = &snapshot.waiting {
        lines.push(new_line().part(Ink::Warn, &shown(waiting)).finish());
    }
    lines
}

/// How much of what is known is done; more may be found.
fn bar(line: Line, snapshot: &Snapshot) -> String {
    let left = left(snapshot.eta);
    let columns = line.left.saturating_sub(left.chars().count() + GAP.len());
    let known = snapshot.done + snapshot.queued + snapshot.in_flight;
    let share = snapshot.done as f64 / known.max(1) as f64;
    line.bar(share, columns).part(Ink::Faint, &left).finish()
}

/// A long piece of work that is no crawl.
pub(super) struct WorkProgress<'a> {
    pub(super) doing: &'a str,
    /// How much is done, if that is known.
    pub(super) share: Option<f64>,
    /// What there is so far, such as `1,234 pages`.
    pub(super) count: &'a str,
    pub(super) elapsed: Duration,
}

/// The line of a long piece of work, no wider than `width`.
pub(super) fn work(work: &WorkProgress<'_>, width: usize, in_colour: bool) -> String {
    let left = left(work.share.and_then(|share| time_left(share, work.elapsed)));
    let mut line = Line::new(width.max(NARROWEST), in_colour).part(Ink::Plain, work.doing);
    if let Some(share) = work.share {
        let taken = work.count.chars().count() + left.chars().count() + 3 * GAP.len();
        let columns = line.left.saturating_sub(taken).min(LONGEST_BAR / 2);
        line = line.bar(share, columns);
    }
    line.part(Ink::Strong, work.count)
        .part(Ink::Faint, &left)
        .finish()
}

/// Before that a forecast is a guess.
const FORECAST_FROM: Duration = Duration::from_secs(2);

fn time_left(share: f64, elapsed: Duration) -> Option<Duration> {
    let is_known = elapsed >= FORECAST_FROM && share > 0.0;
    let total = Duration::try_from_secs_f64(elapsed.as_secs_f64() / share).ok();
    total
        .filter(|_| is_known)
        .map(|total| total.saturating_sub(elapsed))
        .filter(|left| left.as_secs() > 0)
}

/// The same figures for programs.
pub(super) fn json_line(snapshot: &Snapshot) -> String {
    let line = serde_json::json!({
        "level": "progress",
        "message": line(snapshot),
        "seconds": snapshot.elapsed.as_secs_f64(),
        "done": snapshot.done,
        "queued": snapshot.queued,
        "in_flight": snapshot.in_flight,
        "failed": snapshot.failed,
        "empty_pages": snapshot.empty_pages,
        "pages_per_second": snapshot.pages_per_second,
    });
    line.to_string()
}

/// The same in one line, for logs.
pub(super) fn line(snapshot: &Snapshot) -> String {
    let parts = [
        format!("{} done", figures::count(snapshot.done)),
        format!("{} queued", figures::count(snapshot.queued)),
        in_flight(snapshot),
        speed(snapshot),
        format!("{}/s", amount(snapshot.bytes_per_second)),
        problems(snapshot),
        figures::empty_pages(snapshot.empty_pages).unwrap_or_default(),
        left(snapshot.eta),
        snapshot.fleet.clone().unwrap_or_default(),
        snapshot
            .waiting
            .as_deref()
            .map(shown)
            .unwrap_or_default()
            .into_owned(),
    ];
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    format!("{}  {}", clock(snapshot.elapsed), parts.join(", "))
}

fn speed(snapshot: &Snapshot) -> String {
    format!("{} pages/s", decimal(snapshot.pages_per_second))
}

/// Nothing where the system does not tell.
fn memory(snapshot: &Snapshot) -> String {
    match snapshot.memory_bytes {
        0 => String::new(),
        bytes => format!("{} memory", amount(bytes as f64)),
    }
}

fn in_flight(snapshot: &Snapshot) -> String {
    if snapshot.hosts_active > 1 {
        let hosts = figures::count(snapshot.hosts_active);
        format!(
            "{} in flight to {hosts} hosts",
            figures::count(snapshot.in_flight)
        )
    } else {
        format!("{} in flight", figures::count(snapshot.in_flight))
    }
}

/// What failed is broken, too.
fn problems(snapshot: &Snapshot) -> String {
    match (snapshot.broken, snapshot.failed) {
        (0, 0) => String::new(),
        (broken, 0) => format!("{} broken", figures::count(broken)),
        (broken, failed) => format!(
            "{} broken ({} failed)",
            figures::count(broken),
            figures::count(failed)
        ),
    }
}

fn left(eta: Option<Duration>) -> String {
    eta.map(|eta| format!("about {} left", clock(eta)))
        .unwrap_or_default()
}

/// What stands between two parts of a line.
const GAP: &str = "   ";

/// A line that grows by parts until the width is used up.
struct Line {
    text: String,
    left: usize,
    in_colour: bool,
}

impl Line {
    fn new(width: usize, in_colour: bool) -> Self {
        Self {
            text: String::new(),
            // The last column stays free: some terminals wrap when it is written.
            left: width - 1,
            in_colour,
        }
    }

    /// Adds a part behind a gap.
    fn part(mut self, ink: Ink, text: &str) -> Self {
        if !self.text.is_empty() && !text.is_empty() && self.left > GAP.len() {
            self.text.push_str(GAP);
            self.left -= GAP.len();
        } else if !self.text.is_empty() {
            return self;
        }
        self.joined(ink, text)
    }

    /// Adds a bar behind a gap, of which a share is filled.
    fn bar(self, share: f64, columns: usize) -> Self {
        let columns = columns.min(LONGEST_BAR);
        let filled = ((share * columns as f64) as usize).min(columns);
        let (done, open) = ("━".repeat(filled), "─".repeat(columns - filled));
        if done.is_empty() {
            return self.part(Ink::Faint, &open);
        }
        self.part(Ink::Good, &done).joined(Ink::Faint, &open)
    }

    /// Adds a part to the one before.
    fn joined(mut self, ink: Ink, text: &str) -> Self {
        let length = text.chars().count();
        if length == 0 || self.left == 0 {
            return self;
        }
        let cut: String = if length > self.left {
            text.chars().take(self.left - 1).chain(['…']).collect()
        } else {
            text.to_owned()
        };
        self.left = self.left.saturating_sub(length);
        if self.in_colour {
            self.text.push_str(&ink.paint(&cut));
        } else {
            self.text.push_str(&cut);
        }
        self
    }

    fn finish(self) -> String {
        self.text
    }
}

/// Small numbers with a digit behind the point, large ones without.
pub(crate) fn decimal(number: f64) -> String {
    if number < 100.0 {
        format!("{number:.1}")
    } else {
        figures::count(number.round() as u64)
    }
}

/// `1.2 MB`; decimal units, as networks are measured.
pub(crate) fn amount(bytes: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    units.iter().find(|(unit, _)| bytes >= *unit).map_or_else(
        || format!("{bytes:.0} B"),
        |(unit, name)| format!("{} {name}", decimal(bytes / unit)),
    )
}

/// `7s`, `1m05s`, `2h03m`, `3d04h`
pub(crate) fn clock(period: Duration) -> String {
    let seconds = period.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{:02}s", seconds % 60),
        (0, _, _) => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{:02}h", hours % 24),
    }
}
