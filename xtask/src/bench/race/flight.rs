//! Many requests at once: what each of them takes while it waits for its first byte.
//!
//! Owns the arithmetic of waiting. Every host of a synthetic internet is asked at the same time
//! and answers late; meanwhile the crawler is looked at from outside. A second counts as waiting
//! if the crawler had a connection to every host at its beginning and at its end, and next to no
//! processor time was used in between: whoever waits does nothing else.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::super::arena::internet::{Internet, Plan};
use super::super::ground::said;
use super::super::measure::Glimpse;
use super::checks::{Bench, Check, Course, Crawled};
use super::contestant;
use crate::stage::say;

/// How long the crawler is left alone between two looks.
const STEP: Duration = Duration::from_secs(1);

/// The part of a core that waiting may take.
const IDLE: f64 = 0.03;

/// Descriptors that a crawl needs beside its connections.
const OTHER_DESCRIPTORS: u64 = 1000;

/// One try: how many hosts, how they speak, and what is promised.
struct Flight {
    name: &'static str,
    hosts: u32,
    secure: bool,
    /// Milliseconds that every answer waits: longer than all handshakes together.
    delay: u64,
    /// The most that a waiting request may take.
    kib: f64,
}

/// Ten thousand at once, plain and by TLS, and more where the machine allows.
pub(super) fn checks(bench: &Bench) -> Result<Vec<Check>> {
    let delay = |full: u32| u64::from(bench.size(full, 4000));
    let flights = [
        Flight {
            name: "requests in flight to slow hosts",
            hosts: bench.size(10_000, 1000),
            secure: false,
            delay: delay(12_000),
            kib: 8.0,
        },
        Flight {
            name: "requests in flight to slow hosts, TLS",
            hosts: bench.size(10_000, 1000),
            secure: true,
            delay: delay(30_000),
            kib: 20.0,
        },
        Flight {
            name: "many more requests in flight to slow hosts",
            hosts: 50_000,
            secure: false,
            delay: 40_000,
            kib: 8.0,
        },
    ];
    flights.iter().map(|flight| flight.check(bench)).collect()
}

impl Flight {
    fn check(&self, bench: &Bench) -> Result<Check> {
        let wanted = format!(
            "{} at once, none failed, at most {} KiB each and {:.0} % of a core",
            self.hosts,
            self.kib,
            IDLE * 100.0
        );
        let needed = u64::from(self.hosts) + OTHER_DESCRIPTORS;
        let allowed = descriptors();
        if allowed < needed {
            let why = format!("a process may have {allowed} descriptors, {needed} are needed");
            say(&format!("  {}: skipped, {why}", self.name));
            return Ok(Check::not_measured(self.name, &why, wanted));
        }
        let internet = self.internet(bench)?;
        let mut watch = Watch::new(self.hosts as usize);
        let crawled = self.crawl(bench, &internet, &internet.origins(), &mut watch)?;
        // A crawl that reaches nothing shows what the program takes by itself.
        let nowhere = bench.ground.scratch.join("nowhere");
        fs::write(&nowhere, "http://127.0.0.1:1/\n")?;
        let alone = self.crawl(bench, &internet, &nowhere, &mut Watch::new(usize::MAX))?;
        Ok(self.judge(&crawled, alone.cost.peak, &watch, wanted))
    }

    fn internet(&self, bench: &Bench) -> Result<Internet> {
        let plan = Plan {
            profile: "slow",
            hosts: self.hosts,
            pages: 1,
            seed: 7,
            latency: 1.0,
            delay: Some(self.delay),
            secure: Some(if self.secure { 1000 } else { 0 }),
            promises: Vec::new(),
        };
        Internet::prepare(bench.ground, &plan)
    }

    fn crawl(
        &self,
        bench: &Bench,
        internet: &Internet,
        roots: &Path,
        watch: &mut Watch,
    ) -> Result<Crawled> {
        let course = Course {
            roots,
            // A quarter of the slots is kept for hosts that have answered, and none has.
            in_flight: (self.hosts as usize * 4).div_ceil(3),
            words: &[
                "--speed",
                "max",
                "--timeout",
                "2m",
                "--connect-timeout",
                "1m",
            ],
            cores: None,
        };
        let who = contestant::in_memory(bench.ground);
        bench.watch(internet, who, &course, &mut |shell| watch.look(shell))
    }

