//! What progress looks like. Pure: a snapshot and a width in, lines out.

use std::fmt::Write as _;
use std::time::Duration;

use super::Snapshot;
use crate::message::shown;

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const YELLOW: &str = "33";
/// Narrower terminals get lines that are cut, not wrapped.
const NARROWEST: usize = 10;

/// The live block, one string per line, none wider than `width`.
pub(super) fn render(snapshot: &Snapshot, width: usize, in_colour: bool) -> Vec<String> {
    let width = width.max(NARROWEST);
    let mut lines = vec![
        Line::new(width, in_colour)
            .part(BOLD, &format!("{} done", grouped(snapshot.done)))
            .part("", &format!("{} queued", grouped(snapshot.queued)))
            .part("", &in_flight(snapshot))
            .part(RED, &problems(snapshot))
            .part(DIM, &clock(snapshot.elapsed))
            .finish(),
        Line::new(width, in_colour)
            .part(
                "",
                &format!("{} pages/s", decimal(snapshot.pages_per_second)),
            )
            .part("", &format!("{}/s", amount(snapshot.bytes_per_second)))
            .part(
                "",
                &format!("{} memory", amount(snapshot.memory_bytes as f64)),
            )
            .part(DIM, &left(snapshot))
            .finish(),
    ];
    if let Some(waiting) = &snapshot.waiting {
        lines.push(
            Line::new(width, in_colour)
                .part(YELLOW, &shown(waiting))
                .finish(),
        );
    }
    if let Some(url) = &snapshot.last_url {
        lines.push(Line::new(width, in_colour).part(DIM, &shown(url)).finish());
    }
    lines
}

/// The same in one line, for logs.
pub(super) fn line(snapshot: &Snapshot) -> String {
    let parts = [
        format!("{} done", grouped(snapshot.done)),
        format!("{} queued", grouped(snapshot.queued)),
        in_flight(snapshot),
        format!("{} pages/s", decimal(snapshot.pages_per_second)),
        format!("{}/s", amount(snapshot.bytes_per_second)),
        problems(snapshot),
        left(snapshot),
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

fn in_flight(snapshot: &Snapshot) -> String {
    if snapshot.hosts_active > 1 {
        let hosts = grouped(snapshot.hosts_active);
        format!("{} in flight to {hosts} hosts", grouped(snapshot.in_flight))
    } else {
        format!("{} in flight", grouped(snapshot.in_flight))
    }
}

fn problems(snapshot: &Snapshot) -> String {
    match (snapshot.broken, snapshot.failed) {
        (0, 0) => String::new(),
        (broken, 0) => format!("{} broken", grouped(broken)),
        (0, failed) => format!("{} failed", grouped(failed)),
        (broken, failed) => format!("{} broken, {} failed", grouped(broken), grouped(failed)),
    }
}

fn left(snapshot: &Snapshot) -> String {
    snapshot
        .eta
        .map(|eta| format!("about {} left", clock(eta)))
        .unwrap_or_default()
}

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

    fn part(mut self, colour: &str, text: &str) -> Self {
        let gap = if self.text.is_empty() { "" } else { "   " };
        let room = self.left.saturating_sub(gap.len());
        if text.is_empty() || room == 0 {
            return self;
        }
        let length = text.chars().count();
        let cut: String = if length > room {
            text.chars().take(room - 1).chain(['…']).collect()
        } else {
            text.to_owned()
        };
        self.left = room.saturating_sub(length);
        self.text.push_str(gap);
        if self.in_colour && !colour.is_empty() {
            let _ = write!(self.text, "\x1b[{colour}m{cut}\x1b[0m");
        } else {
            self.text.push_str(&cut);
        }
        self
    }

    fn finish(self) -> String {
        self.text
    }
}

/// `1,234,567`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Small numbers with a digit behind the point, large ones without.
fn decimal(number: f64) -> String {
    if number < 100.0 {
        format!("{number:.1}")
    } else {
        grouped(number.round() as u64)
    }
}

/// `1.2 MB`; decimal units, as networks are measured.
fn amount(bytes: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    units.iter().find(|(unit, _)| bytes >= *unit).map_or_else(
        || format!("{bytes:.0} B"),
        |(unit, name)| format!("{} {name}", decimal(bytes / unit)),
    )
}

/// `7s`, `1m05s`, `2h03m`, `3d04h`
fn clock(period: Duration) -> String {
    let seconds = period.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{:02}s", seconds % 60),
        (0, _, _) => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{:02}h", hours % 24),
    }
}
