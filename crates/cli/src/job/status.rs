//! The verb `status`: how a crawl stands.
//!
//! Owns the words and the table. It decides nothing; the library tells.

use std::fmt::Write as _;
use std::time::Duration;

use clewline_core::frontier::{Cause, HostSummary, Wait};
use clewline_job::report::figures;
use clewline_job::status::{State, Status};

use crate::exit::ExitStatus;
use crate::flags::StatusArguments;
use crate::message::shown;
use crate::progress::render::{amount, clock, decimal};
use crate::{Failure, fleet, write_out};

/// Hosts that the table shows; `--json` has more.
const MOST_HOSTS: usize = 10;
/// What fewer URLs than one in a hundred wait for is not told.
const LEAST_SHARE: u64 = 1;

/// Prints how the crawl stands.
pub(crate) fn status(arguments: &StatusArguments) -> Result<ExitStatus, Failure> {
    if let Some(address) = fleet::address(arguments.dir.as_deref()) {
        return fleet::status(address, arguments);
    }
    let job = super::open(arguments.dir.clone())?;
    let status = job.status().map_err(Failure::Job)?;
    if arguments.wants_json() {
        return write_out(&(serde_json::to_string(&status)? + "\n"));
    }
    let name = shown(&job.path.to_string_lossy()).into_owned();
    write_out(&text(&name, &status))
}

fn text(name: &str, status: &Status) -> String {
    let mut text = format!("{name}: {}\n", state(status));
    let _ = writeln!(
        text,
        "{} done, {} queued, {} in flight; {}, {} failed, {} broken",
        figures::count(status.done),
        figures::count(status.queued),
        figures::count(status.in_flight),
        figures::plural(status.pages, "page"),
        figures::count(status.failed),
        figures::count(status.broken),
    );
    if status.withheld > 0 {
        let _ = writeln!(
            text,
            "{} withheld as parts of traps; `resume --no-trap-detection` fetches them",
            figures::count(status.withheld)
        );
    }
    let spent = clock(Duration::try_from_secs_f64(status.seconds).unwrap_or_default());
    let _ = write!(text, "{spent} spent, {} read", amount(status.bytes as f64));
    if is_running(status.state) {
        let pages = decimal(status.pages_per_second);
        let _ = write!(
            text,
            ", {pages} pages/s, {}/s",
            amount(status.bytes_per_second)
        );
    }
    text.push('\n');
    if let Some(left) = left(status) {
        let _ = writeln!(text, "{left}");
    }
    if let Some(held) = &status.held {
        let _ = writeln!(text, "held: {}", shown(held));
    }
    if is_running(status.state) {
        for line in status
            .summary
            .waits
            .iter()
            .filter_map(|wait| share(wait, status.queued))
        {
            let _ = writeln!(text, "{line}");
        }
    }
    table(&status.summary.hosts, &mut text);
    text
}

const fn is_running(state: State) -> bool {
    matches!(state, State::Running | State::Paused | State::Stopping)
}

fn state(status: &Status) -> String {
    let ended = status.ended.as_deref().map(shown);
    match (status.state, ended) {
        (State::Running, _) => "running".into(),
        (State::Paused, _) => "paused; `clewline ctl continue` continues it".into(),
        (State::Stopping, _) => "stopping".into(),
        (State::Finished, _) => "finished".into(),
        (State::Unreached, _) => "not running; none of its roots was fetched".into(),
        (_, Some(ended)) => format!("not running, unfinished; {ended}"),
        (_, None) => "not running, unfinished; its last run was killed".into(),
    }
}

/// What is queued takes about this long while the crawl runs; where it does not, only what
/// politeness asks for is known.
fn left(status: &Status) -> Option<String> {
    let left = Duration::try_from_secs_f64(status.time_left?).ok()?;
    let how = if is_running(status.state) {
        "about"
    } else {
        "at least"
    };
    let slowest = status.summary.slowest.as_deref().map(shown);
    let by = slowest
        .map(|host| format!("; {host} takes longest"))
        .unwrap_or_default();
    Some(format!("{how} {} left{by}", clock(left)))
}

