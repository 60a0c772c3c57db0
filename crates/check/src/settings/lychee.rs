//! Settings of lychee: `lychee.toml` and `.lycheeignore`.
//!
//! Owns which of its keys we understand and what they mean here. It refuses to guess: a key that is
//! not understood is named, with what to use instead where there is something. Invariant: no key
//! makes a check ask faster than our own settings would.

use std::collections::BTreeMap;
use std::time::Duration;

use clewline_job::escape::visible;
use serde::Deserialize;
use toml::Value;

use super::list::parse_period;
use super::{CheckProblem, CheckSettings, CheckValueError, FragmentReach, UrlPattern, UrlRemap};

/// What a `lychee.toml` says, in our words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LycheeSettings {
    /// What is a setting of a check.
    pub check: CheckSettings,
    /// What is a setting of requests.
    pub requests: LycheeRequests,
    /// Files and folders that are not read.
    pub exclude_path: Vec<UrlPattern>,
    /// The keys that mean nothing here, each with what to do.
    pub passed_over: Vec<String>,
}

/// What a `lychee.toml` says of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LycheeRequests {
    /// The longest that a request may take.
    pub timeout: Option<Duration>,
    /// Tries of a URL.
    pub tries: Option<u32>,
    /// The wait before the second try.
    pub retry_delay: Option<Duration>,
    /// The whole User-Agent.
    pub user_agent: Option<String>,
    /// Fields to send, `Name: value`.
    pub headers: Vec<String>,
    /// Requests in flight for one host.
    pub host_concurrency: Option<u32>,
    /// The wait between requests to one host.
    pub host_delay: Option<Duration>,
}

/// Keys that we know and that have another name here, or no meaning.
const ELSEWHERE: [(&str, &str); 24] = [
    (
        "base_url",
        "give the URL or the folder of the site as the argument",
    ),
    (
        "basic_auth",
        "use --user, which is sent to your own site only",
    ),
    (
        "cache",
        "use --cache FILE; a job folder remembers by itself",
    ),
    ("cache_exclude_status", "what failed is always asked again"),
    ("cookie_jar", "use --cookies"),
    ("dump", "use --format csv"),
    (
        "exclude_all_private",
        "private addresses are never asked without --allow-private",
    ),
    (
        "exclude_link_local",
        "private addresses are never asked without --allow-private",
    ),
    (
        "exclude_loopback",
        "private addresses are never asked without --allow-private",
    ),
    (
        "exclude_private",
        "private addresses are never asked without --allow-private",
    ),
    ("fallback_extensions", "a folder is served with .html added"),
    ("format", "use --format"),
    ("github_token", "GitHub is asked as any other host"),
    ("hosts", "write [[host]] tables in clewline.toml"),
    ("index_files", "a folder is served with its index.html"),
    ("insecure", "certificates are always judged"),
    ("max_concurrency", "use --concurrency"),
    (
        "max_redirects",
        "every redirect is followed, and loops are found",
    ),
    (
        "method",
        "links are asked with GET, since HEAD proves nothing",
    ),
    ("no_progress", "use --quiet"),
    ("output", "use --report KIND=FILE"),
    (
        "require_https",
        "http links of an https site are found by mixed/* and http/not-https",
    ),
    ("root_dir", "give the folder of the site as the argument"),
    ("verbose", "use --verbose"),
];

