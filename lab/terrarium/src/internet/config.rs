//! What an internet is made from: a profile, a size, a seed, and a few dials.
//!
//! Owns the settings and their defaults. Refuses to know what the profiles mean; the shape does.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A named kind of internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profile {
    /// Small pages, no TLS, no delay: how fast a crawler can decide.
    Micro,
    /// The shape of the test that came with `BUbiNG`: 50 links and 30 KB a page, no keep-alive.
    Bubing,
    /// The measured distributions of the web, with TLS and compression.
    Real,
    /// Answers take 100 ms and more.
    Slow,
    /// Traps, faults, odd markup, broken names and certificates.
    Hostile,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 5] = [
        Self::Micro,
        Self::Bubing,
        Self::Real,
        Self::Slow,
        Self::Hostile,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Micro => "micro",
            Self::Bubing => "bubing",
            Self::Real => "real",
            Self::Slow => "slow",
            Self::Hostile => "hostile",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == text);
        found.ok_or(UnknownProfile)
    }
}

/// There is no profile of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownProfile;

impl fmt::Display for UnknownProfile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Profile::ALL.map(Profile::name).join(", ");
        write!(formatter, "the profiles are {names}")
    }
}

impl std::error::Error for UnknownProfile {}

/// How clients come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// By name server and sockets on many loopback addresses; URLs carry the ports.
    #[default]
    Sockets,
    /// By the HTTP proxy only; URLs carry no port, so that the web is the same in every run.
    Proxy,
}

/// What an internet is made from.
///
/// ```
/// use terrarium::{Internet, InternetConfig, Profile};
/// let internet = Internet::new(InternetConfig {
///     profile: Profile::Micro,
///     hosts: 3,
///     seed: 7,
///     ..InternetConfig::default()
/// })
/// .start();
/// assert!(internet.roots()[0].starts_with("http://www.site0.test:"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InternetConfig {
    /// The kind of web.
    pub profile: Profile,
    /// How many host names there are.
    pub hosts: u32,
    /// The same seed makes the same web.
    pub seed: u64,
    /// Pages per host on average; the profile's own number otherwise.
    pub pages: Option<u32>,
    /// Addresses that the hosts share; the profile's own number otherwise.
    pub addresses: Option<u32>,
    /// The port of all plain sites; one that is free otherwise.
    pub port: Option<u16>,
    /// The port of all sites with TLS; one that is free otherwise.
    pub tls_port: Option<u16>,
    /// The port of the name server; one that is free otherwise.
    pub dns_port: Option<u16>,
    /// The port of the proxy; one that is free otherwise.
    pub proxy_port: Option<u16>,
    /// Factor for every delay, Crawl-delay included; 0 is none.
    pub latency: f64,
    /// Every answer waits exactly this long; the profile's own delays times the factor otherwise.
    pub delay: Option<Duration>,
    /// Hosts per thousand that speak TLS; the profile's own number otherwise.
    pub secure: Option<u32>,
    /// Factor for the size of bodies.
    pub body: f64,
    /// Factor for the share of hosts that cannot be reached or read; 0 is none. A polite crawler
    /// waits long for some of them.
    pub mishaps: f64,
    /// Pages are empty until their script has asked for their links, at their own host, at another
    /// one, and where robots.txt may forbid it.
    pub scripted: bool,
    /// The product token of the crawler that is tested, which some robots.txt name.
    pub agent: String,
    /// How clients come in.
    pub way: Way,
}

impl Default for InternetConfig {
    fn default() -> Self {
        Self {
            profile: Profile::Micro,
            hosts: 100,
            seed: 1,
            pages: None,
            addresses: None,
            port: None,
            tls_port: None,
            dns_port: None,
            proxy_port: None,
            latency: 1.0,
            delay: None,
            secure: None,
            body: 1.0,
            mishaps: 1.0,
            scripted: false,
            agent: "clewline".to_owned(),
            way: Way::Sockets,
        }
    }
}
