//! Ctrl-C and SIGTERM: nothing is lost, and only what was cut off is asked again.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;

use crate::ground::{Ground, HOST, PATIENCE, check_all_fetched, web};

#[test]
fn one_signal_loses_nothing_and_repeats_nothing_that_had_ended() {
    let pages = 400;
    let web = web(pages, Duration::from_millis(5));
    let ground = Ground::new();
    let line = ground.line(&["--concurrency", "16"], &[web.url(HOST, "/0")]);
    for (signal, after) in [(Signal::INT, 60), (Signal::TERM, 150), (Signal::TERM, 250)] {
        // What it asked itself shows that a run is up and hears signals.
        let before = web.log().len();
        let run = ground.start(&line);
        assert!(web.wait_for(|log| log.len() > after.max(before), PATIENCE));
        run.signal(signal);
        let (code, talk) = run.end();
        assert_eq!(code, Some(130), "{talk}");
    }
    let (code, talk) = ground.start(&line).end();
    assert_eq!(code, Some(0), "{talk}");
    check_all_fetched(&ground.records(), pages as usize);
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for hit in web.log().iter().filter(|hit| hit.path() != "/robots.txt") {
        *asked.entry(hit.path().to_owned()).or_default() += 1;
    }
    let repeats: Vec<_> = asked.iter().filter(|(_, count)| **count > 1).collect();
    assert!(repeats.is_empty(), "{repeats:?}");
}
