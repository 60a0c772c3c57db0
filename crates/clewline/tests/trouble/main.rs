//! Hosts in trouble: failing pages and silent hosts hold up nobody but themselves.
//!
//! Everything is judged by counts from the server's log: which pages were asked for, how often,
//! and in which order. No test asserts a time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hosts;
mod pages;
mod silence;

use std::time::Duration;

use clewline::{Crawl, Summary};
use clewline_core::address::Cidr;
use clewline_job::config::{Config, Reach, Root, Speed};
use clewline_job::report::StoppedBy;
use terrarium::trouble::{Order, Trouble};
use terrarium::{LiveWeb, Log, Web};

/// A crawl that does not end by itself is stopped and fails its test.
const PATIENCE: Duration = Duration::from_mins(2);
/// Wait before the second try, so that tests do not take longer than they need.
const SOON: Duration = Duration::from_millis(20);

/// What a crawl did to a web in trouble.
struct Outcome {
    order: Order,
    log: Log,
    summary: Summary,
}

/// The settings of a crawl at full speed that keeps nothing.
fn config(trouble: &Trouble, web: &LiveWeb) -> Config {
    let roots = trouble.roots().into_iter();
    let mut config = Config {
        roots: roots
            .map(|(host, target)| Root::parse(&web.url(&host, &target)).unwrap())
            .collect(),
        ..Config::default()
    };
    config.scope.reach = Reach::Any;
    config.scope.sitemaps = false;
    config.fetch.dns = Some(web.dns_addr());
    config.fetch.contact = Some("tests@site.test".to_owned());
    config.fetch.allow_private = vec!["127.0.0.0/8".parse::<Cidr>().unwrap()];
    config.politeness.speed = Some(Speed::Max);
    config.politeness.retry_delay = Some(SOON);
    config.limits.time = Some(PATIENCE);
    config
}

/// Crawls to the end, which must come by itself, and finds every good page.
fn crawl(trouble: &Trouble, change: impl FnOnce(&mut Config)) -> Outcome {
    let web = trouble.mount(Web::new()).start();
    let mut config = config(trouble, &web);
    change(&mut config);
    let summary = Crawl::from_config(config).run().unwrap().wait().unwrap();
    summary.report.check().unwrap();
    let log = web.log();
    let order = Order::from_log(trouble, &log);
    let stopped_by = &summary.report.facts.stopped_by;
    assert_eq!(
        *stopped_by,
        StoppedBy::Finished,
        "{trouble:?}: the crawl did not end: {order:?}"
    );
    assert_eq!(
        order.good,
        trouble.good().len(),
        "{trouble:?}: good pages are missing: {order:?}"
    );
    Outcome {
        order,
        log,
        summary,
    }
}
