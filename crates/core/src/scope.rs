//! Scope: which URLs belong to a crawl.
//!
//! Owns the roots and the rules around them and gives one verdict per URL, with its reason. It
//! refuses to know politeness, robots and budgets. Patterns are linear-time regular expressions
//! judged on the whole URL text.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;

use regex::{RegexSet, RegexSetBuilder};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::{registrable, without_www};
use crate::link::LinkKind;
use crate::outcome::SkipReason;
use crate::url::CrawlUrl;

/// Memory that the compiled patterns may take together.
const PATTERN_BYTES: usize = 16 * 1024 * 1024;

/// The general rule of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Only the roots themselves.
    Page,
    /// The roots' hosts, at or below the roots' folders.
    Path,
    /// The roots' hosts; a leading `www.` is ignored.
    #[default]
    Host,
    /// The roots' registrable domains.
    Domain,
    /// Everything.
    Any,
}

/// A pattern that is not a regular expression, or too large a one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the pattern cannot be used: {0}")]
pub struct PatternError(String);

/// Decides what belongs to a crawl.
#[derive(Debug, Clone)]
pub struct Scope {
    reach: Reach,
    requisites: bool,
    scripts: bool,
    include: Option<RegexSet>,
    exclude: RegexSet,
    hosts: HashMap<Box<str>, Vec<Box<str>>>,
    domains: HashSet<Box<str>>,
}

/// What a root adds to a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// A host that was not a root's.
    Host,
    /// A folder on a host that was.
    Folder,
    /// It was all there.
    Nothing,
}

impl Scope {
    /// A scope without roots yet; patterns are regular expressions.
    pub fn new(
        reach: Reach,
        requisites: bool,
        include: &[String],
        exclude: &[String],
    ) -> Result<Self, PatternError> {
        Ok(Self {
            reach,
            requisites,
            scripts: false,
            include: if include.is_empty() {
                None
            } else {
                Some(patterns(include)?)
            },
            exclude: patterns(exclude)?,
            hosts: HashMap::new(),
            domains: HashSet::new(),
        })
    }

    /// The same with the scripts of the site, which are read for links.
    #[must_use]
    pub fn with_scripts(mut self) -> Self {
        self.scripts = true;
        self
    }

    /// Makes a URL a root; says what that changes.
    pub fn join(&mut self, root: &CrawlUrl) -> Joined {
        self.domains.insert(registrable(root.host()).into());
        let path = root.path();
        let folder = &path[..=path.rfind('/').unwrap_or(0)];
        let host: Box<str> = without_www(root.host()).into();
        let folders = self.hosts.entry(host).or_default();
        let is_host_new = folders.is_empty();
        // Where whole hosts are in reach, a list of a million roots on one adds nothing to it.
        let is_folder_new =
            self.reach == Reach::Path && !folders.iter().any(|known| **known == *folder);
        if is_host_new || is_folder_new {
            folders.push(folder.into());
        }
        match (is_host_new, is_folder_new) {
            (true, _) => Joined::Host,
            (false, true) => Joined::Folder,
            (false, false) => Joined::Nothing,
        }
    }

    /// Leaves out what matches one more pattern.
    pub fn exclude(&mut self, pattern: &str) -> Result<(), PatternError> {
        let mut all = self.exclude.patterns().to_vec();
        all.push(pattern.to_owned());
        self.exclude = patterns(&all)?;
        Ok(())
    }

    /// Whether a URL that was let in matches a pattern that leaves it out: one that came later.
    pub fn leaves_out<Text: Deref<Target = str>>(
        &self,
        url: &CrawlUrl<Text>,
        kind: LinkKind,
    ) -> bool {
        let is_judged = !matches!(kind, LinkKind::Root | LinkKind::SitemapFile);
        is_judged && !self.exclude.is_empty() && self.exclude.is_match(url.as_str())
    }

    /// Whether parts of pages are fetched, too.
    pub const fn takes_requisites(&self) -> bool {
        self.requisites
    }

    /// Whether a host is a root's own.
    pub fn is_root_host(&self, host: &str) -> bool {
        self.hosts.contains_key(without_www(host))
    }

    /// Whether the user said by patterns which URLs are wanted.
    pub const fn names_what_is_wanted(&self) -> bool {
        self.include.is_some()
    }

