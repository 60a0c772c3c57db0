//! Asking whether links that lead away lead anywhere.
//!
//! Owns the crawls of external URLs: what is asked, that whatever is not good is asked again apart in
//! time, and what earlier runs add to an answer. It uses the library as anybody else does, so robots.txt,
//! Retry-After and pace are the engine's; it refuses to know rules and findings. Invariants: a URL is
//! called broken only after it was asked twice, with GET; a foreign host is asked by one request at a
//! time; nobody else's host sees a password.

mod cache;
mod plan;
mod settled;
mod verdict;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clewline::CrawlUrl;
use clewline_check::probe::{FailurePatience, HostSigns};
use clewline_check::settings::AcceptedStatus;
use clewline_check::{ProbeRow, ProbeTable};
use clewline_job::config::{Config, OutputConfig, PolitenessConfig, Reach, Root, ScopeConfig};

use self::cache::{CachedProbe, ProbeCache};
pub(crate) use self::plan::{ProbePlan, ProbeWish};
use self::settled::Settlements;
pub(crate) use self::verdict::now;
use super::watch::{CheckWatch, CrawlEnd};

/// The longest that an answer may take, head and all.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);
/// What is read of a page: its title and its ids.
const LARGEST_PAGE: u64 = 512 * 1024;
/// Media types of which the body is read.
const PAGES: [&str; 2] = ["text/html", "application/xhtml+xml"];
/// Tries of each of the two crawls, with the host's pause between.
const TRIES: u32 = 3;
/// Times in a row that a host may fail, or refuse to answer now, before the rest of its links is left
/// for another run. A crawl of a site has more patience: its pauses double up to ten minutes.
const HOST_FAILURES: u32 = 4;
/// Different links of a host that may fail in a row, some of them again, before the rest is left. A crawl
/// asks on for a hundred, the last of them once in ten seconds.
const HOST_LINKS: u32 = 8;
/// Wait between the tries for a robots.txt that cannot be read. A check is not the place to wait for
/// minutes; a host that cannot say what it allows is not asked.
const ROBOTS_WAIT: Duration = Duration::from_secs(5);
/// The longest gap between requests to a host that has trouble and names none. A crawl goes down to one in a
/// minute, and a host with twenty links would keep everybody waiting for as many minutes.
const LONGEST_GAP: Duration = Duration::from_secs(5);
/// A longer Retry-After leaves a link unchecked in this run.
const LONGEST_PAUSE: Duration = Duration::from_mins(2);

/// Stands for an order that no first round has.
const SECOND_ROUND: u64 = u64::MAX;

/// How often a path may repeat a segment: others may write their addresses as they like.
const MOST_REPEATS: usize = 1_000;

/// What is wanted of external URLs, by the URL without its fragment.
pub(crate) type ProbeWishes = BTreeMap<String, (CrawlUrl, ProbeWish)>;

/// Whether foreign hosts are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// Where what is remembered does not count any more.
    Anew,
    /// Never: what is remembered counts, however old it is.
    FromMemory,
    /// Never, and what is remembered does not count either.
    Nobody,
}

/// How external links are asked.
#[derive(Debug, Clone)]
pub(crate) struct ProbeSettings {
    pub(crate) asking: Asking,
    pub(crate) most_per_host: usize,
    /// When the check has to end.
    pub(crate) until: Option<Instant>,
    /// How long a link may fail before it is broken.
    pub(crate) patience: FailurePatience,
    /// Which statuses the user judges otherwise.
    pub(crate) accept: Vec<AcceptedStatus>,
    /// The file of the memory, if there is one.
    pub(crate) cache: Option<PathBuf>,
}

impl ProbeSettings {
    /// Whether anything can be known of an external link; else it is enough to count them.
    pub(crate) fn may_know(&self) -> bool {
        match self.asking {
            Asking::Anew => true,
            Asking::FromMemory => self.cache.as_ref().is_some_and(|path| path.is_file()),
            Asking::Nobody => false,
        }
    }
}

