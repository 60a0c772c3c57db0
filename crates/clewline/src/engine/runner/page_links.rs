//! Where a page points: what the frontier is offered and what the logs are told of it.
//!
//! Owns the keys of links, made on the task's thread, and the choice of those that the frontier
//! need not see. Invariant: the logs hear of every link; the frontier is spared only those that
//! it would answer with "known" and count nowhere, and those whose refusal is counted here.

use clewline_core::frontier::{Offers, Refusals, VerdictCache};
use clewline_core::key::{Key, Keyer};
use clewline_core::link::{Link, LinkKind, Links};
use clewline_core::url::CrawlUrl;

use super::{JobResult, JobRunner, Target};
use crate::extract::Extracted;
use crate::warc_metadata;

/// The links of a page.
pub(super) struct PageLinks {
    /// How the page itself was named.
    source: Option<LinkKind>,
    links: Links,
    /// The page asks that they are not followed.
    nofollow: bool,
    /// What found them, if the same would find the same again.
    extractor: Option<u64>,
}

impl PageLinks {
    /// Links that were found by an extractor. Dates beside links are not noted, and what was read as a
    /// sitemap need not be one for whoever reads it next.
    pub(super) fn new(target: &Target<'_>, extracted: Extracted, extractor: Option<u64>) -> Self {
        let links = extracted.links;
        let is_sitemap = target.kind == Some(LinkKind::SitemapFile);
        let is_repeatable = !is_sitemap && links.iter().all(|link| link.lastmod.is_none());
        Self {
            source: target.kind,
            links,
            nofollow: extracted.nofollow,
            extractor: extractor.filter(|_| is_repeatable),
        }
    }

    /// The links of a page that was named like this, with those that a browser found.
    pub(super) fn of_rendering(source: LinkKind, extracted: Extracted) -> Self {
        Self {
            source: Some(source),
            links: extracted.links,
            nofollow: extracted.nofollow,
            extractor: None,
        }
    }

    /// Whether the frontier need not see links that are known or refused. It sees links that are
    /// not to be followed, which are counted, known or not, and all those of pages that are only
    /// parts of others.
    fn may_spare(&self) -> bool {
        !self.nofollow && !self.source.is_some_and(LinkKind::is_requisite)
    }
}

/// Hands the links of a page on, to the frontier and to the logs.
pub(super) fn take(runner: &JobRunner, page_links: &PageLinks, result: &mut JobResult) {
    // Written here, because the addresses are here and the task has a processor of its own.
    let kept = runner.spool.as_ref();
    let (links, nofollow) = (&page_links.links, page_links.nofollow);
    result.outlinks = kept.map(|_| warc_metadata::outlinks(links, nofollow, page_links.extractor));
    let named = named(&runner.keyer, &page_links.links);
    if let Some(answer) = result.answer_mut() {
        // Whoever wants a verdict on each link has them all judged.
        let may_spare = !runner.wants_verdicts && page_links.may_spare();
        let cache = may_spare.then_some(&*runner.verdict_cache);
        answer.nofollow = page_links.nofollow;
        (answer.links, answer.refused) = offers(&page_links.links, &named, cache);
    }
    result.links = named;
}

/// What the frontier must see, and the count of what it would refuse: it is spared what the cache
/// knows.
fn offers(
    links: &Links,
    named: &[(Key, LinkKind)],
    cache: Option<&VerdictCache>,
) -> (Offers, Refusals) {
    let (mut offers, mut refused) = (Offers::default(), Refusals::default());
    for (link, (key, kind)) in links.iter().zip(named) {
        if let Some(cache) = cache.filter(|_| !link.nofollow) {
            if cache.knows(*key) {
                continue;
            }
            if let Some(reason) = cache.refuses(*key, *kind) {
                refused.count(reason);
                continue;
            }
        }
        offers.push(link, *key);
    }
    (offers, refused)
}

/// Hosts of a page whose part of the key is remembered: its own, and those it names at its foot.
const HOSTS: usize = 4;

