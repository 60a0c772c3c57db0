//! Links, frames and parts of a page, by what they lead to.
//!
//! Owns which verdict of which kind of link is which finding. It refuses to make verdicts.
//! Invariant: an error is made of `broken` alone.

use std::io;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_core::url::CrawlUrl;

use super::places::{is_private_host, is_private_site, is_staging_of};
use super::{PageView, fragments, redirects};
use crate::facts::{PageReference, ReferenceTarget};
use crate::finding::CheckFinding;
use crate::rule::CheckRule;
use crate::rules::bag::FindingBag;
use crate::rules::link_ends::OwnVerdict;
use crate::rules::registry::{index, links as rules};
use crate::site::ChainEnd;
use crate::verdict::{CheckVerdict, status_words};

/// A page of the site that the server cannot give.
pub(super) fn judge_server(view: &PageView<'_>, bag: &mut FindingBag) {
    let status = view.row.status.unwrap_or_default();
    if (500..=599).contains(&status) && view.row.kind.is_page() {
        let tries = match view.record.tries {
            0 | 1 => String::new(),
            tries => format!(" after {tries} tries"),
        };
        let evidence = format!("{}{tries}", status_words(status));
        bag.list(view.finding(&rules::SERVER_ERROR, evidence));
    }
}

/// A root that shows nothing and leads nowhere.
pub(super) fn judge_root(view: &PageView<'_>, bag: &mut FindingBag) {
    let record = view.record;
    let is_empty = record.shell && record.links == 0 && record.rendered.is_none();
    if record.kind == LinkKind::Root && is_empty {
        bag.list(view.finding(&rules::EMPTY_ROOT, "no text and no links"));
    }
}

/// What a page refers to.
pub(super) fn judge_references(view: &PageView<'_>, bag: &mut FindingBag) -> io::Result<()> {
    let wanted = view.facts.references.iter();
    for reference in wanted.filter(|reference| !reference.ignored) {
        match &reference.target {
            ReferenceTarget::Itself => fragments::judge_itself(view, reference, bag),
            ReferenceTarget::Own(key) => judge_own(view, reference, *key, bag)?,
            ReferenceTarget::Foreign(url) => judge_foreign(view, reference, url, bag)?,
            ReferenceTarget::Scheme(scheme) => judge_scheme(view, reference, scheme, bag),
            ReferenceTarget::Malformed(text) => {
                let finding = view.finding(&rules::MALFORMED, "it is no address");
                bag.list(finding.with_target(&**text).at(reference.byte));
            }
        }
    }
    Ok(())
}

/// Whether links of a kind are judged by these rules: canonical addresses and translations have
/// rules of their own.
fn is_judged(view: &PageView<'_>, reference: &PageReference, status: Option<u16>) -> bool {
    match reference.kind {
        LinkKind::Canonical | LinkKind::Redirect | LinkKind::Root => false,
        // Relations such as `pingback` are for programs, which do not ask by GET.
        LinkKind::Related => matches!(status, Some(404 | 410)),
        LinkKind::Alternate => !is_translation(view, reference),
        _ => true,
    }
}

fn is_translation(view: &PageView<'_>, reference: &PageReference) -> bool {
    let translations = view.html().map_or(&[][..], |html| &html.translations);
    let keyer = view.ends.site.keyer();
    translations
        .iter()
        .any(|(_, url)| match (url, &reference.target) {
            (Ok(url), ReferenceTarget::Foreign(target)) => url == target,
            (Ok(url), ReferenceTarget::Own(key)) => keyer.key(url) == *key,
            _ => false,
        })
}

fn judge_own(
    view: &PageView<'_>,
    reference: &PageReference,
    key: Key,
    bag: &mut FindingBag,
) -> io::Result<()> {
    let Some(row) = view.ends.site.row(key) else {
        return Ok(());
    };
    if view.ends.is_plainly_good(row) {
        return fragments::judge_own(view, reference, (key, key), bag);
    }
    let judged = view.ends.own(key)?;
    if !is_judged(view, reference, judged.status) {
        return Ok(());
    }
    match judged.verdict {
        CheckVerdict::Ok => fragments::judge_own(view, reference, (key, key), bag),
        CheckVerdict::Moved => {
            redirects::judge(view, reference, (key, &judged), bag)?;
            match judged.end {
                ChainEnd::Row(end) => fragments::judge_own(view, reference, (key, end), bag),
                _ => Ok(()),
            }
        }
        CheckVerdict::Broken | CheckVerdict::Blocked | CheckVerdict::Unsure => {
            judge_bad(view, reference, (key, &judged), bag)
        }
        CheckVerdict::Unchecked => Ok(()),
    }
}

