//! A fleet of real processes on a real database, killed again and again: nothing is lost, nothing
//! counts twice, no host is asked too often, and what is merged is an ordinary crawl.
//!
//! `CLEWLINE_FLEET_HOSTS`, `CLEWLINE_FLEET_WORKERS`, `CLEWLINE_FLEET_KILLS`,
//! `CLEWLINE_FLEET_DATABASE_KILLS`, `CLEWLINE_FLEET_SECONDS` (between two kills) and
//! `CLEWLINE_FLEET_DELAY` (milliseconds between two requests to a host) make it larger and longer;
//! `cargo xtask fleet` does so, and reads the figures where `CLEWLINE_REPORT` says.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

mod deaths;
mod formats;
mod machines;
mod outages;
mod requeue;
mod scaling;
mod served;
mod uploads;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use clewline_core::fleet::JobPhase;
use clewline_job::log::{records, urls};
use clewline_job::record::{OutcomeKind, Record};
use clewline_postgres::{FleetServer, FleetStatus};
use fieldwork::postgres::Server;
use mutate::Dice;
use rustix::process::{Pid, Signal, kill_process};
use terrarium::{
    Comparison, Internet, InternetConfig, Limit, LiveInternet, OracleRules, Profile, RefereeRules,
    Seen,
};

/// The time between two requests to a host.
fn delay() -> Duration {
    Duration::from_millis(figure("DELAY", 200))
}

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
    eprintln!("{figures}");
    if let Some(path) = std::env::var_os("CLEWLINE_REPORT") {
        std::fs::write(path, figures.to_string()).unwrap();
    }
}

/// A fleet at work.
struct Fleet {
    internet: LiveInternet,
    place: tempfile::TempDir,
    database: Server,
    /// Where workers look for the database, if not at its socket.
    address: Option<String>,
    /// What workers find in their environment.
    environment: Vec<(&'static str, String)>,
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
        let delay = format!("{}ms", delay().as_millis());
        // A short lease makes takeovers quick; a test without any may ask for a longer one.
        let lease = if extra.contains(&"--lease") {
            &[][..]
        } else {
            &["--lease", "2s"]
        };
        let usual = [&["--delay", &delay][..], lease].concat();
        let database = Server::start()?;
        let extra = [&usual[..], extra].concat();
        Some(Self::on(database, config, job, &extra))
    }

    /// A fleet on this database, for a web like this.
    fn on(database: Server, config: InternetConfig, job: &'static str, extra: &[&str]) -> Self {
        Self {
            internet: Internet::new(config).start(),
            place: tempfile::tempdir().unwrap(),
            database,
            address: None,
            environment: Vec::new(),
            job,
            extra: extra.iter().map(|text| (*text).to_owned()).collect(),
            started: 0,
        }
    }

    fn folder(&self, number: usize) -> PathBuf {
        self.place.path().join(format!("machine{number}"))
    }

    /// The folder of the worker that was started last.
    fn last_folder(&self) -> PathBuf {
        self.folder(self.started % 8)
    }

    fn url(&self) -> String {
        let address = self.address.clone();
        address.unwrap_or_else(|| self.database.url())
    }

    /// The first worker of all makes the job, with the same command as those that come at the same
    /// moment; later ones join.
    fn worker(&mut self, does: Start) -> Child {
        let mut command = self.command(does);
        command.arg("--quiet").spawn().unwrap()
    }

