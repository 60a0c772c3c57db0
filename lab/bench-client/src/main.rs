//! The bare client: fetches the URLs of a list over Clewline's own HTTP code, and nothing else.
//!
//! Owns the limit that a crawl on the same machine, server and HTTP code can come near but not
//! pass: no links are read, nothing is remembered, ordered, logged or spared. Its time and
//! memory are taken from outside, as for every other program that is measured. With `--pack` it
//! also makes one SHA-1 and one gzip member of each body, by the libraries of the archive: the
//! difference to a run without is the least that an archive can cost.

mod pack;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use clewline::fetch::{FetchFailure, Fetcher, HttpFetcher, Request};
use clewline_core::url::CrawlUrl;
use clewline_job::config::FetchConfig;
use tokio::sync::OnceCell;

use pack::Packing;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Fetch the URLs of a list and throw the answers away.
#[derive(Parser)]
struct Arguments {
    /// One URL per line
    list: PathBuf,
    /// Requests in flight
    #[arg(long, default_value_t = 64)]
    concurrency: usize,
    /// Ask this DNS server
    #[arg(long)]
    dns: Option<SocketAddr>,
    /// More certificate authorities
    #[arg(long)]
    cacert: Option<PathBuf>,
    /// Longest time for a whole answer, in seconds
    #[arg(long, default_value_t = 30)]
    timeout: u64,
    /// Digest and compress each body, too
    #[arg(long)]
    pack: bool,
}

/// The work, and how much of it is done.
struct Course {
    fetcher: HttpFetcher,
    urls: Vec<(CrawlUrl, usize)>,
    /// Each host is resolved once, by whoever comes first.
    addresses: Vec<OnceCell<IpAddr>>,
    timeout: Duration,
    max_body: u64,
    next: AtomicUsize,
    pages: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    packing: Option<Packing>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let concurrency = arguments.concurrency;
    let course = Arc::new(course(arguments)?);
    let started = Instant::now();
    let runners: Vec<_> = (0..concurrency)
        .map(|_| tokio::spawn(run(Arc::clone(&course))))
        .collect();
    for runner in runners {
        runner.await?;
    }
    let seconds = started.elapsed().as_secs_f64();
    tell(&course, seconds);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "its figures are what it is run for")]
fn tell(course: &Course, seconds: f64) {
    let figures = serde_json::json!({
        "pages": course.pages.load(Ordering::Relaxed),
        "failed": course.failed.load(Ordering::Relaxed),
        "bytes": course.bytes.load(Ordering::Relaxed),
        "seconds": seconds,
        "packed": course.packing.as_ref().map(Packing::packed),
    });
    println!("{figures}");
}

fn course(arguments: Arguments) -> Result<Course> {
    let text = std::fs::read_to_string(&arguments.list)
        .with_context(|| arguments.list.display().to_string())?;
    let config = FetchConfig {
        dns: arguments.dns,
        cacert: arguments.cacert,
        idle_connections: arguments.concurrency,
        ..FetchConfig::default()
    };
    let mut hosts = HashMap::new();
    let mut urls = Vec::new();
    for line in text.lines() {
        let url = CrawlUrl::parse(line).with_context(|| line.to_owned())?;
        let known = hosts.len();
        let host = *hosts.entry(url.host().to_owned()).or_insert(known);
        urls.push((url, host));
    }
    Ok(Course {
        fetcher: HttpFetcher::new(&config)?,
        urls,
        addresses: hosts.values().map(|_| OnceCell::new()).collect(),
        timeout: Duration::from_secs(arguments.timeout),
        max_body: config.max_body,
        next: AtomicUsize::new(0),
        pages: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        packing: arguments.pack.then(Packing::default),
    })
}

async fn run(course: Arc<Course>) {
    while let Some((url, host)) = course.urls.get(course.next.fetch_add(1, Ordering::Relaxed)) {
        let counter = match fetch(&course, url, *host).await {
            Ok(()) => &course.pages,
            Err(_) => &course.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

async fn fetch(course: &Course, url: &CrawlUrl, host: usize) -> Result<(), FetchFailure> {
    let address = course.addresses[host]
        .get_or_try_init(|| async {
            let found = course.fetcher.resolve(url.host(), url.port()).await?;
            Ok(found.addresses[0])
        })
        .await?;
    let request = Request {
        url: url.clone(),
        is_head: false,
        address: Some(*address),
        cookie: None,
        credentials: false,
        max_body: course.max_body,
        timeout: course.timeout,
        patience: None,
        recording: None,
        pauses: None,
        slots: None,
        first_byte: None,
        spaced: false,
        condition: None,
        streams: 1,
    };
    let mut response = course.fetcher.fetch(request).await?;
    let mut body = Vec::new();
    while let Some(chunk) = response.body.chunk().await? {
        course
            .bytes
            .fetch_add(chunk.len() as u64, Ordering::Relaxed);
        if course.packing.is_some() {
            body.extend_from_slice(&chunk);
        }
    }
    if let Some(packing) = &course.packing {
        packing.pack(&body);
    }
    Ok(())
}
