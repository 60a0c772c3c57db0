//! `terrarium serve`.
//!
//! Owns the run of an internet by hand: what to type, the live line, the end.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use terrarium::{Figures, Findings, Internet, InternetConfig, LiveInternet, Pulse, Way};

use crate::flags::ServeArguments;
use crate::{live, place};

pub(crate) fn run(arguments: &ServeArguments) -> io::Result<ExitCode> {
    if let Some(place) = &arguments.site {
        return place::run(arguments, place);
    }
    let config = InternetConfig {
        dns_port: arguments.dns_port,
        proxy_port: arguments.proxy_port,
        ..arguments.making.config()
    };
    let internet = Internet::new(config).try_start()?;
    let cacert = match &arguments.cacert {
        Some(path) => path.clone(),
        None => std::env::temp_dir().join(format!("terrarium-{}.pem", internet.dns_addr().port())),
    };
    fs::write(&cacert, internet.ca_pem())?;
    if let Some(path) = &arguments.oracle {
        write_oracle(&internet, arguments, path)?;
    }
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", introduction(&internet, &cacert))?;
    } else {
        write!(out, "{}", instructions(&internet, &cacert))?;
    }
    out.flush()?;
    let mut line = LiveLine::new(&internet);
    live::watch(arguments, || line.next(&internet))?;
    let findings = internet.referee(&arguments.judging.rules(&internet));
    if arguments.json {
        writeln!(out, "{}", summary(&findings))?;
    } else {
        writeln!(out, "{findings}")?;
    }
    if arguments.cacert.is_none() {
        // It was written for this run only.
        let _ = fs::remove_file(&cacert);
    }
    let is_void = findings.violation_count > 0;
    Ok(ExitCode::from(u8::from(is_void)))
}

fn write_oracle(
    internet: &LiveInternet,
    arguments: &ServeArguments,
    path: &PathBuf,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut written = Ok(());
    let ports = (internet.port(), internet.tls_port());
    let again = Internet::new(internet.config().clone());
    again.foretell(&arguments.foretelling.rules(), ports, |url, expected| {
        let line = json!({ "url": url, "expected": expected.to_string() });
        if written.is_ok() {
            written = writeln!(file, "{line}");
        }
    });
    written.and_then(|()| file.flush())
}

fn introduction(internet: &LiveInternet, cacert: &Path) -> serde_json::Value {
    json!({
        "dns": internet.dns_addr().to_string(),
        "port": internet.port(),
        "tls_port": internet.tls_port(),
        "proxy": internet.proxy_addr().to_string(),
        "cacert": cacert,
        "shared_address": internet.shared_address().map(|address| address.to_string()),
        "addresses": internet.addresses().len(),
        "first_address": internet.addresses().first().map(ToString::to_string),
        "roots": internet.roots(),
    })
}

fn instructions(internet: &LiveInternet, cacert: &Path) -> String {
    let config = internet.config();
    let roots = internet.roots().join(" ");
    let (cacert, proxy) = (cacert.display(), internet.proxy_addr());
    let way = match config.way {
        Way::Proxy => format!("--proxy http://{proxy}"),
        _ => format!("--dns {} --allow-private 127.0.0.0/8", internet.dns_addr()),
    };
    let shared = internet.shared_address().map_or(String::new(), |address| {
        format!("{address} is shared by many hosts, as a delivery network's would be.\n")
    });
    format!(
        "{} hosts of profile {} from seed {}, at {} addresses.\n{shared}Type:\n\
         \x20 clewline {way} --scope any --contact you@example.org --cacert {cacert} {roots}\n\
         Other crawlers may use the HTTP proxy {proxy}.\nCheck a crawl with:\n\
         \x20 terrarium check {} --port {} --tls-port {} --urls FOLDER/urls.jsonl\n",
        config.hosts,
        config.profile,
        config.seed,
        internet.addresses().len(),
        making(config),
        internet.port(),
        internet.tls_port(),
    )
}

/// The flags that decide what there is to find.
fn making(config: &InternetConfig) -> String {
    let mut flags = format!(
        "--profile {} --hosts {} --seed {}",
        config.profile, config.hosts, config.seed
    );
    if let Some(pages) = config.pages {
        flags = format!("{flags} --pages {pages}");
    }
    if (config.mishaps - 1.0).abs() > f64::EPSILON {
        flags = format!("{flags} --mishaps {}", config.mishaps);
    }
    flags
}

fn summary(findings: &Findings) -> serde_json::Value {
    let figures = |figures: &Figures| {
        json!({
            "smallest_gap_ms": figures.smallest_gap.map(|gap| gap.as_secs_f64() * 1e3),
            "greatest_rate": figures.greatest_rate,
            "greatest_in_flight": figures.greatest_in_flight,
        })
    };
    let violations = findings.violations.iter();
    json!({
        "requests": findings.requests,
        "hosts_asked": findings.hosts_asked,
        "pages": findings.pages,
        "hosts": figures(&findings.hosts),
        "domains": figures(&findings.domains),
        "addresses": figures(&findings.addresses),
        "violation_count": findings.violation_count,
        "violations": violations.map(ToString::to_string).collect::<Vec<_>>(),
        "cpu_seconds": processor_time().as_secs_f64(),
    })
}

/// What changed since the line before.
struct LiveLine {
    pulse: Pulse,
    at: Instant,
    processor: Duration,
}

impl LiveLine {
    fn new(internet: &LiveInternet) -> Self {
        Self {
            pulse: internet.pulse(),
            at: Instant::now(),
            processor: processor_time(),
        }
    }

    fn next(&mut self, internet: &LiveInternet) -> String {
        let now = Self::new(internet);
        let seconds = (now.at - self.at).as_secs_f64().max(0.001);
        let requests = now.pulse.requests - self.pulse.requests;
        let megabytes = (now.pulse.bytes - self.pulse.bytes) as f64 / 1e6;
        let busy = (now.processor.saturating_sub(self.processor)).as_secs_f64() / seconds;
        *self = now;
        let Pulse {
            requests: all,
            in_flight,
            connections,
            ..
        } = self.pulse;
        format!(
            "{:8.0} requests/s {:7.1} MB/s {in_flight:6} in flight {connections:6} connections \
             {:4.0} % CPU {all:9} requests in all ",
            requests as f64 / seconds,
            megabytes / seconds,
            busy * 100.0
        )
    }
}

/// Processor time of the whole process.
fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}
