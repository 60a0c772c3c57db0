//! The parts of the configuration, each from its group of settings.
//!
//! Owns the range of every value. Which value wins and what holds between parts is decided
//! elsewhere.

use std::path::PathBuf;
use std::time::Duration;

use clewline::config::{ExtractConfig, FetchConfig, PolitenessConfig, Reach, ScopeConfig};
use clewline_core::limits::Limits;
use clewline_core::politeness::Speed;

use super::read::{Reader, items, written};
use super::wire;
use crate::settings::Settings;

const REACHES: [(&str, Reach); 5] = [
    ("page", Reach::Page),
    ("path", Reach::Path),
    ("host", Reach::Host),
    ("domain", Reach::Domain),
    ("any", Reach::Any),
];
pub(super) const SPEEDS: [(&str, Speed); 4] = [
    ("gentle", Speed::Gentle),
    ("polite", Speed::Polite),
    ("fast", Speed::Fast),
    ("max", Speed::Max),
];
/// A day is longer than any time-out or delay that is meant.
pub(super) const LONGEST_PERIOD: Duration = Duration::from_hours(24);
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);
const LONGEST_CRAWL: Duration = Duration::from_hours(24 * 3660);
pub(super) const SLOWEST_RATE: f64 = 1.0 / 86_400.0;
pub(super) const FASTEST_RATE: f64 = 1_000_000.0;
pub(super) const MOST_IN_FLIGHT: u32 = 100_000;
/// Bodies are held and spooled; what is larger than this is not a page.
const LARGEST_BODY: u64 = 1 << 40;
const LARGEST_HEAD: u64 = 16 << 20;
const LARGEST_PATTERN: usize = 10 << 20;
/// Longer URLs cannot be represented.
const LONGEST_URL: u64 = 64 * 1024 - 1;

pub(super) fn scope(reader: &mut Reader<'_>, settings: &Settings) -> ScopeConfig {
    let scope = &settings.scope;
    let reach = reader.choice(written("scope", scope.scope.as_ref()), &REACHES);
    ScopeConfig {
        reach: reach.unwrap_or_default(),
        include: reader.each("include", scope.include.iter().map(String::as_str), pattern),
        exclude: reader.each("exclude", scope.exclude.iter().map(String::as_str), pattern),
        page_requisites: scope.page_requisites,
        accept_types: reader.each("accept-types", items(&scope.accept_types), wire::media_type),
        drop_params: reader.each("drop-params", items(&scope.drop_params), wire::parameter),
        follow_nofollow: scope.follow_nofollow,
        sitemaps: !scope.no_sitemaps,
        robots: !scope.ignore_robots,
        traps: !scope.no_trap_detection,
    }
}

fn pattern(text: &str) -> Result<String, String> {
    let built = regex::RegexBuilder::new(text)
        .size_limit(LARGEST_PATTERN)
        .build();
    built.map(|_| text.to_owned()).map_err(|error| {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default();
        let last = last.strip_prefix("error: ").unwrap_or(last);
        format!("is not a regular expression: {last}")
    })
}

pub(super) fn politeness(reader: &mut Reader<'_>, settings: &Settings) -> PolitenessConfig {
    let pace = &settings.pace;
    let periods = Duration::ZERO..=LONGEST_PERIOD;
    let in_flight = written("host-concurrency", pace.host_concurrency.as_ref());
    let rates = SLOWEST_RATE..=FASTEST_RATE;
    PolitenessConfig {
        speed: reader.choice(written("speed", pace.speed.as_ref()), &SPEEDS),
        delay: reader.period(written("delay", pace.delay.as_ref()), &periods),
        rate: reader.rate(written("rate", pace.rate.as_ref()), &rates),
        host_concurrency: reader.small_count(in_flight, 1..=MOST_IN_FLIGHT),
        ignore_crawl_delay: pace.ignore_crawl_delay,
        shared_addresses: reader.each(
            "shared-addresses",
            items(&pace.shared_addresses),
            str::parse,
        ),
        retry_delay: reader.period(written("retry-delay", pace.retry_delay.as_ref()), &periods),
        max_retry_after: reader.period(
            written("max-retry-after", pace.max_retry_after.as_ref()),
            &periods,
        ),
        robots_retry: reader.period(
            written("robots-retry", pace.robots_retry.as_ref()),
            &periods,
        ),
        hosts: Vec::new(),
    }
}

