//! What single families promise besides what all of them do.

use std::collections::HashSet;

use terrarium::Web;
use terrarium::traps::{Density, Family, TrapSite};

use crate::family::{SEEDS, anywhere};
use crate::links;

/// The pages of the trap among the first ones of a walk.
fn trap_pages(site: &TrapSite, far: usize) -> Vec<(String, String)> {
    let reached = anywhere(site, far).into_iter();
    reached
        .filter(|(host, target)| !site.is_real(host, target))
        .collect()
}

/// Folders of a path, without the last name.
fn folders(target: &str) -> Vec<&str> {
    let path = target.split('?').next().unwrap();
    let mut names: Vec<&str> = path.split('/').skip(1).collect();
    names.pop();
    names
}

#[test]
fn relative_paths_grow_and_mix_their_folders() {
    for seed in SEEDS {
        let site = TrapSite::new(Family::RelativePathLoops, Density::Dense, seed);
        let (mut target, mut last) = ("/".to_owned(), 0);
        for _ in 0..8 {
            let html = site.answer(site.name(), &target).html;
            target = links(site.name(), &target, &html).remove(0).1;
            assert_eq!(site.answer(site.name(), &target).status, 200, "{target}");
            let depth = folders(&target).len();
            assert!(depth > last, "{target} is no deeper than before");
            last = depth;
        }
        let pages = trap_pages(&site, 2_000);
        let mixed = pages.iter().filter(|(_, target)| {
            let names = folders(target);
            let different: HashSet<_> = names.iter().collect();
            different.len() > 1 && !names.windows(2).any(|pair| pair[0] == pair[1])
        });
        assert!(mixed.count() > pages.len() / 2, "seed {seed}");
    }
}

/// A router that looks at the end of a path shows the real page there.
#[test]
fn real_pages_stand_below_other_folders() {
    let site = TrapSite::new(Family::RelativePathLoops, Density::Dense, 1);
    let list = site
        .real_pages()
        .into_iter()
        .find(|target| target.ends_with("/page/2/"))
        .unwrap();
    let number = site.page_at(site.name(), &list);
    assert!(number.is_some());
    let below = format!("{}{list}", list.trim_end_matches('/'));
    assert_eq!(site.page_at(site.name(), &below), number, "{below}");
    assert!(!site.is_real(site.name(), &below));
    for target in ["/elsewhere/", &format!("/elsewhere{list}")] {
        assert_eq!(site.answer(site.name(), target).status, 404, "{target}");
    }
}

#[test]
fn mirrors_have_the_same_pages_and_say_their_name() {
    for seed in SEEDS {
        let site = TrapSite::new(Family::MirroredHosts, Density::Sparse, seed);
        let pages = anywhere(&site, usize::MAX);
        let hosts: HashSet<&str> = pages.iter().map(|(host, _)| host.as_str()).collect();
        assert_eq!(hosts.len(), 8, "{hosts:?}");
        for host in hosts.iter().filter(|host| **host != site.name()) {
            let html = site.answer(host, "/").html;
            assert!(html.contains(&format!("Served by {host}")), "{html}");
            assert_eq!(site.page_at(host, "/"), Some(0));
        }
        let stranger = format!("stranger.{}", site.name());
        assert_eq!(site.answer(&stranger, "/").status, 404);
    }
}

/// A mounted site answers at all of its names.
#[test]
fn mirrors_are_mounted() {
    let site = TrapSite::new(Family::MirroredHosts, Density::Dense, 1);
    let web = site.mount(Web::new()).start();
    let html = site.answer(site.name(), "/").html;
    let (mirror, _) = links(site.name(), "/", &html).remove(0);
    assert_ne!(mirror, site.name());
    assert_eq!(web.addr(&mirror), web.addr(site.name()));
}

/// Suggestions are never real pages, and some are written like them.
#[test]
fn what_is_not_there_suggests_what_is_not_there() {
    for seed in SEEDS {
        let site = TrapSite::new(Family::Soft404, Density::Dense, seed);
        for (host, target) in trap_pages(&site, 400) {
            let html = site.answer(&host, &target).html;
            let suggested = links(&host, &target, &html).into_iter().take(8);
            for (host, target) in suggested {
                assert!(!site.is_real(&host, &target), "{target}");
                assert_eq!(site.answer(&host, &target).status, 200, "{target}");
            }
        }
    }
}

/// Two searches for the same words show the same pages, each in its own order.
#[test]
fn searches_order_the_same_results_anew() {
    for (seed, path) in [(1, "/?s="), (2, "/search.php?keywords="), (3, "/search?q=")] {
        let site = TrapSite::new(Family::SearchResults, Density::Sparse, seed);
        let results = |words: &str| -> Vec<String> {
            let target = format!("{path}{words}");
            let html = site.answer(site.name(), &target).html;
            let rows = html.split("<ol>").skip(1).map(|row| {
                let (_, target) = links(site.name(), &target, row).remove(0);
                assert!(site.is_real(site.name(), &target), "{target}");
                target
            });
            rows.collect()
        };
        let (one, other) = (results("quiet+narrow"), results("narrow+quiet"));
        assert!(one.len() > 5, "seed {seed}: {one:?}");
        assert_ne!(one, other);
        assert!(results("zzz").is_empty());
    }
}

/// However far one has scrolled, there is a next piece.
#[test]
fn there_is_always_more_to_scroll() {
    for seed in SEEDS {
        let site = TrapSite::new(Family::InfiniteScroll, Density::Dense, seed);
        let mut target = "/".to_owned();
        let mut seen = HashSet::new();
        for _ in 0..500 {
            let html = site.answer(site.name(), &target).html;
            target = links(site.name(), &target, &html).remove(0).1;
            assert!(!site.is_real(site.name(), &target), "{target}");
            assert!(seen.insert(target.clone()), "{target} came twice");
        }
        let html = site.answer(site.name(), &target).html;
        assert_eq!(html.contains("No more entries"), seed == 2, "{html}");
    }
}
