//! One crawl of a hostile web, and what must be true after every one of them.
//!
//! Owns the running of a crawl to its end and the reading of what it left behind. Invariant: a
//! [`Verdict`] exists only of a crawl that ended by itself, whose totals add up and in which
//! every URL has exactly one record.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use clewline::{Crawl, Summary};
use clewline_job::config::{Config, Root, Speed};
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::report::{Report, StoppedBy, TextStyle};
use tempfile::TempDir;
use terrarium::{LiveWeb, Page, Reply, Site, Web};

/// A crawl that lasts longer is stuck; the test then fails instead of hanging.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pages that every site of [`beside`] has, and that must be fetched whatever stands beside.
const GOOD: [&str; 5] = ["/good/1", "/good/2", "/good/3", "/good/4", "/good/deep"];

/// What a crawl left behind.
pub(crate) struct Verdict {
    pub(crate) summary: Summary,
    pub(crate) records: BTreeMap<String, Record>,
    folder: TempDir,
}

/// The settings of a quick crawl of these roots.
pub(crate) fn config(web: &LiveWeb, roots: &[String]) -> Config {
    let mut config = Config::default();
    let root = |text: &String| Root::parse(text).expect("roots of tests are URLs");
    config.roots = roots.iter().map(root).collect();
    config.fetch.dns = Some(web.dns_addr());
    config.fetch.contact = Some("test@example.com".into());
    config.politeness.speed = Some(Speed::Max);
    config.politeness.retry_delay = Some(Duration::from_millis(2));
    config.politeness.robots_retry = Some(Duration::from_millis(5));
    config.limits.tries = 2;
    config.limits.time = Some(PATIENCE);
    config
}

/// Crawls from one root to the end.
pub(crate) fn crawl(web: &LiveWeb, root: &str, change: impl FnOnce(&mut Config)) -> Verdict {
    let mut config = config(web, &[root.to_owned()]);
    change(&mut config);
    run(Crawl::from_config(config))
}

/// Runs a crawl to the end, with a job folder, and checks what is true of all crawls.
pub(crate) fn run(crawl: Crawl) -> Verdict {
    let verdict = run_at_most(crawl);
    assert_eq!(
        verdict.report().facts.stopped_by,
        StoppedBy::Finished,
        "the crawl ends by itself"
    );
    verdict
}

/// The same for a crawl that a budget may end.
pub(crate) fn run_at_most(crawl: Crawl) -> Verdict {
    let folder = tempfile::tempdir().expect("there is room for a job folder");
    let crawl = crawl.folder(folder.path().join("job"));
    let running = crawl.run().expect("the crawl starts");
    let summary = running.wait().expect("the crawl goes on to its end");
    summary.report.check().expect("the totals add up");
    Verdict {
        summary,
        records: read_records(&folder.path().join("job")),
        folder,
    }
}

/// The records of a job folder by URL.
pub(crate) fn read_records(folder: &Path) -> BTreeMap<String, Record> {
    let mut records = BTreeMap::new();
    for record in clewline_job::log::records(&folder.join("urls.jsonl")).expect("there is a log") {
        let record = record.expect("the log is whole");
        let url = record.url.as_str().to_owned();
        let twice = records.insert(url, record);
        assert!(twice.is_none(), "two records of {twice:?}");
    }
    records
}

impl Verdict {
    pub(crate) fn report(&self) -> &Report {
        &self.summary.report
    }

    /// What became of a URL, in a few words.
    pub(crate) fn outcome(&self, url: &str) -> String {
        self.records
            .get(url)
            .map_or_else(|| "no record".into(), outcome)
    }

    pub(crate) fn record(&self, url: &str) -> &Record {
        self.records
            .get(url)
            .unwrap_or_else(|| panic!("{url} has no record"))
    }

    /// The records of one host and port.
    pub(crate) fn of_origin<'a>(&'a self, origin: &'a str) -> impl Iterator<Item = &'a Record> {
        let records = self.records.values();
        records.filter(move |record| record.url.origin() == origin)
    }

