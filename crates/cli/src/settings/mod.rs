//! Every setting of a crawl as people write it, on the command line and in `clewline.toml`.
//!
//! Owns the names, the help texts and the groups. A field is both a flag and a key of the file,
//! so the two cannot drift apart. It refuses to know what the texts mean: values stay text until
//! `resolve` reads them, because only then can all problems be told at once.

pub(crate) mod file;
pub(crate) mod layer;
pub(crate) mod problem;
pub(crate) mod quantity;
pub(crate) mod reference;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, Args, Command};
use serde::{Deserialize, Serialize};

/// All settings; everything is optional.
#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[serde(default)]
pub(crate) struct Settings {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) input: InputSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) scope: ScopeSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) budget: BudgetSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) pace: PaceSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) request: RequestSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) network: NetworkSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) output: OutputSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) console: ConsoleSettings,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Roots")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct InputSettings {
    /// Where to start; without a scheme, https is tried first, then http
    #[arg(value_name = "URL", display_order = 0)]
    pub(crate) url: Vec<String>,
    /// Read more roots from a file, one per line; `#` starts a comment, `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) input_file: Vec<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Scope")]
#[serde(default, rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct ScopeSettings {
    /// How far to follow links from the roots
    #[arg(long, value_name = "REACH", value_parser = Choice(REACHES))]
    pub(crate) scope: Option<String>,
    /// Stay at or below the roots' folders (same as `--scope path`)
    #[arg(long)]
    pub(crate) no_parent: bool,
    /// Include the roots' whole domains (same as `--scope domain`)
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Stay on the roots' hosts (same as `--scope host`)
    #[arg(long)]
    pub(crate) strict: bool,
    /// Only follow URLs that match this regular expression; repeatable
    #[arg(long, value_name = "REGEX", alias = "accept-regex")]
    pub(crate) include: Vec<String>,
    /// Skip URLs that match this regular expression; repeatable
    #[arg(long, value_name = "REGEX", alias = "reject-regex")]
    pub(crate) exclude: Vec<String>,
    /// Maximum number of links away from a root; 0 fetches only the roots
    #[arg(short, long, value_name = "N", alias = "level")]
    pub(crate) depth: Option<String>,
    /// Also fetch images, styles, scripts and fonts
    #[arg(short, long)]
    pub(crate) page_requisites: bool,
    /// With --page-requisites, skip images that scripts load later (such as `data-src`)
    #[arg(long)]
    pub(crate) no_lazy_images: bool,
    /// Media types to download completely, `text/*,application/pdf`
    #[arg(long, value_name = "TYPES")]
    pub(crate) accept_types: Vec<String>,
    /// Ignore these query parameters, `utm_*,sid`
    #[arg(long, value_name = "NAMES")]
    pub(crate) drop_params: Vec<String>,
    /// Do not read sitemaps
    #[arg(long)]
    pub(crate) no_sitemaps: bool,
    /// Follow links marked nofollow
    #[arg(long)]
    pub(crate) follow_nofollow: bool,
    /// Ignore robots.txt; only for your own sites
    #[arg(long)]
    pub(crate) ignore_robots: bool,
    /// Also fetch URLs that look like an endless trap
    #[arg(long)]
    pub(crate) no_trap_detection: bool,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Budgets")]
