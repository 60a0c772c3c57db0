//! Races on synthetic internets: many hosts, an oracle, a referee.

use std::iter;

use anyhow::Result;

use super::super::arena::Coverage;
use super::super::arena::internet::{Internet, Plan, Served};
use super::super::ground::Ground;
use super::super::measure::Stopwatch;
use super::super::options::{Care, Options};
use super::contestant::{self, Blanks, Contestant};
use super::round::{Account, Arena, Race, Row, Session};
use crate::stage::say;

/// What Clewline promises with the speed `polite`, as the referee is told. Starts 100 ms apart
/// may be 11 in a second; those in flight before it, up to 4, may have been held up on the way
/// by a handshake and arrive in that second, too. 21 and 8 for domains and addresses. A smallest
/// gap is only promised where requests go one at a time.
const POLITE: [&str; 8] = [
    "--host-rate",
    "15",
    "--host-in-flight",
    "4",
    "--group-rate",
    "29",
    "--group-in-flight",
    "8",
];

/// At full speed, what is on its way when a host asks for a pause does arrive.
const ON_THE_WAY: [&str; 2] = ["--tolerance", "200"];

/// Who runs on a web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// The bare client, and Clewline in both ways.
    All,
    /// Clewline with its folder, once: recall and manners are the question, not speed.
    Judged,
}

/// A web and how it is crawled.
struct Web {
    name: String,
    plan: Plan,
    in_flight: usize,
    words: &'static [&'static str],
    field: Field,
    other_seeds: &'static [u64],
}

impl Web {
    /// This web, and the same with other seeds, which are only judged.
    fn sown(self) -> Vec<Self> {
        let others = self.other_seeds.iter().map(|seed| Self {
            name: format!("{}, seed {seed}", self.name),
            plan: Plan {
                seed: *seed,
                ..self.plan.clone()
            },
            field: Field::Judged,
            ..self
        });
        let others: Vec<Self> = others.collect();
        iter::once(self).chain(others).collect()
    }
}

/// The webs, smaller and with one seed where it is only a try.
fn webs(care: Care) -> Vec<Web> {
    let sites = sites(care).into_iter();
    match care {
        Care::Full => sites.flat_map(Web::sown).collect(),
        Care::Quick => sites.collect(),
    }
}

fn sites(care: Care) -> [Web; 5] {
    let size = |full: u32, quick: u32| if care == Care::Full { full } else { quick };
    let plan = |profile, hosts, pages| Plan {
        profile,
        hosts,
        pages,
        seed: 7,
        latency: 1.0,
        delay: None,
        secure: None,
        promises: Vec::new(),
    };
    [
        Web {
            name: "micro".to_owned(),
            plan: plan("micro", size(400, 20), 50),
            in_flight: 256,
            words: &["--speed", "max"],
            field: Field::All,
            other_seeds: &[8, 9],
        },
        Web {
            name: "bubing".to_owned(),
            plan: plan("bubing", size(400, 20), 20),
            in_flight: 256,
            words: &["--speed", "max"],
            field: Field::All,
            other_seeds: &[],
        },
        Web {
            name: "slow".to_owned(),
            plan: plan("slow", size(2000, 30), 10),
            in_flight: 2000,
            words: &["--speed", "max"],
            field: Field::Judged,
            other_seeds: &[8, 9],
        },
        Web {
            name: "real, polite".to_owned(),
            plan: Plan {
                promises: POLITE.map(str::to_owned).to_vec(),
                latency: if care == Care::Full { 1.0 } else { 0.1 },
                ..plan("real", size(10_000, 100), 5)
            },
            in_flight: 5000,
            words: &["--speed", "polite", "--robots-retry", "20s"],
            field: Field::Judged,
            // It takes five minutes.
            other_seeds: &[8],
        },
        Web {
            name: "hostile".to_owned(),
            plan: Plan {
                promises: ON_THE_WAY.map(str::to_owned).to_vec(),
                ..plan("hostile", size(500, 30), 8)
            },
            in_flight: 1000,
            words: &[
                "--speed",
                "max",
                "--retry-delay",
                "50ms",
                "--robots-retry",
                "1s",
            ],
            field: Field::Judged,
            other_seeds: &[8, 9],
        },
    ]
}

