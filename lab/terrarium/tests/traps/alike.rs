//! Every look-alike in several seeds: finite, whole, and reachable page by page.

use std::collections::HashSet;

use terrarium::traps::{LookAlike, Resemblance};

use crate::walk;

#[test]
fn look_alikes_are_finite_and_all_of_them_is_reached() {
    for kind in Resemblance::ALL {
        for seed in 1..=6 {
            let site = LookAlike::new(kind, seed);
            let reached = walk(
                site.name(),
                |host, target| site.answer(host, target),
                |_, _| true,
                usize::MAX,
            );
            let reached: HashSet<String> = reached.into_iter().map(|(_, target)| target).collect();
            let pages: HashSet<String> = site.real_pages().into_iter().collect();
            assert!((300..=600).contains(&pages.len()), "{kind} {}", pages.len());
            assert_eq!(reached, pages, "{kind} {seed}");
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_site() {
    for kind in Resemblance::ALL {
        let (one, same) = (LookAlike::new(kind, 1), LookAlike::new(kind, 1));
        assert_eq!(one.real_pages(), same.real_pages());
        for target in one.real_pages() {
            assert_eq!(one.answer("", &target), same.answer("", &target));
        }
        assert_ne!(
            one.real_pages(),
            LookAlike::new(kind, 2).real_pages(),
            "{kind}"
        );
    }
}