/// The keys of links and how they are named. Most are on one of a few hosts.
fn named(keyer: &Keyer, links: &Links) -> Vec<(Key, LinkKind)> {
    let mut named = Vec::with_capacity(links.len());
    let mut met: [Option<(CrawlUrl<&str>, Key)>; HOSTS] = [None; HOSTS];
    let mut oldest = 0;
    for Link { url, kind, .. } in links.iter() {
        let mut known = met.iter().flatten();
        let beside = known.find(|(other, _)| other.host() == url.host());
        let key = if let Some((_, key)) = beside {
            keyer.key_beside(&url, *key)
        } else {
            let key = keyer.key(&url);
            met[oldest] = Some((url, key));
            oldest = (oldest + 1) % HOSTS;
            key
        };
        named.push((key, kind));
    }
    named
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use clewline_core::frontier::{
        Answer, Ending, Frontier, MemoryStore, Moment, Next, Rules, Settlement, Work,
    };
    use clewline_core::outcome::SkipReason;
    use clewline_core::scope::{Reach, Scope};

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
        let links = [link("http://a.test/"), link("http://a.test/b"), marked];
        let links = Links::from_iter(links);
        let named = named(&keyer, &links);
        let keys: Vec<Key> = named.iter().map(|(key, _)| *key).collect();
        assert!(keys[0] == keys[2] && keys[0] != keys[1]);
        let offered = |source: LinkKind, nofollow: bool| {
            let links = links.clone();
            let page_links = PageLinks {
                source: Some(source),
                links,
                nofollow,
                extractor: None,
            };
            let cache = frontier.verdict_cache();
            let cache = page_links.may_spare().then_some(&*cache);
            let (offers, refused) = offers(&page_links.links, &named, cache);
            assert_eq!(refused, Refusals::default());
            let offers = offers.iter().map(|offer| (offer.key, offer.link.nofollow));
            offers.collect::<Vec<_>>()
        };
        let all = [(keys[0], false), (keys[1], false), (keys[2], true)];
        assert_eq!(offered(LinkKind::Anchor, false), all[1..]);
        assert_eq!(offered(LinkKind::Anchor, true), all);
        assert_eq!(offered(LinkKind::Style, false), all);
    }

    #[test]
    fn what_the_scope_refused_once_is_counted_and_not_offered() {
        let keyer = Keyer::new(5, &[]);
        let scope = Scope::new(Reach::Host, false, &[], &[]).unwrap();
        let mut rules = Rules::new(scope, keyer.clone());
        Arc::make_mut(&mut rules.host).robots = false;
        let mut frontier = Frontier::new(rules, MemoryStore::default());
        let root = link("http://a.test/").url;
        frontier.admit_root(root, false, Moment::ZERO).unwrap();
        let links = Links::from_iter([link("http://b.test/"), link("http://c.test/")]);
        let named = named(&keyer, &links);
        let cache = frontier.verdict_cache();
        let (mut first, mut refused) = offers(&links, &named, Some(&cache));
        assert_eq!((first.len(), refused), (2, Refusals::default()));
        while let Next::Start(job) = frontier.next(Moment::ZERO).unwrap() {
            let ending = match job.work {
                Work::Resolve { .. } => Ending::Resolved {
                    addresses: vec![[93, 0, 0, 1].into()],
                    ttl: Duration::from_hours(1),
                    trusted: false,
                },
                _ => Ending::Answered(Box::new(Answer {
                    status: 200,
                    links: std::mem::take(&mut first),
                    ..Answer::default()
                })),
            };
            let job = job.id;
            let mut settlement = Settlement { job, ending };
            frontier.settle(&mut settlement, Moment::ZERO).unwrap();
        }
        refused.count(SkipReason::OutOfScope);
        refused.count(SkipReason::OutOfScope);
        let (again, counted) = offers(&links, &named, Some(&cache));
        assert_eq!((again.len(), counted), (0, refused));
    }
}
