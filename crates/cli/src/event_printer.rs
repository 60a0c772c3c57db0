//! From events of the crawl to what the command shows of them.
//!
//! Owns the words: what the crawl waits for, what a note means, how much is told at which
//! volume. It decides nothing.

use std::time::Duration;

use clewline::{Event, Progress};
use clewline_core::domain::without_www;
use clewline_core::fleet::FleetTotals;
use clewline_core::frontier::{Hold, HoldKind};
use clewline_core::politeness::Politeness;
use clewline_job::config::{Config, Reach};
use clewline_job::notes::note_line;
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::report::figures;

use crate::progress::{LatestSnapshot, Snapshot, Voice};
use crate::resolve::Talk;

/// What held the crawl is shown a little longer than it did: with one request after the other
/// it comes and goes many times a second, and nobody could read it.
const HOLD_SHOWN: Duration = Duration::from_secs(2);

/// Tells a person what happens.
pub(crate) struct EventPrinter {
    board: LatestSnapshot,
    voice: Voice,
    talk: Talk,
    speed: SpeedTip,
    hold: Option<(Duration, Hold)>,
    last_url: Option<String>,
}

impl EventPrinter {
    pub(crate) fn new(board: LatestSnapshot, voice: Voice, talk: Talk, config: &Config) -> Self {
        Self {
            board,
            voice,
            talk,
            speed: SpeedTip::for_crawl(config),
            hold: None,
            last_url: None,
        }
    }

    /// Shows one event, or does not.
    pub(crate) fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Progress(progress) => {
                let snapshot = self.snapshot(progress);
                self.board.publish(snapshot);
            }
            Event::Note(note) if self.talk != Talk::Quiet => self.voice.note(&note_line(note)),
            Event::Resumed { done, todo } if self.talk != Talk::Quiet => {
                let done = figures::plural(*done, "URL");
                let todo = figures::count(*todo);
                self.voice
                    .note(&format!("going on: {done} done, {todo} to do"));
            }
            Event::Repaired(word) => self.voice.note(word),
            Event::NoRoom(why) => {
                let line = format!(
                    "paused: nothing can be written ({why}); free some space and the crawl continues"
                );
                self.voice.note(&line);
            }
            Event::Told(word) if self.talk != Talk::Quiet => self.voice.note(word),
            Event::RoomAgain => self.voice.note("there is room again; going on"),
            Event::Settled(record) => match self.talk {
                Talk::Verbose(1) => self.voice.say(&record_line(record)),
                Talk::Verbose(_) => self.voice.say(&detailed_line(record)),
                Talk::Quiet | Talk::Normal => {}
            },
            _ => {}
        }
    }

    fn snapshot(&mut self, progress: &Progress) -> Snapshot {
        let now = progress.elapsed;
        if let Some(hold) = &progress.hold {
            self.hold = Some((now, hold.clone()));
        }
        let recent = |(seen, _): &&(Duration, Hold)| now < *seen + HOLD_SHOWN;
        let hold = self.hold.as_ref().filter(recent);
        if let Some(url) = &progress.last_url {
            self.last_url = Some(url.clone());
        }
        Snapshot {
            elapsed: now,
            done: progress.done,
            queued: progress.todo.saturating_sub(progress.in_flight),
            in_flight: progress.in_flight,
            pages_per_second: progress.pages_per_second,
            bytes_per_second: progress.bytes_per_second,
            memory_bytes: clewline_platform::process::resident_bytes().unwrap_or_default(),
            failed: progress.failed,
            broken: progress.broken,
            empty_pages: progress.empty_pages,
            eta: progress.time_left,
            fleet: progress.fleet.map(fleet),
            waiting: if progress.paused {
                Some("paused; `clewline ctl continue` continues it".to_owned())
            } else {
                hold.map(|(_, hold)| hold_line(hold, now, &self.speed))
            },
            hosts_active: progress.hosts,
            last_url: self.last_url.clone(),
        }
    }
}

/// Whom the advice to go faster is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SpeedTip {
    /// The user chose a speed and needs none.
    Chosen,
    /// A crawl of one site, which may be the user's own.
    OneSite(String),
    /// A crawl of several sites, or one that may leave its site: nobody owns all of them.
    ManySites,
}

impl SpeedTip {
    fn for_crawl(config: &Config) -> Self {
        let pace = &config.politeness;
        if pace.speed.is_some() || pace.rate.is_some() {
            return Self::Chosen;
        }
        let mut hosts = config.roots.iter().map(|root| without_www(root.url.host()));
        let stays = !matches!(config.scope.reach, Reach::Domain | Reach::Any);
        match hosts.next() {
            Some(first) if stays && hosts.all(|host| host == first) => {
                Self::OneSite(first.to_owned())
            }
            _ => Self::ManySites,
        }
    }

    /// Whether the user may want to ask this host faster.
    fn is_for(&self, host: &str) -> bool {
        matches!(self, Self::OneSite(site) if without_www(host) == site)
    }
}

