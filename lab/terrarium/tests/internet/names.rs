//! The name server: rates, addresses, loss.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use terrarium::{Expectation, LiveInternet, OracleRules, Profile};

use crate::internet;

#[derive(Debug, PartialEq, Eq, Hash, Clone, Copy)]
enum Said {
    Address(Ipv4Addr),
    Code(u8),
    Nothing,
}

/// Asks for the address of a name, once.
fn ask(internet: &LiveInternet, name: &str, patience: Duration) -> Said {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(patience)).unwrap();
    let mut query = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend_from_slice(label.as_bytes());
    }
    query.extend([0, 0, 1, 0, 1]);
    socket.send_to(&query, internet.dns_addr()).unwrap();
    let mut answer = [0; 512];
    let Ok(length) = socket.recv(&mut answer) else {
        return Said::Nothing;
    };
    let answer = &answer[..length];
    assert_eq!(answer[..2], query[..2]);
    match (answer[3] & 15, answer[7]) {
        (0, 1) => {
            let octets: [u8; 4] = answer[length - 4..].try_into().unwrap();
            Said::Address(octets.into())
        }
        (code, _) => Said::Code(code),
    }
}

#[test]
fn names_and_verdicts_agree() {
    let internet = internet(Profile::Hostile, 300, 9);
    let oracle = internet.oracle(&OracleRules::default());
    let patient = Duration::from_secs(5);
    let mut kinds: HashMap<&str, u32> = HashMap::new();
    for (url, expectation) in &oracle {
        let name = url.split(['/', ':']).nth(3).unwrap();
        if !url.ends_with('/') || url.matches('/').count() != 3 {
            continue;
        }
        let kind = match expectation {
            Expectation::NoSuchHost => {
                assert_eq!(ask(&internet, name, patient), Said::Code(3), "{url}");
                "missing"
            }
            Expectation::Unreachable("dns") => {
                // Silence costs time, so it is not waited for long.
                let said = ask(&internet, name, Duration::from_millis(50));
                assert!(
                    matches!(said, Said::Code(2) | Said::Nothing),
                    "{url} {said:?}"
                );
                "failing"
            }
            _ => continue,
        };
        *kinds.entry(kind).or_default() += 1;
    }
    assert!(kinds["missing"] > 3 && kinds["failing"] > 3, "{kinds:?}");
    assert_eq!(ask(&internet, "nobody.test", patient), Said::Code(3));
}

#[test]
fn hosts_share_addresses_unevenly() {
    let internet = internet(Profile::Real, 400, 1);
    let shared = internet.shared_address().unwrap();
    let mut counts: HashMap<Ipv4Addr, u32> = HashMap::new();
    for number in 0..200 {
        let name = format!("www.site{number}.test");
        if let Said::Address(address) = ask(&internet, &name, Duration::from_millis(100)) {
            assert!(address.is_loopback());
            *counts.entry(address).or_default() += 1;
        }
    }
    let all: HashSet<_> = internet.addresses().into_iter().collect();
    let nowhere = counts
        .keys()
        .filter(|address| !all.contains(address))
        .count();
    assert!(nowhere <= 1, "only one address has no listener");
    assert!((20..70).contains(&counts[&shared]), "{counts:?}");
    assert!(counts.len() > 15, "{counts:?}");
}

#[test]
fn a_lost_question_is_answered_the_second_time() {
    let internet = internet(Profile::Hostile, 1000, 4);
    let lost = (0..600).find_map(|number| {
        let name = format!("www.site{number}.test");
        let first = ask(&internet, &name, Duration::from_millis(30));
        let again = || ask(&internet, &name, Duration::from_secs(2));
        (first == Said::Nothing && matches!(again(), Said::Address(_))).then_some(name)
    });
    assert!(lost.is_some());
}
