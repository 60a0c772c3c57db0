//! Where a page points: what the frontier is offered and what the logs are told of it.
//!
//! Owns the keys of links, made on the task's thread, and the choice of those that the frontier
//! need not see. Invariant: the logs hear of every link; the frontier is spared only those that
//! it would answer with "known" and count nowhere.

use clewline_core::frontier::{Answer, Familiar, Offer};
use clewline_core::key::{Key, Keyer};
use clewline_core::link::{Link, LinkKind};

use super::facts::Facts;
use super::task::Workshop;
use crate::captured;

/// The links of a page.
pub(super) struct Pointers {
    /// How the page itself was named.
    pub(super) source: LinkKind,
    pub(super) links: Vec<Link>,
    /// The page asks that they are not followed.
    pub(super) nofollow: bool,
}

/// Hands the links of a page on, to the frontier and to the logs.
pub(super) fn take(
    workshop: &Workshop,
    pointers: Pointers,
    answer: &mut Answer,
    facts: &mut Facts,
) {
    // Written here, because the addresses are here and the task has a processor of its own.
    let kept = workshop.spool.as_ref();
    facts.outlinks = kept.map(|_| captured::outlinks(&pointers.links, pointers.nofollow));
    let keys = keys(&workshop.keyer, &pointers.links);
    let kinds = pointers.links.iter().map(|link| link.kind);
    facts.links = keys.iter().copied().zip(kinds).collect();
    answer.nofollow = pointers.nofollow;
    answer.links = offers(pointers, keys, &workshop.familiar);
}

/// What the frontier must see. Links that are not to be followed are counted, known or not, and
/// so are those of pages that are only parts of others.
fn offers(pointers: Pointers, keys: Vec<Key>, familiar: &Familiar) -> Vec<Offer> {
    let may_spare = !pointers.nofollow && !pointers.source.is_requisite();
    let is_spared = |link: &Link, key: Key| may_spare && !link.nofollow && familiar.knows(key);
    let links = pointers.links.into_iter().zip(keys);
    links
        .filter(|(link, key)| !is_spared(link, *key))
        .map(|(link, key)| Offer { link, key })
        .collect()
}

/// The keys of links; most are on the host of the one before.
fn keys(keyer: &Keyer, links: &[Link]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::with_capacity(links.len());
    let mut before: Option<&Link> = None;
    for link in links {
        let key = match (before, keys.last()) {
            (Some(before), Some(key)) => keyer.key_beside(&link.url, &before.url, *key),
            _ => keyer.key(&link.url),
        };
        keys.push(key);
        before = Some(link);
    }
    keys
}

#[cfg(test)]
mod tests {
    use clewline_core::frontier::{Frontier, MemoryStore, Moment, Rules};
    use clewline_core::scope::{Reach, Scope};
    use clewline_core::url::CrawlUrl;

    use super::*;

    fn link(address: &str) -> Link {
        Link::new(CrawlUrl::parse(address).unwrap(), LinkKind::Anchor)
    }

    #[test]
    fn only_what_is_known_and_counted_nowhere_is_spared() {
        let keyer = Keyer::new(5, &[]);
        let scope = Scope::new(Reach::Host, false, &[], &[]).unwrap();
        let rules = Rules::new(scope, keyer.clone());
        let mut frontier = Frontier::new(rules, MemoryStore::default());
        let root = link("http://a.test/").url;
        frontier.admit_root(root, false, Moment::ZERO).unwrap();
        let marked = Link {
            nofollow: true,
            ..link("http://a.test/")
        };
        let links = vec![link("http://a.test/"), link("http://a.test/b"), marked];
        let keys = keys(&keyer, &links);
        assert!(keys[0] == keys[2] && keys[0] != keys[1]);
        let offered = |source: LinkKind, nofollow: bool| {
            let links = links.clone();
            let pointers = Pointers {
                source,
                links,
                nofollow,
            };
            let offers = offers(pointers, keys.clone(), &frontier.familiar());
            let offers = offers.iter().map(|offer| (offer.key, offer.link.nofollow));
            offers.collect::<Vec<_>>()
        };
        let all = [(keys[0], false), (keys[1], false), (keys[2], true)];
        assert_eq!(offered(LinkKind::Anchor, false), all[1..]);
        assert_eq!(offered(LinkKind::Anchor, true), all);
        assert_eq!(offered(LinkKind::Style, false), all);
    }
}