fn hold_line(hold: &Hold, now: Duration, speed: &SpeedTip) -> String {
    let seconds = hold.until.saturating_sub(now).as_secs_f64();
    let host = &hold.host;
    match hold.by {
        HoldKind::Rate(rate) => rate_line(rate, host, speed),
        HoldKind::Retry { tried: 0, .. } => {
            format!("{host} does not answer; asking again in {seconds:.0} s")
        }
        HoldKind::Retry { tried, most } => {
            let next = tried + 1;
            format!("retrying {host} in {seconds:.0} s (try {next} of {most})")
        }
        HoldKind::Delay(delay) => {
            format!(
                "waiting for the delay of {:.1} s on {host}",
                delay.as_secs_f64()
            )
        }
        HoldKind::Parked => format!("{host} is left alone for {seconds:.0} s more"),
        HoldKind::Robots => {
            format!("robots.txt of {host} could not be read; again in {seconds:.0} s")
        }
        HoldKind::NetworkAway => {
            format!("paused: the network seems to be away; looking again in {seconds:.0} s")
        }
    }
}

/// Whoever chose no speed may want another one for their own site, unless the host has trouble
/// already: below the rate at which a polite crawl begins, only trouble leads.
fn rate_line(rate: f64, host: &str, speed: &SpeedTip) -> String {
    let digits = if rate < 1.0 { 2 } else { 0 };
    let first = Politeness::default().host.first_rate;
    let is_slowed = first.is_some_and(|first| rate < first.number());
    if is_slowed && *speed != SpeedTip::Chosen {
        format!("slowed to {rate:.digits$}/s: {host} is slow or failing")
    } else if speed.is_for(host) {
        format!("held to {rate:.digits$}/s by politeness; your own site? --speed fast")
    } else if *speed == SpeedTip::ManySites {
        format!("{host} is held to {rate:.digits$}/s by politeness")
    } else {
        format!("held to {rate:.digits$}/s by politeness")
    }
}

/// What happened and to which URL.
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

/// The same with what else a line has room for.
fn detailed_line(record: &Record) -> String {
    let fetched = record.outcome == OutcomeKind::Fetched;
    let parts = [
        record.error.clone(),
        record.content_type.clone(),
        fetched.then(|| figures::plural(record.body_bytes, "byte")),
        record.timings.total.map(|millis| format!("{millis:.0} ms")),
        (record.tries > 1).then(|| format!("{} tries", record.tries)),
        fetched.then(|| {
            let links = figures::plural(record.links.into(), "link");
            format!("{} of {links} new", record.new_links)
        }),
        Some(format!("depth {}", record.depth)),
        record.found_on.as_ref().map(|page| format!("from {page}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} ({})", record_line(record), parts.join(", "))
}

/// `fleet of 4: 12,345 done, 678 queued`
fn fleet((workers, totals): (u64, FleetTotals)) -> String {
    let queued = totals.admitted - totals.settled;
    format!(
        "fleet of {workers}: {} done, {} queued",
        figures::count(totals.settled),
        figures::count(queued.saturating_sub(totals.withheld)),
    )
}

#[cfg(test)]
mod tests {
    use clewline_job::config::Root;

    use super::*;

    #[test]
    fn holds_say_what_helps() {
        let check = |by, speed: &SpeedTip, expected: &str| {
            let hold = Hold {
                host: "a.test".into(),
                until: Duration::from_secs(40),
                by,
            };
            assert_eq!(hold_line(&hold, Duration::from_secs(10), speed), expected);
        };
        let own = &SpeedTip::OneSite("a.test".into());
        let elsewhere = &SpeedTip::OneSite("b.test".into());
        let (many, chosen) = (&SpeedTip::ManySites, &SpeedTip::Chosen);
        let fast = HoldKind::Rate(10.0);
        check(
            fast,
            own,
            "held to 10/s by politeness; your own site? --speed fast",
        );
        check(fast, elsewhere, "held to 10/s by politeness");
        check(fast, many, "a.test is held to 10/s by politeness");
        let slow = HoldKind::Rate(0.5);
        check(slow, chosen, "held to 0.50/s by politeness");
        check(slow, own, "slowed to 0.50/s: a.test is slow or failing");
        check(slow, many, "slowed to 0.50/s: a.test is slow or failing");
        let delay = HoldKind::Delay(Duration::from_secs(5));
        check(delay, own, "waiting for the delay of 5.0 s on a.test");
        check(HoldKind::Parked, own, "a.test is left alone for 30 s more");
        let retry = |tried| HoldKind::Retry { tried, most: 4 };
        check(retry(2), own, "retrying a.test in 30 s (try 3 of 4)");
        check(
            retry(0),
            own,
            "a.test does not answer; asking again in 30 s",
        );
    }

    #[test]
    fn only_the_owner_of_one_site_is_told_to_go_faster() {
        let check = |roots: &[&str], reach, expected: &SpeedTip| {
            let mut config = Config::default();
            config.scope.reach = reach;
            config.roots = roots.iter().map(|url| Root::parse(url).unwrap()).collect();
            assert_eq!(
                SpeedTip::for_crawl(&config),
                *expected,
                "{roots:?} {reach:?}"
            );
        };
        let one = &SpeedTip::OneSite("a.test".into());
        check(&["a.test"], Reach::Host, one);
        check(&["a.test", "www.a.test/x"], Reach::Path, one);
        for reach in [Reach::Domain, Reach::Any] {
            check(&["a.test"], reach, &SpeedTip::ManySites);
        }
        check(&["a.test", "b.test"], Reach::Host, &SpeedTip::ManySites);
        let mut config = Config::default();
        config.politeness.rate = Some(5.0);
        assert_eq!(SpeedTip::for_crawl(&config), SpeedTip::Chosen);
    }
}
