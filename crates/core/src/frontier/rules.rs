//! The rules a frontier works by.
//!
//! Owns the configuration of the frontier in the form in which it is used: politeness looked
//! up by host, limits, the patterns of per-host overrides, and what the rules alone say to a link.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::address::{AddressPolicy, Cidr};
use crate::domain::without_www;
use crate::key::Keyer;
use crate::limits::Limits;
use crate::link::{Link, LinkKind};
use crate::outcome::SkipReason;
use crate::politeness::{GroupPace, Politeness};
use crate::scope::Scope;
use crate::url::CrawlUrl;

use super::admit::repeats_segments;
use super::entry::QueueEntry;
use super::pace::Moment;

/// What survives a restart holds a host for so long at most, unless the settings ask for more.
const LONGEST_GAP: Duration = Duration::from_hours(1);

/// The usual wait between the tries for a robots.txt that could not be read.
pub const ROBOTS_RETRY: Duration = Duration::from_mins(5);

/// How one host is treated.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRules {
    /// How it may be asked.
    pub politeness: Politeness,
    /// How it may be asked instead where it is a root's own host and near.
    pub near: Option<NearPoliteness>,
    /// Obey its robots.txt.
    pub robots: bool,
    /// Pages at the most.
    pub pages: Option<u64>,
}

impl HostRules {
    /// Rules of a host that is asked like this, near or far, with as many pages as it has.
    pub const fn new(politeness: Politeness) -> Self {
        Self {
            politeness,
            near: None,
            robots: true,
            pages: None,
        }
    }
}

/// How near hosts may be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct NearPoliteness {
    /// On this machine.
    pub loopback: Politeness,
    /// In a private network.
    pub private: Politeness,
}

impl Default for NearPoliteness {
    fn default() -> Self {
        Self {
            loopback: Politeness::loopback(),
            private: Politeness::private_network(),
        }
    }
}

/// Rules for hosts whose name matches.
#[derive(Debug, Clone)]
pub struct HostPattern {
    /// A host name; a leading `*.` covers the name and its subdomains, `*` alone every host.
    pub pattern: Box<str>,
    /// What counts for them.
    pub rules: Arc<HostRules>,
}

impl HostPattern {
    fn matches(&self, host: &str) -> bool {
        matches_host(&self.pattern, host)
    }
}

/// Whether a host's name matches a pattern: a name, `*.` and a name for it and its subdomains,
/// or `*` for all.
pub fn matches_host(pattern: &str, host: &str) -> bool {
    pattern == "*"
        || match pattern.strip_prefix("*.") {
            Some(domain) => host
                .strip_suffix(domain)
                .is_some_and(|front| front.is_empty() || front.ends_with('.')),
            None => without_www(host) == without_www(pattern),
        }
}

/// Which groups of hosts have limits. Where none has one, nobody counts who is in it: with very
/// many hosts that is a good part of a hand-out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Grouping {
    pub(super) domains: bool,
    pub(super) addresses: bool,
}

/// Everything a frontier is configured with.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the configuration"
)]
#[derive(Debug, Clone)]
pub struct Rules {
    /// What belongs to the crawl.
    pub scope: Scope,
    /// What it may spend.
    pub limits: Limits,
    /// Which addresses may be asked.
    pub addresses: AddressPolicy,
    /// Makes keys.
    pub keyer: Keyer,
    /// How hosts are treated that no pattern covers.
    pub host: Arc<HostRules>,
    /// Exceptions; the first that matches counts.
    pub hosts: Vec<HostPattern>,
    /// Addresses that the rule per address does not cover.
    pub shared_addresses: Vec<Cidr>,
    /// Follow links marked nofollow.
    pub follow_nofollow: bool,
    /// Look for sitemaps.
    pub sitemaps: bool,
    /// Learn which URLs are parts of traps, and give them up.
    pub traps: bool,
    /// Others wrote the roots, so their hosts are treated as any other: nothing private is asked, and
    /// nobody is asked faster for being near.
    pub foreign_roots: bool,
    /// Wait between the tries for a robots.txt that could not be read.
    pub robots_retry: Duration,
    /// Hosts in memory at the most; the others wait in the store.
    pub active_lanes: usize,
    /// The beginning of the run, in milliseconds since 1970; what survives a restart is kept
    /// in wall time.
    pub epoch: u64,
}

