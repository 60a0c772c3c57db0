//! A whole fleet in one process: members on threads, a bus in memory, a synthetic internet with an
//! oracle and a referee.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bus;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline::{Crawl, Running};
use clewline_core::address::Cidr;
use clewline_core::fleet::{Bus as _, FleetJob, FleetPlace, KnownView, Shards};
use clewline_job::config::{Config, Reach, Root};
use clewline_job::log::{records, urls};
use clewline_job::record::Record;
use terrarium::{Internet, InternetConfig, LiveInternet, Profile};

use bus::MemoryBus;

/// All times of leases follow from it.
const EXPIRY: Duration = Duration::from_secs(2);

fn job(pages: Option<u64>) -> FleetJob {
    FleetJob {
        name: "test".into(),
        format: 1,
        spec: "{}".into(),
        seed: 7,
        bits: 4,
        expiry: EXPIRY,
        pages,
    }
}

fn config(internet: &LiveInternet, folder: &Path) -> Config {
    let authority = folder.join("authority.pem");
    std::fs::write(&authority, internet.ca_pem()).unwrap();
    let mut config = Config::default();
    let roots = internet.roots();
    config.roots = roots
        .iter()
        .map(|root| Root::parse(root).unwrap())
        .collect();
    config.scope.reach = Reach::Any;
    config.fetch.contact = Some("tests@site0.test".to_owned());
    config.fetch.dns = Some(internet.dns_addr());
    config.fetch.allow_private = vec!["127.0.0.0/8".parse::<Cidr>().unwrap()];
    config.fetch.cacert = Some(authority);
    config.fetch.connect_timeout = Duration::from_secs(3);
    config.fetch.timeout = Duration::from_secs(4);
    config.politeness.retry_delay = Some(Duration::from_millis(5));
    config.politeness.robots_retry = Some(Duration::from_millis(500));
    let shared = internet.shared_address().map(IpAddr::V4);
    let shared = shared.map(|address| address.to_string().parse::<Cidr>().unwrap());
    config.politeness.shared_addresses.extend(shared);
    config
}

fn start(config: &Config, folder: &Path, job: &FleetJob, bus: &MemoryBus) -> Running {
    let mut config = config.clone();
    config.output.folder = Some(folder.to_owned());
    let place = FleetPlace {
        job: job.clone(),
        bus: Box::new(bus.clone()),
        clock: clock(bus),
        upload: None,
    };
    Crawl::from_config(config).fleet(place).run().unwrap()
}

/// The time of the bus. Some of its answers get lost, so it is asked until one comes.
fn clock(bus: &MemoryBus) -> u64 {
    let mut asker = bus.clone();
    let mut answers = std::iter::repeat_with(|| asker.view(KnownView::default()));
    answers.find_map(Result::ok).unwrap().clock
}

fn end(running: Running) {
    let summary = running.wait().unwrap();
    assert!(summary.error.is_none(), "{:?}", summary.error);
}

/// The records that count, by URL.
fn counted(folders: &[&Path], job: &FleetJob, bus: &MemoryBus) -> BTreeMap<String, Record> {
    let (cut, tenures) = (Shards::new(job.bits), bus.all_tenures());
    let mut found = BTreeMap::new();
    for folder in folders {
        for worker in std::fs::read_dir(folder.join("workers")).unwrap() {
            let folder = worker.unwrap().path();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let worker = u64::from_str_radix(&name, 16).unwrap();
            let batches = std::fs::read_to_string(folder.join("batches.jsonl")).unwrap();
            let ends: Vec<(u64, u64)> = batches
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .map(|line: serde_json::Value| {
                    let number = |name: &str| line[name].as_u64().unwrap();
                    (number("batch"), number("urls"))
                })
                .collect();
            let mut offset = 0;
            let text = std::fs::read_to_string(folder.join(urls::FILE)).unwrap();
            let lines = text.lines().zip(records(&folder.join(urls::FILE)).unwrap());
            for (line, record) in lines {
                offset += line.len() as u64 + 1;
                let record = record.unwrap();
                let Some((batch, _)) = ends.iter().find(|(_, end)| offset <= *end) else {
                    continue;
                };
                let shard = cut.of(record.key.host());
                let counts = tenures.iter().any(|tenure| {
                    let span = tenure.batches;
                    (tenure.shard, tenure.worker) == (shard, worker)
                        && span.is_some_and(|(first, last)| (first..=last).contains(batch))
                });
                if counts {
                    let url = record.url.to_string();
                    assert!(found.insert(url.clone(), record).is_none(), "{url} twice");
                }
            }
        }
    }
    found
}

/// What a crawl without a fleet finds.
fn alone(config: &Config, folder: &Path) -> BTreeMap<String, Record> {
    let mut config = config.clone();
    config.output.folder = Some(folder.to_owned());
    let running = Crawl::from_config(config).run().unwrap();
    end(running);
    let lines = records(&folder.join(urls::FILE)).unwrap();
    let lines = lines.map(|record| record.unwrap());
    lines
        .map(|record| (record.url.to_string(), record))
        .collect()
}

