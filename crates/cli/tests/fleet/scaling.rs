//! More workers, more pages: how throughput grows with a fleet, and what its database pays.
//!
//! Owns the measurement. Each worker may have 50 requests in flight and each answer comes after half
//! a second, so that one does about a hundred pages a second whatever the processor. Rates are only
//! reported (`cargo xtask fleet`), never asserted.

use std::time::{Duration, Instant};

use clewline_postgres::FleetStatus;
use fieldwork::postgres::Server;
use serde_json::{Value, json};
use terrarium::{InternetConfig, Profile};

use super::{Fleet, GLANCE, PATIENCE, Start, figure, report};

/// Requests in flight of one worker, and how long each answer waits.
const IN_FLIGHT: u64 = 50;
const WAIT: Duration = Duration::from_millis(500);
const SHARDS: u64 = 64;
/// So many hosts for each worker, each with an address of its own.
const HOSTS: u32 = 64;
/// Of each host; in all more than any measurement fetches.
const PAGES: u32 = 600;
/// Before the clock starts, each worker has fetched so many.
const WARM_UP: u64 = 300;

/// What is counted, at one moment.
struct Reading {
    at: Instant,
    pages: u64,
    rows: u64,
    mail: u64,
    commits: u64,
    commit_time: Duration,
    database: Duration,
    idle: (u64, u64),
}

impl Reading {
    /// Statements are asked outside of the time that is measured.
    fn begin(fleet: &Fleet) -> Self {
        let counts = Self::counts(fleet);
        Self {
            database: fleet.database.processor_time(),
            idle: idle(),
            at: Instant::now(),
            ..counts
        }
    }

    fn end(fleet: &Fleet) -> Self {
        let (at, idle) = (Instant::now(), idle());
        let database = fleet.database.processor_time();
        Self {
            at,
            database,
            idle,
            ..Self::counts(fleet)
        }
    }

    /// What the database counts: pages and rows of shards that were committed, rows of mail
    /// that were posted, commits and how long their statement took.
    fn counts(fleet: &Fleet) -> Self {
        let line = fleet.database.sql(
            "select coalesce(sum(pages), 0), coalesce(sum(head), 0), \
             (select n_tup_ins from pg_stat_user_tables where relname = 'mail'), \
             (select coalesce(sum(calls), 0) from pg_stat_statements where query like 'with part as%'), \
             (select coalesce(sum(total_exec_time) * 1000, 0)::bigint from pg_stat_statements \
              where query like 'with part as%') \
             from clewline.shard",
        );
        let mut numbers = line.split('|').map(|number| number.parse().unwrap());
        let [pages, rows, mail, commits, micros] = std::array::from_fn(|_| numbers.next().unwrap());
        Self {
            at: Instant::now(),
            pages,
            rows,
            mail,
            commits,
            commit_time: Duration::from_micros(micros),
            database: Duration::ZERO,
            idle: (0, 0),
        }
    }