/// The page that a link stands on, as far as it decides about the link.
#[derive(Debug, Clone, Copy)]
pub struct LinkingPage<'a> {
    /// Its URL.
    pub url: &'a CrawlUrl,
    /// As what it was found.
    pub kind: LinkKind,
    /// How deep it is.
    pub depth: u32,
    /// It, or the link itself, asks that the link is not followed.
    pub nofollow: bool,
}

/// The depth of what a page links to: its parts are as deep as itself, and so are sitemaps.
pub(super) fn depth_behind(depth: u32, kind: LinkKind) -> u32 {
    depth + u32::from(!kind.is_requisite() && kind != LinkKind::SitemapFile)
}

impl Rules {
    /// Rules with every default, for a scope.
    pub fn new(scope: Scope, keyer: Keyer) -> Self {
        let host = HostRules {
            near: Some(NearPoliteness::default()),
            ..HostRules::new(Politeness::default())
        };
        Self {
            scope,
            limits: Limits::default(),
            addresses: AddressPolicy::default(),
            keyer,
            host: Arc::new(host),
            hosts: Vec::new(),
            shared_addresses: Vec::new(),
            follow_nofollow: false,
            sitemaps: true,
            traps: true,
            foreign_roots: false,
            robots_retry: ROBOTS_RETRY,
            active_lanes: 100_000,
            epoch: 0,
        }
    }

    /// Which groups of hosts any rule sets a limit to.
    pub(super) fn grouping(&self) -> Grouping {
        let patterns = self.hosts.iter().map(|pattern| &pattern.rules);
        let rules = patterns.chain([&self.host]);
        let paces = rules.flat_map(|rules| {
            let near = rules.near.as_ref();
            let near = near.map(|near| [&near.loopback, &near.private]);
            near.into_iter().flatten().chain([&rules.politeness])
        });
        paces.fold(Grouping::default(), |grouping, pace| Grouping {
            domains: grouping.domains || pace.domain != GroupPace::UNLIMITED,
            addresses: grouping.addresses || pace.address != GroupPace::UNLIMITED,
        })
    }

    /// A moment of this run as wall time.
    pub(super) fn wall(&self, moment: Moment) -> u64 {
        let since = u64::try_from(moment.as_millis()).unwrap_or(u64::MAX);
        self.epoch.saturating_add(since)
    }

    /// Wall time as a moment of this run. A clock that was set back or forward cannot hold a
    /// host for longer than the longest park.
    pub(super) fn moment(&self, wall: u64, now: Moment) -> Moment {
        let moment = Moment::from_millis(wall.saturating_sub(self.epoch));
        let politeness = &self.host.politeness;
        let delay = politeness.host.delay.unwrap_or_default();
        let longest = politeness.longest_retry_after.max(delay).max(LONGEST_GAP);
        moment.min(now + longest)
    }

    /// A root as it is queued.
    pub fn root_entry(&self, url: CrawlUrl) -> QueueEntry {
        let key = self.keyer.key(&url);
        let link = Link::new(url, LinkKind::Root);
        let mut entry = QueueEntry::new(link, key, self.limits.redirects);
        entry.root = true;
        entry
    }

    /// The judgement of a URL by its text alone.
    pub fn judge_text<Text: Deref<Target = str>>(
        &self,
        url: &CrawlUrl<Text>,
    ) -> Result<(), SkipReason> {
        if url.as_str().len() > self.limits.url_length {
            return Err(SkipReason::TooLong);
        }
        if repeats_segments(url.path(), self.limits.repeated_segments) {
            return Err(SkipReason::RepeatedSegments);
        }
        Ok(())
    }

    /// The judgement of a link by the page that it stands on, in the order in which the frontier
    /// asks. The text and the scope of its target are not looked at.
    pub fn judge_place(&self, kind: LinkKind, page: &LinkingPage<'_>) -> Result<(), SkipReason> {
        let is_part = self.is_part_only(page.url, page.kind);
        self.judge_marks(kind, is_part, page.nofollow)?;
        if kind == LinkKind::SitemapFile && !self.sitemaps {
            return Err(SkipReason::Depth);
        }
        self.judge_depth(depth_behind(page.depth, kind))
    }

    /// Whether a page came only as a part of another one: it lends its links no right of way.
    pub(super) fn is_part_only(&self, url: &CrawlUrl, kind: LinkKind) -> bool {
        kind.is_requisite() && self.scope.judge(url, LinkKind::Anchor).is_err()
    }