fn judge_bad(
    view: &PageView<'_>,
    reference: &PageReference,
    (key, judged): (Key, &OwnVerdict),
    bag: &mut FindingBag,
) -> io::Result<()> {
    let Some(rule) = rule_of(reference.kind, judged) else {
        return Ok(());
    };
    let Some(url) = view.ends.url(key)? else {
        return Ok(());
    };
    let evidence = match judged.hops.len() {
        0 => judged.evidence.clone(),
        _ => format!(
            "{}, then {}",
            view.ends.hops_in_words(judged),
            judged.evidence
        ),
    };
    let finding = view.finding(rule, evidence).with_target(url.as_str());
    bag.list(finding.at(reference.byte));
    Ok(())
}

/// The rule that a bad link to the site's own URL breaks; none if another one tells it.
fn rule_of(kind: LinkKind, judged: &OwnVerdict) -> Option<&'static CheckRule> {
    let is_page = !kind.is_requisite();
    match judged.verdict {
        CheckVerdict::Broken if judged.is_loop() => Some(&rules::REDIRECT_LOOP),
        // Scripts may complete such an address before they load it.
        CheckVerdict::Broken if kind == LinkKind::LazyImage => Some(&rules::UNSURE),
        CheckVerdict::Broken if !judged.hops.is_empty() => Some(&rules::REDIRECT_TO_BROKEN),
        CheckVerdict::Broken if is_page => Some(&rules::BROKEN),
        CheckVerdict::Broken => Some(&rules::BROKEN_PART),
        CheckVerdict::Blocked if judged.is_denied => {
            let is_needed = matches!(
                kind,
                LinkKind::Style
                    | LinkKind::Script
                    | LinkKind::Image
                    | LinkKind::Font
                    | LinkKind::CssUrl
                    | LinkKind::CssImport
            );
            is_needed.then_some(&index::BLOCKS_PART)
        }
        CheckVerdict::Blocked => Some(&rules::BLOCKED),
        // `http/server-error` tells of the page itself.
        CheckVerdict::Unsure if judged.status.is_some_and(|status| status >= 500) && is_page => {
            None
        }
        CheckVerdict::Unsure => Some(&rules::UNSURE),
        CheckVerdict::Ok | CheckVerdict::Moved | CheckVerdict::Unchecked => None,
    }
}

fn judge_foreign(
    view: &PageView<'_>,
    reference: &PageReference,
    url: &CrawlUrl,
    bag: &mut FindingBag,
) -> io::Result<()> {
    if is_private_place(view, url) && is_judged(view, reference, None) {
        let finding = view.finding(&rules::PRIVATE, format!("{} is private", url.host()));
        bag.list(finding.with_target(url.as_str()).at(reference.byte));
        return Ok(());
    }
    let Some(known) = view.ends.foreign(url)? else {
        return Ok(());
    };
    let status = known.probe.and_then(|probe| probe.status);
    if !is_judged(view, reference, status) {
        return Ok(());
    }
    let is_denied = known
        .probe
        .is_some_and(|probe| probe.skip == Some(SkipReason::Robots));
    let rule = match known.verdict {
        CheckVerdict::Broken if reference.kind == LinkKind::LazyImage => &rules::UNSURE,
        CheckVerdict::Broken if reference.kind.is_requisite() => &rules::BROKEN_PART,
        CheckVerdict::Broken => &rules::BROKEN_EXTERNAL,
        CheckVerdict::Blocked if is_denied && reference.kind.is_requisite() => return Ok(()),
        CheckVerdict::Blocked => &rules::BLOCKED_EXTERNAL,
        CheckVerdict::Unsure => &rules::UNSURE,
        CheckVerdict::Ok | CheckVerdict::Moved => {
            fragments::judge_foreign(view, reference, url, bag);
            return Ok(());
        }
        CheckVerdict::Unchecked => return Ok(()),
    };
    let finding = view.finding(rule, known.evidence).with_target(url.as_str());
    bag.list(finding.at(reference.byte));
    Ok(())
}

/// Whether a public page leads to where only its makers can go.
fn is_private_place(view: &PageView<'_>, url: &CrawlUrl) -> bool {
    let page = view.url();
    let leads_inside = is_private_host(url) || is_staging_of(url, page);
    leads_inside && !is_private_site(page)
}

fn judge_scheme(
    view: &PageView<'_>,
    reference: &PageReference,
    scheme: &str,
    bag: &mut FindingBag,
) {
    let is_link = matches!(reference.kind, LinkKind::Anchor | LinkKind::Area);
    let finding: CheckFinding = match scheme {
        "javascript" if is_link => view.finding(&rules::JAVASCRIPT, "the link is a script"),
        "file" if !is_private_site(view.url()) => {
            let finding = view.finding(&rules::PRIVATE, "the link leads to a file of one machine");
            bag.list(finding.with_target("file:").at(reference.byte));
            return;
        }
        _ => return,
    };
    bag.gather(finding.with_subject(scheme).at(reference.byte));
}
