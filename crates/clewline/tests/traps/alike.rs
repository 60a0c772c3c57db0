//! Sites that look like a trap: every page is fetched, and the crawl ends by itself.

use terrarium::Web;
use terrarium::traps::{LookAlike, Resemblance};

use crate::{config, crawl, tell};

fn check(kind: Resemblance, seed: u64) {
    let site = LookAlike::new(kind, seed);
    let web = site.mount(Web::new()).start();
    crawl(config(&web, site.name()));
    let log = web.log();
    tell(kind.name(), "alike", seed, &site.found(&log, usize::MAX));
    let missing = site.missing(&log);
    let some = &missing[..missing.len().min(5)];
    assert!(
        missing.is_empty(),
        "{kind} {seed}: {} pages were not fetched, such as {some:?}",
        missing.len()
    );
}

macro_rules! look_alikes {
    ($($name:ident: $kind:ident,)*) => {
        $(mod $name {
            use terrarium::traps::Resemblance;

            #[test]
            fn seed_1() {
                super::check(Resemblance::$kind, 1);
            }

            #[test]
            fn seed_2() {
                super::check(Resemblance::$kind, 2);
            }

            #[test]
            fn seed_3() {
                super::check(Resemblance::$kind, 3);
            }
        })*

        /// The look-alikes that are crawled here.
        const TRIED: &[Resemblance] = &[$(Resemblance::$kind),*];
    };
}

look_alikes! {
    catalogue: Catalogue,
    archive: Archive,
    forum: Forum,
    git: Git,
    translations: Translations,
    gallery: Gallery,
    packages: Packages,
    reference: Reference,
    versions: Versions,
    timetable: Timetable,
}

#[test]
fn no_look_alike_is_left_out() {
    assert_eq!(TRIED, Resemblance::ALL);
}
