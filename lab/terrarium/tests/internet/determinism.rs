//! The same seed makes the same web, byte for byte.

use terrarium::{Internet, InternetConfig, LiveInternet, OracleRules, Profile, Way};

use crate::client::Client;
use crate::quick;

fn start(profile: Profile, seed: u64) -> LiveInternet {
    Internet::new(InternetConfig {
        way: Way::Proxy,
        ..quick(profile, 20, seed)
    })
    .start()
}

/// The bytes of every answer, in the order of the oracle.
fn bytes(internet: &LiveInternet) -> Vec<(String, Option<Vec<u8>>)> {
    let mut client = Client::new(internet);
    let oracle = internet.oracle(&OracleRules::default());
    let urls = oracle.keys().filter(|url| !url.ends_with("/ailing"));
    urls.map(|url| {
        let answer = client.get(&url.parse().unwrap());
        (url.clone(), answer.ok().map(|answer| answer.raw))
    })
    .collect()
}

#[test]
fn same_seed_same_bytes() {
    for profile in [Profile::Micro, Profile::Real, Profile::Hostile] {
        let first = bytes(&start(profile, 7));
        let second = bytes(&start(profile, 7));
        assert_eq!(first.len(), second.len());
        for (one, other) in first.iter().zip(&second) {
            assert!(one == other, "{profile}: {} differs", one.0);
        }
        let other = bytes(&start(profile, 8));
        assert_ne!(first, other, "{profile}: another seed makes another web");
    }
}

#[test]
fn the_oracle_needs_no_sockets() {
    let config = quick(Profile::Hostile, 100, 3);
    let live = Internet::new(config.clone()).start();
    let mut foretold = std::collections::BTreeMap::new();
    let ports = (live.port(), live.tls_port());
    Internet::new(config).foretell(&OracleRules::default(), ports, |url, expectation| {
        foretold.insert(url, expectation);
    });
    assert_eq!(foretold, live.oracle(&OracleRules::default()));
}