    /// Every good page of a site of [`beside`] was fetched.
    pub(crate) fn assert_good(&self, web: &LiveWeb, site: &str) {
        for path in std::iter::once("/").chain(GOOD) {
            let url = web.url(site, path);
            assert_eq!(self.outcome(&url), "fetched 200", "{url}");
        }
    }

    /// Everything that the crawl left or would show, by name: files, reports, messages.
    pub(crate) fn outputs(&self) -> Vec<(String, Vec<u8>)> {
        let mut outputs = Vec::new();
        read_all(self.folder.path(), &mut outputs);
        let report = self.report();
        for colour in [true, false] {
            let mut text = String::new();
            let style = TextStyle { colour, width: 100 };
            clewline_job::report::text(report, &mut text, style).expect("text can be written");
            outputs.push((format!("text, colour {colour}"), text.into()));
        }
        let json = clewline_job::report::json(report).expect("a report is JSON");
        outputs.push(("json".into(), json.into()));
        let mut list = Vec::new();
        let records = self.records.values().cloned().map(Ok);
        clewline_job::report::list(records, &report.facts, &mut list)
            .expect("lists can be written");
        outputs.push(("list".into(), list));
        outputs.push(("debug".into(), format!("{:?}", self.summary).into()));
        outputs
    }
}

fn read_all(folder: &Path, outputs: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("folders can be listed") {
        let path = entry.expect("entries can be read").path();
        if path.is_dir() {
            read_all(&path, outputs);
        } else {
            let bytes = fs::read(&path).expect("files can be read");
            outputs.push((path.display().to_string(), bytes));
        }
    }
}

/// What became of a URL: `fetched 200 truncated`, `skipped robots`, `failed tls`.
pub(crate) fn outcome(record: &Record) -> String {
    let status = record.status.unwrap_or_default();
    match record.outcome {
        OutcomeKind::Fetched if record.truncated => format!("fetched {status} truncated"),
        OutcomeKind::Fetched => format!("fetched {status}"),
        OutcomeKind::Redirected => format!("redirected {status}"),
        OutcomeKind::Unmodified => "unmodified".into(),
        OutcomeKind::Skipped => {
            let reason = record.reason.expect("what was skipped has a reason");
            format!("skipped {}", reason.name())
        }
        OutcomeKind::Failed => {
            let class = record.failure.expect("what failed has a class");
            format!("failed {}", class.name())
        }
    }
}

/// A site whose front page links to these paths first and to good pages behind them.
pub(crate) fn beside<'a>(paths: impl IntoIterator<Item = &'a str>) -> Site {
    let shallow = GOOD[..4].iter().copied();
    let front = terrarium::links(paths.into_iter().chain(shallow));
    let site = Site::new().page("/", Page::html(front));
    let site = site.page("/good/2", Page::html("<a href=/good/deep>deeper</a>"));
    let others = GOOD.iter().filter(|path| **path != "/good/2");
    others.fold(site, |site, path| site.page(path, Page::html("<p>good")))
}

/// One bad resource and what must become of it.
pub(crate) type Case = (&'static str, Reply, &'static str);

/// Serves each bad resource as `/bad` of a host of its own, crawls all hosts at once, and
/// checks that `/bad` ends as it should and everything else is fetched.
pub(crate) fn check(cases: Vec<Case>, change: impl FnOnce(&mut Config)) -> (LiveWeb, Verdict) {
    let mut web = Web::new();
    let mut expected = Vec::new();
    for (number, (what, reply, outcome)) in cases.into_iter().enumerate() {
        let site = format!("case{number}.test");
        web = web.site(&site, beside(["/bad"]).page("/bad", reply));
        expected.push((site, what, outcome));
    }
    let web = web.start();
    let root = |(site, ..): &(String, &str, &str)| web.url(site, "/");
    let roots: Vec<String> = expected.iter().map(root).collect();
    let mut config = config(&web, &roots);
    change(&mut config);
    let verdict = run(Crawl::from_config(config));
    for (site, what, outcome) in &expected {
        let bad = web.url(site, "/bad");
        assert_eq!(&verdict.outcome(&bad), outcome, "{what}");
        verdict.assert_good(&web, site);
    }
    (web, verdict)
}
