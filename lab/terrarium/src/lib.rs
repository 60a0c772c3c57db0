//! A synthetic internet on loopback, with a referee, for testing crawlers.
//!
//! A [`Web`] holds [`Site`]s under names; a site holds [`Page`]s, or any [`Reply`] that a socket
//! can carry, right or wrong. Once started it answers real clients over real sockets and keeps a
//! [`Log`] of what was asked, when, and how much at once.
//!
//! An [`Internet`] is the other way round: no page is named, all are a function of a seed. It has
//! as many hosts as are asked for, an oracle that foretells what a crawl must find, and a referee
//! with rules of politeness.
//!
//! The crate knows no crawler: it depends on neither side that it tests.
#![warn(missing_docs)]

mod dns;
mod generate;
mod internet;
mod linkweb;
mod proxy;
mod referee;
mod reply;
mod serve;
mod site;
mod tls;
pub mod traps;
pub mod trouble;
mod web;

pub use dns::{Dns, Query};
pub use generate::{
    Coding, attributes, bomb, encode, links, nested, numbered_links, sitemap, sitemap_index,
    zstd_bomb,
};
pub use internet::{
    Comparison, Expectation, Figures, Findings, Internet, InternetConfig, Limit, LiveInternet,
    OracleRules, OracleScope, Profile, Pulse, RefereeRules, Rule, Seen, UnknownProfile, Violation,
    Way,
};
pub use linkweb::{
    FragmentTruth, LinkBreach, LinkDeath, LinkTruth, LinkWeb, LinkWebConfig, LiveLinkWeb, WebLink,
};
pub use proxy::{Proxied, Through};
pub use referee::{Hit, Log};
pub use reply::{BadChunk, Fault, Page, Reply, Step};
pub use serve::Request;
pub use site::{Door, Site};
pub use tls::Certificate;
pub use web::{LiveWeb, Web, ipv6_available};