    /// A worker that is not started yet.
    fn command(&mut self, does: Start) -> Command {
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
                command.args(["--fleet", &self.url(), "--job", self.job]);
                command.args(&self.extra);
            }
            Start::Join => {
                command.args(["fleet", "join", &self.url(), "--job", self.job]);
            }
        }
        self.started += 1;
        command.arg("--output").arg(self.last_folder());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped());
        command
    }

    fn status(&self) -> Option<FleetStatus> {
        let mut server = FleetServer::connect(&self.url()).ok()?;
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
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn ctl(&self, words: &[&str]) {
        let url = self.url();
        let mut arguments = vec!["ctl", &url];
        arguments.extend(words);
        arguments.extend(["--job", self.job]);
        let output = self.clewline(&arguments);
        assert!(output.status.success(), "{}", told(&output));
    }

    /// Two workers of which each has shards before anything is asked.
    fn two_workers(&mut self) -> [Child; 2] {
        let mut both = [Start::Job, Start::Join].map(|does| self.command(does));
        for command in &mut both {
            command.arg("--quiet");
        }
        self.two_of(both)
    }

    /// The same of commands that somebody changed.
    fn two_of(&self, [mut first, mut second]: [Command; 2]) -> [Child; 2] {
        let first = first.spawn().unwrap();
        self.until("a job", |_| true);
        self.ctl(&["pause"]);
        let second = second.spawn().unwrap();
        self.until("two with shards", |_| {
            let owners = "select count(distinct worker) from clewline.shard";
            self.database.sql(owners) == "2"
        });
        self.ctl(&["continue"]);
        [first, second]
    }

    /// Merges into a folder by the command, with more flags.
    fn merge_into(&self, output: &str, flags: &[&str]) -> Output {
        let folders = (0..8).map(|number| self.folder(number));
        let folders = folders.filter(|folder| folder.exists());
        let folders: Vec<String> = folders.map(|path| path.display().to_string()).collect();
        let url = self.url();
        let mut arguments = vec!["fleet", "merge", &url, "--job", self.job, "-o", output];
        arguments.extend(flags);
        arguments.extend(folders.iter().map(String::as_str));
        self.clewline(&arguments)
    }

    fn records_in(&self, output: &str) -> Vec<Record> {
        let urls = self.place.path().join(output).join(urls::FILE);
        records(&urls).unwrap().map(Result::unwrap).collect()
    }

    /// Merges all that was written.
    fn merged(&self) -> Vec<Record> {
        let output = self.merge_into("merged.crawl", &[]);
        assert!(output.status.success(), "{}", told(&output));
        self.records_in("merged.crawl")
    }

    /// Holds records against the oracle: all of them, each once.
    fn check_whole(&self, records: &[Record]) -> Comparison {
        let urls: HashSet<String> = records.iter().map(|one| one.url.to_string()).collect();
        assert_eq!(urls.len(), records.len(), "none twice");
        let oracle = self.internet.oracle(&OracleRules::default());
        let comparison = Comparison::new(&oracle, seen(records));
        assert!(comparison.is_perfect(), "{comparison}");
        comparison
    }

    /// Hosts, domains and addresses were asked as the rules allow; answers what the referee found
    /// against them (nothing), and how often a page was fetched whole again.
    fn judge(&self) -> (u64, u64) {
        let group = Limit {
            // The rule is 20 a second. When a machine stalls for a quarter of a second, what left
            // during that time arrives at once.
            rate: Some(20 + 20 / 4),
            in_flight: Some(8),
            ..Limit::default()
        };
        let rules = RefereeRules {
            host: Limit {
                gap: Some(delay()),
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
        let violations = findings.violation_count;
        (violations, with_repeats.violation_count - violations)
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

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Pages among records, as a budget counts them.
fn pages(records: &[Record]) -> u64 {
    let pages = records
        .iter()
        .filter(|record| record.outcome == OutcomeKind::Fetched && record.kind.is_page());
    pages.count() as u64
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

fn signal(worker: &Child, signal: Signal) {
    kill_process(Pid::from_child(worker), signal).unwrap();
}

/// How much is crawled, and how often what is killed.
struct Torture {
    workers: usize,
    hosts: u32,
    pages: u32,
    shards: u64,
    kills: u64,
    database_kills: u64,
    /// Between two kills; zero: by progress.
    pause: Duration,
}

impl Torture {
    fn from_environment() -> Self {
        let workers = figure("WORKERS", 4);
        Self {
            workers: workers as usize,
            hosts: figure("HOSTS", 50) as u32,
            pages: figure("PAGES", 40) as u32,
            shards: (4 * workers).next_power_of_two(),
            kills: figure("KILLS", 10),
            database_kills: figure("DATABASE_KILLS", 1),
            pause: Duration::from_secs(figure("SECONDS", 0)),
        }
    }

    /// Whether it is time for this kill.
    fn is_due(&self, kill: u64, since: Instant, status: &FleetStatus) -> bool {
        let whole = u64::from(self.hosts * self.pages);
        let is_time = if self.pause.is_zero() {
            status.totals.pages > whole * kill / (self.kills + 2)
        } else {
            since.elapsed() >= self.pause * kill as u32
        };
        is_time || status.phase == JobPhase::Done
    }

    /// Whether the database goes after this kill: evenly over all of them, never after the last.
    fn takes_database(&self, kill: u64) -> bool {
        let step = self.kills / (self.database_kills + 1);
        step > 0 && kill.is_multiple_of(step) && kill / step <= self.database_kills
    }

    /// Kills and replaces workers, and the database now and then. Answers the workers that are left,
    /// and how many of each were killed while the job ran.
    fn run(&self, fleet: &mut Fleet) -> (Vec<Child>, [u64; 2]) {
        let begun = Instant::now();
        let mut dice = Dice(11);
        // Two at the same instant, by the same command.
        let mut running = vec![fleet.worker(Start::Job), fleet.worker(Start::Job)];
        fleet.until("a job", |status| status.totals.pages > 0);
        while running.len() < self.workers {
            running.push(fleet.worker(Start::Join));
        }
        let mut killed = [0; 2];
        for kill in 1..=self.kills {
            let status = fleet.until("further", |status| self.is_due(kill, begun, status));
            if status.phase == JobPhase::Done {
                break;
            }
            let at = dice.below(running.len());
            if kill == 3 {
                self.freeze_past_lease(fleet, &running[at]);
            }
            let mut worker = running.swap_remove(at);
            worker.kill().unwrap();
            worker.wait().unwrap();
            killed[0] += 1;
            running.push(fleet.worker(Start::Join));
            if self.takes_database(kill) {
                fleet.database.kill();
                fleet.database.restart();
                killed[1] += 1;
            }
        }
        (running, killed)
    }

    /// Freezes a worker until others have its shards.
    fn freeze_past_lease(&self, fleet: &Fleet, worker: &Child) {
        signal(worker, Signal::STOP);
        fleet.until("taken over", |status| {
            status.shards.free > 0 || status.shards.owned == self.shards
        });
        signal(worker, Signal::CONT);
    }
}

#[test]
fn workers_and_the_database_are_killed_and_nothing_is_lost() {
    let torture = Torture::from_environment();
    let extra = ["--shards", &torture.shards.to_string()];
    let Some(mut fleet) = Fleet::new("torture", torture.hosts, torture.pages, &extra) else {
        return;
    };
    let begun = Instant::now();
    let (running, [kills, database_kills]) = torture.run(&mut fleet);
    running.into_iter().for_each(end);
    let seconds = begun.elapsed().as_secs();
    let status = fleet.status().unwrap();
    assert_eq!(status.phase, JobPhase::Done);
    assert_eq!(status.totals.admitted, status.totals.settled);
    assert_eq!(status.totals.mail, 0);
    let records = fleet.merged();
    assert_eq!(records.len() as u64, status.totals.settled);
    let comparison = fleet.check_whole(&records);
    let (violations, refetched) = fleet.judge();
    assert!(kills > 0, "nothing was killed: the web is too small");
    report(&serde_json::json!({
        "workers": torture.workers, "hosts": torture.hosts, "pages": status.totals.pages,
        "kills": kills, "database_kills": database_kills,
        "lost": comparison.expected - comparison.met, "twice": 0, "violations": violations,
        "refetched": refetched, "seconds": seconds, "pause": torture.pause.as_secs(),
        "delay": delay().as_millis(),
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

const BUDGET: [&str; 4] = ["--max-pages", "120", "--shards", "16"];

#[test]
fn a_budget_of_pages_is_exact_and_ctl_reaches_the_fleet() {
    let Some(mut fleet) = Fleet::new("budget", 30, 10, &BUDGET) else {
        return;
    };
    let mut running = vec![fleet.worker(Start::Job)];
    fleet.until("a page", |status| status.totals.pages > 0);
    fleet.ctl(&["pause"]);
    running.push(fleet.worker(Start::Join));
    fleet.until("paused with two", |status| {
        status.paused && status.members.len() == 2
    });
    fleet.ctl(&["continue"]);
    running.into_iter().for_each(end);
    assert_eq!(pages(&fleet.merged()), 120);
    assert_eq!(fleet.status().unwrap().totals.pages, 120);
    // A larger budget opens the job again.
    fleet.ctl(&["max-pages", "150"]);
    end(fleet.worker(Start::Join));
    let more = fleet.merge_into("more.crawl", &[]);
    assert!(more.status.success(), "{}", told(&more));
    assert_eq!(pages(&fleet.records_in("more.crawl")), 150);
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