    /// The verdict for a URL that was named in this way. Roots are not judged.
    pub fn judge<Text: Deref<Target = str>>(
        &self,
        url: &CrawlUrl<Text>,
        kind: LinkKind,
    ) -> Result<(), SkipReason> {
        if kind.is_requisite() && !self.requisites && !self.is_own_script(url, kind) {
            return Err(SkipReason::Requisite);
        }
        if !kind.is_requisite() && !self.reaches(url, kind) {
            return Err(SkipReason::OutOfScope);
        }
        if kind.is_guess() && !self.is_root_host(url.host()) {
            return Err(SkipReason::OutOfScope);
        }
        self.judge_patterns(url, kind)
    }

    /// The verdict of the patterns alone, for the hops of a root's own redirects.
    pub fn judge_patterns<Text: Deref<Target = str>>(
        &self,
        url: &CrawlUrl<Text>,
        kind: LinkKind,
    ) -> Result<(), SkipReason> {
        if self.exclude.is_match(url.as_str()) {
            return Err(SkipReason::Excluded);
        }
        let helps_to_find = kind == LinkKind::SitemapFile || kind.is_requisite();
        match &self.include {
            Some(include) if !helps_to_find && !include.is_match(url.as_str()) => {
                Err(SkipReason::NotIncluded)
            }
            _ => Ok(()),
        }
    }

    /// Whether it is a script of the site itself that is read for links.
    fn is_own_script<Text: Deref<Target = str>>(
        &self,
        url: &CrawlUrl<Text>,
        kind: LinkKind,
    ) -> bool {
        self.scripts && kind == LinkKind::Script && self.reaches(url, kind)
    }

    fn reaches<Text: Deref<Target = str>>(&self, url: &CrawlUrl<Text>, kind: LinkKind) -> bool {
        match self.reach {
            Reach::Any => true,
            Reach::Page => false,
            Reach::Domain => self.domains.contains(registrable(url.host())),
            // A sitemap lies at the top of its host whatever part of it is crawled.
            Reach::Path if kind != LinkKind::SitemapFile => self
                .hosts
                .get(without_www(url.host()))
                .is_some_and(|folders| {
                    folders
                        .iter()
                        .any(|folder| url.path().starts_with(&**folder))
                }),
            Reach::Path | Reach::Host => self.is_root_host(url.host()),
        }
    }
}

