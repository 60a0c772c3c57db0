//! What must hold for any input, with shrinking: pure values here, the frontier beside it.

mod frontier;

use std::net::IpAddr;

use clewline_core::address::Cidr;
use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::scope::{Reach, Scope};
use clewline_core::url::CrawlUrl;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same cases in every run unless `PROPTEST_RNG_SEED` asks for others, so that a change
/// fails only by its own fault.
fn repeatable() -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(0xC1E7);
    }
    config
}

/// URLs made of what normalisation looks at: escapes whole and broken, dots, parameters.
fn urls() -> impl Strategy<Value = CrawlUrl> {
    let host = prop::sample::select(vec!["a.test", "www.a.test", "b.co.uk:8080", "127.0.0.1"]);
    let piece = prop::sample::select(vec![
        "/", "a", "A", "%", "%4", "%41", "%7e", "%2e", "%2F", "%c3%bc", "ü", "..", ".", "1", "4",
        "f", "%25", "%3", "\\", "~",
    ]);
    let parameter = prop::sample::select(vec![
        "sid=1",
        "%73id",
        "utm_a",
        "a=b",
        "",
        "%4%31",
        "q=%%34%31",
        "ü",
        "=",
        "'",
    ]);
    let path = prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat());
    let query = prop::option::of(prop::collection::vec(parameter, 0..4));
    (host, path, query).prop_map(|(host, path, query)| {
        let query = query.map_or(String::new(), |query| format!("?{}", query.join("&")));
        CrawlUrl::parse(&format!("http://{host}/{path}{query}")).expect("it is a URL")
    })
}

fn addresses() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(IpAddr::from),
        any::<[u8; 4]>().prop_map(|v4| std::net::Ipv4Addr::from(v4).to_ipv6_mapped().into()),
    ]
}

/// The bits of an address, one by one; a mapped IPv4 address is the IPv4 address.
fn bits(address: IpAddr) -> Vec<u8> {
    let octets = match address.to_canonical() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let bits_of = |octet: u8| (0..8).rev().map(move |bit| octet >> bit & 1);
    octets.into_iter().flat_map(bits_of).collect()
}

fn flipped(address: IpAddr, bit: usize) -> IpAddr {
    let flip = |octets: &mut [u8]| octets[bit / 8 % octets.len()] ^= 1 << (bit % 8);
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let mut octets = address.octets();
            flip(&mut octets);
            octets.into()
        }
        IpAddr::V6(address) => {
            let mut octets = address.octets();
            flip(&mut octets);
            octets.into()
        }
    }
}

proptest! {
    #![proptest_config(repeatable())]

    #[test]
    fn normalisation_is_idempotent(url in urls()) {
        let keyer = Keyer::new(3, &["sid".into(), "utm_*".into()]);
        let normalised = keyer.normalised(&url);
        let other = CrawlUrl::parse(&normalised).unwrap();
        prop_assert_eq!(other.as_str(), &normalised);
        prop_assert_eq!(keyer.normalised(&other), normalised);
        prop_assert_eq!(keyer.key(&other), keyer.key(&url));
    }

    #[test]
    fn equal_keys_mean_equal_normalised_forms(one in urls(), other in urls()) {
        let keyer = Keyer::new(3, &["sid".into()]);
        let same = keyer.normalised(&one) == keyer.normalised(&other);
        prop_assert_eq!(keyer.key(&one) == keyer.key(&other), same);
        let same_host = one.host() == other.host();
        prop_assert_eq!(keyer.key(&one).host() == keyer.key(&other).host(), same_host);
    }

    #[test]
    fn a_fragment_changes_no_verdict(
        root in urls(),
        url in urls(),
        fragment in "[ -~]{0,8}",
        reach in prop::sample::select(
            vec![Reach::Page, Reach::Path, Reach::Host, Reach::Domain, Reach::Any]),
        kind in prop::sample::select(LinkKind::ALL.to_vec()),
    ) {
        let patterns = ["a$".to_owned(), "#".to_owned()];
        let mut scope = Scope::new(reach, true, &patterns[..1], &patterns[1..]).unwrap();
        scope.join(&root);
        let named = CrawlUrl::parse(&format!("{url}#{fragment}")).unwrap();
        prop_assert_eq!(&named, &url);
        prop_assert_eq!(scope.judge(&named, kind), scope.judge(&url, kind));
    }

    #[test]
    fn ranges_contain_what_shares_their_bits(
        base in addresses(),
        length in 0..=128_usize,
        other in addresses(),
        flip in 0..128_usize,
    ) {
        let base = base.to_canonical();
        let length = length.min(bits(base).len());
        let range: Cidr = format!("{base}/{length}").parse().unwrap();
        for address in [base, other, flipped(base, flip)] {
            let (left, right) = (bits(base), bits(address));
            let shared = left.len() == right.len() && left[..length] == right[..length];
            prop_assert_eq!(range.contains(address), shared, "{} in {}", address, range);
        }
        prop_assert_eq!(range.to_string().parse::<Cidr>().unwrap(), range);
    }
}
