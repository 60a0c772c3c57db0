//! Why the links to a URL did not let it in.
//!
//! Owns the verdict on each link that is known, and the words for all of them. The judgement is
//! that of the frontier's rules, over the record of the linking page and over the mark that the
//! archive keeps with each link. Where there is no archive with an index, a link that no other rule
//! refused was marked.

use std::collections::HashMap;

use clewline_core::frontier::{LinkingPage, Rules};
use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_core::url::CrawlUrl;
use clewline_job::lookup::Sources;
use clewline_job::previous::IndexedArchive;
use clewline_job::report::figures;

use crate::record::Record;

/// The links to a URL, as far as they are known.
pub(super) struct LinksTo<'a> {
    pub(super) target: Key,
    pub(super) sources: &'a Sources,
    /// The records of the pages that they stand on.
    pub(super) named: &'a HashMap<Key, Record>,
    pub(super) archive: Option<IndexedArchive>,
}

impl LinksTo<'_> {
    /// As what the URL is named first.
    pub(super) fn kind(&self) -> LinkKind {
        let first = self.sources.first.first();
        first.map_or(LinkKind::Anchor, |(_, kind)| *kind)
    }

    /// What refused the links; nothing if there are none, or if one of them is not refused.
    pub(super) fn refusal(&self, rules: &Rules) -> Option<(SkipReason, String)> {
        let mut reasons = Vec::new();
        for (source, kind) in &self.sources.first {
            if let Some(page) = self.named.get(source) {
                reasons.push(self.judge(page, *kind, rules)?);
            }
        }
        let depth = rules.limits.depth.unwrap_or_default();
        let is_all = self.sources.count <= reasons.len() as u64;
        Some((*reasons.first()?, words(&reasons, is_all, depth)))
    }

    /// Why a link is refused; nothing if it is not.
    fn judge(&self, page: &Record, kind: LinkKind, rules: &Rules) -> Option<SkipReason> {
        let mark = self.mark(&page.url, kind, rules);
        let place = LinkingPage {
            url: &page.url,
            kind: page.kind,
            depth: page.depth,
            nofollow: mark.unwrap_or(false),
        };
        let judged = rules.judge_place(kind, &place);
        judged.err().or(match (kind, mark) {
            (LinkKind::Refresh, _) => Some(SkipReason::RedirectLimit),
            (LinkKind::SitemapFile, _) => Some(SkipReason::Depth),
            (_, Some(_)) => None,
            (_, None) => {
                let nofollow = true;
                let marked = LinkingPage { nofollow, ..place };
                rules.judge_place(kind, &marked).err()
            }
        })
    }

    /// Whether a page marks its links to the URL; nothing if the archive does not tell. One link
    /// without a mark is enough to be followed.
    fn mark(&self, page: &CrawlUrl, kind: LinkKind, rules: &Rules) -> Option<bool> {
        let last = self.archive.as_ref()?.last(page).ok()??;
        let links = last.notes(page)?.links.into_iter();
        let mut links = links
            .filter(|link| link.kind == kind && rules.keyer.key(&link.url) == self.target)
            .peekable();
        links.peek()?;
        Some(links.all(|link| link.nofollow))
    }
}

