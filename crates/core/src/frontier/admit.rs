//! The one way in.
//!
//! Owns the judgement of every URL that wants to become part of the crawl: roots, links,
//! redirects, sitemaps and the http form of a root. Each answer has a reason; refusals are counted.

use std::sync::Arc;

use super::entry::{Class, QueueEntry};
use super::job::{Admission, Answer, Offer};
use super::lane::OriginRobots;
use super::pace::Moment;
use super::rules::depth_behind;
use super::shards::ShardCounts;
use super::store::Store;
use super::{Frontier, Origin, SITEMAP_NESTING};
use crate::key::Key;
use crate::link::{Link, LinkKind};
use crate::outcome::SkipReason;
use crate::url::CrawlUrl;

impl<S: Store> Frontier<S> {
    /// Lets a root in. Roots are always fetched: no scope, pattern or depth is asked.
    pub fn admit_root(
        &mut self,
        url: CrawlUrl,
        guessed_scheme: bool,
        now: Moment,
    ) -> Result<Admission, S::Error> {
        self.join_scope(&url);
        let mut entry = self.rules.root_entry(url);
        self.roots.add(entry.key.host());
        entry.guessed_scheme = guessed_scheme;
        self.enter(entry, now)
    }

    /// Lets a root in over http that was tried over https. It stays the same entry, which is in
    /// hand, so nothing is queued.
    pub(super) fn admit_fallback(&mut self, entry: &mut QueueEntry) -> Result<Admission, S::Error> {
        let url = entry.url.over_http();
        let key = self.rules.keyer.key(&url);
        if self.is_known(key)? {
            return Ok(Admission::Known);
        }
        self.know(key)?;
        entry.url = url;
        let from = std::mem::replace(&mut entry.key, key);
        self.store.rename(from, entry)?;
        Ok(Admission::Accepted)
    }

    /// Offers the links of a page that was fetched; answers how many were new.
    pub(super) fn admit_links(
        &mut self,
        source: &QueueEntry,
        answer: &mut Answer,
        now: Moment,
    ) -> Result<u32, S::Error> {
        let part_only = self.rules.is_part_only(&source.url, source.kind);
        let found_on = Arc::new(source.url.clone());
        let mut new = 0;
        let offers = std::mem::take(&mut answer.links);
        for offer in offers.iter() {
            let marked = offer.link.nofollow || answer.nofollow;
            let kind = offer.link.kind;
            let verdict = match self.rules.judge_marks(kind, part_only, marked) {
                Ok(()) => self.admit_link(offer, source, &found_on, now)?,
                Err(reason) => Admission::Refused(reason),
            };
            new += u32::from(verdict == Admission::Accepted);
            self.count_refusal(verdict);
            if let Some(verdicts) = &mut answer.verdicts {
                verdicts.push(verdict);
            }
        }
        for (count, refused) in self.refused.iter_mut().zip(answer.refused.counts()) {
            *count += u64::from(refused);
        }
        Ok(new)
    }

    fn admit_link(
        &mut self,
        offer: Offer<&str>,
        source: &QueueEntry,
        found_on: &Arc<CrawlUrl>,
        now: Moment,
    ) -> Result<Admission, S::Error> {
        if self.is_known(offer.key)? {
            return Ok(Admission::Known);
        }
        let kind = offer.link.kind;
        let is_sitemap = kind == LinkKind::SitemapFile;
        let depth = depth_behind(source.depth, kind);
        let nesting = source.nesting + u8::from(is_sitemap);
        if is_sitemap && (nesting > SITEMAP_NESTING || !self.rules.sitemaps) {
            return Ok(Admission::Refused(SkipReason::Depth));
        }
        // An entry is made only of what is let in.
        if let Err(reason) = self.judge_link(&offer, depth) {
            return Ok(Admission::Refused(reason));
        }
        let mut entry = self.entry(offer.link.to_owned(), offer.key);
        entry.found_on = Some(Arc::clone(found_on));
        entry.depth = depth;
        entry.nesting = nesting;
        entry.unvouched = self.is_unvouched();
        if kind == LinkKind::Refresh {
            // A page that leads on by itself is a redirect by other means.
            let Some(hops_left) = source.hops_left.checked_sub(1) else {
                return Ok(Admission::Refused(SkipReason::RedirectLimit));
            };
            entry.hops_left = hops_left;
        }
        self.enter_new(entry, now)
    }