    fn since(&self, begin: &Self, workers: u64) -> Value {
        let seconds = (self.at - begin.at).as_secs_f64();
        let all = (self.idle.1 - begin.idle.1).max(1) as f64;
        json!({
            "workers": workers,
            "seconds": seconds,
            "pages": self.pages - begin.pages,
            "rows": self.rows - begin.rows,
            "mail": self.mail - begin.mail,
            "commits": self.commits - begin.commits,
            "commit_us": micros(self.commit_time.saturating_sub(begin.commit_time)),
            "database_us": micros(self.database.saturating_sub(begin.database)),
            "busy": 1.0 - (self.idle.0 - begin.idle.0) as f64 / all,
        })
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

/// Processor time of this machine that nobody took, and all of it.
fn idle() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().next().unwrap();
    let numbers = line.split_whitespace().skip(1).take(8);
    let numbers: Vec<u64> = numbers.map(|text| text.parse().unwrap()).collect();
    (numbers[3] + numbers[4], numbers.iter().sum())
}

fn is_spread(status: &FleetStatus, workers: u64) -> bool {
    let live = status.members.iter().filter(|member| member.live);
    let shards: Vec<u64> = live.map(|member| member.shards).collect();
    let fair = SHARDS / workers..=SHARDS.div_ceil(workers);
    status.shards.owned == SHARDS
        && shards.len() as u64 == workers
        && shards.iter().all(|count| fair.contains(count))
}

/// Waits until so many more requests came, without a question to the database. Answers how many
/// were in flight at the most.
fn most_in_flight(fleet: &Fleet, requests: u64) -> u64 {
    let (begun, enough) = (Instant::now(), fleet.internet.pulse().requests + requests);
    let mut most = 0;
    loop {
        let pulse = fleet.internet.pulse();
        most = most.max(pulse.in_flight);
        if pulse.requests >= enough {
            return most;
        }
        assert!(begun.elapsed() < PATIENCE, "never {enough}: {pulse:?}");
        std::thread::sleep(GLANCE);
    }
}

/// Of the mail that nobody has read, how many rows were looked at and how many links they hold.
fn waiting_links(fleet: &Fleet) -> (usize, usize) {
    let rows = fleet
        .database
        .sql("select encode(body, 'hex') from clewline.mail limit 1000");
    let mail = rows.lines().filter(|line| !line.is_empty());
    let links: Vec<usize> = mail
        .map(|row| {
            let body = data_encoding::HEXLOWER.decode(row.as_bytes()).unwrap();
            clewline::measuring::links_in_mail(&body).unwrap()
        })
        .collect();
    (links.len(), links.iter().sum())
}

/// One measurement with so many workers; nothing where there is no database.
fn measured(workers: u64, pages: u64) -> Option<Value> {
    let hosts = HOSTS * workers as u32;
    let config = InternetConfig {
        profile: Profile::Micro,
        hosts,
        seed: 7,
        pages: Some(PAGES),
        addresses: Some(hosts),
        delay: Some(WAIT),
        body: 0.05,
        ..InternetConfig::default()
    };
    let (in_flight, shards) = (IN_FLIGHT.to_string(), SHARDS.to_string());
    let extra = ["--speed", "max", "--concurrency", &in_flight];
    let extra = [&extra[..], &["--shards", &shards, "--lease", "10s"]].concat();
    // As a database that matters would be run.
    let settings = [
        ("fsync", "on"),
        ("shared_preload_libraries", "pg_stat_statements"),
    ];
    let database = Server::configured(&settings, &[])?;
    database.sql("create extension pg_stat_statements");
    let mut fleet = Fleet::on(database, config, "scaling", &extra);
    let mut running = vec![fleet.worker(Start::Job)];
    fleet.until("a job", |status| status.totals.pages > 0);
    running.extend((1..workers).map(|_| fleet.worker(Start::Join)));
    let started = Instant::now();
    let spread = fleet.until("spread", |status| is_spread(status, workers));
    eprintln!(
        "{workers} workers had their shares after {:?}",
        started.elapsed()
    );
    let warm = spread.totals.pages + WARM_UP * workers;
    fleet.until("warm", |status| status.totals.pages > warm);
    let begin = Reading::begin(&fleet);
    let most = most_in_flight(&fleet, pages * workers);
    let mut figures = Reading::end(&fleet).since(&begin, workers);
    for mut worker in running {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    let (mail, links) = waiting_links(&fleet);
    figures["sampled_mail"] = mail.into();
    figures["sampled_links"] = links.into();
    assert!(most <= IN_FLIGHT * workers, "{most} in flight");
    assert!(figures["rows"].as_u64() > Some(0), "{figures}");
    eprintln!("{figures}");
    Some(figures)
}

/// `CLEWLINE_FLEET_MOST` workers at the most, twice as many each time.
#[test]
fn workers_share_the_work_and_none_asks_more_than_its_part() {
    let most = figure("MOST", 2);
    let pages = figure("MEASURED", 100);
    let first = figure("FIRST", 2);
    let steps = std::iter::successors(Some(first), |workers| Some(workers * 2));
    let steps = steps.take_while(|workers| *workers <= most);
    let Some(rows) = steps.map(|workers| measured(workers, pages)).collect() else {
        return;
    };
    report(&Value::Array(rows));
}