/// `83 % waiting for the crawl delay of example.org`
fn share(wait: &Wait, queued: u64) -> Option<String> {
    let percent = wait.urls.saturating_mul(100) / queued.max(1);
    if percent < LEAST_SHARE {
        return None;
    }
    let host = shown(&wait.host);
    let place = match wait.hosts {
        0 => String::new(),
        1 => format!(" of {host}"),
        hosts => format!(" of {host} and {} more", figures::count(hosts - 1)),
    };
    let percent = percent.min(100);
    Some(match wait.cause {
        Cause::Turn => format!("{percent} % ready, waiting for their turn"),
        Cause::Place => format!("{percent} % on hosts that are not active yet"),
        cause => format!("{percent} % waiting for {}{place}", words(cause)),
    })
}

const fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::InFlight => "the requests in flight",
        Cause::Name => "the addresses",
        Cause::Robots => "the robots.txt",
        Cause::Parked => "the end of a pause",
        Cause::CrawlDelay => "the crawl delay",
        Cause::Delay => "the delay",
        Cause::Rate => "the rate limit",
        Cause::Shared => "the shared domain or address",
        Cause::Budget => "the page budget",
        Cause::Level => "the level before",
        _ => "their turn",
    }
}

fn table(hosts: &[HostSummary], text: &mut String) {
    if hosts.is_empty() {
        return;
    }
    let shown_hosts = &hosts[..hosts.len().min(MOST_HOSTS)];
    let names: Vec<_> = shown_hosts.iter().map(|host| shown(&host.host)).collect();
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let width = width.clamp(4, 40);
    let _ = writeln!(
        text,
        "\n{:<width$}  {:>10}  {:>9}  {:>8}  {:>8}  waits for",
        "host", "queued", "in flight", "every", "left"
    );
    for (host, name) in shown_hosts.iter().zip(names) {
        let queued = figures::count(host.queued) + if host.at_least { "+" } else { "" };
        let _ = writeln!(
            text,
            "{name:<width$}  {queued:>10}  {:>9}  {:>8}  {:>8}  {}",
            host.in_flight,
            gap(host.interval),
            clock(host.left),
            waits(host),
        );
    }
}

/// The time between two requests; `-` where there need be none.
pub(super) fn gap(interval: Duration) -> String {
    match interval.as_secs_f64() {
        0.0 => "-".into(),
        seconds if seconds < 0.01 => format!("{:.1}ms", seconds * 1000.0),
        seconds if seconds < 1.0 => format!("{:.0}ms", seconds * 1000.0),
        seconds if seconds < 10.0 => format!("{seconds:.1}s"),
        _ => clock(interval),
    }
}

fn waits(host: &HostSummary) -> String {
    let words = words(host.cause);
    match host.until {
        Some(until) if until.as_secs() > 0 => format!("{words}, {} more", clock(until)),
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_never_nothing() {
        for (interval, expected) in [
            (Duration::ZERO, "-"),
            (Duration::from_micros(1500), "1.5ms"),
            (Duration::from_micros(16_667), "17ms"),
            (Duration::from_millis(50), "50ms"),
            (Duration::from_millis(2500), "2.5s"),
            (Duration::from_mins(1), "1m00s"),
        ] {
            assert_eq!(gap(interval), expected);
        }
    }

    #[test]
    fn shares_name_what_and_whom() {
        let check = |cause, urls, hosts, expected: Option<&str>| {
            let wait = Wait {
                cause,
                urls,
                hosts,
                host: "a.test".into(),
            };
            assert_eq!(share(&wait, 1000).as_deref(), expected);
        };
        check(
            Cause::CrawlDelay,
            830,
            1,
            Some("83 % waiting for the crawl delay of a.test"),
        );
        check(
            Cause::Robots,
            10,
            3,
            Some("1 % waiting for the robots.txt of a.test and 2 more"),
        );
        check(Cause::Rate, 9, 1, None);
        check(
            Cause::Place,
            1000,
            0,
            Some("100 % on hosts that are not active yet"),
        );
    }
}
