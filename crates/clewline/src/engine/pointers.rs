//! Where a page points: what the frontier is offered and what the logs are told of it.
//!
//! Owns the keys of links, made on the task's thread, and the choice of those that the frontier
//! need not see. Invariant: the logs hear of every link; the frontier is spared only those that
//! it would answer with "known" and count nowhere.

use clewline_core::frontier::{Answer, Offer};
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
    let Pointers {
        source,
        links,
        nofollow,
    } = pointers;
    // Written here, because the addresses are here and the task has a processor of its own.
    let kept = workshop.spool.as_ref();
    facts.outlinks = kept.map(|_| captured::outlinks(&links, nofollow));
    answer.nofollow = nofollow;
    let keys = keys(&workshop.keyer, &links);
    let kinds = links.iter().map(|link| link.kind);
    facts.links = keys.iter().copied().zip(kinds).collect();
    // Links that are not to be followed are counted, known or not; so are those of pages that
    // are only parts of others.
    let may_spare = !nofollow && !source.is_requisite();
    let is_spared =
        |link: &Link, key: Key| may_spare && !link.nofollow && workshop.familiar.knows(key);
    answer.links = links
        .into_iter()
        .zip(keys)
        .filter(|(link, key)| !is_spared(link, *key))
        .map(|(link, key)| Offer { link, key })
        .collect();
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
