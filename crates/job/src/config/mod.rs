//! The one typed configuration of a crawl.
//!
//! Owns every setting, its default and its validation, nested by stage. Components receive
//! their own part, never the whole. It refuses to know flags and files: the command combines
//! those once and hands over the result. Secrets never serialise and never print.

mod render;
mod rules;
mod secret;
#[cfg(test)]
mod tests;
mod validate;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clewline_core::address::Cidr;
use clewline_core::limits::Limits;
pub use clewline_core::politeness::Speed;
pub use clewline_core::scope::Reach;
use clewline_core::url::{CrawlUrl, UrlError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use render::{PageBehavior, PictureArea, RenderConfig, RenderUse};
pub use secret::Secret;

/// Everything a crawl needs to know.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Where it begins.
    pub roots: Vec<Root>,
    /// How far it goes.
    pub scope: ScopeConfig,
    /// How it treats hosts.
    pub politeness: PolitenessConfig,
    /// What it may spend.
    pub limits: Limits,
    /// How it talks to servers.
    pub fetch: FetchConfig,
    /// What it looks for in pages.
    pub extract: ExtractConfig,
    /// Which pages a browser renders.
    pub render: RenderConfig,
    /// What it leaves behind.
    pub output: OutputConfig,
}

/// A URL to begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The URL.
    pub url: CrawlUrl,
    /// Typed without a scheme: https is tried first, then http.
    #[serde(default)]
    pub guessed_scheme: bool,
}

impl Root {
    /// Reads a root as people type it: `example.com`, `localhost:3000/docs`, or a whole URL.
    ///
    /// ```
    /// use clewline_job::config::Root;
    /// assert_eq!(Root::parse("example.com/a").unwrap().url.as_str(), "https://example.com/a");
    /// ```
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        if has_scheme(text) {
            return CrawlUrl::parse(text).map(|url| Self {
                url,
                guessed_scheme: false,
            });
        }
        let rest = text.strip_prefix("//").unwrap_or(text);
        CrawlUrl::parse(&format!("https://{rest}")).map(|url| Self {
            url,
            guessed_scheme: true,
        })
    }
}

/// `localhost:3000` has no scheme, `mailto:x` and `file:/x` have one.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_name = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let is_port =
        digits > 0 && matches!(rest.as_bytes().get(digits), None | Some(b'/' | b'?' | b'#'));
    is_name && !is_port
}

/// How far a crawl goes.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch that users know by name"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopeConfig {
    /// The general rule.
    pub reach: Reach,
    /// Regular expressions of which one must match; empty is no condition.
    pub include: Vec<String>,
    /// Regular expressions of which none may match.
    pub exclude: Vec<String>,
    /// Also fetch images, styles, scripts and fonts, media.
    pub page_requisites: bool,
    /// Media types that are read whole, `text/*`; empty is all.
    pub accept_types: Vec<String>,
    /// Query parameters that do not change a page; a trailing `*` makes a prefix.
    pub drop_params: Vec<String>,
    /// Follow links marked nofollow.
    pub follow_nofollow: bool,
    /// Read sitemaps.
    pub sitemaps: bool,
    /// Obey robots.txt.
    pub robots: bool,
    /// Learn which URLs are parts of traps, and give them up.
    pub traps: bool,
    /// Others wrote the roots, as where links that lead away are checked: their hosts may not be at
    /// private addresses and see no credentials.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub foreign_roots: bool,
}

impl ScopeConfig {
    /// Whether a body of this media type is read whole; one without a type is.
    pub fn accepts(&self, content_type: Option<&str>) -> bool {
        let Some(content_type) = content_type.filter(|_| !self.accept_types.is_empty()) else {
            return true;
        };
        let fits = |accepted: &String| match accepted.strip_suffix('*') {
            Some(prefix) => content_type.starts_with(prefix),
            None => content_type == accepted,
        };
        self.accept_types.iter().any(fits)
    }
}

impl Default for ScopeConfig {
    fn default() -> Self {
        Self {
            reach: Reach::default(),
            include: Vec::new(),
            exclude: Vec::new(),
            page_requisites: false,
            accept_types: Vec::new(),
            drop_params: Vec::new(),
            follow_nofollow: false,
            sitemaps: true,
            robots: true,
            traps: true,
            foreign_roots: false,
        }
    }
}