/// Words that lead Clewline into a synthetic internet, from its few roots.
pub(super) fn way_in(internet: &Internet, roots: &str) -> Vec<String> {
    let authority = internet.authority().display().to_string();
    let options = [
        ("--input-file", roots),
        ("--scope", "any"),
        ("--contact", "nobody@example.org"),
        ("--dns", internet.dns()),
        ("--allow-private", "127.0.0.0/8"),
        ("--cacert", &authority),
    ];
    let shared = internet.shared_address.as_deref();
    let shared = shared.map(|address| ("--shared-addresses", address));
    let words = options
        .into_iter()
        .chain(shared)
        .flat_map(|(name, value)| [name, value]);
    words.map(str::to_owned).collect()
}

/// Races on the webs that are wanted.
pub(crate) fn race(ground: &Ground, options: &Options) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for web in webs(options.care) {
        if options.wants(&web.name) {
            rows.extend(race_on(ground, options, &web)?);
        }
    }
    Ok(rows)
}

fn race_on(ground: &Ground, options: &Options, web: &Web) -> Result<Vec<Row>> {
    let internet = Internet::prepare(ground, &web.plan)?;
    say(&format!(
        "\n{}: {} hosts, {} URLs, {} in flight",
        web.name, web.plan.hosts, internet.expected, web.in_flight
    ));
    let contestants = contestants(ground, web, &internet);
    let mut rows: Vec<Row> = contestants
        .iter()
        .map(|contestant| Row::new(&web.name, contestant, web.in_flight))
        .collect();
    let stopwatch = Stopwatch::new(&ground.scratch, options.limit());
    let rounds = match web.field {
        Field::All => options.rounds,
        Field::Judged => 1,
    };
    let race = Race {
        arena: &internet,
        stopwatch: &stopwatch,
        options: &options.with_rounds(rounds),
        blanks: Blanks {
            url: "",
            out: &ground.memory.join("out"),
            disk: &ground.scratch.join("crawl"),
            list: &internet.list(),
            in_flight: web.in_flight,
        },
    };
    race.run(&contestants, &mut rows)?;
    Ok(rows)
}

fn contestants(ground: &Ground, web: &Web, internet: &Internet) -> Vec<Contestant> {
    let roots = internet.roots().display().to_string();
    let way = way_in(internet, &roots);
    let way: Vec<&str> = way.iter().map(String::as_str).collect();
    let clewline = |contestant: Contestant| contestant.with(&way).with(web.words);
    let with_folder = clewline(contestant::with_folder(ground));
    if web.field == Field::Judged {
        return vec![with_folder];
    }
    let authority = internet.authority().display().to_string();
    let bare = ["--dns", internet.dns(), "--cacert", &authority];
    vec![
        contestant::bare(ground).with(&bare),
        clewline(contestant::in_memory(ground)),
        with_folder,
    ]
}

impl Arena for Internet {
    fn open<'a>(&'a self, blanks: &Blanks) -> Result<Box<dyn Session + 'a>> {
        let served = self.serve(&blanks.disk.join("urls.jsonl"))?;
        Ok(Box::new(Watched {
            idle: served.processor_seconds()?,
            served,
            expected: self.expected,
        }))
    }
}

/// A run on an internet of its own.
struct Watched {
    served: Served,
    expected: u64,
    /// Processor time that it took to begin.
    idle: f64,
}

impl Session for Watched {
    fn close(self: Box<Self>) -> Result<Account> {
        let server = self.served.processor_seconds()? - self.idle;
        let judgement = self.served.judge()?;
        let coverage = judgement.records.map(|(right, extra)| Coverage {
            expected: self.expected as usize,
            found: right as usize,
            strays: extra as usize,
            repeats: 0,
        });
        Ok(Account {
            requests: judgement.requests,
            server,
            // The bare client leaves no records, and made no promises.
            violations: coverage.map(|_| judgement.violations),
            examples: if coverage.is_some() {
                judgement.examples
            } else {
                Vec::new()
            },
            coverage,
        })
    }
}
