//! A synthetic internet, in a process of its own on the servers' core.
//!
//! Owns the talk with the program `internet`, which knows what must be found and watches how
//! it is asked. Each run gets a fresh one at the same ports, so that all runs crawl the same
//! URLs and none is blamed for another's requests.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::ground::{Ground, said};
use super::super::measure::processor_seconds;
use super::free_ports;

/// A web to be made.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) profile: &'static str,
    pub(crate) hosts: u32,
    /// Pages per host on average.
    pub(crate) pages: u32,
    pub(crate) seed: u64,
    /// Factor for all delays.
    pub(crate) latency: f64,
    /// Every answer waits exactly so many milliseconds.
    pub(crate) delay: Option<u64>,
    /// Hosts per thousand that speak TLS.
    pub(crate) secure: Option<u32>,
    /// What the referee is told of the crawl's promises, as words for `internet serve`.
    pub(crate) promises: Vec<String>,
}

/// A web that is known but not served yet.
pub(crate) struct Internet {
    program: String,
    words: Vec<String>,
    promises: Vec<String>,
    folder: PathBuf,
    dns: String,
    /// An address that unrelated hosts share, as behind a delivery network.
    pub(crate) shared_address: Option<String>,
    /// URLs that must be met, with a verdict for each.
    pub(crate) expected: u64,
}

/// What the referee and the oracle say of a run.
#[derive(Debug, Clone)]
pub(crate) struct Judgement {
    pub(crate) requests: u64,
    pub(crate) violations: u64,
    /// URLs with the right verdict, and URLs that should not be there, if records were compared.
    pub(crate) records: Option<(u64, u64)>,
    /// What is wrong, for people.
    pub(crate) examples: Vec<String>,
}

impl Internet {
    /// Makes the lists of what is there.
    pub(crate) fn prepare(ground: &Ground, plan: &Plan) -> Result<Self> {
        let folder = ground.scratch.join("internet");
        std::fs::create_dir_all(&folder)?;
        let [port, tls_port, dns_port] = free_ports()?;
        let options = [
            ("--profile", plan.profile.to_owned()),
            ("--hosts", plan.hosts.to_string()),
            ("--pages", plan.pages.to_string()),
            ("--seed", plan.seed.to_string()),
            ("--latency", plan.latency.to_string()),
            ("--port", port.to_string()),
            ("--tls-port", tls_port.to_string()),
            ("--dns-port", dns_port.to_string()),
        ];
        let dials = [
            ("--delay", plan.delay),
            ("--secure", plan.secure.map(u64::from)),
        ];
        let dials = dials
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.to_string())));
        let words: Vec<String> = options
            .into_iter()
            .chain(dials)
            .flat_map(|(name, value)| [name.to_owned(), value])
            .collect();
        let program = ground.program("internet");
        let target = folder.display().to_string();
        let mut prepare = vec!["prepare", "--folder", &target];
        prepare.extend(words.iter().map(String::as_str));
        let told = said(&program, &prepare).context("internet prepare")?;
        let told: Value = serde_json::from_str(&told).context("internet prepare failed")?;
        Ok(Self {
            program,
            words,
            promises: plan.promises.clone(),
            folder,
            dns: format!("127.0.0.1:{dns_port}"),
            shared_address: told["shared_address"].as_str().map(str::to_owned),
            expected: told["expected"].as_u64().context("expected")?,
        })
    }

    /// Every URL that is fetched in the end, one per line.
    pub(crate) fn list(&self) -> PathBuf {
        self.folder.join("list")
    }

    /// A root on every host, one per line.
    pub(crate) fn origins(&self) -> PathBuf {
        self.folder.join("origins")
    }

    /// Requests that each host gets, as lines `HOST NUMBER`.
    pub(crate) fn turns(&self) -> PathBuf {
        self.folder.join("turns")
    }

    /// The certificate of its authority.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    /// Where names are asked for.
    pub(crate) fn dns(&self) -> &str {
        &self.dns
    }

    /// Serves it, until it is judged; what the crawl records is compared if it is there then.
    pub(crate) fn serve(&self, urls: &Path) -> Result<Served> {
        let mut command = Command::new(&self.program);
        command.arg("serve").args(&self.words).args(&self.promises);
        command.arg("--authority").arg(self.authority());
        command.arg("--urls").arg(urls);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("internet serve")?;
        let stdout = child.stdout.take().context("the pipe is there")?;
        let mut served = Served {
            child,
            lines: BufReader::new(stdout),
        };
        // The first word is that it is ready.
        served.line()?;
        Ok(served)
    }

    /// A few roots from which all can be reached, one per line.
    pub(crate) fn roots(&self) -> PathBuf {
        self.folder.join("roots")
    }
}

/// An internet that answers.
pub(crate) struct Served {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Served {
    fn line(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the internet ended without a word");
        Ok(serde_json::from_str(&line)?)
    }

    /// Seconds of processor time so far.
    pub(crate) fn processor_seconds(&self) -> Result<f64> {
        processor_seconds(self.child.id())
    }

    /// Ends it and hears what it has seen.
    pub(crate) fn judge(mut self) -> Result<Judgement> {
        drop(self.child.stdin.take());
        let told = self.line()?;
        let comparison = &told["comparison"];
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let examples = [&told["examples"], &comparison["examples"]];
        let examples = examples.into_iter().filter_map(Value::as_array).flatten();
        Ok(Judgement {
            requests: number(&told["requests"]),
            violations: number(&told["violations"]),
            records: comparison
                .is_object()
                .then(|| (number(&comparison["right"]), number(&comparison["extra"]))),
            examples: examples
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect(),
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
