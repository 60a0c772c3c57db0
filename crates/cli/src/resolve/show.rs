//! The effective configuration for people: `--show-config`.
//!
//! Owns how each value is written, as a line of `clewline.toml` that can be used again, with
//! its origin behind. Secrets are named, never shown.

use std::fmt::Write as _;
use std::path::PathBuf;

use clewline::config::{Compression, Config, HostOverride, Reach, Secret};
use clewline_core::frontier::ROBOTS_RETRY;
use clewline_core::politeness::Politeness;

use super::{FailOn, Format, Options, Resolved, Talk};
use crate::message::{Colour, shown};
use crate::settings::layer::Origin;
use crate::settings::quantity::{show_period, show_rate, show_size};

/// Values begin in this column where the key is not longer.
const KEY_WIDTH: usize = 20;
const VALUE_WIDTH: usize = 28;
const SECRET: &str = "(secret)";

/// How one setting stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A value as the file has it.
    Value(String),
    /// No value; what that means.
    Unset(&'static str),
}

/// The whole configuration, a line per setting.
pub(crate) fn show(resolved: &Resolved) -> String {
    let mut text = String::from("# The effective configuration; what follows # is its origin.\n");
    for (key, standing) in standings(&resolved.config, resolved.options) {
        let origin = resolved.origins.origin(key);
        let (mark, value) = match (&standing, &origin) {
            (Standing::Unset(_), Origin::Environment(_)) => ("# ", SECRET.to_owned()),
            (Standing::Unset(meaning), _) => ("# ", format!("({meaning})")),
            (Standing::Value(value), _) if value.contains(SECRET) => ("# ", value.clone()),
            (Standing::Value(value), _) => ("", value.clone()),
        };
        let key = format!("{mark}{key}");
        let value = shown(&value);
        let _ = writeln!(text, "{key:<KEY_WIDTH$} = {value:<VALUE_WIDTH$} # {origin}");
    }
    let fields = &resolved.config.fetch.host_headers;
    for (number, host) in resolved.config.politeness.hosts.iter().enumerate() {
        let fields = fields.get(number).map_or(&[][..], |table| &table.headers);
        let _ = writeln!(
            text,
            "# host {}: {}",
            shown(&host.host),
            shown(&host_line(host, fields))
        );
    }
    text
}

/// Settings of a command, or with a meaning beyond their text: a job that goes on has them
/// otherwise.
const NOT_REUSED: [&str; 13] = [
    "url",
    "output",
    "overwrite",
    "no-output",
    "in-memory",
    "rescope",
    "cookies",
    "list",
    "format",
    "fail-on",
    "quiet",
    "verbose",
    "color",
];

