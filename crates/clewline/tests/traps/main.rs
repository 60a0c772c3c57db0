//! Endless sites and their look-alikes: how much of what is real a crawl finds.
//!
//! Each test crawls one site and prints one line, so that `cargo xtask traps` can show them all.
//! A trap passes if 95 % of its real pages are found within five requests for each of them, and a
//! look-alike if all of its pages are.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alike;
mod family;

use std::time::Duration;

use clewline::Crawl;
use clewline_core::address::Cidr;
use clewline_job::config::{Config, Reach, Root, Speed};
use terrarium::LiveWeb;
use terrarium::traps::Found;

/// A crawl that lasts longer is judged by what it has found.
const PATIENCE: Duration = Duration::from_mins(3);

/// The settings of a crawl at full speed that keeps nothing.
fn config(web: &LiveWeb, name: &str) -> Config {
    let mut config = Config {
        roots: vec![Root::parse(&web.url(name, "/")).unwrap()],
        ..Config::default()
    };
    config.scope.reach = Reach::Domain;
    config.fetch.dns = Some(web.dns_addr());
    config.fetch.contact = Some("tests@site.test".to_owned());
    config.fetch.allow_private = vec!["127.0.0.0/8".parse::<Cidr>().unwrap()];
    config.politeness.speed = Some(Speed::Max);
    // One at a time, so that the same pages come in the same order in every run.
    config.limits.concurrency = 1;
    config.limits.time = Some(PATIENCE);
    config
}

fn crawl(config: Config) {
    let summary = Crawl::from_config(config).run().unwrap().wait().unwrap();
    summary.report.check().unwrap();
    assert!(summary.error.is_none(), "{:?}", summary.error);
}

/// One line of the table, for people and for `cargo xtask traps`.
#[expect(clippy::print_stdout, reason = "it is read by people and by xtask")]
fn tell(site: &str, density: &str, seed: u64, found: &Found) {
    let Found {
        requests,
        pages,
        at_home,
        real,
        ..
    } = found;
    let share = found.share();
    println!(
        "\ntraps: {site:<19} {density:<7} seed {seed}: {pages:>3} of {real:>3} real pages \
         ({at_home:>3} at home), {share:>5.1} %, {requests:>5} requests"
    );
}
