//! Rung 6: the same job with the library.
//!
//! `crawl_all` is the crawler; the rest translates flags and records. What the rungs below leave
//! out is in it, too: TLS, robots.txt, HTML that is parsed and not guessed at, limits for
//! everything a server may send. On foreign hosts it is polite whatever `--max-tasks` says.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clewline::{Crawl, CrawlError, Event};
use clewline_job::config::{Config, Reach};
use clewline_job::record::{OutcomeKind, Record};
use ladder::{FetchStatistic, Meter, Options, Report, conclude, prepare};
use url::Url;

/// Wait before the second try. The rungs below do not wait at all, which no server deserves.
const RETRY_DELAY: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let Some(options) = prepare(100) else {
        return ExitCode::SUCCESS;
    };
    let crawled = options
        .root_urls()
        .and_then(|roots| crawl_all(&roots, &options).map_err(|error| error.to_string()));
    let ended = crawled.and_then(|report| {
        conclude(&report, &options, &AtomicBool::new(false)).map_err(|error| error.to_string())
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            options.error(&error);
            ExitCode::from(2)
        }
    }
}

fn crawl_all(roots: &[Url], options: &Options) -> Result<Report, CrawlError> {
    let seen = Arc::new(Mutex::new((Vec::new(), Meter::start())));
    let told = Arc::clone(&seen);
    let crawl = roots
        .iter()
        .fold(Crawl::from_config(config(options)), |crawl, root| {
            crawl.root(root.as_str())
        });
    let observed = crawl.observe(move |event| {
        let mut seen = told.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Settled(record) => seen.0.extend(statistic(record)),
            Event::Progress(progress) => seen.1.in_flight(progress.in_flight as usize),
            _ => {}
        }
    });
    let summary = observed.run()?.wait()?;
    let (statistics, mut meter) = Arc::into_inner(seen)
        .expect("the crawl has ended, and its observer with it")
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    meter.in_flight(summary.report.facts.peak_in_flight as usize);
    let todo = summary.report.facts.todo;
    Ok(Report::new(
        options.tasks(),
        (statistics, todo as usize, meter),
    ))
}

/// The flags in the library's words.
fn config(options: &Options) -> Config {
    let mut config = Config::default();
    let tasks = options.tasks() as u32;
    config.limits.concurrency = tasks;
    config.limits.tries = options.max_tries;
    config.limits.redirects = options.max_redirect;
    config.limits.pages = Some(options.max_urls as u64);
    config.politeness.host_concurrency = Some(tasks);
    config.politeness.retry_delay = Some(RETRY_DELAY);
    config.politeness.robots_retry = Some(RETRY_DELAY);
    config.scope.reach = if options.lenient {
        Reach::Domain
    } else {
        Reach::Host
    };
    config.scope.sitemaps = false;
    let exclude = options.exclude.iter();
    config.scope.exclude = exclude.map(|exclude| exclude.as_str().to_owned()).collect();
    config.fetch.timeout = options.timeout;
    if let Some(address) = options.connect_to {
        config.fetch.connect_to = vec![format!("::{}:{}", address.ip(), address.port())];
    }
    config
}

/// A record in the ladder's words.
fn statistic(record: &Record) -> Option<FetchStatistic> {
    let url = Url::parse(record.url.as_str()).ok()?;
    let exception = match record.outcome {
        OutcomeKind::Skipped => record.reason.map(|reason| (reason.name(), reason.about())),
        OutcomeKind::Failed => record
            .failure
            .map(|failure| (failure.name(), failure.about())),
        _ => None,
    };
    let words = record.error.clone();
    Some(FetchStatistic {
        next_url: record
            .redirect_to
            .as_deref()
            .and_then(|target| Url::parse(target).ok()),
        status: record.status,
        exception: exception
            .map(|(name, about)| (name.to_owned(), words.unwrap_or_else(|| about.to_owned()))),
        size: record.body_bytes as usize,
        content_type: record.content_type.clone(),
        encoding: record.charset.clone(),
        num_urls: record.links as usize,
        num_new_urls: record.new_links as usize,
        ..FetchStatistic::new(url)
    })
}
