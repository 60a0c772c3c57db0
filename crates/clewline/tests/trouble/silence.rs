//! Silent hosts: they wait by themselves, and the others go on.
//!
//! Time-outs are far longer than the tests' patience, so that a good page that waits for one of
//! them is not asked for in time.

use std::time::Duration;

use clewline::Crawl;
use clewline_job::config::Config;
use terrarium::Web;
use terrarium::trouble::{Order, Trouble};

use crate::{PATIENCE, config};

/// No silent host is given up before.
const NEVER: Duration = Duration::from_hours(1);

/// Crawls until every good page was asked for.
fn check_goes_on(trouble: &Trouble, change: impl FnOnce(&mut Config)) {
    let web = trouble.mount(Web::new()).start();
    let mut config = config(trouble, &web);
    config.fetch.timeout = NEVER;
    config.fetch.min_rate = 0;
    config.limits.time = None;
    change(&mut config);
    let running = Crawl::from_config(config).run().unwrap();
    let all = trouble.good().len();
    let asked = web.wait_for(
        |log| log.len() >= all && Order::from_log(trouble, log).good == all,
        PATIENCE,
    );
    running.control().stop(Duration::ZERO);
    running.wait().unwrap();
    let order = Order::from_log(trouble, &web.log());
    assert!(asked, "{trouble:?}: {order:?} of {all}");
}

#[test]
fn silent_hosts_leave_slots_to_others() {
    let trouble = Trouble::Silent {
        hosts: 150,
        good: 300,
    };
    check_goes_on(&trouble, |_| {});
}

#[test]
fn dripping_hosts_leave_slots_to_others() {
    let trouble = Trouble::Dripping {
        hosts: 150,
        good: 300,
    };
    check_goes_on(&trouble, |_| {});
}

#[test]
fn a_silent_root_does_not_hold_up_levels() {
    let trouble = Trouble::SilentRoot { good: 100 };
    check_goes_on(&trouble, |config| config.limits.depth = Some(1));
}