/// How hosts are treated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolitenessConfig {
    /// A named speed; none lets the roots' addresses decide (loopback: max).
    pub speed: Option<Speed>,
    /// Fixed delay between requests to a host, one at a time. Domain and address are allowed as
    /// much, as with the rate.
    pub delay: Option<Duration>,
    /// Requests per second and host at the most.
    pub rate: Option<f64>,
    /// Maximum number of parallel requests per host at the most.
    pub host_concurrency: Option<u32>,
    /// Ignore Crawl-delay lines.
    pub ignore_crawl_delay: bool,
    /// Address ranges, such as those of a CDN, that the rule per address does not cover.
    pub shared_addresses: Vec<Cidr>,
    /// Wait before the second try of a URL; doubles with each further try.
    pub retry_delay: Option<Duration>,
    /// The longest Retry-After that is waited for.
    pub max_retry_after: Option<Duration>,
    /// The longest gap between requests that trouble with a host teaches.
    pub max_gap: Option<Duration>,
    /// Wait between the tries for a robots.txt that cannot be read.
    pub robots_retry: Option<Duration>,
    /// Other figures for some hosts; the first pattern that matches counts.
    pub hosts: Vec<HostOverride>,
}

/// Politeness of some hosts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostOverride {
    /// A host name; a leading `*.` covers the subdomains too, `*` alone every host.
    pub host: String,
    /// As in [`PolitenessConfig`].
    pub speed: Option<Speed>,
    /// As in [`PolitenessConfig`].
    pub delay: Option<Duration>,
    /// As in [`PolitenessConfig`].
    pub rate: Option<f64>,
    /// As in [`PolitenessConfig`].
    pub host_concurrency: Option<u32>,
    /// As in [`PolitenessConfig`].
    pub ignore_crawl_delay: Option<bool>,
    /// Skip this host's robots.txt; for one's own machines.
    pub ignore_robots: Option<bool>,
    /// Pages fetched from this host at the most.
    pub max_pages: Option<u64>,
}

/// Header fields for some hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostHeaders {
    /// A host name; a leading `*.` covers the subdomains too, `*` alone every host.
    pub host: String,
    /// The fields.
    pub headers: Vec<(String, Secret)>,
}

/// How the crawler talks to servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FetchConfig {
    /// Replace the whole User-Agent.
    pub user_agent: Option<String>,
    /// A URL or mail address of the operator, put into our User-Agent.
    pub contact: Option<String>,
    /// More header fields. They go where the password goes, to the roots' origins; `Accept` and
    /// `Accept-Language` go everywhere.
    pub headers: Vec<(String, Secret)>,
    /// More header fields for hosts by name, whether they are the roots' or not; the first name
    /// that matches counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_headers: Vec<HostHeaders>,
    /// `user:password`, sent to the roots' origins only: their scheme, host and port, https on
    /// the same host, and hosts of the same registrable domain that a root redirects to.
    pub user: Option<Secret>,
    /// `http://…` or `socks5://…` proxy.
    #[serde(serialize_with = "secret::proxy")]
    pub proxy: Option<Secret>,
    /// Hosts that are asked without the proxy, as in `NO_PROXY`.
    pub no_proxy: Vec<String>,
    /// Accept any certificate.
    pub insecure: bool,
    /// PEM file with more certificate authorities.
    pub cacert: Option<PathBuf>,
    /// `HOST:PORT:ADDRESS[,ADDRESS…]`, as in curl; HOST and PORT may be `*`.
    pub resolve: Vec<String>,
    /// `HOST1:PORT1:HOST2:PORT2`, as in curl.
    pub connect_to: Vec<String>,
    /// A DNS server to ask instead of the system's.
    pub dns: Option<SocketAddr>,
    /// Private address ranges that may be asked.
    pub allow_private: Vec<Cidr>,
    /// Keep and send cookies.
    pub cookies: bool,
    /// A Netscape cookies.txt to begin with.
    pub cookie_file: Option<PathBuf>,
    /// Maximum time for a complete response.
    pub timeout: Duration,
    /// Maximum time to connect, including TLS.
    pub connect_timeout: Duration,
    /// Longest time from a request to the first byte of its answer. A host that usually answers
    /// far sooner is given up sooner, which does not count as a try.
    pub first_byte_timeout: Duration,
    /// Largest body, decoded or on the wire; the rest is cut off and marked.
    pub max_body: u64,
    /// Maximum size of response headers.
    pub max_head: usize,
    /// Bytes per second, averaged over ten seconds, below which an answer is given up.
    pub min_rate: u64,
    /// Idle connections kept in all.
    pub idle_connections: usize,
    /// When HTTP/2 is spoken.
    pub http2: Http2Use,
}

/// When HTTP/2 is spoken, which needs TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Http2Use {
    /// Where a host may have at least sixteen requests in flight and no archive is written, and where
    /// a host refuses HTTP/1.1. Elsewhere it costs more than it saves, and an archive would not hold
    /// the bytes as they came.
    #[default]
    Auto,
    /// Never: the archive holds every answer byte for byte.
    Never,
    /// Wherever a server offers it.
    Always,
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            user_agent: None,
            contact: None,
            headers: Vec::new(),
            host_headers: Vec::new(),
            user: None,
            proxy: None,
            no_proxy: Vec::new(),
            insecure: false,
            cacert: None,
            resolve: Vec::new(),
            connect_to: Vec::new(),
            dns: None,
            allow_private: Vec::new(),
            cookies: true,
            cookie_file: None,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(20),
            max_body: 32 * 1024 * 1024,
            max_head: 64 * 1024,
            min_rate: 16,
            idle_connections: 512,
            http2: Http2Use::Auto,
        }
    }
}

