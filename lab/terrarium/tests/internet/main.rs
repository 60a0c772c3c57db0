//! The synthetic internet, asked by clients that share no code with any crawler.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod determinism;
mod html;
mod names;
mod oracle;
mod referee;
mod robots;

use terrarium::{Internet, InternetConfig, LiveInternet, Profile};

/// A small internet without delays.
fn internet(profile: Profile, hosts: u32, seed: u64) -> LiveInternet {
    Internet::new(quick(profile, hosts, seed)).start()
}

fn quick(profile: Profile, hosts: u32, seed: u64) -> InternetConfig {
    InternetConfig {
        profile,
        hosts,
        seed,
        pages: Some(6),
        latency: 0.0,
        body: 0.02,
        ..InternetConfig::default()
    }
}
