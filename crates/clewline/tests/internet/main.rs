//! Clewline on a synthetic internet: every URL that the oracle foretells is met with the right
//! verdict, no other is, the referee has nothing to say, and the report adds up.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use clewline::{Crawl, Summary};
use clewline_core::address::Cidr;
use clewline_job::config::{Config, Reach, RenderUse, Root, Speed};
use clewline_job::log::{records, urls};
use clewline_job::record::OutcomeKind;
use clewline_render::{BrowserOptions, BrowserPool};
use terrarium::{
    Comparison, Internet, InternetConfig, Limit, LiveInternet, OracleRules, Profile, RefereeRules,
    Seen,
};

/// A crawl that knows where this internet lives; politeness is for each test to say.
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
    // A name server that says nothing, and a server that does not answer, cost this much once.
    config.fetch.connect_timeout = Duration::from_secs(3);
    config.fetch.timeout = Duration::from_secs(4);
    config.fetch.max_body = 256 << 10;
    config.politeness.retry_delay = Some(Duration::from_millis(5));
    config.politeness.robots_retry = Some(Duration::from_millis(5));
    config.output.folder = Some(folder.join("crawl"));
    config
}

fn crawl(config: Config) -> Summary {
    let summary = Crawl::from_config(config).run().unwrap().wait().unwrap();
    summary.report.check().unwrap();
    assert!(summary.error.is_none(), "{:?}", summary.error);
    summary
}

/// The lines of `urls.jsonl`, in the oracle's words.
fn seen(folder: &Path) -> Vec<Seen> {
    let lines = records(&folder.join("crawl").join(urls::FILE)).unwrap();
    let word = |record: &clewline_job::record::Record| match record.outcome {
        OutcomeKind::Fetched => "fetched",
        OutcomeKind::Redirected => "redirected",
        OutcomeKind::Skipped => "skipped",
        OutcomeKind::Failed => "failed",
        OutcomeKind::Unmodified => "unmodified",
    };
    lines
        .map(|record| record.unwrap())
        .map(|record| Seen {
            outcome: word(&record).to_owned(),
            status: record.status,
            reason: record.reason.map(|reason| reason.name().to_owned()),
            url: record.url.to_string(),
        })
        .collect()
}

/// Crawls an internet and holds the result against oracle and referee.
fn check(internet: InternetConfig, rules: &RefereeRules, tune: impl FnOnce(&mut Config)) {
    let what = format!("{} {}", internet.profile, internet.seed);
    let internet = Internet::new(internet).start();
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&internet, folder.path());
    let shared = internet.shared_address().map(IpAddr::V4);
    let shared = shared.map(|address| address.to_string().parse::<Cidr>().unwrap());
    config.politeness.shared_addresses.extend(shared);
    tune(&mut config);
    crawl(config);
    let oracle = internet.oracle(&OracleRules::default());
    let comparison = Comparison::new(&oracle, seen(folder.path()));
    assert!(comparison.is_perfect(), "{what}: {comparison}");
    let rules = RefereeRules {
        exempt: internet.shared_address().into_iter().collect(),
        ..rules.clone()
    };
    let findings = internet.referee(&rules);
    assert_eq!(findings.violation_count, 0, "{what}: {findings}");
    eprintln!("{what}: {findings}");
}

fn of(profile: Profile, hosts: u32, seed: u64) -> InternetConfig {
    InternetConfig {
        profile,
        hosts,
        seed,
        pages: Some(6),
        body: 0.02,
        ..InternetConfig::default()
    }
}

/// Runs one crawl per seed, all at once: most of the time they wait.
fn for_each<const N: usize>(seeds: [u64; N], run: impl Fn(u64) + Sync) {
    std::thread::scope(|scope| {
        for seed in seeds {
            let run = &run;
            scope.spawn(move || run(seed));
        }
    });
}

