//! The links of everything that is not an ordinary page: what furnishes a home page, traps,
//! sitemaps.
//!
//! Owns where the special resources hang. Invariant: what hangs under a trap is finite for a
//! crawler that bounds the length of URLs (8 KiB), the repetition of segments (3) and the hops
//! of a redirect (10), and that obeys robots.txt.

use super::host::{Host, SitemapKind};
use super::{How, Link, Resource, Spot, World};

/// Pages that a sitemap lists at the most.
const SITEMAP_ENTRIES: u32 = 50;
/// Pages that only sitemaps name, in each.
const ORPHANS: u8 = 3;
const SEARCHES: u8 = 2;
const PRIVATES: u8 = 6;

impl World {
    /// What a home page has beside its ordinary links.
    pub(super) fn furniture(&self, host: &Host, out: &mut Vec<Link>) {
        if !self.shape.furnished {
            return;
        }
        let mut add = |resource| {
            let (to, how) = (at(host, resource), How::Anchor);
            out.push(Link { to, how });
        };
        (0..PRIVATES).map(Resource::Private).for_each(&mut add);
        (0..SEARCHES).map(Resource::Search).for_each(&mut add);
        if host.has_wall {
            add(Resource::Wall);
        }
        if self.shape.trapped {
            self.traps(host, &mut add);
        }
        out.push(Link {
            to: at(host, Resource::Missing),
            how: How::Nofollow,
        });
    }

    fn traps(&self, host: &Host, add: &mut impl FnMut(Resource)) {
        add(Resource::Chain(0));
        add(Resource::Circle(0));
        add(Resource::Circle(2));
        add(Resource::Session(1));
        add(Resource::Growth(0));
        if host.ailment.is_some() {
            add(Resource::Ailing);
        }
        let mut calendar = Vec::new();
        self.write_path(host, Resource::Calendar(1), &mut calendar);
        // Only robots.txt keeps a crawler out of it.
        if Self::denies(host, &calendar) {
            add(Resource::Calendar(1));
        }
    }

    pub(super) fn special_links(host: &Host, resource: Resource, out: &mut Vec<Link>) {
        let mut add = |resource| {
            let (to, how) = (at(host, resource), How::Anchor);
            out.push(Link { to, how });
        };
        match resource {
            Resource::Session(level) => add(Resource::Session(level + 1)),
            Resource::Growth(level) => add(Resource::Growth(level + 1)),
            Resource::Calendar(day) => add(Resource::Calendar(day.saturating_add(1))),
            Resource::Sitemap(number) => Self::listed(host, number, &mut add),
            _ => {}
        }
    }

    /// What a sitemap names.
    fn listed(host: &Host, number: u8, add: &mut impl FnMut(Resource)) {
        if number == 0 && host.sitemap == SitemapKind::Index {
            (1..=host.sitemap.last())
                .map(Resource::Sitemap)
                .for_each(add);
        } else {
            let pages = host.pages.min(SITEMAP_ENTRIES);
            let own = (u32::from(number)..pages).step_by(2).map(Resource::Page);
            let orphans = (0..ORPHANS).map(|orphan| Resource::Orphan(number * ORPHANS + orphan));
            own.chain(orphans).for_each(add);
        }
    }
}

fn at(host: &Host, resource: Resource) -> Spot {
    Spot {
        host: host.id,
        secure: host.secure,
        resource,
    }
}
