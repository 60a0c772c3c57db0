//! Every family in both densities and several seeds: the same site each time, real pages that
//! are reached without the trap, and a trap without end.

use std::collections::HashSet;
use std::sync::Arc;

use terrarium::Web;
use terrarium::traps::{Density, Family, TrapSite};

use crate::{links, walk};

/// A trap that leads so far has no end that a crawl would find.
const FAR: usize = 2_000;

/// A handful of mirrors has an end, but more pages than a crawl may ask for here: most of seven
/// times the site.
const MIRRORED: usize = 5 * 200;

pub(crate) const SEEDS: [u64; 3] = [1, 2, 3];

fn for_each(check: impl Fn(Arc<TrapSite>)) {
    for family in Family::ALL {
        for density in Density::ALL {
            for seed in SEEDS {
                check(TrapSite::new(family, density, seed));
            }
        }
    }
}

/// The first pages of a walk that enters the trap.
pub(crate) fn anywhere(site: &TrapSite, far: usize) -> Vec<(String, String)> {
    let answer = |host: &str, target: &str| site.answer(host, target);
    walk(site.name(), answer, |_, _| true, far)
}

#[test]
fn the_same_seed_makes_the_same_site() {
    for family in Family::ALL {
        let (one, same) = (
            TrapSite::new(family, Density::Dense, 1),
            TrapSite::new(family, Density::Dense, 1),
        );
        let other = TrapSite::new(family, Density::Dense, 4);
        let mut differs = false;
        for (host, target) in anywhere(&one, 300) {
            let here = one.answer(&host, &target);
            assert_eq!(here, same.answer(&host, &target), "{family} {host}{target}");
            differs |= here != other.answer(&host, &target);
        }
        assert!(differs, "{family}: another seed makes another site");
    }
}

/// Links of a page carry the port under which it was asked; nothing else depends on it.
#[test]
fn the_port_changes_nothing_else() {
    for_each(|site| {
        let one = site.answer(&format!("{}:1", site.name()), "/").html;
        let two = site.answer(&format!("{}:2", site.name()), "/").html;
        assert_eq!(one.replace(":1/", ":2/"), two, "{}", site.name());
    });
}

#[test]
fn real_pages_are_reached_without_the_trap() {
    for_each(|site| {
        let reached = walk(
            site.name(),
            |host, target| site.answer(host, target),
            |host, target| site.is_real(host, target),
            usize::MAX,
        );
        let reached: HashSet<String> = reached.into_iter().map(|(_, target)| target).collect();
        let real: HashSet<String> = site.real_pages().into_iter().collect();
        assert_eq!(real.len(), 200, "{}", site.name());
        assert_eq!(reached, real, "{}", site.name());
    });
}

#[test]
fn a_trap_has_no_end() {
    for_each(|site| {
        let far = match site.name() {
            "mirrored-hosts.test" => MIRRORED,
            _ => FAR,
        };
        let reached = anywhere(&site, FAR);
        assert!(reached.len() >= far, "{site:?}: {}", reached.len());
        let real = reached
            .iter()
            .filter(|(host, target)| site.is_real(host, target));
        assert!(real.count() <= 200);
    });
}

/// One page in five leads into a sparse trap; a dense one stands first on every page.
#[test]
fn densities_are_what_they_say() {
    for_each(|site| {
        let is_trap = |(host, target): &(String, String)| !site.is_real(host, target);
        let pages: Vec<_> = site
            .real_pages()
            .iter()
            .map(|target| links(site.name(), target, &site.answer(site.name(), target).html))
            .collect();
        let leading = pages
            .iter()
            .filter(|links| links.iter().any(is_trap))
            .count();
        let first = pages
            .iter()
            .filter(|links| links.iter().take(3).all(is_trap))
            .count();
        match leading {
            40 => assert_eq!(first, 0, "{}", site.name()),
            200 => assert_eq!(first, 200, "{}", site.name()),
            _ => panic!("{}: {leading} pages lead into the trap", site.name()),
        }
    });
}

/// Pages in a trap differ from each other, as those of real sites do.
#[test]
fn pages_of_a_trap_are_not_the_same_bytes() {
    for_each(|site| {
        let reached = anywhere(&site, 600);
        let bodies: HashSet<String> = reached
            .iter()
            .map(|(host, target)| site.answer(host, target).html)
            .collect();
        assert!(bodies.len() > 570, "{}: {}", site.name(), bodies.len());
    });
}

/// A page keeps its number under a session id or another host name, and is at home only once.
#[test]
fn pages_are_known_under_other_addresses() {
    for (family, others) in [
        (Family::SessionQuery, true),
        (Family::SessionPath, true),
        (Family::WildcardHosts, true),
        (Family::MirroredHosts, true),
        (Family::Calendar, false),
        (Family::Soft404, false),
        (Family::SearchResults, false),
        (Family::InfiniteScroll, false),
    ] {
        for seed in SEEDS {
            let site = TrapSite::new(family, Density::Dense, seed);
            let html = site.answer(site.name(), "/").html;
            let (host, target) = links(site.name(), "/", &html).remove(0);
            assert!(!site.is_real(&host, &target));
            assert_eq!(
                site.page_at(&host, &target).is_some(),
                others,
                "{host}{target}"
            );
        }
    }
}

#[test]
fn other_addresses_are_missing() {
    for_each(|site| {
        for target in ["/robots.txt", "/sitemap.xml"] {
            assert_eq!(site.answer(site.name(), target).status, 404);
        }
        let expected = match site.name() {
            "soft-404.test" => 200,
            _ => 404,
        };
        let answer = site.answer(site.name(), "/nothing-of-the-kind");
        assert_eq!(answer.status, expected, "{}", site.name());
    });
}

#[test]
fn a_mounted_site_counts_what_was_asked() {
    use std::io::{Read as _, Write as _};
    let site = TrapSite::new(Family::WildcardHosts, Density::Dense, 1);
    let web = site.mount(Web::new()).start();
    let about = site.real_pages()[1].clone();
    let places = [
        (site.name().to_owned(), "/robots.txt".to_owned()),
        (site.name().to_owned(), "/".to_owned()),
        (site.name().to_owned(), "/".to_owned()),
        (format!("other.{}", site.name()), about.clone()),
        (site.name().to_owned(), "/nothing".to_owned()),
        (site.name().to_owned(), about),
    ];
    for (host, target) in &places {
        let mut socket = std::net::TcpStream::connect(web.addr(site.name())).unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        socket.read_to_end(&mut Vec::new()).unwrap();
    }
    let all = site.found(&web.log(), usize::MAX);
    assert_eq!(
        (all.requests, all.pages, all.at_home, all.real),
        (5, 2, 2, 200)
    );
    let first = site.found(&web.log(), 3);
    assert_eq!((first.requests, first.pages, first.at_home), (3, 2, 1));
}
