//! The `[[host]]` tables of the file: other figures for some hosts.
//!
//! Owns their reading; the ranges are those of the general settings.

use std::time::Duration;

use clewline::config::HostOverride;

use super::parts::{FASTEST_RATE, LONGEST_PERIOD, MOST_IN_FLIGHT, SLOWEST_RATE, SPEEDS};
use super::read::{Reader, written};
use crate::settings::HostSettings;
use crate::settings::layer::Layer;
use crate::settings::problem::Problem;

/// Reads all tables.
pub(crate) fn overrides(tables: &[Layer], problems: &mut Vec<Problem>) -> Vec<HostOverride> {
    let mut hosts = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let settings: HostSettings = table.read();
        let mut reader = Reader::new(table);
        hosts.push(one(&mut reader, &settings));
        problems.append(&mut reader.into_problems());
        if settings.name.is_none() {
            let place = format!("[[host]] number {}", number + 1);
            let message = "has no name; write name = \"example.com\" or name = \"*.example.com\"";
            problems.push(Problem::new(place, message));
        }
    }
    hosts
}

fn one(reader: &mut Reader<'_>, settings: &HostSettings) -> HostOverride {
    let in_flight = written("host-concurrency", settings.host_concurrency.as_ref());
    let delay = written("delay", settings.delay.as_ref());
    let rate = written("rate", settings.rate.as_ref());
    let name = reader.one(written("name", settings.name.as_ref()), host_pattern);
    HostOverride {
        host: name.unwrap_or_default(),
        speed: reader.choice(written("speed", settings.speed.as_ref()), &SPEEDS),
        delay: reader.period(delay, &(Duration::ZERO..=LONGEST_PERIOD)),
        rate: reader.rate(rate, &(SLOWEST_RATE..=FASTEST_RATE)),
        host_concurrency: reader.small_count(in_flight, 1..=MOST_IN_FLIGHT),
        ignore_crawl_delay: settings.ignore_crawl_delay,
        ignore_robots: settings.ignore_robots,
        max_pages: reader.count(
            written("max-pages", settings.max_pages.as_ref()),
            &(1..=super::LARGEST_NUMBER),
        ),
    }
}

/// `example.com` or `*.example.com`, in the form in which hosts are compared.
fn host_pattern(text: &str) -> Result<String, &'static str> {
    let (prefix, host) = match text.strip_prefix("*.") {
        Some(host) => ("*.", host),
        None => ("", text),
    };
    clewline::core::url::parse_host(host)
        .map(|host| format!("{prefix}{host}"))
        .ok_or("is not a host name; write it without scheme, port and path")
}
