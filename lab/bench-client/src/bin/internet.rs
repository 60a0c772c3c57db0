//! A synthetic internet for the benchmark, in a process of its own.
//!
//! Owns the talk with the harness. `internet prepare` writes what a crawl must find and where it
//! may begin; `internet serve` serves until its standard input ends and then says, in one line
//! of JSON, what was asked for and whether that was right. A new process for each run, because
//! a page that is fetched again by a second crawl is no repeat.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use serde_json::{Value, json};
use terrarium::{
    Comparison, Expectation, Findings, Internet, InternetConfig, Limit, OracleRules, Profile,
    RefereeRules, Seen,
};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write `list`, `origins`, `turns` and `roots` into a folder
    Prepare {
        #[command(flatten)]
        web: Web,
        /// The folder
        #[arg(long)]
        folder: PathBuf,
    },
    /// Serve until standard input ends
    Serve {
        #[command(flatten)]
        web: Web,
        #[command(flatten)]
        manners: Manners,
        /// Where to write the certificate of the authority
        #[arg(long)]
        authority: PathBuf,
        /// The crawl's `urls.jsonl`, to be compared at the end if it is there
        #[arg(long)]
        urls: PathBuf,
    },
}

/// What the web is made from.
#[derive(Args)]
struct Web {
    #[arg(long)]
    profile: Profile,
    #[arg(long)]
    hosts: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long)]
    pages: Option<u32>,
    #[arg(long, default_value_t = 1.0)]
    latency: f64,
    /// Every answer waits exactly so many milliseconds
    #[arg(long)]
    delay: Option<u64>,
    /// Hosts per thousand that speak TLS
    #[arg(long)]
    secure: Option<u32>,
    #[arg(long)]
    port: u16,
    #[arg(long)]
    tls_port: u16,
    #[arg(long)]
    dns_port: u16,
}

impl Web {
    fn config(&self) -> InternetConfig {
        InternetConfig {
            profile: self.profile,
            hosts: self.hosts,
            seed: self.seed,
            pages: self.pages,
            latency: self.latency,
            delay: self.delay.map(Duration::from_millis),
            secure: self.secure,
            port: Some(self.port),
            tls_port: Some(self.tls_port),
            dns_port: Some(self.dns_port),
            ..InternetConfig::default()
        }
    }
}

/// What the crawl has promised beside robots.txt and no repeats.
#[derive(Args)]
struct Manners {
    /// The smallest gap between two requests to a host, in milliseconds
    #[arg(long)]
    host_gap: Option<u64>,
    /// Requests to a host in any second
    #[arg(long)]
    host_rate: Option<u32>,
    /// Requests to a host at once
    #[arg(long)]
    host_in_flight: Option<u32>,
    /// Requests to a domain or an address in any second
    #[arg(long)]
    group_rate: Option<u32>,
    /// Requests to a domain or an address at once
    #[arg(long)]
    group_in_flight: Option<u32>,
    /// By how much a gap may be too small, in milliseconds
    #[arg(long, default_value_t = 10)]
    tolerance: u64,
}

impl Manners {
    fn rules(&self) -> RefereeRules {
        let group = Limit {
            gap: None,
            rate: self.group_rate,
            in_flight: self.group_in_flight,
        };
        RefereeRules {
            host: Limit {
                gap: self.host_gap.map(Duration::from_millis),
                rate: self.host_rate,
                in_flight: self.host_in_flight,
            },
            domain: group,
            address: group,
            tolerance: Duration::from_millis(self.tolerance),
            ..RefereeRules::default()
        }
    }
}

fn main() -> Result<()> {
    match Arguments::parse().verb {
        Verb::Prepare { web, folder } => prepare(&web, &folder),
        Verb::Serve {
            web,
            manners,
            authority,
            urls,
        } => {
            let internet = Internet::new(web.config()).try_start()?;
            fs::write(authority, internet.ca_pem())?;
            say(&json!("ready"))?;
            // The harness holds the other end; its end is the end of the run.
            io::stdin().read_to_end(&mut Vec::new())?;
            let mut rules = manners.rules();
            rules.exempt.extend(internet.shared_address());
            let findings = internet.referee(&rules);
            let comparison = if urls.is_file() {
                compare(&internet.oracle(&OracleRules::default()), &urls)?
            } else {
                Value::Null
            };
            say(&verdict(&findings, &comparison))
        }
    }
}

