//! A fleet of real processes on a real database, killed again and again: nothing is lost, nothing
//! counts twice, no host is asked too often, and what is merged is an ordinary crawl.
//!
//! `CLEWLINE_FLEET_HOSTS`, `CLEWLINE_FLEET_WORKERS`, `CLEWLINE_FLEET_KILLS`,
//! `CLEWLINE_FLEET_DATABASE_KILLS` and `CLEWLINE_FLEET_SECONDS` (between two kills) make it larger;
//! `cargo xtask fleet` does so, and reads the figures where `CLEWLINE_REPORT` says.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

mod scaling;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use clewline_core::fleet::JobPhase;
use clewline_job::log::{records, urls};
use clewline_job::record::{OutcomeKind, Record};
use clewline_postgres::{FleetServer, FleetStatus};
use fieldwork::postgres::Server;
use mutate::Dice;
use terrarium::{
    Comparison, Internet, InternetConfig, Limit, LiveInternet, OracleRules, Profile, RefereeRules,
    Seen,
};

/// The time between two requests to a host.
const DELAY: Duration = Duration::from_millis(200);
/// Only a hang takes longer.
const PATIENCE: Duration = Duration::from_mins(4);
const GLANCE: Duration = Duration::from_millis(50);

/// A figure that can be asked for from outside.
fn figure(name: &str, usual: u64) -> u64 {
    let asked = std::env::var(format!("CLEWLINE_FLEET_{name}"));
    asked.map_or(usual, |text| text.parse().unwrap())
}

/// Keeps the figures of a run for whoever asked for it.
fn report(figures: &serde_json::Value) {
    println!("{figures}");
    if let Some(path) = std::env::var_os("CLEWLINE_REPORT") {
        std::fs::write(path, figures.to_string()).unwrap();
    }
}

/// A fleet at work.
struct Fleet {
    internet: LiveInternet,
    place: tempfile::TempDir,
    database: Server,
    job: &'static str,
    extra: Vec<String>,
    started: usize,
}

impl Fleet {
    fn new(job: &'static str, hosts: u32, pages: u32, extra: &[&str]) -> Option<Self> {
        let config = InternetConfig {
            profile: Profile::Micro,
            hosts,
            seed: 5,
            pages: Some(pages),
            body: 0.05,
            ..InternetConfig::default()
        };
        let delay = format!("{}ms", DELAY.as_millis());
        let usual = ["--delay", &delay, "--lease", "2s"];
        Self::on(Server::start()?, config, job, &[&usual[..], extra].concat())
    }

    /// A fleet on this database, for a web like this.
    fn on(
        database: Server,
        config: InternetConfig,
        job: &'static str,
        extra: &[&str],
    ) -> Option<Self> {
        Some(Self {
            internet: Internet::new(config).start(),
            place: tempfile::tempdir().unwrap(),
            database,
            job,
            extra: extra.iter().map(|text| (*text).to_owned()).collect(),
            started: 0,
        })
    }

    fn folder(&self, number: usize) -> PathBuf {
        self.place.path().join(format!("machine{number}"))
    }

    /// The first worker of all makes the job, with the same command as those that come at the same
    /// moment; later ones join.
    fn worker(&mut self, does: Start) -> Child {
        let authority = self.place.path().join("authority.pem");
        std::fs::write(&authority, self.internet.ca_pem()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_clewline"));
        match does {
            Start::Job => {
                command.args(self.internet.roots());
                command.args(["--scope", "any", "--contact", "tests@site0.test"]);
                command.args(["--dns", &self.internet.dns_addr().to_string()]);
                command.args(["--allow-private", "127.0.0.0/8", "--cacert"]);
                command.arg(&authority);
                command.args(["--retry-delay", "5ms", "--robots-retry", "500ms"]);
                command.args(["--fleet", &self.database.url(), "--job", self.job]);
                command.args(&self.extra);
            }
            Start::Join => {
                command.args(["fleet", "join", &self.database.url(), "--job", self.job]);
            }
        }
        self.started += 1;
        let folder = self.folder(self.started % 8);
        command.arg("--quiet").arg("--output").arg(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped()).spawn().unwrap()
    }

    fn status(&self) -> Option<FleetStatus> {
        let mut server = FleetServer::connect(&self.database.url()).ok()?;
        server.status(self.job).ok()
    }

    /// Waits until something is so of the job.
    fn until(&self, what: &str, is_so: impl Fn(&FleetStatus) -> bool) -> FleetStatus {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if let Some(status) = status.as_ref().filter(|status| is_so(status)) {
                return status.clone();
            }
            let since = begun.elapsed();
            assert!(since < PATIENCE, "never {what}: {status:?}");
            std::thread::sleep(GLANCE);
        }
    }

