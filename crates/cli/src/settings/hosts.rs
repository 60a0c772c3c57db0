//! The `[[host]]` tables of the file: other figures and header fields for some hosts.
//!
//! Owns their settings, which have no flags; the ranges are those of the general ones.

use clewline_job::config::{Config, HostHeaders, HostOverride, Secret};

use super::SettingMark;
use super::layer::Layer;
use super::problem::Problem;
use super::registry::{BUDGETS, IN_FLIGHT, PERIODS, RATES, SPEEDS};
use crate::resolve::wire;

/// What one table says.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostTable {
    name: Option<String>,
    pub(crate) figures: HostOverride,
    headers: Vec<(String, Secret)>,
}

settings! { pub(crate) HOST_SETTINGS for HostTable:
    /// Host name; a leading `*.` covers the subdomains too, `*` alone every host
    "name" "HOST" => one(name, wire::host_pattern);
    /// As `speed` above
    "speed" "SPEED" => choice(figures.speed, SPEEDS);
    /// As `delay` above
    "delay" "TIME" => period(figures.delay, PERIODS);
    /// As `rate` above
    "rate" "RATE" => rate(figures.rate, RATES);
    /// As `host-concurrency` above
    "host-concurrency" "N" => count(figures.host_concurrency, IN_FLIGHT);
    /// As `ignore-crawl-delay` above; one of `true`, `false`
    "ignore-crawl-delay" => switch(figures.ignore_crawl_delay);
    /// Do not obey this host's robots.txt; one of `true`, `false`
    "ignore-robots" => switch(figures.ignore_robots);
    /// Pages to fetch from this host
    "max-pages" "N" => count(figures.max_pages, BUDGETS);
    /// Header fields for these hosts, whether they are a root's or not, as a list of `Name: value`
    "header" "FIELD" => list(headers, wire::header).marked(&[SettingMark::Secret]);
}

impl HostTable {
    /// The tables that a configuration was made of.
    pub(crate) fn from_config(config: &Config) -> impl Iterator<Item = Self> {
        let fields = &config.fetch.host_headers;
        let hosts = config.politeness.hosts.iter().enumerate();
        hosts.map(|(number, figures)| Self {
            name: Some(figures.host.clone()),
            figures: figures.clone(),
            headers: fields
                .get(number)
                .map_or_else(Vec::new, |table| table.headers.clone()),
        })
    }
}

/// Reads all tables into a configuration.
pub(crate) fn read(tables: Vec<Layer>, config: &mut Config, problems: &mut Vec<Problem>) {
    for (number, mut layer) in tables.into_iter().enumerate() {
        let mut table = HostTable::default();
        let is_named = layer.is_given("name");
        layer.read(HOST_SETTINGS.iter(), &mut table, problems);
        if !is_named {
            let place = format!("[[host]] number {}", number + 1);
            let message = "has no name; write name = \"example.com\" or name = \"*.example.com\"";
            problems.push(Problem::new(place, message));
        }
        let host = table.name.unwrap_or_default();
        config.politeness.hosts.push(HostOverride {
            host: host.clone(),
            ..table.figures
        });
        // A table without fields counts, too, where it is the first that matches.
        config.fetch.host_headers.push(HostHeaders {
            host,
            headers: table.headers,
        });
    }
    let tables = &mut config.fetch.host_headers;
    if tables.iter().all(|table| table.headers.is_empty()) {
        tables.clear();
    }
}