fn say(value: &Value) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}

/// `list` has every URL that is fetched in the end, `origins` one root per scheme and host, and
/// `turns` how many requests each host gets, a robots.txt for each of its origins included.
fn prepare(web: &Web, folder: &Path) -> Result<()> {
    let mut list = BufWriter::new(File::create(folder.join("list"))?);
    let mut origins = BTreeSet::new();
    let mut asked = BTreeSet::new();
    let mut turns: BTreeMap<String, u32> = BTreeMap::new();
    let mut problem = None;
    let ports = (web.port, web.tls_port);
    let mut expected = 0;
    let tell = |url: String, expectation: Expectation| {
        expected += 1;
        let fetched = matches!(expectation, Expectation::Fetched { .. });
        if !fetched && !matches!(expectation, Expectation::Redirected { .. }) {
            return;
        }
        let (origin, host) = origin_and_host(&url);
        *turns.entry(host.to_owned()).or_default() += 1;
        if asked.insert(origin.to_owned()) {
            *turns.entry(host.to_owned()).or_default() += 1;
        }
        if fetched {
            origins.insert(origin.to_owned());
            problem = writeln!(list, "{url}").err().or(problem.take());
        }
    };
    Internet::new(web.config()).foretell(&OracleRules::default(), ports, tell);
    if let Some(problem) = problem {
        return Err(problem.into());
    }
    list.flush()?;
    let internet = Internet::new(web.config()).try_start()?;
    fs::write(folder.join("roots"), internet.roots().join("\n"))?;
    let lines = turns
        .iter()
        .map(|(host, turns)| format!("{host} {turns}\n"));
    fs::write(folder.join("turns"), lines.collect::<String>())?;
    let lines = origins.iter().map(|origin| format!("{origin}/\n"));
    fs::write(folder.join("origins"), lines.collect::<String>())?;
    let shared = internet.shared_address().map(|address| address.to_string());
    say(&json!({"expected": expected, "shared_address": shared}))
}

/// `http://host:port` and `host` of a URL.
fn origin_and_host(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    let host = url[start..end].split(':').next().unwrap_or_default();
    (&url[..end], host)
}

fn compare(oracle: &BTreeMap<String, Expectation>, urls: &Path) -> Result<Value> {
    let file = File::open(urls).with_context(|| urls.display().to_string())?;
    let mut seen = Vec::new();
    for line in BufReader::new(file).lines() {
        let record: Value = serde_json::from_str(&line?)?;
        let text = |name: &str| record[name].as_str().map(str::to_owned);
        seen.push(Seen {
            url: text("url").unwrap_or_default(),
            outcome: text("outcome").unwrap_or_default(),
            status: record["status"].as_u64().map(|status| status as u16),
            reason: text("reason"),
        });
    }
    let comparison = Comparison::new(oracle, seen);
    let examples = [&comparison.missing, &comparison.wrong, &comparison.extras];
    Ok(json!({
        "expected": comparison.expected,
        "right": comparison.right,
        "extra": comparison.extra,
        "examples": examples.into_iter().flatten().collect::<Vec<_>>(),
    }))
}

fn verdict(findings: &Findings, comparison: &Value) -> Value {
    let examples = findings.violations.iter().map(ToString::to_string);
    json!({
        "requests": findings.requests,
        "pages": findings.pages,
        "hosts": findings.hosts_asked,
        "violations": findings.violation_count,
        "examples": examples.collect::<Vec<_>>(),
        "comparison": comparison,
    })
}

#[cfg(test)]
mod tests {
    use super::origin_and_host;

    #[test]
    fn origins_and_hosts() {
        let check = |url: &str, origin: &str, host: &str| {
            assert_eq!(origin_and_host(url), (origin, host), "{url}");
        };
        check("http://a.test:80/x/y", "http://a.test:80", "a.test");
        check("https://b.test/", "https://b.test", "b.test");
        check("https://b.test", "https://b.test", "b.test");
    }
}