/// What the named speeds promise of one host.
fn at_once(most: u32) -> RefereeRules {
    RefereeRules {
        host: Limit {
            in_flight: Some(most),
            ..Limit::default()
        },
        tolerance: Duration::from_millis(100),
        ..RefereeRules::default()
    }
}

#[test]
fn micro() {
    for_each([1, 2, 3], |seed| {
        check(of(Profile::Micro, 30, seed), &at_once(64), |config| {
            config.politeness.speed = Some(Speed::Max);
        });
    });
}

#[test]
fn bubing() {
    check(of(Profile::Bubing, 12, 1), &at_once(64), |config| {
        config.politeness.speed = Some(Speed::Max);
    });
}

/// One request at a time to a host and never sooner than this; per domain and address as `polite`
/// says.
fn spaced(delay: Duration) -> RefereeRules {
    let group = Limit {
        rate: Some(30),
        in_flight: Some(8),
        ..Limit::default()
    };
    RefereeRules {
        host: Limit {
            gap: Some(delay),
            in_flight: Some(1),
            ..Limit::default()
        },
        domain: group,
        address: group,
        tolerance: Duration::from_millis(30),
        ..RefereeRules::default()
    }
}

const DELAY: Duration = Duration::from_millis(100);

#[test]
fn real_politely() {
    let real = InternetConfig {
        pages: Some(3),
        addresses: Some(100),
        latency: 0.02,
        ..of(Profile::Real, 80, 1)
    };
    check(real, &spaced(DELAY), |config| {
        config.politeness.speed = Some(Speed::Polite);
        config.politeness.delay = Some(DELAY);
    });
}

/// Whether pages can be rendered on this machine, which the test command promises where it can.
fn has_browser() -> bool {
    let launched = BrowserPool::launch(BrowserOptions::default());
    let is_promised = std::env::var_os("CLEWLINE_BROWSER_TESTS").is_some();
    match launched {
        Ok(_) => true,
        Err(error) if is_promised => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED, although it matters: {error}");
            false
        }
    }
}

/// Every page is empty before its script has asked for its links: what a browser asks for, of the
/// page's host and of others, obeys the rules that hold for pages, and nothing is missed.
#[test]
fn rendered_politely() {
    if !has_browser() {
        return;
    }
    let hosts = std::env::var("CLEWLINE_RENDERED_HOSTS");
    let hosts = hosts.map_or(8, |hosts| hosts.parse().unwrap());
    let scripted = InternetConfig {
        pages: Some(4),
        latency: 0.02,
        mishaps: 0.0,
        scripted: true,
        ..of(Profile::Real, hosts, 5)
    };
    check(scripted, &spaced(DELAY), |config| {
        config.render.when = RenderUse::Auto;
        // A machine with other work may be slow; a page that is read too soon lacks its links.
        config.render.timeout = Duration::from_mins(10);
        config.politeness.speed = Some(Speed::Polite);
        config.politeness.delay = Some(DELAY);
    });
}

#[test]
fn real_quickly() {
    for_each([2, 3], |seed| {
        let real = InternetConfig {
            pages: Some(3),
            latency: 0.02,
            ..of(Profile::Real, 60, seed)
        };
        check(real, &at_once(64), |config| {
            config.politeness.speed = Some(Speed::Max);
        });
    });
}

/// Many requests wait at the same time, and none of them fails.
#[test]
fn slow() {
    for_each([1, 2], |seed| {
        check(of(Profile::Slow, 60, seed), &at_once(64), |config| {
            config.politeness.speed = Some(Speed::Max);
            config.limits.concurrency = 600;
            config.fetch.timeout = Duration::from_secs(30);
        });
    });
}

/// With one request at a time nothing can be on its way when a host asks for a pause.
#[test]
fn hostile() {
    for_each([1, 2, 3], |seed| {
        check(of(Profile::Hostile, 40, seed), &at_once(1), |config| {
            config.politeness.speed = Some(Speed::Max);
            config.politeness.host_concurrency = Some(1);
        });
    });
}
