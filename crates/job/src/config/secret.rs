//! Secrets of a configuration, and what is left of them where it is kept.
//!
//! Owns the values that never print, log or serialise. What is written down says that there was
//! one; read back it is *withheld*: known to exist, without its value. A crawl does not start
//! with a secret that is withheld.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Config, ConfigProblem};

/// What stands in the place of a secret.
const WITHHELD: &str = "(secret)";

/// A value that never prints, logs or serialises.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Option<String>);

impl Secret {
    /// Hides a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Some(value.into()))
    }

    /// The value itself, for the wire only; empty where it is withheld.
    pub fn reveal(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether only its existence is known, as of one read from a job folder.
    pub const fn is_withheld(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(WITHHELD)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(WITHHELD)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self((text != WITHHELD).then_some(text)))
    }
}

/// A proxy is a secret only if its URL has a user or a password in it.
#[expect(clippy::ref_option, reason = "serde asks for this signature")]
pub(super) fn proxy<S: Serializer>(
    proxy: &Option<Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match proxy {
        Some(Secret(Some(url))) if !url.contains('@') => serializer.serialize_some(url),
        other => other.serialize(serializer),
    }
}

impl Config {
    /// The secrets whose values are withheld, each with the flag that gives it again.
    pub fn withheld(&self) -> Vec<ConfigProblem> {
        let fetch = &self.fetch;
        let missing = |setting, flag: String| ConfigProblem {
            setting,
            problem: format!("is not kept in the job folder; give it again: {flag}"),
        };
        let is_missing = |secret: &Option<Secret>| secret.as_ref().is_some_and(Secret::is_withheld);
        let mut problems: Vec<ConfigProblem> = fetch
            .headers
            .iter()
            .filter(|(_, value)| value.is_withheld())
            .map(|(name, _)| missing("header", format!("-H '{name}: …'")))
            .collect();
        for table in &fetch.host_headers {
            let fields = table
                .headers
                .iter()
                .filter(|(_, value)| value.is_withheld());
            problems.extend(fields.map(|(name, _)| {
                let host = &table.host;
                let place = format!("'{name}: …' of [[host]] {host}");
                let command = "repeat the command that began the crawl, which reads the file";
                missing("header", format!("{command} ({place})"))
            }));
        }
        if is_missing(&fetch.user) {
            problems.push(missing("user", "-u USER:PASS".into()));
        }
        if is_missing(&fetch.proxy) {
            problems.push(missing("proxy", "--proxy URL, with its password".into()));
        }
        problems
    }
}
