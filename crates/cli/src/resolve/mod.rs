//! Turns what people wrote into the one typed configuration.
//!
//! Owns the combination of flags, file and environment, the ranges of values and the rules
//! between settings. Everything that is wrong is told at once. After this step nobody looks at
//! texts again.

mod folder;
mod hosts;
mod read;
mod roots;
pub(crate) mod show;
mod wire;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clewline::config::{
    Config, ExtractConfig, FetchConfig, OutputConfig, PolitenessConfig, Reach, ScopeConfig,
};
use clewline::core::limits::Limits;
use clewline::core::politeness::Speed;

use self::read::{Reader, items, written};
use self::roots::Roots;
use crate::message::Colour;
use crate::settings::file::FileSettings;
use crate::settings::layer::{Layer, Origin};
use crate::settings::problem::Problem;
use crate::settings::{ConsoleSettings, OutputSettings, Settings};

/// The configuration of a crawl, and how the command is to behave around it.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) config: Config,
    pub(crate) options: Options,
    /// Where each value comes from.
    pub(crate) origins: Layer,
    /// What the first lines tell.
    pub(crate) notes: Vec<String>,
}

/// How the command behaves; the library need not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Options {
    pub(crate) list: bool,
    pub(crate) format: Format,
    pub(crate) fail_on: Option<FailOn>,
    pub(crate) talk: Talk,
    pub(crate) colour: Colour,
}

/// The form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

/// What makes a finished crawl exit with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailOn {
    /// A link that leads nowhere.
    Broken,
    /// A request that failed.
    Error,
    /// Either.
    Any,
}

/// How much the command says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Talk {
    Quiet,
    #[default]
    Normal,
    Verbose(u8),
}

/// What resolving needs from outside.
pub(crate) struct Environment {
    /// The variable that names a proxy, if one does; its value is the fetcher's business.
    pub(crate) proxy_variable: Option<&'static str>,
    /// Today, for the name of a job folder.
    pub(crate) date: String,
}

/// In the order in which they are asked for.
const PROXY_VARIABLES: [&str; 5] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "all_proxy",
    "ALL_PROXY",
];

impl Environment {
    pub(crate) fn of_process() -> Self {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            proxy_variable: PROXY_VARIABLES.into_iter().find(|name| is_set(name)),
            date: folder::date(SystemTime::now()),
        }
    }
}

const REACHES: [(&str, Reach); 5] = [
    ("page", Reach::Page),
    ("path", Reach::Path),
    ("host", Reach::Host),
    ("domain", Reach::Domain),
    ("any", Reach::Any),
];
const SPEEDS: [(&str, Speed); 4] = [
    ("gentle", Speed::Gentle),
    ("polite", Speed::Polite),
    ("fast", Speed::Fast),
    ("max", Speed::Max),
];
const FORMATS: [(&str, Format); 2] = [("text", Format::Text), ("json", Format::Json)];
const FAIL_ON: [(&str, FailOn); 3] = [
    ("broken", FailOn::Broken),
    ("error", FailOn::Error),
    ("any", FailOn::Any),
];
const COLOURS: [(&str, Colour); 3] = [
    ("auto", Colour::Auto),
    ("always", Colour::Always),
    ("never", Colour::Never),
];

/// A day is longer than any time-out or delay that is meant.
const LONGEST_PERIOD: Duration = Duration::from_hours(24);
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);
const LONGEST_CRAWL: Duration = Duration::from_hours(24 * 3660);
const SLOWEST_RATE: f64 = 1.0 / 86_400.0;
const FASTEST_RATE: f64 = 1_000_000.0;
const MOST_IN_FLIGHT: u32 = 100_000;
/// Bodies are held and spooled; what is larger than this is not a page.
const LARGEST_BODY: u64 = 1 << 40;
const LARGEST_HEAD: u64 = 16 << 20;
const LARGEST_PATTERN: usize = 10 << 20;
/// Longer URLs cannot be represented.
const LONGEST_URL: u64 = 64 * 1024 - 1;

/// Combines the sources, or says all that is wrong.
pub(crate) fn resolve(
    flags: &Settings,
    file: FileSettings,
    environment: &Environment,
) -> Result<Resolved, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut layer = Layer::of_flags(flags);
    layer.tidy(&mut problems);
    let mut lower = file.layer;
    lower.tidy(&mut problems);
    let mut origins = layer.over(lower);
    let settings: Settings = origins.read();
    if let Some(variable) = environment
        .proxy_variable
        .filter(|_| settings.network.proxy.is_none())
    {
        origins.insert(
            "proxy",
            serde_json::Value::Null,
            Origin::Environment(variable),
        );
    }

    let mut roots = Roots::new(&origins);
    roots.take(&settings.input.url);
    settings
        .input
        .input_file
        .iter()
        .for_each(|path| roots.take_file(path));
    problems.append(&mut roots.problems);

    let mut reader = Reader::new(&origins);
    let mut config = Config {
        roots: roots.found,
        scope: scope(&mut reader, &settings),
        politeness: politeness(&mut reader, &settings),
        limits: limits(&mut reader, &settings),
        fetch: fetch(&mut reader, &settings),
        extract: extract(&mut reader, &settings),
        output: OutputConfig::default(),
    };
    config.output = output(&settings.output, &config, &environment.date);
    let options = options(&mut reader, &settings.output, &settings.console);
    rules(&mut reader, &config);
    problems.append(&mut reader.into_problems());
    config.politeness.hosts = hosts::overrides(&file.hosts, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let notes = notes(&config, &origins);
    Ok(Resolved {
        config,
        options,
        origins,
        notes,
    })
}

