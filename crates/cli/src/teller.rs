//! From events of the crawl to what the command shows of them.
//!
//! Owns the words: what the crawl waits for, what a note means, how much is told at which
//! volume. It decides nothing.

use std::time::Duration;

use clewline::core::address::Nearness;
use clewline::core::frontier::{Hold, HoldKind, Note};
use clewline::record::{OutcomeKind, Record};
use clewline::{Event, Progress};

use crate::progress::{Board, Snapshot, Voice};
use crate::resolve::Talk;

/// Tells a person what happens.
pub(crate) struct Teller {
    board: Board,
    voice: Voice,
    talk: Talk,
    speed_named: bool,
}

impl Teller {
    pub(crate) fn new(board: Board, voice: Voice, talk: Talk, speed_named: bool) -> Self {
        Self {
            board,
            voice,
            talk,
            speed_named,
        }
    }

    /// Shows one event, or does not.
    pub(crate) fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Progress(progress) => self.board.publish(self.snapshot(progress)),
            Event::Note(note) if self.talk != Talk::Quiet => self.voice.say(&note_line(note)),
            Event::Settled(record) if self.talk.is_verbose() => {
                self.voice.say(&record_line(record));
            }
            _ => {}
        }
    }

    fn snapshot(&self, progress: &Progress) -> Snapshot {
        let waiting = progress
            .hold
            .as_ref()
            .map(|hold| hold_line(hold, progress.elapsed, self.speed_named));
        Snapshot {
            elapsed: progress.elapsed,
            done: progress.done,
            queued: progress.todo.saturating_sub(progress.in_flight),
            in_flight: progress.in_flight,
            pages: progress.pages,
            pages_per_second: progress.pages_per_second,
            bytes_per_second: progress.bytes_per_second,
            memory_bytes: resident_bytes().unwrap_or_default(),
            failed: progress.failed,
            broken: progress.broken,
            eta: time_left(progress),
            waiting,
            hosts_active: progress.hosts,
            last_url: progress.last_url.clone(),
        }
    }
}

/// What is queued now at the rate of now; more may be found.
fn time_left(progress: &Progress) -> Option<Duration> {
    let rate = progress.pages_per_second;
    (rate > 0.0 && progress.todo > 0)
        .then(|| Duration::try_from_secs_f64(progress.todo as f64 / rate).ok())
        .flatten()
}

fn hold_line(hold: &Hold, now: Duration, speed_named: bool) -> String {
    let seconds = hold.until.saturating_sub(now).as_secs_f64();
    let own_site = if speed_named {
        ""
    } else {
        "; your own site? --speed fast"
    };
    match hold.by {
        HoldKind::Rate(rate) if rate >= 1.0 => {
            format!("held to {rate:.0}/s by politeness{own_site}")
        }
        HoldKind::Rate(rate) => format!("held to {rate:.2}/s by politeness{own_site}"),
        HoldKind::Delay(delay) => {
            format!(
                "waiting for the delay of {:.1} s on {}",
                delay.as_secs_f64(),
                hold.host
            )
        }
        HoldKind::Parked => format!("{} is left alone for {seconds:.0} s more", hold.host),
        HoldKind::Robots => {
            format!(
                "robots.txt of {} could not be read; again in {seconds:.0} s",
                hold.host
            )
        }
    }
}

fn note_line(note: &Note) -> String {
    match note {
        Note::SchemeFellBack { url } => format!("https does not answer; trying {url}"),
        Note::HostJoined { host } => format!("redirected to {host}, which is crawled too"),
        Note::Near {
            host,
            nearness: Nearness::Loopback,
        } => {
            format!("{host} is this machine: no rate limit (as --speed max)")
        }
        Note::Near { host, .. } => {
            format!("{host} is in a private network: 8 requests at once, 50 a second")
        }
        Note::Parked { host, why, .. } => format!("{host} is left alone for a while: {why}"),
        Note::HostEnded { host, why } => format!("{host} is given up: {why}"),
    }
}

fn record_line(record: &Record) -> String {
    let what = match record.outcome {
        OutcomeKind::Fetched | OutcomeKind::Redirected | OutcomeKind::Unmodified => record
            .status
            .map(|status| status.to_string())
            .unwrap_or_default(),
        OutcomeKind::Skipped => {
            format!(
                "skipped ({})",
                record.reason.map_or("", |reason| reason.name())
            )
        }
        OutcomeKind::Failed => {
            format!(
                "failed ({})",
                record.failure.map_or("", |class| class.name())
            )
        }
    };
    let target = record
        .redirect_to
        .as_ref()
        .map(|to| format!(" -> {to}"))
        .unwrap_or_default();
    format!("{what} {}{target}", record.url)
}

/// Resident memory of this process.
fn resident_bytes() -> Option<u64> {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm")
        .ok()?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_say_what_helps() {
        let hold = |by| Hold {
            host: "a.test".into(),
            until: Duration::from_secs(40),
            by,
        };
        let now = Duration::from_secs(10);
        let line = |by, named| hold_line(&hold(by), now, named);
        assert_eq!(
            line(HoldKind::Rate(10.0), false),
            "held to 10/s by politeness; your own site? --speed fast"
        );
        assert_eq!(
            line(HoldKind::Rate(0.5), true),
            "held to 0.50/s by politeness"
        );
        assert_eq!(
            line(HoldKind::Delay(Duration::from_secs(5)), false),
            "waiting for the delay of 5.0 s on a.test"
        );
        assert_eq!(
            line(HoldKind::Parked, false),
            "a.test is left alone for 30 s more"
        );
    }
}