    /// The judgement of a link by how its page came, and by whether it is marked nofollow.
    pub(super) const fn judge_marks(
        &self,
        kind: LinkKind,
        is_part: bool,
        nofollow: bool,
    ) -> Result<(), SkipReason> {
        if kind.is_requisite() {
            Ok(())
        } else if is_part {
            Err(SkipReason::OutOfScope)
        } else if nofollow && !self.follow_nofollow {
            Err(SkipReason::Nofollow)
        } else {
            Ok(())
        }
    }

    pub(super) fn judge_depth(&self, depth: u32) -> Result<(), SkipReason> {
        match self.limits.depth {
            Some(deepest) if depth > deepest => Err(SkipReason::Depth),
            _ => Ok(()),
        }
    }

    /// The rules for a host.
    pub fn for_host(&self, host: &str) -> Arc<HostRules> {
        let pattern = self.hosts.iter().find(|pattern| pattern.matches(host));
        Arc::clone(pattern.map_or(&self.host, |pattern| &pattern.rules))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::politeness::Speed;

    #[test]
    fn one_limit_anywhere_is_enough_to_count_a_group() {
        let unlimited = HostRules::new(Politeness::for_speed(Speed::Max));
        let grouping = |change: &dyn Fn(&mut HostRules)| {
            let scope = Scope::new(crate::scope::Reach::Any, false, &[], &[]).unwrap();
            let mut rules = Rules::new(scope, Keyer::default());
            rules.host = Arc::new(unlimited.clone());
            let mut other = unlimited.clone();
            change(&mut other);
            rules.hosts.push(HostPattern {
                pattern: "a.test".into(),
                rules: Arc::new(other),
            });
            let Grouping { domains, addresses } = rules.grouping();
            (domains, addresses)
        };
        let limited = GroupPace {
            in_flight: 9,
            ..GroupPace::UNLIMITED
        };
        assert_eq!(grouping(&|_| {}), (false, false));
        assert_eq!(
            grouping(&|rules| rules.politeness.domain = limited),
            (true, false)
        );
        assert_eq!(
            grouping(&|rules| rules.politeness.address = limited),
            (false, true)
        );
        let near = |rules: &mut HostRules| {
            let mut near = NearPoliteness::default();
            near.private.domain = limited;
            rules.near = Some(near);
        };
        assert_eq!(grouping(&near), (true, false));
    }

    #[test]
    fn a_link_is_judged_by_where_it_stands() {
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let scope = Scope::new(crate::scope::Reach::Host, true, &[], &[]).unwrap();
        let mut rules = Rules::new(scope, Keyer::default());
        rules.limits.depth = Some(2);
        let (page, image) = (LinkKind::Anchor, LinkKind::Image);
        let own = LinkingPage {
            url: &url,
            kind: page,
            depth: 1,
            nofollow: false,
        };
        let deep = LinkingPage { depth: 2, ..own };
        let marked = LinkingPage {
            nofollow: true,
            ..deep
        };
        // No root joined the scope, so the page itself lies outside of it.
        let part = LinkingPage {
            kind: image,
            ..marked
        };
        for (kind, place, expected) in [
            (page, own, Ok(())),
            (page, deep, Err(SkipReason::Depth)),
            (image, deep, Ok(())),
            (page, marked, Err(SkipReason::Nofollow)),
            (image, marked, Ok(())),
            (page, part, Err(SkipReason::OutOfScope)),
            (image, part, Ok(())),
        ] {
            assert_eq!(
                rules.judge_place(kind, &place),
                expected,
                "{kind:?} {place:?}"
            );
        }
        rules.follow_nofollow = true;
        assert_eq!(
            rules.judge_place(page, &marked),
            Err(SkipReason::Depth),
            "a mark that is not heeded hides no other reason"
        );
        rules.sitemaps = false;
        let sitemap = LinkKind::SitemapFile;
        assert_eq!(rules.judge_place(sitemap, &own), Err(SkipReason::Depth));
    }

    #[test]
    fn host_patterns() {
        let rules = HostRules::new(Politeness::default());
        let check = |pattern: &str, host: &str| {
            HostPattern {
                pattern: pattern.into(),
                rules: Arc::new(rules.clone()),
            }
            .matches(host)
        };
        assert!(check("a.test", "a.test") && check("a.test", "www.a.test"));
        assert!(!check("a.test", "b.a.test"));
        assert!(check("*.a.test", "b.a.test") && check("*.a.test", "a.test"));
        assert!(!check("*.a.test", "ba.test"));
    }
}