/// What became of external links.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// What rules ask.
    pub(crate) table: ProbeTable,
    /// How many have no row, since nobody asked them.
    pub(crate) unchecked: usize,
}

/// Asks what is not remembered, twice where it is not good, and remembers what came of it.
pub(crate) fn probe(
    wishes: &ProbeWishes,
    site: &Config,
    settings: &ProbeSettings,
    watch: &CheckWatch,
) -> anyhow::Result<Probes> {
    if !settings.may_know() {
        return Ok(Probes {
            unchecked: wishes.len(),
            ..Probes::default()
        });
    }
    let mut cache = remembered(settings, watch)?;
    let counts = |known: &&CachedProbe, wish| {
        settings.asking == Asking::FromMemory || known.counts(wish, verdict::now())
    };
    let mut probes = Probes::default();
    let mut open = Vec::new();
    for (url, wish) in wishes.values() {
        match cache.of(url).filter(|known| counts(known, wish)) {
            Some(known) => probes.table.insert(url.clone(), known.row.clone()),
            None => open.push(url.clone()),
        }
    }
    if settings.asking == Asking::Anew && !open.is_empty() {
        let runs = |url: &CrawlUrl| {
            let earlier = cache.of(url);
            earlier.map_or(0, |earlier| u64::from(earlier.row.failing.runs))
        };
        let plan = ProbePlan::new(open, settings.most_per_host, runs);
        let config = config_of_probes(site);
        if !watch.is_quiet() {
            let told = plan.told(&config.politeness, config.limits.concurrency);
            watch.voice().say(&told);
        }
        let rows = ask_twice(&plan, wishes, &config, settings, watch)?;
        keep(rows, wishes, settings, (&mut cache, &mut probes.table))?;
    }
    probes.table.spread_dead_hosts();
    let known = probes.table.rows().count();
    probes.unchecked = wishes.len() - known;
    Ok(probes)
}

/// Takes the rows of this run into the table and the memory.
fn keep(
    rows: BTreeMap<String, ProbeRow>,
    wishes: &ProbeWishes,
    settings: &ProbeSettings,
    (cache, table): (&mut ProbeCache, &mut ProbeTable),
) -> anyhow::Result<()> {
    let now = verdict::now();
    let seconds = u64::try_from(now.seconds()).unwrap_or(0);
    let asked = rows
        .iter()
        .filter_map(|(text, row)| Some((&wishes.get(text)?.0, row)));
    let hosts = HostSigns::new(asked);
    for (text, row) in rows {
        let Some((url, wish)) = wishes.get(&text) else {
            continue;
        };
        let earlier = cache.of(url).map(|earlier| &earlier.row);
        let row = hosts.settle((url, row), earlier, seconds, &settings.patience);
        cache.put(CachedProbe::new(url.clone(), row.clone(), wish, now));
        table.insert(url.clone(), row);
    }
    let Some(path) = &settings.cache else {
        return Ok(());
    };
    cache.forget(|url| wishes.contains_key(url), now);
    let written = cache.write(path);
    written.with_context(|| format!("{} cannot be written", path.display()))
}

fn remembered(settings: &ProbeSettings, watch: &CheckWatch) -> anyhow::Result<ProbeCache> {
    let Some(path) = &settings.cache else {
        return Ok(ProbeCache::default());
    };
    let (cache, passed_over) =
        ProbeCache::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    if passed_over > 0 && !watch.is_quiet() {
        watch.voice().note(&format!(
            "{}: {passed_over} lines make no sense; what they say is asked again",
            path.display()
        ));
    }
    Ok(cache)
}