/// What stands against the links to a URL, in words.
fn words(reasons: &[SkipReason], is_all: bool, depth: u32) -> String {
    let count = reasons.len();
    let depth = figures::plural(depth.into(), "link");
    let mut kinds = Vec::new();
    for reason in reasons {
        if !kinds.contains(reason) {
            kinds.push(*reason);
        }
    }
    let first = |what: &str| {
        if is_all {
            format!("the {what}s")
        } else {
            format!("the first {count} {what}s")
        }
    };
    if let [only] = kinds[..] {
        return match only {
            SkipReason::Depth if is_all => {
                format!("all pages that link to it are {depth} deep")
            }
            SkipReason::Depth => {
                format!("{} that link to it are {depth} deep", first("page"))
            }
            SkipReason::Nofollow => format!("{} to it are marked nofollow", first("link")),
            SkipReason::OutOfScope => {
                format!("{} that link to it are only parts of others", first("page"))
            }
            other => other.about().to_owned(),
        };
    }
    let part = |kind: &SkipReason| {
        let number = reasons.iter().filter(|reason| *reason == kind).count();
        let (be, on) = match number {
            1 => ("is", "on a page"),
            _ => ("are", "on pages"),
        };
        let what = match kind {
            SkipReason::Depth => format!("{on} {depth} deep"),
            SkipReason::Nofollow => "marked nofollow".to_owned(),
            SkipReason::OutOfScope => format!("{on} fetched only as part of another"),
            other => format!("refused because {}", other.about()),
        };
        format!("{number} {be} {what}")
    };
    let parts: Vec<String> = kinds.iter().map(part).collect();
    format!("of {} to it, {}", first("link"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clewline_core::outcome::SkipReason::{self, Depth, Nofollow, OutOfScope};
    use clewline_core::url::CrawlUrl;
    use terrarium::{Page, Site, Web};

    use super::words;
    use crate::config::{Config, Root, Speed};
    use crate::why::Fate;
    use crate::{Crawl, StoredJob};

    #[test]
    fn words_say_what_applied_to_which_links() {
        for (reasons, is_all, expected) in [
            (
                &[Depth, Depth][..],
                true,
                "all pages that link to it are 3 links deep",
            ),
            (
                &[Depth, Depth],
                false,
                "the first 2 pages that link to it are 3 links deep",
            ),
            (&[Nofollow], true, "the links to it are marked nofollow"),
            (
                &[OutOfScope],
                true,
                "the pages that link to it are only parts of others",
            ),
            (
                &[Nofollow, Depth, Nofollow],
                true,
                "of the links to it, 2 are marked nofollow, 1 is on a page 3 links deep",
            ),
            (
                &[Depth, Depth, Nofollow],
                false,
                "of the first 3 links to it, 2 are on pages 3 links deep, 1 is marked nofollow",
            ),
        ] {
            assert_eq!(words(reasons, is_all, 3), expected);
        }
    }

    /// Without the index of the archive a mark is not known, and a page that is too deep is
    /// reason enough.
    #[test]
    fn what_applied_is_told_and_not_guessed() {
        let home = "<a href=/a>a</a><a href=/shut>s</a><a rel=nofollow href=/quiet>q</a>\
                    <a rel=nofollow href=/both>b</a>";
        let site = Site::new()
            .page("/", Page::html(home))
            .page(
                "/a",
                Page::html(
                    "<a href=/deep>d</a><a href=/both>b</a><a rel=nofollow href=/marked>m</a>",
                ),
            )
            .page(
                "/shut",
                Page::html("<meta name=robots content=nofollow><a href=/behind>b</a>"),
            );
        let web = Web::new().site("a.test", site).start();
        let mut config = Config {
            roots: vec![Root::parse(&web.url("a.test", "/")).unwrap()],
            ..Config::default()
        };
        config.fetch.resolve = web.resolve_args();
        config.politeness.speed = Some(Speed::Max);
        config.limits.depth = Some(1);
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("job");
        let running = Crawl::from_config(config).folder(&folder).run();
        running.and_then(crate::Running::wait).unwrap();
        let check = |path: &str, reason: SkipReason, rule: &str| {
            let url = CrawlUrl::parse(&web.url("a.test", path)).unwrap();
            let why = StoredJob::read(&folder).unwrap().why(&url).unwrap();
            assert_eq!(
                (why.fate, why.reason),
                (Fate::Refused, Some(reason)),
                "{path}"
            );
            assert_eq!(why.rule.as_deref(), Some(rule), "{path}");
        };
        let (deep, marked) = (
            "all pages that link to it are 1 link deep",
            "the links to it are marked nofollow",
        );
        check("/deep", Depth, deep);
        check("/quiet", Nofollow, marked);
        check("/marked", Nofollow, marked);
        check("/behind", Nofollow, marked);
        let both = "of the links to it, 1 is marked nofollow, 1 is on a page 1 link deep";
        check("/both", Nofollow, both);
        fs::remove_file(folder.join("archive/index.cdxj")).unwrap();
        check("/deep", Depth, deep);
        check("/quiet", Nofollow, marked);
        check("/marked", Depth, deep);
        check("/both", Nofollow, both);
    }
}
