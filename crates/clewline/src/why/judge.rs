//! What a crawl would say to a URL that it never let in.
//!
//! Owns the words for the rule that decides: the judgement itself is the crawl's own, over the
//! stored configuration and the stored robots.txt.

use clewline_core::frontier::Rules;
use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_core::scope::{Reach, Scope};
use clewline_core::url::CrawlUrl;

use super::linked_from::LinksTo;
use super::{Fate, Why};
use crate::config::Config;

/// Judges a URL as one of the links to it, or as a plain link if there is none.
pub(super) fn refuse(why: &mut Why, config: &Config, rules: &Rules, links: &LinksTo<'_>) {
    let kind = links.kind();
    let judged = rules.judge_text(&why.url);
    let judged = judged.and_then(|()| rules.scope.judge(&why.url, kind));
    let robots = why.robots.as_ref().filter(|robots| !robots.allowed);
    let (reason, rule) = match (judged, robots) {
        (Err(reason), _) => (reason, rule(reason, &why.url, kind, config)),
        (Ok(()), Some(robots)) if config.scope.robots => {
            let line = robots.line.zip(robots.text.as_ref());
            let words = line.map(|(line, text)| format!("robots.txt line {line}: {text}"));
            let all = || "robots.txt disallows all".to_owned();
            (SkipReason::Robots, words.unwrap_or_else(all))
        }
        // Nothing in its text speaks against it, so it was the way in which it was named.
        (Ok(()), _) => match links.refusal(rules) {
            Some(refusal) => refusal,
            None => return,
        },
    };
    why.fate = Fate::Refused;
    (why.reason, why.rule) = (Some(reason), Some(rule));
}

fn rule(reason: SkipReason, url: &CrawlUrl, kind: LinkKind, config: &Config) -> String {
    let scope = &config.scope;
    match reason {
        SkipReason::OutOfScope => format!("--scope {} {}", reach(scope.reach), covers(scope.reach)),
        SkipReason::Excluded => {
            let excludes = |pattern: &&String| {
                let alone = Scope::new(Reach::Any, true, &[], std::slice::from_ref(pattern));
                alone.is_ok_and(|alone| alone.judge_patterns(url, kind).is_err())
            };
            match scope.exclude.iter().find(excludes) {
                Some(pattern) => format!("--exclude {pattern} matches"),
                None => reason.about().to_owned(),
            }
        }
        SkipReason::NotIncluded => format!("no --include matches: {}", scope.include.join(", ")),
        SkipReason::TooLong => format!("it is longer than {} bytes", config.limits.url_length),
        _ => reason.about().to_owned(),
    }
}

const fn reach(reach: Reach) -> &'static str {
    match reach {
        Reach::Page => "page",
        Reach::Path => "path",
        Reach::Host => "host",
        Reach::Domain => "domain",
        Reach::Any => "any",
    }
}

const fn covers(reach: Reach) -> &'static str {
    match reach {
        Reach::Page => "covers the roots alone",
        Reach::Path => "covers what lies at or below the roots' folders",
        Reach::Host => "covers the roots' hosts",
        Reach::Domain => "covers the roots' domains",
        Reach::Any => "covers everything",
    }
}

/// The parameters of a URL that its key does not see.
pub(super) fn dropped(url: &CrawlUrl, keyer: &Keyer) -> Vec<String> {
    let parameters = url.query().unwrap_or_default().split('&');
    let origin = url.with_path("/");
    parameters
        .filter(|parameter| !parameter.is_empty())
        .filter(|parameter| {
            let alone = CrawlUrl::parse(&format!("{origin}?{parameter}"));
            alone.is_ok_and(|alone| !keyer.normalised(&alone).contains('?'))
        })
        .map(str::to_owned)
        .collect()
}
