//! Sites with a trap: nearly all real pages are found with a bounded number of requests.

use terrarium::Web;
use terrarium::traps::{Density, Family, TrapSite};

use crate::{config, crawl, tell};

/// Requests for each real page.
const EFFORT: usize = 5;
/// The least share of the real pages that must be found, in per cent.
const SHARE: f64 = 95.0;

fn check(family: Family, density: Density, seed: u64) {
    let site = TrapSite::new(family, density, seed);
    let budget = EFFORT * site.real_pages().len();
    let web = site.mount(Web::new()).start();
    let mut config = config(&web, site.name());
    config.limits.pages = Some(budget as u64);
    crawl(config);
    let found = site.found(&web.log(), budget);
    tell(family.name(), density.name(), seed, &found);
    assert!(
        found.share() >= SHARE,
        "{family} {density} {seed}: {found:?}"
    );
}

macro_rules! families {
    ($($name:ident: $family:ident,)*) => {
        $(mod $name {
            use terrarium::traps::{Density, Family};

            #[test]
            fn sparse_1() {
                super::check(Family::$family, Density::Sparse, 1);
            }

            #[test]
            fn sparse_2() {
                super::check(Family::$family, Density::Sparse, 2);
            }

            #[test]
            fn sparse_3() {
                super::check(Family::$family, Density::Sparse, 3);
            }

            #[test]
            fn dense_1() {
                super::check(Family::$family, Density::Dense, 1);
            }

            #[test]
            fn dense_2() {
                super::check(Family::$family, Density::Dense, 2);
            }

            #[test]
            fn dense_3() {
                super::check(Family::$family, Density::Dense, 3);
            }
        })*

        /// The families that are crawled here.
        const TRIED: &[Family] = &[$(Family::$family),*];
    };
}

families! {
    session_query: SessionQuery,
    session_path: SessionPath,
    facets: Facets,
    sort_orders: SortOrders,
    calendar: Calendar,
    past_the_end: PastTheEnd,
    random_names: RandomNames,
    wildcard_hosts: WildcardHosts,
    refresh_chain: RefreshChain,
    relative_path_loops: RelativePathLoops,
    mirrored_hosts: MirroredHosts,
    soft_404: Soft404,
    search_results: SearchResults,
    infinite_scroll: InfiniteScroll,
}

#[test]
fn no_family_is_left_out() {
    assert_eq!(TRIED, Family::ALL);
}