/// What a job that goes on takes over, as lines of a file; secrets are left out.
pub(crate) fn reusable(config: &Config) -> String {
    let mut text = String::new();
    for (key, standing) in standings(config, Options::default()) {
        if let Standing::Value(value) = standing
            && !NOT_REUSED.contains(&key)
            && !value.contains(SECRET)
        {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text
}

fn host_line(host: &HostOverride, fields: &[(String, Secret)]) -> String {
    let figures = [
        host.speed.map(|speed| format!("speed {}", speed.name())),
        host.delay
            .map(|delay| format!("delay {}", show_period(delay))),
        host.rate.map(|rate| format!("rate {}", show_rate(rate))),
        host.host_concurrency
            .map(|number| format!("host-concurrency {number}")),
        host.ignore_crawl_delay
            .map(|yes| format!("ignore-crawl-delay {yes}")),
        host.ignore_robots.map(|yes| format!("ignore-robots {yes}")),
        host.max_pages.map(|number| format!("max-pages {number}")),
    ];
    let fields = fields
        .iter()
        .map(|(name, _)| format!("header {name}: {SECRET}"));
    figures
        .into_iter()
        .flatten()
        .chain(fields)
        .collect::<Vec<String>>()
        .join(", ")
}

/// Every setting with its value, in the order of the help.
fn standings(config: &Config, options: Options) -> Vec<(&'static str, Standing)> {
    let mut all = of_scope(config);
    all.extend(of_budget(config));
    all.extend(of_pace(config));
    all.extend(of_fetch(config));
    all.extend(of_output(config, options));
    all
}

/// Every setting as it stands where nobody says anything.
pub(crate) fn defaults() -> Vec<(&'static str, Standing)> {
    let mut config = Config::default();
    config.output.folder = Some("<host>.crawl".into());
    standings(&config, Options::default())
}

type Standings = Vec<(&'static str, Standing)>;

fn of_scope(config: &Config) -> Standings {
    let scope = &config.scope;
    let roots: Vec<&str> = config.roots.iter().map(|root| root.url.as_str()).collect();
    let reach = match scope.reach {
        Reach::Page => "page",
        Reach::Path => "path",
        Reach::Host => "host",
        Reach::Domain => "domain",
        Reach::Any => "any",
    };
    vec![
        ("url", list(&roots)),
        ("scope", text(reach)),
        ("include", list(&scope.include)),
        ("exclude", list(&scope.exclude)),
        ("depth", number(config.limits.depth, "unlimited")),
        ("page-requisites", switch(scope.page_requisites)),
        ("no-lazy-images", switch(!config.extract.lazy_images)),
        ("accept-types", some_list(&scope.accept_types, "all")),
        ("drop-params", list(&scope.drop_params)),
        ("no-sitemaps", switch(!scope.sitemaps)),
        ("follow-nofollow", switch(scope.follow_nofollow)),
        ("ignore-robots", switch(!scope.robots)),
        ("no-trap-detection", switch(!scope.traps)),
    ]
}

fn of_budget(config: &Config) -> Standings {
    let limits = &config.limits;
    let size = |bytes: Option<u64>| maybe(bytes.map(show_size), "unlimited");
    vec![
        ("max-pages", number(limits.pages, "unlimited")),
        (
            "max-pages-per-host",
            number(limits.pages_per_host, "unlimited"),
        ),
        ("max-bytes", size(limits.bytes)),
        ("max-time", maybe(limits.time.map(show_period), "unlimited")),
        ("max-links", number(Some(config.extract.max_links), "")),
        ("max-url", size(Some(limits.url_length as u64))),
        ("max-repeats", number(Some(limits.repeated_segments), "")),
        ("max-host-failures", number(Some(limits.host_failures), "")),
    ]
}

fn of_pace(config: &Config) -> Standings {
    let (pace, limits) = (&config.politeness, &config.limits);
    // The same at every speed, so it is no matter which one is asked.
    let usual = Politeness::default();
    let retry_delay = pace.retry_delay.unwrap_or(usual.retry_delay);
    let max_retry_after = pace.max_retry_after.unwrap_or(usual.longest_retry_after);
    let robots_retry = pace.robots_retry.unwrap_or(ROBOTS_RETRY);
    let by_speed = "by the speed";
    let speed = pace.speed.map(|speed| speed.name().to_owned());
    let shared: Vec<String> = pace
        .shared_addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    vec![
        ("speed", maybe(speed, "polite; max on loopback")),
        ("delay", maybe(pace.delay.map(show_period), by_speed)),
        ("rate", maybe(pace.rate.map(show_rate), by_speed)),
        ("concurrency", number(Some(limits.concurrency), "")),
        ("host-concurrency", number(pace.host_concurrency, by_speed)),
        ("ignore-crawl-delay", switch(pace.ignore_crawl_delay)),
        ("tries", number(Some(limits.tries), "")),
        ("retry-delay", text(&show_period(retry_delay))),
        ("max-retry-after", text(&show_period(max_retry_after))),
        ("robots-retry", text(&show_period(robots_retry))),
        ("shared-addresses", list(&shared)),
    ]
}

fn of_fetch(config: &Config) -> Standings {
    let fetch = &config.fetch;
    let secret = |is_set: bool| maybe(is_set.then(|| SECRET.to_owned()), "none");
    let headers: Vec<String> = fetch
        .headers
        .iter()
        .map(|(name, _)| format!("{name}: {SECRET}"))
        .collect();
    let private: Vec<String> = fetch
        .allow_private
        .iter()
        .map(ToString::to_string)
        .collect();
    vec![
        (
            "user-agent",
            maybe(fetch.user_agent.clone(), "clewline's own"),
        ),
        ("contact", maybe(fetch.contact.clone(), "none")),
        ("header", list(&headers)),
        ("user", secret(fetch.user.is_some())),
        ("cookies", path(fetch.cookie_file.as_ref())),
        ("no-cookies", switch(!fetch.cookies)),
        ("timeout", text(&show_period(fetch.timeout))),
        ("connect-timeout", text(&show_period(fetch.connect_timeout))),
        (
            "first-byte-timeout",
            text(&show_period(fetch.first_byte_timeout)),
        ),
        ("max-body", text(&show_size(fetch.max_body))),
        ("max-redirects", number(Some(config.limits.redirects), "")),
        ("max-head", text(&show_size(fetch.max_head as u64))),
        ("min-rate", text(&show_size(fetch.min_rate))),
        ("proxy", secret(fetch.proxy.is_some())),
        ("noproxy", list(&fetch.no_proxy)),
        ("insecure", switch(fetch.insecure)),
        ("cacert", path(fetch.cacert.as_ref())),
        ("resolve", list(&fetch.resolve)),
        ("connect-to", list(&fetch.connect_to)),
        (
            "dns",
            maybe(fetch.dns.map(|address| address.to_string()), "the system's"),
        ),
        (
            "allow-private",
            some_list(&private, "only what the roots themselves use"),
        ),
        ("idle-connections", number(Some(fetch.idle_connections), "")),
    ]
}

fn of_output(config: &Config, options: Options) -> Standings {
    let folder = config.output.folder.as_ref();
    let fail_on = options.fail_on.map(|what| match what {
        FailOn::Broken => "broken",
        FailOn::Error => "error",
        FailOn::Any => "any",
    });
    let format = match options.format {
        Format::Text => "text",
        Format::Json => "json",
    };
    let colour = match options.colour {
        Colour::Auto => "auto",
        Colour::Always => "always",
        Colour::Never => "never",
    };
    let archive = &config.output.archive;
    let compression = match archive.compression {
        Compression::Fast => "fast",
        Compression::Balanced => "balanced",
        Compression::Small => "small",
        Compression::Zstd => "zstd",
    };
    let verbose = match options.talk {
        Talk::Verbose(more) => more,
        Talk::Quiet | Talk::Normal => 0,
    };
    vec![
        (
            "output",
            maybe(
                folder.map(|path| path.to_string_lossy().into_owned()),
                "none",
            ),
        ),
        ("overwrite", switch(config.output.overwrite)),
        ("no-output", switch(folder.is_none())),
        ("in-memory", switch(config.output.in_memory)),
        ("rescope", switch(config.output.rescope)),
        ("repair", switch(config.output.repair)),
        ("memory", text(&show_size(config.output.memory.0))),
        ("min-free", text(&show_size(config.output.min_free.0))),
        ("no-archive", switch(!archive.write)),
        ("warc-compression", text(compression)),
        ("warc-size", text(&show_size(archive.file_size))),
        ("archive-secrets", switch(archive.keep_secrets)),
        ("update-from", path(archive.update_from.as_ref())),
        ("dedup-from", list(&folders(&archive.dedup_from))),
        ("to", list(&config.output.views)),
        ("rules", path(config.output.rules.as_ref())),
        ("list", switch(options.list)),
        ("format", text(format)),
        ("fail-on", maybe(fail_on.map(str::to_owned), "nothing")),
        ("quiet", switch(options.talk == Talk::Quiet)),
        ("verbose", Standing::Value(verbose.to_string())),
        ("color", text(colour)),
    ]
}

fn path(path: Option<&PathBuf>) -> Standing {
    maybe(path.map(|path| path.to_string_lossy().into_owned()), "none")
}

fn folders(paths: &[PathBuf]) -> Vec<String> {
    let texts = paths.iter().map(|path| path.to_string_lossy().into_owned());
    texts.collect()
}

fn text(value: &str) -> Standing {
    Standing::Value(literal(value))
}

fn switch(is_on: bool) -> Standing {
    Standing::Value(is_on.to_string())
}

fn number(value: Option<impl ToString>, meaning: &'static str) -> Standing {
    value.map_or(Standing::Unset(meaning), |value| {
        Standing::Value(value.to_string())
    })
}

fn maybe(value: Option<String>, meaning: &'static str) -> Standing {
    value.map_or(Standing::Unset(meaning), |value| text(&value))
}

fn list(values: &[impl AsRef<str>]) -> Standing {
    let values: Vec<String> = values.iter().map(|value| literal(value.as_ref())).collect();
    Standing::Value(format!("[{}]", values.join(", ")))
}

fn some_list(values: &[String], meaning: &'static str) -> Standing {
    if values.is_empty() {
        Standing::Unset(meaning)
    } else {
        list(values)
    }
}

/// A TOML string; the library knows which quotes a text needs.
fn literal(value: &str) -> String {
    toml::Value::from(value).to_string()
}