type Verdict = (String, Option<u16>, Option<String>);

fn verdicts(records: &BTreeMap<String, Record>) -> BTreeMap<String, Verdict> {
    let verdict = |record: &Record| {
        let outcome = format!("{:?} {:?}", record.outcome, record.reason);
        (outcome, record.status, record.digest.clone())
    };
    let all = records.iter();
    all.map(|(url, record)| (url.clone(), verdict(record)))
        .collect()
}

fn differences<T: PartialEq + std::fmt::Debug>(
    one: &BTreeMap<String, T>,
    other: &BTreeMap<String, T>,
) -> Vec<String> {
    let urls: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let urls = urls
        .into_iter()
        .filter(|url| one.get(*url) != other.get(*url));
    urls.map(|url| format!("{url}: {:?} / {:?}", one.get(url), other.get(url)))
        .collect()
}

fn internet(seed: u64) -> LiveInternet {
    Internet::new(InternetConfig {
        profile: Profile::Micro,
        hosts: 40,
        seed,
        pages: Some(12),
        ..InternetConfig::default()
    })
    .start()
}

#[test]
fn one_member_finds_what_a_crawl_without_a_fleet_finds() {
    let internet = internet(1);
    let folder = tempfile::tempdir().unwrap();
    let config = config(&internet, folder.path());
    let job = job(None);
    let bus = MemoryBus::new(job.clone());
    let fleet = folder.path().join("fleet");
    end(start(&config, &fleet, &job, &bus));
    let counted = verdicts(&counted(&[&fleet], &job, &bus));
    let expected = verdicts(&alone(&config, &folder.path().join("alone.crawl")));
    assert_eq!(differences(&expected, &counted), Vec::<String>::new());
    assert!(counted.len() > 20, "{}", counted.len());
}

/// Waits until something is so; the crawl goes on meanwhile.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(2), "never {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn members_that_come_and_go_lose_nothing_and_count_nothing_twice() {
    let internet = internet(2);
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&internet, folder.path());
    // Slow enough for members to come and go while it runs.
    config.politeness.rate = Some(20.0);
    let expected = verdicts(&alone(&config, &folder.path().join("alone.crawl")));
    let job = job(None);
    let bus = MemoryBus::new(job.clone());
    bus.lose_answers(17);
    let at = |name: &str| folder.path().join(name);
    let first = start(&config, &at("a"), &job, &bus);
    until("a page", || bus.totals().pages > 5);
    let second = start(&config, &at("b"), &job, &bus);
    until("two owners", || bus.owners().len() == 2);
    first.control().stop(Duration::from_secs(1));
    end(first);
    let third = start(&config, &at("c"), &job, &bus);
    until("half of it", || bus.totals().pages > 150);
    bus.go_away(EXPIRY * 2);
    let folders = [at("a"), at("b"), at("c")];
    end(second);
    end(third);
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let counted = verdicts(&counted(&folders, &job, &bus));
    assert_eq!(differences(&expected, &counted), Vec::<String>::new());
    let totals = bus.totals();
    assert_eq!(totals.admitted, totals.settled);
    assert_eq!(totals.settled, counted.len() as u64);
    assert_eq!(totals.mail, 0);
}

#[test]
fn a_budget_of_pages_is_reached_exactly_by_all_members_together() {
    let internet = internet(3);
    let folder = tempfile::tempdir().unwrap();
    let config = config(&internet, folder.path());
    let job = job(Some(77));
    let bus = MemoryBus::new(job.clone());
    let folders = ["a", "b", "c"].map(|name| folder.path().join(name));
    let members = folders.each_ref().map(|at| start(&config, at, &job, &bus));
    for member in members {
        end(member);
    }
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let counted = counted(&folders, &job, &bus);
    let pages = counted.values().filter(|record| {
        record.outcome == clewline_job::record::OutcomeKind::Fetched && record.kind.is_page()
    });
    assert_eq!((pages.count(), bus.totals().pages), (77, 77));
}

#[test]
fn what_is_ordered_reaches_every_member() {
    let internet = internet(4);
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&internet, folder.path());
    config.politeness.rate = Some(1.0);
    let job = job(None);
    let bus = MemoryBus::new(job.clone());
    let folders = ["a", "b"].map(|name| folder.path().join(name));
    let members = folders.each_ref().map(|at| start(&config, at, &job, &bus));
    until("a page", || bus.totals().pages > 0);
    bus.pause(true);
    let is_paused = |member: &Running| {
        let status = member.control().status().unwrap();
        status.state == clewline_job::status::State::Paused
    };
    until("paused", || members.iter().all(is_paused));
    let faster = r#"{"change":{"rate":500.0}}"#;
    bus.clone().order(faster).unwrap();
    bus.pause(false);
    let rate = |member: &Running| member.control().status().unwrap().figures.rate;
    until("faster", || {
        members.iter().all(|one| rate(one) == Some(500.0))
    });
    for member in members {
        end(member);
    }
    assert_eq!(bus.totals().settled, bus.totals().admitted);
}