fn patterns(patterns: &[String]) -> Result<RegexSet, PatternError> {
    RegexSetBuilder::new(patterns)
        .size_limit(PATTERN_BYTES)
        .build()
        .map_err(|error| PatternError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_pattern_leaves_out_what_was_let_in() {
        let mut scope = scope(Reach::Any, &[], &["/old/"]);
        let url = CrawlUrl::parse("https://a.test/calendar/1").unwrap();
        assert!(!scope.leaves_out(&url, LinkKind::Anchor));
        assert!(scope.exclude("(").is_err());
        scope.exclude("/calendar/").unwrap();
        assert!(scope.leaves_out(&url, LinkKind::Anchor));
        assert!(!scope.leaves_out(&url, LinkKind::Root));
        let judged = scope.judge(&url, LinkKind::Anchor);
        assert_eq!(judged, Err(SkipReason::Excluded));
        let old = CrawlUrl::parse("https://a.test/old/1").unwrap();
        assert!(scope.leaves_out(&old, LinkKind::Anchor));
    }

    fn scope(reach: Reach, include: &[&str], exclude: &[&str]) -> Scope {
        let owned =
            |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut scope = Scope::new(reach, true, &owned(include), &owned(exclude)).unwrap();
        scope.join(&CrawlUrl::parse("https://www.example.co.uk/docs/intro.html").unwrap());
        scope.join(&CrawlUrl::parse("http://127.0.0.1:8080/").unwrap());
        scope
    }

    fn check(scope: &Scope, url: &str, kind: LinkKind, expected: Result<(), SkipReason>) {
        assert_eq!(
            scope.judge(&CrawlUrl::parse(url).unwrap(), kind),
            expected,
            "{url} {kind:?}"
        );
    }

    /// Without the parts of pages, the site's own scripts are fetched where they are read for links.
    #[test]
    fn parts_of_pages_are_taken_where_they_are_wanted() {
        let patterns: &[String] = &[];
        let root = CrawlUrl::parse("https://a.test/").unwrap();
        for (requisites, scripts) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut scope = Scope::new(Reach::Host, requisites, patterns, patterns).unwrap();
            if scripts {
                scope = scope.with_scripts();
            }
            scope.join(&root);
            assert_eq!(scope.takes_requisites(), requisites);
            let judge = |url: &str, kind| {
                let url = CrawlUrl::parse(url).unwrap();
                scope.judge(&url, kind).is_ok()
            };
            assert_eq!(judge("https://a.test/x.png", LinkKind::Image), requisites);
            let own = judge("https://a.test/x.js", LinkKind::Script);
            assert_eq!(own, requisites || scripts);
            assert_eq!(judge("https://b.test/x.js", LinkKind::Script), requisites);
        }
    }

    #[test]
    fn reach() {
        use LinkKind::{Anchor, Image, SitemapFile};
        let outside = Err(SkipReason::OutOfScope);
        let host = scope(Reach::Host, &[], &[]);
        check(&host, "http://example.co.uk/x", Anchor, Ok(()));
        check(&host, "https://www.example.co.uk:8443/", Anchor, Ok(()));
        check(&host, "https://shop.example.co.uk/", Anchor, outside);
        check(&host, "http://127.0.0.1:9/", Anchor, Ok(()));
        check(&host, "http://127.0.0.2/", Anchor, outside);
        check(&host, "http://cdn.test/a.png", Image, Ok(()));
        let domain = scope(Reach::Domain, &[], &[]);
        check(&domain, "https://shop.example.co.uk/", Anchor, Ok(()));
        check(&domain, "https://other.co.uk/", Anchor, outside);
        check(&domain, "http://127.0.0.2/", Anchor, outside);
        let path = scope(Reach::Path, &[], &[]);
        check(&path, "https://example.co.uk/docs/x/y", Anchor, Ok(()));
        check(&path, "https://example.co.uk/docsx", Anchor, outside);
        check(
            &path,
            "https://example.co.uk/sitemap.xml",
            SitemapFile,
            Ok(()),
        );
        check(
            &scope(Reach::Page, &[], &[]),
            "https://www.example.co.uk/",
            Anchor,
            outside,
        );
        check(
            &scope(Reach::Any, &[], &[]),
            "https://anything.test/",
            Anchor,
            Ok(()),
        );
    }

    #[test]
    fn a_root_says_what_it_adds() {
        for (reach, root, expected) in [
            (Reach::Path, "https://example.co.uk/docs/b", Joined::Nothing),
            (Reach::Path, "https://example.co.uk/news/", Joined::Folder),
            (Reach::Path, "https://other.test/", Joined::Host),
            (Reach::Host, "https://example.co.uk/news/", Joined::Nothing),
            (Reach::Host, "https://shop.example.co.uk/", Joined::Host),
        ] {
            let mut scope = scope(reach, &[], &[]);
            let root = CrawlUrl::parse(root).unwrap();
            assert_eq!(scope.join(&root), expected, "{reach:?} {root}");
            check(&scope, root.as_str(), LinkKind::Anchor, Ok(()));
            assert_eq!(scope.join(&root), Joined::Nothing, "{reach:?} {root}");
        }
    }

    #[test]
    fn patterns_are_judged_on_every_url() {
        use LinkKind::{Anchor, Image, Redirect};
        let scope = scope(Reach::Host, &["/keep/"], &[r"\.zip$", "private"]);
        check(&scope, "https://example.co.uk/keep/a", Anchor, Ok(()));
        check(
            &scope,
            "https://example.co.uk/b",
            Redirect,
            Err(SkipReason::NotIncluded),
        );
        check(
            &scope,
            "https://example.co.uk/keep/a.zip",
            Anchor,
            Err(SkipReason::Excluded),
        );
        check(
            &scope,
            "https://example.co.uk/keep/private",
            Redirect,
            Err(SkipReason::Excluded),
        );
        check(&scope, "https://cdn.test/logo.png", Image, Ok(()));
        check(
            &scope,
            "https://cdn.test/private.png",
            Image,
            Err(SkipReason::Excluded),
        );
    }

    #[test]
    fn bad_patterns_are_refused() {
        assert!(Scope::new(Reach::Host, false, &["(".into()], &[]).is_err());
        assert!(Scope::new(Reach::Host, false, &[], &["(a{1000}){1000}{1000}".into()]).is_err());
    }
}