    /// The greatest of what was seen while all waited counts; the peak, with all answers on
    /// their way through, is told beside it.
    fn judge(&self, crawled: &Crawled, alone: u64, watch: &Watch, wanted: String) -> Check {
        let failed = crawled.count("/tally/outcomes/failed");
        let hosts = f64::from(self.hosts);
        let each = |resident: u64| resident.saturating_sub(alone) as f64 / hosts;
        let peak = each(crawled.cost.peak);
        let Some(waiting) = watch.waiting() else {
            let most = watch.most_descriptors;
            return Check {
                name: self.name,
                seen: format!("never all at once: {most} descriptors at the most, {failed} failed"),
                wanted,
                kept: false.into(),
            };
        };
        let kib = each(waiting.resident);
        Check {
            name: self.name,
            seen: format!(
                "{} at once, {failed} failed, {kib:.1} KiB each, all included, and {:.1} % of a \
                 core while they wait; {peak:.1} KiB each when the answers come",
                self.hosts,
                waiting.busy * 100.0
            ),
            wanted,
            kept: (failed == 0 && kib <= self.kib && waiting.busy <= IDLE).into(),
        }
    }
}

/// The most descriptors that a process of this user may have.
fn descriptors() -> u64 {
    let limit = said("bash", &["-c", "ulimit -Hn"]).unwrap_or_default();
    match limit.trim() {
        "unlimited" => u64::MAX,
        number => number.parse().unwrap_or(0),
    }
}

/// Looks at a crawl, step by step.
struct Watch {
    /// Connections that all hosts together need.
    connections: usize,
    most_descriptors: usize,
    last: Option<Glimpse>,
    waits: Vec<Wait>,
}

/// A time in which everybody was connected.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wait {
    /// The part of a core that was in use.
    busy: f64,
    /// The resident set at its end, in KiB.
    resident: u64,
}

impl Watch {
    const fn new(connections: usize) -> Self {
        Self {
            connections,
            most_descriptors: 0,
            last: None,
            waits: Vec::new(),
        }
    }

    fn look(&mut self, shell: u32) {
        if self.last.is_some_and(|last| last.at.elapsed() < STEP) {
            return;
        }
        if let Some(glimpse) = Glimpse::below(shell) {
            self.take(glimpse);
        }
    }

    fn take(&mut self, glimpse: Glimpse) {
        self.most_descriptors = self.most_descriptors.max(glimpse.descriptors);
        if let Some(last) = self.last.replace(glimpse)
            && last.descriptors.min(glimpse.descriptors) >= self.connections
        {
            let seconds = (glimpse.at - last.at).as_secs_f64().max(f64::EPSILON);
            self.waits.push(Wait {
                busy: (glimpse.processor - last.processor).max(0.0) / seconds,
                resident: glimpse.resident,
            });
        }
    }

    /// The largest resident set while nothing was done, and what such a time took on average.
    /// Where something was done all the time, the quietest moment shows by how much.
    fn waiting(&self) -> Option<Wait> {
        let idle = self.waits.iter().filter(|wait| wait.busy <= IDLE);
        let quietest = || self.waits.iter().min_by(|a, b| a.busy.total_cmp(&b.busy));
        let Some(resident) = idle.clone().map(|wait| wait.resident).max() else {
            return quietest().copied();
        };
        let busy: f64 = idle.clone().map(|wait| wait.busy).sum();
        Some(Wait {
            busy: busy / idle.count() as f64,
            resident,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Looks a second apart: descriptors, hundredths of processor time so far, KiB.
    fn watched(looks: &[(usize, u32, u64)]) -> Watch {
        let begun = Instant::now();
        let mut watch = Watch::new(100);
        for (second, (descriptors, hundredths, resident)) in looks.iter().enumerate() {
            watch.take(Glimpse {
                at: begun + Duration::from_secs(second as u64),
                processor: f64::from(*hundredths) / 100.0,
                resident: *resident,
                descriptors: *descriptors,
            });
        }
        watch
    }

    #[test]
    fn only_idle_time_with_everybody_connected_is_waiting() {
        let looks = [
            (3, 0, 10),
            (110, 90, 500),
            (110, 91, 600),
            (110, 94, 650),
            (110, 180, 9000),
            (40, 181, 9000),
        ];
        let waiting = watched(&looks).waiting().unwrap();
        assert_eq!(waiting.resident, 650);
        assert!((waiting.busy - 0.02).abs() < 1e-9, "{waiting:?}");
        assert_eq!(watched(&looks[..2]).waiting(), None);
        let never_idle = watched(&[(110, 0, 7), (110, 80, 8), (110, 130, 9)]);
        let waiting = never_idle.waiting().unwrap();
        assert_eq!(waiting.resident, 9);
        assert!((waiting.busy - 0.5).abs() < 1e-9, "{waiting:?}");
    }

    #[test]
    fn the_limit_of_descriptors_is_known() {
        assert!(descriptors() > 3);
    }
}
