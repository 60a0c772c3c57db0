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
    /// Where to begin; without a scheme https is tried, then http
    #[arg(value_name = "URL", display_order = 0)]
    pub(crate) url: Vec<String>,
    /// More roots, one per line, `#` begins a comment; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) input_file: Vec<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Scope")]
#[serde(default, rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct ScopeSettings {
    /// How far to go from the roots
    #[arg(long, value_name = "REACH", value_parser = Choice(REACHES))]
    pub(crate) scope: Option<String>,
    /// Stay at or below the roots' folders; the same as `--scope path`
    #[arg(long)]
    pub(crate) no_parent: bool,
    /// Cover the roots' whole domains; the same as `--scope domain`
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Stay on the roots' hosts; the same as `--scope host`
    #[arg(long)]
    pub(crate) strict: bool,
    /// Only URLs that match one of these regular expressions
    #[arg(long, value_name = "REGEX", alias = "accept-regex")]
    pub(crate) include: Vec<String>,
    /// No URL that matches one of these regular expressions
    #[arg(long, value_name = "REGEX", alias = "reject-regex")]
    pub(crate) exclude: Vec<String>,
    /// Links away from a root at the most; 0 is the roots alone
    #[arg(short, long, value_name = "N", alias = "level")]
    pub(crate) depth: Option<String>,
    /// Also fetch what pages are made of: images, styles, scripts, fonts
    #[arg(short, long)]
    pub(crate) page_requisites: bool,
    /// With --page-requisites, leave out images that scripts load later (`data-src` and the like)
    #[arg(long)]
    pub(crate) no_lazy_images: bool,
    /// Media types to read whole, `text/*,application/pdf`
    #[arg(long, value_name = "TYPES")]
    pub(crate) accept_types: Vec<String>,
    /// Query parameters that do not change a page, `utm_*,sid`
    #[arg(long, value_name = "NAMES")]
    pub(crate) drop_params: Vec<String>,
    /// Do not read sitemaps
    #[arg(long)]
    pub(crate) no_sitemaps: bool,
    /// Follow links marked nofollow
    #[arg(long)]
    pub(crate) follow_nofollow: bool,
    /// Do not obey robots.txt; for your own sites
    #[arg(long)]
    pub(crate) ignore_robots: bool,
    /// Fetch everything, even URLs that look like a trap without end
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
    /// Pages to fetch in all, not their parts; sitemaps are read only while they could matter
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) max_pages: Option<String>,
    /// Pages to fetch per host
    #[arg(long, value_name = "N")]
    pub(crate) max_pages_per_host: Option<String>,
    /// Bytes to read from the network, `500M`
    #[arg(long, value_name = "SIZE", alias = "quota")]
    pub(crate) max_bytes: Option<String>,
    /// Time from the start, `1h30m`
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<String>,
    /// Links to take from one page
    #[arg(long, value_name = "N")]
    pub(crate) max_links: Option<String>,
    /// Bytes of the longest URL to follow
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_url: Option<String>,
    /// How often one path segment may occur in a URL; guards against traps
    #[arg(long, value_name = "N")]
    pub(crate) max_repeats: Option<String>,
    /// Failures of a host in a row after which the rest of its queue is given up
    #[arg(long, value_name = "N")]
    pub(crate) max_host_failures: Option<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Politeness")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct PaceSettings {
    /// How hard hosts may be asked; fast and max are for your own
    #[arg(long, value_name = "SPEED", value_parser = Choice(SPEEDS))]
    pub(crate) speed: Option<String>,
    /// Fixed time between requests to a host, one at a time, `500ms`
    #[arg(long, value_name = "TIME", alias = "wait")]
    pub(crate) delay: Option<String>,
    /// Requests to a host at the most, `5/s`, `30/m`
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Requests in flight in all, a quarter of them for hosts that have answered
    #[arg(long, value_name = "N", alias = "max_tasks")]
    pub(crate) concurrency: Option<String>,
    /// Requests in flight per host
    #[arg(long, value_name = "N")]
    pub(crate) host_concurrency: Option<String>,
    /// Do not obey Crawl-delay in robots.txt; for your own sites
    #[arg(long)]
    pub(crate) ignore_crawl_delay: bool,
    /// Tries per URL
    #[arg(short, long, value_name = "N", alias = "max_tries")]
    pub(crate) tries: Option<String>,
    /// Time before the second try; doubles with each further one
    #[arg(long, value_name = "TIME")]
    pub(crate) retry_delay: Option<String>,
    /// Longest Retry-After that is waited for; after that time another URL is tried
    #[arg(long, value_name = "TIME")]
    pub(crate) max_retry_after: Option<String>,
    /// Time before a robots.txt that could not be had is asked for again
    #[arg(long, value_name = "TIME")]
    pub(crate) robots_retry: Option<String>,
    /// Address ranges, such as a CDN's, that many unrelated hosts share
    #[arg(long, value_name = "CIDR")]
    pub(crate) shared_addresses: Vec<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Requests")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct RequestSettings {
    /// The whole User-Agent, instead of our own
    #[arg(short = 'A', long, value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
    /// A URL or mail address of yours, put into our User-Agent
    #[arg(long, value_name = "CONTACT")]
    pub(crate) contact: Option<String>,
    /// Send another header field, `Name: value`, to the roots' origins (as `--user`)
    #[arg(short = 'H', long, value_name = "FIELD")]
    pub(crate) header: Vec<String>,
    /// Name and password, sent to the roots' origins only
    #[arg(short, long, value_name = "USER:PASS")]
    pub(crate) user: Option<String>,
    /// Begin with the cookies of a cookies.txt
    #[arg(short = 'b', long, value_name = "FILE", alias = "load-cookies")]
    pub(crate) cookies: Option<String>,
    /// Neither keep nor send cookies
    #[arg(long)]
    pub(crate) no_cookies: bool,
    /// Longest time for a whole answer
    #[arg(short = 'T', long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Longest time for a connection, TLS included
    #[arg(long, value_name = "TIME")]
    pub(crate) connect_timeout: Option<String>,
    /// Longest time from a request to the first byte; `--timeout` where only that is given
    #[arg(long, value_name = "TIME")]
    pub(crate) first_byte_timeout: Option<String>,
    /// Largest body; the rest is cut off and marked
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_body: Option<String>,
    /// Redirects to follow in a row
    #[arg(long, value_name = "N", alias = "max_redirect")]
    pub(crate) max_redirects: Option<String>,
    /// Largest response head
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_head: Option<String>,
    /// Bytes per second below which an answer is given up; 0 waits for ever
    #[arg(long, value_name = "SIZE")]
    pub(crate) min_rate: Option<String>,
}