    fn clewline(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clewline"));
        command.current_dir(self.place.path());
        command
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Merges all that was written and holds it against the oracle.
    fn merged(&self) -> Vec<Record> {
        let folders = (0..8).map(|number| self.folder(number));
        let folders = folders.filter(|folder| folder.exists());
        let folders: Vec<String> = folders.map(|path| path.display().to_string()).collect();
        let url = self.database.url();
        let mut arguments = vec!["fleet", "merge", &url, "--job", self.job];
        arguments.extend(["-o", "merged.crawl"]);
        arguments.extend(folders.iter().map(String::as_str));
        let output = self.clewline(&arguments);
        assert!(output.status.success(), "{}", told(&output));
        let urls = self.place.path().join("merged.crawl").join(urls::FILE);
        records(&urls)
            .unwrap()
            .map(|record| record.unwrap())
            .collect()
    }

    /// Hosts, domains and addresses were asked as the rules allow; answers how often a page was
    /// fetched whole again.
    fn judge(&self) -> u64 {
        let group = Limit {
            // The rule is 20; on a busy machine requests arrive closer together than they left.
            rate: Some(30),
            in_flight: Some(8),
            ..Limit::default()
        };
        let rules = RefereeRules {
            host: Limit {
                gap: Some(DELAY),
                in_flight: Some(1),
                ..Limit::default()
            },
            domain: group,
            address: group,
            // What was in the hands of a worker that was killed is fetched again.
            repeats: false,
            tolerance: Duration::from_millis(50),
            ..RefereeRules::default()
        };
        let findings = self.internet.referee(&rules);
        assert_eq!(findings.violation_count, 0, "{findings}");
        let repeats = true;
        let with_repeats = self.internet.referee(&RefereeRules { repeats, ..rules });
        with_repeats.violation_count
    }
}

#[derive(Clone, Copy)]
enum Start {
    Job,
    Join,
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn end(worker: Child) {
    let output = worker.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
}

fn seen(records: &[Record]) -> Vec<Seen> {
    let word = |record: &Record| match record.outcome {
        OutcomeKind::Fetched => "fetched",
        OutcomeKind::Redirected => "redirected",
        OutcomeKind::Skipped => "skipped",
        OutcomeKind::Failed => "failed",
        OutcomeKind::Unmodified => "unmodified",
    };
    let all = records.iter();
    all.map(|record| Seen {
        outcome: word(record).to_owned(),
        status: record.status,
        reason: record.reason.map(|reason| reason.name().to_owned()),
        url: record.url.to_string(),
    })
    .collect()
}

/// Every eighth kill is of a worker that was frozen for longer than its lease.
fn freeze(worker: &Child) {
    let process = rustix::process::Pid::from_child(worker);
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
}

fn wake(worker: &Child) {
    let process = rustix::process::Pid::from_child(worker);
    rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
}

#[test]
fn workers_and_the_database_are_killed_and_nothing_is_lost() {
    let hosts = figure("HOSTS", 50) as u32;
    let workers = figure("WORKERS", 4) as usize;
    let kills = figure("KILLS", 10);
    let database_kills = figure("DATABASE_KILLS", 1);
    let pages = figure("PAGES", 40) as u32;
    let pause = Duration::from_secs(figure("SECONDS", 0));
    let shards = (4 * workers).next_power_of_two();
    let extra = ["--shards", &shards.to_string()];
    let Some(mut fleet) = Fleet::new("torture", hosts, pages, &extra) else {
        return;
    };
    let begun = Instant::now();
    let mut dice = Dice(11);
    // Two at the same instant, by the same command.
    let mut running = vec![fleet.worker(Start::Job), fleet.worker(Start::Job)];
    fleet.until("a job", |status| status.totals.pages > 0);
    while running.len() < workers {
        running.push(fleet.worker(Start::Join));
    }
    let whole = u64::from(hosts * pages);
    for kill in 1..=kills {
        let enough = whole * kill / (kills + 2);
        fleet.until("further", |status| {
            let is_time = if pause.is_zero() {
                status.totals.pages > enough
            } else {
                begun.elapsed() >= pause * kill as u32
            };
            is_time || status.phase == JobPhase::Done
        });
        let at = dice.below(running.len());
        if kill == 3 {
            freeze(&running[at]);
            let owned = |status: &FleetStatus| {
                status.shards.free > 0 || status.shards.owned == shards as u64
            };
            fleet.until("taken over", owned);
            wake(&running[at]);
        }
        let mut killed = running.swap_remove(at);
        killed.kill().unwrap();
        killed.wait().unwrap();
        running.push(fleet.worker(Start::Join));
        if kill % (kills / (database_kills + 1)).max(1) == 0 && kill < kills {
            fleet.database.kill();
            fleet.database.restart();
        }
    }
    running.into_iter().for_each(end);
    let seconds = begun.elapsed().as_secs();
    let status = fleet.status().unwrap();
    assert_eq!(status.phase, JobPhase::Done);
    assert_eq!(status.totals.admitted, status.totals.settled);
    assert_eq!(status.totals.mail, 0);
    let records = fleet.merged();
    assert_eq!(records.len() as u64, status.totals.settled);
    let oracle = fleet.internet.oracle(&OracleRules::default());
    let comparison = Comparison::new(&oracle, seen(&records));
    assert!(comparison.is_perfect(), "{comparison}");
    let refetched = fleet.judge();
    report(&serde_json::json!({
        "workers": workers, "hosts": hosts, "pages": status.totals.pages, "kills": kills,
        "database_kills": database_kills, "lost": 0, "twice": 0, "violations": 0,
        "refetched": refetched, "seconds": seconds, "pause": pause.as_secs(),
    }));
    is_an_ordinary_crawl(&fleet, &records);
}

/// What is merged can be asked as any other crawl.
fn is_an_ordinary_crawl(fleet: &Fleet, records: &[Record]) {
    let page = records
        .iter()
        .find(|record| record.outcome == OutcomeKind::Fetched)
        .unwrap();
    let url = page.url.to_string();
    for arguments in [
        &["status", "merged.crawl"][..],
        &["why", "merged.crawl", &url],
        &["export", "merged.crawl", "--to", "jsonl", "-o", "pages"],
        &["warc", "verify", "merged.crawl"],
    ] {
        let output = fleet.clewline(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", told(&output));
    }
}

#[test]
fn a_budget_of_pages_is_exact_and_ctl_reaches_the_fleet() {
    let Some(mut fleet) = Fleet::new("budget", 30, 10, &["--max-pages", "120"]) else {
        return;
    };
    let url = fleet.database.url();
    let ctl = |fleet: &Fleet, words: &[&str]| {
        let mut arguments = vec!["ctl", &url];
        arguments.extend(words);
        arguments.extend(["--job", "budget"]);
        let output = fleet.clewline(&arguments);
        assert!(output.status.success(), "{}", told(&output));
    };
    let mut running = vec![fleet.worker(Start::Job)];
    fleet.until("a page", |status| status.totals.pages > 0);
    ctl(&fleet, &["pause"]);
    running.push(fleet.worker(Start::Join));
    fleet.until("paused with two", |status| {
        status.paused && status.members.len() == 2
    });
    ctl(&fleet, &["continue"]);
    running.into_iter().for_each(end);
    let pages = |records: &[Record]| {
        let pages = records
            .iter()
            .filter(|record| record.outcome == OutcomeKind::Fetched && record.kind.is_page());
        pages.count()
    };
    assert_eq!(pages(&fleet.merged()), 120);
    assert_eq!(fleet.status().unwrap().totals.pages, 120);
    fleet.judge();
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let Some(database) = Server::start() else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let url = database.url();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clewline"));
        command.current_dir(place.path()).args(arguments);
        let output = command.stdin(Stdio::null()).output().unwrap();
        (output.status.code(), told(&output))
    };
    let with = |arguments: &[&'static str]| {
        let mut all = vec!["--fleet", &*url, "--job", "news"];
        all.extend(arguments);
        run(&all)
    };
    for (arguments, code, words) in [
        (
            &["localhost:1", "--depth", "2"][..],
            2,
            "cannot be used with --fleet",
        ),
        (&["localhost:1", "--lease", "soon"], 2, "--lease"),
    ] {
        let (status, told) = with(arguments);
        assert_eq!(status, Some(code), "{told}");
        assert!(told.contains(words), "{told}");
    }
    let (status, told) = run(&["fleet", "join", &url, "--job", "none"]);
    assert_eq!(status, Some(2), "{told}");
    assert!(told.contains("there is no job `none`"), "{told}");
    let secret = url.replacen("postgres://", "postgres://me:secret@", 1);
    let (_, told) = run(&["fleet", "list", &secret]);
    assert!(
        told.contains("PGPASSWORD") && !told.contains("secret"),
        "{told}"
    );
    let (status, _) = run(&["fleet", "list", &url]);
    assert_eq!(status, Some(0));
    let (status, told) = run(&["fleet", "merge", "nowhere", "-o", "merged"]);
    assert_eq!(status, Some(3), "{told}");
    assert!(!Path::new("merged").exists());
}
