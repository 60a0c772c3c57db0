//! The `[[host]]` tables of the file: other figures for some hosts.
//!
//! Owns their reading; the ranges are those of the general settings.

use std::time::Duration;

use clewline::config::{HostHeaders, HostOverride};

use super::parts::{FASTEST_RATE, LONGEST_PERIOD, MOST_IN_FLIGHT, SLOWEST_RATE, SPEEDS};
use super::read::{Reader, written};
use super::wire;
use crate::settings::HostSettings;
use crate::settings::layer::Layer;
use crate::settings::problem::Problem;

/// What all tables say: figures, and header fields if any table has some.
#[derive(Default)]
pub(crate) struct Hosts {
    pub(crate) overrides: Vec<HostOverride>,
    pub(crate) headers: Vec<HostHeaders>,
}

/// Reads all tables.
pub(crate) fn read(tables: &[Layer], problems: &mut Vec<Problem>) -> Hosts {
    let mut hosts = Hosts::default();
    for (number, table) in tables.iter().enumerate() {
        let settings: HostSettings = table.read();
        let mut reader = Reader::new(table);
        let figures = one(&mut reader, &settings);
        let fields = settings.header.iter().map(String::as_str);
        // A table without fields counts, too, where it is the first that matches.
        hosts.headers.push(HostHeaders {
            host: figures.host.clone(),
            headers: reader.each("header", fields, wire::header),
        });
        hosts.overrides.push(figures);
        problems.append(&mut reader.into_problems());
        if settings.name.is_none() {
            let place = format!("[[host]] number {}", number + 1);
            let message = "has no name; write name = \"example.com\" or name = \"*.example.com\"";
            problems.push(Problem::new(place, message));
        }
    }
    if hosts.headers.iter().all(|table| table.headers.is_empty()) {
        hosts.headers.clear();
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

/// `example.com`, `*.example.com` or `*`, in the form in which hosts are compared.
fn host_pattern(text: &str) -> Result<String, &'static str> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let (prefix, host) = match text.strip_prefix("*.") {
        Some(host) => ("*.", host),
        None => ("", text),
    };
    clewline_core::url::parse_host(host)
        .map(|host| format!("{prefix}{host}"))
        .ok_or("is not a host name; write it without scheme, port and path")
}
