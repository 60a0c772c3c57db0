//! The command line.
//!
//! Owns the grammar and the way from flags to the library's settings.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use terrarium::{
    InternetConfig, Limit, LiveInternet, OracleRules, OracleScope, Profile, RefereeRules, Way,
};

use crate::place::{self, Place};

/// A synthetic internet on loopback, with an oracle and a referee
#[derive(Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Run an internet until Ctrl-C, and judge who came
    Serve(Box<ServeArguments>),
    /// Hold a crawl's urls.jsonl against the oracle
    Check(Box<CheckArguments>),
}

/// What an internet is made from.
#[derive(Args)]
pub(crate) struct Making {
    /// micro, bubing, real, slow or hostile
    #[arg(long, default_value = "micro", value_parser = profile)]
    profile: Profile,
    /// Host names
    #[arg(long, default_value_t = 100)]
    hosts: u32,
    /// The same seed makes the same web
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Pages per host on average [default: the profile's]
    #[arg(long)]
    pages: Option<u32>,
    /// Addresses that the hosts share [default: the profile's]
    #[arg(long)]
    addresses: Option<u32>,
    /// Port of all plain sites [default: a free one]
    #[arg(long)]
    port: Option<u16>,
    /// Port of all sites with TLS [default: a free one]
    #[arg(long)]
    tls_port: Option<u16>,
    /// Factor for every delay
    #[arg(long, default_value_t = 1.0)]
    latency: f64,
    /// Every answer waits exactly this long: 100ms, 2s [default: the profile's delays]
    #[arg(long, value_parser = duration)]
    delay: Option<Duration>,
    /// Factor for the size of bodies
    #[arg(long, default_value_t = 1.0)]
    body: f64,
    /// Factor for the share of hosts that cannot be reached or read
    #[arg(long, default_value_t = 1.0)]
    mishaps: f64,
    /// Product token of the crawler, which some robots.txt name
    #[arg(long, default_value = "clewline")]
    agent: String,
    /// Come in by the HTTP proxy only; URLs carry no port
    #[arg(long)]
    proxy: bool,
}

impl Making {
    pub(crate) fn config(&self) -> InternetConfig {
        InternetConfig {
            profile: self.profile,
            hosts: self.hosts,
            seed: self.seed,
            pages: self.pages,
            addresses: self.addresses,
            port: self.port,
            tls_port: self.tls_port,
            latency: self.latency,
            delay: self.delay,
            body: self.body,
            mishaps: self.mishaps,
            agent: self.agent.clone(),
            way: if self.proxy { Way::Proxy } else { Way::Sockets },
            ..InternetConfig::default()
        }
    }

    /// The ports that URLs carry.
    pub(crate) fn ports(&self) -> (u16, u16) {
        (self.port.unwrap_or(80), self.tls_port.unwrap_or(443))
    }
}

/// How far the foretold crawl goes.
#[derive(Clone, Copy, ValueEnum)]
enum Scope {
    Any,
    Host,
}

/// The crawl that is foretold.
#[derive(Args)]
pub(crate) struct Foretelling {
    /// Wherever links lead, or only the roots' hosts
    #[arg(long, value_enum, default_value = "any")]
    scope: Scope,
    /// The crawler does not read sitemaps
    #[arg(long)]
    no_sitemaps: bool,
    /// The crawler keeps no cookies
    #[arg(long)]
    no_cookies: bool,
}

impl Foretelling {
    pub(crate) fn rules(&self) -> OracleRules {
        OracleRules {
            scope: match self.scope {
                Scope::Any => OracleScope::Any,
                Scope::Host => OracleScope::RootHosts,
            },
            sitemaps: !self.no_sitemaps,
            cookies: !self.no_cookies,
            ..OracleRules::default()
        }
    }
}

/// What the referee holds for polite.
#[derive(Args)]
#[command(next_help_heading = "Referee")]
pub(crate) struct Judging {
    /// Smallest time between two requests to a host: 500ms, 2s
    #[arg(long, value_parser = duration)]
    host_gap: Option<Duration>,
    /// Requests to a host in a second
    #[arg(long)]
    host_rate: Option<u32>,
    /// Requests to a host at once
    #[arg(long)]
    host_in_flight: Option<u32>,
    /// The same for a registrable domain
    #[arg(long, value_parser = duration)]
    domain_gap: Option<Duration>,
    /// The same for a registrable domain
    #[arg(long)]
    domain_rate: Option<u32>,
    /// The same for a registrable domain
    #[arg(long)]
    domain_in_flight: Option<u32>,
    /// The same for an address
    #[arg(long, value_parser = duration)]
    address_gap: Option<Duration>,
    /// The same for an address
    #[arg(long)]
    address_rate: Option<u32>,
    /// The same for an address
    #[arg(long)]
    address_in_flight: Option<u32>,
    /// Do not limit the address of the delivery network
    #[arg(long)]
    exempt_shared: bool,
    /// How much gaps may be too small
    #[arg(long, value_parser = duration, default_value = "10ms")]
    tolerance: Duration,
}

impl Judging {
    pub(crate) fn rules(&self, internet: &LiveInternet) -> RefereeRules {
        let shared = internet.shared_address().filter(|_| self.exempt_shared);
        RefereeRules {
            host: Limit {
                gap: self.host_gap,
                rate: self.host_rate,
                in_flight: self.host_in_flight,
            },
            domain: Limit {
                gap: self.domain_gap,
                rate: self.domain_rate,
                in_flight: self.domain_in_flight,
            },
            address: Limit {
                gap: self.address_gap,
                rate: self.address_rate,
                in_flight: self.address_in_flight,
            },
            exempt: shared.into_iter().collect(),
            tolerance: self.tolerance,
            ..RefereeRules::default()
        }
    }
}

#[derive(Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) making: Making,
    /// One site instead of an internet: traps:calendar:dense, alike:git, trouble:busy:20
    #[arg(long, value_name = "SITE", value_parser = place::place)]
    pub(crate) site: Option<Place>,
    /// Port of the name server [default: a free one]
    #[arg(long)]
    pub(crate) dns_port: Option<u16>,
    /// Port of the proxy [default: a free one]
    #[arg(long)]
    pub(crate) proxy_port: Option<u16>,
    /// End after this time: 30s, 5m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) time: Option<Duration>,
    /// Write what a crawl must find to this file, as JSON lines, and go on
    #[arg(long, value_name = "FILE")]
    pub(crate) oracle: Option<PathBuf>,
    /// Where to write the certificate authority [default: in the folder for temporary files]
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Write one JSON line at the start and one at the end instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// No live line
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) foretelling: Foretelling,
    #[command(flatten)]
    pub(crate) judging: Judging,
}

#[derive(Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) making: Making,
    /// The crawl's urls.jsonl
    #[arg(long, value_name = "FILE")]
    pub(crate) urls: PathBuf,
    /// Write the result as one JSON line instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) foretelling: Foretelling,
}

fn profile(text: &str) -> Result<Profile, terrarium::UnknownProfile> {
    text.parse()
}

/// `500ms`, `2s`, `1.5m`; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a time such as 500ms, 2s or 5m".to_owned()),
    };
    let seconds: Option<f64> = digits.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds * factor).ok())
        .ok_or_else(|| "write a time such as 500ms, 2s or 5m".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Command::command().debug_assert();
    }

    #[test]
    fn durations() {
        for (text, milliseconds) in [("500ms", 500), ("2s", 2000), ("1.5", 1500), ("2m", 120_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)));
        }
        for text in ["", "x", "5y", "-1s", "1e99h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