#[serde(default, rename_all = "kebab-case")]
#[expect(
    clippy::struct_field_names,
    reason = "the fields are named as their flags"
)]
pub(crate) struct BudgetSettings {
    /// Stop after this many pages; images and other parts do not count
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) max_pages: Option<String>,
    /// Maximum number of pages per host
    #[arg(long, value_name = "N")]
    pub(crate) max_pages_per_host: Option<String>,
    /// Stop after this much network traffic, `500M`
    #[arg(long, value_name = "SIZE", alias = "quota")]
    pub(crate) max_bytes: Option<String>,
    /// Stop after this time, `1h30m`
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<String>,
    /// Maximum number of links to take from a page
    #[arg(long, value_name = "N")]
    pub(crate) max_links: Option<String>,
    /// Skip URLs longer than this many bytes
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_url: Option<String>,
    /// Skip URLs in which a path segment occurs more often than this
    #[arg(long, value_name = "N")]
    pub(crate) max_repeats: Option<String>,
    /// Give up a host after this many failures in a row
    #[arg(long, value_name = "N")]
    pub(crate) max_host_failures: Option<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Politeness")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct PaceSettings {
    /// How fast to ask a host; use fast and max only on your own sites
    #[arg(long, value_name = "SPEED", value_parser = Choice(SPEEDS))]
    pub(crate) speed: Option<String>,
    /// Wait this long between requests to a host, one at a time, `500ms`
    #[arg(long, value_name = "TIME", alias = "wait")]
    pub(crate) delay: Option<String>,
    /// Maximum request rate per host, `5/s`, `30/m`
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Maximum number of parallel requests; a quarter is reserved for hosts that have answered
    #[arg(long, value_name = "N", alias = "max_tasks")]
    pub(crate) concurrency: Option<String>,
    /// Maximum number of parallel requests per host
    #[arg(long, value_name = "N")]
    pub(crate) host_concurrency: Option<String>,
    /// Ignore Crawl-delay in robots.txt; only for your own sites
    #[arg(long)]
    pub(crate) ignore_crawl_delay: bool,
    /// Maximum number of attempts per URL
    #[arg(short, long, value_name = "N", alias = "max_tries")]
    pub(crate) tries: Option<String>,
    /// Wait this long before the second attempt; doubles each time
    #[arg(long, value_name = "TIME")]
    pub(crate) retry_delay: Option<String>,
    /// Wait at most this long for a Retry-After, then try another URL
    #[arg(long, value_name = "TIME")]
    pub(crate) max_retry_after: Option<String>,
    /// Wait this long before asking again for a robots.txt that failed
    #[arg(long, value_name = "TIME")]
    pub(crate) robots_retry: Option<String>,
    /// Address ranges shared by many unrelated hosts, such as a CDN's
    #[arg(long, value_name = "CIDR")]
    pub(crate) shared_addresses: Vec<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Requests")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct RequestSettings {
    /// Replace the whole User-Agent
    #[arg(short = 'A', long, value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
    /// Your URL or email address, added to the User-Agent
    #[arg(long, value_name = "CONTACT")]
    pub(crate) contact: Option<String>,
    /// Send this header, `Name: value`, to the roots' origins only
    #[arg(short = 'H', long, value_name = "FIELD")]
    pub(crate) header: Vec<String>,
    /// Send this name and password to the roots' origins only
    #[arg(short, long, value_name = "USER:PASS")]
    pub(crate) user: Option<String>,
    /// Load cookies from a cookies.txt file
    #[arg(short = 'b', long, value_name = "FILE", alias = "load-cookies")]
    pub(crate) cookies: Option<String>,
    /// Disable cookies
    #[arg(long)]
    pub(crate) no_cookies: bool,
    /// Maximum time for a complete response
    #[arg(short = 'T', long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Maximum time to connect, including TLS
    #[arg(long, value_name = "TIME")]
    pub(crate) connect_timeout: Option<String>,
    /// Maximum time until the first byte of a response
    #[arg(long, value_name = "TIME")]
    pub(crate) first_byte_timeout: Option<String>,
    /// Truncate bodies at this size
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_body: Option<String>,
    /// Maximum number of redirects in a row
    #[arg(long, value_name = "N", alias = "max_redirect")]
    pub(crate) max_redirects: Option<String>,
    /// Maximum size of response headers
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_head: Option<String>,
    /// Give up responses slower than this many bytes per second; 0 never does
    #[arg(long, value_name = "SIZE")]
    pub(crate) min_rate: Option<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Network")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct NetworkSettings {
    /// Use a proxy, `http://host:3128` or `socks5://host:1080`
    #[arg(short = 'x', long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Do not use the proxy for these hosts, `localhost,.example.com`
    #[arg(long, value_name = "HOSTS")]
    pub(crate) noproxy: Vec<String>,
    /// Accept any certificate
    #[arg(short = 'k', long, alias = "no-check-certificate")]
    pub(crate) insecure: bool,
    /// Trust the certificate authorities in this PEM file as well
    #[arg(long, value_name = "FILE", alias = "ca-certificate")]
    pub(crate) cacert: Option<String>,
    /// Use this address for a host, as in curl: `HOST:PORT:ADDRESS[,ADDRESS]`
    #[arg(long, value_name = "ENTRY")]
    pub(crate) resolve: Vec<String>,
    /// Connect to another host, as in curl: `HOST1:PORT1:HOST2:PORT2`
    #[arg(long, value_name = "ENTRY")]
    pub(crate) connect_to: Vec<String>,
    /// Use this DNS server, `9.9.9.9` or `127.0.0.1:5353`
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) dns: Option<String>,
    /// Allow private addresses, all of them or a range
    #[arg(long, value_name = "CIDR", num_args = 0..=1, require_equals = true,
          default_missing_value = ALL_PRIVATE)]
    pub(crate) allow_private: Vec<String>,
    /// Maximum number of idle connections to keep
    #[arg(long, value_name = "N")]
    pub(crate) idle_connections: Option<String>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch that users know by name"
)]
#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Output")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct OutputSettings {
    /// The job folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<String>,
    /// Replace an existing job folder
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Write nothing to disk
    #[arg(long)]
    pub(crate) no_output: bool,
    /// Keep the state in memory only; the crawl cannot be resumed
    #[arg(long)]
    pub(crate) in_memory: bool,
    /// Continue an unfinished crawl with a changed scope
    #[arg(long)]
    pub(crate) rescope: bool,
    /// Repair a damaged job from its archive, then continue
    #[arg(long)]
    pub(crate) repair: bool,
    /// Memory to use for active hosts, responses and caches
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Pause while less disk space than this is free
    #[arg(long, value_name = "SIZE")]
    pub(crate) min_free: Option<String>,
    /// Do not write a WARC archive
    #[arg(long)]
    pub(crate) no_archive: bool,
    /// How to compress the archive: gzip with little, usual or more work, or zstd, which is much
    /// smaller and read by fewer tools
    #[arg(long, value_name = "HOW", value_parser = Choice(COMPRESSIONS))]
    pub(crate) warc_compression: Option<String>,
    /// Same as --warc-compression zstd
    #[arg(long)]
    pub(crate) warc_zstd: bool,
    /// Start a new WARC file at this size
    #[arg(long, value_name = "SIZE")]
    pub(crate) warc_size: Option<String>,
    /// Store cookies, passwords and --header values in the archive
    #[arg(long)]
    pub(crate) archive_secrets: bool,
    /// Only fetch what changed since the crawl in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) update_from: Option<String>,
    /// Do not store what the crawl in this folder already stored
    #[arg(long, value_name = "DIR")]
    pub(crate) dedup_from: Vec<String>,
    /// Export when the crawl ends, `markdown,parquet,index`; the index grows during the crawl
    #[arg(long, value_name = "FORMS")]
    pub(crate) to: Vec<String>,
    /// Extract items with the rules in this file, for jsonl and parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<String>,
    /// Print one line per URL at the end
    #[arg(long)]
    pub(crate) list: bool,
    /// How to print the report
    #[arg(long, value_name = "FORMAT", value_parser = Choice(FORMATS))]
    pub(crate) format: Option<String>,
    /// Exit with 1 if links are broken, requests failed (error), or either (any)
    #[arg(long, value_name = "WHAT", value_parser = Choice(FAIL_ON))]
    pub(crate) fail_on: Option<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Messages")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct ConsoleSettings {
    /// Hide progress and notes; keep the report and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print each URL when it is done; -vv adds details
    #[arg(short, long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to use colour; auto obeys `NO_COLOR`
    #[arg(long, value_name = "WHEN", value_parser = Choice(COLOURS))]
    pub(crate) color: Option<String>,
}