#[derive(Args, Serialize, Deserialize, Default, Clone)]
#[command(next_help_heading = "Network")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct NetworkSettings {
    /// Go through a proxy, `http://host:3128` or `socks5://host:1080`
    #[arg(short = 'x', long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Hosts to ask without the proxy, `localhost,.example.com`
    #[arg(long, value_name = "HOSTS")]
    pub(crate) noproxy: Vec<String>,
    /// Accept any certificate
    #[arg(short = 'k', long, alias = "no-check-certificate")]
    pub(crate) insecure: bool,
    /// More certificate authorities, a PEM file
    #[arg(long, value_name = "FILE", alias = "ca-certificate")]
    pub(crate) cacert: Option<String>,
    /// Answer for a name, as in curl: `HOST:PORT:ADDRESS[,ADDRESS]`
    #[arg(long, value_name = "ENTRY")]
    pub(crate) resolve: Vec<String>,
    /// Connect elsewhere, as in curl: `HOST1:PORT1:HOST2:PORT2`
    #[arg(long, value_name = "ENTRY")]
    pub(crate) connect_to: Vec<String>,
    /// Ask this DNS server, `9.9.9.9` or `127.0.0.1:5353`
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) dns: Option<String>,
    /// Allow private addresses, all of them or a range
    #[arg(long, value_name = "CIDR", num_args = 0..=1, require_equals = true,
          default_missing_value = ALL_PRIVATE)]
    pub(crate) allow_private: Vec<String>,
    /// Idle connections to keep in all
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
    /// Replace a job folder that is there
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Leave nothing on disk
    #[arg(long)]
    pub(crate) no_output: bool,
    /// Keep the state in memory only; a stopped crawl cannot be resumed
    #[arg(long)]
    pub(crate) in_memory: bool,
    /// Go on with an unfinished crawl although its scope is another one now
    #[arg(long)]
    pub(crate) rescope: bool,
    /// Repair a damaged job from its archive, then go on
    #[arg(long)]
    pub(crate) repair: bool,
    /// Memory for active hosts, answers under way, and caches and buffers of the state
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Pause while less than this is free on the disk
    #[arg(long, value_name = "SIZE")]
    pub(crate) min_free: Option<String>,
    /// Do not keep the bytes of requests and answers
    #[arg(long)]
    pub(crate) no_archive: bool,
    /// How to compress the archive: gzip with little, usual or more work, or zstd, which is much
    /// smaller and read by fewer tools
    #[arg(long, value_name = "HOW", value_parser = Choice(COMPRESSIONS))]
    pub(crate) warc_compression: Option<String>,
    /// The same as --warc-compression zstd
    #[arg(long)]
    pub(crate) warc_zstd: bool,
    /// Begin a new file of the archive at this size
    #[arg(long, value_name = "SIZE")]
    pub(crate) warc_size: Option<String>,
    /// Keep cookies, passwords and values of --header in the archive's request records
    #[arg(long)]
    pub(crate) archive_secrets: bool,
    /// Ask only for what has changed since the crawl in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) update_from: Option<String>,
    /// Do not store again what the crawl in this folder stored
    #[arg(long, value_name = "DIR")]
    pub(crate) dedup_from: Vec<String>,
    /// Make views of the crawl when a run ends, `markdown,parquet,index`; the index grows meanwhile
    #[arg(long, value_name = "FORMS")]
    pub(crate) to: Vec<String>,
    /// Make items of pages by the rules in this file, in the views jsonl and parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<String>,
    /// Print one line for each URL at the end
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
    /// No progress and no notes; report and errors stay
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Tell each URL as it is done; twice with details
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