    fn judge_link(&self, offer: &Offer<&str>, depth: u32) -> Result<(), SkipReason> {
        let (url, kind) = (&offer.link.url, offer.link.kind);
        self.rules.judge_text(url)?;
        if let Err(reason) = self.rules.scope.judge(url, kind) {
            self.verdict_cache.note_refusal(offer.key, kind, reason);
            return Err(reason);
        }
        self.rules.judge_depth(depth)
    }

    /// Offers the target of a redirect; it keeps its source's depth.
    pub(super) fn admit_hop(
        &mut self,
        source: &QueueEntry,
        target: CrawlUrl,
        cookie: bool,
        now: Moment,
    ) -> Result<Admission, S::Error> {
        let verdict = self.judge_hop(source, target, cookie, now)?;
        self.count_refusal(verdict);
        Ok(verdict)
    }

    fn judge_hop(
        &mut self,
        source: &QueueEntry,
        target: CrawlUrl,
        cookie: bool,
        now: Moment,
    ) -> Result<Admission, S::Error> {
        if source.hops_left == 0 {
            return Ok(Admission::Refused(SkipReason::RedirectLimit));
        }
        let key = self.rules.keyer.key(&target);
        let mut chain = source.chain.clone().unwrap_or_default();
        chain.visited.push(source.key);
        chain.cookie |= cookie;
        let wall = chain.cookie && !chain.revisited && chain.visited.contains(&key);
        // What the chain came through is known to its owner, whoever that is.
        let was_visited = self.is_foreign(key.host()) && chain.visited.contains(&key);
        if (was_visited || self.is_known(key)?) && !wall {
            return Ok(Admission::Known);
        }
        chain.revisited |= wall;
        let mut entry = self.entry(Link::new(target, LinkKind::Redirect), key);
        // What is part of a page stays so behind a redirect, and so does a sitemap.
        if source.kind.is_requisite() || source.kind == LinkKind::SitemapFile {
            entry.kind = source.kind;
        }
        entry.found_on = Some(Arc::new(source.url.clone()));
        entry.depth = source.depth;
        entry.nesting = source.nesting;
        entry.hops_left = source.hops_left - 1;
        entry.root = source.root;
        entry.guessed_sitemap = source.guessed_sitemap;
        entry.unvouched = source.unvouched;
        entry.lastmod.clone_from(&source.lastmod);
        entry.chain = Some(chain);
        if let Err(reason) = self.judge(&entry) {
            return Ok(Admission::Refused(reason));
        }
        self.redirects.close_circle(source.key, key);
        if wall {
            self.redirects.forget(key);
            self.enter_again(entry, now)
        } else {
            self.enter_new(entry, now)
        }
    }

    /// Offers the sitemaps that a robots.txt lists, or the usual place if it lists none.
    pub(super) fn admit_sitemaps(
        &mut self,
        root: &QueueEntry,
        now: Moment,
    ) -> Result<(), S::Error> {
        if !self.rules.sitemaps || self.rules.limits.depth.is_some() {
            return Ok(());
        }
        let host = root.key.host();
        let Some(lane) = self.lanes.get_mut(&host) else {
            return Ok(());
        };
        let listed = match &lane.origin(Origin::from_url(&root.url)).robots {
            OriginRobots::Known { robots, .. } => !robots.sitemaps().is_empty(),
            _ => false,
        };
        if listed || root.kind == LinkKind::SitemapFile {
            return Ok(());
        }
        self.offer_sitemap(root.url.with_path("/sitemap.xml"), None, now)
            .map(|_| ())
    }

    pub(super) fn offer_sitemap(
        &mut self,
        url: CrawlUrl,
        listed_in: Option<Arc<CrawlUrl>>,
        now: Moment,
    ) -> Result<Admission, S::Error> {
        if !self.rules.sitemaps || self.rules.limits.depth.is_some() {
            return Ok(Admission::Refused(SkipReason::Depth));
        }
        let key = self.rules.keyer.key(&url);
        let mut entry = self.entry(Link::new(url, LinkKind::SitemapFile), key);
        entry.guessed_sitemap = listed_in.is_none();
        entry.found_on = listed_in;
        if let Err(reason) = self.judge(&entry) {
            self.count_refusal(Admission::Refused(reason));
            return Ok(Admission::Refused(reason));
        }
        self.enter(entry, now)
    }

