//! Time that does not pass as it should: a stopped process, a clock that jumps.

use std::io::Read as _;
use std::time::Duration;

use fieldwork::faults::faketime;
use rustix::process::Signal;

use crate::ground::{Ground, HOST, PATIENCE, check_all_fetched, skip, web};

#[test]
fn a_process_that_is_stopped_blames_nobody() {
    let pages = 120;
    let web = web(pages, Duration::from_millis(200));
    let ground = Ground::new();
    // One try, and a time-out that the stop exceeds: what is counted is lost.
    let flags = ["--tries", "1", "--timeout", "1s", "--concurrency", "30"];
    let line = ground.line(&flags, &[web.url(HOST, "/0")]);
    let mut run = ground.start(&line);
    assert!(web.wait_for(|log| log.len() > 20, PATIENCE));
    run.signal(Signal::STOP);
    // Nothing happens that could be waited for: time itself has to pass.
    std::thread::sleep(Duration::from_secs(3));
    run.signal(Signal::CONT);
    let mut said = String::new();
    run.talk().read_to_string(&mut said).unwrap();
    let (code, _) = run.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("this process was stopped for "), "{said}");
    check_all_fetched(&ground.records(), pages as usize);
}

#[test]
fn a_clock_that_jumps_a_day_delays_nothing() {
    let Some(library) = faketime() else {
        return skip("clock a day forward and back", "libfaketime is not here");
    };
    let pages = 120;
    let web = web(pages, Duration::from_millis(10));
    let ground = Ground::new();
    let line = ground.line(&["--rate", "40"], &[web.url(HOST, "/0")]);
    let clock = ground.folder().with_file_name("clock");
    let set = |offset: &str| {
        let fresh = clock.with_extension("new");
        std::fs::write(&fresh, offset).unwrap();
        std::fs::rename(&fresh, &clock).unwrap();
    };
    set("+0");
    let environment = format!(
        "export LD_PRELOAD='{}' FAKETIME_TIMESTAMP_FILE='{}' FAKETIME_NO_CACHE=1 \
         FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1",
        library.display(),
        clock.display()
    );
    let mut forward_and_back = ["+1d", "-1d"].into_iter();
    let run = ground.start_behind(&environment, &line);
    for (after, offset) in [30, 60].into_iter().zip(&mut forward_and_back) {
        assert!(web.wait_for(|log| log.len() > after, PATIENCE));
        set(offset);
    }
    // What is kept over a restart is kept in wall time: a day back must not park a host.
    assert!(web.wait_for(|log| log.len() > 90, PATIENCE));
    run.signal(Signal::INT);
    assert_eq!(run.end().0, Some(130));
    set("-2d");
    let (code, talk) = ground.start_behind(&environment, &line).end();
    assert_eq!(code, Some(0), "{talk}");
    let records = ground.records();
    check_all_fetched(&records, pages as usize);
    let days: std::collections::BTreeSet<&str> = records
        .iter()
        .map(|record| &record.fetched_at[..10])
        .collect();
    assert!(days.len() >= 3, "the clock did jump: {days:?}");
    let most = web.log().greatest_rate(Duration::from_secs(1));
    assert!(most <= 60, "{most} in a second at 40 a second");
}