/// One `[[host]]` table of the file: politeness of some hosts.
///
/// It is a set of flags only so that the file reader and the reference treat it as the others.
#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct HostSettings {
    /// Host name; a leading `*.` covers the subdomains too, `*` alone every host
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// As `speed` above
    #[arg(long)]
    pub(crate) speed: Option<String>,
    /// As `delay` above
    #[arg(long)]
    pub(crate) delay: Option<String>,
    /// As `rate` above
    #[arg(long)]
    pub(crate) rate: Option<String>,
    /// As `host-concurrency` above
    #[arg(long)]
    pub(crate) host_concurrency: Option<String>,
    /// As `ignore-crawl-delay` above
    #[arg(long)]
    pub(crate) ignore_crawl_delay: Option<bool>,
    /// Do not obey this host's robots.txt
    #[arg(long)]
    pub(crate) ignore_robots: Option<bool>,
    /// Pages to fetch from this host
    #[arg(long)]
    pub(crate) max_pages: Option<String>,
    /// Header fields for these hosts, whether they are a root's or not, as a list of `Name: value`
    #[arg(long)]
    pub(crate) header: Vec<String>,
}

pub(crate) const REACHES: &[&str] = &["page", "path", "host", "domain", "any"];
pub(crate) const SPEEDS: &[&str] = &["gentle", "polite", "fast", "max"];
pub(crate) const COMPRESSIONS: &[&str] = &["fast", "balanced", "small", "zstd"];
pub(crate) const FORMATS: &[&str] = &["text", "json"];
pub(crate) const FAIL_ON: &[&str] = &["broken", "error", "any"];
pub(crate) const COLOURS: &[&str] = &["auto", "always", "never"];

/// What `--allow-private` without a range stands for.
pub(crate) const ALL_PRIVATE: &str = "all";

/// Settings whose values never show.
pub(crate) const SECRETS: &[&str] = &["user", "header", "proxy"];

/// Offers values to help and completions, but takes any text: `resolve` refuses the others
/// together with all that is wrong elsewhere.
#[derive(Clone)]
struct Choice(&'static [&'static str]);

impl TypedValueParser for Choice {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            self.0.iter().map(|name| PossibleValue::new(*name)),
        ))
    }
}

/// The name of a setting in the file: that of its flag, or of the positional argument.
pub(crate) fn key_of(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_else(|| arg.get_id().as_str())
}

/// The definitions of all settings, in the order of the help.
pub(crate) fn definitions() -> Command {
    Settings::augment_args(Command::new("settings"))
}