    /// Everything about a URL that does not depend on what is known already.
    fn judge(&self, entry: &QueueEntry) -> Result<(), SkipReason> {
        self.rules.judge_text(&entry.url)?;
        if entry.root {
            // A hop of a root's own redirects may leave the roots' hosts.
            self.rules.scope.judge_patterns(&entry.url, entry.kind)?;
        } else {
            self.rules.scope.judge(&entry.url, entry.kind)?;
        }
        self.rules.judge_depth(entry.depth)
    }

    pub(super) fn entry(&self, link: Link, key: Key) -> QueueEntry {
        QueueEntry::new(link, key, self.rules.limits.redirects)
    }

    /// Queues an entry unless it is known.
    fn enter(&mut self, entry: QueueEntry, now: Moment) -> Result<Admission, S::Error> {
        if self.is_known(entry.key)? {
            return Ok(Admission::Known);
        }
        self.enter_new(entry, now)
    }

    pub(super) fn enter_new(
        &mut self,
        entry: QueueEntry,
        now: Moment,
    ) -> Result<Admission, S::Error> {
        if self.is_foreign(entry.key.host()) {
            return self.send(entry);
        }
        self.know(entry.key)?;
        self.enter_again(entry, now)
    }

    pub(super) fn enter_again(
        &mut self,
        mut entry: QueueEntry,
        now: Moment,
    ) -> Result<Admission, S::Error> {
        let host = entry.key.host();
        // A lane is made only for a host of one's own.
        if self.is_foreign(host) {
            return self.send(entry);
        }
        self.sitemap_begun(&entry);
        self.classify(&mut entry)?;
        self.counts.admitted += 1;
        self.count_in_shard(&entry, ShardCounts::admit);
        if entry.class != Class::Normal {
            self.put_behind(entry, now)?;
            return Ok(Admission::Accepted);
        }
        let is_active = self.has_lane_for(&entry.url, host, now)?;
        self.store.push(entry)?;
        if is_active {
            self.lane(host).queued += 1;
            self.reschedule(host, now)?;
        } else {
            self.residents.let_wait();
        }
        Ok(Admission::Accepted)
    }

    fn count_refusal(&mut self, verdict: Admission) {
        if let Admission::Refused(reason) = verdict {
            self.refused[reason.place()] += 1;
        }
    }
}

/// As many segments as most paths have at most, so that no memory is asked for.
const FEW_SEGMENTS: usize = 16;

/// Whether one segment of a path occurs more often than allowed, as in `/a/b/a/b/a/b/`.
pub(super) fn repeats_segments(path: &str, allowed: usize) -> bool {
    let segments = path.as_bytes().split(|byte| *byte == b'/');
    let segments = segments.filter(|segment| !segment.is_empty());
    let mut few: [&[u8]; FEW_SEGMENTS] = [b""; FEW_SEGMENTS];
    let mut count = 0;
    for (place, segment) in few.iter_mut().zip(segments.clone()) {
        *place = segment;
        count += 1;
    }
    if count < FEW_SEGMENTS {
        repeats(&mut few[..count], allowed)
    } else {
        repeats(&mut segments.collect::<Vec<_>>(), allowed)
    }
}

fn repeats(segments: &mut [&[u8]], allowed: usize) -> bool {
    if segments.len() <= allowed {
        return false;
    }
    segments.sort_unstable();
    segments
        .windows(allowed + 1)
        .any(|run| run[0] == run[allowed])
}

#[cfg(test)]
mod tests {
    use super::repeats_segments;

    #[test]
    fn traps_of_repeated_segments() {
        for (path, expected) in [
            ("/", false),
            ("/a/b/c/d", false),
            ("/a/a/a", false),
            ("/a/a/a/a", true),
            ("/a/b/a/b/a/b/a/b/", true),
            ("//////////", false),
            ("/2024/01/01/01/", false),
        ] {
            assert_eq!(repeats_segments(path, 3), expected, "{path}");
            // The same behind more segments than fit into the usual room.
            let long = (0..20).map(|number| format!("/n{number}"));
            let long = long.collect::<String>() + path;
            assert_eq!(repeats_segments(&long, 3), expected, "{long}");
        }
    }
}