/// Where the project lives; part of the User-Agent so that site owners can find out.
pub const HOME: &str = env!("CARGO_PKG_REPOSITORY");

impl FetchConfig {
    /// The User-Agent as it is sent.
    pub fn agent(&self) -> String {
        if let Some(agent) = &self.user_agent {
            return agent.clone();
        }
        let version = env!("CARGO_PKG_VERSION");
        match &self.contact {
            Some(contact) => format!("clewline/{version} (+{HOME}; {contact})"),
            None => format!("clewline/{version} (+{HOME})"),
        }
    }

    /// The product token that robots.txt is searched for.
    pub fn robots_token(&self) -> String {
        let agent = self.agent();
        let end = agent.find(|c: char| !(c.is_ascii_alphabetic() || c == '_' || c == '-'));
        agent[..end.unwrap_or(agent.len())].to_owned()
    }
}

/// What the crawler looks for in pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExtractConfig {
    /// Links per page at the most.
    pub max_links: usize,
    /// Look for images that scripts load later, in `data-src` and the like. They are fetched with
    /// [`page_requisites`](ScopeConfig::page_requisites) only.
    pub lazy_images: bool,
    /// Look for strings in scripts and in JSON that look like URLs, and try them last.
    #[serde(default)]
    pub script_links: bool,
}

impl Default for ExtractConfig {
    fn default() -> Self {
        Self {
            max_links: 10_000,
            lazy_images: true,
            script_links: false,
        }
    }
}

/// What a crawl leaves behind.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch that users know by name"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputConfig {
    /// The job folder; none leaves nothing on disk.
    pub folder: Option<PathBuf>,
    /// Replace an existing job folder.
    pub overwrite: bool,
    /// Keep the state in memory only: a stopped crawl cannot be resumed.
    pub in_memory: bool,
    /// Continue an unfinished crawl with a changed scope.
    pub rescope: bool,
    /// Go on from the last commit that is left, although the state is damaged behind it.
    pub repair: bool,
    /// Memory to use for active hosts, responses and caches.
    pub memory: Memory,
    /// The crawl pauses while less than this is free on the disk.
    pub min_free: MinFree,
    /// Names of views that are to be made of the job, at the latest when a run ends. They are
    /// kept for whoever makes them; the crawl itself makes none.
    pub views: Vec<String>,
    /// A file with rules that make items of pages, for those views; kept in the same way.
    pub rules: Option<PathBuf>,
    /// The archive in the job folder.
    pub archive: ArchiveConfig,
}

/// What is kept of the bytes on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArchiveConfig {
    /// Write an archive; without a job folder there is none.
    pub write: bool,
    /// How its records are compressed.
    pub compression: Compression,
    /// A file that has reached this many bytes is closed, and the next one begun.
    pub file_size: u64,
    /// Keep secrets in request records, instead of replacing their values.
    pub keep_secrets: bool,
    /// The folder of an earlier crawl: what has not changed since then is not sent again.
    pub update_from: Option<PathBuf>,
    /// Folders of earlier crawls: a payload that is in their archives is not stored again.
    pub dedup_from: Vec<PathBuf>,
}

impl ArchiveConfig {
    /// Files are not made larger, so that a place in one fits beside its number.
    pub const LARGEST_FILE: u64 = 1 << 39;
}

impl Default for ArchiveConfig {
    fn default() -> Self {
        Self {
            write: true,
            compression: Compression::default(),
            file_size: 1 << 30,
            keep_secrets: false,
            update_from: None,
            dedup_from: Vec::new(),
        }
    }
}

/// How the records of an archive are compressed, each by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// gzip with the least work: files are two fifths larger than with `Balanced`.
    Fast,
    /// gzip, no larger than `gzip -6` makes it. Jobs of earlier versions call it `gzip`.
    #[default]
    #[serde(alias = "gzip")]
    Balanced,
    /// gzip with ten times the work for a little less space.
    Small,
    /// zstd with a dictionary: much smaller and faster, read by fewer tools.
    Zstd,
}

/// A number of bytes that stay free on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinFree(pub u64);

impl Default for MinFree {
    fn default() -> Self {
        Self(256 * 1024 * 1024)
    }
}

/// A number of bytes for caches and buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory(pub u64);

impl Default for Memory {
    fn default() -> Self {
        Self(256 * 1024 * 1024)
    }
}

/// One thing that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{setting}: {problem}")]
pub struct ConfigProblem {
    /// Which setting, by its name on the command line without dashes.
    pub setting: &'static str,
    /// What is wrong and what to write instead; never contains a secret.
    pub problem: String,
}