/// The rows after both rounds, by URL. What was not asked is not among them, and neither is a failure
/// that nobody had the time to confirm.
fn ask_twice(
    plan: &ProbePlan,
    wishes: &ProbeWishes,
    config: &Config,
    settings: &ProbeSettings,
    watch: &CheckWatch,
) -> anyhow::Result<BTreeMap<String, ProbeRow>> {
    let mut found = ask(plan.urls.clone(), wishes, config, settings, watch)?;
    let needs_more = |url: &&CrawlUrl| {
        let first = found.get(url.as_str());
        first.is_some_and(ProbeRow::needs_another_asking)
    };
    let again: Vec<CrawlUrl> = plan.urls.iter().filter(needs_more).cloned().collect();
    if again.is_empty() {
        return Ok(found);
    }
    // Hosts with most left come first, so that their last try is far from their first.
    let again = ProbePlan::new(again, usize::MAX, |_| SECOND_ROUND).urls;
    let mut second = ask(again.clone(), wishes, config, settings, watch)?;
    for url in again {
        let text = url.as_str();
        let (Some(first), Some(later)) = (found.remove(text), second.remove(text)) else {
            continue;
        };
        found.insert(text.to_owned(), first.asked_again(later));
    }
    Ok(found)
}

/// One crawl over external URLs.
fn ask(
    urls: Vec<CrawlUrl>,
    wishes: &ProbeWishes,
    config: &Config,
    settings: &ProbeSettings,
    watch: &CheckWatch,
) -> anyhow::Result<BTreeMap<String, ProbeRow>> {
    let mut config = config.clone();
    if let Some(until) = settings.until {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(BTreeMap::new());
        }
        config.limits.time = Some(left);
    }
    config.roots = urls
        .iter()
        .map(|url| Root {
            url: url.clone(),
            guessed_scheme: false,
        })
        .collect();
    let mut settled = Settlements::default();
    let observer = settled.observer();
    let ran = watch.run_with_pages(config, observer, |page| {
        settled.take(&page, verdict::read_page);
    })?;
    if let CrawlEnd::Ran(summary) = &ran
        && let Some(error) = &summary.error
    {
        anyhow::bail!("external links could not be checked: {error}");
    }
    let rows = urls.into_iter().filter_map(|url| {
        let (_, wish) = wishes.get(url.as_str())?;
        let row = verdict::row(&url, &settled.answer(&url), wish, &settings.accept)?;
        Some((url.as_str().to_owned(), row))
    });
    Ok(rows.collect())
}

/// The crawl of external links, from that of the site: the same network and identity, and none of
/// what belongs to the site alone.
fn config_of_probes(site: &Config) -> Config {
    let mut config = Config {
        scope: ScopeConfig {
            reach: Reach::Page,
            accept_types: PAGES.map(str::to_owned).to_vec(),
            robots: site.scope.robots,
            sitemaps: false,
            traps: false,
            foreign_roots: true,
            ..ScopeConfig::default()
        },
        politeness: PolitenessConfig {
            host_concurrency: Some(1),
            robots_retry: site.politeness.robots_retry.or(Some(ROBOTS_WAIT)),
            max_retry_after: site.politeness.max_retry_after.or(Some(LONGEST_PAUSE)),
            max_gap: Some(LONGEST_GAP),
            ..site.politeness.clone()
        },
        fetch: site.fetch.clone(),
        output: OutputConfig {
            in_memory: true,
            memory: site.output.memory,
            ..OutputConfig::default()
        },
        ..Config::default()
    };
    for host in &mut config.politeness.hosts {
        host.host_concurrency = Some(1);
        host.max_pages = None;
    }
    config.limits.concurrency = site.limits.concurrency;
    config.limits.redirects = site.limits.redirects;
    config.limits.depth = Some(0);
    config.limits.tries = TRIES;
    config.limits.host_failures = HOST_FAILURES;
    config.limits.failed_pages = HOST_LINKS;
    config.limits.repeated_segments = MOST_REPEATS;
    let fetch = &mut config.fetch;
    fetch.headers = Vec::new();
    fetch.user = None;
    fetch.cookie_file = None;
    fetch.max_body = LARGEST_PAGE;
    fetch.timeout = fetch.timeout.min(LONGEST_ANSWER);
    fetch.first_byte_timeout = fetch.first_byte_timeout.min(LONGEST_ANSWER);
    fetch.connect_timeout = fetch.connect_timeout.min(fetch.timeout);
    config
}