pub(super) fn limits(reader: &mut Reader<'_>, settings: &Settings) -> Limits {
    let (budget, pace) = (&settings.budget, &settings.pace);
    let base = Limits::default();
    let any = &(1..=super::LARGEST_NUMBER);
    let times = SHORTEST_TIMEOUT..=LONGEST_CRAWL;
    let mut small = |key, text, range, default| {
        reader
            .small_count(written(key, text), range)
            .unwrap_or(default)
    };
    let concurrency = small(
        "concurrency",
        pace.concurrency.as_ref(),
        1..=MOST_IN_FLIGHT,
        base.concurrency,
    );
    let tries = small("tries", pace.tries.as_ref(), 1..=1000, base.tries);
    let redirects = settings.request.max_redirects.as_ref();
    let redirects = small("max-redirects", redirects, 0..=100, base.redirects);
    let failures = budget.max_host_failures.as_ref();
    let host_failures = small(
        "max-host-failures",
        failures,
        1..=1_000_000,
        base.host_failures,
    );
    let repeats = budget.max_repeats.as_ref();
    let repeats = small(
        "max-repeats",
        repeats,
        1..=1000,
        base.repeated_segments as u32,
    );
    let per_host = written("max-pages-per-host", budget.max_pages_per_host.as_ref());
    let url_length = reader.size(
        written("max-url", budget.max_url.as_ref()),
        &(16..=LONGEST_URL),
    );
    let pages = written("max-pages", budget.max_pages.as_ref());
    let page_count = reader.count(pages, any);
    if pages.text == Some("p") {
        reader.hint("wget's -np is --no-parent here");
    }
    let depth = written("depth", settings.scope.depth.as_ref());
    Limits {
        concurrency,
        tries,
        redirects,
        depth: reader.small_count(depth, 0..=u32::MAX - 1),
        pages: page_count,
        pages_per_host: reader.count(per_host, any),
        bytes: reader.size(written("max-bytes", budget.max_bytes.as_ref()), any),
        time: reader.period(written("max-time", budget.max_time.as_ref()), &times),
        url_length: url_length.map_or(base.url_length, |bytes| bytes as usize),
        repeated_segments: repeats as usize,
        host_failures,
    }
}

pub(super) fn fetch(reader: &mut Reader<'_>, settings: &Settings) -> FetchConfig {
    let (request, network) = (&settings.request, &settings.network);
    let base = FetchConfig::default();
    let times = &(SHORTEST_TIMEOUT..=LONGEST_PERIOD);
    let timeout = reader.period(written("timeout", request.timeout.as_ref()), times);
    let connect = written("connect-timeout", request.connect_timeout.as_ref());
    let connect_timeout = reader.period(connect, times);
    let first_byte = written("first-byte-timeout", request.first_byte_timeout.as_ref());
    let first_byte_timeout = reader.period(first_byte, times);
    let max_body = written("max-body", request.max_body.as_ref());
    let max_body = reader.size(max_body, &(1..=LARGEST_BODY));
    let max_head = reader.size(
        written("max-head", request.max_head.as_ref()),
        &(1024..=LARGEST_HEAD),
    );
    let min_rate = reader.size(
        written("min-rate", request.min_rate.as_ref()),
        &(0..=LARGEST_BODY),
    );
    let idle = written("idle-connections", network.idle_connections.as_ref());
    let idle = reader.small_count(idle, 0..=MOST_IN_FLIGHT);
    let header = request.header.iter().map(String::as_str);
    let private = network.allow_private.iter().map(String::as_str);
    FetchConfig {
        user_agent: reader.one(
            written("user-agent", request.user_agent.as_ref()),
            wire::user_agent,
        ),
        contact: reader.one(written("contact", request.contact.as_ref()), wire::contact),
        headers: reader.each("header", header, wire::header),
        host_headers: Vec::new(),
        user: reader.one(written("user", request.user.as_ref()), wire::user),
        proxy: reader.one(written("proxy", network.proxy.as_ref()), wire::proxy),
        no_proxy: items(&network.noproxy).map(str::to_owned).collect(),
        insecure: network.insecure,
        cacert: reader.one(written("cacert", network.cacert.as_ref()), existing_file),
        resolve: reader.each(
            "resolve",
            network.resolve.iter().map(String::as_str),
            wire::resolve,
        ),
        connect_to: reader.each(
            "connect-to",
            network.connect_to.iter().map(String::as_str),
            wire::connect_to,
        ),
        dns: reader.one(written("dns", network.dns.as_ref()), wire::dns),
        allow_private: reader
            .each("allow-private", private, wire::private_range)
            .concat(),
        cookies: !request.no_cookies,
        cookie_file: reader.one(written("cookies", request.cookies.as_ref()), existing_file),
        timeout: timeout.unwrap_or(base.timeout),
        connect_timeout: covered(
            reader.is_written("connect-timeout"),
            connect_timeout.unwrap_or(base.connect_timeout),
            timeout.unwrap_or(base.timeout),
        ),
        // Whoever names a time for the whole answer means the wait for its beginning, too.
        first_byte_timeout: covered(
            reader.is_written("first-byte-timeout"),
            first_byte_timeout
                .or(timeout)
                .unwrap_or(base.first_byte_timeout),
            timeout.unwrap_or(base.timeout),
        ),
        max_body: max_body.unwrap_or(base.max_body),
        max_head: max_head.map_or(base.max_head, |bytes| bytes as usize),
        min_rate: min_rate.unwrap_or(base.min_rate),
        idle_connections: idle.map_or(base.idle_connections, |number| number as usize),
    }
}

/// A time that `--timeout` covers. One that nobody wrote for this run is never the longer one.
fn covered(is_written: bool, time: Duration, timeout: Duration) -> Duration {
    if is_written { time } else { time.min(timeout) }
}

fn existing_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err("is a folder, not a file".to_owned()),
        Ok(_) => Ok(path),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

pub(super) fn extract(reader: &mut Reader<'_>, settings: &Settings) -> ExtractConfig {
    let links = written("max-links", settings.budget.max_links.as_ref());
    let base = ExtractConfig::default();
    let links = reader.small_count(links, 1..=10_000_000);
    ExtractConfig {
        max_links: links.map_or(base.max_links, |number| number as usize),
        lazy_images: !settings.scope.no_lazy_images,
    }
}