#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
    Numbers(Vec<u16>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Period {
    Seconds(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Fields {
    Table(BTreeMap<String, String>),
    List(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Fragments {
    Switch(bool),
    Mode(String),
}

impl LycheeSettings {
    /// Reads a file; every key is either understood, named as passed over, or a problem.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Vec<CheckProblem>> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line =
                super::TomlSource { name, text }.line(error.span().map_or(0, |span| span.start));
            vec![CheckProblem::new(
                format!("{name}:{line}"),
                visible(error.message()),
            )]
        })?;
        let mut settings = Self::default();
        let mut problems = Vec::new();
        for (key, value) in table {
            if let Err(message) = settings.take(&key, value) {
                let place = format!("{name}: {}", visible(&key));
                problems.push(CheckProblem::new(place, message));
            }
        }
        if problems.is_empty() {
            Ok(settings)
        } else {
            Err(problems)
        }
    }

    fn take(&mut self, key: &str, value: Value) -> Result<(), String> {
        match key {
            "accept" => self.check.accept = parsed(statuses(value)?)?,
            "exclude" => self.check.exclude = parsed(texts(value)?)?,
            "include" => self.check.include = parsed(texts(value)?)?,
            "exclude_path" => self.exclude_path = parsed(texts(value)?)?,
            "remap" => self.check.remap = remaps(&texts(value)?)?,
            "include_fragments" => self.check.fragments = Some(fragments(value)?),
            "max_cache_age" => self.check.max_cache_age = Some(period(value)?),
            "offline" => {
                let offline: bool = read(value, "is a switch: write true or false")?;
                self.check.external = offline.then_some(false);
            }
            "timeout" => self.requests.timeout = Some(period(value)?),
            "max_retries" => {
                let retries: u32 = read(value, "is a number")?;
                self.requests.tries = Some(retries.saturating_add(1));
            }
            "retry_wait_time" => self.requests.retry_delay = Some(period(value)?),
            "user_agent" => self.requests.user_agent = Some(read(value, "is a text in quotes")?),
            "header" => self.requests.headers = headers(value)?,
            "host_concurrency" => {
                self.requests.host_concurrency = Some(read(value, "is a number")?);
            }
            "host_request_interval" => self.requests.host_delay = Some(period(value)?),
            "scheme" => self.scheme(&texts(value)?),
            other => self.pass_over(other),
        }
        Ok(())
    }

    /// We ask http and https; a list that leaves one of them out excludes it.
    fn scheme(&mut self, schemes: &[String]) {
        let left_out = ["http", "https"]
            .into_iter()
            .filter(|known| !schemes.iter().any(|scheme| scheme == known));
        for scheme in left_out {
            let pattern = format!("^{scheme}:").parse();
            self.check
                .exclude
                .push(pattern.expect("a scheme is a regular expression"));
        }
    }

    fn pass_over(&mut self, key: &str) {
        let known = ELSEWHERE.iter().find(|(name, _)| *name == key);
        let advice = known.map_or("has no meaning here", |(_, advice)| advice);
        self.passed_over.push(format!("{}: {advice}", visible(key)));
    }
}

/// The patterns of a `.lycheeignore`: one on each line, `#` begins a comment.
pub fn lychee_ignore(name: &str, text: &str) -> Result<Vec<UrlPattern>, Vec<CheckProblem>> {
    let (mut patterns, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.parse() {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => {
                let error: CheckValueError = error;
                let place = format!("{name}:{}", at + 1);
                problems.push(CheckProblem::new(place, error.to_string()));
            }
        }
    }
    if problems.is_empty() {
        Ok(patterns)
    } else {
        Err(problems)
    }
}

fn read<'de, T: Deserialize<'de>>(value: Value, expected: &str) -> Result<T, String> {
    value.try_into().map_err(|_| expected.to_owned())
}

fn texts(value: Value) -> Result<Vec<String>, String> {
    match read(value, "takes a text in quotes or a list of such")? {
        Texts::One(text) => Ok(vec![text]),
        Texts::Many(texts) => Ok(texts),
        Texts::Numbers(numbers) => Ok(numbers.iter().map(u16::to_string).collect()),
    }
}

/// lychee takes a list, and a text with commas.
fn statuses(value: Value) -> Result<Vec<String>, String> {
    let texts = texts(value)?;
    let parts = texts.iter().flat_map(|text| text.split(','));
    Ok(parts.map(|part| part.trim().to_owned()).collect())
}

fn parsed<T: std::str::FromStr<Err = CheckValueError>>(
    texts: Vec<String>,
) -> Result<Vec<T>, String> {
    let parsed = texts.iter().map(|text| text.parse());
    parsed
        .collect::<Result<_, _>>()
        .map_err(|error: CheckValueError| error.to_string())
}

fn remaps(texts: &[String]) -> Result<Vec<UrlRemap>, String> {
    let remap = |text: &String| match text.split_once(' ') {
        Some((from, to)) => {
            UrlRemap::from_pattern(from, to.trim()).map_err(|error| error.to_string())
        }
        None => Err("is a pattern, a space, and what to put in its place".to_owned()),
    };
    texts.iter().map(remap).collect()
}

fn fragments(value: Value) -> Result<FragmentReach, String> {
    let expected = "is true, false, or \"none\", \"anchor-only\", \"text-only\" or \"full\"";
    let is_wanted = match read(value, expected)? {
        Fragments::Switch(on) => on,
        Fragments::Mode(mode) => match mode.as_str() {
            "none" | "text-only" => false,
            "anchor-only" | "full" => true,
            _ => return Err(expected.to_owned()),
        },
    };
    Ok(if is_wanted {
        FragmentReach::All
    } else {
        FragmentReach::None
    })
}

fn period(value: Value) -> Result<Duration, String> {
    match read(value, "is a time: write 20 or \"20s\"")? {
        Period::Seconds(seconds) => Ok(Duration::from_secs(seconds)),
        Period::Text(text) => parse_period(&text).map_err(|error| error.to_string()),
    }
}

fn headers(value: Value) -> Result<Vec<String>, String> {
    match read(
        value,
        "is a table of names and values, or a list of `name=value`",
    )? {
        Fields::Table(fields) => Ok(fields
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()),
        Fields::List(fields) => fields
            .iter()
            .map(|field| {
                let (name, value) = field
                    .split_once(['=', ':'])
                    .ok_or("is a list of `name=value`")?;
                Ok(format!("{}: {}", name.trim(), value.trim()))
            })
            .collect(),
    }
}