fn scope(reader: &mut Reader<'_>, settings: &Settings) -> ScopeConfig {
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

fn politeness(reader: &mut Reader<'_>, settings: &Settings) -> PolitenessConfig {
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
        hosts: Vec::new(),
    }
}

fn limits(reader: &mut Reader<'_>, settings: &Settings) -> Limits {
    let (budget, pace) = (&settings.budget, &settings.pace);
    let base = Limits::default();
    let any = &(1..=u64::MAX);
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
    let depth = written("depth", settings.scope.depth.as_ref());
    Limits {
        concurrency,
        tries,
        redirects,
        depth: reader.small_count(depth, 0..=u32::MAX - 1),
        pages: reader.count(written("max-pages", budget.max_pages.as_ref()), any),
        pages_per_host: reader.count(per_host, any),
        bytes: reader.size(written("max-bytes", budget.max_bytes.as_ref()), any),
        time: reader.period(written("max-time", budget.max_time.as_ref()), &times),
        url_length: url_length.map_or(base.url_length, |bytes| bytes as usize),
        repeated_segments: repeats as usize,
        host_failures,
    }
}

fn fetch(reader: &mut Reader<'_>, settings: &Settings) -> FetchConfig {
    let (request, network) = (&settings.request, &settings.network);
    let base = FetchConfig::default();
    let times = &(SHORTEST_TIMEOUT..=LONGEST_PERIOD);
    let timeout = reader.period(written("timeout", request.timeout.as_ref()), times);
    let connect = written("connect-timeout", request.connect_timeout.as_ref());
    let connect_timeout = reader.period(connect, times);
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
        connect_timeout: connect_timeout.unwrap_or(base.connect_timeout),
        max_body: max_body.unwrap_or(base.max_body),
        max_head: max_head.map_or(base.max_head, |bytes| bytes as usize),
        min_rate: min_rate.unwrap_or(base.min_rate),
        idle_connections: idle.map_or(base.idle_connections, |number| number as usize),
    }
}

fn existing_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err("is a folder, not a file".to_owned()),
        Ok(_) => Ok(path),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

fn extract(reader: &mut Reader<'_>, settings: &Settings) -> ExtractConfig {
    let links = written("max-links", settings.budget.max_links.as_ref());
    let base = ExtractConfig::default();
    let links = reader.small_count(links, 1..=10_000_000);
    ExtractConfig {
        max_links: links.map_or(base.max_links, |number| number as usize),
    }
}

fn output(settings: &OutputSettings, config: &Config, date: &str) -> OutputConfig {
    let named = settings.output.as_ref().map(PathBuf::from);
    let folder = || named.unwrap_or_else(|| folder::name(&config.roots, date));
    OutputConfig {
        folder: (!settings.no_output).then(folder),
        overwrite: settings.overwrite,
    }
}

fn options(reader: &mut Reader<'_>, output: &OutputSettings, console: &ConsoleSettings) -> Options {
    let format = reader.choice(written("format", output.format.as_ref()), &FORMATS);
    let colour = reader.choice(written("color", console.color.as_ref()), &COLOURS);
    Options {
        list: output.list,
        format: format.unwrap_or_default(),
        fail_on: reader.choice(written("fail-on", output.fail_on.as_ref()), &FAIL_ON),
        talk: match console.verbose {
            _ if console.quiet => Talk::Quiet,
            0 => Talk::Normal,
            more => Talk::Verbose(more),
        },
        colour: colour.unwrap_or_default(),
    }
}

/// What holds between settings.
fn rules(reader: &mut Reader<'_>, config: &Config) {
    let fetch = &config.fetch;
    let agent_tells = fetch
        .user_agent
        .as_ref()
        .is_some_and(|agent| agent.contains(['@', ':']));
    if config.scope.reach == Reach::Any && fetch.contact.is_none() && !agent_tells {
        let message = "`any` leaves your own sites, so their owners must be able to reach you";
        reader.refuse("scope", message);
        reader.hint("add --contact you@example.com, or a URL about your crawler");
    }
    if fetch.connect_timeout > fetch.timeout && reader.is_given("connect-timeout") {
        reader.refuse(
            "connect-timeout",
            "is longer than --timeout, which covers it",
        );
    }
}

/// What a user may want to know before the first request.
fn notes(config: &Config, origins: &Layer) -> Vec<String> {
    let mut notes = Vec::new();
    let below = config.roots.iter().find(|root| root.url.path() != "/");
    if let Some(root) = below.filter(|_| origins.origin("scope") == Origin::Default) {
        let path = root.url.path();
        let folder = &path[..=path.rfind('/').unwrap_or(0)];
        if folder != "/" {
            notes.push(format!(
                "crawling all of {}; to stay below {folder} add --no-parent",
                root.url.authority()
            ));
        }
    }
    if !config.scope.robots {
        notes.push("robots.txt is ignored (--ignore-robots); only for your own sites".to_owned());
    }
    if config.fetch.insecure {
        notes.push("certificates are not checked (--insecure)".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
